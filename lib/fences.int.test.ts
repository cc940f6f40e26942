import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type MadeSubject, madeSubject } from '#lib/testing/subjects.ts'

let test: TestApp
let subject: MadeSubject
beforeAll(async () => {
  test = await testApp()
  subject = await madeSubject(test)
})
afterAll(() => test?.close())

/** Tables with an agent's or person's id that accept rows during an erasure, each with the reason. Every other such table needs a fence. */
const unfenced: Record<string, string> = {
  audit_entries: 'what happens is on record, an erasure too; kept for 90 days by law',
  erasure_runs: 'the erasures themselves',
  held_versions: 'written by the change of a record, which is refused',
  known_sign_ins: 'written with a session, which is refused',
  privacy_requests: 'what was asked for is answered to its end; pseudonymous from then on',
  reputation: 'written with what earns it: units, skills and votes, which are refused',
  reputation_ledger: 'written with what earns it: units, skills and votes, which are refused',
  storage_counts: 'written with what it counts, which is refused',
}

const rows = async <R extends Record<string, unknown>>(sql: string, ...values: unknown[]): Promise<R[]> =>
  (await test.db.pool.query<R>(sql, values)).rows

const naming = () =>
  rows<{ name: string }>(
    `SELECT DISTINCT c.relname AS name FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
     WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
       AND a.attname IN ('agent_id', 'account_id') AND NOT a.attisdropped ORDER BY 1`,
  )
const fencedTables = () =>
  rows<{ name: string; by: string }>(
    `SELECT c.relname AS name, p.proname AS by FROM pg_trigger t JOIN pg_class c ON c.oid = t.tgrelid JOIN pg_proc p ON p.oid = t.tgfoid
     WHERE NOT t.tgisinternal AND (p.proname LIKE 'refuse\\_fenced\\_%' OR p.proname = 'refuse_erased') ORDER BY 1`,
  )

it('every table with an agent’s or person’s id has a write fence or is listed as having none', async () => {
  const fenced = new Set((await fencedTables()).map(({ name }) => name))
  const open = (await naming()).map(({ name }) => name).filter((name) => !fenced.has(name))
  expect(open).toEqual(Object.keys(unfenced).sort())
})

/** Deletes one of the agent's rows and inserts it again, then rolls both back. */
async function writtenAgain(table: string, agent: string): Promise<number> {
  const [whose] = table === 'telemetry_keys' ? ["kind = 'agent' AND id"] : ['agent_id']
  const client = await test.db.pool.connect()
  try {
    await client.query('BEGIN')
    const { rowCount } = await client.query(
      `WITH gone AS (DELETE FROM ${table} WHERE ctid = (SELECT ctid FROM ${table} WHERE ${whose} = $1 LIMIT 1) RETURNING *)
       INSERT INTO ${table} SELECT * FROM gone`,
      [agent],
    )
    return rowCount ?? 0
  } finally {
    await client.query('ROLLBACK')
    client.release()
  }
}

it('a raised fence rejects writes for its agent in every fenced table, and accepts those for another agent', async () => {
  const [mine, other] = subject.agents.map(({ id }) => id)
  if (mine === undefined || other === undefined) throw new Error('the subject has two agents')
  const own = ['refuse_fenced_agent', 'refuse_fenced_told_apart']
  // Rows that count a token's use reference the token: agents.int.test.ts tests those.
  const tables = (await fencedTables()).filter(({ name, by }) => own.includes(by) && name !== 'tokens')
  expect(tables.length).toBeGreaterThanOrEqual(13)
  for (const { name } of tables) expect([name, await writtenAgain(name, mine)]).toEqual([name, 1])

  const at = test.clock.now()
  await test.db.prisma.writeFence.create({ data: { kind: 'agent', id: mine, runId: 'run_of_this_test', raisedAt: at } })
  for (const { name } of tables) {
    await expect(writtenAgain(name, mine), name).rejects.toMatchObject({ code: 'KP423' })
    expect([name, await writtenAgain(name, other)]).toEqual([name, 1])
  }
})
