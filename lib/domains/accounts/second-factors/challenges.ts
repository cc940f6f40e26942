import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import { challengeLife } from './rules.ts'

/** What a challenge is for: the registration of a passkey by an account, or a sign-in. */
export type ChallengeUse = { registration: string } | 'sign-in'

const randomLength = 16
const timeLength = 8
const bodyLength = timeLength + randomLength

/**
 * WebAuthn challenges that need no storage, so that a flood of requests fills no table: the time of issue, random bytes, and an HMAC of
 * both with the use. A response counts once, because a passkey accepts only challenges that are newer than the last accepted one.
 */
export function createChallenges(key: () => Uint8Array) {
  const signatureOf = (body: Uint8Array, use: ChallengeUse): Buffer =>
    createHmac('sha256', key())
      .update(body)
      .update(use === 'sign-in' ? 'sign-in' : `registration\0${use.registration}`)
      .digest()

  return {
    issue(use: ChallengeUse, now: Date): Uint8Array<ArrayBuffer> {
      const body = Buffer.alloc(bodyLength)
      body.writeBigUInt64BE(BigInt(now.getTime()))
      randomBytes(randomLength).copy(body, timeLength)
      return new Uint8Array(Buffer.concat([body, signatureOf(body, use)]))
    },
    /** When this challenge was issued, if it was issued here for this use and is still valid. `challenge`: base64url. */
    issuedAt(challenge: string, use: ChallengeUse, now: Date): Date | undefined {
      const bytes = Buffer.from(challenge, 'base64url')
      const body = bytes.subarray(0, bodyLength)
      const given = bytes.subarray(bodyLength)
      const expected = signatureOf(body, use)
      if (given.length !== expected.length || !timingSafeEqual(given, expected)) return undefined
      const issued = Number(body.readBigUInt64BE())
      const age = now.getTime() - issued
      return age >= 0 && age <= challengeLife ? new Date(issued) : undefined
    },
  }
}
export type Challenges = ReturnType<typeof createChallenges>
