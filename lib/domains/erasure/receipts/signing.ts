import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair, importJWK, type JWK } from 'jose'
import { z } from 'zod'
import { deriveKey, seal, sealedPurposes, unsealed } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { fallbackCache } from '#lib/stores/postgres/fallback-cache.ts'
import { checkSignature, type SignatureFault, type Signed, signedBytes } from './receipt-rules.ts'
import { lockSigningKeys, signingKeyRows } from './repository.ts'

const faults: Record<SignatureFault, string> = {
  unsigned: 'The receipt has no signature.',
  unknown_key: 'The receipt was signed with a key that is not pinned for this registry.',
  bad_signature: 'The signature is not valid.',
  changed: 'The receipt was changed after it was signed.',
  unsupported: 'This machine cannot check Ed25519 signatures, so the receipt was not checked.',
}
/** Like {@link checkSignature}, but returns the fault as a sentence. */
export async function verifyReceipt(
  receipt: Signed,
  keys: readonly JWK[],
  type?: string,
): Promise<{ kid: string } | { fault: string }> {
  const checked = await checkSignature(receipt, keys, type)
  return 'fault' in checked ? { fault: faults[checked.fault] } : checked
}

export const PublicKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.string(),
  use: z.string(),
})
export type PublicKey = z.output<typeof PublicKey>

/** The installation's secret, which seals keys. */
export interface SecretPorts {
  secret(): string
  /** @throws Problem `unavailable` when the secret was replaced while this process ran */
  assertPresentSecret(tx: Transaction, secret: string): Promise<void>
}

type KeyRow = Awaited<ReturnType<typeof signingKeyRows>>[number]

type PrivateKey = JWK & { kid: string }

/** The stored signing keys. Private keys are sealed with the installation's secret. */
function createSigningKeys({ secret, assertPresentSecret }: SecretPorts) {
  const sealing = () => deriveKey(secret(), sealedPurposes.signingKeys)
  const privateJwkOf = (row: KeyRow) => unsealed(sealing(), row.sealed_private, row.kid)

  /** Creates a key, which replaces the current one, and returns its id. */
  async function make(tx: Transaction, now: Date): Promise<string> {
    await assertPresentSecret(tx, secret())
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
    const bare = await exportJWK(publicKey)
    const kid = await calculateJwkThumbprint(bare)
    const sealed = seal(sealing(), Buffer.from(JSON.stringify(await exportJWK(privateKey))), kid)
    await tx.signingKey.updateMany({ where: { retiredAt: null }, data: { retiredAt: now } })
    await tx.signingKey.create({
      data: {
        kid,
        publicJwk: { ...PublicKey.parse({ ...bare, kid, alg: 'EdDSA', use: 'sig' }) },
        sealedPrivate: new Uint8Array(sealed),
        createdAt: now,
      },
    })
    return kid
  }

  /** Returns the private part of the current key. Undefined when no key exists, or when it was sealed with another secret. */
  function current(rows: readonly KeyRow[]): PrivateKey | undefined {
    const row = rows.find(({ retired_at }) => retired_at === null)
    const jwk = row && privateJwkOf(row)
    return row && jwk && { ...JSON.parse(jwk.toString('utf8')), kid: row.kid }
  }
  return {
    make,
    current,
    /** Returns the current key, or creates one. When two processes need a key concurrently, one creates it and the other finds it. */
    async ensure(tx: Transaction): Promise<PrivateKey> {
      await lockSigningKeys(tx, {})
      const rows = await signingKeyRows(tx, {})
      const found = current(rows)
      if (found) return found
      await make(tx, new Date())
      if (rows.length > 0)
        logNotice(
          'the signing key was sealed with another KP_SECRET: a new key signs from now on, and the old key still verifies',
        )
      const made = current(await signingKeyRows(tx, {}))
      if (!made) throw new Error('could not create a signing key')
      return made
    },
    isLost: (row: KeyRow): boolean => privateJwkOf(row) === undefined,
  }
}

export interface Signer {
  sign(receipt: Omit<Receipt, 'jws'>): Promise<Receipt>
  /** Signs the text with the current key as a compact JWS with this `typ`, within the transaction. */
  attest(tx: Transaction, type: string, text: string): Promise<string>
  /** Returns the public keys with their history, newest first. */
  keys(): Promise<PublicKey[]>
  /**
   * Creates a new signing key and returns its id. The old key remains published for seven years.
   * @throws Problem `unavailable` when KP_SECRET was replaced
   */
  rotate(now: Date): Promise<string>
  /** Returns the state of all keys for the operator, newest first. */
  list(): Promise<SigningKeyState[]>
}
interface SigningKeyState {
  kid: string
  createdAt: Date
  retiredAt: Date | null
  /** The private key is sealed with a secret that this installation does not have. Its signatures still verify. */
  isLost: boolean
}

/**
 * Signs receipts with the newest Ed25519 key of the installation, which is created on first use. Private keys are
 * sealed with the installation's secret.
 */
export function createSigner(db: Database, secretPorts: SecretPorts): Signer {
  const signingKeys = createSigningKeys(secretPorts)
  const publicKeys = fallbackCache<PublicKey[]>(1)
  let current: { kid: string; key: CryptoKey | Uint8Array; until: number } | undefined

  async function signingKey() {
    // Another process may rotate the key: a key is used for at most a minute before it is read again.
    if (current && current.until > Date.now()) return current
    const jwk = signingKeys.current(await signingKeyRows(db, {})) ?? (await db.transaction(signingKeys.ensure))
    current = { kid: jwk.kid, key: await importJWK(jwk, 'EdDSA'), until: Date.now() + 60_000 }
    return current
  }

  return {
    async sign(receipt) {
      if (receipt.stores.length === 0)
        throw new TypeError('A receipt that names no store says nothing about an erasure, so it is not signed.')
      const { kid, key } = await signingKey()
      const jws = await new CompactSign(signedBytes(receipt))
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'deletion-receipt' })
        .sign(key)
      return { ...receipt, jws }
    },
    async attest(tx, type, text) {
      const jwk = signingKeys.current(await signingKeyRows(tx, {})) ?? (await signingKeys.ensure(tx))
      return new CompactSign(new TextEncoder().encode(text))
        .setProtectedHeader({ alg: 'EdDSA', kid: jwk.kid, typ: type })
        .sign(await importJWK(jwk, 'EdDSA'))
    },
    keys: () =>
      publicKeys.of('all', async () => {
        const published = async () => {
          const records = await db.prisma.signingKey.findMany({
            orderBy: { createdAt: 'desc' },
            select: { publicJwk: true },
          })
          return records.map(({ publicJwk }) => PublicKey.parse(publicJwk))
        }
        const records = await published()
        if (records.length > 0) return records
        await signingKey()
        return published()
      }),
    async rotate(now) {
      current = undefined
      return db.transaction(async (tx) => {
        await lockSigningKeys(tx, {})
        return signingKeys.make(tx, now)
      })
    },
    async list() {
      const rows = await signingKeyRows(db, {})
      return rows.map((row) => ({
        kid: row.kid,
        createdAt: row.created_at,
        retiredAt: row.retired_at,
        isLost: signingKeys.isLost(row),
      }))
    },
  }
}
