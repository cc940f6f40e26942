import { randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { createClient } from '@redis/client'
import neo4j from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  connectTestStores,
  type StoreServers,
  storeServers,
} from '#lib/testing/connected-stores.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { StoreSearch } from './contract.ts'

const [name, email] = ['Iris Probe', 'iris.probe@example.org']
const path = '/api/stores/search'

/** The events of a response, checked against the contract. */
const eventsOf = (text: string): StoreSearch[] =>
  text
    .split('\n\n')
    .filter((event) => event.startsWith('data: '))
    .map((event) => StoreSearch.parse(JSON.parse(event.slice('data: '.length))))

async function searched(test: TestApp, by: Person, body: object = { names: [name, email] }): Promise<StoreSearch> {
  const { status, headers, text } = await test.fetch('POST', path, { ...by, body })
  expect([status, headers.get('content-type')], text).toEqual([200, 'text/event-stream; charset=utf-8'])
  const last = eventsOf(text).at(-1)
  if (last?.state !== 'done') throw new Error('the search did not end')
  return last
}

describe('POST /api/stores/search without connected stores', () => {
  let test: TestApp
  let admin: Person
  beforeAll(async () => {
    test = await testApp()
    admin = await signedIn(test, 'admin')
  })
  afterAll(() => test?.close())

  it('is limited to admins in person', async () => {
    const body = { names: [name] }
    const all = ['read', 'write', 'privacy', 'admin'] as const
    const cases = [
      [{}, 401, 'sign_in_needed'],
      [await signedIn(test), 403, 'forbidden'],
      [await signedIn(test, 'manager'), 403, 'forbidden'],
      [await signedIn(test, 'auditor'), 403, 'forbidden'],
      [await issuedAgent(test, ['read', 'write']), 403, 'forbidden'],
      [await issuedAgent(test, [...all], { tier: 'enterprise' }), 403, 'forbidden'],
      [await issuedAgent(test, [...all], { owner: admin, tier: 'enterprise' }), 403, 'forbidden'],
    ] as const
    for (const [who, status, code] of cases) {
      const { token, cookie } = who as { token?: string; cookie?: string }
      const sent = { ...(token !== undefined && { token }), ...(cookie !== undefined && { cookie }), body }
      const refused = await test.fetch('POST', path, sent)
      expect([
        refused.status,
        /forbidden|scope_too_small/.test(refused.json.code) ? 'forbidden' : refused.json.code,
      ]).toEqual([status, code])
    }
    const foreign = await test.fetch('POST', path, { ...admin, body, headers: { Origin: 'https://other.example' } })
    expect([foreign.status, foreign.json.code]).toEqual([403, 'cross_site'])
  })

  it('returns 422 for input outside its bounds, without repeating it', async () => {
    for (const body of [
      {},
      { names: [] },
      { names: ['  '] },
      { names: ['I'] },
      { names: ['x'.repeat(201)] },
      { names: Array.from({ length: 21 }, (_, n) => `${name} ${n}`) },
      { names: [name], texts: Array.from({ length: 6 }, () => 'a sentence') },
      { names: [name], texts: ['x'.repeat(2_001)] },
      { names: [name], content: true },
    ]) {
      const { status, text } = await test.fetch('POST', path, { ...admin, body })
      expect([status, /iris/i.test(text)]).toEqual([422, false])
    }
  })

  it('reads the threads in its own database and nothing else of it', async () => {
    await withConnection(test.ownerUrl, (client) =>
      client.query(
        `INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
         VALUES ('own-thread', '', 'messages', '1', 'json', $1)`,
        [Buffer.from(JSON.stringify([`I am ${name}.`]))],
      ),
    )
    await signedIn(test, 'person')
    const { stores, places, found } = await searched(test, admin)
    expect(stores).toMatchObject([{ store: 'postgresql', is_own: true, state: 'done', failure: null }])
    expect(places).toMatchObject([{ store: 'postgresql', kind: 'thread', name: 'own-thread', field: 'langgraph' }])
    expect(found).toBe(1)
    // Accounts are found on their own pages.
    expect((await searched(test, admin, { names: ['example.org'] })).found).toBe(0)
  })

  it('stores one audit entry with the number of words and none of them', async () => {
    await searched(test, admin, { names: [name, email], texts: [`${name} likes green tea and old maps.`] })
    const entries = await test.app.audit.query({ resource_type: 'store' }, test.clock.now())
    expect(entries[0]).toMatchObject({
      action: 'read',
      agentId: `user:${admin.accountId}`,
      details: { operation: 'searchStores', names: 2, texts: 1 },
    })
    expect(JSON.stringify(entries)).not.toMatch(/iris|green tea/i)
  })
})

describe.skipIf(!(await areStoresInstalled()))('POST /api/stores/search with connected stores', () => {
  let servers: StoreServers & { close(): Promise<void> }
  let stores: ConnectedStores
  let threads: TcpProxy
  let redis: TcpProxy
  let test: TestApp
  let admin: Person
  const group = `search-${randomUUID()}`
  const driver = () => {
    const { username, password, host } = new URL(servers.graphUrl)
    return neo4j.driver(`bolt://${host}`, neo4j.auth.basic(username, decodeURIComponent(password)))
  }

  beforeAll(async () => {
    servers = await storeServers()
    stores = await connectTestStores(servers)
    threads = await tcpProxy(stores.settings.KP_CHECKPOINTS_URL)
    redis = await tcpProxy(servers.redisUrl)
    test = await testApp({ ...stores.settings, KP_CHECKPOINTS_URL: threads.url, KP_REDIS_URL: redis.url })
    admin = await signedIn(test, 'admin')
    const checkpoint = {
      ...emptyCheckpoint(),
      channel_values: { messages: [`My name is ${name}, write to ${email}.`] },
      channel_versions: { messages: 1 },
    }
    await stores.saver.put(
      { configurable: { thread_id: 'thread-1', checkpoint_ns: '' } },
      checkpoint,
      { source: 'input', step: 1, parents: {} },
      { messages: 1 },
    )
    await stores.remember(['memories', 'user'], 'fact', { text: `Likes tea, says "${name}"` })
    const client = createClient({ url: servers.redisUrl })
    await client.connect()
    await client.set(`user:${email}`, 'x')
    await client.set('session:1', gzipSync(JSON.stringify({ user: name })))
    client.destroy()
    await stores.putObject('exports/1.json', `{"to":"${email}"}`)
    const graph = driver()
    await graph.executeQuery(
      "CREATE (:Entity {uuid: $group + '-n', group_id: $group, name: $name, summary: 'A person', created_at: datetime()})",
      { group, name },
    )
    await graph.close()
  })
  afterAll(async () => {
    const graph = driver()
    await graph.executeQuery('MATCH (n) WHERE n.group_id = $group DETACH DELETE n', { group })
    await graph.close()
    await test?.close()
    threads?.close()
    redis?.close()
    await stores?.close()
    await servers?.close()
  })

  it('finds the person in every store, returns no content, and writes nothing', async () => {
    const before = await stores.everything()
    const { stores: read, places, found } = await searched(test, admin)
    expect(read.map(({ store, state, is_own: isOwn }) => [store, state, isOwn])).toEqual([
      ['postgresql', 'done', false],
      ['neo4j', 'done', false],
      ['redis', 'done', false],
      ['objects', 'done', false],
    ])
    const at = places.filter(({ store, name: place }) => store !== 'neo4j' || place.includes(group))
    expect(at.map(({ store, kind, name: place, field }) => `${store} ${kind} ${place} ${field}`).sort()).toEqual([
      `neo4j entity ${group}-n of group ${group} name`,
      expect.stringMatching(/^objects object exports\/1\.json version /),
      'postgresql row threads.store memories:user, fact value',
      'postgresql thread thread-1 threads',
      'redis key session:1 string',
      'redis key user:… name',
    ])
    expect(found).toBeGreaterThanOrEqual(places.length)
    expect(JSON.stringify({ read, places })).not.toMatch(/iris|example\.org|secret/i)
    expect(await stores.everything()).toEqual(before)
  })

  it('reports a store that is down and searches the others', async () => {
    redis.cut()
    const { stores: read, places } = await searched(test, admin)
    await redis.restore()
    expect(read.map(({ store, state }) => [store, state])).toEqual([
      ['postgresql', 'done'],
      ['neo4j', 'done'],
      ['redis', 'failed'],
      ['objects', 'done'],
    ])
    expect(read.find(({ store }) => store === 'redis')?.failure).toMatch(/./)
    expect(places.some(({ store }) => store === 'objects')).toBe(true)
  })

  it('runs one search at a time, and ends it when the client disconnects', async () => {
    const body = JSON.stringify({ names: [name] })
    const headers = { Cookie: admin.cookie, Origin: 'http://localhost:3000', 'Content-Type': 'application/json' }
    threads.freeze()
    const closing = new AbortController()
    const first = await fetch(test.url + path, { method: 'POST', headers, body, signal: closing.signal })
    expect(first.status).toBe(200)
    const second = await test.fetch('POST', path, { ...admin, body })
    expect([second.status, second.json.code]).toEqual([409, 'conflict'])
    closing.abort()
    await expect(first.text()).rejects.toThrow()
    // The frozen store still does not answer.
    const again = async () => {
      const next = new AbortController()
      const { status } = await fetch(test.url + path, { method: 'POST', headers, body, signal: next.signal })
      next.abort()
      return status
    }
    await expect.poll(again, { timeout: 8_000 }).toBe(200)
    threads.thaw()
    await expect.poll(again).toBe(200)
    const connections = () =>
      withConnection(servers.checkpointsUrl, async (client) => {
        const { rows } = await client.query(`SELECT FROM pg_stat_activity WHERE application_name = 'kp find'`)
        return rows.length
      })
    await expect.poll(connections).toBe(0)
  })
})
