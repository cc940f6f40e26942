/** Requests: admitted as reads and writes, and refused because there were too many. */
export interface Use {
  reads: number
  writes: number
  refused: number
}
export interface UsePoint extends Use {
  /** When the hour or day begins (UTC). */
  at: Date
}

const hour = 3_600_000
const day = 24 * hour
/** Milliseconds that counts of use are kept. */
export const usageKept = 90 * day

const floored = (at: Date, step: number): Date => new Date(Math.floor(at.getTime() / step) * step)
export const hourOf = (at: Date): Date => floored(at, hour)

/** How far a view of use reaches back, and what one of its points covers, in milliseconds; the last point is the present hour or day. */
export const usePeriods = {
  '24h': { points: 24, step: hour },
  '7d': { points: 168, step: hour },
  '30d': { points: 30, step: day },
  '90d': { points: 90, step: day },
} as const
export type UsePeriod = keyof typeof usePeriods
export const usePeriodNames = ['24h', '7d', '30d', '90d'] as const satisfies readonly UsePeriod[]

/** When the first point of a period begins. */
export function startOf(period: UsePeriod, now: Date): Date {
  const { points, step } = usePeriods[period]
  return new Date(floored(now, step).getTime() - (points - 1) * step)
}

/** One point for each hour or day of the period, oldest first, those without use included. */
export function pointsOf(period: UsePeriod, rows: readonly UsePoint[], now: Date): UsePoint[] {
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
