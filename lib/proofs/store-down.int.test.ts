// Covers the endpoint, the erasure engine and every connected store together. Each store also has its own tests.
import { chmodSync, mkdtempSync, renameSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { areStoresInstalled, type ConnectedStores, connectTestStores } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { locationsOf } from '#lib/testing/everything.ts'
import { sentence } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { signedIn } from '#lib/testing/people.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { startRedis } from '#lib/testing/redis.ts'
import { sampled } from '#lib/testing/sampling.ts'
import { startNeo4j } from '#lib/testing/services/neo4j.ts'
import { startS3 } from '#lib/testing/services/objects.ts'
import { newFolder } from '#lib/testing/services/process.ts'
import { type SpreadMessage, spreadMessage } from '#lib/testing/spread.ts'
import { tcpProxy } from '#lib/testing/tcp-proxy.ts'

type Setting = keyof ConnectedStores['settings']
interface Outage {
  stop(): Promise<void>
  start(): Promise<void>
}
interface Server {
  /** Resets and refuses client connections without a restart. */
  cut: Outage
  /** Kills the server and restarts it with its data. */
  kill: Outage
}
/** A server behind a proxy, so that tests choose the kind of outage. */
async function behindProxy(kill: Outage, url: string): Promise<{ server: Server; url: string }> {
  const proxy = await tcpProxy(url)
  const cut = { stop: async () => proxy.cut(), start: proxy.restore }
  return { server: { cut, kill }, url: proxy.url.replace(/\/$/, '') }
}

const folders: string[] = []
const folder = (made: string): string => {
  folders.push(made)
  return made
}

async function neo4j() {
  const [port, at] = [await freeTestPort(), folder(newFolder('neo4j-down'))]
  let running = await startNeo4j({ port, folder: at })
  const kill: Outage = {
    stop: () => running.stop(),
    async start() {
      running = await startNeo4j({ port, folder: at })
    },
  }
  return behindProxy(kill, running.url)
}
async function s3() {
  const [port, at] = [await freeTestPort(), folder(newFolder('s3-down'))]
  let running = await startS3({ port, folder: at })
  const kill: Outage = {
    stop: () => running.stop(),
    async start() {
      running = await startS3({ port, folder: at })
    },
  }
  return behindProxy(kill, running.endpoint)
}
/** A Redis without persistence: it restarts empty. */
async function redis() {
  let running = await startRedis()
  if (!running) throw new Error('no Redis')
  const { port, url } = running
  const kill: Outage = {
    stop: async () => running?.stop(),
    async start() {
      running = await startRedis(port)
    },
  }
  return behindProxy(kill, url)
}
async function postgresql() {
  const at = folder(mkdtempSync(join(tmpdir(), 'kp-threads-down-')))
  chmodSync(at, 0o755) // the database's account must be able to enter
  const tune = ['fsync=off']
  let running = await startEmbedded(at, { tune })
  await withConnection(running.ownerUrl('postgres'), (owner) => owner.query('CREATE DATABASE threads'))
  const kill: Outage = {
    stop: () => running.stop(),
    async start() {
      running = await startEmbedded(at, { tune })
    },
  }
  return behindProxy(kill, running.ownerUrl('threads'))
}

class Crash extends Error {}

describe.skipIf(!(await areStoresInstalled()))('a store that is down', () => {
  const servers = new Map<Setting, Server>()
  const apps: TestApp[] = []
  const retainedFor = folder(mkdtempSync(join(tmpdir(), 'kp-down-')))
  let stores: ConnectedStores
  let database: TestDatabase
  let app: TestApp
  /** The point at which a worker is killed. */
  let crashAt: string | undefined
  const started = async (settings: Partial<Record<Setting, string>>): Promise<TestApp> => {
    const own = { KP_DATA_DIR: retainedFor, ...settings }
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
    stores = await connectTestStores({
      graphUrl: graph.url,
      redisUrl: cache.url,
      s3Endpoint: objects.url,
      checkpointsUrl: checkpoints.url,
    })
    database = await testDatabase()
    app = await started(stores.settings)
    await signedIn(app, 'admin')
  }, 600_000)
  afterAll(async () => {
    for (const one of apps) await one.close()
    await stores?.close()
    await database?.drop()
    for (const { cut, kill } of servers.values()) {
      await cut.stop()
      await kill.stop()
    }
    for (const one of folders) rmSync(one, { recursive: true, force: true })
  })

  /** Runs the queue twice. Each job may fail, and then waits. */
  const tried = async (by = app): Promise<void> => {
    let rounds = 0
    await drain(by, { mayFail: true, until: () => rounds++ > 1 })
  }
  const alertsOf = async (store: string, by = app): Promise<number> =>
    (
      await by.db.query<{ n: number }>(
        undefined,
        `SELECT count(*)::int AS n FROM graphile_worker._private_jobs WHERE payload->>'kind' = 'store-unavailable' AND payload->>'store' = $1`,
        [store],
      )
    )[0]?.n ?? 0
  /**
   * Forty-five minutes pass. The queue retries without intervention, and no step is stuck. Admins are notified at most
   * once for each run.
   */
  async function outage(store: string, runs: number, by = app): Promise<void> {
    const before = await alertsOf(store, by)
    for (let minutes = 0; minutes < 45; minutes += 15) {
      let rounds = 0
      await drain(by, { mayFail: true, except: ['accounts.notify'], until: () => rounds++ > 0 })
      await by.app.jobs.find(({ name }) => name === 'erasure.watch')?.execute(by.app.pipeline, {})
      by.clock.advance(15 * 60_000)
    }
    expect(await by.app.subjectErasures.open()).toMatchObject({ stuck: 0, failed: 0 })
    // A try that finds the store unavailable does not count as an attempt. The crash before the outage does.
    const failed = { fault: 'unavailable', attempts: { gt: 1 } }
    expect(await by.db.prisma.erasureStep.count({ where: failed })).toBe(0)
    // One email for each admin names the store and counts the erasures.
    expect((await alertsOf(store, by)) - before).toBeGreaterThan(0)
    expect((await alertsOf(store, by)) - before).toBeLessThanOrEqual(runs)
    const late = await by.db.query(
      undefined,
      `SELECT 1 FROM graphile_worker.jobs WHERE task_identifier LIKE 'erasure.%' AND attempts < max_attempts AND run_at > now() + interval '30 seconds'
         AND task_identifier <> 'erasure.finish'`,
    )
    expect(late).toEqual([])
  }
  const erase = async ({ message, project }: SpreadMessage, by = app): Promise<string> => {
    const { status, json, headers } = await by.fetch('DELETE', message.path, project.owner)
    expect([status, json.success]).toEqual([202, false])
    return headers.get('location') ?? ''
  }
  /** Stores that a dry run could not search. A dry run changes nothing, so the following steps find the same data. */
  const unanswered = async ({ message, project }: SpreadMessage, by = app): Promise<string[]> => {
    const { status, json } = await by.fetch('DELETE', `${message.path}?dry_run=true`, project.owner)
    expect(status).toBe(200)
    return json.data.unanswered
  }
  const erasure = ({ project }: SpreadMessage, path: string) => dataOf(app, 'GET', path, project.owner)
  /** Polls, because on a busy machine the request answers before its work is done. */
  const says = (of: SpreadMessage, path: string, what: object) =>
    expect.poll(() => erasure(of, path), { timeout: 120_000, interval: 200 }).toMatchObject(what)
  /** Expects an unfinished erasure: the view says so, there is no receipt, and the rows that locate the remaining data exist. */
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
    expect(locationsOf(await stores.everything(), sentence)).toEqual([])
  }

  const all = [
    ['Redis', 'KP_REDIS_URL', 'cache', 'cache.entries'],
    ['the S3 server', 'KP_OBJECTS_URL', 'objects', 'objects.bytes'],
    ['the database of the checkpoints', 'KP_CHECKPOINTS_URL', 'checkpoints', 'checkpoints.messages'],
    ['Neo4j', 'KP_GRAPH_URL', 'graph', 'graph.episodes'],
  ] as const
  const killed = sampled('Stores that are killed for 45 minutes', all, 1)
  const cutOff = sampled('Stores that are cut off for 45 minutes', all, 1)
  const cases = [
    ...cutOff.map((one) => ['cut off', ...one] as const),
    ...killed.map((one) => ['killed', ...one] as const),
  ]
  test.each(cases)(
    'is %s for 45 minutes at every stage (%s): the erasure waits, reports it and finishes without intervention',
    async (how, _, setting, store, holder) => {
      const server = servers.get(setting)?.[how === 'killed' ? 'kill' : 'cut']
      if (!server) throw new Error(`no server for ${setting}`)
      const planned = await spreadMessage(app, stores)
      // The pointer to its episode was not reported: while the store is down, the episode cannot be searched for.
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
      await outage(store, of.length)
      for (const [n, one] of of.entries()) {
        await isNotDone(one, paths[n] ?? '', { rows: 1 })
        await says(one, paths[n] ?? '', waits)
      }

      await server.start()
      crashAt = 'verify.before'
      await tried()
      crashAt = undefined
      await server.stop()
      await outage(store, of.length)
      for (const [n, one] of of.entries()) {
        await says(one, paths[n] ?? '', { state: 'verifying' })
        await isNotDone(one, paths[n] ?? '', { rows: 0 })
      }
      await server.start()
      await isDone(of, paths)
      // A disconnected store is the same for both kinds of outage, so it is tested once.
      if (how === 'killed') return

      const { [setting]: _without, ...others } = stores.settings
      const switchedOff = await spreadMessage(app, stores)
      const partial = await started(others)
      expect(await unanswered(switchedOff, partial)).toEqual([store])
      const path = await erase(switchedOff, partial)
      await outage(store, 1, partial)
      await isNotDone(switchedOff, path, { rows: 1 })
      await says(switchedOff, path, waits)
      await isDone([switchedOff], [path])
    },
    480_000,
  )

  test('the erasure waits and finishes without intervention when its ledger is unavailable for 45 minutes at its start and end', async () => {
    const of = [await spreadMessage(app, stores), await spreadMessage(app, stores)]
    const [atEnd, atStart] = of
    if (!atEnd || !atStart) throw new Error('no messages')
    const ledger = join(retainedFor, 'erasures')
    crashAt = 'verify.before'
    const paths = [await erase(atEnd)]
    crashAt = undefined
    renameSync(ledger, `${ledger}-away`)
    paths.push(await erase(atStart))
    await outage('ledger', of.length)
    await isNotDone(atEnd, paths[0] ?? '', { rows: 0 })
    await isNotDone(atStart, paths[1] ?? '', { rows: 1 })
    for (const [n, state] of (['verifying', 'planning'] as const).entries())
      await says(of[n] ?? atEnd, paths[n] ?? '', { state, waits_for: [expect.objectContaining({ store: 'ledger' })] })
    rmSync(ledger, { recursive: true, force: true })
    renameSync(`${ledger}-away`, ledger)
    await isDone(of, paths)
  }, 480_000)
})
