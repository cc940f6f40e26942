import { createClient } from '@redis/client'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { type Limiter, memoryLimiter } from './limiter.ts'
import { limitsPool, postgresLimiter, purgeExpiredWindows } from './limiter-postgres.ts'
import { redisLimiter } from './limiter-redis.ts'

const LANES = 16
/**
 * How many milliseconds to wait for the store, so that limits stay shared on a slow machine. limiter-outage.int.test.ts has the usual
 * second.
 */
const patience = 60_000

/** A store under test: two limiters that share it, like two replicas, and a way to end a window. */
interface Fixture {
  replicas: Limiter[]
  endWindow?(key: string): Promise<void>
  close(): Promise<void>
}

let keys = 0
const freshKey = () => `key ${++keys}`

/** Sends `count` requests over sixteen lanes that alternate between the replicas. */
async function send(replicas: Limiter[], key: string, limit: number, count: number) {
  let left = count
  const lane = async (number: number) => {
    const limiter = replicas[number % replicas.length]
    const windows = []
    while (limiter && left-- > 0) windows.push(await limiter.consume(key, limit))
    return windows
  }
  return (await Promise.all(Array.from({ length: LANES }, (_, number) => lane(number)))).flat()
}

function contract(open: () => Promise<Fixture>) {
  let fixture: Fixture
  beforeAll(async () => {
    fixture = await open()
  })
  afterAll(() => fixture?.close())

  test.each([1, 10, 300])('consume admits exactly the limit of %i', async (limit) => {
    const windows = await send(fixture.replicas, freshKey(), limit, limit * 2 + LANES)
    expect(windows).toHaveLength(limit * 2 + LANES)
    expect(windows.filter(({ allowed }) => allowed)).toHaveLength(limit)
  })

  test('consume rejects none under the limit and counts each request once', async () => {
    const windows = await send(fixture.replicas, freshKey(), 200, 200)
    expect(windows.every(({ allowed }) => allowed)).toBe(true)
    const counted = windows.map(({ consumed }) => consumed).sort((one, other) => one - other)
    expect(counted).toEqual(Array.from({ length: 200 }, (_, index) => index + 1))
    for (const { consumed, remaining } of windows) expect(remaining).toBe(200 - consumed)
  })

  test('a window ends at one instant for all callers, a minute after it opened', async () => {
    const key = freshKey()
    const before = Date.now()
    const windows = await send(fixture.replicas, key, 10, 100)
    const after = Date.now()
    for (const limiter of fixture.replicas) windows.push(await limiter.peek(key, 10))
    const [end, ...others] = [...new Set(windows.map(({ resetAt }) => resetAt.getTime()))]
    expect(others).toEqual([])
    expect(end).toBeGreaterThanOrEqual(before + 60_000)
    expect(end).toBeLessThanOrEqual(after + 60_000)
  })

  test('peek does not count', async () => {
    const key = freshKey()
    const [limiter, other = limiter] = fixture.replicas
    expect(await limiter?.peek(key, 2)).toMatchObject({ limit: 2, consumed: 0, remaining: 2, allowed: true })
    await limiter?.consume(key, 2)
    for (let count = 0; count < 3; count++) {
      expect(await other?.peek(key, 2)).toMatchObject({ consumed: 1, remaining: 1, allowed: true })
    }
    expect(await limiter?.consume(key, 2)).toMatchObject({ consumed: 2, remaining: 0, allowed: true })
    expect(await other?.peek(key, 2)).toMatchObject({ consumed: 2, remaining: 0, allowed: false })
    expect(await limiter?.consume(key, 2)).toMatchObject({ consumed: 3, remaining: 0, allowed: false })
  })

  test('consume counts keys separately and applies each request’s own limit', async () => {
    const [first, second] = [freshKey(), freshKey()]
    await send(fixture.replicas, first, 5, 50)
    const [limiter] = fixture.replicas
    expect(await limiter?.consume(second, 5)).toMatchObject({ consumed: 1, remaining: 4, allowed: true })
    expect(await limiter?.consume(first, 100)).toMatchObject({ consumed: 51, remaining: 49, allowed: true })
  })

  test('consume admits nothing when the limit is zero', async () => {
    const windows = await send(fixture.replicas, freshKey(), 0, 20)
    expect(windows.some(({ allowed }) => allowed)).toBe(false)
    expect(await fixture.replicas[0]?.peek(freshKey(), 0)).toMatchObject({ remaining: 0, allowed: false })
  })

  test('consume opens the next window once when many requests arrive at its start', async (context) => {
    if (!fixture.endWindow) return context.skip('the clock of this store is moved in limiter.test.ts')
    const key = freshKey()
    const spent = await send(fixture.replicas, key, 10, 30)
    await fixture.endWindow(key)
    expect(await fixture.replicas[0]?.peek(key, 10)).toMatchObject({ consumed: 0, allowed: true })
    const next = await send(fixture.replicas, key, 10, 60)
    expect(next.filter(({ allowed }) => allowed)).toHaveLength(10)
    const ends = [...new Set(next.map(({ resetAt }) => resetAt.getTime()))]
    expect(ends).toHaveLength(1)
    expect(ends[0]).toBeGreaterThan(spent[0]?.resetAt.getTime() ?? Number.POSITIVE_INFINITY)
  })

  test('the limiter never used its in-memory fallback during these tests', () => {
    expect(fixture.replicas.map(({ degraded }) => degraded)).not.toContain(true)
  })
}

describe('memory', () => {
  contract(async () => ({ replicas: [memoryLimiter()], close: async () => {} }))
})

describe('PostgreSQL', () => {
  let database: TestDatabase
  let owner: pg.Pool
  beforeAll(async () => {
    database = await testDatabase()
    owner = new pg.Pool({ connectionString: database.ownerUrl })
  })
  afterAll(async () => {
    await owner?.end()
    await database?.drop()
  })

  contract(async () => {
    const pools = [limitsPool(database.appUrl, { patience }), limitsPool(database.appUrl, { patience })]
    const replicas = pools.map((pool) => postgresLimiter(pool, {}, patience))
    return {
      replicas,
      endWindow: async (key) => {
        await owner.query('UPDATE rate_limit_windows SET expire = $2 WHERE key = $1', [key, Date.now()])
      },
      close: async () => {
        for (const limiter of replicas) await limiter.close()
        for (const pool of pools) await pool.end()
      },
    }
  })

  test('purgeExpiredWindows deletes only windows that have ended', async () => {
    const pool = limitsPool(database.appUrl, { patience })
    const limiter = postgresLimiter(pool, {}, patience)
    const [ended, open] = [freshKey(), freshKey()]
    await owner.query('DELETE FROM rate_limit_windows')
    await send([limiter], ended, 10, 3)
    await send([limiter], open, 10, 3)
    const now = new Date()
    await owner.query('UPDATE rate_limit_windows SET expire = $2 WHERE key = $1', [ended, now.getTime()])
    const connection = await owner.connect()
    expect(await purgeExpiredWindows(connection, now)).toBe(1)
    expect(await purgeExpiredWindows(connection, now)).toBe(0)
    connection.release()
    expect((await limiter.peek(open, 10)).consumed).toBe(3)
    await limiter.close()
    await pool.end()
  })
})

const hasRedis = await isRedisInstalled()
describe.skipIf(!hasRedis)(hasRedis ? 'Redis' : 'Redis (redis-server is not installed)', () => {
  let redis: TestRedis | undefined
  const clientOf = (url: string) => createClient({ url })
  let client: ReturnType<typeof clientOf>
  beforeAll(async () => {
    redis = await startRedis()
    client = clientOf(redis?.url ?? '')
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await redis?.stop()
  })

  contract(async () => {
    const url = redis?.url ?? ''
    const replicas = [redisLimiter(url, {}, patience), redisLimiter(url, {}, patience)]
    return {
      replicas,
      endWindow: async (key) => {
        expect(await client.pExpireAt(`kp:limit:${key}`, Date.now())).toBe(1)
      },
      close: async () => {
        for (const limiter of replicas) await limiter.close()
      },
    }
  })

  test('every window in Redis has an expiry', async () => {
    const limiter = redisLimiter(redis?.url ?? '')
    await limiter.consume(freshKey(), 1)
    await limiter.close()
    const keys = await client.keys('*')
    expect(keys).not.toEqual([])
    // -1 means that a key never expires, and -2 that it expired since it was listed.
    for (const key of keys) {
      const left = await client.pTTL(key)
      expect(left).not.toBe(-1)
      expect(left).toBeLessThanOrEqual(60_000)
    }
  })
})
