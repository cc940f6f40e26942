import { useTranslations } from 'next-intl'
import { ButtonLink } from '#components/ui/button.tsx'
import type { Role } from '#lib/domains/accounts/rules.ts'
import { Brand } from './brand.tsx'
import { DraftKeeper } from './draft-keeper.tsx'
import { FrameKeys } from './frame-keys.tsx'
import { HeaderState } from './header-state.tsx'
import { LanguageSwitch } from './language-switch.tsx'
import { NavLink } from './nav-link.tsx'
import { NavigationSheet } from './navigation-sheet.tsx'
import { PageTrail } from './page-trail.tsx'
import { mayOpen, pageNamed } from './pages.ts'
import { PersonMenu } from './person-menu.tsx'
import { ThemeSwitch } from './theme-switch.tsx'

/** The signed-in person. */
export interface FramePerson {
  accountId: string
  name: string
  role: Role
  organisation: string
  /** They have chosen their own password, and have a second factor if one is required. */
  isSettled: boolean
}
interface FrameHeaderProps {
  person: FramePerson | undefined
  chooseLocale: (form: FormData) => Promise<void>
}

function VisitorLinks() {
  const t = useTranslations('frame')
  return (
    <nav aria-label={t('navigation')} className="flex min-w-0 items-center gap-0.5 max-sm:hidden">
      <NavLink href="/verify">{t('verify')}</NavLink>
      <NavLink href="/docs/api">{t('reference')}</NavLink>
    </nav>
  )
}

/** The bar at the top. Beside the sidebar it shows where the reader is; without a session it is the whole navigation. */
export function FrameHeader({ person, chooseLocale }: FrameHeaderProps) {
  const t = useTranslations('frame')
  const hasSidebar = person?.isSettled === true
  return (
    <header className="sticky top-0 z-30 border-b border-line bg-paper print:hidden">
      <div className="flex h-12 items-center gap-x-3 px-4 sm:px-6">
        {hasSidebar ? (
          <>
            <NavigationSheet role={person.role} />
            <PageTrail role={person.role} />
          </>
        ) : (
          <Brand href={person ? '/overview' : '/'} />
        )}
        {!person && <VisitorLinks />}
        <div className="ml-auto flex shrink-0 items-center gap-0.5">
          {hasSidebar && <HeaderState hasNotices={mayOpen(pageNamed('erasures'), person.role)} />}
          {hasSidebar && <FrameKeys role={person.role} />}
          <LanguageSwitch choose={chooseLocale} />
          <ThemeSwitch />
          {person && <PersonMenu name={person.name} hasKeys={hasSidebar} />}
          {person && <DraftKeeper accountId={person.accountId} />}
          {!person && (
            <ButtonLink href="/sign-in" tone="ghost" size="small">
              {t('signIn')}
            </ButtonLink>
          )}
        </div>
      </div>
    </header>
  )
}
