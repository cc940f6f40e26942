import { calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { z } from 'zod'
import { deriveKey, seal, sealedPurposes, unsealed } from '#lib/config/secret.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import { lockSigningKeys, signingKeyRows } from './repository.ts'

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
export function createSigningKeys({ secret, assertPresentSecret }: SecretPorts) {
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
