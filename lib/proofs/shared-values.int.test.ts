// Values that applications build from messages of two people: transcripts, tables, exports and records. After one of them is erased, nothing of
// the person remains. Every word of the other one does, unless the value contains the id of an erased message and is not a list of records
// that the registry explains: then it is deleted.
import { gzipSync } from 'node:zlib'
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
import {
  dataOf,
  type MadeConversation,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { sampled } from '#lib/testing/sampling.ts'

const name = 'Rosalind Quennell'
const own = 'I have suffered from cobalt fever since the house in Rhabarberstrasse burned down last winter'
const their = 'My neighbor repairs old violins in a shed behind the railway station every Thursday'
/** Too short to be found by words. */
const secret = 'I am seropositive'
const secretNumber = 0.987654321
interface Pair {
  mark: string
  project: MadeProject
  conversation: MadeConversation
  ids: { own: string; their: string }
}

describe.skipIf(!(await areStoresInstalled()))('values made from messages of two people', () => {
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

  const json = ({ ids }: Pair) => [
    { id: ids.own, role: 'user', user: name, text: own },
    { id: ids.their, role: 'user', user: 'Otto', text: their },
  ]
  const brief = (of: Pair) => json(of).map((one, n) => (n === 0 ? { ...one, text: secret } : one))
  const object = (of: Pair, text: string | Uint8Array, more = '') => stores.putObject(`uploads/${of.mark}${more}`, text)
  const thread = (of: Pair, more: Record<string, unknown>) => {
    const messages = [new HumanMessage({ content: `${their} ${of.mark}`, id: of.ids.their })]
    return writeThread(stores.saver, `t-${of.mark}`, { messages, ...more }, { at: test.clock.now() })
  }
  const episode = ({ project, mark }: Pair, content: string, source = 'json') =>
    driver.executeQuery(
      `CREATE (e:Episodic {uuid: randomUUID(), mark: $mark, name: 'chat', source: $source, source_description: 'chat', content: $content,
         entity_edges: [], created_at: datetime(), valid_at: datetime(), group_id: $group})`,
      { mark, content, source, group: project.groupId },
    )
  const shapes: Record<string, (of: Pair) => Promise<unknown>> = {
    'transcript in an object': (of) => object(of, JSON.stringify({ version: 1, messages: json(of) }), '.json'),
    'transcript with a title in an object': (of) =>
      object(of, JSON.stringify({ title: secret, messages: json(of) }), '.json'),
    'transcript with descriptions in a string': (of) =>
      redis.set(
        `app:${of.mark}`,
        JSON.stringify({
          title: secret,
          count: 2,
          participants: [name, 'Otto'],
          messages: json(of).map((one) => ({ ...one, mood: secret })),
          last_message: { text: own },
        }),
      ),
    'an answer from sources in an object': (of) =>
      object(of, JSON.stringify({ answer: secret, sources: json(of) }), '.json'),
    'transcript in a field of a hash': (of) =>
      redis.hSet(`app:${of.mark}`, { summary: their, messages: JSON.stringify(json(of)) }),
    'transcripts in a list': (of) => redis.rPush(`app:${of.mark}`, ['[]', JSON.stringify(json(of))]),
    'NDJSON in an object': (of) =>
      object(
        of,
        json(of)
          .map((one) => JSON.stringify(one))
          .join('\n'),
        '.jsonl',
      ),
    'records by id in an object': (of) =>
      object(of, JSON.stringify(Object.fromEntries(json(of).map((one) => [one.id, one]))), '.json'),
    'CSV in an object': (of) =>
      object(
        of,
        `id,user,text\n${json(of)
          .map((one) => `${one.id},${one.user},"${one.text}"`)
          .join('\n')}\n`,
        '.csv',
      ),
    'HTML in an object': (of) =>
      object(
        of,
        `<ul>${json(of)
          .map((one) => `<li data-id="${one.id}"><b>${one.user}</b> ${one.text}</li>`)
          .join('')}</ul>`,
        '.html',
      ),
    'YAML in an object': (of) =>
      object(
        of,
        json(of)
          .map((one) => `- id: ${one.id}\n  user: ${one.user}\n  text: ${one.text}\n`)
          .join(''),
        '.yaml',
      ),
    'table of Markdown in an object': (of) =>
      object(
        of,
        `| id | who | text |\n|---|---|---|\n${json(of)
          .map((one) => `| ${one.id} | ${one.user} | ${one.text} |`)
          .join('\n')}\n`,
        '.md',
      ),
    'gzip in an object': (of) => object(of, gzipSync(JSON.stringify({ messages: json(of) })), '.json.gz'),
    'names as keys in an object': (of) =>
      object(of, JSON.stringify({ [name]: own, Otto: their, [`${name} 2`]: their }), '.json'),
    'contacts in an object': (of) =>
      object(
        of,
        [name, 'Otto Maier']
          .map((one, n) => `BEGIN:VCARD\r\nVERSION:3.0\r\nFN:${one}\r\nNOTE:${n === 0 ? own : their}\r\nEND:VCARD\r\n`)
          .join(''),
        '.vcf',
      ),
    'calendar in an object': (of) =>
      object(
        of,
        `BEGIN:VEVENT\r\nATTENDEE;CN="${name}":mailto:rq@example.org\r\nDESCRIPTION:${their}\r\nEND:VEVENT\r\n`,
        '.ics',
      ),
    'a log in an object': (of) =>
      object(
        of,
        `${json(of)
          .map((one) => `2026-11-30T04:00:00Z GET /find?by=${one.id}&q=${encodeURIComponent(one.text)} 200`)
          .join('\n')}\n`,
        '.log',
      ),
    'transcript in a string': (of) => redis.set(`app:${of.mark}`, JSON.stringify({ messages: json(of) })),
    'reported transcript in a string': async (of) => {
      await redis.set(`app:${of.mark}`, JSON.stringify({ messages: json(of) }))
      const pointer = { source_id: of.ids.own, store: 'cache' as const, ref: `app:${of.mark}` }
      await reported(test, of.project, of.project.agent, [pointer])
    },
    'reported transcript in an object': async (of) => {
      await object(of, JSON.stringify(json(of)), '.json')
      const pointer = { source_id: of.ids.own, store: 'objects' as const, ref: `uploads/${of.mark}.json` }
      await reported(test, of.project, of.project.agent, [pointer, { ...pointer, source_id: of.ids.their }])
    },
    'list of messages': (of) =>
      redis.rPush(
        `app:${of.mark}`,
        json(of).map((one) => JSON.stringify(one)),
      ),
    'hash by id': (of) => redis.hSet(`app:${of.mark}`, Object.fromEntries(json(of).map((one) => [one.id, one.text]))),
    'hash by name': (of) =>
      redis.hSet(`app:${of.mark}`, { [name]: their, [name.toUpperCase()]: `${their} too`, Otto: own }),
    'sorted set': (of) =>
      redis.zAdd(
        `app:${of.mark}`,
        json(of).map((one, score) => ({ score, value: JSON.stringify(one) })),
      ),
    stream: async (of) => {
      for (const one of json(of)) await redis.xAdd(`app:${of.mark}`, '*', { id: one.id, text: one.text })
    },
    'JSON episode': (of) => episode(of, JSON.stringify({ messages: json(of) })),
    'names as keys in an episode': (of) =>
      episode(of, JSON.stringify({ [name]: own, Otto: their, [name.toUpperCase()]: their })),
    'text episode': (of) => episode(of, `${name}: ${own}\nOtto: ${their}`, 'message'),
    'records by id in a state': (of) => thread(of, { byId: Object.fromEntries(json(of).map((one) => [one.id, one])) }),
    'names as keys in a state': (of) => thread(of, { notes: { [name]: their, [name.toUpperCase()]: `${their} too` } }),
    'transcript as text in a state': (of) => thread(of, { log: JSON.stringify(json(of)) }),
    'an item with ids of both': (of) => stores.remember(['memories'], of.mark, { mark: of.mark, messages: json(of) }),
    'short words in an object': (of) => object(of, JSON.stringify({ messages: brief(of) }), '.json'),
    'short words beside the record in an object': (of) =>
      object(of, JSON.stringify([...json(of), { id: of.ids.their, text: their, about: secret }]), '.json'),
    'short words in a string': (of) => redis.set(`app:${of.mark}`, JSON.stringify(brief(of))),
    'short words in an item': (of) => stores.remember(['memories'], of.mark, { mark: of.mark, messages: brief(of) }),
    'embeddings in a string': (of) =>
      redis.set(
        `app:${of.mark}`,
        JSON.stringify([
          { id: of.ids.own, embedding: [0.1234, secretNumber] },
          { id: of.ids.their, text: their },
        ]),
      ),
    'an answer by question in an object': (of) =>
      object(of, JSON.stringify({ mark: of.mark, [own]: `${secret}, so call a doctor`, b: their }), '.json'),
    'an item with names as keys': (of) =>
      stores.remember(['memories'], of.mark, { mark: of.mark, [name]: their, Otto: own }),
  }
  /** Values that contain the id of an erased message, and in which anything else may paraphrase it. */
  const namedWhole = new Set([
    'an answer from sources in an object',
    'CSV in an object',
    'HTML in an object',
    'YAML in an object',
    'table of Markdown in an object',
    'gzip in an object',
    'a log in an object',
    'an item with ids of both',
    'short words in an item',
    'an answer by question in an object',
  ])
  const encoded = /[A-Za-z0-9+/]{60,}={0,2}/g
  const readable = (texts: readonly string[]): string =>
    texts.map((one) => `${one} ${one.replaceAll(encoded, (some) => Buffer.from(some, 'base64').toString())}`).join('\n')
  async function contentOf(mark: string): Promise<string> {
    const all = [
      ...Map.groupBy(await stores.everything(), ([place]) => /^threads\.\S+ \d+ /.exec(place)?.[0] ?? place).values(),
    ].map((columns) => columns.map(([place, text]) => `${place} ${text}`).join('\n'))
    return decodeURIComponent(readable(all.filter((one) => one.includes(mark))).replaceAll(/%(?![0-9A-F]{2})/g, '%25'))
  }

  it.each(sampled('values made from messages of two people', Object.keys(shapes), 8))(
    '%s',
    async (shape) => {
      const project = await madeProject(test)
      const conversation = await madeConversation(test, project, {}, project.agent)
      const said = (content: string, external: string, who: string) =>
        madeMessage(test, conversation, project.agent, { content, author: { external_id: external, name: who } })
      const of: Pair = {
        mark: `${project.id}-m${crypto.randomUUID()}`,
        project,
        conversation,
        ids: { own: (await said(own, 'u-1', name)).id, their: (await said(their, 'u-2', 'Otto Maier')).id },
      }
      await shapes[shape]?.(of)
      const before = await contentOf(of.mark)
      const list = `${project.path}/participants?external_id=u-1`
      const [participant] = await dataOf(test, 'GET', list, project.owner)
      const body = { kinds: ['erasure'], grace: 'now' }
      const path = `${project.path}/participants/${participant.id}/requests`
      const { id } = await dataOf(test, 'POST', path, project.owner, { body })
      await drain(test)
      const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
      const receipt = (await test.fetch('GET', `/v1/receipts/${row.receiptId}`)).json
      const after = await contentOf(of.mark)
      const words = own.split(' ')
      const runs = words.flatMap((_, at) => (at + 6 <= words.length ? [words.slice(at, at + 6).join(' ')] : []))
      const isDeleted = namedWhole.has(shape)
      const outcome = {
        wasReadable: before.includes(their) || shape.startsWith('gzip'),
        left: runs.filter((run) => after.includes(run)).length,
        names: after.toUpperCase().includes('QUENNELL'),
        isSecretLeft: after.includes(secret) || after.includes(String(secretNumber)),
        isKept: after.includes(their),
      }
      expect(outcome).toEqual({ wasReadable: true, left: 0, names: false, isSecretLeft: false, isKept: !isDeleted })
      expect(receipt.stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
    },
    240_000,
  )
})
