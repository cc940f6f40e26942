'use client'

import { useFormatter, useNow } from 'next-intl'
import { durationText } from '#components/ui/duration.ts'
import type { Erasure } from './endpoints.ts'

/** How long a deletion took, or has taken so far. */
export function ErasureDuration({ erasure }: { erasure: Pick<Erasure, 'created_at' | 'finished_at'> }) {
  const format = useFormatter()
  const now = useNow({ updateInterval: 10_000 })
  const end = erasure.finished_at === null ? now : new Date(erasure.finished_at)
  return (
    <span className="whitespace-nowrap">
      {durationText(format, (end.getTime() - new Date(erasure.created_at).getTime()) / 1_000)}
    </span>
  )
}
