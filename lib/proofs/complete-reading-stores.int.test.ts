// Complete readings of Neo4j, Redis and S3: groups of a whole company, nodes without a group, keys and objects that nobody reported.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
} from '#lib/testing/connected-stores.ts'
import { eraseWholeProject, madeAttachment, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

let sentences = 0
const sentence = (): string => {
  const n = `s${++sentences}`
  return `I have suffered${n} from cobalt${n} fever${n} since the house${n} in Rhabarberstrasse burned${n} down.`
}

describe.skipIf(!(await areStoresInstalled()))('a complete reading of connected stores', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let driver: ConnectedTest['driver']
  let redis: ConnectedTest['redis']
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:answers:,uploads/,projects/4711/' })
    ;({ stores, test, driver, redis } = connected)
  })
  afterAll(() => connected?.close())

  async function say() {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const text = sentence()
    const message = await madeMessage(test, conversation, project.owner, { content: text })
    return { project, text, message, erase: () => eraseWholeProject(test, message.path, project.owner) }
  }
  const read = () => test.app.completeReadings.read({ rests: false })
  const lines = async (id: string) => {
    const { json } = await test.fetch('GET', `/v1/receipts/${id}`)
    return Object.fromEntries(json.complete_reading.stores.map((one: { holder: string }) => [one.holder, one]))
  }
  const cypher = (text: string, parameters: Record<string, unknown>) => driver.executeQuery(text, parameters)
  const graphTexts = async (mark: string): Promise<string[]> => {
    const { records } = await cypher(
      `MATCH (n) WHERE n.mark = $mark RETURN properties(n) AS p UNION ALL MATCH ()-[r]->() WHERE r.mark = $mark RETURN properties(r) AS p`,
      { mark },
    )
    return records.map((record) => JSON.stringify(record.get('p')))
  }

  it('erases words in a group of the whole company and in nodes without a group', async () => {
    const { text, erase } = await say()
    const [mark, others] = [crypto.randomUUID(), sentence()]
    await cypher(
      `CREATE (e:Episodic {uuid: randomUUID(), mark: $mark, group_id: $group, name: 'chat', source: 'message', source_description: 'chat',
         content: $text, entity_edges: [], created_at: datetime(), valid_at: datetime()})
       CREATE (n:Note {mark: $mark, body: $both, tags: ['x', $text]})
       CREATE (m:Entity {uuid: randomUUID(), mark: $mark, name: 'cat', summary: $text})
       CREATE (n)-[:ABOUT {mark: $mark, why: $text}]->(m)`,
      { mark, group: `company-${mark}`, text, both: `${others} ${text}` },
    )
    const receiptId = await erase()
    expect((await graphTexts(mark)).join('\n')).toContain(text)
    expect(await read()).toBe('completed')
    const left = (await graphTexts(mark)).join('\n')
    expect(left).not.toContain(text.slice(0, 40))
    expect(left).toContain(others.slice(0, 40))
    expect((await lines(receiptId))['graph.episodes']).toMatchObject({ left: 0 })
  })

  it('cuts an equal sentence from an episode in a group of no project, and keeps everything else in it', async () => {
    const { text, erase } = await say()
    const [mark, others] = [crypto.randomUUID(), sentence()]
    await cypher(
      `CREATE (e:Episodic {uuid: randomUUID(), mark: $mark, group_id: $group, name: 'chat', source: 'message', source_description: 'chat',
         content: $both, entity_edges: [], created_at: datetime(), valid_at: datetime()})`,
      { mark, group: `company-${mark}`, both: `Otto: ${others}\nLena: ${text}` },
    )
    const receiptId = await erase()
    expect(await read()).toBe('completed')
    const left = (await graphTexts(mark)).join('\n')
    expect(left).toContain(others.slice(0, 40))
    expect(left).not.toContain(text.slice(0, 40))
    expect((await lines(receiptId))['graph.episodes']).toMatchObject({ left: 0 })
  })

  it('erases words from keys of every type in the key space, and counts keys outside it as left', async () => {
    const { text, erase } = await say()
    const others = sentence()
    const key = (name: string) => `app:answers:${crypto.randomUUID()}:${name}`
    const [string, list, hash, outside] = [key('string'), key('list'), key('hash'), `elsewhere:${crypto.randomUUID()}`]
    const receiptId = await erase()
    // Written after the erasure: nothing reports these keys, and no second search is due yet.
    await redis.set(string, text)
    await redis.rPush(list, [others, text])
    await redis.hSet(hash, { kept: others, gone: text })
    await redis.set(outside, text)
    expect(await read()).toBe('completed')
    expect(await redis.get(string)).toBeNull()
    expect(await redis.lRange(list, 0, -1)).toEqual([others])
    expect(await redis.hGetAll(hash)).toEqual({ kept: others })
    expect(await redis.get(outside)).toBe(text)
    expect((await lines(receiptId))['cache.entries']).toMatchObject({ erased: 3, left: 1 })
    await redis.del(outside)
  })

  it('reads each page of Redis once, also when it erases a key of the page', async () => {
    const { text, erase } = await say()
    const mark = crypto.randomUUID()
    const receiptId = await erase()
    const fillers = Array.from({ length: 2_000 }, (_, n) => `elsewhere:${mark}:${n}`)
    await redis.mSet(fillers.flatMap((name) => [name, 'nothing']))
    const gone = Array.from({ length: 3 }, (_, n) => `app:answers:${mark}:${n}`)
    for (const key of gone) await redis.set(key, text)
    const watcher = redis.duplicate()
    await watcher.connect()
    const cursors: string[] = []
    try {
      // Only a complete reading asks for pages of this size.
      await watcher.monitor((line) => {
        const cursor = /"SCAN" "(\d+)" "COUNT" "250"/.exec(line.toString())?.[1]
        if (cursor !== undefined) cursors.push(cursor)
      })
      expect(await read()).toBe('completed')
    } finally {
      watcher.destroy()
    }
    for (const key of gone) expect(await redis.get(key)).toBeNull()
    expect((await lines(receiptId))['cache.entries']).toMatchObject({ erased: 3, left: 0 })
    expect(cursors.length).toBeGreaterThan(4)
    expect(cursors).toEqual([...new Set(cursors)])
    await redis.del(fillers)
  })

  it('finds words that continue from one portion of a large list, stream or hash to the next', async () => {
    const { text, erase } = await say()
    // The reader gets 500 members at a time: half of the words are in the next portion.
    const words = text.split(' ').slice(0, 10)
    const members = [...Array.from({ length: 500 - words.length / 2 }, (_, n) => `nothing${n}`), ...words]
    const receiptId = await erase()
    const mark = crypto.randomUUID()
    const [list, stream, hash] = [`elsewhere:list:${mark}`, `elsewhere:stream:${mark}`, `elsewhere:hash:${mark}`]
    await redis.rPush(list, members)
    for (const member of members) await redis.xAdd(stream, '*', { token: member })
    await redis.hSet(hash, Object.fromEntries(members.map((member, n) => [String(n).padStart(4, '0'), member])))
    expect(await read()).toBe('completed')
    expect((await lines(receiptId))['cache.entries']).toMatchObject({ found: 3, left: 3 })
    await redis.del([list, stream, hash])
  })

  it('erases words from objects in the key space in every version', async () => {
    const { text, erase } = await say()
    const others = sentence()
    const [key, outside] = [`uploads/${crypto.randomUUID()}.txt`, `elsewhere/${crypto.randomUUID()}.txt`]
    const receiptId = await erase()
    await stores.putObject(key, text)
    await stores.putObject(key, `${others}\n${text}`)
    await stores.putObject(outside, text)
    expect(await read()).toBe('completed')
    const contents = [...(await stores.everything())].filter(([place]) => place.includes(key)).join('\n')
    expect(contents).not.toContain(text.slice(0, 40))
    expect((await lines(receiptId))['objects.bytes']).toMatchObject({ left: 1 })
  })

  it('reads objects of applications below projects/, snapshots/ and knowledgepulse-, and keeps its own', async () => {
    const { text, erase } = await say()
    const others = await say()
    const attachment = await madeAttachment(test, others.message, others.project.owner, { bytes: text })
    const mark = crypto.randomUUID()
    const inside = `projects/4711/${mark}/transcript.txt`
    const upload = `projects/${others.project.id}/messages/${others.message.id}/${newId('att')}`
    const outside = [`snapshots/${mark}/crm.json`, `knowledgepulse-${mark}/notes.txt`, `projects/${mark}.txt`, upload]
    const receiptId = await erase()
    for (const key of [inside, ...outside]) await stores.putObject(key, text)
    expect(await read()).toBe('completed')
    const contents = [...(await stores.everything())].filter(([, value]) => String(value).includes(text.slice(0, 40)))
    const places = contents.map(([place]) => place).join('\n')
    expect(places).not.toContain(inside)
    for (const key of [...outside, attachment.id]) expect(places).toContain(key)
    expect((await lines(receiptId))['objects.bytes']).toMatchObject({ erased: 1, left: outside.length, explained: 0 })
  })

  it('writes nothing to the stores when it finds nothing', async () => {
    const { erase } = await say()
    const receiptId = await erase()
    const mark = crypto.randomUUID()
    await cypher(
      `CREATE (n:Note {mark: $mark, body: $text})-[:ABOUT {mark: $mark, why: $text}]->(m:Note {mark: $mark})`,
      {
        mark,
        text: sentence(),
      },
    )
    // Other test files write to the same graph server meanwhile, so of the graph only these records are compared.
    const contents = async () => ({
      graph: (await graphTexts(mark)).sort(),
      others: [...(await stores.everything())].filter(([place]) => !/^[45]:/.test(place)),
    })
    const before = await contents()
    expect(await read()).toBe('completed')
    expect(await contents()).toEqual(before)
    expect(before.graph).toHaveLength(3)
    expect(Object.keys(await lines(receiptId)).sort()).toEqual([
      'cache.entries',
      'checkpoints.messages',
      'graph.episodes',
      'holds.versions',
      'objects.bytes',
      'projects.quotations',
    ])
  })
})
