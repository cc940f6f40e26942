import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'

const privateKey = `0x${'4c0883a69102937d6231471b5dbb6204fe512961708279feb1be6ae5538da033'}`
const words = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
let app: TestApp
let agent: Issued
beforeAll(async () => {
  app = await testApp()
  agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
})
afterAll(() => app?.close())

const ask = (method: string, path: string, by: Omit<TestRequest, 'token'>) =>
  app.fetch(method, `/v1/agents/${agent.id}${path}`, { token: agent.token, ...by })
const upload = (path: string, method: string, type: string, body: string) =>
  ask(method, path, { body, headers: { 'Content-Type': type } })
const held = async () => [
  await app.db.prisma.agentDocument.findMany({
    where: { agentId: agent.id },
    select: { revision: true, sealedTitle: true, sealedBody: true },
  }),
  await app.db.prisma.grimoireEntry.count({ where: { agentId: agent.id } }),
  await app.db.prisma.stateBundle.count({ where: { agentId: agent.id } }),
  await app.app.stored.objects.list(`snapshots/${agent.id}/`, '', 10),
]
const when = '2026-01-02T03:04:05.000Z'
const restored = (record: object) =>
  [
    { part: 'agent', record: { id: agent.id, grimoire_days: null } },
    { part: 'agent_documents', record },
    { part: 'end', records: 1 },
  ]
    .map((line) => `${JSON.stringify(line)}\n`)
    .join('')
const insight = { scope: 'clade', kind: 'insight', confidence: 0.7 }

describe.each([
  ['private_key', `the private key is ${privateKey}`, privateKey],
  ['seed_phrase', `write down: ${words}`, words],
])('a %s', (kind, text, secret) => {
  test('is rejected in documents, clade entries, the state and restorations, and is neither stored nor repeated', async () => {
    const retained = { kind: 'playbook', title: 'Fixing', body: 'Wait for it.\n' }
    const document = (await ask('POST', '/documents', { body: retained })).json.data.id
    const entry = (await ask('POST', '/grimoire', { body: { ...insight, content: { claim: 'calm' } } })).json.data.id
    const before = await held()
    const record = { id: `adoc_${'0'.repeat(22)}`, ...retained, revision: 1, created_at: when, updated_at: when }
    const answers = [
      await ask('POST', '/documents', { body: { ...retained, body: text } }),
      await ask('POST', '/documents', { body: { ...retained, title: text } }),
      await ask('PUT', `/documents/${document}`, { body: { revision: 1, title: 'Fixing', body: text } }),
      await ask('POST', '/grimoire', { body: { ...insight, content: { a: [{ b: text }] } } }),
      await ask('POST', '/grimoire', {
        body: { ...insight, content: { a: secret.split(' ') }, provenance: { note: text } },
      }),
      await ask('PUT', `/grimoire/${entry}`, {
        body: { scope: 'clade', revision: 1, confidence: 0.7, content: { a: text } },
      }),
      await upload('/state', 'PUT', 'application/json', JSON.stringify({ log: [text] })),
      await upload(
        '/state',
        'PUT',
        'text/plain',
        `${'ordinary words, '.repeat(40_000)}${text}${' and so on'.repeat(70_000)}`,
      ),
      await upload('/snapshots/restore', 'POST', 'application/x-ndjson', restored({ ...record, body: text })),
    ]
    for (const [at, { status, json, text: answer }] of answers.entries()) {
      expect([at, status, json?.code], answer).toEqual([at, 422, 'content_blocked'])
      expect(json.findings[0].kind).toBe(kind)
      for (const part of secret.split(' ').slice(0, 2)) expect(answer).not.toContain(part)
    }
    expect(answers[3]?.json.findings).toEqual([{ kind, path: 'content.a.0.b' }])
    expect(await held()).toEqual(before)
  })
})

test('a state is stored without the values of secret fields', async () => {
  const state = JSON.stringify({ step: 3, wallet: { private_key: privateKey }, session: { token: 'of-nobody' } })
  const { status, json, text } = await upload('/state', 'PUT', 'application/json', state)
  expect(status, text).toBe(200)
  const row = await app.db.prisma.stateBundle.findUnique({ where: { agentId: agent.id } })
  const retained = await Array.fromAsync((await app.app.stored.objects.get(row?.objectKey ?? '')) ?? [])
  const bytes = Buffer.concat(retained)
  expect(JSON.parse(bytes.toString())).toEqual({ step: 3, wallet: { private_key: null }, session: { token: null } })
  expect(json.data.bytes).toBe(bytes.length)
})
