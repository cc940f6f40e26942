'use client'

import { useFormatter, useNow } from 'next-intl'
import { durationOf } from './duration.ts'
import type { Erasure } from './endpoints.ts'

const units = { days: 'day', hours: 'hour', minutes: 'minute', seconds: 'second' } as const

/** How long a deletion took, or has taken so far. */
export function ErasureDuration({ erasure }: { erasure: Pick<Erasure, 'created_at' | 'finished_at'> }) {
  const format = useFormatter()
  const now = useNow({ updateInterval: 10_000 })
  const { unit, n } = durationOf(erasure.created_at, erasure.finished_at ?? now)
  return (
    <span className="whitespace-nowrap">
      {format.number(n, { style: 'unit', unit: units[unit], unitDisplay: 'long' })}
    </span>
  )
}
