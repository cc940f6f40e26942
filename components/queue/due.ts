import { spanOf, type TimeLeftSpan, timeLeftOf } from '#components/requests/time-left-rules.ts'
import type { AdminRequest } from './endpoints.ts'

type Clocks = Pick<AdminRequest, 'due' | 'seconds_left' | 'due_at' | 'legal_due_at'>
export type Due = ReturnType<typeof timeLeftOf> & {
  span: TimeLeftSpan
  /** The earlier of the two limits, and whose limit it is; null if the request is closed. */
  at: string | null
  clock: 'ours' | 'legal'
}

/** The due tag of a request. */
export function dueOf({ due, seconds_left, due_at, legal_due_at }: Clocks): Due {
  const isOurs = due_at !== null && due_at < legal_due_at
  const [clock, at] = isOurs ? (['ours', due_at] as const) : (['legal', legal_due_at] as const)
  return { ...timeLeftOf(due, seconds_left), span: spanOf(seconds_left ?? 0), at: due === 'stopped' ? null : at, clock }
}

const week = 7 * 86_400
export type Stretch = 'overdue' | 'week' | 'later' | 'still'

/** The number of requests per range. Paused and closed requests count as `still`. */
export function countByStretch(requests: readonly Clocks[]): Record<Stretch, number> {
  const counts = { overdue: 0, week: 0, later: 0, still: 0 }
  for (const { due, seconds_left } of requests) {
    const seconds = seconds_left ?? 0
    if (due === 'stopped' || due === 'paused') counts.still += 1
    else if (due === 'overdue') counts.overdue += 1
    else counts[seconds <= week ? 'week' : 'later'] += 1
  }
  return counts
}
