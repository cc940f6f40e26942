import { unsealed } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Challenges } from './challenges.ts'
import { type PasskeyResponse, type RelyingParty, verifiedCount } from './passkeys.ts'
import { isRecoveryCode, recoveryCodeHash } from './recovery-codes.ts'
import { codeLock, mostWrongCodes } from './rules.ts'
import { stepOfCode } from './totp.ts'

/** The sign-in needs a second factor (`needed`), or the code was wrong, used before or expired (`wrong`). */
export class SecondFactorRefusal extends Error {
  readonly reason: 'needed' | 'wrong'
  constructor(reason: 'needed' | 'wrong') {
    super(`second factor ${reason}`)
    this.name = 'SecondFactorRefusal'
    this.reason = reason
  }
}

export interface SecondFactorDeps {
  challenges: Challenges
  /** Key that seals the secrets of authenticator apps. */
  totpKey: () => Uint8Array
  party: RelyingParty
}

/** Accepts a code of an authenticator app once. The condition on the step lets one of two concurrent requests win. */
async function acceptTotp(db: Database, accountId: string, code: string, now: Date, totpKey: () => Uint8Array) {
  const apps = await db.prisma.accountFactor.findMany({
    where: { accountId, kind: 'totp', confirmedAt: { not: null } },
    select: { id: true, totpSecret: true },
  })
  for (const { id, totpSecret } of apps) {
    const secret = totpSecret && unsealed(totpKey(), totpSecret, id)
    const step = secret ? await stepOfCode(secret, code, now) : undefined
    if (step === undefined) continue
    const { count } = await db.prisma.accountFactor.updateMany({
      where: { id, OR: [{ lastTotpStep: null }, { lastTotpStep: { lt: step } }] },
      data: { lastTotpStep: step, lastUsedAt: now },
    })
    if (count > 0) return true
  }
  return false
}

async function acceptRecoveryCode(db: Database, accountId: string, code: string, now: Date): Promise<boolean> {
  const { count } = await db.prisma.accountRecoveryCode.updateMany({
    where: { codeHash: recoveryCodeHash(code), accountId, usedAt: null },
    data: { usedAt: now },
  })
  return count > 0
}

/** @throws Problem `rate_limited` after too many wrong codes in a row */
async function refuseLocked(db: Database, accountId: string, now: Date): Promise<void> {
  const account = await db.prisma.account.findUnique({
    where: { id: accountId },
    select: { wrongCodes: true, wrongCodeAt: true },
  })
  if (!account?.wrongCodeAt || account.wrongCodes < mostWrongCodes) return
  const wait = account.wrongCodeAt.getTime() + codeLock - now.getTime()
  if (wait <= 0) return
  const seconds = Math.ceil(wait / 1000)
  throw new Problem('rate_limited', {
    detail: `Too many wrong codes. Nothing was changed. Try again in ${seconds} seconds, or sign in with a passkey.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Verifies second factors at sign-in. */
export const secondFactorVerification = (db: Database, { challenges, totpKey, party }: SecondFactorDeps) => ({
  /**
   * Verifies the code of an account whose password was right. Does nothing for an account without a second factor. A code works once.
   * Ten wrong codes in a row lock codes for an hour.
   * @throws SecondFactorRefusal
   * @throws Problem `rate_limited`
   */
  async requireSecondFactor(accountId: string, code: string | undefined, now: Date): Promise<void> {
    const factors = await db.prisma.accountFactor.count({ where: { accountId, confirmedAt: { not: null } } })
    if (factors === 0) return
    if (code === undefined || code.trim() === '') throw new SecondFactorRefusal('needed')
    await refuseLocked(db, accountId, now)
    const isAccepted = isRecoveryCode(code)
      ? await acceptRecoveryCode(db, accountId, code, now)
      : await acceptTotp(db, accountId, code.replace(/\s/g, ''), now, totpKey)
    await db.prisma.account.updateMany({
      where: { id: accountId },
      data: isAccepted ? { wrongCodes: 0, wrongCodeAt: null } : { wrongCodes: { increment: 1 }, wrongCodeAt: now },
    })
    if (!isAccepted) throw new SecondFactorRefusal('wrong')
  },

  /**
   * The account that owns the passkey of a response, and how to use the response up in the transaction that opens the session: false if
   * it was used before or the passkey was removed. Undefined for an unknown passkey and for an invalid response alike.
   */
  async accountOfPasskey(
    response: PasskeyResponse,
    now: Date,
  ): Promise<{ accountId: string; useUp(tx: Transaction): Promise<boolean> } | undefined> {
    const found = await db.prisma.accountFactor.findUnique({
      where: { credentialId: response.credentialId },
      select: { id: true, accountId: true, publicKey: true, signatureCount: true, transports: true },
    })
    if (!found?.publicKey) return undefined
    let issuedAt: Date | undefined
    const passkey = {
      ...{ credentialId: response.credentialId, publicKey: found.publicKey, transports: found.transports },
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
