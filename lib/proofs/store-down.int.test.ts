// Of the endpoint, the engine and every connected store together: what one store does by itself is tested beside it.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { areStoresInstalled, type ConnectedStores, connectedStores } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { placesOf } from '#lib/testing/everything.ts'
import { sentence } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { freePort } from '#lib/testing/ports.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { startRedis } from '#lib/testing/redis.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'
import { startS3 } from '#lib/testing/services/objects.ts'
import { newFolder } from '#lib/testing/services/process.ts'
import { type SpreadMessage, spreadMessage } from '#lib/testing/spread.ts'

type Setting = keyof ConnectedStores['settings']
/** A server that is stopped for real, and comes back with what it kept. */
interface Server {
  stop(): Promise<void>
  start(): Promise<void>
}

const folders: string[] = []
const folder = (made: string): string => {
  folders.push(made)
  return made
}

async function neo4j() {
  const [port, at] = [await freePort(), folder(newFolder('neo4j-down'))]
  let running = await startNeo4j({ port, folder: at })
  const server: Server = {
    stop: () => running.stop(),
    async start() {
      running = await startNeo4j({ port, folder: at })
    },
  }
  return { server, url: running.url }
}
async function s3() {
  const [port, at] = [await freePort(), folder(newFolder('s3-down'))]
  let running = await startS3({ port, folder: at })
  const server: Server = {
    stop: () => running.stop(),
    async start() {
      running = await startS3({ port, folder: at })
    },
  }
  return { server, url: running.endpoint }
}
/** One that keeps nothing, as caches do: what it had is gone when it comes back. */
async function redis() {
  let running = await startRedis()
  if (!running) throw new Error('no Redis')
  const { port, url } = running
  const server: Server = {
    stop: async () => running?.stop(),
    async start() {
      running = await startRedis(port)
    },
  }
  return { server, url }
}
async function postgresql() {
  const at = folder(mkdtempSync(join(tmpdir(), 'kp-threads-down-')))
  chmodSync(at, 0o755) // the database's account has to pass
  const tune = ['fsync=off']
  let running = await startEmbedded(at, { tune })
  await withConnection(running.ownerUrl('postgres'), (owner) => owner.query('CREATE DATABASE threads'))
  const server: Server = {
    stop: () => running.stop(),
    async start() {
      running = await startEmbedded(at, { tune })
    },
  }
  return { server, url: running.ownerUrl('threads') }
}

class Crash extends Error {}

describe.skipIf(!(await areStoresInstalled()))('a store that is down', () => {
  const servers = new Map<Setting, Server>()
  const apps: TestApp[] = []
  const keptFor = folder(mkdtempSync(join(tmpdir(), 'kp-down-')))
  let stores: ConnectedStores
  let database: TestDatabase
  let app: TestApp
  /** Where whoever works dies. */
  let crashAt: string | undefined
  const started = async (settings: Partial<Record<Setting, string>>): Promise<TestApp> => {
    const own = { KP_DATA_DIR: keptFor, ...settings }
    const one = await testApp(
      own,
      { ...database, drop: async () => {} },
      {
        interrupt(point) {
          if (point === crashAt) throw new Crash(point)
        },
      },
    )
    apps.push(one)
    return one
  }
  beforeAll(async () => {
    const [graph, objects, cache, checkpoints] = await Promise.all([neo4j(), s3(), redis(), postgresql()])
    servers.set('KP_GRAPH_URL', graph.server)
    servers.set('KP_OBJECTS_URL', objects.server)
    servers.set('KP_REDIS_URL', cache.server)
    servers.set('KP_CHECKPOINTS_URL', checkpoints.server)
    stores = await connectedStores({
      ...{ graphUrl: graph.url, redisUrl: cache.url, s3Endpoint: objects.url, checkpointsUrl: checkpoints.url },
    })
    database = await testDatabase()
    app = await started(stores.settings)
  }, 600_000)
  afterAll(async () => {
    for (const one of apps) await one.close()
    await stores?.close()
    await database?.drop()
    for (const server of servers.values()) await server.stop()
    for (const one of folders) rmSync(one, { recursive: true, force: true })
  })

  /** Lets the queue work: each job may fail twice, and waits then. */
  const tried = async (by = app): Promise<void> => {
    let rounds = 0
    await drain(by, { mayFail: true, until: () => rounds++ > 1 })
  }
  const erase = async ({ message, project }: SpreadMessage, by = app): Promise<string> => {
    const { status, json, headers } = await by.fetch('DELETE', message.path, project.owner)
    expect([status, json.success]).toEqual([202, false])
    return headers.get('location') ?? ''
  }
  /** Stores that a dry run could not look through. It changes nothing, so that what follows finds everything as it was. */
  const unanswered = async ({ message, project }: SpreadMessage, by = app): Promise<string[]> => {
    const { status, json } = await by.fetch('DELETE', `${message.path}?dry_run=true`, project.owner)
    expect(status).toBe(200)
    return json.data.unanswered
  }
  const erasure = ({ project }: SpreadMessage, path: string) => dataOf(app, 'GET', path, project.owner)
  /** The request that began it may still be at it: on a busy machine it answered before it came so far. */
  const says = (of: SpreadMessage, path: string, what: object) =>
    expect.poll(() => erasure(of, path), { timeout: 120_000, interval: 200 }).toMatchObject(what)
  /** Nothing says that it is over: not the answer, no receipt, and the rows by which the rest is found stay. */
  async function isNotDone(of: SpreadMessage, path: string, { rows }: { rows: number }): Promise<void> {
    const view = await erasure(of, path)
    expect(view).toMatchObject({ success: false, finished_at: null })
    expect(await app.db.prisma.erasure.count({ where: { deletedId: of.message.id } })).toBe(0)
    expect(await app.db.prisma.message.count({ where: { id: of.message.id } })).toBe(rows)
    expect((await app.fetch('GET', of.message.path, of.project.owner)).status).toBe(404)
  }
  async function isDone(of: readonly SpreadMessage[], paths: readonly string[]): Promise<void> {
    await drain(app, { mayFail: true })
    for (const [n, one] of of.entries()) {
      const view = await erasure(one, paths[n] ?? '')
      expect(view).toMatchObject({ success: true, state: 'done' })
      expect(view.deleted_from).toMatchObject({ redis: true, graphiti: { episodesDeleted: 1 } })
      expect(await app.db.prisma.message.count({ where: { id: one.message.id } })).toBe(0)
      expect(await app.db.prisma.message.count({ where: { id: one.other.id } })).toBe(1)
    }
    expect(placesOf(await stores.everything(), sentence)).toEqual([])
  }

  test.each<[string, Setting, string, string]>([
    ['Redis', 'KP_REDIS_URL', 'cache', 'cache.entries'],
    ['the S3 server', 'KP_OBJECTS_URL', 'objects', 'objects.bytes'],
    ['the database of the checkpoints', 'KP_CHECKPOINTS_URL', 'checkpoints', 'checkpoints.messages'],
    ['Neo4j', 'KP_GRAPH_URL', 'graph', 'graph.episodes'],
  ])(
    '%s, stopped at every stage or switched off: it waits, says so, and is done once it is back',
    async (_, setting, store, holder) => {
      const server = servers.get(setting)
      if (!server) throw new Error(`no server for ${setting}`)
      const planned = await spreadMessage(app, stores)
      // Whose episode nobody told of: while the store is down it cannot even be looked for.
      const unplanned = await spreadMessage(app, stores, { isPointed: false })
      const of = [planned, unplanned]
      const waits = {
        steps: expect.arrayContaining([expect.objectContaining({ holder, store, fault: 'unavailable' })]),
      }

      crashAt = `step.${holder}.before`
      const first = await erase(planned)
      crashAt = undefined
      expect(await unanswered(unplanned)).toEqual([])
      await server.stop()
      expect(await unanswered(unplanned)).toEqual([store])
      const paths = [first, await erase(unplanned)]
      await tried()
      for (const [n, one] of of.entries()) {
        await isNotDone(one, paths[n] ?? '', { rows: 1 })
        await says(one, paths[n] ?? '', waits)
      }

      await server.start()
      crashAt = 'verify.before'
      await tried()
      crashAt = undefined
      await server.stop()
      await tried()
      for (const [n, one] of of.entries()) {
        await says(one, paths[n] ?? '', { state: 'verifying' })
        await isNotDone(one, paths[n] ?? '', { rows: 0 })
      }
      await server.start()
      await isDone(of, paths)

      const { [setting]: _without, ...others } = stores.settings
      const switchedOff = await spreadMessage(app, stores)
      const partial = await started(others)
      expect(await unanswered(switchedOff, partial)).toEqual([store])
      const path = await erase(switchedOff, partial)
      await tried(partial)
      await isNotDone(switchedOff, path, { rows: 1 })
      await says(switchedOff, path, waits)
      await isDone([switchedOff], [path])
    },
    240_000,
  )
})
