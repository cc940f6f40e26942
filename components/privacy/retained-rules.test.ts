import { expect, test } from 'vitest'
import { retentionTerm } from './retained-rules.ts'

const now = new Date('2026-02-28T12:00:00.000Z')
test.each([
  ['2026-05-29T12:00:00.000Z', 90, 'day'],
  ['2033-02-28T12:00:00.000Z', 7, 'year'],
  ['2027-02-28T11:59:58.000Z', 1, 'year'],
  ['2027-03-02T12:00:00.000Z', 367, 'day'],
  ['2026-03-01T12:00:00.000Z', 1, 'day'],
] as const)('retentionTerm until %s returns %d %s', (until, value, unit) =>
  expect(retentionTerm(new Date(until), now)).toEqual({ value, unit }),
)
