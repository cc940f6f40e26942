import { randomInt } from 'node:crypto'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { recoveryCodeCount } from './rules.ts'

const alphabet = 'abcdefghijkmnpqrstuvwxyz23456789'
/** 20 characters of 32: 100 random bits, in groups of five. */
const newCode = (): string =>
  Array.from({ length: 4 }, () =>
    Array.from({ length: 5 }, () => alphabet.charAt(randomInt(alphabet.length))).join(''),
  ).join('-')

/** The code as it is hashed: without spaces, hyphens and capitals. */
const normalised = (code: string): string => code.toLowerCase().replace(/[\s-]/g, '')
export const recoveryCodeHash = (code: string) => hashOf(normalised(code))
/** Whether a text has the form of a recovery code, rather than of a code from an authenticator app. */
export const isRecoveryCode = (code: string): boolean => /^[a-z2-9]{20}$/.test(normalised(code))

/** Replaces all recovery codes of an account. Returns the new ones, which are shown once. */
export async function replaceRecoveryCodes(tx: Transaction, accountId: string, now: Date): Promise<string[]> {
  const codes = Array.from({ length: recoveryCodeCount }, newCode)
  await tx.accountRecoveryCode.deleteMany({ where: { accountId } })
  await tx.accountRecoveryCode.createMany({
    data: codes.map((code) => ({ codeHash: recoveryCodeHash(code), accountId, createdAt: now })),
  })
  return codes
}
