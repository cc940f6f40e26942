'use client'

import { useQueryClient } from '@tanstack/react-query'
import { WifiOff } from 'lucide-react'
import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useCallback, useEffect, useRef, useState } from 'react'
import { Button } from '#components/ui/button.tsx'
import { RequestRefused } from '#lib/client/request.ts'

/** Seconds between checks whether the server answers again. */
const waits = [1, 2, 4, 8, 15, 30]
const isUnreachable = (error: unknown) => error instanceof RequestRefused && error.problem.code === 'unreachable'

/** Reports that the server cannot be reached, keeps checking, and refetches everything once it answers. */
export function ConnectionNotice() {
  const t = useTranslations('common.offline')
  const client = useQueryClient()
  const router = useRouter()
  const [isGone, setIsGone] = useState(false)
  const [isBack, setIsBack] = useState(false)
  const tries = useRef(0)

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

  useEffect(() => {
    if (!isBack) return
    const timer = setTimeout(() => setIsBack(false), 5_000)
    return () => clearTimeout(timer)
  }, [isBack])

  return (
    <div role="status" className="print:hidden">
      {isGone && (
        <div className="border-b border-amber/40 bg-amber-wash">
          <div className="mx-auto flex max-w-5xl flex-wrap items-center gap-x-4 gap-y-2 px-4 py-2.5 sm:px-6">
            <WifiOff aria-hidden className="size-4.5 text-amber" />
            <p className="min-w-0 grow basis-64">
              <strong className="font-medium">{t('title')}.</strong> {t('text')}
            </p>
            <Button tone="plain" size="small" onClick={() => void look()}>
              {t('again')}
            </Button>
          </div>
        </div>
      )}
      {isBack && <p className="border-b border-line bg-accent-wash px-4 py-2 text-center sm:px-6">{t('back')}</p>}
    </div>
  )
}
