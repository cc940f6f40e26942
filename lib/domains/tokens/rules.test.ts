import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { hashOf } from '#lib/kernel/ids.ts'
import { isTokenKey, makeKey, prefixOf } from './keys.ts'
import {
  countsSince,
  grantable,
  mayRotate,
  outlives,
  overlapEnd,
  refusalWindow,
  tierLimits,
  tokenScopes,
  tokenScopesInOrder,
  tokenStateOf,
} from './rules.ts'

const base62 = [...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz']
const now = new Date('2026-03-01T12:00:00.000Z')
const at = (milliseconds: number) => new Date(now.getTime() + milliseconds)

describe('keys', () => {
  test('have the documented format and are unique', () => {
    const keys = Array.from({ length: 1_000 }, makeKey)
    for (const key of keys) {
      expect(key).toMatch(/^kp_[0-9A-Za-z]{49}$/)
      expect(isTokenKey(key)).toBe(true)
    }
    expect(new Set(keys.map(prefixOf)).size).toBe(1_000)
  })

  test('isKey rejects every change of a single character', () => {
    const key = makeKey()
    for (let place = 0; place < key.length; place++)
      for (const letter of base62)
        if (letter !== key[place]) expect(isTokenKey(key.slice(0, place) + letter + key.slice(place + 1))).toBe(false)
  })

  test('isKey rejects two swapped neighbouring characters', () => {
    fc.assert(
      fc.property(fc.integer({ min: 3, max: 50 }), (place) => {
        const key = makeKey()
        const [one = '', other = ''] = key.slice(place, place + 2)
        fc.pre(one !== other)
        return !isTokenKey(key.slice(0, place) + other + one + key.slice(place + 2))
      }),
    )
  })

  test('isKey rejects all other texts', () => {
    fc.assert(fc.property(fc.string(), (text) => !isTokenKey(text)))
    const key = makeKey()
    for (const text of [
      '',
      key.slice(0, -1),
      `${key}0`,
      ` ${key}`,
      `${key}\n`,
      key.toUpperCase(),
      key.replace('_', '-'),
    ])
      expect(isTokenKey(text)).toBe(false)
  })

  test('have different hashes, and only the prefix remains readable', () => {
    const key = makeKey()
    expect(hashOf(key)).toHaveLength(32)
    expect(hashOf(key).equals(hashOf(makeKey()))).toBe(false)
    expect(prefixOf(key)).toHaveLength(11)
  })
})

describe('grantable permissions', () => {
  const agent = (...own: string[]) => ({ kind: 'agent' as const, isAdmin: own.includes('admin'), scopes: own })
  test.each([
    [agent('read'), ['read']],
    [agent('write'), ['write']],
    [agent('write', 'read'), ['read', 'write']],
    [agent('admin'), ['read', 'write']],
    [agent('privacy', 'read'), ['read', 'privacy']],
    [agent('read', 'admin'), ['read', 'write']],
    [{ kind: 'person' as const, isAdmin: false, scopes: [] }, ['read', 'write', 'privacy']],
    [{ kind: 'person' as const, isAdmin: true, scopes: [] }, ['read', 'write', 'privacy', 'admin']],
    [{ kind: 'anonymous' as const, isAdmin: false, scopes: [] }, []],
  ])('grantable(%j) returns %j', (actor, may) => expect(grantable(actor)).toEqual(may))

  test('an agent never grants a scope that it lacks', () => {
    fc.assert(
      fc.property(fc.subarray(['read', 'write', 'privacy']), (own) =>
        grantable(agent(...own)).every((scope) => own.includes(scope)),
      ),
    )
  })

  test.each([
    [null, null, false],
    [at(1), null, false],
    [null, at(1), true],
    [at(2), at(1), true],
    [at(1), at(1), false],
  ])('compares an expiry at %s as later than an expiry at %s: %s', (wanted, own, longer) =>
    expect(outlives(wanted, own)).toBe(longer),
  )

  test('inOrder sorts scopes and removes duplicates', () => {
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...tokenScopes)), (some) => {
        const ordered = tokenScopesInOrder(some)
        expect(new Set(ordered)).toEqual(new Set(some))
        expect(ordered).toHaveLength(new Set(some).size)
        expect(tokenScopesInOrder([...ordered].reverse())).toEqual(ordered)
      }),
    )
  })
})

describe('lifetime of a token', () => {
  test.each([
    [{ expiresAt: null, revokedAt: null, revokedReason: null }, 'active'],
    [{ expiresAt: at(1), revokedAt: null, revokedReason: null }, 'active'],
    [{ expiresAt: now, revokedAt: null, revokedReason: null }, 'expired'],
    [{ expiresAt: at(1), revokedAt: null, revokedReason: 'rotation' }, 'rotated'],
    [{ expiresAt: now, revokedAt: null, revokedReason: 'rotation' }, 'expired'],
    [{ expiresAt: null, revokedAt: now, revokedReason: 'rotation' }, 'revoked'],
    [{ expiresAt: at(-1), revokedAt: at(-2), revokedReason: 'owner' }, 'revoked'],
  ])('the state of %j is %s', (life, state) => expect(tokenStateOf(life, now)).toBe(state))

  test.each([
    [4, 0, true],
    [5, 0, true],
    [9, 0, true], // the tier was lowered; a rotation without overlap adds no token
    [4, 60_000, true],
    [5, 60_000, true],
    [6, 60_000, false],
  ])('with %i active free-tier tokens, a rotation with an overlap of %i ms is allowed: %s', (inUse, overlap, may) =>
    expect(mayRotate(inUse, 'free', overlap)).toBe(may),
  )

  test('never extends a token’s life by an overlap', () => {
    expect(overlapEnd(null, 60_000, now)).toEqual(at(60_000))
    expect(overlapEnd(at(120_000), 60_000, now)).toEqual(at(60_000))
    expect(overlapEnd(at(30_000), 60_000, now)).toEqual(at(30_000))
  })

  test('rejected requests count towards a revocation for one hour', () => {
    expect(countsSince(now)).toEqual(at(-3_600_000))
    expect(refusalWindow).toBe(3_600_000)
  })
})

test('tier limits match the documentation', () => {
  expect(tierLimits).toEqual({
    anonymous: { reads: 60, writes: 0, batch: 0, unitBytes: 0, exportsPerDay: 0, tokens: 0 },
    free: { reads: 300, writes: 30, batch: 10, unitBytes: 262_144, exportsPerDay: 10, tokens: 5 },
    pro: { reads: 1_000, writes: 200, batch: 100, unitBytes: 1_048_576, exportsPerDay: 100, tokens: 20 },
    enterprise: { reads: 10_000, writes: 2_000, batch: 1_000, unitBytes: 4_194_304, exportsPerDay: null, tokens: 100 },
  })
})
