import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import { LinkStrip } from '#components/ui/link-strip.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { DraftKeeper } from './draft-keeper.tsx'
import { FrameKeys } from './frame-keys.tsx'
import { LanguageSwitch } from './language-switch.tsx'
import { NavLink } from './nav-link.tsx'
import { navigationOf } from './pages.ts'
import { PersonMenu } from './person-menu.tsx'
import { ThemeSwitch } from './theme-switch.tsx'
import { WorkIndicator } from './work-indicator.tsx'

interface FrameHeaderProps {
  /** The signed-in person. `isSettled`: they have chosen their own password. */
  person: { accountId: string; name: string; role: Role; isSettled: boolean } | undefined
  chooseLocale: (form: FormData) => Promise<void>
}

const Mark = () => (
  <svg viewBox="0 0 32 32" aria-hidden="true" className="size-6 text-accent">
    <path
      d="M3 17h7l3-8 5 15 3.5-10 1.5 3h6"
      fill="none"
      stroke="currentColor"
      strokeWidth="3"
      strokeLinecap="round"
      strokeLinejoin="round"
    />
  </svg>
)

export function FrameHeader({ person, chooseLocale }: FrameHeaderProps) {
  const t = useTranslations('frame')
  const names = useTranslations('pages')
  const places = person?.isSettled ? navigationOf('you', person.role) : []
  const [firstOfAdmin] = person?.isSettled ? navigationOf('admin', person.role) : []
  return (
    <header className="border-b border-line print:hidden">
      <div className="mx-auto flex max-w-7xl flex-wrap items-center gap-x-3 px-4 py-1.5 sm:px-6">
        <Link
          href={person ? '/overview' : '/'}
          className="flex min-h-9 items-center gap-2 font-semibold tracking-tight"
        >
          <Mark />
          KnowledgePulse
        </Link>
        <div className="ml-auto flex items-center gap-0.5 lg:order-3">
          {person?.isSettled && <WorkIndicator />}
          {person?.isSettled && <FrameKeys role={person.role} />}
          <LanguageSwitch choose={chooseLocale} />
          <ThemeSwitch />
          {person && <PersonMenu name={person.name} hasKeys={person.isSettled} />}
          {person && <DraftKeeper accountId={person.accountId} />}
          {!person && (
            <ButtonLink href="/sign-in" tone="ghost" size="small">
              {t('signIn')}
            </ButtonLink>
          )}
        </div>
        <LinkStrip
          label={t('navigation')}
          className="-mx-2.5 grow basis-full items-center gap-0.5 lg:mx-0 lg:basis-auto"
        >
          {places.map(({ name, path }) => (
            <NavLink key={name} href={path}>
              {names(name)}
            </NavLink>
          ))}
          {firstOfAdmin && <NavLink href="/admin">{t('administration')}</NavLink>}
          {!person && <NavLink href="/verify">{t('verify')}</NavLink>}
          {!person && <NavLink href="/docs/api">{t('reference')}</NavLink>}
        </LinkStrip>
      </div>
    </header>
  )
}
