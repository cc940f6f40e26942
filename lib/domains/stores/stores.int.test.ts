import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { europeanAgent, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { madeProject } from '#lib/testing/projects.ts'
import type { StoreView } from './contract.ts'
import { connectedStoresOf, registeredStores } from './registered-stores.ts'

// No server listens there: the test covers what the installation knows without them.
const elsewhere = {
  KP_GRAPH_URL: 'bolt://neo4j:a-graph-secret@127.0.0.1:1/deals',
  KP_CHECKPOINTS_URL: 'postgresql://threads:a-thread-secret@127.0.0.1:1/threads',
  KP_OBJECTS_URL: 's3://a-key:an-object-secret@127.0.0.1:1/bucket?tls=false&path_style=true',
  KP_SMTP_URL: 'smtp://letters:a-mail-secret@127.0.0.1:1',
  KP_REGIONS: 'files=de@own,objects=eu-west-2@aws,llm=fr@mistral',
}
let test: TestApp
let admin: Person
let auditor: Person
beforeAll(async () => {
  test = await testApp(elsewhere)
  admin = await signedIn(test, 'admin')
  auditor = await signedIn(test, 'auditor')
})
afterAll(() => test?.close())

const listed = async (by = auditor): Promise<StoreView[]> =>
  (await test.fetch('GET', '/api/stores', by)).json.data.stores
const named = async (name: string): Promise<StoreView | undefined> =>
  (await listed()).find((store) => store.name === name && store.is_connected)

describe('GET /api/stores', () => {
  it('is limited to admins and auditors, and audited', async () => {
    const cases = [
      [{}, 401],
      [await signedIn(test), 403],
      [await signedIn(test, 'manager'), 403],
      [{ token: (await test.agent()).token }, 403],
      [auditor, 200],
      [admin, 200],
      [{ token: (await issuedAgent(test, ['admin'])).token }, 200],
    ] as const
    for (const [who, status] of cases) expect((await test.fetch('GET', '/api/stores', who)).status).toBe(status)
    const [entry] = await test.app.audit.query({ resource_type: 'store' }, test.clock.now())
    expect(entry).toMatchObject({ action: 'read', details: { operation: 'listStores' } })
  })

  it('returns the location and state of each store, without credentials', async () => {
    const { json, text } = await test.fetch('GET', '/api/stores', auditor)
    expect(text).not.toMatch(/-secret|a-key/)
    expect(json.data.residency).toBeNull()
    const by = Object.fromEntries(json.data.stores.map((store: StoreView) => [store.name, store]))
    expect(by.postgresql).toMatchObject({ state: 'ok', jurisdiction: 'unknown', is_connected: true })
    expect(by.postgresql.latency_ms).toBeGreaterThan(0)
    expect(by.files).toMatchObject({ state: 'ok', region: 'de', host: 'own', country: 'DE', jurisdiction: 'eea' })
    expect(by.cache).toMatchObject({ provider: 'memory', address: null, region: 'de', region_source: 'within' })
    expect(by.graph).toMatchObject({
      port: 'graph',
      provider: 'neo4j',
      address: 'bolt://127.0.0.1:1/deals',
      state: 'down',
      region: null,
      jurisdiction: 'unknown',
    })
    expect(by.objects).toMatchObject({ provider: 's3', state: 'down', country: 'GB', jurisdiction: 'outside' })
    expect(by.checkpoints).toMatchObject({ address: 'postgresql://127.0.0.1:1/threads (schema public)', state: 'down' })
    expect(json.data.processors).toEqual([
      expect.objectContaining({ name: 'mail', address: 'smtp://127.0.0.1:1', travels: ['letters'] }),
      expect.objectContaining({ name: 'llm', provider: 'mistral', country: 'FR', travels: ['prompts'] }),
    ])
  })

  it('returns projects that require the EU while a store is outside', async () => {
    const away = async () => (await test.fetch('GET', '/api/stores', auditor)).json.data.projects_outside
    expect(await away()).toEqual({ total: 0, project_ids: [] })
    const { id } = await madeProject(test)
    await madeProject(test)
    await test.db.prisma.project.update({ where: { id }, data: { region: 'eu' } })
    expect(await away()).toEqual({ total: 1, project_ids: [id] })
    await test.db.prisma.project.update({ where: { id }, data: { region: null } })
  })

  it('returns agents that require the EU while a store is outside', async () => {
    const away = async () => (await test.fetch('GET', '/api/stores', auditor)).json.data.agents_outside
    expect(await away()).toEqual({ total: 0, agent_ids: [] })
    const { id } = await europeanAgent(test)
    await test.agent()
    expect(await away()).toEqual({ total: 1, agent_ids: [id] })
    await test.db.prisma.agent.delete({ where: { id } })
  })

  it('GET /ready returns addresses only to auditors and stays available when a connected store is down', async () => {
    const { status, json, text } = await test.fetch('GET', '/ready')
    expect([status, json.status]).toEqual([200, 'degraded'])
    expect(json.stores.graph).toMatchObject({ state: 'down' })
    expect(json.stores.postgresql).toMatchObject({ state: 'ok', latency_ms: expect.any(Number) })
    expect(json.stores.objects).toMatchObject({ state: 'down', region: 'eu-west-2' })
    expect(json.stores.checkpoints.region).toBeNull()
    expect(text).not.toMatch(/127\.0\.0\.1|secret|bolt|s3:/)
    const response = await test.fetch('GET', '/ready', auditor)
    expect(response.json.stores.graph.address).toMatch(/^bolt:\/\/127\.0\.0\.1/)
    expect(response.json.stores.limits.address).toBeNull()
    expect(response.text).not.toContain('secret')
    expect((await test.fetch('GET', '/ready', await signedIn(test))).text).not.toContain('address')
  })
})

const known = (address: string, isEmpty = false) =>
  registeredStores({
    db: test.db,
    clock: test.clock,
    connected: connectedStoresOf([
      { port: 'graph', provider: 'neo4j', identity: address, address: `bolt://${address}` },
    ]),
    isEmpty: async () => isEmpty,
  })
const rows = () => test.db.prisma.knownStore.findMany({ where: { port: 'graph' }, orderBy: { shown: 'asc' } })

describe('a store with data', () => {
  it('is recorded before its first use and again a day later, also concurrently and inside a transaction', async () => {
    await test.db.prisma.knownStore.deleteMany()
    const before = test.clock.now()
    const one = known('one')
    await test.db.transaction(async () => {
      await Promise.all(Array.from({ length: 20 }, () => one.used('graph')))
    })
    await known('one').used('graph')
    await one.used('cache')
    expect(await test.db.prisma.knownStore.findMany()).toEqual([
      expect.objectContaining({ port: 'graph', shown: 'bolt://one', firstSeen: before, lastSeen: before }),
    ])
    test.clock.advance(23 * 3_600_000)
    await one.used('graph')
    expect((await rows())[0]?.lastSeen).toEqual(before)
    test.clock.advance(3_600_000)
    await one.used('graph')
    expect(await rows()).toEqual([expect.objectContaining({ firstSeen: before, lastSeen: test.clock.now() })])
  })

  it('is reported as missing when another store is connected, unless it is known to be empty', async () => {
    await known('one').used('graph')
    expect(await known('one').missing('graph')()).toEqual([])
    const [deleted] = await known('two').missing('graph')()
    expect(deleted).toMatchObject({ port: 'graph', provider: 'neo4j', shown: 'bolt://one' })
    expect(await test.db.transaction((tx) => known('two').missing('graph')(tx))).toHaveLength(1)
    expect(await known('two', true).missing('graph')()).toEqual([])
    expect(await known('two').missing('objects')()).toEqual([])
    // The application's own graph is a third one.
    expect((await listed()).filter(({ state }) => state === 'off')).toEqual([
      expect.objectContaining({ address: 'bolt://one', is_connected: false, known_store_id: deleted?.id }),
    ])
  })

  it("is retired by an admin's declaration, and active again when it is used again", async () => {
    const [row] = await rows()
    const path = `/api/stores/${row?.id}/retire`
    await passwordEntered(test, admin)
    const body = { statement: 'The volume was wiped and the server given back.' }
    for (const [who, status] of [
      [{}, 401],
      [auditor, 403],
      [await signedIn(test, 'manager'), 403],
      [{ token: (await test.agent()).token }, 403],
    ] as const)
      expect((await test.fetch('POST', path, { ...who, body })).status).toBe(status)
    expect((await test.fetch('POST', path, { ...admin, body: { statement: 'gone' } })).status).toBe(422)
    expect(
      (await test.fetch('POST', '/api/stores/store_0123456789abcdefghijkl/retire', { ...admin, body })).status,
    ).toBe(404)
    expect(await known('two').missing('graph')()).toHaveLength(1)

    const { status, json } = await test.fetch('POST', path, { ...admin, body })
    expect([status, json.data.retired_by]).toEqual([200, `user:${admin.accountId}`])
    expect(await known('two').missing('graph')()).toEqual([])
    expect((await listed()).filter(({ state }) => state === 'off')).toEqual([])
    expect((await rows())[0]).toMatchObject({ retiredBy: `user:${admin.accountId}`, statement: body.statement })
    const [entry] = await test.app.audit.query({ resource_type: 'store', action: 'update' }, test.clock.now())
    expect(entry?.details).toMatchObject({ operation: 'retireStore', port: 'graph' })
    expect(JSON.stringify(entry)).not.toMatch(/wiped/)
    expect((await test.fetch('POST', path, { ...admin, body })).status).toBe(404)

    await known('one').used('graph')
    expect((await rows())[0]).toMatchObject({ retiredAt: null, retiredBy: null, statement: null })
    expect(await known('two').missing('graph')()).toHaveLength(1)
  })

  it('cannot be retired while it is connected', async () => {
    // A request records the store, even when it does not answer.
    await test.db.transaction((tx) => test.app.stored.checkpoints.present(['x'], tx)).catch(() => {})
    const store = await named('checkpoints')
    expect(store?.known_store_id).toMatch(/^store_/)
    await passwordEntered(test, admin)
    const { status, json } = await test.fetch('POST', `/api/stores/${store?.known_store_id}/retire`, {
      ...admin,
      body: { statement: 'There is nothing in it any more.' },
    })
    expect([status, json.code]).toEqual([409, 'conflict'])
  })
})
