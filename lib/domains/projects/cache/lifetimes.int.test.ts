import { createClient } from '@redis/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import type { LineView } from '#lib/domains/compliance/contract.ts'
import { redisCache } from '#lib/stores/cache/redis.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'

const day = 86_400
const prefixes = 'app:answers:,app:süß:'

describe.skipIf(!(await isRedisInstalled()))('TTLs of keys of connected applications', () => {
  let redis: TestRedis
  let test: TestApp
  let client: ReturnType<typeof connected>
  const connected = () => createClient({ url: redis.url })
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server is not installed')
    redis = started
    test = await testApp({ KP_REDIS_URL: redis.url, KP_POINTER_PREFIXES: prefixes, KP_CACHE_TTL_LIMIT: 'true' })
    client = connected()
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await test?.close()
    await redis?.stop()
  })
  beforeEach(async () => {
    await client.flushDb()
    await client.set('app:answers:unlimited', 'x')
    await client.set('app:answers:week', 'x', { EX: 7 * day })
    await client.set('app:answers:hour', 'x', { EX: 3600 })
    await client.rPush('app:süß:list', ['x'])
    await client.set('other:unlimited', 'x')
    await client.set('other:app:answers:week', 'x', { EX: 7 * day })
    await client.set('kp:limit:window', '1')
    await client.hSet('kp:erased:run', 'label', 'hash')
  })

  async function evidence() {
    const auditor = await signedIn(test, 'auditor')
    const lines: LineView[] = (await test.fetch('GET', '/api/admin/compliance', auditor)).json.data.lines
    return lines.flatMap(({ checks }) => checks).find(({ name }) => name === 'cache.lifetimes')
  }
  const limit = async () =>
    test.app.jobs.find(({ name }) => name === 'cache.limit-lifetimes')?.execute(test.app.pipeline, {})
  const ends = async (names: string[]) => Promise.all(names.map((name) => client.expireTime(name)))
  const audited = () =>
    test.db.query<{ details: object }>(
      undefined,
      "SELECT details FROM audit_entries WHERE agent_id = 'system:cache.limit-lifetimes' ORDER BY at, id",
    )

  it('compliance evidence counts keys that live longer than 24 hours, and changes none', async () => {
    const names = await client.keys('*')
    const before = await ends(names)
    expect(await evidence()).toMatchObject({
      state: 'attention',
      numbers: { examined: 6, unlimited: 3, long: 2, prefixed: 3, partial: 0 },
    })
    expect(await ends(names)).toEqual(before)
    await client.del(['app:answers:unlimited', 'app:answers:week', 'app:süß:list', 'other:unlimited'])
    await client.del('other:app:answers:week')
    expect(await evidence()).toMatchObject({ state: 'holds', numbers: { examined: 1, unlimited: 0, long: 0 } })
  })

  it('the job sets a TTL of 24 hours on keys with a declared prefix, and keeps all other keys unchanged', async () => {
    // No key gets a TTL while a legal hold is in force.
    const admin = await issuedAgent(test, ['admin'])
    const { id } = await test.agent()
    const hold = await test.fetch('POST', '/v1/holds', {
      token: admin.token,
      body: { kind: 'agent', target_id: id, reason: 'A court asked for it' },
    })
    expect(hold.status).toBe(201)
    await limit()
    expect(await ends(['app:answers:unlimited', 'app:süß:list'])).toEqual([-1, -1])
    const released = await releaseInPerson(test, hold.json.data.id)
    expect([released.status, released.text]).toEqual([200, expect.any(String)])

    await limit()
    for (const name of ['app:answers:unlimited', 'app:answers:week', 'app:süß:list']) {
      expect([name, (await client.ttl(name)) <= day]).toEqual([name, true])
      expect(await client.ttl(name)).toBeGreaterThan(day - 600)
    }
    expect(await client.ttl('app:answers:hour')).toBeLessThanOrEqual(3600)
    expect(await ends(['other:unlimited', 'kp:limit:window', 'kp:erased:run'])).toEqual([-1, -1, -1])
    expect(await client.ttl('other:app:answers:week')).toBeGreaterThan(6 * day)
    expect(await audited()).toEqual([{ details: { shortened: 3 } }])
    await limit()
    expect(await audited()).toHaveLength(1)
  })

  it('the check reads no values and does not use KEYS', async () => {
    await client.configResetStat()
    await limit()
    await evidence()
    const used = [...(await client.info('commandstats')).matchAll(/^cmdstat_(\S+?):/gm)].map(([, name]) => name)
    expect(used).toEqual(expect.arrayContaining(['scan', 'ttl', 'expire']))
    const mayBeUsed = ['scan', 'eval', 'ttl', 'expire', 'ping', 'info', 'hello', 'client|setinfo', 'config|resetstat']
    expect(used.filter((name) => !mayBeUsed.includes(name ?? ''))).toEqual([])
  })

  it('the check stops after the maximum number of keys and reports this', async () => {
    await client.mSet(Array.from({ length: 3_000 }, (_, n): [string, string] => [`many:${n}`, 'x']))
    const store = redisCache(redis.url)
    const found = await store.lifetimes({ prefixes: [], shorten: false, max: 1_000 })
    await store.close()
    expect(found.isComplete).toBe(false)
    expect(found.examined).toBeLessThan(3_000)
  })
})

it('the job does not exist unless the operator enables it, and an in-process cache is not checked', async () => {
  const plain = await testApp()
  try {
    expect(plain.app.jobs.some(({ name }) => name === 'cache.limit-lifetimes')).toBe(false)
    const auditor = await signedIn(plain, 'auditor')
    const lines: LineView[] = (await plain.fetch('GET', '/api/admin/compliance', auditor)).json.data.lines
    const check = lines.flatMap(({ checks }) => checks).find(({ name }) => name === 'cache.lifetimes')
    expect(check?.state).toBe('not_applicable')
  } finally {
    await plain.close()
  }
})
