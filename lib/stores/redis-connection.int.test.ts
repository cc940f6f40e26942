import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { redisLimiter } from '#lib/access/limiter-redis.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { isRedisInstalled, startRedis, startSentinel, type TestRedis } from '#lib/testing/redis.ts'
import { redisCache } from './cache/redis.ts'
import { cacheSuite } from './cache/suite/cache-suite.ts'

const patience = { timeout: 120_000, interval: 100 }
const about = { ttl: 3600, about: ['nobody'] }

describe.skipIf(!(await isRedisInstalled()))('a primary, a replica and three Sentinels', () => {
  let primary: TestRedis
  let replica: TestRedis
  let sentinels: TestRedis[]
  let url = ''
  const started = async (starting: Promise<TestRedis | undefined>) => {
    const found = await starting
    if (!found) throw new Error('redis-server went away')
    return found
  }
  const ask = async (server: TestRedis, ...command: string[]) => {
    const client = createClient({ url: server.url, RESP: 2 })
    client.on('error', () => {})
    await client.connect()
    try {
      return await client.sendCommand(command)
    } finally {
      client.destroy()
    }
  }
  const setSentinels = (name: string, value: number) =>
    Promise.all(sentinels.map((one) => ask(one, 'SENTINEL', 'SET', 'primary', name, String(value))))
  /** The port that every Sentinel names. */
  const namedPort = async () => {
    const named = await Promise.all(sentinels.map((one) => ask(one, 'SENTINEL', 'GET-MASTER-ADDR-BY-NAME', 'primary')))
    const ports = new Set(named.map((answer) => (Array.isArray(answer) ? Number(answer[1]) : 0)))
    return ports.size === 1 ? [...ports][0] : undefined
  }

  beforeAll(async () => {
    primary = await started(startRedis())
    replica = await started(startRedis(undefined, ['--replicaof', '127.0.0.1', String(primary.port)]))
    sentinels = []
    for (let n = 0; n < 3; n++) sentinels.push(await started(startSentinel(primary.port)))
    url = `redis://primary/1?sentinels=${sentinels.map(({ port }) => `127.0.0.1:${port}`).join(',')}`
    await vi.waitFor(async () => {
      for (const one of sentinels) {
        const [watched] = [await ask(one, 'SENTINEL', 'MASTER', 'primary')]
        const fields = Array.isArray(watched) ? watched.map(String) : []
        expect(fields[fields.indexOf('num-slaves') + 1]).toBe('1')
        expect(fields[fields.indexOf('num-other-sentinels') + 1]).toBe('2')
      }
      expect(String(await ask(replica, 'INFO', 'replication'))).toContain('master_link_status:up')
    }, patience)
  }, 180_000)
  afterAll(async () => {
    await Promise.all([primary, replica, ...(sentinels ?? [])].map((one) => one?.stop()))
  })

  cacheSuite('Redis behind Sentinels', async () => {
    const store = redisCache(url)
    return { store, close: () => store.close() }
  })

  test('confirm is refused while a replica that could be promoted lacks deletions', async () => {
    const store = redisCache(url)
    await setSentinels('down-after-milliseconds', 600_000)
    await store.set('lagging', 'a somebody', about)
    const names = await store.search(['somebody'])
    expect(names).toEqual(['kp:cache:lagging'])
    await store.confirm()
    process.kill(replica.pid, 'SIGSTOP')
    try {
      expect(await store.drop(names)).toBe(1)
      expect(await store.search(['somebody'])).toEqual([])
      await expect(store.confirm()).rejects.toMatchObject({ code: 'unavailable' })
    } finally {
      process.kill(replica.pid, 'SIGCONT')
    }
    await vi.waitFor(() => store.confirm(), patience)
    await store.close()
  }, 180_000)

  test('confirm is refused while most Sentinels do not list the replicas', async () => {
    const store = redisCache(url)
    const allow = (sign: '+' | '-') =>
      Promise.all(sentinels.slice(1).map((one) => ask(one, 'ACL', 'SETUSER', 'default', `${sign}sentinel|replicas`)))
    await store.confirm()
    await allow('-')
    try {
      await expect(store.confirm()).rejects.toMatchObject({ code: 'unavailable' })
    } finally {
      await allow('+')
    }
    await vi.waitFor(() => store.confirm(), patience)
    await store.close()
  }, 180_000)

  test('a search writes nothing until it is confirmed', async () => {
    const store = redisCache(url)
    await store.set('kept', 'a somebody', about)
    await store.set('lost', 'a somebody', about)
    /** Counts the commands that wrote something, also in scripts. */
    const writes = async () =>
      String(await ask(primary, 'INFO', 'commandstats')).match(
        /^cmdstat_(?:set|hset|del|unlink|zadd|zrem|zremrangebyscore|expire):calls=\d+/gm,
      )
    const other = createClient({ url: `${primary.url}/1` })
    other.on('error', () => {})
    await other.connect()
    await other.del('kp:cache:lost')
    other.destroy()
    const before = await writes()
    const names: string[] = []
    let after: string | null = null
    do {
      after = await store.page(after, async ({ name }) => void names.push(name))
    } while (after !== null)
    expect(names).toContain('kp:cache:kept')
    expect(await store.find({ patterns: ['kp:cache:*'], about: about.about })).toEqual(['kp:cache:kept'])
    expect(await store.names((name) => name === 'kp:cache:kept')).toEqual(['kp:cache:kept'])
    await store.read(async () => {})
    await store.texts(async () => {})
    expect(await writes()).toEqual(before)
    await store.confirm()
    expect(await writes()).not.toEqual(before)
    await store.close()
  })

  test('the Sentinels that answer must be most of those that are listed', async () => {
    const [one] = sentinels
    const few = redisCache(`redis://primary/1?sentinels=127.0.0.1:${one?.port},127.0.0.1:1,127.0.0.1:2`)
    await expect(few.get('any')).rejects.toMatchObject({ code: 'unavailable' })
    await few.close()
  })

  test('connections follow a killed primary, limits stay within limit × processes, and a former primary is not read', async () => {
    const events = { onDegraded: vi.fn(), onRecovered: vi.fn() }
    const limiters = [redisLimiter(url, events), redisLimiter(url)]
    const store = redisCache(url)
    await vi.waitFor(async () => {
      for (const limiter of limiters) {
        await limiter.consume('settling', 100)
        expect(limiter.degraded).toBe(false)
      }
    }, patience)
    await store.set('kept', 'a somebody', about)
    expect(await store.search(['somebody'])).toEqual(['kp:cache:kept'])
    await setSentinels('down-after-milliseconds', 1_000)

    const limit = 20
    /** Windows by their end, with the number of admitted requests of both processes together. */
    const admitted = new Map<number, number>()
    const once = async () => {
      for (const limiter of limiters) {
        const { allowed, resetAt } = await limiter.consume('failover', limit)
        if (allowed) admitted.set(resetAt.getTime(), (admitted.get(resetAt.getTime()) ?? 0) + 1)
      }
    }
    for (let n = 0; n < limit / 4; n++) await once()
    await primary.stop()
    await vi.waitFor(async () => {
      await once()
      expect(limiters.map(({ degraded }) => degraded)).toEqual([true, true])
    }, patience)
    await vi.waitFor(async () => {
      await once()
      expect(limiters.map(({ degraded }) => degraded)).toEqual([false, false])
      expect(await namedPort()).toBe(replica.port)
    }, patience)
    for (let n = 0; n < limit; n++) await once()
    expect(events.onDegraded).toHaveBeenCalled()
    expect(events.onRecovered).toHaveBeenCalled()
    expect(admitted.size).toBeGreaterThan(0)
    for (const count of admitted.values()) expect(count).toBeLessThanOrEqual(limit * limiters.length)

    // The former primary comes back empty and calls itself the primary, until a Sentinel makes it a replica.
    primary = await started(startRedis(primary.port))
    expect(String(await ask(primary, 'ROLE'))).toContain('master')
    const wrong: string[] = []
    await vi.waitFor(async () => {
      const other = redisCache(url)
      try {
        const found = await other.search(['somebody']).catch((error: unknown) => {
          if (Problem.is(error) && error.code === 'unavailable') return undefined
          throw error
        })
        if (found !== undefined && found.join() !== 'kp:cache:kept') wrong.push(found.join())
      } finally {
        await other.close()
      }
      expect(String(await ask(primary, 'ROLE'))).toContain('slave')
    }, patience)
    expect(wrong).toEqual([])
    await vi.waitFor(async () => expect(await store.search(['somebody'])).toEqual(['kp:cache:kept']), patience)
    await store.close()
    for (const limiter of limiters) await limiter.close()
  }, 300_000)
})
