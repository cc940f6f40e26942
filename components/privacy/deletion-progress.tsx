'use client'

import { useRouter } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useEffect } from 'react'
import { ProgressBar } from '#components/ui/progress.tsx'

const soon = 2_000
const later = 15_000
/** After this time the page asks less often. */
const patience = 120_000

/** Asks the server for the status until the deletion is over. The server then redirects to the receipt. */
export function DeletionProgress({ isSlow = false }: { isSlow?: boolean }) {
  const t = useTranslations('deletion.done.states.running')
  const router = useRouter()
  useEffect(() => {
    const started = Date.now()
    let timer: ReturnType<typeof setTimeout>
    const ask = () => {
      if (document.visibilityState === 'visible') router.refresh()
      timer = setTimeout(ask, !isSlow && Date.now() - started < patience ? soon : later)
    }
    timer = setTimeout(ask, isSlow ? later : soon)
    return () => clearTimeout(timer)
  }, [router, isSlow])
  return <ProgressBar value={0} max={0} label={t('title')} />
}
