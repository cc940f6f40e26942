import { describe, expect, it } from 'vitest'
import { hourOf, startOf, sumOf, usagePointsOf, usePeriodNames, usePeriods } from './rules.ts'

const now = new Date('2026-03-01T10:42:13.500Z')
const at = (text: string) => new Date(text)

it('hourOf returns the start of the UTC hour', () => {
  expect(hourOf(now)).toEqual(at('2026-03-01T10:00:00Z'))
  expect(hourOf(at('2026-03-01T11:00:00Z'))).toEqual(at('2026-03-01T11:00:00Z'))
  expect(hourOf(at('2026-03-01T10:59:59.999Z'))).toEqual(at('2026-03-01T10:00:00Z'))
})

describe.each(usePeriodNames)('points of %s', (period) => {
  it('are ordered without gaps and end with the current hour or day', () => {
    const points = usagePointsOf(period, [], now)
    const { points: count, step } = usePeriods[period]
    expect(points).toHaveLength(count)
    expect(points[0]?.at).toEqual(startOf(period, now))
    for (const [n, point] of points.entries()) {
      if (n > 0) expect(point.at.getTime() - (points[n - 1]?.at.getTime() ?? 0)).toBe(step)
    }
    const last = points.at(-1)?.at.getTime() ?? 0
    expect(last <= now.getTime() && now.getTime() < last + step).toBe(true)
  })

  it('include counts at both ends of the period and none outside', () => {
    const start = startOf(period, now)
    const one = { reads: 1, writes: 2, refused: 3 }
    const rows = [
      { at: new Date(start.getTime() - 1), ...one },
      { at: start, ...one },
      { at: hourOf(now), ...one },
      { at: new Date(now.getTime() + 2 * 86_400_000), ...one },
    ]
    expect(sumOf(usagePointsOf(period, rows, now))).toEqual({ reads: 2, writes: 4, refused: 6 })
  })
})

it('pointsOf adds up the hours of a day', () => {
  const rows = ['2026-02-27T00:00:00Z', '2026-02-27T23:00:00Z'].map((hour) => ({
    at: at(hour),
    reads: 5,
    writes: 0,
    refused: 0,
  }))
  expect(usagePointsOf('30d', rows, now).filter(({ reads }) => reads > 0)).toEqual([
    { at: at('2026-02-27T00:00:00Z'), reads: 10, writes: 0, refused: 0 },
  ])
})
