'use client'

import { useApiQuery } from './api-query.ts'
import { waitingAt } from './endpoints.ts'
import type { NavigationEntry } from './navigation.ts'

export interface WaitingCount {
  count: number
  /** At least one of the items is overdue or failed. */
  isUrgent: boolean
}
export type WaitingCounts = Partial<Record<NavigationEntry['name'], WaitingCount>>

/** The numbers of open items on the admin pages, without zeros. */
export function useWaitingCounts(isEnabled: boolean): WaitingCounts {
  const { data } = useApiQuery(waitingAt, {}, { every: 60_000, enabled: isEnabled })
  if (!data) return {}
  const { requests, erasures, quarantined, holds, outbox, revocations, approvals } = data.data
  const stopped = (erasures?.stuck ?? 0) + (erasures?.failed ?? 0)
  const undelivered = outbox?.undelivered ?? 0
  const counts: WaitingCounts = {
    requests: {
      count: (requests?.open ?? 0) + (requests?.unconfirmed ?? 0),
      isUrgent: (requests?.overdue ?? 0) > 0,
    },
    erasures: { count: stopped, isUrgent: true },
    safety: { count: quarantined ?? 0, isUrgent: false },
    approvals: { count: approvals?.waiting ?? 0, isUrgent: false },
    holds: { count: holds?.ending ?? 0, isUrgent: false },
    outbox: { count: undelivered, isUrgent: true },
    tiers: { count: revocations?.recent ?? 0, isUrgent: false },
  }
  return Object.fromEntries(Object.entries(counts).filter(([, { count }]) => count > 0))
}
