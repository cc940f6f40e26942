import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { sop } from '#lib/testing/units.ts'
import type { CheckView, LineView } from './contract.ts'

let test: TestApp
let person: Person
let admin: Person
let agent: Issued
beforeAll(async () => {
  test = await testApp()
  person = await signedIn(test)
  admin = await signedIn(test, 'admin')
  agent = await issuedAgent(test, ['read', 'write'], { owner: person, tier: 'pro' })
})
afterAll(() => test?.close())

const insight = { scope: 'clade', kind: 'insight', content: { claim: 'a claim' }, confidence: 0.7 }
const card = () => ({
  from: '2026-01-01T00:00:00Z',
  until: '2026-06-30T00:00:00Z',
  returns: 0.12,
  sharpe: 1.4,
  drawdown: 0.08,
})
type Asker = { token: string } | { cookie: string }
async function asked(method: string, path: string, who: Asker, body?: unknown) {
  const answer = await test.fetch(method, path, { ...who, ...(body !== undefined && { body }) })
  if (answer.status > 299) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer.json?.data
}
const checked = async (): Promise<CheckView> => {
  const { json } = await test.fetch('GET', '/api/admin/compliance', admin)
  const found = (json.data.lines as LineView[])
    .flatMap(({ checks }) => checks)
    .find(({ name }) => name === 'deletions.logged')
  if (!found) throw new Error('there is no such check')
  return found
}

/**
 * Its names in the counts and in the scope of the deletion log, and a function that creates one and returns the
 * request that deletes it.
 */
interface Kind {
  counts: string
  scope: string
  make(): Promise<{ path: string; who: Asker; id: string }>
}
const kinds = (): Kind[] => [
  {
    counts: 'agentDocumentsDeleted',
    scope: 'agent_document',
    async make() {
      const at = `/v1/agents/${agent.id}/documents`
      const { id } = await asked('POST', at, agent, { kind: 'playbook', title: 'A title', body: 'Some words.' })
      return { path: `${at}/${id}`, who: agent, id }
    },
  },
  {
    counts: 'chainReferencesDeleted',
    scope: 'chain_reference',
    async make() {
      const at = `/v1/agents/${agent.id}/chain-references`
      const reference = `0x${randomBytes(20).toString('hex')}`
      const { id } = await asked('POST', at, agent, { chain: 'eip155:1', kind: 'address', reference })
      return { path: `${at}/${id}`, who: agent, id }
    },
  },
  {
    counts: 'entriesDeleted',
    scope: 'grimoire_entry',
    async make() {
      const at = `/v1/agents/${agent.id}/grimoire`
      const { id } = await asked('POST', at, agent, insight)
      return { path: `${at}/${id}`, who: agent, id }
    },
  },
  {
    counts: 'exchangesDeleted',
    scope: 'llm_exchange',
    async make() {
      const { id } = await asked('POST', '/v1/llm-log', agent, { messages: [{ role: 'user', content: 'Some words.' }] })
      return { path: `/v1/llm-log/${id}`, who: agent, id }
    },
  },
  {
    counts: 'snapshotsDeleted',
    scope: 'snapshot',
    async make() {
      const id = `snap_${randomBytes(11).toString('hex')}`
      const now = test.clock.now()
      await test.db.prisma.snapshot.create({
        data: {
          id,
          agentId: agent.id,
          kind: 'on_demand',
          keyId: 'k',
          state: 'failed',
          objectKey: `snapshots/x/${id}`,
          createdAt: now,
          expiresAt: new Date(now.getTime() + 3_600_000),
        },
      })
      return { path: `/v1/agents/${agent.id}/snapshots/${id}`, who: agent, id }
    },
  },
  {
    counts: 'performanceCardsDeleted',
    scope: 'performance_card',
    async make() {
      await asked('PUT', `/v1/agents/${agent.id}/card`, agent, card())
      return { path: `/v1/agents/${agent.id}/card`, who: agent, id: agent.id }
    },
  },
  {
    counts: 'exportsDeleted',
    scope: 'export',
    async make() {
      const { id } = await asked('POST', '/api/privacy/exports', person, { scope: 'all' })
      return { path: `/api/privacy/exports/${id}`, who: person, id }
    },
  },
  {
    counts: 'sopVersionsDeleted',
    scope: 'sop_version',
    async make() {
      const { id } = await asked('POST', '/v1/sop', agent, sop())
      await asked('PUT', `/v1/sop/${id}`, agent, sop({ name: 'Another wording of it' }))
      return { path: `/v1/sop/${id}/versions/1`, who: agent, id }
    },
  },
  {
    counts: 'savedSearchesDeleted',
    scope: 'saved-search',
    async make() {
      const { id } = await asked('POST', '/api/audit/searches', admin, { name: 'Mine', query: 'action=delete' })
      return { path: `/api/audit/searches/${id}`, who: admin, id }
    },
  },
]

const logged = (counts: string) =>
  test.db.query<{ scope: Record<string, string>; results: Record<string, number>; requested_by: string }>(
    undefined,
    'SELECT scope, results, requested_by FROM deletion_audit_log WHERE results ? $1',
    [counts],
  )

it.each(kinds().map((kind) => [kind.counts, kind] as const))(
  'a deletion by its owner writes a row with %s, and the check finds it',
  async (counts, { scope, make }) => {
    const before = await logged(counts)
    test.clock.advance(1_000)
    const { path, who, id } = await make()
    await asked('DELETE', path, who)
    const rows = await logged(counts)
    expect(rows).toHaveLength(before.length + 1)
    const row = rows.find((one) => one.scope[scope] === id)
    expect(row?.results).toEqual({ [counts]: 1 })
    expect(Object.keys(row?.scope ?? {}).filter((key) => key !== 'version')).toEqual([scope])
    expect(row?.requested_by).toBe(
      'token' in who ? agent.id : `user:${who === admin ? admin.accountId : person.accountId}`,
    )
    const check = await checked()
    expect([check.state, check.numbers.missing, check.numbers.undeclared]).toEqual(['holds', 0, 0])
  },
)

it.each(kinds().map((kind) => [kind.counts, kind] as const))(
  'the check fails when the row of %s is missing',
  async (counts, { make }) => {
    const { pipeline } = test.app
    const original = pipeline.recordDeletion
    const mend = () => {
      pipeline.recordDeletion = original
    }
    onTestFinished(mend)
    // The fault: this kind of deletion writes no row.
    pipeline.recordDeletion = async (tx, deletion) => (counts in deletion.results ? undefined : original(tx, deletion))
    test.clock.advance(1_000)
    const { path, who } = await make()
    await asked('DELETE', path, who)
    mend()
    const check = await checked()
    expect(check.state).toBe('fails')
    expect(check.numbers.missing).toBeGreaterThan(0)
    await restore()
    expect((await checked()).state).toBe('holds')
  },
)

/** Adds the rows that the fault omitted. */
const restore = () =>
  test.db.query(
    undefined,
    `INSERT INTO deletion_audit_log (audit_id, "timestamp", requested_by, reason, scope, results)
     SELECT gen_random_uuid()::text, a.at, a.agent_id, 'user_request', jsonb_build_object(a.resource_type, a.resource_id),
       (SELECT jsonb_object_agg(c, 1) FROM unnest($1::text[]) AS c)
     FROM audit_entries a WHERE a.action = 'delete'`,
    [kinds().map(({ counts }) => counts)],
  )

it('a sweep writes one row with its count, and the check fails without it', async () => {
  for (let n = 0; n < 3; n++)
    await asked('POST', '/v1/llm-log', agent, { messages: [{ role: 'user', content: 'Some words.' }] })
  const { id } = await asked('POST', '/api/privacy/exports', person, { scope: 'all' })
  await test.db.prisma.preparedExport.update({
    where: { id },
    data: { state: 'ready', readyAt: test.clock.now(), expiresAt: test.clock.now() },
  })
  test.clock.advance(25 * 3_600_000)
  for (const name of ['llm-log.purge-ended', 'exports.upkeep'])
    await test.app.jobs.find((job) => job.name === name)?.execute(test.app.pipeline, {})
  const swept = (await logged('exchangesDeleted')).filter(({ requested_by }) => requested_by.startsWith('system:'))
  expect(swept).toMatchObject([{ results: { exchangesDeleted: 3 }, requested_by: 'system:llm-log.purge-ended' }])
  expect((await logged('exportsDeleted')).map(({ requested_by }) => requested_by)).toContain('system:exports.upkeep')
  expect((await checked()).state).toBe('holds')
  await test.app.db.transaction((tx) =>
    test.app.pipeline.auditWithin(tx, {
      action: 'delete',
      actorId: 'system:some.sweep',
      resourceType: 'something',
      resourceId: 'old',
      at: test.clock.now(),
      ip: '',
      details: { count: 7 },
    }),
  )
  const check = await checked()
  expect([check.state, check.numbers.missing]).toEqual(['fails', 1])
})

it('every deleting operation declares its count in the deletion log or why it has none', () => {
  const silent = test.app.useCases
    .map(({ operation }) => operation)
    .filter(({ audit, deletes }) => 'action' in audit && audit.action === 'delete' && deletes === undefined)
  expect(silent.map(({ id }) => id)).toEqual([])
})
