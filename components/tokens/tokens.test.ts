import { describe, expect, test } from 'vitest'
import { isNearlyOver, lifeLeft, shownTokenState } from './tokens.ts'

const created_at = '2026-01-01T00:00:00.000Z'
const expires_at = '2026-01-05T00:00:00.000Z'
const share = (now: string, end: string | null = expires_at) => lifeLeft({ created_at, expires_at: end }, new Date(now))

describe('the remaining life of a token', () => {
  test.each([
    ['2026-01-01T00:00:00Z', 1, false],
    ['2026-01-03T00:00:00Z', 0.5, false],
    ['2026-01-04T00:00:00Z', 0.25, false],
    ['2026-01-04T00:00:01Z', 0.25, true],
  ])('lifeLeft at %s returns %d', (now, left, nearly) => {
    expect(share(now)).toBeCloseTo(left, 4)
    expect(isNearlyOver(share(now))).toBe(nearly)
  })
  test('isNearlyOver returns false for an expired token and for one without expiry', () => {
    expect(isNearlyOver(share(expires_at))).toBe(false)
    expect(isNearlyOver(share('2027-01-01T00:00:00Z'))).toBe(false)
    expect(isNearlyOver(share('2027-01-01T00:00:00Z', null))).toBe(false)
    expect(isNearlyOver(share('2026-01-01T00:00:00Z', created_at))).toBe(false)
  })
})

test.each([
  ['active', true, 'suspended'],
  ['rotated', true, 'suspended'],
  ['revoked', true, 'revoked'],
  ['expired', true, 'expired'],
  ['active', false, 'active'],
] as const)('shownTokenState(%s, %s) returns %s', (state, isSuspended, shown) =>
  expect(shownTokenState(state, isSuspended)).toBe(shown),
)
