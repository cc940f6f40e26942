import { randomInt } from 'node:crypto'
import { unsealed } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { hashOf } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AccountsDeps } from '../ports.ts'
import { type PasskeyResponse, verifiedCount } from './passkeys.ts'
import { codeLock, maxWrongCodes, recoveryCodeCount } from './rules.ts'

/** The sign-in needs a second factor (`needed`), or the code was wrong, used before or expired (`wrong`). */
export class SecondFactorRefusal extends Error {
  readonly reason: 'needed' | 'wrong'
  /** Counts the wrong code, for a caller in a transaction: after its rollback. */
  readonly afterRollback: (() => Promise<unknown>) | undefined
  constructor(reason: 'needed' | 'wrong', afterRollback?: () => Promise<unknown>) {
    super(`second factor ${reason}`)
    this.name = 'SecondFactorRefusal'
    this.reason = reason
    this.afterRollback = afterRollback
  }
}

/** A transaction, or the database. */
type Client = Pick<Transaction, 'account' | 'accountFactor' | 'accountRecoveryCode'>

/** Seconds of one time step (RFC 6238 §5.2). */
const period = 30

interface TotpLabel {
  /** The name of the installation. */
  issuer: string
  email: string
}
// Loaded at first use: most processes never need it.
const totpOf = async (secret: Uint8Array | undefined, { issuer, email }: TotpLabel = { issuer: '', email: '' }) => {
  const { Secret, TOTP } = await import('otpauth')
  const key = secret ? new Secret({ buffer: new Uint8Array(secret).buffer }) : new Secret({ size: 20 })
  return new TOTP({ issuer, label: email, algorithm: 'SHA1', digits: 6, period, secret: key })
}

/** A new secret of 20 random bytes (RFC 4226 §4), for the person in base32, and the `otpauth:` URI for a QR code. */
export async function newTotpSecret(label: TotpLabel): Promise<{ secret: Uint8Array; base32: string; uri: string }> {
  const totp = await totpOf(undefined, label)
  return { secret: totp.secret.bytes, base32: totp.secret.base32, uri: totp.toString() }
}

/** The time step of a code that is valid now or was valid one step earlier or later; undefined for any other code. */
export async function stepOfCode(secret: Uint8Array, code: string, now: Date): Promise<number | undefined> {
  const totp = await totpOf(secret)
  const delta = totp.validate({ token: code, timestamp: now.getTime(), window: 1 })
  return delta === null ? undefined : Math.floor(now.getTime() / 1000 / period) + delta
}

/** Accepts a code of an authenticator app once. The condition on the step lets one of two concurrent requests win. */
async function acceptTotp(client: Client, accountId: string, code: string, now: Date, totpKey: () => Uint8Array) {
  const apps = await client.accountFactor.findMany({
    where: { accountId, kind: 'totp', confirmedAt: { not: null } },
    select: { id: true, totpSecret: true },
  })
  for (const { id, totpSecret } of apps) {
    const secret = totpSecret && unsealed(totpKey(), totpSecret, id)
    const step = secret ? await stepOfCode(secret, code, now) : undefined
    if (step === undefined) continue
    const { count } = await client.accountFactor.updateMany({
      where: { id, OR: [{ lastTotpStep: null }, { lastTotpStep: { lt: step } }] },
      data: { lastTotpStep: step, lastUsedAt: now },
    })
    if (count > 0) return true
  }
  return false
}

const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
/** 20 characters of 32: 100 random bits, in groups of five. */
const newCode = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

/** The code as it is hashed: without spaces, hyphens and capitals. */
const normalised = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '')
const recoveryCodeHash = (code: string) => hashOf(normalised(code))
/** Whether a text has the form of a recovery code, rather than of a code from an authenticator app. */
const isRecoveryCode = (code: string): boolean => /^[a-z2-9]{20}$/.test(normalised(code))

/** Replaces all recovery codes of an account. Returns the new ones, which are shown once. */
export async function replaceRecoveryCodes(tx: Transaction, accountId: string, now: Date): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode)
  await tx.accountRecoveryCode.deleteMany({ where: { accountId } })
  await tx.accountRecoveryCode.createMany({
    data: codes.map((code) => ({ codeHash: recoveryCodeHash(code), accountId, createdAt: now })),
  })
  return codes
}

async function acceptRecoveryCode(client: Client, accountId: string, code: string, now: Date): Promise<boolean> {
  const { count } = await client.accountRecoveryCode.updateMany({
    where: { codeHash: recoveryCodeHash(code), accountId, usedAt: null },
    data: { usedAt: now },
  })
  return count > 0
}

/** @throws Problem `rate_limited` after too many wrong codes of apps in a row */
async function refuseLocked(client: Client, accountId: string, now: Date): Promise<void> {
  const account = await client.account.findUnique({
    where: { id: accountId },
    select: { wrongCodes: true, wrongCodeAt: true },
  })
  if (!account?.wrongCodeAt || account.wrongCodes < maxWrongCodes) return
  const wait = account.wrongCodeAt.getTime() + codeLock - now.getTime()
  if (wait <= 0) return
  const seconds = Math.ceil(wait / 1000)
  throw new Problem('rate_limited', {
    detail: `Too many wrong codes. Nothing was changed. Try again in ${seconds} seconds, or use a recovery code or a passkey.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Verifies second factors, at sign-in and where the password is confirmed. */
export const secondFactorVerification = (
  db: Database,
  { challenges, totpKey, party }: Pick<AccountsDeps, 'challenges' | 'totpKey' | 'party'>,
) => ({
  /**
   * Verifies the code of an account whose password was right. Does nothing for an account without a second factor. A code works once.
   * Ten wrong codes of an app in a row lock codes of apps for an hour. Recovery codes have 100 random bits and are never locked, otherwise
   * somebody who knows the password could keep the owner out. With `tx`, everything happens in the caller's transaction, except for the count
   * of wrong codes: the caller runs `afterRollback` of the refusal.
   * @returns whether the account has a second factor
   * @throws SecondFactorRefusal
   * @throws Problem `rate_limited`
   */
  async requireSecondFactor(
    accountId: string,
    code: string | undefined,
    now: Date,
    tx?: Transaction,
  ): Promise<boolean> {
    const client = tx ?? db.prisma
    const factors = await client.accountFactor.count({ where: { accountId, confirmedAt: { not: null } } })
    if (factors === 0) return false
    if (code === undefined || code.trim() === '') throw new SecondFactorRefusal('needed')
    if (isRecoveryCode(code)) {
      if (!(await acceptRecoveryCode(client, accountId, code, now))) throw new SecondFactorRefusal('wrong')
    } else {
      await refuseLocked(client, accountId, now)
      if (!(await acceptTotp(client, accountId, code.replace(/\s/g, ''), now, totpKey))) {
        const data = { wrongCodes: { increment: 1 }, wrongCodeAt: now }
        const count = () => db.prisma.account.updateMany({ where: { id: accountId }, data })
        if (!tx) await count()
        throw new SecondFactorRefusal('wrong', tx && count)
      }
    }
    await client.account.updateMany({ where: { id: accountId }, data: { wrongCodes: 0, wrongCodeAt: null } })
    return true
  },

  /**
   * The account that owns the passkey of a response, and how to use the response up in the transaction that opens the session: false if
   * it was used before or the passkey was removed. Undefined for an unknown passkey and for an invalid response alike.
   */
  async accountOfPasskey(
    response: PasskeyResponse,
    now: Date,
    client: Client = db.prisma,
  ): Promise<{ accountId: string; useUp(tx: Transaction): Promise<boolean> } | undefined> {
    const found = await client.accountFactor.findUnique({
      where: { credentialId: response.credentialId },
      select: { id: true, accountId: true, publicKey: true, signatureCount: true, transports: true },
    })
    if (!found?.publicKey) return undefined
    let issuedAt: Date | undefined
    const passkey = {
      credentialId: response.credentialId,
      publicKey: found.publicKey,
      transports: found.transports,
      signatureCount: found.signatureCount ?? 0n,
    }
    const signatureCount = await verifiedCount(party, response, passkey, (challenge) => {
      issuedAt = challenges.issuedAt(challenge, 'sign-in', now)
      return issuedAt !== undefined
    })
    const at = issuedAt
    if (signatureCount === undefined || at === undefined) return undefined
    return {
      accountId: found.accountId,
      async useUp(tx) {
        const { count } = await tx.accountFactor.updateMany({
          where: { id: found.id, OR: [{ lastChallengeAt: null }, { lastChallengeAt: { lt: at } }] },
          data: { lastChallengeAt: at, lastUsedAt: now, signatureCount },
        })
        return count > 0
      },
    }
  },
})
export type SecondFactorVerification = ReturnType<typeof secondFactorVerification>
