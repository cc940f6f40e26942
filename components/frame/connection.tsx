'use client'

import { useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useOffline } from 'next/offline'
import { useTranslations } from 'next-intl'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { RequestRefused } from '#lib/client/request.ts'
import { fetchForRouter } from './page-fetch.ts'

/** Seconds between checks whether the server answers again. */
const waits = [1, 2, 4, 8, 15, 30]
const isUnreachable = (error: unknown) => error instanceof RequestRefused && error.problem.code === 'unreachable'

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

/**
 * Reports that the server cannot be reached, keeps checking, and refetches everything once it answers. Until then no link leaves the page,
 * and navigations and refreshes of the router wait.
 */
export function ConnectionNotice() {
  const t = useTranslations('common.offline')
  const client = useQueryClient()
  const router = useRouter()
  const [isGone, setIsGone] = useState(false)
  const [isBack, setIsBack] = useState(false)
  const tries = useRef(0)
  const retry = useRef<HTMLButtonElement>(null)
  const isRouterOffline = useOffline()

  useEffect(() => {
    const original = window.fetch
    window.fetch = fetchForRouter(original)
    return () => {
      window.fetch = original
    }
  }, [])

  useEffect(() => {
    if (!isRouterOffline) return
    setIsBack(false)
    setIsGone(true)
  }, [isRouterOffline])

  useEffect(() => {
    const lost = () => {
      setIsBack(false)
      setIsGone(true)
    }
    const watch = [
      client.getQueryCache().subscribe(({ type, query }) => {
        if (type === 'updated' && isUnreachable(query.state.fetchFailureReason ?? query.state.error)) lost()
      }),
      client.getMutationCache().subscribe(({ mutation }) => {
        if (isUnreachable(mutation?.state.error)) lost()
      }),
    ]
    window.addEventListener('offline', lost)
    return () => {
      for (const stop of watch) stop()
      window.removeEventListener('offline', lost)
    }
  }, [client])

  const look = useCallback(async () => {
    const answer = await fetch('/health', { cache: 'no-store' }).catch(() => undefined)
    if (!answer?.ok) {
      tries.current += 1
      return false
    }
    tries.current = 0
    setIsGone(false)
    setIsBack(true)
    await client.invalidateQueries()
    router.refresh()
    return true
  }, [client, router])

  useEffect(() => {
    if (!isGone) return
    let timer: ReturnType<typeof setTimeout>
    const next = () => {
      const seconds = waits[Math.min(tries.current, waits.length - 1)] ?? 30
      timer = setTimeout(async () => {
        if (!(await look())) next()
      }, seconds * 1_000)
    }
    next()
    return () => clearTimeout(timer)
  }, [isGone, look])

  const focusRetry = useCallback(() => retry.current?.focus(), [])
  useBlockedLinks(isGone, focusRetry)

  useEffect(() => {
    if (!isBack) return
    const timer = setTimeout(() => setIsBack(false), 5_000)
    return () => clearTimeout(timer)
  }, [isBack])

  return (
    <div role="status" className="print:hidden">
      {isGone && (
        <div className="border-b border-amber/40 bg-amber-wash">
          <div className="flex flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5 sm:px-6">
            <WifiOff aria-hidden className="size-4.5 text-amber" />
            <p className="min-w-0 grow basis-64">
              <strong className="font-medium">{t('title')}.</strong> {t('text')}
            </p>
            <Button ref={retry} tone="plain" size="small" onClick={() => void look()}>
              {t('again')}
            </Button>
          </div>
        </div>
      )}
      {isBack && <p className="border-b border-line bg-accent-wash px-4 py-2 text-center sm:px-6">{t('back')}</p>}
    </div>
  )
}
