'use client'

import { useQueryClient } from '@tanstack/react-query'
import { LogOut } from 'lucide-react'
import { usePathname, useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect, useState } from 'react'
import { PlainButtonLink } from '#components/ui/button.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { useSignInHref } from '#components/ui/sign-in-href.ts'
import { RequestRefused } from '#lib/client/request.ts'

const channelName = 'session'
/** Tells the other tabs of this browser that the session has ended. */
export function announceSignOut(): void {
  const channel = new BroadcastChannel(channelName)
  channel.postMessage('ended')
  channel.close()
}
const isSignInNeeded = (error: unknown) =>
  error instanceof RequestRefused && error.problem.status === 401 && error.problem.code === 'sign_in_needed'

/** The sessions of a person end with their account, and the page that follows its deletion needs none. */
const isDeletionFollowed = (): boolean =>
  location.pathname === '/settings/privacy/delete' && new URLSearchParams(location.search).get('step') === 'done'

/** Whether there is a session again: the reader signed in in another tab. */
const hasSession = async (): Promise<boolean> =>
  (await fetch('/api/work', { cache: 'no-store' }).catch(() => undefined))?.ok ?? false

/** Whether the session with which this page was rendered has ended. Looks again when the reader comes back to this tab. */
function useHasEnded(accountId: string | undefined, path: string): boolean {
  const client = useQueryClient()
  const [endedOf, setEndedOf] = useState<string>()
  useEffect(() => {
    if (accountId === undefined) return
    const end = () => {
      if (!isDeletionFollowed()) setEndedOf(accountId)
    }
    const channel = new BroadcastChannel(channelName)
    channel.addEventListener('message', end)
    const stopWatching = client.getQueryCache().subscribe(({ type, query }) => {
      if (type === 'updated' && isSignInNeeded(query.state.error)) end()
    })
    return () => {
      channel.close()
      stopWatching()
    }
  }, [accountId, client])
  const router = useRouter()
  useEffect(() => {
    if (endedOf === undefined) return
    const look = async () => {
      if (document.visibilityState !== 'visible' || !(await hasSession())) return
      setEndedOf(undefined)
      await client.invalidateQueries()
      router.refresh()
    }
    document.addEventListener('visibilitychange', look)
    return () => document.removeEventListener('visibilitychange', look)
  }, [endedOf, client, router])
  // The server redirected a navigation to the sign-in page, but the frame is still that of the session.
  const isRedirected = accountId !== undefined && path === '/sign-in'
  return isRedirected || endedOf !== undefined
}

/**
 * Says that the session has ended: signed out in another tab, expired or revoked. The page stays with its typed text, and signing in opens a new
 * tab. On the sign-in page, the frame is rendered again without navigation.
 */
export function SessionEnded({ accountId }: { accountId: string | undefined }) {
  const t = useTranslations('frame.sessionEnded')
  const { space } = usePunctuation()
  const router = useRouter()
  const path = usePathname()
  const signIn = useSignInHref()
  const hasEnded = useHasEnded(accountId, path)
  const [wasShown, setWasShown] = useState(false)
  if (hasEnded && !wasShown) setWasShown(true)
  const isAtSignIn = path === '/sign-in'
  useEffect(() => {
    if (hasEnded && isAtSignIn && accountId !== undefined) router.refresh()
  }, [hasEnded, isAtSignIn, accountId, router])
  const isShown = hasEnded || (wasShown && isAtSignIn)
  return (
    <div role="status" className="print:hidden">
      {isShown && (
        <div className="flex flex-wrap items-center gap-x-4 gap-y-2 border-b border-amber/40 bg-amber-wash px-4 py-2.5 sm:px-6">
          <LogOut aria-hidden className="size-4.5 text-amber" />
          <p className="min-w-0 grow basis-64">
            <strong className="font-medium">{t('title')}</strong>
            {space}
            {isAtSignIn ? t('here') : t('text')}
          </p>
          {!isAtSignIn && (
            <PlainButtonLink tone="plain" size="small" href={signIn} target="_blank" rel="noopener">
              {t('signIn')}
            </PlainButtonLink>
          )}
        </div>
      )}
    </div>
  )
}
