import { createClient } from '@redis/client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope, ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { madeConversation, madeMessage, madeProject, reported } from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, startSentinel, type TestRedis } from '#lib/testing/redis.ts'

const nobody = { subject: { account: null, agents: [] } }
const ttl = 600

describe.skipIf(!(await isRedisInstalled()))('the cache data source', () => {
  let redis: TestRedis
  let test: TestApp
  let client: ReturnType<typeof connected>
  const connected = () => createClient({ url: redis.url })
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server went away')
    redis = started
    test = await testApp({ KP_REDIS_URL: redis.url })
    client = connected()
    client.on('error', () => {}) // The client disconnects with its server.
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await test?.close()
    await redis?.stop()
  })

  function dataSource(): DataSource {
    const found = test.app.dataSources.find(({ name }) => name === 'cache.entries')
    if (!found) throw new Error('there is no holder of the cache')
    return found
  }
  const planOf = async (scope: ErasureScope) => {
    const { items, watched = [] } = await test.db.transaction((tx) => dataSource().plan(scope, tx, test.clock.now()))
    return { items, watched, all: [...items, ...watched] }
  }
  const erased = (scope: ErasureScope, items: readonly string[]) =>
    test.db.transaction((tx) =>
      dataSource().erase(scope, items, tx, { key: newId('k'), redacts: false, now: test.clock.now() }),
    )
  const left = (scope: ErasureScope, items: readonly string[]) => dataSource().residue(scope, items, test.clock.now())
  const keys = async () => (await client.keys('*')).filter((key) => !/^kp:(limit|erased)/.test(key)).sort()

  async function talk(id?: string, words?: string) {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const content = words ?? `They said: "${newId('word')}", in ${newId('word')}.`
    const message = await madeMessage(test, conversation, project.owner, { content, ...(id !== undefined && { id }) })
    const other = await madeMessage(test, conversation, project.owner, { content: 'Something else entirely.' })
    // The stored form of the id.
    const stored = id === undefined ? message.id : `${project.id}~${id}`
    const part: ProjectPart = { kind: 'message', id: stored, project: project.id, conversation: conversation.id }
    return { project, conversation, message, other, content, part, scope: { part }, stored }
  }

  it.each(['string', 'hash', 'long'] as const)(
    'erase keeps a %s that an application replaced after it was found by its content',
    async (type) => {
      await client.flushDb()
      const { cache } = test.app.stored
      const { project, message, scope } = await talk()
      const name = `${project.id}:last_event`
      const write = async (of: string, id: string) => {
        await client.del(name)
        if (type === 'hash') await client.hSet(name, { id, of })
        else await client.set(name, JSON.stringify({ of, id, more: type === 'long' ? 'o '.repeat(2_200_000) : '' }))
      }
      const contains = async (words: string) =>
        JSON.stringify(type === 'hash' ? await client.hGetAll(name) : await client.get(name)).includes(words)
      const { all } = await planOf(scope)
      await write('somebody', message.id)
      const read = cache.read.bind(cache)
      const spy = vi.spyOn(cache, 'read').mockImplementation(async (visit, names) => {
        await read(visit, names)
        if (!names) await write('others', newId('msg'))
      })
      onTestFinished(() => spy.mockRestore())
      await erased(scope, all)
      expect(spy.mock.calls.some(([, names]) => names === undefined)).toBe(true)
      expect(await contains('others')).toBe(true)
      spy.mockRestore()
      await write('somebody', message.id)
      await erased(scope, all)
      expect(await client.exists(name)).toBe(0)
    },
  )

  it('erase deletes entries found by pointer, name, index, value and text, and keeps entries of others', async () => {
    await client.flushDb()
    const { cache } = test.app.stored
    const { project, conversation, message, other, content, scope } = await talk()
    const answers = `app:told:${conversation.id}`
    await client.set(answers, 'x')
    await reported(test, project, project.owner, [{ source_id: message.id, store: 'cache', ref: answers }])
    await client.set(`app:answer:${message.id}:2`, 'x')
    await client.hSet('app:hash', 'of', `["${message.id}"]`)
    await client.rPush('app:list', JSON.stringify({ project: project.id, prompt: content }))
    await client.set('app:of-another-tenant', JSON.stringify({ prompt: content }))
    await cache.set('opaque', 'x', { ttl, about: [message.id] })
    await client.set(`app:history:${conversation.id}`, 'shared with others')
    await cache.set('counts', '2', { ttl, about: [project.id] })
    const stays = [`app:answer:${other.id}`, 'app:innocent', 'app:of-another-tenant', `app:project:${project.id}`]
    for (const key of stays) await client.set(key, 'x')
    const decisions = await test.db.transaction(
      async (tx) => (await dataSource().explain?.(scope, tx, test.clock.now()))?.verdicts ?? [],
    )
    const deleted = [answers, `app:answer:${message.id}:2`, 'app:hash', 'app:list', 'kp:cache:opaque']
    const near = [`app:history:${conversation.id}`, 'kp:cache:counts']
    // The names of the other two lead nowhere: an author learns only how many there are.
    const named = [...deleted, ...near].filter((name) => !['app:hash', 'app:list'].includes(name))
    const isDeleted = ({ verdict }: { verdict: string }) => verdict === 'deleted'
    expect(decisions.filter(isDeleted).map(({ id }) => id)).toEqual([...named.sort(), 'store'])
    expect(decisions.find(({ id }) => id === 'store')?.evidence).toEqual(['items:2'])
    const { items, watched } = await planOf(scope)
    expect(items).toHaveLength(7)
    // Names may contain personal data, so neither the plan nor the ledger contains them.
    for (const item of items) expect(item).toMatch(/^(key|found):[\w-]{22}$/)
    expect(items.filter((item) => item.startsWith('key:'))).toHaveLength(1)
    expect(await left(scope, watched)).toBeGreaterThan(0)
    const done = await erased(scope, items)
    expect(done).toMatchObject({ count: 7, results: { keys: 7 }, mentions: [] })
    // Repeat as after a crash between the change of the cache and our commit.
    expect(await erased(scope, items)).toMatchObject({ count: 0, results: { keys: 7 }, mentions: [] })
    expect(await left(scope, [...items, ...watched])).toBe(0)
    expect(await keys()).toEqual(stays.sort())
  })

  it('erase deletes cached values under keys of the project and conversation, and reports those without a TTL', async () => {
    await client.flushDb()
    const { project, conversation, other, scope } = await talk()
    const elsewhere = await talk()
    const thread = `deal-${newId('x').slice(-9)}-2024`
    await test.db.prisma.conversation.update({
      where: { id: conversation.id },
      data: { threads: [conversation.id, thread] },
    })
    const group = `fund-${newId('x').slice(-9)}-7`
    await test.db.prisma.project.update({ where: { id: project.id }, data: { groupId: group } })
    const paraphrase = 'Nobody would guess whose words these were.'
    const deleted = [project.id, conversation.id, thread, group].map((id) => `app:answers:${id}:1`)
    for (const key of deleted) await client.set(key, paraphrase, { EX: ttl })
    await client.hSet(`app:search:${project.id}`, 'a question', paraphrase)
    await client.expire(`app:search:${project.id}`, ttl)
    const foreign = [
      `app:${project.id}:${elsewhere.project.id}`,
      `app:${project.id}:${other.id}`,
      'app:answers:deal-2024',
    ]
    for (const key of foreign) await client.set(key, paraphrase, { EX: ttl })
    const lasting = `app:settings:${project.id}`
    await client.set(lasting, paraphrase)
    const { all } = await planOf(scope)
    const done = await erased(scope, all)
    expect(done).toMatchObject({ count: 5, tallies: { cacheLasting: { met: [expect.any(String)] } } })
    expect(await keys()).toEqual([...foreign, lasting].sort())
    expect(dataSource().notSearched?.({ cacheLasting: 1 })).toEqual([
      { what: expect.stringContaining('a paraphrase may remain'), count: 1 },
    ])
  })

  it('erase also deletes keys of the project without a TTL if the operator says that all are cached values', async () => {
    const all = await testApp({ KP_REDIS_URL: redis.url, KP_CACHE_INVALIDATE_PROJECT: 'true' })
    try {
      await client.flushDb()
      const project = await madeProject(all)
      const conversation = await madeConversation(all, project)
      const message = await madeMessage(all, conversation, project.owner, { content: 'A sentence about nothing.' })
      const elsewhere = await madeProject(all)
      await client.set(`app:answers:${project.id}`, 'a paraphrase')
      await client.set(`app:answers:${elsewhere.id}`, 'a paraphrase')
      const { cookie } = project.owner
      const answer = await all.fetch('DELETE', message.path, { cookie, body: {} })
      const erasure = async () => (await all.fetch('GET', `/api/erasures/${answer.json.auditId}`, { cookie })).json.data
      await vi.waitUntil(async () => (await erasure()).success, { timeout: 120_000, interval: 200 })
      expect((await client.keys('app:*')).sort()).toEqual([`app:answers:${elsewhere.id}`])
    } finally {
      await all.close()
    }
  })

  it('residue counts late entries of an erased message, and no new entries of its remaining conversation', async () => {
    await client.flushDb()
    const { conversation, message, scope } = await talk()
    const { all: items } = await planOf(scope)
    await erased(scope, items)
    await client.set(`app:history:${conversation.id}`, 'without it')
    expect(await left(nobody, items)).toBe(0)
    await client.set('app:late', `["${message.id}"]`)
    await test.app.stored.cache.set('late', 'x', { ttl, about: [message.id] })
    expect(await left(nobody, items)).toBeGreaterThan(1)
    expect(await erased(nobody, items)).toMatchObject({ count: expect.any(Number) })
    expect(await left(nobody, items)).toBe(0)
    expect(await keys()).toEqual([`app:history:${conversation.id}`])
  })

  it.each(['user', 'assistant', 'a', 'kp:cache:'])(
    'erase deletes entries of the id %j found by index and pointer, and keeps entries that only contain this word',
    async (id) => {
      await client.flushDb()
      const { project, scope, stored } = await talk(id)
      const answers = `app:${project.id}:told`
      const stays = [`app:${id}:1`, 'app:role', 'kp:cache:other', 'kp:cache:theirs']
      await client.set(`app:${id}:1`, 'x')
      await client.set('app:role', JSON.stringify({ role: id }))
      await test.app.stored.cache.set('other', `of a ${id}`, { ttl, about: [newId('msg')] })
      await test.app.stored.cache.set('own', 'x', { ttl, about: [stored] })
      await test.app.stored.cache.set('theirs', 'x', { ttl, about: [id] })
      await client.set(answers, 'x')
      await reported(test, project, project.owner, [{ source_id: id, store: 'cache', ref: answers }])
      const { all: items } = await planOf(scope)
      await erased(scope, items)
      expect(await left(scope, items)).toBe(0)
      expect((await keys()).filter((key) => !key.startsWith('kp:about:'))).toEqual(stays.sort())
    },
  )

  it('erase deletes a late entry with an id that a client chose when a pointer names another entry', async () => {
    await client.flushDb()
    const { project, scope } = await talk('message-1')
    const answers = `app:${project.id}:told`
    await client.set(answers, 'x')
    await reported(test, project, project.owner, [{ source_id: 'message-1', store: 'cache', ref: answers }])
    const { all: items } = await planOf(scope)
    await client.set(`app:${project.id}:message-1`, 'x')
    await erased(scope, items)
    expect(await left(scope, items)).toBe(0)
    expect(await keys()).toEqual([])
  })

  it('erase keeps entries with a longer id or without an id of the project', async () => {
    await client.flushDb()
    const { scope, project } = await talk('message-1')
    const stays = [`app:${project.id}:message-10`, 'app:message-1']
    for (const key of stays) await client.set(key, `of message-100 of ${project.id}`)
    await client.set('app:message-1', 'of somebody else, who calls a message so')
    await client.set(`app:${project.id}:message-1`, 'x')
    const { all: items } = await planOf(scope)
    await erased(scope, items)
    expect(await keys()).toEqual(stays.sort())
  })

  it.each([newId('usr'), newId('prj'), '01890a5d-ac96-774b-bcce-b302099a8057', '"cookie":{"originalMaxAge"'])(
    'erase keeps entries of others when a message has the id %s or this text',
    async (word) => {
      await client.flushDb()
      const isId = !word.includes('"')
      const { scope } = await talk(isId ? word : undefined, isId ? undefined : word)
      if (/_/.test(word)) await test.app.stored.cache.set('theirs', 'x', { ttl, about: [word] })
      await client.set('app:session', `{"user":"${word}", ${word}: 1}`)
      await client.hSet('app:queue', 'of', word)
      const before = await keys()
      const { items, all } = await planOf(scope)
      expect(items).toEqual([])
      expect(await left(scope, all)).toBe(0)
      await erased(scope, all)
      expect(await keys()).toEqual(before)
    },
  )

  it('erase cuts an entry that a remaining message also names, and deletes it with the last such message', async () => {
    await client.flushDb()
    const { project, message, other, part, content } = await talk()
    const both = `app:${project.id}:of-both`
    await client.set(both, `user: ${content}\nassistant: Something else entirely.`, {
      expiration: { type: 'EX', value: ttl },
    })
    for (const { id: source_id } of [message, other])
      await reported(test, project, project.owner, [{ source_id, store: 'cache', ref: both }])
    const one = await planOf({ part })
    await erased({ part }, one.all)
    expect(await client.get(both)).toBe('assistant: Something else entirely.')
    expect(await client.ttl(both)).toBeGreaterThan(ttl - 60)
    await test.db.prisma.message.update({ where: { id: message.id }, data: { erasingSince: test.clock.now() } })
    expect(await left(nobody, one.all)).toBe(0)
    const last = { part: { ...part, id: other.id } }
    await erased(last, (await planOf(last)).all)
    expect(await keys()).toEqual([])
  })

  it('residue finds a reported key by its hash, and reused returns the key when another message names it', async () => {
    await client.flushDb()
    const { project, message, other, scope } = await talk()
    const answers = `app:${project.id}:what was asked`
    const report = (source_id: string) =>
      reported(test, project, project.owner, [{ source_id, store: 'cache', ref: answers }])
    await client.set(answers, 'x')
    await report(message.id)
    const { all } = await planOf(scope)
    const [item = ''] = all.filter((one) => one.startsWith('key:'))
    await erased(scope, all)
    expect(await keys()).toEqual([])
    await test.db.prisma.message.update({ where: { id: message.id }, data: { erasingSince: test.clock.now() } })
    await client.set(answers, 'again')
    const reused = (one: string) =>
      test.db.transaction(async (tx) => dataSource().reused?.([one], tx, test.clock.now()))
    const former = `key:${answers}`
    for (const one of [item, former]) expect([await left(nobody, [one]), await reused(one)]).toEqual([1, []])
    await report(other.id)
    for (const one of [item, former]) expect(await reused(one)).toEqual([one])
    expect(await erased(nobody, [item])).toMatchObject({ count: 1 })
    expect(await keys()).toEqual([])
  })

  it('erase deletes entries about an erased person and their messages', async () => {
    await client.flushDb()
    const { project, message } = await talk()
    const { accountId } = project.owner
    await test.app.stored.cache.set('mine', 'x', { ttl, about: [accountId] })
    await test.app.stored.cache.set('said', 'x', { ttl, about: [message.id] })
    await test.app.stored.cache.set('theirs', 'x', { ttl, about: ['usr_0123456789abcdefghijkl'] })
    const scope = { subject: { account: accountId, agents: [] } }
    const { all: items } = await planOf(scope)
    expect(items).toContain(`who:${accountId}`)
    await erased(scope, items)
    expect(await left(scope, items)).toBe(0)
    expect(await keys()).toEqual(['kp:about:usr_0123456789abcdefghijkl', 'kp:cache:theirs'])
  })

  it('DELETE of a message erases all its entries', async () => {
    await client.flushDb()
    const { message, project } = await talk()
    await client.set(`app:${message.id}`, 'x')
    const { cookie } = project.owner
    const answer = await test.fetch('DELETE', message.path, { cookie, body: {} })
    const erasure = async () => (await test.fetch('GET', `/api/erasures/${answer.json.auditId}`, { cookie })).json.data
    // On a slow machine, the erasure continues after the response.
    await vi.waitUntil(async () => (await erasure()).success, { timeout: 120_000, interval: 200 })
    expect(await erasure()).toMatchObject({ deleted_from: { redis: true } })
    expect(await keys()).toEqual([])
  })

  it('residue is refused while a replica lacks the deletion, and plan writes nothing', async () => {
    const primary = await startRedis()
    const replica = await startRedis(undefined, ['--replicaof', '127.0.0.1', String(primary?.port)])
    const sentinel = await startSentinel(primary?.port ?? 0)
    if (!primary || !replica || !sentinel) throw new Error('redis-server went away')
    onTestFinished(async () => void (await Promise.all([primary, replica, sentinel].map((one) => one.stop()))))
    const ask = async ({ url }: TestRedis, ...command: string[]) => {
      const asking = createClient({ url, RESP: 2 })
      asking.on('error', () => {})
      await asking.connect()
      try {
        return await asking.sendCommand(command)
      } finally {
        asking.destroy()
      }
    }
    await ask(sentinel, 'SENTINEL', 'SET', 'primary', 'down-after-milliseconds', '600000')
    await vi.waitFor(
      async () => expect(String(await ask(sentinel, 'SENTINEL', 'REPLICAS', 'primary'))).toMatch(/port/),
      {
        timeout: 120_000,
        interval: 100,
      },
    )
    const behind = await testApp({ KP_REDIS_URL: `redis://primary/0?sentinels=127.0.0.1:${sentinel.port}` })
    onTestFinished(() => behind.close())
    const source = behind.app.dataSources.find(({ name }) => name === 'cache.entries')
    if (!source) throw new Error('there is no holder of the cache')
    const project = await madeProject(behind)
    const conversation = await madeConversation(behind, project)
    const message = await madeMessage(behind, conversation, project.owner, { content: 'A sentence about nothing.' })
    const part = { kind: 'message', id: message.id, project: project.id, conversation: conversation.id } as const
    await ask(primary, 'SET', `app:${message.id}`, 'x')
    const now = behind.clock.now()
    const writes = async () => String(await ask(primary, 'INFO', 'commandstats')).match(/^cmdstat_set:calls=\d+/gm)
    const before = await writes()
    const { items, watched = [] } = await behind.db.transaction(async (tx) => {
      await source.explain?.({ part }, tx, now)
      return source.plan({ part }, tx, now)
    })
    expect(await writes()).toEqual(before)
    process.kill(replica.pid, 'SIGSTOP')
    try {
      await behind.db.transaction(async (tx) =>
        source.erase({ part }, [...items, ...watched], tx, { key: newId('k'), redacts: false, now }),
      )
      expect(await ask(primary, 'EXISTS', `app:${message.id}`)).toBe(0)
      await expect(source.residue({ part }, [...items, ...watched], now)).rejects.toMatchObject({
        code: 'unavailable',
      })
    } finally {
      process.kill(replica.pid, 'SIGCONT')
    }
    await vi.waitFor(async () => expect(await source.residue({ part }, [...items, ...watched], now)).toBe(0), {
      timeout: 120_000,
      interval: 100,
    })
  }, 300_000)

  it('erase rejects and plan returns items while Redis is down', async () => {
    const { scope } = await talk()
    await redis.stop()
    const { all: items } = await planOf(scope)
    expect(items.length).toBeGreaterThan(0)
    await expect(erased(scope, items)).rejects.toMatchObject({ code: 'unavailable' })
    await expect(left(scope, items)).rejects.toMatchObject({ code: 'unavailable' })
  })
})
