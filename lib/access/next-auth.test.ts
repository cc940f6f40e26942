import { expect, test } from 'vitest'
import { isOneFactor } from './next-auth.ts'

test.each([
  [{ amr: ['pwd'] }],
  [{ amr: ['pwd', 'pin'] }],
  [{ amr: ['otp', 'hwk'] }],
  [{ amr: ['pwd', 'unknown'] }],
  [{ amr: [1, null, {}] }],
  [{ amr: ['pwd'], acr: '1' }],
  [{ amr: ['constructor', 'toString'] }],
])('isOneFactor returns true for %j', (claims) => expect(isOneFactor(claims)).toBe(true))

test.each([
  [{}],
  [{ amr: [] }],
  [{ amr: 'pwd' }],
  [{ acr: '0' }],
  [{ amr: ['mfa'] }],
  [{ amr: ['pwd', 'mfa'] }],
  [{ amr: ['pwd', 'otp'] }],
  [{ amr: ['pin', 'hwk'] }],
  [{ amr: ['hwk', 'fpt'] }],
  [{ amr: ['pwd'], acr: 'https://refeds.org/profile/mfa' }],
  [{ amr: ['pop'], acr: 'phr' }],
])('isOneFactor returns false for %j', (claims) => expect(isOneFactor(claims)).toBe(false))
