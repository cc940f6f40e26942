import { expect, it } from 'vitest'
import { areHeartbeatsOver, decideStatus } from './rules.ts'

const asked = { isConfirmed: true, isOwned: true, byItself: false }
it.each([
  ['active', 'paused', {}, 'changed'],
  ['paused', 'active', {}, 'changed'],
  ['paused', 'paused', {}, 'same'],
  ['active', 'dead', {}, 'changed'],
  ['active', 'dead', { isConfirmed: false }, 'unconfirmed'],
  ['dead', 'dead', { isConfirmed: false }, 'same'],
  ['dead', 'active', {}, 'for_good'],
  ['dead', 'paused', {}, 'for_good'],
  ['paused', 'active', { byItself: true }, 'owner_alone'],
  ['paused', 'active', { byItself: true, isOwned: false }, 'changed'],
  ['active', 'paused', { byItself: true }, 'changed'],
] as const)('judgeStatus(%s, %s, %o) returns %s', (from, to, differs, verdict) =>
  expect(decideStatus(from, to, { ...asked, ...differs })).toBe(verdict),
)

it('areHeartbeatsOver returns true exactly 24 hours after retirement, and never for other agents', () => {
  const died = new Date('2026-03-01T10:00:00Z')
  const after = (ms: number) => new Date(died.getTime() + ms)
  expect([86_399_999, 86_400_000].map((ms) => areHeartbeatsOver(died, after(ms)))).toEqual([false, true])
  expect(areHeartbeatsOver(null, after(1e12))).toBe(false)
})
