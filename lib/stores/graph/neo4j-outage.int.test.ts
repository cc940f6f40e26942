import { once } from 'node:events'
import { rmSync } from 'node:fs'
import { connect, createServer, type Socket } from 'node:net'
import neo4j from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { decideNeighbourhood } from '#lib/domains/projects/graph/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { dealGraph } from '#lib/testing/graphs.ts'
import { neo4jPlanting } from '#lib/testing/neo4j-planting.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { startNeo4j, type TestNeo4j } from '#lib/testing/services/neo4j.ts'
import { newFolder } from '#lib/testing/services/process.ts'
import { tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { openDatabase } from '../postgres/database.ts'
import type { GraphStore, Neighbourhood } from './graph.ts'
import { connectNeo4j } from './neo4j-connection.ts'
import { neo4jGraph } from './neo4j-graph.ts'

const decide = (found: Neighbourhood) =>
  decideNeighbourhood(found, {
    entityKinds: {},
    redacts: false,
    provenance: { endedBy: new Map(), erasedSourceIds: new Set() },
  }).change

/** The message COMMIT of Neo4j's protocol, in a separate chunk. */
const commit = Buffer.from([0x00, 0x02, 0xb0, 0x12])

/**
 * A proxy that simulates a crash between two commits: it drops the response to the commit that stored an outcome, and everything after
 * it on that connection.
 */
async function startDeafProxy(port: number) {
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    const upstream = connect(port, '127.0.0.1')
    let [isRetained, isDeaf] = [false, false]
    for (const one of [socket, upstream]) sockets.add(one.on('error', () => one.destroy()))
    socket.on('data', (bytes: Buffer) => {
      isRetained ||= bytes.includes('SET p.outcome')
      if (isRetained && bytes.includes(commit)) isDeaf = true
      upstream.write(bytes)
    })
    upstream.on('data', (bytes) => {
      if (!isDeaf) socket.write(bytes)
    })
    socket.on('close', () => upstream.destroy())
    upstream.on('close', () => socket.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  if (address === null || typeof address === 'string') throw new Error('no port is free')
  return {
    port: address.port,
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

describe.skipIf(!isInstalled('neo4j'))('a Neo4j that fails', () => {
  const folder = newFolder('neo4j-outage')
  let server: TestNeo4j
  /** A transaction that has ended: the store does not take part in our transactions. */
  let tx: Transaction
  const open: { close(): Promise<void> }[] = []
  const opened = <T extends { close(): Promise<void> }>(one: T): T => {
    open.push(one)
    return one
  }
  beforeAll(async () => {
    const database = await testDatabase()
    const db = openDatabase(database.appUrl)
    tx = await db.transaction(async (one) => one)
    await db.close()
    await database.drop()
    server = await startNeo4j({ folder })
  }, 600_000)
  afterAll(async () => {
    await Promise.all(open.map((one) => one.close()))
    await server?.stop()
    rmSync(folder, { recursive: true, force: true })
  })
  const erase = (store: GraphStore, group: string, key: string) =>
    store.change(group, [dealGraph(group).id('e1')], key, decide, tx)

  test.each([
    ['a wrong password', () => server.url.replace(/:[^:@/]+@/, ':wrong-secret@'), /credentials/, 'credentials'],
    ['TLS on a server without it', () => server.url.replace('bolt:', 'bolt+s:'), /does not answer/, undefined],
    ['a port where nothing listens', () => 'bolt://neo4j:hidden-secret@127.0.0.1:1', /does not answer/, undefined],
    ['a missing database', () => `${server.url}/nosuch`, /answered Neo\.ClientError\.Database/, 'missing'],
  ])(
    'state and change reject %s without credentials in the message',
    async (_, url, says, refusal) => {
      const store = opened(neo4jGraph(url()))
      const problem: unknown = await erase(store, 'refused', 'run/refused').catch((error: unknown) => error)
      expect(problem).toMatchObject({ code: 'unavailable', detail: expect.stringMatching(says) })
      expect(storeRefusalOf(problem)).toBe(refusal)
      const state = await store.state()
      expect(state.state).toBe('down')
      for (const text of [String(problem), JSON.stringify(problem), JSON.stringify(state)])
        expect(text).not.toMatch(/secret|only.for.one|neo4j:/)
      await expect(store.residue('refused', ['e'])).rejects.toMatchObject({ code: 'unavailable' })
    },
    60_000,
  )

  test('a server that answers again is used, even after its silent connections filled the pool of the driver', async () => {
    const silent: Socket[] = []
    let isSilent = true
    const between = createServer((socket) => {
      socket.on('error', () => socket.destroy())
      if (isSilent) return void silent.push(socket)
      const upstream = connect(server.port, '127.0.0.1')
      upstream.on('error', () => socket.destroy())
      socket.pipe(upstream).pipe(socket)
    }).listen(0, '127.0.0.1')
    await once(between, 'listening')
    const address = between.address()
    if (address === null || typeof address === 'string') throw new Error('no port is free')
    onTestFinished(() => {
      for (const socket of silent) socket.destroy()
      between.close()
    })
    const connection = opened(connectNeo4j(server.url.replace(`:${server.port}`, `:${address.port}`)))
    const silentPings = Array.from({ length: 101 }, () => connection.ping().catch((error: unknown) => error))
    for (const answer of await Promise.all(silentPings)) expect(answer).toMatchObject({ code: 'unavailable' })
    isSilent = false
    await connection.ping()
  }, 120_000)

  test('residue finds an id although the population of another application’s index failed', async () => {
    const { username, password } = new URL(server.url)
    const driver = neo4j.driver(
      `bolt://127.0.0.1:${server.port}`,
      neo4j.auth.basic(username, decodeURIComponent(password)),
    )
    try {
      // An index of properties accepts at most 8 KB of text.
      await driver.executeQuery('CREATE (:Other {text: $text})', { text: 'x'.repeat(40_000) })
      await driver.executeQuery('CREATE INDEX of_another FOR (n:Other) ON (n.text)')
      const stateOf = () => driver.executeQuery("SHOW INDEXES YIELD name, state WHERE name = 'of_another' RETURN state")
      await expect.poll(async () => (await stateOf()).records[0]?.get('state'), { timeout: 60_000 }).toBe('FAILED')
      const group = 'beside-another'
      await opened(neo4jPlanting(server.url)).plant(dealGraph(group))
      expect(await opened(neo4jGraph(server.url)).residue(group, [dealGraph(group).id('e1')])).toBeGreaterThan(0)
    } finally {
      await driver.executeQuery('DROP INDEX of_another IF EXISTS')
      await driver.executeQuery('MATCH (n:Other) DELETE n')
      await driver.close()
    }
  }, 240_000)

  test('change returns the same outcome for the same key when the response to the commit is lost', async () => {
    const group = 'lost-answer'
    await opened(neo4jPlanting(server.url)).plant(dealGraph(group))
    const straight = opened(neo4jGraph(server.url))
    const deleted = dealGraph(group).id('e1')
    const proxy = await startDeafProxy(server.port)
    const through = opened(neo4jGraph(server.url.replace(`:${server.port}`, `:${proxy.port}`)))
    const key = 'run/lost/1'
    const attempt = through.change(group, [deleted], key, decide, tx).catch((error: unknown) => error)
    await expect.poll(() => straight.residue(group, [deleted]), { timeout: 120_000 }).toBe(0)
    proxy.close()
    expect(await attempt).toMatchObject({ code: 'unavailable' })
    const again = await erase(straight, group, key)
    expect(again).toMatchObject({
      episodesDeleted: 1,
      entitiesDeleted: 4,
      orphaned: [expect.any(String), expect.any(String)],
      factsDeleted: 4,
    })
    expect(await erase(straight, group, key)).toEqual(again)
    expect(await erase(straight, group, 'run/lost/2')).toMatchObject({
      episodesDeleted: 0,
      entitiesDeleted: 0,
      factsDeleted: 0,
    })
  }, 600_000)

  test('change counts a page once when two run it concurrently', async () => {
    const group = 'two-sides'
    await opened(neo4jPlanting(server.url)).plant(dealGraph(group))
    const [one, other] = [opened(neo4jGraph(server.url)), opened(neo4jGraph(server.url))]
    const [first, second] = await Promise.all([erase(one, group, 'run/two/1'), erase(other, group, 'run/two/1')])
    expect(second).toEqual(first)
    expect(first).toMatchObject({ episodesDeleted: 1, entitiesDeleted: 4 })
  }, 600_000)

  const outages = ['cut off', ...sampled('Neo4j that is killed in the middle of a change', ['killed'], 0)]
  test.each(outages)(
    'change leaves no partial change and succeeds on retry when Neo4j is %s during the change',
    async (how) => {
      const group = how.replace(' ', '-')
      const proxy = await tcpProxy(server.url)
      onTestFinished(() => proxy.close())
      const [stop, start] =
        how === 'killed'
          ? [
              () => server.stop(),
              async () => {
                server = await startNeo4j({ folder, port: server.port })
              },
            ]
          : [async () => proxy.cut(), proxy.restore]
      const planting = opened(neo4jPlanting(server.url))
      await planting.plant(dealGraph(group))
      const before = await planting.standing(group)
      const store = opened(neo4jGraph(proxy.url))
      const interrupted = store.change(
        group,
        [dealGraph(group).id('e1')],
        `run/${group}/1`,
        (found) => {
          void stop()
          return decide(found)
        },
        tx,
      )
      await expect(interrupted).rejects.toMatchObject({ code: 'unavailable' })
      expect((await store.state()).state).toBe('down')
      await stop()
      await start()
      expect(await planting.standing(group)).toEqual(before)
      expect(await erase(store, group, `run/${group}/1`)).toMatchObject({ episodesDeleted: 1, entitiesDeleted: 4 })
      expect(await store.residue(group, [dealGraph(group).id('e1')])).toBe(0)
    },
    600_000,
  )
})
