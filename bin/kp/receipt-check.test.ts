import { CompactSign, calculateJwkThumbprint, exportJWK, generateKeyPair } from 'jose'
import { beforeAll, describe, expect, test } from 'vitest'
import { receiptFile, receiptPdf } from '#lib/domains/erasure/receipts/receipt-pdf.ts'
import { signedBytes } from '#lib/domains/erasure/receipts/receipt-rules.ts'
import { PublicKey } from '#lib/domains/erasure/receipts/signing.ts'
import type { CompleteReading, Receipt } from '#lib/kernel/receipt.ts'
import { asReceipt, checkReceipt, receiptIn } from './receipt-check.ts'

const url = 'http://localhost:3000'
const unsigned: Omit<Receipt, 'jws'> = {
  receipt_id: 'rcpt_0123456789abcdefABCDEF',
  version: 1,
  issuer: url,
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
    {
      store: 'postgresql',
      holder: 'idempotency.records',
      what: 'stored answers',
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
  key: PublicKey
  sign<T extends Omit<Receipt, 'jws'> | Omit<CompleteReading, 'jws'>>(
    statement: T,
    header?: Record<string, unknown>,
  ): Promise<T & { jws: string }>
}
async function signer(): Promise<Signer> {
  const { privateKey, publicKey } = await generateKeyPair('EdDSA', { crv: 'Ed25519', extractable: true })
  const jwk = await exportJWK(publicKey)
  const key = PublicKey.parse({ ...jwk, kid: await calculateJwkThumbprint(jwk), alg: 'EdDSA', use: 'sig' })
  return {
    key,
    sign: async (statement, header = {}) => ({
      ...statement,
      jws: await new CompactSign(signedBytes(statement))
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
  good = await ours.sign(unsigned)
})
const check = (receipt: Receipt, keys: readonly PublicKey[] = [ours.key], trustedFor: string | undefined = url) =>
  checkReceipt(receipt, { keys, ...(trustedFor !== undefined && { url: trustedFor }) })

describe('a receipt', () => {
  test('is valid when a trusted key signed it and no residue is reported', async () => {
    expect(await check(good)).toMatchObject({ ok: true, kid: ours.key.kid })
  })
  test('is valid with an old key after a rotation', async () => {
    expect(await check(good, [stranger.key, ours.key])).toMatchObject({ ok: true, kid: ours.key.kid })
  })

  const changes: [string, (receipt: Receipt) => Receipt][] = [
    ['its id', (receipt) => ({ ...receipt, receipt_id: 'rcpt_xxxxxxxxxxxxxxxxxxxxxx' })],
    ['the erased id', (receipt) => ({ ...receipt, deleted_id: 'kp:trace:other' })],
    ['the time of erasure', (receipt) => ({ ...receipt, deleted_at: '2025-03-01T12:00:00.000Z' })],
    ['the issuer', (receipt) => ({ ...receipt, issuer: 'http://127.0.0.1:3000' })],
    ['a count', (receipt) => ({ ...receipt, stores: receipt.stores.map((store) => ({ ...store, deleted: 2 })) })],
    ['the list of stores', (receipt) => ({ ...receipt, stores: receipt.stores.slice(1) })],
    ['the list of retained records', (receipt) => ({ ...receipt, retained: [] })],
    ['a deadline', (receipt) => ({ ...receipt, physical: [{ what: 'backups', until: '2026-03-02T00:00:00.000Z' }] })],
    ['the signing time', (receipt) => ({ ...receipt, signed_at: '2026-03-01T12:00:02.000Z' })],
  ]
  test.each(changes)('is invalid when %s was changed', async (_, change) => {
    const { ok, findings } = await check(change(good))
    expect(ok).toBe(false)
    expect(findings[0]).toMatchObject({ ok: false, text: expect.stringContaining('changed') })
  })

  test('is invalid with a foreign key, even when the receipt contains that key', async () => {
    const forged = await stranger.sign(unsigned)
    expect(await check(forged)).toMatchObject({ ok: false })
    const withKey = await stranger.sign(unsigned, { jwk: stranger.key })
    expect(await check(withKey)).toMatchObject({ ok: false })
    const underOurId = await stranger.sign(unsigned, { kid: ours.key.kid, jwk: stranger.key })
    expect(await check(underOurId)).toMatchObject({ ok: false })
    // Unknown members are rejected.
    expect(asReceipt({ ...forged, keys: [stranger.key] })).toMatchObject({
      fault: expect.stringContaining('not a deletion receipt'),
    })
  })
  test('is invalid without a signature, or with the algorithm none', async () => {
    const none = `${Buffer.from(JSON.stringify({ alg: 'none', kid: ours.key.kid })).toString('base64url')}.${Buffer.from(signedBytes(unsigned)).toString('base64url')}.`
    for (const jws of ['', 'abc', none]) expect(await check({ ...good, jws })).toMatchObject({ ok: false })
  })
  test('is invalid without a trusted key', async () => {
    expect(await check(good, [])).toMatchObject({ ok: false })
  })
  test('is invalid with the keys of another registry', async () => {
    expect(await check(good, [ours.key], 'https://kp.example.org')).toMatchObject({ ok: false })
  })
  test('is valid with records under legal hold, and reports them, also in the format of old receipts', async () => {
    const sentence = {
      what: '3 items that the legal hold hold_1 covers; they are erased when it ends',
      ground: 'a claim',
      until: null,
    }
    for (const more of [{ held: 3 }, { retained: [...unsigned.retained, sentence] }]) {
      const { ok, findings } = await check(await ours.sign({ ...unsigned, ...more }))
      expect([ok, findings.at(-1)?.text]).toEqual([
        true,
        expect.stringContaining('3 records remain under a legal hold'),
      ])
    }
    expect((await check(good)).findings.at(-1)?.text).toContain(
      'nothing was found. The connected stores have not been read completely yet.',
    )
  })
  test.each([
    ['states that no words remain', { found: 3, erased: 3, listed: 0 }, 0, 'have also written them.'],
    [
      'states that names remain',
      { found: 3, erased: 1, listed: 2 },
      0,
      'have also written them. Names, or words that may be names, remain in 2 places: they were written after the deletion, have no date, belong to others or are uncertain. An admin can review them.',
    ],
    [
      'states that a name and words remain',
      { found: 1, erased: 0, listed: 1 },
      1,
      'Erased words remain in 1 place that others own or that cannot be changed. Names, or words that may be names, remain in 1 place: they were written after the deletion, have no date, belong to others or are uncertain. An admin can review it.',
    ],
    ['states that names were not compared', undefined, 0, 'have also written them. Names alone were not compared.'],
  ])('%s after a complete reading', async (_, names, left, end) => {
    const at = '2026-03-02T12:00:00.000Z'
    const store = {
      store: 'redis',
      holder: 'projects.cache',
      from: at,
      until: at,
      how: ['words' as const],
      texts: 9,
      found: left,
      erased: 0,
      left,
      explained: 0,
      ...(names && { names }),
      not_read: [],
    }
    const statement = {
      receipt_id: unsigned.receipt_id,
      version: 1 as const,
      issuer: url,
      stores: [store],
      signed_at: at,
    }
    const reading = await ours.sign(statement, { typ: 'complete-reading' })
    const { ok, findings } = await check({ ...good, complete_reading: reading })
    expect([ok, findings.at(-1)?.text]).toEqual([
      true,
      expect.stringMatching(new RegExp(`${end.replaceAll('.', '\\.')}$`)),
    ])
  })
  test('is invalid when it reports residue or names no store', async () => {
    const left = await ours.sign({
      ...unsigned,
      stores: unsigned.stores.map((store, at) => ({ ...store, residue: at })),
    })
    const found = await check(left)
    expect(found.ok).toBe(false)
    expect(found.findings).toContainEqual({
      ok: false,
      text: expect.stringContaining('idempotency.records still had 1'),
    })
    expect(await check(await ours.sign({ ...unsigned, stores: [] }))).toMatchObject({ ok: false })
  })
})

test.each([null, 1, 'text', [], {}, { receipt_id: 'x' }])('asReceipt rejects %j', (value) =>
  expect(asReceipt(value)).toHaveProperty('fault'),
)

describe('receiptIn', () => {
  test('returns the same valid receipt from JSON and PDF', async () => {
    const pdf = await receiptPdf(good)
    expect(receiptIn(Buffer.from(receiptFile(good)))).toEqual({ receipt: good, isPdf: false })
    const found = receiptIn(pdf)
    expect(found).toEqual({ receipt: good, isPdf: true })
    expect('receipt' in found && (await check(found.receipt)).ok).toBe(true)
  })
  test('returns a receipt whose signature is invalid when the PDF is of an altered receipt', async () => {
    const shown = await receiptPdf({ ...good, deleted_id: 'kp:trace:other' })
    const found = receiptIn(shown)
    expect('receipt' in found && (await check(found.receipt)).ok).toBe(false)
  })
  test('rejects other files, and PDFs with no receipt or several', async () => {
    const pdf = await receiptPdf(good)
    const two = Buffer.concat([pdf, await receiptPdf({ ...good, reason: 'retention' })])
    for (const file of [two, Buffer.from('%PDF-1.7\n'), Buffer.from('no JSON'), Buffer.from('{}'), new Uint8Array()])
      expect(receiptIn(file)).toHaveProperty('fault')
  })
})
