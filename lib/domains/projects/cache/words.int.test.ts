import { gzipSync } from 'node:zlib'
import { createClient } from '@redis/client'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type DataSource, erasedOf, timeFor } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import {
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { Fingerprints } from '../words/fingerprints.ts'

const nobody = { subject: { account: null, agents: [] } }
const mine = 'I have slept badly since my brother moved into the attic.'
const part = 'slept badly since my brother moved'
const theirs = 'Try to air the room for ten minutes before midnight.'
const turn = `user: ${mine}\nassistant: ${theirs}`
const half = `assistant: ${theirs}`

describe.skipIf(!(await isRedisInstalled()))('the cache data source and the words of a message', () => {
  let redis: TestRedis
  let test: TestApp
  let client: ReturnType<typeof connected>
  let project: MadeProject
  let conversation: MadeConversation
  let message: string
  let other: string
  let scope: ErasureScope
  const connected = () => createClient({ url: redis.url })
  beforeAll(async () => {
    const started = await startRedis()
    if (!started) throw new Error('redis-server is not installed')
    redis = started
    test = await testApp({ KP_REDIS_URL: redis.url, KP_POINTER_PREFIXES: 'app:answers:' })
    client = connected()
    client.on('error', () => {})
    await client.connect()
  })
  afterAll(async () => {
    client?.destroy()
    await test?.close()
    await redis?.stop()
  })
  const said = async (content: string, of = conversation) =>
    (await madeMessage(test, of, project.owner, { content })).id
  const about = (id: string): ErasureScope => ({
    part: { kind: 'message', id, project: project.id, conversation: conversation.id },
  })
  beforeEach(async () => {
    await client.flushDb()
    // Messages of other tests contain the same sentences, which would explain them.
    await test.db.prisma.message.deleteMany()
    project = await madeProject(test)
    conversation = await madeConversation(test, project)
    message = await said(mine)
    other = (await madeMessage(test, conversation, await madeMember(test, project), { content: theirs })).id
    scope = about(message)
  })

  function source(): DataSource {
    const found = test.app.dataSources.find(({ name }) => name === 'cache.entries')
    if (!found) throw new Error('the data source is missing')
    return found
  }
  const wordsOf = (...texts: string[]) => {
    const words = new Fingerprints()
    for (const text of texts) words.add(text)
    return words
  }
  const plan = (of: ErasureScope = scope) =>
    test.db.transaction((tx) => source().plan(of, tx, test.clock.now()), timeFor(source()))
  const eraseItems = (items: readonly string[], words = wordsOf(mine), of: ErasureScope = scope, run = newId('run')) =>
    test.db.transaction(
      async (tx) =>
        erasedOf(
          await source().erase(of, items, tx, {
            key: `${run}:cache.entries:1:p`,
            redacts: false,
            words,
            now: test.clock.now(),
          }),
        ),
      timeFor(source()),
    )
  /** Like the engine: erases planned items, then watched items, then marks the row. */
  async function erase(words = wordsOf(mine), of: ErasureScope = scope, run = newId('run')) {
    const { items, watched = [] } = await plan(of)
    const done = [await eraseItems(items, words, of, run), await eraseItems(watched, words, of, run)]
    if ('part' in of)
      await test.db.prisma.message.update({ where: { id: of.part.id }, data: { erasingSince: test.clock.now() } })
    const met = (name: string) => new Set(done.flatMap((one) => one.tallies?.[name]?.met ?? [])).size
    return {
      all: [...items, ...watched],
      residue: () => source().residue(of, [...items, ...watched], test.clock.now(), words),
      later: () => source().residue(nobody, [...items, ...watched], test.clock.now(), words),
      counts: { cut: met('derivedCut'), deleted: met('derivedDeleted'), retained: met('derivedRetained') },
      binary: met('cacheBinary'),
      outside: met('cacheOutside'),
    }
  }
  /** The complete database as serialized by the server, read by an independent client. */
  async function dump(): Promise<string> {
    let all = ''
    for await (const keys of client.scanIterator({ COUNT: 1_000 }))
      for (const key of keys) {
        if (key.startsWith('kp:erased:') || key.startsWith('kp:limit')) continue
        const type = await client.type(key)
        const value: unknown =
          type === 'string'
            ? await client.get(key)
            : type === 'hash'
              ? await client.hGetAll(key)
              : type === 'list'
                ? await client.lRange(key, 0, -1)
                : type === 'set'
                  ? await client.sMembers(key)
                  : type === 'zset'
                    ? await client.zRangeWithScores(key, 0, -1)
                    : await client.xRange(key, '-', '+')
        all += `${key} ${JSON.stringify(value)}\n`
      }
    return all
  }
  const decisions = async (of = scope) => {
    const explained = await test.db.transaction(async (tx) => source().explain?.(of, tx, test.clock.now()))
    return Object.fromEntries(
      (explained?.verdicts ?? []).map(({ id, verdict, reason }) => [id, `${verdict} ${reason}`]),
    )
  }

  it('erase finds a quotation of six words in every type and removes only the items that contain it', async () => {
    const at = (name: string) => `app:${project.id}:${name}`
    const quote = `She wrote "${part}" again.`
    await client.set(at('quote'), quote)
    await client.rPush(at('list'), ['first', quote, 'second', quote])
    await client.sAdd(at('set'), ['first', quote])
    await client.zAdd(at('zset'), [
      { score: 1, value: 'first' },
      { score: 2, value: quote },
    ])
    await client.hSet(at('hash'), { first: 'x', second: quote, [part]: 'y' })
    await client.xAdd(at('stream'), '1-1', { text: 'first' })
    await client.xAdd(at('stream'), '2-1', { text: quote })
    await client.rPush(at('emptied'), [quote])
    await client.set(`app:${project.id}:${part}`, 'its name quotes')
    await client.set(at('same-letters'), 'slept badly since my sister moved')
    const { counts, residue } = await erase()
    expect(await dump()).not.toMatch(/slept badly since my brother/)
    expect(await client.lRange(at('list'), 0, -1)).toEqual(['first', 'second'])
    expect(await client.sMembers(at('set'))).toEqual(['first'])
    expect(await client.zRangeWithScores(at('zset'), 0, -1)).toEqual([{ score: 1, value: 'first' }])
    expect(await client.hGetAll(at('hash'))).toEqual({ first: 'x' })
    expect(
      JSON.parse(JSON.stringify(await client.xRange(at('stream'), '-', '+'))).map(({ id }: { id: string }) => id),
    ).toEqual(['1-1'])
    expect(await client.exists([at('emptied'), at('quote')])).toBe(0)
    expect(await client.exists(at('same-letters'))).toBe(1)
    expect(counts).toEqual({ cut: 0, deleted: 9, retained: 0 })
    expect(await residue()).toBe(0)
  })

  it('erase removes items that contain the id of a message, and keeps the others', async () => {
    const at = (name: string) => `app:${project.id}:${name}`
    await client.rPush(at('list'), [`{"id":"${message}"}`, `{"id":"${other}"}`])
    await client.zAdd(at('recent'), [
      { score: 1, value: message },
      { score: 2, value: other },
    ])
    await client.hSet(at('by-message'), { [message]: 'x', [other]: 'y' })
    await client.hSet(at('record'), { message_id: message, answer: 'a paraphrase of it' })
    await client.hSet(at('latest'), { 'session-1': message, 'session-2': other })
    await client.rPush(`history:${conversation.id}`, ['{"content":"of others"}', `{"content":"${mine}"}`])
    const { residue } = await erase()
    expect(await client.lRange(at('list'), 0, -1)).toEqual([`{"id":"${other}"}`])
    expect(await client.zRange(at('recent'), 0, -1)).toEqual([other])
    expect(await client.hGetAll(at('by-message'))).toEqual({ [other]: 'y' })
    expect(await client.exists(at('record'))).toBe(0)
    expect(await client.hGetAll(at('latest'))).toEqual({ 'session-2': other })
    expect(await client.lRange(`history:${conversation.id}`, 0, -1)).toEqual(['{"content":"of others"}'])
    expect(await residue()).toBe(0)
  })

  it('erase cuts a turn from strings, items and fields, in plain text and JSON, and keeps expiry, score and position', async () => {
    const at = (name: string) => `app:answers:${name}`
    const json = JSON.stringify([
      { role: 'user', content: mine },
      { role: 'assistant', content: theirs },
    ])
    await client.set(at('turn'), turn, { expiration: { type: 'EX', value: 500 } })
    await client.set(at('json'), json)
    await client.set(at('twice'), `user: ${mine}\n${half}\nuser: ${mine}`)
    await client.rPush(at('list'), ['first', turn, 'last'])
    await client.zAdd(at('zset'), [{ score: 7, value: turn }])
    await client.hSet(at('hash'), { of: turn })
    expect(await decisions()).toEqual({ store: 'changed cut' })
    const { counts, residue, later } = await erase()
    expect(await client.get(at('turn'))).toBe(half)
    expect(await client.ttl(at('turn'))).toBeGreaterThan(400)
    expect(JSON.parse((await client.get(at('json'))) ?? '')).toEqual([
      { role: 'user', content: '' },
      { role: 'assistant', content: theirs },
    ])
    expect(await client.get(at('twice'))).toBe(half)
    expect(await client.lRange(at('list'), 0, -1)).toEqual(['first', half, 'last'])
    expect(await client.zRangeWithScores(at('zset'), 0, -1)).toEqual([{ score: 7, value: half }])
    expect(await client.hGetAll(at('hash'))).toEqual({ of: half })
    expect(counts).toEqual({ cut: 6, deleted: 0, retained: 0 })
    expect([await residue(), await later()]).toEqual([0, 0])
  })

  it('erase cuts a shared key once, and reports the same count when a page of items is repeated after a crash', async () => {
    const key = `app:${project.id}:shared`
    const glue = `Summary by a model. ${turn} End of the summary.`
    await client.set(key, glue)
    for (const source_id of [message, other])
      await reported(test, project, project.owner, [{ source_id, store: 'cache', ref: key }])
    const run = newId('run')
    const { items, watched = [] } = await plan()
    const first = await eraseItems([...items, ...watched], wordsOf(mine), scope, run)
    const left = await client.get(key)
    expect(left).toContain(theirs)
    expect(left).not.toContain('brother')
    const again = await eraseItems([...items, ...watched], wordsOf(mine), scope, run)
    expect(await client.get(key)).toBe(left)
    expect(again.tallies?.derivedCut).toEqual(first.tallies?.derivedCut)
    expect(first.tallies?.derivedCut?.met).toHaveLength(1)
    await source().forget?.(run)
    expect(await client.exists(`kp:erased:${run}`)).toBe(0)
  })

  it('erase keeps an entry unchanged when it contains only words of another author, even if an erased message names it', async () => {
    const keys = ['plain', 'json', 'quoted'].map((name) => `app:${project.id}:${name}`)
    const values = [half, JSON.stringify({ role: 'assistant', content: theirs }), `"${theirs}"`]
    for (const [n, key] of keys.entries()) {
      await client.set(key, values[n] ?? '')
      await reported(test, project, project.owner, [{ source_id: message, store: 'cache', ref: key }])
    }
    expect(await decisions()).toEqual(Object.fromEntries(keys.map((key) => [key, 'kept other_author'])))
    const { counts, residue, later } = await erase()
    expect(await Promise.all(keys.map((key) => client.get(key)))).toEqual(values)
    expect(counts.retained).toBe(3)
    expect([await residue(), await later()]).toEqual([0, 0])
  })

  it('erase keeps a run of six words that another author also wrote', async () => {
    const key = `app:${project.id}:template`
    await said(`My sister has ${part} as well.`)
    const words = 'He slept badly since my brother moved.'
    await client.set(key, words)
    const { counts, residue } = await erase()
    expect(await client.get(key)).toBe(words)
    expect(counts).toMatchObject({ retained: 1, deleted: 0 })
    expect(await residue()).toBe(0)
  })

  it('erase deletes a shared entry that cannot be cut: a paraphrase, and a binary value', async () => {
    const [paraphrase, binary] = [`app:${project.id}:paraphrase`, `app:${project.id}:binary`]
    await client.set(paraphrase, 'The guest sleeps badly and should air the room.')
    await client.set(binary, Buffer.from([0xff, 0x00, 0x80]))
    for (const ref of [paraphrase, binary])
      for (const source_id of [message, other])
        await reported(test, project, project.owner, [{ source_id, store: 'cache', ref }])
    await erase()
    expect(await client.exists([paraphrase, binary])).toBe(0)
  })

  it('erase deletes a compressed value with erased words, and reports values that it cannot search', async () => {
    const at = (name: string) => `app:${project.id}:${name}`
    await client.set(at('gzip'), gzipSync(turn))
    await client.set(at('other-gzip'), gzipSync('Nothing of that.'))
    await client.set(at('binary'), Buffer.from([0xff, 0xfe + 1, 0x00, 0x80]))
    await client.set('elsewhere', gzipSync(turn))
    const { binary, outside, residue } = await erase()
    expect(await client.exists([at('gzip')])).toBe(0)
    expect(await client.exists([at('other-gzip'), at('binary'), 'elsewhere'])).toBe(3)
    expect([binary, outside]).toEqual([1, 1])
    expect(source().notSearched?.({ cacheBinary: binary, cacheOutside: outside })).toEqual([
      { what: expect.stringContaining('encrypted'), count: 1 },
      { what: expect.stringContaining('KP_POINTER_PREFIXES'), count: null },
    ])
    expect(source().notSearched?.({})).toEqual([])
    expect(await residue()).toBe(0)
  })

  it('erase finds Chinese text in JSON that escapes every character', async () => {
    const words = '我从春天开始就患有克罗恩病，住在七十七号房间，晚上睡不好觉，也吃不下饭'
    const id = await said(words)
    const escaped = `{"content":"${[...words].map((one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, '0')}`).join('')}"}`
    const key = `app:${project.id}:escaped`
    await client.set(key, escaped)
    const { residue } = await erase(wordsOf(words), about(id))
    expect(await client.exists(key)).toBe(0)
    expect(await residue()).toBe(0)
  })

  it('erase cuts a message of one word only if provenance names the key', async () => {
    const id = await said('yes')
    const [named, free] = [`app:${project.id}:named`, `app:${project.id}:free`]
    const value = `user: yes\n${half}`
    for (const key of [named, free]) await client.set(key, value)
    for (const source_id of [id, other])
      await reported(test, project, project.owner, [{ source_id, store: 'cache', ref: named }])
    await erase(wordsOf('yes'), about(id))
    expect([await client.get(named), await client.get(free)]).toEqual([half, value])
  })

  it('erase removes names of any length of an erased person, and keeps names that others wrote', async () => {
    const words = wordsOf(mine)
    words.addName('Ida Beispiel')
    words.addName('Bo Muster')
    await said('Please ask Bo Muster about the attic.')
    const [deleted, stays] = [`app:${project.id}:gone`, `app:${project.id}:stays`]
    await client.set(deleted, 'Ida Beispiel called.')
    await client.set(stays, 'Bo Muster called.')
    const { residue } = await erase(words)
    expect([await client.get(deleted), await client.get(stays)]).toEqual(['called.', 'Bo Muster called.'])
    expect(await residue()).toBe(0)
  })

  it('residue finds words that the erasure missed', async () => {
    const { residue, later, all } = await erase()
    const key = `app:${project.id}:late`
    await client.rPush(key, ['of others', `late: ${part}`])
    expect([await residue(), await later()]).toEqual([1, 1])
    await eraseItems(all, wordsOf(mine), nobody)
    expect(await client.lRange(key, 0, -1)).toEqual(['of others'])
    expect(await later()).toBe(0)
  })

  it('erase keeps concurrent writes between its read and its change', async () => {
    const key = `app:${project.id}:busy`
    await client.set(key, turn)
    const writer = connected()
    await writer.connect()
    let [writes, isDone] = [0, false]
    const writing = (async () => {
      while (!isDone) await writer.append(key, `\nnote ${++writes}`)
    })()
    const { all, counts } = await erase()
    isDone = true
    await writing
    writer.destroy()
    // A change that was too late is not counted.
    expect(counts.cut).toBeLessThanOrEqual(1)
    await eraseItems(all)
    const left = (await client.get(key)) ?? ''
    expect(left).not.toContain('brother')
    expect(left).toContain(theirs)
    for (const n of [1, Math.ceil(writes / 2), writes]) expect(left).toContain(`note ${n}`)
  })

  it('erase changes nothing in another project, even under a shared prefix', async () => {
    const foreign = await madeProject(test)
    const talk = await madeConversation(test, foreign)
    const { id } = await madeMessage(test, talk, foreign.owner, { content: mine })
    const ref = 'app:answers:of-the-other'
    await client.set(ref, turn)
    await client.set(`app:${foreign.id}:x`, turn)
    await reported(test, foreign, foreign.owner, [{ source_id: id, store: 'cache', ref }])
    const before = await dump()
    const { residue } = await erase()
    expect(await dump()).toBe(before)
    expect(await residue()).toBe(0)
  })

  it('erase removes words that are split over the items of an entry, and keeps other items', async () => {
    const at = (name: string) => `app:${project.id}:${name}`
    const tokens = mine.split(' ').map((word) => ` ${word}`)
    const [before, after] = ['Since when does my ', ' brother sleep badly?']
    await client.rPush(at('tokens'), [before, ...tokens, after, ' my'])
    await client.rPush(at('objects'), [
      JSON.stringify({ role: 'user', delta: before }),
      ...tokens.map((delta) => JSON.stringify({ role: 'user', delta })),
    ])
    for (const delta of [before, ...tokens, after]) await client.xAdd(at('stream'), '*', { role: 'assistant', delta })
    await client.hSet(at('hash'), Object.fromEntries(tokens.map((text, n) => [`part${n}`, text])))
    await client.hSet(at('hash'), { other: before })
    await client.zAdd(at('sorted'), [
      ...mine.split(' ').map((value, score) => ({ score, value: `${score}. ${value}` })),
      { score: 99, value: 'last' },
    ])
    await client.set(at('json'), JSON.stringify({ theirs, tokens, n: 7 }))
    await client.rPush(at('large'), [...Array.from({ length: 495 }, (_, n) => `item ${n}`), ...tokens, 'end'])
    const { residue, later } = await erase()
    expect(await client.lRange(at('tokens'), 0, -1)).toEqual([before, after, ' my'])
    expect(await client.lRange(at('objects'), 0, -1)).toEqual([JSON.stringify({ role: 'user', delta: before })])
    expect(((await client.xRange(at('stream'), '-', '+')) ?? []).map((one) => one?.message.delta)).toEqual([
      before,
      after,
    ])
    expect(await client.hGetAll(at('hash'))).toEqual({ other: before })
    expect(JSON.parse((await client.get(at('json'))) ?? 'null')).toMatchObject({ theirs, n: 7 })
    expect(await client.lRange(at('large'), 490, -1)).toEqual([
      ...[490, 491, 492, 493, 494].map((n) => `item ${n}`),
      'end',
    ])
    expect([await residue(), await later()]).toEqual([0, 0])
  })

  it('residue counts words that are split over the items of a late entry', async () => {
    const { residue } = await erase()
    const words = mine.split(' ')
    await client.rPush(`app:${project.id}:late`, words)
    expect(await residue()).toBe(1)
    for (const delta of words) await client.xAdd(`app:${project.id}:late-stream`, '*', { role: 'user', delta })
    expect(await residue()).toBe(2)
    await client.hSet(`app:${project.id}:late-hash`, Object.fromEntries(words.map((text, n) => [`part${n}`, text])))
    expect(await residue()).toBe(3)
  })

  it('erase removes words that are split over numbered fields of a hash that has no order, and residue counts them', async () => {
    const words = mine.split(' ')
    // Redis stores a hash with a long value, or with many fields, in an order by chance.
    const fields = (count: number) =>
      Object.fromEntries([
        ...words.map((text, n) => [`part:${n}`, text]),
        ['long', 'x'.repeat(100)],
        ...Array.from({ length: count }, (_, n) => [`other:${n}`, `value ${n}`]),
      ])
    const [short, large] = [fields(3), fields(1_500)]
    const key = (name: string) => `app:${project.id}:${name}`
    await client.hSet(key('short'), short)
    await client.hSet(key('large'), large)
    const { residue, later } = await erase()
    const others = (some: Record<string, string>) =>
      Object.fromEntries(Object.entries(some).filter(([name]) => !name.startsWith('part:')))
    for (const [name, some] of [
      ['short', short],
      ['large', large],
    ] as const) {
      const left = { ...(await client.hGetAll(key(name))) }
      expect(left).toMatchObject(others(some))
      expect(Object.keys(left).filter((field) => field.startsWith('part:')).length).toBeLessThan(6)
    }
    expect([await residue(), await later()]).toEqual([0, 0])
    await client.hSet(key('late'), large)
    expect(await residue()).toBe(1)
  })

  it('residue counts words that are split over fields of a small hash in another order than their names', async () => {
    const { residue } = await erase()
    const fields = mine.split(' ').map((text, n) => [`part${n}`, text] as const)
    const shuffled = [...fields.filter((_, n) => n % 2 === 1), ...fields.filter((_, n) => n % 2 === 0)]
    for (const [field, text] of shuffled) await client.hSet(`app:${project.id}:late`, field, text)
    expect(await residue()).toBe(1)
    // A list has an order of its own, and none of its items is a name.
    const items = ['b', 'badly', 'a', 'slept', 'd', 'my', 'c', 'since', 'f', 'moved', 'e', 'brother']
    await client.rPush(`app:${project.id}:list`, items)
    expect(await residue()).toBe(1)
  })

  it('residue counts words at the border of two pieces of a large collection', async () => {
    const { residue } = await erase()
    const items = [...Array.from({ length: 497 }, (_, n) => `item ${n}`), ...part.split(' '), 'end']
    await client.rPush(`app:${project.id}:late`, items)
    expect(await residue()).toBe(1)
  })

  it('erase removes everything at the border of two pieces of a list of characters that residue counts', async () => {
    const key = (name: string) => `app:${project.id}:${name}`
    const lists = [45, 55, 70, 95].map((before) => {
      const items = Array.from({ length: 500 - before }, (_, n) => `item ${n}`)
      return { name: key(`characters-${before}`), items: [...items, ' ', ...mine, ' ', 'end'] }
    })
    for (const { name, items } of lists) await client.rPush(name, items)
    const { residue, later } = await erase()
    expect([await residue(), await later()]).toEqual([0, 0])
  })

  it('erase removes words that are split over repeated fields of the entries of a stream, and residue counts them', async () => {
    const pairs = ['I have', 'slept badly', 'since my', 'brother moved', 'into the', 'attic.']
    const write = async (key: string) => {
      for (const [n, pair] of pairs.entries())
        if (n % 2 === 0) {
          const fields = ['role', 'user', 'n', String(n), 'delta', pair, 'delta', pairs[n + 1] ?? '']
          await client.sendCommand(['XADD', key, '*', ...fields])
        }
      await client.xAdd(key, '*', { role: 'user', delta: theirs })
    }
    const key = `app:${project.id}:stream`
    await write(key)
    const { residue, later } = await erase()
    expect(((await client.xRange(key, '-', '+')) ?? []).map((one) => one?.message.delta)).toEqual([theirs])
    expect([await residue(), await later()]).toEqual([0, 0])
    await write(`app:${project.id}:late`)
    expect(await residue()).toBe(1)
  })

  it('a short text of others protects no reported value that says more, also after the rows are deleted', async () => {
    const member = await madeMember(test, project)
    for (const content of ['the', 'Oh no!']) await madeMessage(test, conversation, member, { content })
    const values = {
      paraphrase: 'The guest never rests, because of the bed in the attic.',
      json: JSON.stringify({ summary: 'A bad sleeper', answer: 'the', because: 'his brother' }),
      label: 'Insomnia: the',
      whole: 'user: Oh no!',
      lines: `[2026-11-30 10:30] user: Oh no!\nthe`,
      beside: `${half} A bad sleeper, says the guest.`,
    }
    const key = (name: string) => `app:${project.id}:${name}`
    const write = async () => {
      for (const [name, value] of Object.entries(values)) await client.set(key(name), value)
    }
    const left = async () => {
      const names = Object.keys(values)
      const found = await Promise.all(names.map((name) => client.exists(key(name))))
      return names.filter((_, n) => found[n] === 1)
    }
    await write()
    for (const name of Object.keys(values))
      await reported(test, project, project.owner, [{ source_id: message, store: 'cache', ref: key(name) }])
    const { all, residue, later } = await erase()
    const before = await left()
    expect(before).toEqual(['whole', 'lines'])
    expect([await residue(), await later()]).toEqual([0, 0])
    // Redis was restored from a backup.
    await write()
    expect(await residue()).toBe(3)
    await test.db.prisma.message.deleteMany({ where: { id: message } })
    await eraseItems(all)
    // Nothing says which words of it were derived, and a long text is somebody else's.
    expect(await left()).toEqual(['whole', 'lines', 'beside'])
    expect([await residue(), await later()]).toEqual([0, 0])
  })

  it('erase keeps entries of another project and another author with an equal sentence', async () => {
    const foreign = await madeProject(test)
    await madeMessage(test, await madeConversation(test, foreign), foreign.owner, { content: mine })
    await test.db.prisma.organisation.update({
      where: { id: project.owner.organisationId },
      data: { storeNamespaces: ['*'] },
    })
    const keys = [foreign.id, foreign.owner.accountId, 'nobody'].map((name) => `app:answers:${name}:1`)
    for (const key of keys) await client.set(key, mine)
    await client.set(`app:answers:${project.id}:1`, mine)
    const { residue, counts } = await erase()
    for (const key of keys) expect(await client.get(key)).toBe(mine)
    expect(await client.exists(`app:answers:${project.id}:1`)).toBe(0)
    expect(counts).toMatchObject({ deleted: 1, retained: 3 })
    expect(await residue()).toBe(0)
  })

  it('erase cuts an entry that names another project when only the erased person wrote the words', async () => {
    const foreign = await madeProject(test)
    await test.db.prisma.organisation.update({
      where: { id: project.owner.organisationId },
      data: { storeNamespaces: ['*'] },
    })
    const key = `app:answers:${foreign.id}:1`
    await client.set(key, `${mine}\nWhatever another model made of it.`)
    await client.set(`app:answers:${foreign.id}:2`, 'Nothing of it.')
    const { residue } = await erase()
    expect(await client.get(key)).toBe('Whatever another model made of it.')
    expect(await residue()).toBe(0)
  })

  describe('the cache data source below a common prefix, without reported keys', () => {
    const namespaces = (storeNamespaces: string[], of = project) =>
      test.db.prisma.organisation.update({ where: { id: of.owner.organisationId }, data: { storeNamespaces } })
    const under = (name: string) => `app:answers:${name}`

    it('erase finds words only in keys that the organization may claim', async () => {
      const foreign = await madeProject(test)
      await namespaces(['of-others-'], foreign)
      const theirKeys = [
        under(`${foreign.owner.organisationId}_1`),
        under('of-others-1'),
        ...['nobodys', 'acme:1'].map(under),
      ]
      for (const key of theirKeys) await client.set(key, turn)
      await namespaces([])
      const own = under(`v2:${project.owner.organisationId}:1`)
      await client.set(own, turn)
      const { residue, later, counts, outside } = await erase()
      expect(await client.get(own)).toBe(half)
      for (const key of theirKeys) expect(await client.get(key)).toBe(turn)
      expect(counts).toEqual({ cut: 1, deleted: 0, retained: 0 })
      expect([await residue(), await later(), outside]).toEqual([0, 0, 1])
    })

    it('erase finds words in keys with a prefix that an admin assigned, and, with *, in all keys that no other organization claims', async () => {
      const foreign = await madeProject(test)
      await namespaces(['of-others-'], foreign)
      const theirKeys = [under(`${foreign.owner.organisationId}_1`), under('of-others-1')]
      for (const key of [...theirKeys, ...['acme:1', 'nobodys'].map(under)]) await client.set(key, turn)
      await namespaces(['acme:'])
      const { items } = await plan()
      expect(items).toHaveLength(1)
      await namespaces(['*'])
      const { residue } = await erase()
      for (const name of ['acme:1', 'nobodys']) expect(await client.get(under(name))).toBe(half)
      for (const key of theirKeys) expect(await client.get(key)).toBe(turn)
      expect(await residue()).toBe(0)
    })

    it('residue and erase read the organization from the plan when its rows are deleted', async () => {
      const deleted = { id: `org_${'0'.repeat(22)}`, namespaces: ['gone:'], isAny: false }
      const items = [`about:${newId('msg')}`, `within:${newId('prj')}`, `within:${JSON.stringify(deleted)}`]
      for (const key of [under(`${deleted.id}_1`), under('gone:1'), under('nobodys')]) await client.set(key, turn)
      await test.db.prisma.message.deleteMany()
      const residue = () => source().residue(nobody, items, test.clock.now(), wordsOf(mine))
      expect(await residue()).toBe(2)
      await eraseItems(items, wordsOf(mine), nobody)
      expect(await residue()).toBe(0)
      expect(await client.get(under('nobodys'))).toBe(turn)
    })
  })

  it('erase reads keys and values with any characters, and long values', async () => {
    const odd = [`app:${project.id}: *[a]?\\ü\n名`, `app:${project.id}:{x}\t"'`]
    for (const key of odd) await client.set(key, mine)
    const long = `app:${project.id}:long`
    await client.set(long, `${'nothing of it '.repeat(50_000)}${mine}`)
    const huge = `app:${project.id}:huge`
    await client.set(huge, `${'nothing of it '.repeat(320_000)}${mine}`)
    const large = `app:${project.id}:large`
    await client.rPush(large, [...Array.from({ length: 2_000 }, (_, n) => `item ${n}`), mine])
    const { residue } = await erase()
    expect(await client.exists([...odd, long, huge])).toBe(0)
    expect(await client.lLen(large)).toBe(2_000)
    expect(await residue()).toBe(0)
  })

  it('erase decides within a minute about a key that provenance reports for 10,000 messages', {
    timeout: 120_000,
  }, async () => {
    const key = `app:${project.id}:of-many`
    await client.set(key, turn)
    await test.db.query(
      undefined,
      `WITH m AS (INSERT INTO messages (id, project_id, conversation_id, author_kind, author_id, role, content, created_at, updated_at)
         SELECT 'many-' || n || '-' || $1, $1, $2, m.author_kind, m.author_id, m.role, 'Message number ' || n || ' of many', m.created_at, m.created_at
         FROM messages m, generate_series(1, 10000) AS n WHERE m.id = $3 RETURNING id)
       INSERT INTO provenance (id, project_id, source_kind, source_id, store, ref, told_by, at)
         SELECT 'prov_' || id, $1, 'message', id, 'cache', $4, 'system:test', now() FROM m`,
      [project.id, conversation.id, message, key],
    )
    await reported(test, project, project.owner, [{ source_id: message, store: 'cache', ref: key }])
    const began = performance.now()
    await erase()
    expect(await client.get(key)).toBe(half)
    expect(performance.now() - began).toBeLessThan(60_000)
  })
})
