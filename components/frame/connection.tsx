'use client'

import { useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useOffline } from 'next/offline'
import { useTranslations } from 'next-intl'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { usePunctuation } from '#components/ui/punctuation.ts'
import { RequestRefused } from '#lib/client/request.ts'
import { fetchForRouter } from './page-fetch.ts'

/** Seconds between checks whether the server answers again. */
const waits = [1, 2, 4, 8, 15, 30]
/** Milliseconds after which a check counts as failed. */
const patience = 10_000
/**
 * Whether a call failed now because the server cannot be reached. The state of a query keeps its last error while it is fetched again, and
 * that of a mutation until it is removed, so the state alone would report an outage that has ended.
 */
const foundUnreachable = (action: { type: string; error?: unknown }): boolean =>
  (action.type === 'failed' || action.type === 'error') &&
  action.error instanceof RequestRefused &&
  action.error.problem.code === 'unreachable'

/** While the server cannot be reached, a link would leave the page for an error of the browser, and typed text would be lost. */
function useBlockedLinks(isGone: boolean, onBlocked: () => void): void {
  useEffect(() => {
    if (!isGone) return
    const onClick = (event: MouseEvent) => {
      const link = event.target instanceof Element ? event.target.closest('a[href]') : null
      if (!(link instanceof HTMLAnchorElement) || link.target === '_blank' || link.origin !== location.origin) return
      if (link.hash !== '' && link.pathname === location.pathname) return
      event.preventDefault()
      onBlocked()
    }
    // In the capture phase, before the link navigates.
    window.addEventListener('click', onClick, { capture: true })
    return () => window.removeEventListener('click', onClick, { capture: true })
  }, [isGone, onBlocked])
}

/** The fetches of the router fail in a way that the router can wait for. */
function useRouterFetch(): void {
  useEffect(() => {
    const original = window.fetch
    window.fetch = fetchForRouter(original)
    return () => {
      window.fetch = original
    }
  }, [])
}

/** Calls `onLost` when a call of the page, the router or the browser finds that the server cannot be reached. */
function useLostConnection(onLost: () => void): void {
  const client = useQueryClient()
  const isRouterOffline = useOffline()
  useEffect(() => {
    if (isRouterOffline) onLost()
  }, [isRouterOffline, onLost])
  useEffect(() => {
    const watch = [
      client.getQueryCache().subscribe((event) => {
        if (event.type === 'updated' && foundUnreachable(event.action)) onLost()
      }),
      client.getMutationCache().subscribe((event) => {
        if (event.type === 'updated' && foundUnreachable(event.action)) onLost()
      }),
    ]
    window.addEventListener('offline', onLost)
    return () => {
      for (const stop of watch) stop()
      window.removeEventListener('offline', onLost)
    }
  }, [client, onLost])
}

/** Whether the server is unreachable, or became reachable again a few seconds ago; `look` checks it now. */
function useConnection() {
  const client = useQueryClient()
  const router = useRouter()
  const [state, setState] = useState<'there' | 'gone' | 'back'>('there')
  const tries = useRef(0)
  const isGone = state === 'gone'
  useLostConnection(useCallback(() => setState('gone'), []))

  const look = useCallback(async () => {
    const answer = await fetch('/health', { cache: 'no-store', signal: AbortSignal.timeout(patience) }).catch(
      () => undefined,
    )
    if (!answer?.ok) {
      tries.current += 1
      return
    }
    tries.current = 0
    setState('back')
    await client.invalidateQueries()
    router.refresh()
  }, [client, router])

  useEffect(() => {
    if (!isGone) return
    let timer: ReturnType<typeof setTimeout>
    let isWatching = true
    const next = () => {
      const seconds = waits[Math.min(tries.current, waits.length - 1)] ?? 30
      timer = setTimeout(async () => {
        await look()
        // Also after an answer: another call may have failed again in the meantime.
        if (isWatching) next()
      }, seconds * 1_000)
    }
    next()
    return () => {
      isWatching = false
      clearTimeout(timer)
    }
  }, [isGone, look])

  useEffect(() => {
    if (state !== 'back') return
    const timer = setTimeout(() => setState('there'), 5_000)
    return () => clearTimeout(timer)
  }, [state])
  return { state, look }
}

/**
 * Reports that the server cannot be reached, keeps checking, and refetches everything once it answers. Until then no link leaves the page,
 * and navigations and refreshes of the router wait.
 */
export function ConnectionNotice() {
  const t = useTranslations('common.offline')
  const { space } = usePunctuation()
  const retry = useRef<HTMLButtonElement>(null)
  useRouterFetch()
  const { state, look } = useConnection()
  const focusRetry = useCallback(() => retry.current?.focus(), [])
  useBlockedLinks(state === 'gone', focusRetry)
  return (
    <div role="status" className="print:hidden">
      {state === 'gone' && (
        <div className="border-b border-amber/40 bg-amber-wash">
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5 sm:px-6">
            <WifiOff aria-hidden className="size-4.5 text-amber" />
            <p className="min-w-0 grow basis-64">
              <strong className="font-medium">{t('title')}</strong>
              {space}
              {t('text')}
            </p>
            <Button ref={retry} tone="plain" size="small" onClick={() => void look()}>
              {t('again')}
            </Button>
          </div>
        </div>
      )}
      {state === 'back' && (
        <p className="border-b border-line bg-accent-wash px-4 py-2 text-center sm:px-6">{t('back')}</p>
      )}
    </div>
  )
}
