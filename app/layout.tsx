import type { Metadata, Viewport } from 'next'
import { cookies, headers } from 'next/headers'
import { getLocale, getTimeZone, getTranslations } from 'next-intl/server'
import type { ReactNode } from 'react'
import { ConnectionNotice } from '#components/frame/connection.tsx'
import { FocusKeeper } from '#components/frame/focus-keeper.tsx'
import { FrameHeader } from '#components/frame/frame-header.tsx'
import { NavigationProgress } from '#components/frame/navigation-progress.tsx'
import { Providers } from '#components/frame/providers.tsx'
import { SessionEnded } from '#components/frame/session-ended.tsx'
import { Sidebar } from '#components/frame/sidebar.tsx'
import { Messages } from '#components/frame/words.tsx'
import { ZoneKeeper } from '#components/frame/zone-keeper.tsx'
import { ErasureBanner } from '#components/privacy/erasure-banner.tsx'
import { RequirementBanner } from '#components/second-factors/requirement-banner.tsx'
import './globals.css'
import { isEmbeddedPath } from '../i18n/choice.ts'
import { approvalRequiredForFrame, erasuresForFrame, personForFrame } from './page-access.ts'
import { chooseLocale, storeSidebar, storeTimeZone } from './preferences.ts'

export async function generateMetadata(): Promise<Metadata> {
  const t = await getTranslations('meta')
  return { title: { default: t('title'), template: `%s · KnowledgePulse` }, description: t('description') }
}
export const viewport: Viewport = {
  themeColor: [
    { media: '(prefers-color-scheme: light)', color: '#fafbfb' },
    { media: '(prefers-color-scheme: dark)', color: '#0f1415' },
  ],
}

export default async function Layout({ children }: { children: ReactNode }) {
  const [locale, zone, t, person, sent, jar] = await Promise.all([
    getLocale(),
    getTimeZone(),
    getTranslations('frame'),
    personForFrame(),
    headers(),
    cookies(),
  ])
  const isEmbedded = isEmbeddedPath(sent.get('x-path'))
  const ahead = person && (await erasuresForFrame(person.account_id))
  const isApprovalRequired = person?.role === 'admin' && (await approvalRequiredForFrame())
  const shown = person && {
    accountId: person.account_id,
    name: person.name,
    role: person.role,
    organisation: person.organisation.name,
    isSettled: !person.must_change_password && !person.second_factor.is_missing,
  }
  return (
    <html lang={locale} suppressHydrationWarning>
      <body className="font-sans">
        <Messages>
          <Providers nonce={sent.get('x-nonce') ?? ''} isApprovalRequired={isApprovalRequired}>
            <NavigationProgress />
            <FocusKeeper />
            {isEmbedded ? (
              children
            ) : (
              <>
                <ZoneKeeper zone={zone} keep={storeTimeZone} />
                <a
                  href="#content"
                  className="sr-only focus:not-sr-only focus:fixed focus:z-50 focus:m-2 focus:rounded-box focus:bg-raised focus:px-4 focus:py-2"
                >
                  {t('skip')}
                </a>
                <div className={shown?.isSettled ? 'with-sidebar flex min-h-dvh' : 'flex min-h-dvh'}>
                  {shown?.isSettled && (
                    <Sidebar
                      role={shown.role}
                      organisation={shown.organisation}
                      isNarrowAtFirst={jar.get('sidebar')?.value === 'narrow'}
                      keepNarrow={storeSidebar}
                    />
                  )}
                  <div className="flex min-w-0 grow flex-col">
                    <FrameHeader person={shown} chooseLocale={chooseLocale} />
                    <ConnectionNotice />
                    <SessionEnded accountId={shown?.accountId} />
                    {person?.second_factor.required_from && (
                      <RequirementBanner
                        from={person.second_factor.required_from}
                        isMissing={person.second_factor.is_missing}
                      />
                    )}
                    {ahead && <ErasureBanner ahead={ahead} />}
                    {children}
                  </div>
                </div>
              </>
            )}
          </Providers>
        </Messages>
      </body>
    </html>
  )
}
