import { expect, test } from 'vitest'
import { durationOf } from './duration.ts'

const from = '2026-03-01T00:00:00.000Z'
test.each([
  ['2026-03-01T00:00:00.200Z', 'seconds', 1],
  ['2026-03-01T00:00:04.900Z', 'seconds', 4],
  ['2026-03-01T00:02:00.000Z', 'minutes', 2],
  ['2026-03-01T02:59:00.000Z', 'hours', 2],
  ['2026-03-04T00:00:00.000Z', 'days', 3],
] as const)('durationOf returns the time until %s in %s', (to, unit, n) => {
  expect(durationOf(from, to)).toEqual({ unit, n })
})
