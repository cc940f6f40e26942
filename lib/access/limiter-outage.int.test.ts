import { once } from 'node:events'
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, createServer, type NetConnectOpts, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { type EmbeddedDatabase, startEmbedded } from '#lib/stores/postgres/embedded.ts'
import { prepareDatabase } from '#lib/stores/postgres/preparation.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import type { Limiter } from './limiter.ts'
import type { LimiterEvents } from './limiter-fallback.ts'
import { limitsPool, postgresLimiter } from './limiter-postgres.ts'
import { redisLimiter } from './limiter-redis.ts'

/** A store whose outage can be simulated. */
interface Store {
  /** Connects to its own address, or through the given port. */
  open(events?: LimiterEvents, through?: number): { limiter: Limiter; close(): Promise<void> }
  kill(): Promise<void>
  start(): Promise<void>
  /** Makes it accept requests without responding until the returned function is called. */
  hang(): Promise<() => Promise<void>>
  address(): NetConnectOpts
}

/** Forwards bytes until its current connections go silently dead, as behind a firewall that dropped their state. */
async function relayTo(target: NetConnectOpts) {
  const sockets = new Set<Socket>()
  const server = createServer((near) => {
    const far = connect(target)
    for (const socket of [near, far]) sockets.add(socket.on('error', () => {}))
    near.pipe(far)
    far.pipe(near)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    port: address !== null && typeof address === 'object' ? address.port : 0,
    forget() {
      for (const socket of sockets) socket.unpipe().pause()
    },
    close() {
      server.close()
      for (const socket of sockets) socket.destroy()
    },
  }
}

const admitted = async (limiter: Limiter, key: string, limit: number, count: number) => {
  const windows = await Promise.all(Array.from({ length: count }, () => limiter.consume(key, limit)))
  return windows.filter(({ allowed }) => allowed).length
}
const shared = (limiters: Limiter[]) =>
  vi.waitFor(() => expect(limiters.map(({ degraded }) => degraded)).not.toContain(true), {
    timeout: 120_000,
    interval: 50,
  })
let keys = 0
/**
 * Waits until the store handles many concurrent requests. New connections to a store that just started may take longer than a limiter
 * waits.
 */
const settled = (limiters: Limiter[]) =>
  vi.waitFor(
    async () => {
      await shared(limiters)
      await Promise.all(limiters.map((limiter) => admitted(limiter, `settling ${++keys}`, 16, 16)))
      expect(limiters.map(({ degraded }) => degraded)).not.toContain(true)
    },
    { timeout: 120_000, interval: 50 },
  )
/** Like `admitted`. A limiter waits one second for its store; only a hanging request takes a minute. */
async function admittedInTime(limiter: Limiter, key: string, limit: number, count: number) {
  const started = performance.now()
  const found = await admitted(limiter, key, limit, count)
  expect(performance.now() - started).toBeLessThan(60_000)
  return found
}
/** The number admitted, or undefined if any request waits for the store, a timer or the network. */
async function admittedWithoutWaiting(limiter: Limiter, key: string, limit: number, count: number) {
  let found: number | undefined
  void admitted(limiter, key, limit, count).then((value) => {
    found = value
  })
  await new Promise((turn) => setImmediate(turn))
  return found
}

function outages(store: Store) {
  test('a limiter counts per process while its killed store is down, and shares limits again when the store is back', async () => {
    const events = { onDegraded: vi.fn(), onRecovered: vi.fn() }
    const [one, two] = [store.open(events), store.open()]
    const limiters = [one.limiter, two.limiter]
    await settled(limiters)
    for (const event of Object.values(events)) event.mockClear()
    expect((await admitted(one.limiter, 'before', 10, 8)) + (await admitted(two.limiter, 'before', 10, 8))).toBe(10)

    await store.kill()
    for (const limiter of limiters) {
      expect(await admittedInTime(limiter, 'during', 10, 16)).toBe(10) // ten per process, never none
      expect(limiter.degraded).toBe(true)
      expect(await admittedWithoutWaiting(limiter, 'during, later', 10, 16)).toBe(10)
    }
    expect(events.onDegraded).toHaveBeenCalledTimes(1)
    expect(events.onRecovered).not.toHaveBeenCalled()

    await store.start()
    await shared(limiters)
    expect(events.onRecovered).toHaveBeenCalledTimes(1)
    await settled(limiters)
    expect((await admitted(one.limiter, 'after', 10, 16)) + (await admitted(two.limiter, 'after', 10, 16))).toBe(10)
    await one.close()
    await two.close()
  })

  test('a process admits at most the limit in one window, before and during an outage together', async () => {
    const { limiter, close } = store.open()
    await settled([limiter])
    const { resetAt } = await limiter.consume('mixed', 10)
    const inWindow = async () => {
      const windows = await Promise.all(Array.from({ length: 8 }, () => limiter.consume('mixed', 10)))
      return windows.filter((one) => one.allowed && one.resetAt.getTime() === resetAt.getTime()).length
    }
    const before = await inWindow()
    await store.kill()
    const during = await inWindow()
    expect(limiter.degraded).toBe(true)
    await store.start()
    await shared([limiter])
    expect(1 + before + during + (await inWindow())).toBeLessThanOrEqual(10)
    await close()
  })

  test('a limiter waits one second for a hanging store at first and not at all later, and recovers with the store', async () => {
    const { limiter, close } = store.open()
    await limiter.consume('warm', 10)
    const release = await store.hang()
    try {
      expect(await admittedInTime(limiter, 'hanging', 10, 16)).toBe(10)
      expect(limiter.degraded).toBe(true)
      expect(await admittedWithoutWaiting(limiter, 'hanging, later', 10, 16)).toBe(10)
    } finally {
      await release()
    }
    await settled([limiter])
    expect(await admitted(limiter, 'no longer hanging', 10, 16)).toBe(10)
    expect(limiter.degraded).toBe(false)
    await close()
  })

  test('a limiter replaces dead connections with new ones', async () => {
    const relay = await relayTo(store.address())
    const { limiter, close } = store.open({}, relay.port)
    await settled([limiter])
    expect(await admitted(limiter, 'alive', 10, 16)).toBe(10)
    expect(limiter.degraded).toBe(false)
    relay.forget()
    expect(await admittedInTime(limiter, 'dead', 10, 16)).toBe(10)
    expect(limiter.degraded).toBe(true)
    await settled([limiter])
    expect(await admitted(limiter, 'found', 10, 16)).toBe(10)
    expect(limiter.degraded).toBe(false)
    relay.close()
    await close()
  })

  test('a limiter counts per process when its store is down at the start, and shares limits once the store runs', async () => {
    await store.kill()
    const { limiter, close } = store.open()
    expect(await admittedInTime(limiter, 'early', 10, 16)).toBe(10)
    expect(limiter.degraded).toBe(true)
    await store.start()
    await shared([limiter])
    await close()
  })

  test('close ends the probes when the store is down', async () => {
    await store.kill()
    const events = { onRecovered: vi.fn() }
    const { limiter, close } = store.open(events)
    await limiter.consume('any', 1)
    expect(limiter.degraded).toBe(true)
    await close()
    await store.start()
    const witness = store.open()
    await witness.limiter.consume('any', 1)
    await shared([witness.limiter])
    await witness.close()
    expect(events.onRecovered).not.toHaveBeenCalled()
  })
}

describe('PostgreSQL', () => {
  let folder = ''
  const secret = 'only for the database of this one test file'
  let server: EmbeddedDatabase
  let appUrl = ''
  const start = async () => {
    server = await startEmbedded(folder)
  }
  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'limits-'))
    chmodSync(folder, 0o755) // the database's account needs access
    await start()
    appUrl = (await prepareDatabase({ ownerUrl: server.ownerUrl('kp'), secret, mayCreateDatabase: true })).appUrl
  })
  afterAll(async () => {
    await server?.stop()
    if (folder) rmSync(folder, { recursive: true, force: true })
  })

  outages({
    open(events, through) {
      const url = new URL(appUrl)
      if (through) {
        url.searchParams.delete('host')
        url.host = `127.0.0.1:${through}`
      }
      const pool = limitsPool(url.href)
      const limiter = postgresLimiter(pool, events)
      return {
        limiter,
        async close() {
          await limiter.close()
          await pool.end()
        },
      }
    },
    async kill() {
      // Its backends outlive it for a moment and would continue to count.
      const children = `/proc/${server.pid}/task/${server.pid}/children`
      const backends = existsSync(children) ? [...readFileSync(children, 'utf8').matchAll(/\d+/g)] : []
      process.kill(server.pid, 'SIGKILL')
      for (const [pid] of backends)
        try {
          process.kill(Number(pid), 'SIGKILL')
        } catch {
          // It has already ended.
        }
      await server.stop()
    },
    start,
    address: () => ({ path: join(new URL(appUrl).searchParams.get('host') ?? '', '.s.PGSQL.5432') }),
    async hang() {
      const lockOwner = new pg.Client({ connectionString: server.ownerUrl('kp') })
      await lockOwner.connect()
      await lockOwner.query('BEGIN')
      await lockOwner.query('LOCK TABLE rate_limit_windows')
      return () => lockOwner.end()
    },
  })
})

const hasRedis = await isRedisInstalled()
describe.skipIf(!hasRedis)(hasRedis ? 'Redis' : 'Redis (redis-server is not installed)', () => {
  let server: TestRedis | undefined
  const start = async () => {
    server = await startRedis(server?.port)
  }
  beforeAll(start)
  afterAll(() => server?.stop())

  outages({
    open(events, through = server?.port) {
      const limiter = redisLimiter(`redis://127.0.0.1:${through}`, events)
      return { limiter, close: () => limiter.close() }
    },
    kill: async () => server?.stop(),
    start,
    address: () => ({ host: '127.0.0.1', port: server?.port ?? 0 }),
    async hang() {
      const pid = server?.pid ?? 0
      process.kill(pid, 'SIGSTOP')
      return async () => {
        process.kill(pid, 'SIGCONT')
      }
    },
  })
})
