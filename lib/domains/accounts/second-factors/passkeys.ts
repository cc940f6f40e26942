import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto'
import type { AuthenticationResponseJSON, RegistrationResponseJSON } from '@simplewebauthn/server'
import { z } from 'zod'
import { challengeLife } from './rules.ts'

/** Where passkeys of this installation are valid (WebAuthn level 3, §5.1.2): the host of its public address. */
export interface RelyingParty {
  /** The public address, such as `https://registry.example.org`. */
  origin: string
}
const rpIdOf = ({ origin }: RelyingParty): string => new URL(origin).hostname
// Loaded at first use: most processes never need it.
const library = () => import('@simplewebauthn/server')

/** EdDSA, ES256 and RS256 (IANA COSE algorithms), which every authenticator supports one of. */
const algorithms = [-8, -7, -257]

export interface StoredPasskey {
  credentialId: Uint8Array<ArrayBuffer>
  publicKey: Uint8Array<ArrayBuffer>
  signatureCount: bigint
  transports: string[]
}

/** Options for `navigator.credentials.create()`. Asks for a discoverable passkey with user verification, without attestation. */
export async function registrationOptions(
  party: RelyingParty,
  {
    account,
    challenge,
    existing,
  }: {
    account: { id: string; email: string; name: string }
    challenge: Uint8Array<ArrayBuffer>
    existing: readonly StoredPasskey[]
  },
): Promise<Record<string, unknown>> {
  const { generateRegistrationOptions } = await library()
  const options = await generateRegistrationOptions({
    rpName: 'KnowledgePulse',
    rpID: rpIdOf(party),
    userID: new TextEncoder().encode(account.id),
    userName: account.email,
    userDisplayName: account.name,
    challenge,
    attestationType: 'none',
    supportedAlgorithmIDs: algorithms,
    excludeCredentials: existing.map(({ credentialId, transports }) => ({
      id: Buffer.from(credentialId).toString('base64url'),
      transports,
    })),
    authenticatorSelection: { residentKey: 'required', userVerification: 'required' },
  })
  return { ...options }
}

const ClientData = z.object({ clientDataJSON: z.string().max(20_000) }).loose()
const Registration = z
  .object({
    id: z.string().max(2_000),
    rawId: z.string().max(2_000),
    response: ClientData.extend({ attestationObject: z.string().max(100_000) }),
    clientExtensionResults: z.object({}).loose(),
    type: z.literal('public-key'),
  })
  .loose()
const Authentication = z
  .object({
    id: z.string().max(2_000),
    rawId: z.string().max(2_000),
    response: ClientData.extend({ authenticatorData: z.string().max(20_000), signature: z.string().max(20_000) }),
    clientExtensionResults: z.object({}).loose(),
    type: z.literal('public-key'),
  })
  .loose()

/** The new passkey in a response of the browser; undefined if the response is not valid for a challenge that `accepts` knows. */
export async function registeredPasskey(
  party: RelyingParty,
  response: unknown,
  accepts: (challenge: string) => boolean,
): Promise<StoredPasskey | undefined> {
  const parsed = Registration.safeParse(response)
  if (!parsed.success) return undefined
  const { verifyRegistrationResponse } = await library()
  try {
    const { registrationInfo } = await verifyRegistrationResponse({
      response: parsed.data as RegistrationResponseJSON,
      expectedChallenge: accepts,
      expectedOrigin: party.origin,
      expectedRPID: rpIdOf(party),
      requireUserVerification: true,
      supportedAlgorithmIDs: algorithms,
    })
    if (!registrationInfo) return undefined
    const { id, publicKey, counter, transports } = registrationInfo.credential
    return {
      credentialId: new Uint8Array(Buffer.from(id, 'base64url')),
      publicKey: new Uint8Array(publicKey),
      signatureCount: BigInt(counter),
      transports: (transports ?? []).slice(0, 10),
    }
  } catch {
    return undefined // the library throws for each kind of invalid response
  }
}

/** Options for `navigator.credentials.get()`. They name no passkey, so that the browser offers those that it knows for this address. */
export async function signInOptions(
  party: RelyingParty,
  challenge: Uint8Array<ArrayBuffer>,
): Promise<Record<string, unknown>> {
  const { generateAuthenticationOptions } = await library()
  return { ...(await generateAuthenticationOptions({ rpID: rpIdOf(party), challenge, userVerification: 'required' })) }
}

export interface PasskeyResponse {
  credentialId: Uint8Array<ArrayBuffer>
  json: AuthenticationResponseJSON
}
/** The response of `navigator.credentials.get()` in a text of JSON; undefined for anything else. */
export function passkeyResponse(text: string): PasskeyResponse | undefined {
  if (text.length > 100_000) return undefined
  let json: unknown
  try {
    json = JSON.parse(text)
  } catch {
    return undefined
  }
  const parsed = Authentication.safeParse(json)
  return parsed.success
    ? {
        credentialId: new Uint8Array(Buffer.from(parsed.data.id, 'base64url')),
        json: parsed.data as AuthenticationResponseJSON,
      }
    : undefined
}

/**
 * Verifies that the holder of the passkey signed a challenge that `accepts` knows, with user verification. Returns the new signature
 * count; undefined if the response is not valid.
 */
export async function verifiedCount(
  party: RelyingParty,
  { json }: PasskeyResponse,
  passkey: StoredPasskey,
  accepts: (challenge: string) => boolean,
): Promise<bigint | undefined> {
  const { verifyAuthenticationResponse } = await library()
  try {
    const { verified, authenticationInfo } = await verifyAuthenticationResponse({
      response: json,
      expectedChallenge: accepts,
      expectedOrigin: party.origin,
      expectedRPID: rpIdOf(party),
      requireUserVerification: true,
      credential: {
        id: Buffer.from(passkey.credentialId).toString('base64url'),
        publicKey: passkey.publicKey,
        counter: Number(passkey.signatureCount),
        transports: passkey.transports,
      },
    })
    return verified ? BigInt(authenticationInfo.newCounter) : undefined
  } catch {
    return undefined // the library throws for each kind of invalid response
  }
}

/** What a challenge is for: the registration of a passkey by an account, or a sign-in. */
type ChallengeUse = { registration: string } | 'sign-in'

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
