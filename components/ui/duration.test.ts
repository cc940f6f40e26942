import { expect, test } from 'vitest'
import { durationOf } from './duration.ts'

test.each([
  [0.2, 'second', 1],
  [4.9, 'second', 4],
  [119, 'second', 119],
  [120, 'minute', 2],
  [544, 'minute', 9],
  [2 * 3_600 + 3_540, 'hour', 2],
  [3 * 86_400, 'day', 3],
] as const)('durationOf returns %s seconds in %ss', (seconds, unit, n) => {
  expect(durationOf(seconds)).toEqual({ unit, n })
})
