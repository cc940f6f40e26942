import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { attestationType, signedBytes } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import type { ReadingAttestation } from '#lib/kernel/receipt.ts'

const unsignedAttestation: Omit<ReadingAttestation, 'jws'> = {
  reading_id: 'read_0123456789abcdefABCDEF',
  version: 1,
  issuer: 'http://localhost:3000',
  is_repeated: true,
  started_at: '2026-03-01T12:00:00.000Z',
  completed_at: '2026-03-01T12:10:00.000Z',
  erasures: 3,
  erasures_found: 1,
  stores: [
    {
      store: 'cache',
      holder: 'cache.entries',
      from: '2026-03-01T12:00:00.000Z',
      until: '2026-03-01T12:10:00.000Z',
      how: ['words', 'contacts', 'names'],
      texts: 12,
      found: 2,
      erased: 1,
      left: 1,
      explained: 0,
      names: { found: 2, erased: 1, listed: 1 },
      not_read: [{ reason: 'binary', count: 4 }],
    },
  ],
  signed_at: '2026-03-01T12:10:01.000Z',
}

/** A new key, and attestations that it signed. `type`: of the signature. */
export async function attestationSigner() {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const bare = await exportJWK(publicKey)
  const key: JWK & { kid: string } = {
    ...bare,
    kid: await calculateJwkThumbprint(bare),
    alg: 'EdDSA',
    use: 'sig',
  }
  return {
    key,
    async sign(changes: Partial<ReadingAttestation> = {}, type = attestationType): Promise<ReadingAttestation> {
      const attestation = { ...unsignedAttestation, ...changes }
      const jws = await new CompactSign(signedBytes(attestation))
        .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: type })
        .sign(privateKey)
      return { ...attestation, jws }
    },
  }
}
