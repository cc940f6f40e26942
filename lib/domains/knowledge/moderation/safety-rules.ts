import { rejectionsToQuarantine } from '#lib/domains/knowledge/rules.ts'

const hour = 3_600_000
const day = 24 * hour

/** Number of points in a view of rejections and the length of each in milliseconds; the last point is the current hour or day. */
export const rejectionPeriods = {
  '24h': { points: 24, step: hour },
  '7d': { points: 7, step: day },
  '30d': { points: 30, step: day },
} as const
export type RejectionPeriod = keyof typeof rejectionPeriods
export const rejectionPeriodNames = ['24h', '7d', '30d'] as const satisfies readonly RejectionPeriod[]

/** Start times of a period's points, oldest first. */
export function rejectionPointsOf(period: RejectionPeriod, now: Date): Date[] {
  const { points, step } = rejectionPeriods[period]
  const last = Math.floor(now.getTime() / step) * step
  return Array.from({ length: points }, (_, n) => new Date(last - (points - 1 - n) * step))
}

/** How close an agent is to quarantine, by its number of recent rejections. */
export const rejectionStatusOf = (lately: number): 'quiet' | 'near' | 'held' =>
  lately >= rejectionsToQuarantine ? 'held' : lately === rejectionsToQuarantine - 1 ? 'near' : 'quiet'
