import Link from 'next/link'
import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import { LanguageSwitch } from './language-switch.tsx'
import { SignOutButton } from './sign-out-button.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

interface FrameHeaderProps {
  person: { name: string } | undefined
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
  return (
    <header className="border-b border-line print:hidden">
      <div className="mx-auto flex max-w-5xl flex-wrap items-center gap-x-4 gap-y-1 px-4 py-2 sm:px-6">
        <Link href="/" className="flex min-h-9 items-center gap-2 font-semibold tracking-tight">
          <Mark />
          KnowledgePulse
        </Link>
        <div className="ml-auto flex items-center gap-1 sm:order-3">
          <LanguageSwitch choose={chooseLocale} />
          <ThemeSwitch />
        </div>
        <nav
          aria-label={t('navigation')}
          className="flex grow basis-full items-center gap-1 max-sm:-mx-3 sm:basis-auto"
        >
          <ButtonLink href="/docs/api" tone="ghost" size="small">
            {t('reference')}
          </ButtonLink>
          {person ? (
            <>
              <ButtonLink href="/account" tone="ghost" size="small" className="min-w-0 sm:ml-auto" title={person.name}>
                {t('account')}
              </ButtonLink>
              <SignOutButton />
            </>
          ) : (
            <ButtonLink href="/sign-in" tone="ghost" size="small" className="sm:ml-auto">
              {t('signIn')}
            </ButtonLink>
          )}
        </nav>
      </div>
    </header>
  )
}
