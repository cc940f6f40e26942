import { createHash } from 'node:crypto'
import { inflateSync } from 'node:zlib'
import { decodeProtectedHeader } from 'jose'
import { extractText, getDocumentProxy } from 'unpdf'
import { describe, expect, test } from 'vitest'
import { isPdf, pdfAttachments } from '#bin/kp/receipt-check.ts'
import { onPage } from '#lib/kernel/pdf.ts'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { keysFile, keysFileName, receiptFile, receiptPdf } from './receipt-pdf.ts'

const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'a-key-of-theirs', typ: 'deletion-receipt' }))
const receipt = (more: Partial<Receipt> = {}): Receipt => ({
  receipt_id: 'rcpt_0123456789abcdefABCDEF',
  version: 1,
  issuer: 'https://registry.example.org',
  deleted_id: 'usr_0123456789abcdefABCDEF',
  deleted_at: '2026-02-28T11:22:33.444Z',
  reason: 'gdpr_erasure',
  stores: Array.from({ length: 16 }, (_, index) => ({
    store: index === 0 ? 'files' : 'postgresql',
    holder: `holder.number-${index}`,
    what: `records of the kind ${index}`,
    found: 1000 + index,
    deleted: 900 + index,
    residue: index % 2,
    verified_at: `2026-02-28T11:22:${30 + index}.000Z`,
  })),
  retained: [
    { what: 'audit entries', ground: 'accountability (GDPR art. 5(2))', until: '2026-05-29T11:22:33.444Z' },
    { what: 'the erased id', ground: 'effectiveness (GDPR art. 17(1))', until: null },
  ],
  derived: [{ store: 'graph', cut: 21, deleted: 22, judged_again: 23, retained: 24 }],
  exposed: { matched: 31, unmatched: 32 },
  remaining_mentions: [{ store: 'graph', kind: 'episode', field: 'content', count: 41 }],
  names_replaced: 61,
  not_searched: [{ store: 'cache', what: 'compressed values', count: 51 }],
  physical: [{ what: 'write-ahead log, until it is recycled', until: null }],
  signed_at: '2026-02-28T11:22:59.000Z',
  jws: `${header.toString('base64url')}.${'cGF5bG9hZA'.repeat(60)}.${'c2lnbmF0dXJl'.repeat(7)}`,
  ...more,
})

/** Reads text and attachments with an independent PDF library. */
async function readBy(file: Uint8Array) {
  const pdf = await getDocumentProxy(new Uint8Array(file))
  const { text } = await extractText(pdf, { mergePages: true })
  const attachments: [string, string][] = []
  for (const [id, { filename }] of (await pdf.getAttachments()) ?? new Map()) {
    const content = await pdf.getAttachmentContent(id)
    attachments.push([filename, Buffer.from(content ?? []).toString('utf8')])
  }
  const { info } = await pdf.getMetadata()
  return {
    pages: pdf.numPages,
    // Line breaks depend on the page layout.
    text: text.replaceAll(/\s+/g, ''),
    info,
    attachments,
  }
}

/** The content of all compressed streams. The compressed bytes may depend on the machine. */
const streamsOf = (file: Uint8Array): Buffer => {
  const pieces = Buffer.from(file)
    .toString('latin1')
    .split(/\bstream\n/)
  return Buffer.concat(
    pieces.slice(1).map((piece) => {
      const bytes = Buffer.from(piece.slice(0, piece.indexOf('\nendstream')), 'latin1')
      return bytes[0] === 0x78 ? inflateSync(bytes) : bytes
    }),
  )
}

/** Yields every value of the receipt at any depth. */
function* leaves(value: unknown): Generator<string> {
  if (typeof value === 'object' && value !== null) for (const inner of Object.values(value)) yield* leaves(inner)
  else if (value !== null) yield String(value)
}

describe('the PDF of a receipt', () => {
  test('contains every value of the JSON and the JSON as an attachment', async () => {
    const one = receipt()
    const read = await readBy(await receiptPdf(one))
    for (const value of leaves(one)) expect(read.text, value).toContain(value.replaceAll(/\s+/g, ''))
    expect(read.text).toContain(`Signingkey:${decodeProtectedHeader(one.jws).kid}`)
    expect(read.text).toContain('Until:noend.')
    expect(read.attachments).toEqual([[`${one.receipt_id}.json`, receiptFile(one)]])
    expect(read.info).toMatchObject({ Title: `Deletion receipt ${one.receipt_id}` })
    expect(read.pages).toBeGreaterThan(1)
  })

  test('contains the public keys as a second attachment, and says that they prove nothing by themselves', async () => {
    const keys = keysFile([{ kty: 'OKP', crv: 'Ed25519', x: 'a', kid: 'a-key-of-theirs', alg: 'EdDSA', use: 'sig' }])
    const read = await readBy(await receiptPdf(receipt(), keys))
    expect(new Map(read.attachments)).toEqual(
      new Map([
        [`${receipt().receipt_id}.json`, receiptFile(receipt())],
        [keysFileName, keys],
      ]),
    )
    expect(read.text).toContain('Theauthorofaforgedreceiptcanattachotherkeys')
    expect((await readBy(await receiptPdf(receipt()))).text).not.toContain('publickeysoftheregistryatthetime')
  })

  test('names the kind of the erased subject when the receipt has one', async () => {
    const kindOn = async (more: Partial<Receipt>) =>
      /Kind:(\w+?)At:/.exec((await readBy(await receiptPdf(receipt(more)))).text)?.[1]
    expect([await kindOn({}), await kindOn({ subject_kind: 'agent' })]).toEqual([undefined, 'agent'])
  })

  test('states that names were not replaced only if the receipt does', async () => {
    const textOf = async (more: Partial<Receipt>) => (await readBy(await receiptPdf(receipt(more)))).text
    expect(await textOf({ names_replaced: null })).toContain('notreplaced,becausetherequestdidnotaskforit')
    const { names_replaced: _names, ...older } = receipt()
    expect((await readBy(await receiptPdf(older))).text).not.toContain('Namesandemailaddresses')
  })

  test('reports records under a legal hold, and does not report that nothing was found', async () => {
    const stores = receipt().stores.map((store) => ({ ...store, residue: 0 }))
    const { text } = await readBy(await receiptPdf(receipt({ stores, held: 3 })))
    expect(text).toContain('alegalholdretains3recordsfornow')
    expect(text).not.toContain(':nothingwasfound')
    expect((await readBy(await receiptPdf(receipt({ stores })))).text).toContain(':nothingwasfound')
  })

  test('does not report pseudonymized records as deleted', async () => {
    const stores = receipt().stores.map((store) => ({ ...store, found: 5, deleted: 5, pseudonymized: 3 }))
    const { text } = await readBy(await receiptPdf(receipt({ stores })))
    expect(text).toContain('5found,2deleted,3pseudonymized.')
  })

  test('has the same bytes for the same receipt', async () => {
    const [one, two] = [await receiptPdf(receipt()), await receiptPdf(receipt())]
    expect(Buffer.from(one).equals(Buffer.from(two))).toBe(true)
    expect(Buffer.from(await receiptPdf(receipt({ reason: 'retention' }))).equals(Buffer.from(one))).toBe(false)
  })

  // `kp receipts verify` renders a saved PDF again and compares bytes. Changed pages make every saved PDF look altered.
  test('has the same pages as when the receipt was signed', async () => {
    const [store] = receipt().stores
    if (!store) throw new Error('the receipt has no store')
    const dataSources = [
      'knowledge.units',
      'privacy.requests',
      'knowledge.references',
      'projects.references',
      'erasure.owners',
    ]
    const file = await receiptPdf(receipt({ stores: dataSources.map((holder) => ({ ...store, holder })), held: 2 }))
    expect(createHash('sha256').update(streamsOf(file)).digest('hex')).toBe(
      'dd8ec70e600754cf0dd463d844a4ad51e2a2328eaf96e0ef7b5dac4103d18313',
    )
  })

  test('shows characters that its fonts lack by their numbers', async () => {
    const ground = 'Rechtsstreit „Müller“, 诉讼保全, مرحبا, 🧾, half \ud800, \\u{4E2D}, line\nbreak\u202e'
    const one = receipt({ deleted_id: '智能体-7', retained: [{ what: 'records', ground, until: null }] })
    const file = await receiptPdf(one)
    const { text, attachments } = await readBy(file)
    expect(text).toContain('Erased:\\u{667A}\\u{80FD}\\u{4F53}-7')
    expect(text).toContain(onPage(ground).replaceAll(/\s+/g, ''))
    expect(onPage(ground)).toContain('„Müller“, \\u{8BC9}')
    expect(onPage('\\u{4E2D}')).not.toBe(onPage('中'))
    expect(JSON.parse(String(attachments[0]?.[1]))).toEqual({
      ...one,
      retained: [{ ...one.retained[0], ground: ground }],
    })
    expect(pdfAttachments(file)).toEqual([receiptFile(one)])
  })
})

describe('pdfAttachments', () => {
  test('returns the attachments that another library finds', async () => {
    const file = await receiptPdf(receipt())
    expect(isPdf(file)).toBe(true)
    expect(pdfAttachments(file)).toEqual([receiptFile(receipt())])
  })

  test('returns no valid attachment for a truncated, damaged or other file', async () => {
    const file = await receiptPdf(receipt())
    const at = Buffer.from(file).indexOf('/EmbeddedFile')
    expect(pdfAttachments(file.subarray(0, at + 40))).toEqual([])
    expect(pdfAttachments(Buffer.from('%PDF-1.7\n/Type /EmbeddedFile\nstream\n'))).toEqual([''])
    const damaged = Buffer.from(file)
    const data = damaged.indexOf('stream\n', at) + 'stream\n'.length
    damaged.fill(0xff, data, data + 20)
    expect(pdfAttachments(damaged)).toEqual([])
    expect(isPdf(Buffer.from('{}'))).toBe(false)
    expect(pdfAttachments(Buffer.from('{}'))).toEqual([])
  })
})
