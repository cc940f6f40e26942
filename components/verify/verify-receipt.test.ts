import { beforeAll, describe, expect, it } from 'vitest'
import { attestationSigner } from '#lib/testing/attestations.ts'
import { verifyReceiptText } from './verify-receipt.ts'

describe('verifyReceiptText with the attestation of a complete reading', () => {
  let ours: Awaited<ReturnType<typeof attestationSigner>>
  let keys: string
  beforeAll(async () => {
    ours = await attestationSigner()
    keys = JSON.stringify({ keys: [ours.key] })
  })
  const verify = async (attestation: object, trusted = keys) => verifyReceiptText(JSON.stringify(attestation), trusted)

  it('accepts it with a key that the reader saved', async () => {
    const attestation = await ours.sign()
    expect(await verify(attestation)).toEqual({
      kind: 'attestationHolds',
      kid: ours.key.kid,
      attestation,
      isPinned: true,
    })
  })

  it('rejects it when a count was changed, and when another key signed it', async () => {
    const attestation = await ours.sign()
    expect(await verify({ ...attestation, erasures_found: 0 })).toMatchObject({ kind: 'changed' })
    const [store] = attestation.stores
    expect(await verify({ ...attestation, stores: [{ ...store, left: 0 }] })).toMatchObject({ kind: 'changed' })
    const stranger = await attestationSigner()
    expect(await verify(await stranger.sign())).toMatchObject({ kind: 'unknown_key' })
    expect(await verify(attestation, 'no keys')).toMatchObject({ kind: 'noKeys' })
  })

  it('rejects the signature of another kind of statement, and a text that is not a statement', async () => {
    for (const type of ['deletion-receipt', 'complete-reading'])
      expect(await verify(await ours.sign({}, type))).toMatchObject({ kind: 'bad_signature' })
    const { jws: _, ...unsigned } = await ours.sign()
    expect(await verify(unsigned)).toMatchObject({ kind: 'unsigned' })
    expect(await verify({ reading_id: 'read_1' })).toEqual({ kind: 'notReceipt' })
  })
})
