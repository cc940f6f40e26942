import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import type { Inventory } from './contract.ts'

let test: TestApp
let person: Person
beforeAll(async () => {
  test = await testApp()
  person = await signedIn(test)
})
afterAll(() => test.close())

/** Tables without personal data, each with the reason. All other tables must belong to a data source or to retained records. */
const impersonal: Record<string, string> = {
  _prisma_migrations: 'names of migrations',
  signing_keys: 'keys of the installation',
  suppression_keys: 'keys of the installation',
  rate_limit_windows: 'counters by token or address that live for a minute',
  clades: 'ids of groups of agents, of nobody in particular',
  registration_networks: 'keyed hashes of networks and times of registrations, for an hour; no agent is named',
  storage_counts: 'bytes and counts by agent and project, deleted with them by the database',
}

const inventory = (who: { cookie?: string; token?: string }, query = ''): Promise<TestResponse> =>
  test.fetch('GET', `/api/privacy/inventory${query}`, who)
const countsOf = (body: Inventory): Record<string, number> =>
  Object.fromEntries(body.data.filter(({ count }) => count > 0).map(({ holder, count }) => [holder, count]))
const contribute = async (token: string, unit: unknown): Promise<void> => {
  const { status, text } = await test.fetch('POST', '/v1/knowledge', { token, body: unit })
  if (status !== 201) throw new Error(text)
}

describe('the inventory of personal data', () => {
  it('covers every table: each belongs to a data source or to retained records, or is listed as impersonal', async () => {
    const { rows } = await test.db.pool.query<{ name: string }>(
      "SELECT c.relname AS name FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition ORDER BY 1",
    )
    const named = [...test.app.dataSources, ...test.app.retainedRecords]
      .flatMap(({ tables }) => [...tables])
      .filter((name) => !name.includes('.'))
    expect([...new Set(named), ...Object.keys(impersonal)].sort()).toEqual(rows.map(({ name }) => name))
  })

  it('describes each data source and all retained records: content, purpose, legal basis, period and location', async () => {
    const { json } = await inventory(person)
    expect(json.data.map(({ holder }: { holder: string }) => holder)).toEqual(
      test.app.dataSources.map(({ name }) => name),
    )
    expect(json.kept_beside.map(({ name }: { name: string }) => name)).toEqual(
      test.app.retainedRecords.map(({ name }) => name),
    )
    for (const line of [...json.data, ...json.kept_beside])
      for (const field of ['what', 'purpose', 'basis', 'kept', 'where', 'store'])
        expect([line.holder ?? line.name, field, line[field].length > 3]).toEqual([
          line.holder ?? line.name,
          field,
          true,
        ])
    // The receipt describes the effect of an erasure, not the inventory.
    for (const { what } of json.data) expect(what).not.toMatch(/pseudonym|cleared|replaced|stays?\b/)
    for (const name of ['audit.entries', 'erasure.receipts', 'erasure.runs', 'erasure.suppressions', 'erasure.ledger'])
      expect(test.app.retainedRecords.map((one) => one.name)).toContain(name)
  })
})

describe('inventory counts', () => {
  it("contain the account, sessions, agents and the agents' records of a person, but no records of others", async () => {
    const someone = await signedIn(test)
    const [one, two] = [
      await issuedAgent(test, ['write'], { owner: someone }),
      await issuedAgent(test, ['write'], { owner: someone }),
    ]
    await contribute(one.token, trace())
    await contribute(two.token, trace())
    await contribute((await test.agent()).token, trace())
    const { status, json } = await inventory(someone)
    expect(status).toBe(200)
    expect(countsOf(json)).toMatchObject({
      accounts: 1,
      'accounts.sessions': 1,
      agents: 2,
      tokens: 2,
      'knowledge.units': 2,
    })
    expect(json.total).toBe(Object.values(countsOf(json)).reduce((sum, n) => sum + n, 0))
    expect(json.subject).toEqual({
      account_id: someone.accountId,
      agents: [one.id, two.id].sort(),
      self_hosted: [],
    })
    const units = json.data.find(({ holder }: { holder: string }) => holder === 'knowledge.units')
    expect(units).toMatchObject({
      since: test.clock.now().toISOString(),
      where: 'PostgreSQL on the operator’s server',
      basis: expect.stringContaining('art. 6(1)(a)'),
    })
    const audit = json.kept_beside.find(({ name }: { name: string }) => name === 'audit.entries')
    expect(audit).toMatchObject({ count: 2, basis: expect.stringContaining('legal obligation') })
    expect(Date.parse(audit.until) - test.clock.now().getTime()).toBe(90 * 86_400_000)
  })

  it("contain only the agent and its erased records when an agent's token or its owner's session requests them", async () => {
    const someone = await signedIn(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: someone })
    const { json: made } = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    await test.fetch('DELETE', `/v1/knowledge/${made.data.id}`, { token: agent.token })
    const own = (await inventory({ token: agent.token })).json
    expect(own.subject).toEqual({ account_id: null, agents: [agent.id], self_hosted: [] })
    expect(countsOf(own)).toMatchObject({ agents: 1, tokens: 1 })
    expect(countsOf(own)).not.toHaveProperty('accounts')
    expect(countsOf(own)).not.toHaveProperty('knowledge.units')
    const beside = Object.fromEntries(
      own.kept_beside.map(({ name, count }: { name: string; count: number }) => [name, count]),
    )
    expect(beside).toMatchObject({ 'erasure.receipts': 1, 'erasure.ids': 1, 'erasure.ledger': null })
    const byOwner = (await inventory(someone, `?agent_id=${agent.id}`)).json
    expect(countsOf(byOwner)).toMatchObject({ agents: 1, tokens: 1 })
    expect(byOwner.subject).toEqual(own.subject)
  })

  it("return 404 for another person's agent, also to admins, and 401 without sign-in", async () => {
    const { id, token } = await test.agent()
    for (const who of [await signedIn(test), await signedIn(test, 'admin'), { token: (await test.agent()).token }])
      expect((await inventory(who, `?agent_id=${id}`)).status).toBe(404)
    expect((await inventory({ token }, `?agent_id=${id}`)).status).toBe(200)
    expect((await inventory({})).status).toBe(401)
  })

  it("contain only the number of an admin's changes of settings", async () => {
    const admin = await signedIn(test, 'admin')
    const patched = await test.fetch('PATCH', '/v1/settings', { ...admin, body: { anonymous_reading: true } })
    expect(patched.status, patched.text).toBe(200)
    const { json } = await inventory(admin)
    expect(json.kept_beside.find(({ name }: { name: string }) => name === 'settings.acts')).toMatchObject({ count: 1 })
  })
})
