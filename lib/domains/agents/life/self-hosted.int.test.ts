import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { cladeTesting, sharedInsight } from '#lib/testing/clades.ts'
import { seemingEnvelope, seemingKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let person: Person
let agent: Issued
let sibling: Issued
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
  ;[agent, sibling] = await cladeTesting(app, person).pair()
  // Set directly: the API only sets it at creation.
  await app.db.prisma.agent.update({ where: { id: agent.id }, data: { selfHosted: true } })
})
afterAll(() => app?.close())

const document = { kind: 'playbook', title: 'Play', body: 'Step\n' }
const keyring = seemingKeyring()
const entry = { scope: 'clade', kind: 'insight', content: { claim: 'calm' }, confidence: 0.7 }
const fact = { chain: 'eip155:1', kind: 'address', reference: `0x${'ab'.repeat(20)}` }
const card = { from: '2026-01-01T00:00:00Z', until: '2026-02-01T00:00:00Z', returns: 0.1, sharpe: 1, drawdown: 0.1 }
/** Operations that would store data of the agent here. */
const retained: Record<string, { body: unknown; type?: string }> = {
  addAgentDocument: { body: document },
  editAgentDocument: { body: { title: 'Play', body: 'Step\n', revision: 1 } },
  addHeartbeat: { body: { state: 'idle' } },
  addChainReference: { body: fact },
  setAgentSettings: { body: { grimoire_days: 7 } },
  storeKeyring: { body: { keyring } },
  addGrimoireEntry: { body: entry },
  editGrimoireEntry: {
    body: { scope: 'private', revision: 1, envelope: seemingEnvelope(keyring.key_id) },
  },
  storeAgentState: { body: '{}' },
  restoreAgent: { body: '{"part":"agent"}\n', type: 'application/x-ndjson' },
  logLlmExchange: { body: { messages: [{ role: 'user', content: 'What is the weather?' }] } },
}
/** Operations that share data or concern shared data, with their expected status. */
const erasing: Record<string, [body: unknown, status: number]> = {
  setCladeSharing: [{ on: true }, 200],
  previewCladeShare: [{ entry: sharedInsight }, 200],
  addCladeShare: [{ entry: sharedInsight }, 201],
  acknowledgeCladeDeltas: [{ through: 1 }, 200],
  publishPerformanceCard: [card, 200],
  setAgentStatus: [{ status: 'active' }, 200],
  // The agent has no keyring here to seal it with.
  makeSnapshot: [undefined, 409],
  linkSnapshot: [undefined, 404],
}
/** All operations that could write data of one agent. */
const writing = () =>
  app.app.useCases
    .map(({ operation }) => operation)
    .filter(
      ({ method, path, id }) =>
        ['post', 'put', 'patch'].includes(method) &&
        (path.startsWith('/v1/agents/{') || path.startsWith('/v1/llm-log')) &&
        // For admins; changes name and tier.
        id !== 'editAgent',
    )
const pathOf = (path: string) =>
  path
    .replace(/^\/v1\/agents\/\{\w+\}/, `/v1/agents/${agent.id}`)
    .replace('{documentId}', newId('adoc'))
    .replace('{entryId}', newId('ent'))
    .replace('{snapshotId}', newId('snap'))

describe('a self-hosted agent', () => {
  test('stores only shared data here: other writes are rejected with the reason', async () => {
    expect(
      writing()
        .map(({ id }) => id)
        .sort(),
    ).toEqual([...Object.keys(retained), ...Object.keys(erasing)].sort())
    for (const { id, method, path } of writing()) {
      const one = retained[id]
      if (!one) continue
      const response = await app.fetch(method.toUpperCase(), pathOf(path), {
        token: agent.token,
        body: one.body,
        ...(one.type !== undefined && { headers: { 'Content-Type': one.type } }),
      })
      expect([response.status, response.json?.code], `${id}: ${response.text}`).toEqual([409, 'conflict'])
      expect(response.json.detail).toContain('self-hosted')
    }
    const count = async (table: string) =>
      (await app.db.pool.query(`SELECT 1 FROM ${table} WHERE agent_id = $1`, [agent.id])).rowCount
    for (const table of [
      'agent_documents',
      'heartbeats',
      'chain_references',
      'keyrings',
      'grimoire_entries',
      'state_bundles',
      'llm_log_entries',
      'snapshots',
    ])
      expect(await count(table), table).toBe(0)
  })

  test('shares with siblings, publishes its card and contributes like any other', async () => {
    for (const { id, method, path } of writing()) {
      const one = erasing[id]
      if (!one) continue
      const [body, status] = one
      const by = id.endsWith('Snapshot') ? { cookie: person.cookie } : { token: agent.token }
      const response = await app.fetch(method.toUpperCase(), pathOf(path), {
        ...by,
        ...(body !== undefined && { body }),
      })
      expect(response.status, `${id}: ${response.text}`).toBe(status)
    }
    const waiting = await app.fetch('GET', `/v1/agents/${sibling.id}/clade/deltas?after=0`, { token: sibling.token })
    expect(waiting.json.data).toHaveLength(1)
    expect((await app.fetch('GET', `/v1/agents/${agent.id}/card`, { token: sibling.token })).json.data.returns).toBe(
      0.1,
    )
    expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).status).toBe(201)
  })
})
