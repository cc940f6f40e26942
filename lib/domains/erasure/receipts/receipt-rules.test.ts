import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair, type JWK } from 'jose'
import { beforeAll, describe, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { checkSignature, keysInText, receiptInText, remainingIn, signedBytes } from './receipt-rules.ts'

const unsigned: Omit<Receipt, 'jws'> = {
  receipt_id: 'rcpt_0123456789abcdefABCDEF',
  version: 1,
  issuer: 'http://localhost:3000',
  deleted_id: 'kp:trace:0123',
  deleted_at: '2026-03-01T12:00:00.000Z',
  reason: 'user_request',
  stores: [
    {
      store: 'postgresql',
      holder: 'knowledge.units',
      what: 'knowledge units',
      found: 1,
      deleted: 1,
      residue: 0,
      verified_at: '2026-03-01T12:00:01.000Z',
    },
  ],
  retained: [{ what: 'audit entries', ground: 'accountability', until: '2026-05-30T12:00:00.000Z' }],
  physical: [{ what: 'backups', until: null }],
  signed_at: '2026-03-01T12:00:01.000Z',
}
interface Signer {
  key: JWK & { kid: string }
  sign(header?: Record<string, unknown>): Promise<Receipt>
}
async function signer(): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const bare = await exportJWK(publicKey)
  const key = { ...bare, kid: await calculateJwkThumbprint(bare) }
  return {
    key,
    sign: async (header = {}) => ({
      ...unsigned,
      jws: await new CompactSign(signedBytes(unsigned))
        .setProtectedHeader({ alg: 'EdDSA', kid: key.kid, typ: 'deletion-receipt', ...header })
        .sign(privateKey),
    }),
  }
}
let ours: Signer
let stranger: Signer
let good: Receipt
beforeAll(async () => {
  ours = await signer()
  stranger = await signer()
  good = await ours.sign()
})

describe('checkSignature', () => {
  it("accepts a signature by one of the keys, for any order of the receipt's properties", async () => {
    const turned = Object.fromEntries(Object.entries(good).reverse())
    for (const receipt of [good, turned])
      expect(await checkSignature(receipt, [stranger.key, ours.key])).toEqual({ kid: ours.key.kid })
  })
  it('returns "changed" when a property of the receipt was changed, removed or added', async () => {
    for (const change of [{ deleted_id: 'kp:trace:other' }, { stores: [] }, { more: 1 }])
      expect(await checkSignature({ ...good, ...change }, [ours.key])).toEqual({ fault: 'changed', kid: ours.key.kid })
  })
  it('returns "unknown_key" for another key, and "bad_signature" for another key under our key id', async () => {
    expect(await checkSignature(await stranger.sign(), [ours.key])).toEqual({
      fault: 'unknown_key',
      kid: stranger.key.kid,
    })
    expect(await checkSignature(await stranger.sign({ kid: ours.key.kid }), [ours.key])).toMatchObject({
      fault: 'bad_signature',
    })
    expect(await checkSignature(good, [])).toMatchObject({ fault: 'unknown_key' })
  })
  it('returns "unsigned" without a signature, and "bad_signature" for a malformed one', async () => {
    const { jws: _, ...bare } = good
    expect(await checkSignature(bare, [ours.key])).toEqual({ fault: 'unsigned' })
    expect(await checkSignature({ ...good, jws: '' }, [ours.key])).toEqual({ fault: 'unsigned' })
    for (const jws of ['abc', '..', `${good.jws}x`, good.jws.slice(0, -8)])
      expect(await checkSignature({ ...good, jws }, [ours.key])).toMatchObject({ fault: 'bad_signature' })
  })
  it('returns "bad_signature" for a signature of our key that has another type or none', async () => {
    for (const typ of ['clade-manifest', 'deletion-receipt+json', 'JWT', undefined])
      expect(await checkSignature(await ours.sign({ typ }), [ours.key]), typ).toMatchObject({ fault: 'bad_signature' })
  })
  it('returns "unsupported" for a key that cannot be imported', async () => {
    const broken = { ...ours.key, x: 'AA' }
    expect(await checkSignature(good, [broken])).toMatchObject({ fault: 'unsupported' })
  })
})

describe('parsing of receipts and keys', () => {
  it('receiptInText returns the receipt, or undefined for other texts', () => {
    expect(receiptInText(JSON.stringify(good))).toEqual(good)
    for (const text of ['', 'null', '[]', '{}', 'text', '%PDF-1.7', JSON.stringify({ ...good, stores: [{}] })])
      expect(receiptInText(text)).toBeUndefined()
  })
  it('keysInText returns the public keys of a key set or a single key, without private parts, and uses the thumbprint as the id of a key without one', async () => {
    const { kid, ...bare } = ours.key
    expect(await keysInText(JSON.stringify({ keys: [ours.key, { kty: 'RSA' }, null] }))).toEqual([ours.key])
    expect(await keysInText(JSON.stringify(bare))).toEqual([{ ...bare, kid }])
    expect(await keysInText(JSON.stringify({ ...ours.key, d: 'secret' }))).toEqual([ours.key])
    for (const text of ['', '[]', '{"keys":{}}', 'x']) expect(await keysInText(text)).toEqual([])
  })
})

it('leftIn returns the data sources in which the receipt reports residue', () => {
  const [store] = unsigned.stores
  expect(remainingIn(unsigned)).toEqual([])
  expect(store && remainingIn({ stores: [store, { ...store, residue: 2 }] })).toMatchObject([{ residue: 2 }])
})
