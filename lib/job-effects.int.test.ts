import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { doors, withoutEffect } from '#lib/kernel/effects.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, releaseInPerson } from '#lib/testing/people.ts'
import { dataOf, madeProject } from '#lib/testing/projects.ts'
import { type MadeSubject, madeSubject, personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

const day = 86_400_000

/** Tables of personal data whose rows end although a legal hold covers their owner, each with the reason. */
const endUnderHold: Record<string, string> = {
  sessions: 'credentials, which expire',
  known_sign_ins: 'keyed hashes of networks, which expire',
  account_links: 'hashes of single-use links, which expire',
  token_usage: 'counts by hour',
  rate_limit_refusals: 'counts by minute',
  content_rejections: 'the stage of a check and its time, never content',
  approval_proposals: 'sealed copies of input, which expire',
  search_news: 'ids of records whose words are computed next',
  export_runs: 'times and counts of exports',
  prepared_exports: 'copies for the subject, which expire',
  idempotency_records: 'copies of answers, for 24 hours',
  privacy_links: 'hashes of single-use links, which expire',
  unconfirmed_requests: 'unconfirmed forms, which expire',
  telemetry_keys: 'keys that must be destroyed after 30 days; without content',
  read_notices: 'which notifications a person has read',
  tokens: 'credentials, which expire',
  snapshots:
    'copies that the owner asked for expire; automatic ones stay (lib/proofs/agent-under-legal-hold.int.test.ts)',
  snapshot_links: 'links to these copies, which expire',
}
/** Columns that decide who reads a record, who somebody is, and whose record it is. A job changes them only with an effect. */
const guardedColumns = [
  'visibility',
  'role',
  'email',
  'password_hash',
  'account_id',
  'owner_id',
  'agent_id',
  'totp_secret',
]

let test: TestApp
let subject: MadeSubject
let rowsQuery: string
beforeAll(async () => {
  test = await testApp()
  subject = await madeSubject(test)
  const tables = new Set(test.app.dataSources.flatMap((source) => source.tables).filter((name) => !name.includes('.')))
  const columns = await test.db.query<{ table: string; keys: string[]; guarded: string[] }>(
    undefined,
    `SELECT c.relname AS "table",
       (SELECT array_agg(a.attname::text ORDER BY a.attnum) FROM pg_attribute a JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
        WHERE a.attrelid = c.oid AND a.attnum = ANY(i.indkey)) AS keys,
       (SELECT coalesce(array_agg(a.attname::text ORDER BY a.attnum), '{}') FROM pg_attribute a
        WHERE a.attrelid = c.oid AND a.attname = ANY($2)) AS guarded
     FROM pg_class c WHERE c.relname = ANY($1) AND c.relkind IN ('r', 'p') AND NOT c.relispartition`,
    [[...tables], guardedColumns],
  )
  expect(columns.map(({ table }) => table).sort()).toEqual([...tables].sort())
  rowsQuery = columns
    .filter(({ table }) => !(table in endUnderHold))
    .map(({ table, keys, guarded }) => {
      const values = ["''", ...guarded.map((name) => `"${name}"::text`)].join(', ')
      return `SELECT '${table}' AS "table", concat_ws('/', ${keys.map((name) => `"${name}"::text`).join(', ')}) AS key, concat_ws(' ', ${values}) AS guarded FROM ${table}`
    })
    .join(' UNION ALL ')
}, 300_000)
afterAll(() => test?.close())

const rows = async () => {
  const found = await test.db.query<{ table: string; key: string; guarded: string }>(undefined, rowsQuery)
  return new Map(found.map(({ table, key, guarded }) => [`${table} ${key}`, guarded]))
}
type Effects = Record<string, string[]>
/**
 * Runs the jobs that are waiting, and every scheduled job with what it enqueues. Returns by job the tables of which it deleted a row, or
 * changed a guarded column.
 */
async function effectsOfJobs(): Promise<Effects> {
  const found = new Map<string, Set<string>>()
  const jobs = test.app.jobs.map((one) => ({
    ...one,
    execute: async (pipeline: Parameters<typeof one.execute>[0], payload: unknown) => {
      const before = await rows()
      await one.execute(pipeline, payload)
      const after = await rows()
      for (const [row, guarded] of before)
        if (after.get(row) !== guarded)
          found.set(one.name, (found.get(one.name) ?? new Set()).add(row.slice(0, row.indexOf(' '))))
    },
  }))
  const watched = { app: { ...test.app, jobs } }
  await drain(watched, { mayFail: true })
  for (const { name, cron, execute } of jobs) {
    if (cron === undefined) continue
    try {
      await execute(test.app.pipeline, {})
    } catch (cause) {
      throw new Error(`the job ${name} failed`, { cause })
    }
    await drain(watched, { mayFail: true })
  }
  return Object.fromEntries([...found].map(([name, tables]) => [name, [...tables].sort()]))
}
const ids = async (query: string) => (await test.db.query<{ id: string }>(undefined, query)).map(({ id }) => id)
async function holdEverything(): Promise<string[]> {
  const { token } = await issuedAgent(test, ['admin'], { tier: 'enterprise' })
  const targets = {
    account: 'SELECT id FROM accounts',
    agent: 'SELECT id FROM agents',
    project: 'SELECT id FROM projects',
    unit: 'SELECT id FROM units',
    skill: 'SELECT id FROM skills',
  }
  const made: string[] = []
  for (const [kind, query] of Object.entries(targets))
    for (const target_id of await ids(query)) {
      const { status, json, text } = await test.fetch('POST', '/v1/holds', {
        token,
        body: { kind, target_id, reason: 'A court asked for it.' },
      })
      expect(status, text).toBe(201)
      made.push(json.data.id)
    }
  return made
}

describe('jobs', () => {
  const withEffect = new Set(Object.values(doors).flatMap(({ jobs = [] }) => jobs))
  const erasing = new Set([...(doors['erase-words'].jobs ?? []), ...(doors['erase-subject'].jobs ?? [])])

  it('delete no record under legal hold, however old it is, and afterwards only by the jobs that are known to erase', async () => {
    const closing = await madeProject(test)
    const leaving = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: leaving })
    await dataOf(test, 'POST', '/v1/knowledge', agent, { body: trace() })
    // What agents can let expire.
    const [first, second] = subject.agents
    const settings = { grimoire_days: 1, document_days: 1 }
    await dataOf(test, 'PATCH', `/v1/agents/${first?.id}/settings`, subject, { body: settings })
    const retired = { status: 'dead', confirm: second?.id }
    await dataOf(test, 'PUT', `/v1/agents/${second?.id}/status`, subject, { body: retired })
    const holds = await holdEverything()
    // Requests that continue in jobs.
    const erasure = { kinds: ['erasure'], grace: 'now', password: leaving.password }
    await dataOf(test, 'POST', '/api/privacy/requests', leaving, { body: erasure })
    const closed = await test.fetch('POST', `${closing.path}/close`, { ...closing.owner, body: {} })
    expect(closed.status, closed.text).toBeLessThan(300)
    expect(await effectsOfJobs()).toEqual({})
    for (const age of [day, 40 * day, 3 * 365 * day]) {
      test.clock.advance(age)
      expect(await effectsOfJobs()).toEqual({})
    }

    const present = (await rows()).size
    for (const hold of holds) {
      const { status, text } = await releaseInPerson(test, hold)
      expect(status, text).toBe(200)
    }
    const effects = { ...(await effectsOfJobs()) }
    test.clock.advance(40 * day)
    for (const [name, tables] of Object.entries(await effectsOfJobs()))
      effects[name] = [...new Set([...(effects[name] ?? []), ...tables])].sort()
    // Without a hold, the same jobs erase: otherwise the first half would show nothing.
    expect((await rows()).size).toBeLessThan(present)
    const found = Object.keys(effects)
    expect([effects, found.filter((name) => !withEffect.has(name))]).toEqual([effects, []])
    expect(withoutEffect.jobs.filter((name) => name in effects)).toEqual([])
    expect(found.filter((name) => erasing.has(name)).length).toBeGreaterThan(4)
  }, 600_000)
})
