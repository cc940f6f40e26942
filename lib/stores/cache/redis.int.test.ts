import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { redisCache } from './redis.ts'
import { errorNameOf, redisLink, redisRefusal } from './redis-link.ts'
import { redisScan } from './redis-scan.ts'
import { cacheSuite } from './suite/cache-suite.ts'

const isInstalled = await isRedisInstalled()

describe.skipIf(!isInstalled)('with a redis-server', () => {
  let redis: TestRedis
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server went away')
    redis = started
  })
  afterAll(() => redis?.stop())

  cacheSuite('Redis', async () => {
    const store = redisCache(`${redis.url}/1`)
    return { store, close: () => store.close() }
  })

  describe('a database that other applications also use', () => {
    let client: ReturnType<typeof connected>
    let store: ReturnType<typeof redisCache>
    const connected = () => createClient({ url: `${redis.url}/2` })
    beforeAll(async () => {
      client = connected()
      await client.connect()
      store = redisCache(`${redis.url}/2`)
    })
    afterAll(async () => {
      client?.destroy()
      await store?.close()
    })

    it('search finds values of every type, and drop deletes them by their names', async () => {
      const id = newId('msg')
      const binary = Buffer.from([0xff, 0x00, 0x80, ...Buffer.from(id)])
      await client.set('app:string', `of ${id}`)
      await client.set('app:binary', Buffer.concat([Buffer.from([0x80, 0x00]), Buffer.from(id), Buffer.from([0xff])]))
      await client.set(binary, 'a name that is no text')
      await client.hSet('app:hash-field', id, 'x')
      await client.hSet('app:hash-value', { a: 'x', b: `${id}!` })
      await client.hSet(
        'app:hash-large',
        Object.fromEntries(Array.from({ length: 2_000 }, (_, n) => [`f${n}`, `v${n}`])),
      )
      await client.hSet('app:hash-large', 'last', id)
      await client.rPush('app:list', [...Array.from({ length: 1_100 }, (_, n) => `item ${n}`), id])
      await client.sAdd('app:set', ['x', id])
      await client.zAdd('app:zset', [{ score: 1, value: `z ${id}` }])
      for (let n = 0; n < 1_050; n++) await client.xAdd('app:stream', '*', { n: String(n) })
      await client.xAdd('app:stream', '*', { said: id })
      await client.pfAdd('app:innocent-sketch', 'x')
      await client.set('app:innocent', newId('msg'))
      await client.set('kp:limit:window', id)

      const found = await store.search([id])
      expect(found).toEqual(
        [
          ...['binary', 'hash-field', 'hash-large', 'hash-value', 'list', 'set', 'stream', 'string', 'zset'].map(
            (name) => `app:${name}`,
          ),
          `base64:${binary.toString('base64')}`,
        ].sort(),
      )
      expect(await store.drop(found)).toBe(found.length)
      expect(await store.search([id])).toEqual([])
      expect((await client.keys('*')).sort()).toEqual(['app:innocent', 'app:innocent-sketch', 'kp:limit:window'])
      await client.flushDb()
    })

    it('search finds an entry when Redis evicted its index', async () => {
      const id = newId('msg')
      await store.set('opaque', 'x', { ttl: 60, about: [id] })
      await client.del(`kp:about:${id}`)
      expect(await store.find({ patterns: [], about: [id] })).toEqual([])
      expect(await store.search([id])).toEqual(['kp:cache:opaque'])
      await client.flushDb()
    })

    it('set never leaves an entry without its index or with a TTL longer than a day', async () => {
      const id = newId('msg')
      await store.set('day', 'x', { ttl: 7 * 86_400, about: [id] })
      expect(await client.ttl('kp:cache:day')).toBeLessThanOrEqual(86_400)
      expect(await client.ttl('kp:cache:day')).toBeGreaterThan(86_300)
      await store.set('minute', 'x', { ttl: 60, about: [id] })
      expect(await client.ttl(`kp:about:${id}`)).toBeGreaterThanOrEqual(await client.ttl('kp:cache:day'))
      expect(await client.zRange(`kp:about:${id}`, 0, -1)).toEqual(['kp:cache:minute', 'kp:cache:day'])
      await client.flushDb()
    })

    it('search removes expired names from an index and reports an index of an erased id', async () => {
      const [id, project] = [newId('msg'), newId('prj')]
      await store.set(`answer:${id}`, 'x', { ttl: 60, about: [project] })
      await store.set('another', 'x', { ttl: 60, about: [project] })
      await client.del(`kp:cache:answer:${id}`)
      expect(await store.search([id])).toEqual([])
      expect(await client.zRange(`kp:about:${project}`, 0, -1)).toEqual(['kp:cache:another'])
      expect(await store.search([project])).toEqual([`kp:about:${project}`, 'kp:cache:another'].sort())
      await client.flushDb()
    })

    it('drop deletes another application’s value under one of our names, whatever its type', async () => {
      await client.set('kp:cache:string', 'x')
      await client.hSet('kp:cache:hash', 'about', 'not json')
      await client.hSet('kp:cache:number', 'about', '1')
      expect(await store.drop(['kp:cache:string', 'kp:cache:hash', 'kp:cache:number'])).toBe(3)
      await client.set('kp:cache:mine', 'x')
      await store.set('mine', 'y', { ttl: 60, about: [] })
      expect(await store.get('mine')).toBe('y')
      await client.flushDb()
    })

    it('find matches any name except rate limit counters and our own indexes', async () => {
      const id = newId('msg')
      await client.set(`app:${id}`, 'x')
      await client.set(`kp:limit:${id}`, '1')
      await store.set('x', 'x', { ttl: 60, about: [id] })
      expect(await store.find({ patterns: [`*${id}*`], about: [] })).toEqual([`app:${id}`])
      await client.flushDb()
    })
  })

  describe('a Redis that does not respond', () => {
    const asks = (store: ReturnType<typeof redisCache>): (() => Promise<unknown>)[] => [
      () => store.get('secret-key'),
      () => store.set('secret-key', 'secret-value', { ttl: 60, about: ['secret-id'] }),
      () => store.find({ patterns: ['*secret-id*'], about: ['secret-id'] }),
      () => store.drop(['secret-key']),
      () => store.forget(['secret-id']),
      () => store.search(['secret-id']),
    ]
    it.each([
      ['nobody listens', () => 'redis://user:secret-word@127.0.0.1:1'],
      ['the password is wrong', () => redis.url.replace('//', '//user:secret-word@')],
    ])('every method rejects as unavailable without secrets when %s', async (_why, url) => {
      const store = redisCache(url())
      for (const ask of asks(store)) {
        const error: unknown = await ask().then(
          () => undefined,
          (fault: unknown) => fault,
        )
        expect(error).toMatchObject({ code: 'unavailable' })
        expect(`${error} ${JSON.stringify(error)}`).not.toMatch(/secret|127\.0\.0\.1/)
      }
      const state = await store.state()
      expect(state.state).toBe('down')
      expect(JSON.stringify(state)).not.toMatch(/secret|127\.0\.0\.1/)
      await store.close()
    })

    it('refusalOf returns the refusal for a missing password or a denied command, and none for a replica', async () => {
      const own = await startRedis()
      if (!own) throw new Error('redis-server went away')
      const admin = createClient({ url: own.url })
      await admin.connect()
      const limited = own.url.replace('//', '//limited:word@')
      await admin.aclSetUser('limited', ['on', '>word', '~*', '+@connection'])
      const refusalAt = async (url: string, ask: (store: ReturnType<typeof redisCache>) => Promise<unknown>) => {
        const store = redisCache(url)
        const error: unknown = await ask(store).catch((fault: unknown) => fault)
        await store.close()
        expect(error).toMatchObject({ code: 'unavailable' })
        return storeRefusalOf(error)
      }
      const get = (store: ReturnType<typeof redisCache>) => store.get('a')
      const set = (store: ReturnType<typeof redisCache>) => store.set('a', 'x', { ttl: 60, about: [] })
      expect(await refusalAt(limited, get)).toBe('access_denied')
      await admin.configSet('maxmemory', '1')
      const full: unknown = await admin.set('a', 'x').catch((fault: unknown) => fault)
      expect(redisRefusal(errorNameOf(full))).toBe('quota_exceeded')
      await admin.configSet('maxmemory', '0')
      await admin.configSet('replica-serve-stale-data', 'yes')
      await admin.sendCommand(['REPLICAOF', '127.0.0.1', '1'])
      expect(await refusalAt(own.url, set)).toBeUndefined()
      await admin.sendCommand(['REPLICAOF', 'NO', 'ONE'])
      await admin.configSet('requirepass', 'secret')
      expect(await refusalAt(own.url, get)).toBe('credentials')
      expect(await refusalAt(own.url.replace('//', '//:wrong@'), get)).toBe('credentials')
      admin.destroy()
      await own.stop()
      expect(await refusalAt(own.url, get)).toBeUndefined()
    })

    it('a search during which the server is restarted is not complete', async () => {
      const own = await startRedis()
      if (!own) throw new Error('redis-server went away')
      const link = redisLink(own.url)
      const scan = redisScan(link)
      for (let n = 0; n < 2_000; n++) await scan.send('SET', `app:${n}`, 'x')
      let again: TestRedis | undefined
      const search = async () => {
        for await (const _ of scan.names()) {
          if (again) continue
          await own.stop()
          again = await startRedis(own.port)
          await vi.waitUntil(() => scan.send('PING').catch(() => undefined), { timeout: 120_000, interval: 50 })
        }
      }
      await expect(search()).rejects.toMatchObject({ code: 'unavailable' })
      await link.close()
      await again?.stop()
    })

    it('get works again when the Redis server is back', async () => {
      const own = await startRedis()
      if (!own) throw new Error('redis-server went away')
      const store = redisCache(own.url)
      await store.set('a', 'x', { ttl: 60, about: [] })
      await own.stop()
      await expect(store.get('a')).rejects.toMatchObject({ code: 'unavailable' })
      const again = await startRedis(own.port)
      await vi.waitUntil(async () => (await store.state()).state === 'ok', { timeout: 120_000, interval: 100 })
      expect(await store.get('a')).toBeUndefined()
      await store.close()
      await again?.stop()
    })
  })
})
