import { rejectionsToQuarantine } from './rules.ts'

const hour = 3_600_000
const day = 24 * hour

/** How far a view of rejections reaches back, and what one of its points covers, in milliseconds; the last point is the present hour or day. */
export const rejectionPeriods = {
  '24h': { points: 24, step: hour },
  '7d': { points: 7, step: day },
  '30d': { points: 30, step: day },
} as const
export type RejectionPeriod = keyof typeof rejectionPeriods
export const rejectionPeriodNames = ['24h', '7d', '30d'] as const satisfies readonly RejectionPeriod[]

/** When the points of a period begin, oldest first. */
export function pointsOf(period: RejectionPeriod, now: Date): Date[] {
  const { points, step } = rejectionPeriods[period]
  const last = Math.floor(now.getTime() / step) * step
  return Array.from({ length: points }, (_, n) => new Date(last - (points - 1 - n) * step))
}

/** How near somebody is to the quarantine with so many rejections within its window. */
export const standingOf = (lately: number): 'quiet' | 'near' | 'held' =>
  lately >= rejectionsToQuarantine ? 'held' : lately === rejectionsToQuarantine - 1 ? 'near' : 'quiet'
