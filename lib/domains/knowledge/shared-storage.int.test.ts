import { afterAll, beforeAll, expect, it } from 'vitest'
import { dailyCaps, gains } from '#lib/domains/knowledge/reputation/rules.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { pattern, sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const agent = () => issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
const contribute = (token: string, unit: object, headers: Record<string, string> = {}) =>
  test.fetch('POST', '/v1/knowledge', { token, body: unit, headers })
const entriesOf = (agentId: string) =>
  test.db.prisma.auditEntry.findMany({ where: { agentId, action: 'create', resourceType: 'knowledge' } })
const transactionsOf = async (ids: readonly string[]) => {
  const rows = await test.db.query<{ n: number }>(
    undefined,
    'SELECT count(DISTINCT xmin::text)::int AS n FROM units WHERE id = ANY($1)',
    [ids],
  )
  return rows[0]?.n ?? 0
}

it('concurrent contributions share transactions, and each has its own unit, time, audit entry and response', async () => {
  const { id, token } = await agent()
  const kinds = [trace, pattern, sop]
  const sent = Array.from({ length: 30 }, (_, n) => kinds[n % 3]?.() ?? trace())
  const responses = await Promise.all(sent.map((unit) => contribute(token, unit)))
  expect(responses.map(({ status }) => status)).toEqual(sent.map(() => 201))
  const ids = responses.map(({ json }) => String(json.data.id))
  expect(new Set(ids).size).toBe(30)
  expect(await transactionsOf(ids)).toBeLessThan(15)
  for (const [at, { json }] of responses.entries()) {
    const read = await test.fetch('GET', `/v1/knowledge/${ids[at]}`, { token })
    expect(read.json.data).toEqual(json.data)
    expect(read.json.data.unit['@type']).toBe(sent[at]?.['@type'])
  }
  const entries = await entriesOf(id)
  expect(entries.map(({ resourceId }) => resourceId).sort()).toEqual(ids.toSorted())
  const versions = await test.db.prisma.sopVersion.findMany({ where: { unitId: { in: ids } } })
  expect(versions).toHaveLength(10)
  // Which gains fit below the daily cap depends on the order in which the contributions arrive.
  const { score = 0 } = (await test.db.prisma.reputation.findUnique({ where: { agentId: id } })) ?? {}
  expect(score).toBeLessThanOrEqual(dailyCaps.all + 1e-9)
  expect(score).toBeGreaterThan(dailyCaps.all - Math.max(...Object.values(gains)))
})

it('a contribution that cannot be stored fails alone, and no unit is stored without its audit entry', async () => {
  const { id, token } = await agent()
  const owner = (sql: string) => withConnection(test.ownerUrl, (client) => client.query(sql))
  await owner(`CREATE FUNCTION refuse_entry() RETURNS trigger LANGUAGE plpgsql AS $$
      BEGIN IF NEW.agent_id = '${id}' AND NEW.details->>'type' = 'ToolCallPattern' THEN RAISE 'refused'; END IF; RETURN NEW; END $$`)
  await owner('CREATE TRIGGER refuse_entry BEFORE INSERT ON audit_entries FOR EACH ROW EXECUTE FUNCTION refuse_entry()')
  try {
    const sent = Array.from({ length: 12 }, (_, n) => (n === 5 ? pattern() : trace()))
    const responses = await Promise.all(sent.map((unit) => contribute(token, unit)))
    expect(responses.map(({ status }) => status)).toEqual(sent.map((_, n) => (n === 5 ? 500 : 201)))
    const stored = await test.db.prisma.unit.findMany({ where: { agentId: id }, select: { id: true, type: true } })
    expect(stored.map(({ type }) => type)).toEqual(Array.from({ length: 11 }, () => 'ReasoningTrace'))
    expect((await entriesOf(id)).map(({ resourceId }) => resourceId).sort()).toEqual(
      stored.map((unit) => unit.id).sort(),
    )
  } finally {
    await owner('DROP TRIGGER refuse_entry ON audit_entries')
    await owner('DROP FUNCTION refuse_entry()')
  }
})

it('agents do not wait for each other', async () => {
  const [slow, fast] = [await agent(), await agent()]
  await withConnection(test.ownerUrl, async (owner) => {
    await owner.query('BEGIN')
    await owner.query('SELECT FROM agents WHERE id = $1 FOR UPDATE', [slow.id])
    const waiting = Promise.all(Array.from({ length: 4 }, () => contribute(slow.token, trace())))
    expect((await contribute(fast.token, trace())).status).toBe(201)
    await owner.query('COMMIT')
    expect((await waiting).map(({ status }) => status)).toEqual([201, 201, 201, 201])
  })
})

it('requests with an Idempotency-Key have their own transaction, and a repeated one stores nothing', async () => {
  const { id, token } = await agent()
  const responses = await Promise.all(
    Array.from({ length: 8 }, (_, n) => contribute(token, trace(), { 'Idempotency-Key': `key-${n % 4}` })),
  )
  const stored = await test.db.prisma.unit.count({ where: { agentId: id } })
  expect(stored).toBe(4)
  expect(responses.every(({ status }) => status === 201 || status === 409)).toBe(true)
})
