// Verifies signed documents by the steps of docs/receipt-format.md only: nothing here uses code of the application or a library for JWS.
import { createPublicKey, verify } from 'node:crypto'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { eraseWholeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

type Json = null | boolean | number | string | Json[] | { [name: string]: Json }
/** Step 3. `Array.sort` compares UTF-16 code units, and `JSON.stringify` writes strings and numbers as ECMAScript does. */
function canonical(value: Json): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.keys(value).sort()
  return `{${members.map((name) => `${JSON.stringify(name)}:${canonical(value[name] ?? null)}`).join(',')}}`
}
interface Key {
  kty: string
  crv: string
  x: string
  kid: string
}
function isValid(document: { [name: string]: Json }, keys: readonly Key[], type: string): boolean {
  const { jws, complete_reading: _, ...rest } = document
  const [header = '', payload = '', signature = ''] = String(jws).split('.')
  const { alg, typ, kid } = JSON.parse(Buffer.from(header, 'base64url').toString('utf8'))
  const known = keys.filter((key) => key.kid === kid)
  const [jwk] = known
  if (alg !== 'EdDSA' || typ !== type || known.length !== 1 || !jwk) return false
  const key = createPublicKey({ key: { kty: jwk.kty, crv: jwk.crv, x: jwk.x }, format: 'jwk' })
  if (!verify(null, Buffer.from(`${header}.${payload}`, 'ascii'), key, Buffer.from(signature, 'base64url')))
    return false
  return Buffer.from(payload, 'base64url').equals(Buffer.from(canonical(rest), 'utf8'))
}

it('the documented steps accept the three signed documents, and reject changed and exchanged ones', async () => {
  const { keys } = (await test.fetch('GET', '/.well-known/jwks.json')).json
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const content = 'The heron told nobody about the diagnosis that it received in the spring of that year.'
  const message = await madeMessage(test, conversation, project.owner, { content })
  const receiptId = await eraseWholeProject(test, message.path, project.owner)
  expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
  const current = keys.length > 0 ? keys : (await test.fetch('GET', '/.well-known/jwks.json')).json.keys
  const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
  const { attestation } = (await test.fetch('GET', `/v1/receipts/${receiptId}/readings`)).json.data.newest
  const { complete_reading: reading } = receipt
  const documents = [
    [receipt, 'deletion-receipt'],
    [reading, 'complete-reading'],
    [attestation, 'reading-attestation'],
  ] as const
  for (const [document, type] of documents) {
    expect(isValid(document, current, type)).toBe(true)
    expect(isValid({ ...document, version: 2 }, current, type)).toBe(false)
    expect(isValid({ ...document, added: 'x' }, current, type)).toBe(false)
    expect(isValid(document, [], type)).toBe(false)
    for (const [, other] of documents) if (other !== type) expect(isValid(document, current, other)).toBe(false)
  }
  expect([reading.receipt_id, reading.issuer]).toEqual([receipt.receipt_id, receipt.issuer])
})
