/** Request counts: admitted reads and writes, and requests refused by the rate limit. */
export interface Use {
  reads: number
  writes: number
  refused: number
}
export interface UsePoint extends Use {
  /** Start of the hour or day (UTC). */
  at: Date
}

const hour = 3_600_000
const day = 24 * hour
/** Retention of usage counts, in milliseconds. */
export const usageRetention = 90 * day

const floored = (at: Date, step: number): Date => new Date(Math.floor(at.getTime() / step) * step)
export const hourOf = (at: Date): Date => floored(at, hour)

/** Number of points in a usage view and the length of each in milliseconds; the last point is the current hour or day. */
export const usePeriods = {
  '24h': { points: 24, step: hour },
  '7d': { points: 168, step: hour },
  '30d': { points: 30, step: day },
  '90d': { points: 90, step: day },
} as const
export type UsePeriod = keyof typeof usePeriods
export const usePeriodNames = ['24h', '7d', '30d', '90d'] as const satisfies readonly UsePeriod[]

/** Start of the period's first point. */
export function startOf(period: UsePeriod, now: Date): Date {
  const { points, step } = usePeriods[period]
  return new Date(floored(now, step).getTime() - (points - 1) * step)
}

/** Returns one point per hour or day of the period, oldest first, including those without usage. */
export function usagePointsOf(period: UsePeriod, rows: readonly UsePoint[], now: Date): UsePoint[] {
  const { points, step } = usePeriods[period]
  const start = startOf(period, now).getTime()
  const made = Array.from({ length: points }, (_, n) => ({
    at: new Date(start + n * step),
    reads: 0,
    writes: 0,
    refused: 0,
  }))
  for (const { at, ...use } of rows) {
    const point = made[Math.floor((at.getTime() - start) / step)]
    if (!point) continue
    point.reads += use.reads
    point.writes += use.writes
    point.refused += use.refused
  }
  return made
}

export const sumOf = (points: readonly Use[]): Use =>
  points.reduce<Use>(
    (sum, { reads, writes, refused }) => ({
      reads: sum.reads + reads,
      writes: sum.writes + writes,
      refused: sum.refused + refused,
    }),
    { reads: 0, writes: 0, refused: 0 },
  )
