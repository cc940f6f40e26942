import { createServer } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { cladeTesting } from '#lib/testing/clades.ts'
import { signedIn } from '#lib/testing/people.ts'

/** Answers like Presidio's analyzer and recognises these patterns. */
const knows = [
  ['PERSON', /Ada Beispiel|张伟/g],
  ['LOCATION', /Musterstadt/g],
  ['PERSON', /private_key|ethereum_address/g],
] as const
const asked: string[] = []
let isBroken = false
const analyzer = createServer(async (request, response) => {
  let body = ''
  for await (const chunk of request) body += String(chunk)
  const { text }: { text: string } = JSON.parse(body)
  asked.push(text)
  if (isBroken) return void response.writeHead(500).end()
  const found = knows.flatMap(([entity_type, pattern]) =>
    [...text.matchAll(pattern)].map(({ 0: match, index }) => ({
      entity_type,
      start: index,
      end: index + match.length,
      score: 0.85,
    })),
  )
  response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(found))
})

let app: TestApp
beforeAll(async () => {
  await new Promise<void>((listening) => analyzer.listen(0, '127.0.0.1', listening))
  const address = analyzer.address()
  const port = typeof address === 'object' ? address?.port : 0
  app = await testApp({ KP_PRESIDIO_URL: `http://127.0.0.1:${port}`, KP_REGIONS: 'presidio=de@own' })
})
afterAll(async () => {
  await app?.close()
  analyzer.closeAllConnections()
  analyzer.close()
})

const wallet = `0x${'ab'.repeat(20)}`
const entry = {
  kind: 'insight',
  content: {
    claim: `Ask Ada Beispiel in Musterstadt before the fixing, as Ada Beispiels do. Pay ${wallet}.`,
    'Ada Beispiel': { note: '请问张伟先生。' },
  },
  confidence: 0.7,
  tags: ['Ada Beispiel', 'fixing'],
}
async function siblings() {
  const testing = cladeTesting(app, await signedIn(app))
  const [one, other] = await testing.pair()
  const preview = (body: object = { entry }) =>
    app.fetch('POST', `/v1/agents/${one.id}/clade/preview`, { token: one.token, body })
  return { ...testing, one, other, preview }
}

test('sharing removes names and places that the analyzer finds, and sends the analyzer no text that other rules remove', async () => {
  const { one, other, preview, share, deltas } = await siblings()
  asked.length = 0
  const seen = await preview()
  expect(seen.status, seen.text).toBe(200)
  expect(asked.join()).toContain('Ada Beispiel')
  expect(asked.join()).not.toContain(wallet)
  expect(seen.json.data).toMatchObject({
    payload: {
      content: {
        claim: 'Ask ‹name:1› in ‹address:1› before the fixing, as ‹name:2› do. Pay ‹ethereum_address:1›.',
        '‹name:1›': { note: '请问‹name:3›先生。' },
      },
      tags: ['‹name:1›', 'fixing'],
    },
    removed: { name: 5, address: 1, ethereum_address: 1 },
  })
  expect(seen.json.data.degraded).toBeUndefined()
  const shared = await share(one, { entry, digest: seen.json.data.digest })
  expect(shared.status, shared.text).toBe(201)
  expect((await deltas(other)).data[0].payload).toEqual(seen.json.data.payload)
})

test('preview and share report degraded results when the analyzer fails, and a later share uses its answers', async () => {
  const { one, other, preview, share, deltas } = await siblings()
  isBroken = true
  const seen = await preview()
  const shared = await share(one, { entry })
  isBroken = false
  expect([seen.status, shared.status]).toEqual([200, 201])
  for (const { json } of [seen, shared])
    expect(json.data).toMatchObject({ degraded: ['presidio'], removed: { ethereum_address: 1 } })
  const { json } = await share(one, { entry, digest: seen.json.data.digest })
  expect(json.code).toBe('conflict')
  expect((await deltas(other)).data).toHaveLength(1)
})

test('sharing does not call the analyzer for a rejected share, and returns the usual errors', async () => {
  const { one, share } = await siblings()
  const by = { token: one.token, headers: { 'Idempotency-Key': `once-${one.id}` } }
  const first = await share(one, { entry }, by)
  const unsure = await share(one, { entry: { ...entry, confidence: 0.1 } })
  expect([unsure.status, unsure.json.code]).toEqual([422, 'invalid'])
  await app.fetch('PUT', `/v1/agents/${one.id}/clade/sharing`, { token: one.token, body: { on: false } })
  asked.length = 0
  expect((await share(one, { entry })).json.code).toBe('wrong_state')
  expect((await share(one, { entry }, by)).json.data).toEqual(first.json.data)
  expect(asked).toEqual([])
})
