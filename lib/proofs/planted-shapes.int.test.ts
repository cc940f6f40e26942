// Shapes of the words of an erased person that nobody reported, written by the clients of applications into every store: words that are split,
// names beside the content of others. Afterwards nothing of the person remains.
import { gzipSync } from 'node:zlib'
import { CopyObjectCommand, PutObjectCommand } from '@aws-sdk/client-s3'
import { HumanMessage } from '@langchain/core/messages'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { TestApp } from '#lib/testing/app.ts'
import {
  areStoresInstalled,
  type ConnectedStores,
  type ConnectedTest,
  connectedTest,
  writeThread,
} from '#lib/testing/connected-stores.ts'
import { drain } from '#lib/testing/jobs.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

const name = 'Rosalind Quennell'
const own = 'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter'
const their = 'My neighbor repairs old violins in a shed behind the railway station every Thursday'
const words = own.split(' ')
const pairs = words.flatMap((word, at) => (at % 2 === 0 ? [`${word} ${words[at + 1] ?? ''}`.trim()] : []))

interface Planted {
  mark: string
  ids: { their: string }
  project: { id: string; groupId: string }
}

describe.skipIf(!(await areStoresInstalled()))('planted shapes', () => {
  let connected: ConnectedTest
  let stores: ConnectedStores
  let test: TestApp
  let driver: ConnectedTest['driver']
  let redis: ConnectedTest['redis']
  beforeAll(async () => {
    connected = await connectedTest({ KP_POINTER_PREFIXES: 'app:,uploads/' })
    ;({ stores, test, driver, redis } = connected)
  }, 240_000)
  afterAll(() => connected?.close())

  const key = ({ mark }: Planted, more = '') => `app:${mark}${more}`
  const put = (
    { mark }: Planted,
    more: Omit<ConstructorParameters<typeof PutObjectCommand>[0], 'Bucket' | 'Key'>,
    end = '.txt',
  ) => stores.s3.send(new PutObjectCommand({ Bucket: stores.bucket, Key: `uploads/${mark}${end}`, ...more }))
  const graph = (query: string, of: Planted, more: object) =>
    driver.executeQuery(query, { mark: of.mark, group: of.project.groupId, ...more })
  const fact = (of: Planted, more: object) =>
    graph(
      `CREATE (a:Entity {uuid: randomUUID(), name: 'Otto', summary: '', created_at: datetime(), group_id: $group})
         -[r:RELATES_TO {uuid: randomUUID(), mark: $mark, name: 'REPAIRS', fact: $their, episodes: [], created_at: datetime(), group_id: $group}]->
         (b:Entity {uuid: randomUUID(), name: 'shed', summary: '', created_at: datetime(), group_id: $group}) SET r += $more`,
      of,
      { more, their: `${their} ${of.mark}` },
    )
  const thread = (of: Planted, more: Record<string, unknown>) => {
    const messages = [new HumanMessage({ content: `${their} ${of.mark}`, id: of.ids.their })]
    return writeThread(stores.saver, `t-${of.mark}`, { messages, ...more }, { at: test.clock.now() })
  }

  const shapes: Record<string, (of: Planted) => Promise<unknown>> = {
    'tokens with their scores': (of) =>
      redis.zAdd(
        key(of),
        words.map((value, score) => ({ score, value })),
      ),
    'tokens in JSON over a list': (of) =>
      redis.rPush(key(of), [...pairs.map((delta, n) => JSON.stringify({ n, delta })), JSON.stringify({ text: their })]),
    'tokens in a stream': async (of) => {
      for (const pair of pairs) await redis.xAdd(key(of), '*', { delta: pair })
      await redis.xAdd(key(of), '*', { delta: their })
    },
    'tokens with roles in a stream': async (of) => {
      for (const pair of [...pairs, their]) await redis.xAdd(key(of), '*', { role: 'user', n: '1', delta: pair })
    },
    'repeated fields in a stream': async (of) => {
      for (const [n, pair] of pairs.entries())
        if (n % 2 === 0)
          await redis.sendCommand(['XADD', key(of), '*', 'role', 'user', 'delta', pair, 'delta', pairs[n + 1] ?? ''])
      await redis.xAdd(key(of), '*', { role: 'user', delta: their })
    },
    'two people in one string': (of) => redis.set(key(of), `${name}: ${own}\nOtto: ${their}\n`),
    'an assistant that quotes in JSON': (of) =>
      redis.set(key(of), JSON.stringify([{ role: 'assistant', text: `You said "${own}". ${their}` }])),
    'arguments of a tool call': (of) =>
      redis.set(
        key(of),
        JSON.stringify({ tool_calls: [{ name: 'search', arguments: JSON.stringify({ q: own, about: their }) }] }),
      ),
    'a name in metadata': (of) => put(of, { Body: their, Metadata: { who: name } }),
    'a name in a tag': (of) => put(of, { Body: their, Tagging: `who=${encodeURIComponent(name)}` }),
    'a name as the file name of a download': (of) =>
      put(of, { Body: their, ContentDisposition: `attachment; filename="${name}.txt"` }),
    'a name in the content type': (of) => put(of, { Body: their, ContentType: `text/plain; name="${name}"` }),
    'words over two entries of metadata': (of) =>
      put(of, { Body: their, Metadata: { first: words.slice(0, 4).join(' '), second: words.slice(4).join(' ') } }),
    'elements with CDATA': (of) =>
      put(of, { Body: `<log><a><![CDATA[${own}]]></a><b><![CDATA[${their}]]></b></log>` }, '.xml'),
    'both in one CDATA': (of) => put(of, { Body: `<log><![CDATA[${own}\n${their}]]></log>` }, '.xml'),
    'JSON in a string of JSON': (of) =>
      redis.set(key(of), JSON.stringify({ log: JSON.stringify({ inner: JSON.stringify([own, their]) }) })),
    'UTF-16 in Base64': (of) =>
      redis.set(key(of), JSON.stringify({ data: Buffer.from(`${own}\n${their}`, 'utf16le').toString('base64') })),
    'gzip in Base64': (of) =>
      redis.set(key(of), JSON.stringify({ data: gzipSync(`${own}\n${their}`).toString('base64') })),
    'gzip in Base64 beside text': (of) =>
      redis.set(key(of), JSON.stringify({ data: gzipSync(own).toString('base64'), text: their })),
    'a transcript in an item of a list': (of) => redis.rPush(key(of), ['first', `${name}: ${own}\nOtto: ${their}`]),
    'a transcript in a field of a hash': (of) =>
      redis.hSet(key(of), { log: `${name}: ${own}\nOtto: ${their}`, n: '1' }),
    'words over fields of a large hash': (of) =>
      redis.hSet(
        key(of),
        Object.fromEntries([
          ...pairs.map((pair, at) => [`part:${String(at).padStart(3, '0')}`, pair]),
          ...Array.from({ length: 150 }, (_, at) => [`other:${at}`, `value ${at}`]),
          ['their', their],
        ]),
      ),
    'a name in an attribute of an entity': (of) =>
      graph(
        `CREATE (:Entity {uuid: randomUUID(), mark: $mark, name: 'violin', summary: $their, contact: $name, created_at: datetime(), group_id: $group})
         -[:RELATES_TO {uuid: randomUUID(), name: 'IS_IN', fact: 'The violin is in the shed', episodes: [], created_at: datetime(), group_id: $group}]->
         (:Entity {uuid: randomUUID(), name: 'shed', summary: '', created_at: datetime(), group_id: $group})`,
        of,
        { their, name },
      ),
    'a copied object': async (of) => {
      await put(of, { Body: `${own}\n${their}`, Metadata: { who: name } })
      const from = `${stores.bucket}/uploads/${of.mark}.txt`
      await stores.s3.send(
        new CopyObjectCommand({ Bucket: stores.bucket, Key: `uploads/${of.mark}-copy.txt`, CopySource: from }),
      )
    },
    'UTF-16 without a mark': (of) => put(of, { Body: Buffer.from(`${own}\n${their}`, 'utf16le') }),
    'JSON with an escaped zero': (of) => redis.set(key(of), JSON.stringify({ text: own, other: `${their}\0` })),
    'words in an attribute of a fact': (of) => fact(of, { quote: own }),
    'words over a list of a fact': (of) => fact(of, { tokens: pairs }),
    'words over two channels': (of) =>
      thread(of, { a_first: words.slice(0, 5).join(' '), b_second: words.slice(5, 10).join(' ') }),
  }

  const encoded = /[A-Za-z0-9+/]{60,}={0,2}/g
  const readable = (text: string): string =>
    `${text} ${text.replaceAll(encoded, (some) => Buffer.from(some, 'base64').toString())}`

  const all = async () =>
    [
      ...Map.groupBy(await stores.everything(), ([place]) => /^threads\.\S+ \d+ /.exec(place)?.[0] ?? place).values(),
    ].map((columns) => columns.map(([place, text]) => `${place} ${text}`).join('\n'))
  const contentOf = (some: readonly string[], mark: string) =>
    readable(some.filter((one) => one.includes(mark)).join('\n'))
  const folded = (text: string) => text.toLowerCase().replaceAll(/[^a-z0-9]+/g, ' ')
  const runs = words.flatMap((_, at) => (at + 6 <= words.length ? [folded(words.slice(at, at + 6).join(' '))] : []))
  async function talk() {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, {}, project.agent)
    const said = async (content: string, external: string, who: string) =>
      (await madeMessage(test, conversation, project.agent, { content, author: { external_id: external, name: who } }))
        .id
    await said(own, 'u-1', name)
    return { project, ids: { their: await said(their, 'u-2', 'Otto Maier') } }
  }
  async function plantAll(of: Pick<Planted, 'ids' | 'project'>) {
    const planted = new Map<string, Planted>()
    for (const [shape, plant] of Object.entries(shapes)) {
      const one = { ...of, mark: crypto.randomUUID() }
      planted.set(shape, one)
      await plant(one)
    }
    return planted
  }
  async function eraseAuthor(project: Awaited<ReturnType<typeof talk>>['project']): Promise<string> {
    const [participant] = await dataOf(test, 'GET', `${project.path}/participants?external_id=u-1`, project.owner)
    const body = { kinds: ['erasure'], grace: 'now' }
    const path = `${project.path}/participants/${participant.id}/requests`
    const { id } = await dataOf(test, 'POST', path, project.owner, { body })
    await drain(test)
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    expect(row.state).toBe('completed')
    return row.receiptId ?? ''
  }
  async function outcomesOf(planted: ReadonlyMap<string, Planted>, before: readonly string[]) {
    const after = await all()
    return [...planted].map(([shape, { mark }]) => {
      const [was, now] = [contentOf(before, mark), contentOf(after, mark)]
      const rare = words.filter((word) => word.length > 5 && now.includes(word)).length
      const outcome = {
        shape,
        hasName: /quennell/i.test(now),
        hasWords: runs.some((run) => folded(now).includes(run)) || rare > 3,
        isLost: was.includes(their) && !now.includes(their),
      }
      return outcome
    })
  }

  it('leave nothing of the erased person, and no word of others is lost', async () => {
    const of = await talk()
    const planted = await plantAll(of)
    const before = await all()
    const receiptId = await eraseAuthor(of.project)
    const outcomes = await outcomesOf(planted, before)
    expect(outcomes.flatMap(({ shape, hasName, hasWords }) => (hasName || hasWords ? [shape] : []))).toEqual([])
    // Words in metadata describe a content that is derived from them.
    const lost = outcomes.flatMap(({ shape, isLost }) => (isLost ? [shape] : []))
    expect(lost).toEqual(['words over two entries of metadata'])
    const { stores: lines } = (await test.fetch('GET', `/v1/receipts/${receiptId}`)).json
    expect(lines.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
  }, 600_000)

  it('written after the erasure leave no words when every store was read', async () => {
    const of = await talk()
    await eraseAuthor(of.project)
    const planted = await plantAll(of)
    const before = await all()
    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    const outcomes = await outcomesOf(planted, before)
    expect(outcomes.flatMap(({ shape, hasWords }) => (hasWords ? [shape] : []))).toEqual([])
  }, 600_000)
})
