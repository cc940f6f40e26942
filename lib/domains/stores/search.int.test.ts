import { createHash, randomUUID } from 'node:crypto'
import { gzipSync } from 'node:zlib'
import { emptyCheckpoint } from '@langchain/langgraph-checkpoint'
import { createClient } from '@redis/client'
import neo4j from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  connectTestStores,
  type StoreServers,
  storeServers,
} from '#lib/testing/connected-stores.ts'
import { issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { StoreSearch } from './contract.ts'

// Other tests use the same graph, so nobody else has this surname. People with the same first name are possible matches.
const surname = `Probe${randomUUID().replaceAll(/[\d-]/g, '')}`
const [name, email] = [`Iris ${surname}`, `iris.${surname.toLowerCase()}@example.org`]
const path = '/api/stores/search'
/** A shortened name of a place. */
const hashed = (prefix: string) => expect.stringMatching(new RegExp(`^${prefix}… #[\\w-]{12}$`))

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

  it('needs a recently entered password', async () => {
    const other = await signedIn(test, 'admin')
    await test.db.prisma.session.updateMany({
      where: { accountId: other.accountId },
      data: { passwordAt: new Date(test.clock.now().getTime() - 11 * 60_000) },
    })
    const refused = await test.fetch('POST', path, { ...other, body: { names: [name] } })
    expect([refused.status, refused.json.code]).toEqual([403, 'step_up_required'])
    await passwordEntered(test, other)
    expect((await searched(test, other)).state).toBe('done')
  })

  it('is refused while another admin must approve such actions', async () => {
    const setting = '/api/admin/approvals'
    const second = await signedIn(test, 'admin')
    for (const one of [admin, second]) await passwordEntered(test, one)
    const on = await test.fetch('PUT', setting, { ...admin, body: { is_on: true } })
    expect(on.status, on.text).toBe(200)
    const refused = await test.fetch('POST', path, { ...admin, body: { names: [name] } })
    await operatorAccounts(test.app).liftApprovals()
    expect([refused.status, refused.json.code, refused.json.detail]).toEqual([
      403,
      'approval_required',
      expect.stringContaining('kp find'),
    ])
    expect((await searched(test, admin)).state).toBe('done')
  })

  it('returns 422 for words that identify nobody, with what to enter', async () => {
    for (const words of ['iris', 'example.org', 'they met at the old mill last night', '12345']) {
      const { status, json, text } = await test.fetch('POST', path, { ...admin, body: { names: [email, words] } })
      expect([status, json.issues?.[0]?.path]).toEqual([422, ['names', 1]])
      expect(json.issues[0].message).toBe(
        'must be a full name, an email address or a telephone number with its area code',
      )
      expect(text).not.toContain(words)
    }
  })

  it('returns 422 for input outside its bounds, without repeating it', async () => {
    for (const body of [
      {},
      { names: [] },
      { names: ['  '] },
      { names: ['I'] },
      { names: ['x'.repeat(201)] },
      { names: Array.from({ length: 21 }, (_, n) => `${name} ${n}`) },
      { names: [name], texts: ['They met at the old mill last night.'] },
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
    expect(places).toMatchObject([{ store: 'postgresql', kind: 'thread', name: hashed(''), field: 'langgraph' }])
    expect(found).toBe(1)
    // Accounts are found on their own pages.
    expect((await searched(test, admin, { names: ['person@example.org'] })).found).toBe(0)
  })

  it('returns the places with the most matches, and counts all', async () => {
    const insert = `INSERT INTO langgraph.checkpoint_blobs (thread_id, checkpoint_ns, channel, version, type, blob)
      SELECT 'many-' || n, '', 'messages', '1', 'json', $1 FROM generate_series(1, 1200) n`
    await withConnection(test.ownerUrl, (client) => client.query(insert, [Buffer.from('["Vera Many was here."]')]))
    const { places, found } = await searched(test, admin, { names: ['Vera Many'] })
    expect([places.length, found]).toEqual([1_000, 1_200])
  })

  it('stores one audit entry with a keyed hash of each entry and none of the words', async () => {
    await searched(test, admin, { names: ['+43 660 1234567', ` ${name.toLowerCase()}`] })
    await searched(test, admin)
    const entries = await test.app.audit.query({ resource_type: 'store' }, test.clock.now())
    expect(entries[0]).toMatchObject({
      action: 'read',
      agentId: `user:${admin.accountId}`,
      details: {
        operation: 'searchStores',
        names: 2,
        sought: [expect.stringMatching(/^[\w-]{43}$/), expect.any(String)],
      },
    })
    const [last, former] = entries.map(({ details }) => z.object({ sought: z.array(z.string()) }).parse(details).sought)
    expect(last?.[0]).toBe(former?.[1])
    expect(new Set([...(last ?? []), ...(former ?? [])]).size).toBe(3)
    // Without the key, a hash is not that of a guessed name.
    expect(last).not.toContain(createHash('sha256').update(name.toLowerCase()).digest('base64url'))
    expect(JSON.stringify(entries)).not.toMatch(/iris|1234567/i)
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
    await client.set('session:5f0c1be2', gzipSync(JSON.stringify({ user: name })))
    await client.set('vera.other@example.net:notes', `met ${name}`)
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
    const before = await stores.everything(group)
    const { stores: read, places, found } = await searched(test, admin)
    expect(read.map(({ store, state, is_own: isOwn }) => [store, state, isOwn])).toEqual([
      ['postgresql', 'done', false],
      ['neo4j', 'done', false],
      ['redis', 'done', false],
      ['objects', 'done', false],
    ])
    const own = (all: StoreSearch['places']) => all.filter(({ store, matches }) => store !== 'neo4j' || matches > 0)
    const at = own(places)
    const shown = at.map(
      ({ store, kind, name: place, field }) => `${store} ${kind} ${place.replace(/#[\w-]{12}$/, '#')} ${field}`,
    )
    expect(shown.sort()).toEqual([
      'neo4j entity … # name',
      expect.stringMatching(/^objects object exports\/… # version /),
      'postgresql row threads.store … # value',
      'postgresql thread … # threads',
      'redis key session:… # string',
      'redis key user:… # name',
      'redis key … # string',
    ])
    // Keys of sessions and addresses of others are not shown.
    expect(JSON.stringify(places)).not.toMatch(/5f0c1be2|vera|memories|thread-1/)
    expect(new Set(places.map(({ name: place }) => place.slice(-12))).size).toBe(places.length)
    expect(own((await searched(test, admin)).places)).toEqual(at)
    expect(found).toBeGreaterThanOrEqual(places.length)
    expect(JSON.stringify({ read, places })).not.toMatch(/iris|example\.org|secret/i)
    expect(await stores.everything(group)).toEqual(before)
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
