import { afterAll, beforeAll, expect, test } from 'vitest'
import { pdfAttachments } from '#bin/kp/receipt-check.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { trace } from '#lib/testing/units.ts'
import { receiptPdf } from './receipt-pdf.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const bytesOf = async (path: string, method = 'GET') => {
  const answer = await fetch(app.url + path, { method })
  return { status: answer.status, headers: answer.headers, bytes: new Uint8Array(await answer.arrayBuffer()) }
}

test("GET /v1/receipts/{id}/pdf returns, without a token, a PDF with the API's JSON and the public keys attached", async () => {
  const { token } = await app.agent()
  const made = await app.fetch('POST', '/v1/knowledge', { token, body: trace() })
  const erased = await app.fetch('DELETE', `/v1/knowledge/${made.json.data.id}`, { token })
  const path = `/v1/receipts/${erased.headers.get('x-deletion-receipt')}`
  const { json: receipt } = await app.fetch('GET', path)
  const { status, headers, bytes } = await bytesOf(`${path}/pdf`)
  expect([status, headers.get('content-type')]).toEqual([200, 'application/pdf'])
  expect(headers.get('content-length')).toBe(String(bytes.byteLength))
  expect(headers.get('content-disposition')).toBe(`inline; filename="${receipt.receipt_id}.pdf"`)
  const keys = await (await fetch(`${app.url}/.well-known/jwks.json`)).json()
  const attached = pdfAttachments(bytes)
  expect(attached.map((text) => JSON.parse(text))).toEqual([receipt, keys])
  expect(Buffer.from(await receiptPdf(receipt, attached[1])).equals(bytes)).toBe(true)
  const head = await bytesOf(`${path}/pdf`, 'HEAD')
  expect([head.status, head.bytes.byteLength]).toEqual([200, 0])
})

test('GET /v1/receipts/{id}/pdf returns 404 for an unknown receipt and 422 for a malformed id', async () => {
  const unknown = await app.fetch('GET', '/v1/receipts/rcpt_0123456789abcdefABCDEF/pdf')
  expect([unknown.status, unknown.json.code]).toEqual([404, 'not_found'])
  expect((await app.fetch('GET', '/v1/receipts/1/pdf')).status).toBe(422)
})
