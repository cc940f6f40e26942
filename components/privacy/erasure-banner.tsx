'use client'

import { CircleCheck } from 'lucide-react'
import { usePathname } from 'next/navigation'
import { useTranslations } from 'next-intl'
import { useState } from 'react'
import type { ErasureAhead, ErasuresAhead } from '#lib/domains/privacy-requests/rules.ts'
import { BannerLine } from './banner-line.tsx'
import { ErasureNotice } from './erasure-notice.tsx'

interface CancelledErasure {
  erasure: ErasureAhead
  /** The page on which the erasure was cancelled; the confirmation disappears on the next page. */
  path: string
}

/** Shown on every page to the person concerned: what is erased, when, and how to cancel it. */
export function ErasureBanner({ ahead }: { ahead: ErasuresAhead }) {
  const t = useTranslations('erasure')
  const path = usePathname()
  const [kept, setKept] = useState<CancelledErasure>()
  const shown = ahead.shown.filter(({ requestId }) => requestId !== kept?.erasure.requestId)
  const more = ahead.total - ahead.shown.length
  // A new request for the same subject makes the confirmation wrong.
  const isNews = kept?.path === path && !shown.some(({ agent }) => agent === kept.erasure.agent)
  if (shown.length === 0 && !isNews) return null
  return (
    <section aria-label={t('label')} className="divide-y divide-line border-b border-line print:hidden">
      {isNews && (
        <BannerLine
          Icon={CircleCheck}
          isLive
          title={t('kept', { whom: kept.erasure.agent === null ? 'person' : 'agent', agent: kept.erasure.agent ?? '' })}
          notes={[t('nothingErased')]}
        />
      )}
      {shown.map((erasure) => (
        <ErasureNotice key={erasure.requestId} erasure={erasure} onKept={() => setKept({ erasure, path })} />
      ))}
      {more > 0 && (
        <p className="bg-amber-wash">
          <span className="mx-auto block max-w-5xl px-4 py-2 text-sm text-quiet sm:px-6">
            {t('more', { count: more })}
          </span>
        </p>
      )}
    </section>
  )
}
