import canonicalize from 'canonicalize'
import {
  CompactSign,
  calculateJwkThumbprint,
  compactVerify,
  exportJWK,
  generateKeyPair,
  importJWK,
  type JWK,
} from 'jose'
import { z } from 'zod'
import { logNotice } from '#lib/kernel/fault-log.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { deriveKey, seal, unseal } from '#lib/secret.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

export const PublicKey = z.object({
  kty: z.literal('OKP'),
  crv: z.literal('Ed25519'),
  x: z.string(),
  kid: z.string(),
  alg: z.string(),
  use: z.string(),
})
export type PublicKey = z.output<typeof PublicKey>

/** The bytes that a receipt's signature covers: RFC 8785 of the receipt without `jws`. */
export function signedBytes({ jws: _, ...unsigned }: Partial<Receipt>): Uint8Array {
  const text = canonicalize(unsigned)
  if (text === undefined) throw new TypeError('a receipt is an object')
  return new TextEncoder().encode(text)
}

/**
 * Whether the receipt says what was signed by one of the keys, which were pinned beforehand; never by one that came with it.
 * Returns the key's id, or the reason why not.
 */
export async function verifyReceipt(
  receipt: Partial<Receipt>,
  keys: readonly JWK[],
): Promise<{ kid: string } | { fault: string }> {
  if (typeof receipt.jws !== 'string') return { fault: 'It carries no signature.' }
  try {
    const verified = await compactVerify(receipt.jws, async ({ kid, alg }) => {
      const key = keys.find((one) => one.kid === kid)
      if (!key || alg !== 'EdDSA') throw new Error('unknown key')
      return importJWK(key, 'EdDSA')
    })
    if (!Buffer.from(verified.payload).equals(Buffer.from(signedBytes(receipt))))
      return { fault: 'The receipt differs from what was signed: it was changed.' }
    return { kid: String(verified.protectedHeader.kid) }
  } catch (error) {
    return {
      fault:
        error instanceof Error && error.message === 'unknown key'
          ? 'It is signed by a key that is not among those pinned for this registry.'
          : 'The signature is not good.',
    }
  }
}

export interface Signer {
  sign(receipt: Omit<Receipt, 'jws'>): Promise<Receipt>
  /** The keys with their history, newest first. */
  keys(): Promise<PublicKey[]>
  /** A new key signs from now on; the old one stays in the list for seven years. */
  rotate(now: Date): Promise<string>
}

interface KeyRow {
  kid: string
  public_jwk: unknown
  sealed_private: Buffer
}

/** Signs receipts with the installation's newest Ed25519 key, made at the first need. Private halves are sealed with the installation's secret. */
export function createSigner(db: Database, secret: () => string): Signer {
  const sealing = () => deriveKey(secret(), 'receipt signing keys')
  let current: { kid: string; key: CryptoKey | Uint8Array; until: number } | undefined

  async function make(now: Date): Promise<string> {
    const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
    const bare = await exportJWK(publicKey)
    const kid = await calculateJwkThumbprint(bare)
    const sealed = seal(sealing(), Buffer.from(JSON.stringify(await exportJWK(privateKey))), kid)
    await db.transaction(async (tx) => {
      await tx.signingKey.updateMany({ where: { retiredAt: null }, data: { retiredAt: now } })
      await tx.signingKey.create({
        data: {
          kid,
          publicJwk: { ...PublicKey.parse({ ...bare, kid, alg: 'EdDSA', use: 'sig' }) },
          sealedPrivate: new Uint8Array(sealed),
          createdAt: now,
        },
      })
    })
    return kid
  }

  async function newest(): Promise<KeyRow | undefined> {
    return (
      await db.query<KeyRow>(
        'signing-key',
        'SELECT kid, public_jwk, sealed_private FROM signing_keys WHERE retired_at IS NULL ORDER BY created_at DESC LIMIT 1',
      )
    )[0]
  }

  /** The private half; undefined when it was sealed with another secret. */
  function opened(row: KeyRow | undefined): (JWK & { kid: string }) | undefined {
    if (!row) return undefined
    try {
      return { ...JSON.parse(unseal(sealing(), row.sealed_private, row.kid).toString('utf8')), kid: row.kid }
    } catch {
      return undefined
    }
  }
  async function remade(): Promise<KeyRow | undefined> {
    logNotice(
      'the signing key was sealed with another KP_SECRET: a new one signs from now on, the old one still verifies',
    )
    await make(new Date())
    return newest()
  }

  async function signingKey() {
    // Another process may have rotated: a key is used for a minute before it is looked at again.
    if (current && current.until > Date.now()) return current
    let row = await newest()
    if (!row) {
      await make(new Date())
      row = await newest()
    }
    if (!row) throw new Error('no signing key could be made')
    const jwk = opened(row) ?? opened(await remade())
    if (!jwk) throw new Error('the new signing key cannot be opened')
    current = { kid: jwk.kid, key: await importJWK(jwk, 'EdDSA'), until: Date.now() + 60_000 }
    return current
  }

  return {
    async sign(receipt) {
      const { kid, key } = await signingKey()
      const jws = await new CompactSign(signedBytes(receipt))
        .setProtectedHeader({ alg: 'EdDSA', kid, typ: 'deletion-receipt' })
        .sign(key)
      return { ...receipt, jws }
    },
    async keys() {
      const found = await db.prisma.signingKey.findMany({ orderBy: { createdAt: 'desc' }, select: { publicJwk: true } })
      if (found.length > 0) return found.map(({ publicJwk }) => PublicKey.parse(publicJwk))
      await signingKey()
      return [PublicKey.parse((await newest())?.public_jwk)]
    },
    async rotate(now) {
      current = undefined
      return make(now)
    },
  }
}
