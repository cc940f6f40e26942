import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { keysFile, receiptPdf } from '#lib/domains/erasure/receipts/receipt-pdf.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { attestationSigner } from '#lib/testing/attestations.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let line: ReturnType<typeof commandLine>
let receipt: Receipt
beforeAll(async () => {
  app = await testApp()
  line = commandLine(app.url)
  const { token } = await app.agent()
  const made = await app.fetch('POST', '/v1/knowledge', { token, body: trace() })
  const erased = await app.fetch('DELETE', `/v1/knowledge/${made.json.data.id}`, { token })
  receipt = Receipt.parse((await app.fetch('GET', `/v1/receipts/${erased.headers.get('x-deletion-receipt')}`)).json)
})
afterAll(async () => {
  line.close()
  await app.close()
})

const verify = async (name: string, content: string | Uint8Array) => {
  writeFileSync(join(line.workplace, name), content)
  const keys = await app.fetch('GET', '/.well-known/jwks.json')
  writeFileSync(join(line.workplace, 'jwks.json'), keys.text)
  return line.run(['receipts', 'verify', name, '--keys', 'jwks.json', '--json'])
}

test('receipts verify accepts the JSON and the PDF of the registry without a request', async () => {
  const json = await verify('receipt.json', JSON.stringify(receipt))
  expect(json.json.data, json.err).toMatchObject({ valid: true, receipt_id: receipt.receipt_id })
  expect(json.json.data).not.toHaveProperty('pages_are_ours')
  const given = await fetch(`${app.url}/v1/receipts/${receipt.receipt_id}/pdf`)
  const pdf = await verify('receipt.pdf', new Uint8Array(await given.arrayBuffer()))
  expect(pdf.json.data, pdf.err).toMatchObject({
    valid: true,
    receipt_id: receipt.receipt_id,
    deleted_id: receipt.deleted_id,
    kid: json.json.data.kid,
    pages_are_ours: true,
  })
  const told = await line.run(['receipts', 'verify', 'receipt.pdf', '--keys', 'jwks.json'])
  expect([told.status, told.out.includes('The receipt is valid'), told.err.includes('match the receipt')]).toEqual([
    0,
    true,
    true,
  ])
})

test('receipts verify rejects a PDF of an unsigned receipt, and reports altered pages around a valid receipt', async () => {
  const forged = await verify('forged.pdf', await receiptPdf({ ...receipt, deleted_id: 'kp:trace:another' }))
  expect([forged.status, forged.json.data.valid]).toEqual([1, false])
  // Attached keys are not trusted: a forged receipt can bring the keys that it was signed with.
  const other = { kty: 'OKP', crv: 'Ed25519', x: 'x', kid: 'theirs', alg: 'EdDSA', use: 'sig' } as const
  const own = await receiptPdf({ ...receipt, deleted_id: 'kp:trace:another' }, keysFile([other]))
  const brought = await verify('brought.pdf', own)
  expect([brought.status, brought.json.data.valid]).toEqual([1, false])
  // The visible content is in the content stream: one changed byte alters the page.
  const pages = Buffer.from(await receiptPdf(receipt))
  const content = pages.indexOf('stream\n') + 'stream\n'.length
  pages.writeUInt8(pages.readUInt8(content + 40) ^ 1, content + 40)
  const dressed = await verify('dressed.pdf', pages)
  expect(dressed.json.data, dressed.err).toMatchObject({ valid: true, pages_are_ours: false })
  for (const content of ['%PDF-1.7\nnothing', 'no JSON', '{}']) {
    const none = await verify('none', content)
    expect([none.status, none.json.data.valid]).toEqual([1, false])
  }
})

test('receipts verify accepts the attestation of a reading with trusted keys, and rejects an altered one', async () => {
  const signer = await attestationSigner()
  const attestation = await signer.sign({ issuer: app.url })
  writeFileSync(join(line.workplace, 'theirs.json'), JSON.stringify({ keys: [signer.key] }))
  const check = (content: object) => {
    writeFileSync(join(line.workplace, 'attestation.json'), JSON.stringify(content))
    return line.run(['receipts', 'verify', 'attestation.json', '--keys', 'theirs.json', '--json'])
  }
  const good = await check(attestation)
  expect([good.status, good.json.data], good.err).toMatchObject([
    0,
    { valid: true, reading_id: attestation.reading_id, kid: signer.key.kid },
  ])
  expect(JSON.stringify(good.json.data.findings)).toContain('could not read 4 values')
  const altered = await check({ ...attestation, erasures_found: 0 })
  expect([altered.status, altered.json.data.valid]).toEqual([1, false])
  const other = await check(await signer.sign({ issuer: app.url }, 'deletion-receipt'))
  expect([other.status, other.json.data.valid]).toEqual([1, false])
})
