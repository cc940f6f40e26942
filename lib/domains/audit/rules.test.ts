import fc from 'fast-check'
import { expect, it } from 'vitest'
import { auditFileName, csvCell, isRevocation, nextStep, shortestStep } from './rules.ts'

const now = new Date('2026-11-28T12:00:00.000Z')
it.each([
  ['a month', '2026-11-01T00:00:00.000Z', '2026-11-30T23:59:59.999Z', 'audit-2026-11.csv'],
  [
    'a month whose first days are deleted',
    '2026-08-01T00:00:00.000Z',
    '2026-08-31T23:59:59.999Z',
    'audit-2026-08-30_2026-08-31.csv',
  ],
  ['a part of a month', '2026-11-01T00:00:00.000Z', '2026-11-15T08:00:00.000Z', 'audit-2026-11-01_2026-11-15.csv'],
  ['everything', undefined, undefined, 'audit-2026-08-30_2026-11-28.csv'],
])('auditFileName names the period of %s', (_, from, to, name) => {
  const [first, last] = [from, to].map((at) => (at === undefined ? undefined : new Date(at)))
  expect(auditFileName({ from: first, to: last, format: 'csv' }, now)).toBe(name)
})

it.each([
  ['=1+1', "'=1+1"],
  ['a;=1+1', "a;'=1+1"],
  ['a\t@SUM(1)', "a\t'@SUM(1)"],
  ['a\n+1', `"a\n'+1"`],
  ['a;-2+3', "a;'-2+3"],
  ['\tx', "'\tx"],
  ['thanks ;-) and a=b; c', 'thanks ;-) and a=b; c'],
  ["x;-(cmd|'/C calc'!A0)", "x;'-(cmd|'/C calc'!A0)"],
  ['a;-D1+cmd|calc', "a;'-D1+cmd|calc"],
  ['a;-((1+1))', "a;'-((1+1))"],
  ["a;-( cmd|'/C calc'!A0)", "a;'-( cmd|'/C calc'!A0)"],
  ['a;-D (cmd|calc)', "a;'-D (cmd|calc)"],
  ['a;-p.x(1)', "a;'-p.x(1)"],
  ['a;-)x', "a;'-)x"],
  ['a ;-( b ;-D', 'a ;-( b ;-D'],
  ['sad ;-(. glad ;-P! ;-)', 'sad ;-(. glad ;-P! ;-)'],
  ['a;b, c', '"a;b, c"'],
])('csvCell writes %j without a formula in any separation of cells', (value, cell) => {
  expect(csvCell(value)).toBe(cell)
})

it.each([
  ['a token revoked by id', 'token', { operation: 'revokeToken', changed: true }, true],
  ['a token revoked with its issuer', 'token', { fields: ['revoked_at'] }, true],
  ['a token revoked before', 'token', { operation: 'revokeByPrefix', fields: ['revoked_at'], changed: false }, false],
  ['a rotated token', 'token', { operation: 'rotateToken' }, false],
  ['an agent', 'agent', { fields: ['revoked_at'] }, false],
])('isRevocation recognizes %s', (_, type, details, expected) => {
  expect(isRevocation(type, details)).toBe(expected)
})

const hour = 3_600_000

it.each([
  ['quick', 10, hour * 4],
  ['neither quick nor slow', 500, hour],
  ['slow', 2_000, hour / 4],
  ['timed out', undefined, hour / 16],
] as const)('nextStep after a step that was %s', (_, took, milliseconds) => {
  expect(nextStep({ milliseconds: hour }, took)).toEqual({ milliseconds })
})

it('nextStep reaches the shortest step and stays there when every step times out', () => {
  fc.assert(
    fc.property(fc.integer({ min: shortestStep, max: 90 * 24 * hour }), (milliseconds) => {
      let step = { milliseconds }
      for (let n = 0; n < 12; n++) step = nextStep(step, undefined)
      return step.milliseconds === shortestStep
    }),
  )
})
