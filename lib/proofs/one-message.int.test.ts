import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { Storage } from '@google-cloud/storage'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import {
  approveTool,
  assistant,
  historyOf,
  messagesOf,
  writeMessage,
} from '#lib/stores/checkpoints/suite/written-thread.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { areStoresInstalled, connectTestStores, storeServers } from '#lib/testing/connected-stores.ts'
import { type Contents, filesOf, locationsOf, rowsOf } from '#lib/testing/everything.ts'
import { dealGraph, sentence } from '#lib/testing/graphs.ts'
import type { GraphPlanting } from '#lib/testing/planted-graph.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  dataOf,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { gcsServer } from '#lib/testing/services/shared.ts'

/** An installation with its stores, and direct access to them. */
interface MessageLocation {
  app: TestApp
  planting: GraphPlanting
  /** Writes the checkpoints. */
  saver: PostgresSaver
  /** Puts an item into the long-term store next to the checkpoints. */
  remember(namespace: string[], key: string, value: Record<string, unknown>): Promise<void>
  /** Adds a version of an object. */
  overwrite(key: string, text: string): Promise<void>
  everything(): Promise<Contents>
  /** Every node and edge of a group as JSON. */
  graphRows(group: string): Promise<string[]>
}
const closing: (() => Promise<unknown>)[] = []
afterAll(async () => {
  for (const close of closing.reverse()) await close()
})
const opened = <T>(what: T, close: (what: T) => Promise<unknown>): T => {
  closing.push(() => close(what))
  return what
}
const together = (...all: Contents[]): Contents => new Map(all.flatMap((contents) => [...contents]))

/** The tables of the graph, of which one group is read as JSON. */
const graphTables = [
  'graph_episodes',
  'graph_entities',
  'graph_facts',
  'graph_mentions',
  'graph_gatherings',
  'graph_links',
]
const rowsOfGroup = (url: string, group: string): Promise<string[]> =>
  withConnection(url, async (client) => {
    const rows: string[] = []
    for (const table of graphTables) {
      const found = await client.query<{ row: string }>(
        `SELECT to_jsonb(t)::text AS row FROM ${table} t WHERE group_id = $1`,
        [group],
      )
      rows.push(...found.rows.map(({ row }) => row))
    }
    return rows.sort()
  })
/** Keys and values of the in-process cache. */
async function cachedIn({ cache }: TestApp['app']['stored']): Promise<Contents> {
  const keys = await cache.find({ patterns: ['*'], about: [] })
  const entries = keys.map(async (key) => [key, `${key} ${await cache.get(key.replace('kp:cache:', ''))}`] as const)
  return new Map(await Promise.all(entries))
}

/** Stores in tables and in the process. The bucket can be a server. */
async function inTables(
  settings: Record<string, string> = {},
  bucket?: { put(key: string, text: string): Promise<void>; contents(): Promise<Contents> },
): Promise<MessageLocation> {
  const app = opened(await testApp(settings), (one) => one.close())
  const saver = opened(PostgresSaver.fromConnString(app.ownerUrl, { schema: 'langgraph' }), (one) => one.end())
  const memory = opened(PostgresStore.fromConnString(app.ownerUrl, { schema: 'langgraph' }), (one) => one.stop())
  const { objects } = app.app.stored
  return {
    app,
    planting: postgresPlanting(app.db),
    saver,
    remember: (...item) => memory.put(...item),
    overwrite:
      bucket?.put ?? ((key, text) => objects.put(key, Readable.from([Buffer.from(text)]), { mediaType: 'text/plain' })),
    everything: async () =>
      together(
        await rowsOf(app.ownerUrl),
        await filesOf(app.dataDir),
        await cachedIn(app.app.stored),
        (await bucket?.contents()) ?? new Map(),
      ),
    graphRows: (group) => rowsOfGroup(app.ownerUrl, group),
  }
}

async function withGoogle(): Promise<MessageLocation> {
  const { endpoint } = await gcsServer()
  const storage = new Storage({ apiEndpoint: endpoint, projectId: 'local', useAuthWithCustomEndpoint: false })
  const [bucket] = await storage.createBucket(`one-message-${Date.now()}`, { versioning: { enabled: true } })
  return inTables(
    { KP_OBJECTS_URL: `gs://${bucket.name}?endpoint=${endpoint}` },
    {
      put: (key, text) => bucket.file(key).save(text, { resumable: false }),
      async contents() {
        const [files] = await bucket.getFiles({ versions: true })
        const named = files.map(async (file) => {
          const [bytes] = await bucket.file(file.name, { generation: file.metadata.generation ?? 0 }).download()
          return [`${file.name} ${file.metadata.generation}`, `${file.name} ${bytes}`] as const
        })
        return new Map(await Promise.all(named))
      },
    },
  )
}

async function withServers(): Promise<MessageLocation> {
  const servers = opened(await storeServers(), (one) => one.close())
  const stores = opened(await connectTestStores(servers), (one) => one.close())
  const app = opened(await testApp(stores.settings), (one) => one.close())
  /** The graph server is shared by all tests: other groups are ignored. */
  async function inStores(): Promise<Contents> {
    const groups = await app.db.query<{ group: string }>('groups', 'SELECT group_id AS group FROM projects')
    const own = new Set(groups.map(({ group }) => group))
    const isOthers = (text: string): boolean => {
      const group = /"group_id":"([^"]*)"/.exec(text)?.[1]
      return group !== undefined && !own.has(group)
    }
    return new Map([...(await stores.everything())].filter(([, text]) => !isOthers(text)))
  }
  return {
    app,
    planting: stores.planting,
    saver: stores.saver,
    remember: stores.remember,
    overwrite: stores.putObject,
    everything: async () => together(await rowsOf(app.ownerUrl), await filesOf(app.dataDir), await inStores()),
    graphRows: stores.graphRows,
  }
}

/** A row of a graph. An edge names both ends, in columns or after its type. */
const Edge = z.object({
  uuid: z.string().optional(),
  source: z.string().nullish(),
  target: z.string().nullish(),
  of: z.array(z.string()).default([]),
})

/** Waits for the end of the erasure, because on a busy machine the request does not. */
async function verified(app: TestApp, path: string, asker: { cookie: string }) {
  for (const deadline = performance.now() + 120_000; ; await delay(200)) {
    const erasure = await dataOf(app, 'GET', path, asker)
    if (erasure.success || performance.now() > deadline) return erasure
  }
}

/** Contents about others, which must be unchanged. Contents that the plan lists as changed may differ. */
const ofOthers = (contents: Contents, ids: readonly string[]): string[] =>
  [...contents.values()].filter((text) => ids.some((id) => text.includes(id))).sort()

describe.each([
  ['in one process and its database', true, () => inTables()],
  ['with Google Cloud Storage', isInstalled('gcs'), withGoogle],
  ['in Neo4j, Redis, S3 and another database', await areStoresInstalled(), withServers],
])('one message in every store, %s', (_, isThere, open) => {
  test.skipIf(!isThere)(
    'is erased, and its sentence is removed from every column, property, key, value and version',
    async () => {
      const place = await open()
      const { app } = place
      const project = await madeProject(app)
      const other = await madeMember(app, project)
      const conversation = await madeConversation(app, project)
      const elsewhere = await madeConversation(app, project)
      const message = await madeMessage(app, conversation, project.owner, { content: `${sentence}, they say.` })
      const retained = await madeMessage(app, elsewhere, other, { content: 'The weather in the vault is fine.' })
      await dataOf(app, 'PATCH', message.path, project.owner, { body: { content: `Corrected: ${sentence}!` } })
      await madeAttachment(app, message, project.owner, { bytes: `Notes: ${sentence}` })
      const [{ object_key: key } = { object_key: '' }] = await app.db.query<{ object_key: string }>(
        undefined,
        'SELECT object_key FROM attachments WHERE message_id = $1',
        [message.id],
      )
      await place.overwrite(key, `Newer notes: ${sentence}`)
      await dataOf(
        app,
        'POST',
        `${project.path}/documents?name=minutes.md&kind=artifact&made_from=${message.id}`,
        project.owner,
        {
          body: `# Minutes\n\n${sentence}.\n`,
          headers: { 'Content-Type': 'text/markdown' },
        },
      )
      const theirs = await madeDocument(app, project, other, { bytes: 'Theirs alone, and it stays.' })

      const talk = assistant(place.saver)
      await writeMessage(talk, conversation.id, message.id, `Corrected: ${sentence}!`)
      await approveTool(talk, conversation.id)
      await writeMessage(talk, conversation.id, 'another-message-of-this-thread', 'And now to something else entirely.')
      await writeMessage(talk, elsewhere.id, retained.id, 'The weather in the vault is fine.')
      await place.remember(['memories'], conversation.id, { text: `Corrected: ${sentence}!` })
      await place.remember(['answers'], `${message.id}: ${sentence}`, { answer: 'So they say.' })
      await place.remember(['topics', sentence], 'mentioned', { in: message.id })
      await place.remember(['memories'], elsewhere.id, { text: 'The weather in the vault is fine.' })

      const graph = dealGraph(project.groupId)
      await place.planting.plant(graph)
      const aside = dealGraph(`${project.groupId}-of-somebody-else`)
      await place.planting.plant({
        ...aside,
        episodes: aside.episodes.map((episode) => ({ ...episode, content: 'Of others.' })),
        entities: aside.entities.map((entity) => ({
          ...entity,
          name: 'Others',
          summary: 'Of others.',
          attributes: {},
        })),
        facts: aside.facts.map((fact) => ({ ...fact, fact: 'Of others.', attributes: {} })),
        communities: aside.communities.map((community) => ({ ...community, name: 'Others', summary: 'Of others.' })),
        sagas: aside.sagas.map((saga) => ({ ...saga, name: 'Others', summary: 'Of others.' })),
      })
      const { cache } = app.app.stored
      await cache.set(`answers:${conversation.id}`, JSON.stringify({ said: sentence }), {
        ttl: 600,
        about: [message.id],
      })
      await cache.set(`about-${message.id}`, `cached: ${sentence}`, { ttl: 600, about: [] })
      // The question is only in the key of the entry. It is found by pointer, by index, and by the conversation id.
      const asked = [`asked:${project.id}:${sentence}`, `asked:${sentence}`, `asked:${conversation.id}:${sentence}`]
      for (const [n, question] of asked.entries())
        await cache.set(question, 'So they say.', { ttl: 600, about: n === 1 ? [message.id] : [] })
      await cache.set('answers:others', 'Something else.', { ttl: 600, about: [retained.id] })
      await reported(app, project, project.owner, [
        { source_id: message.id, store: 'graph', ref: graph.id('e1'), ended: [graph.id('f-ended')] },
        { source_id: message.id, store: 'cache', ref: `kp:cache:${asked[0]}` },
      ])

      const before = await place.everything()
      const graphBefore = await place.graphRows(graph.group)
      const planted = locationsOf(before, sentence)
      for (const table of ['messages', 'message_edits', 'document_chunks'])
        expect(planted.filter((at) => at.startsWith(`${table} `)).length, table).toBeGreaterThan(0)
      for (const column of ['namespace_path', 'key', 'value'])
        expect(
          planted.some((at) => new RegExp(`\\.store \\d+ ${column} `).test(at)),
          column,
        ).toBe(true)
      for (const question of asked) expect(planted).toContain(`kp:cache:${question}`)
      expect(planted.length).toBeGreaterThan(30)

      // The dry run names every store and changes nothing.
      const plan = await app.fetch('DELETE', `${message.path}?dry_run=true`, project.owner)
      expect(plan.status, plan.text).toBe(200)
      expect(new Set(plan.json.data.verdicts.map(({ store }: { store: string }) => store))).toEqual(
        new Set(['cache', 'checkpoints', 'graph', 'objects', 'postgresql']),
      )
      expect(locationsOf(await place.everything(), sentence).sort()).toEqual(planted.sort())

      const answer = await app.fetch('DELETE', message.path, project.owner)
      expect(answer.status, answer.text).toBeOneOf([200, 202])
      const erasure = await verified(app, answer.headers.get('location') ?? '', project.owner)
      expect(erasure.deleted_from).toMatchObject({
        postgresql: true,
        redis: true,
        graphiti: { episodesDeleted: 1 },
        checkpoints: { threads: 1 },
      })
      expect(erasure.deleted_from.objects).toBeGreaterThan(1)
      expect(erasure).toMatchObject({ success: true, part: { kind: 'message', id: message.id } })

      const after = await place.everything()
      expect(locationsOf(after, sentence)).toEqual([])

      // In its own graph, everything outside the plan that names no deleted item is unchanged byte by byte.
      const decided = (wanted: string): string[] =>
        plan.json.data.verdicts.flatMap(({ store, verdict, id }: PlannedRecord) =>
          store === 'graph' && verdict === wanted ? [id] : [],
        )
      const deleted = new Set(decided('deleted'))
      // A fact is deleted with its entities, and the plan counts it with them.
      for (const { uuid, source, target, of } of graphBefore.map((row) => Edge.parse(JSON.parse(row))))
        if (uuid !== undefined && [source, target, ...of.slice(1)].some((end) => deleted.has(end ?? '')))
          deleted.add(uuid)
      const namesErased = (row: string) => [...deleted].some((id) => row.includes(id))
      const uuidOf = (row: string) => Edge.parse(JSON.parse(row)).uuid ?? ''
      const touched = new Set([...decided('changed'), ...graphBefore.filter(namesErased).map(uuidOf)])
      touched.delete('')
      const stays = (rows: readonly string[]) =>
        rows.filter((row) => !namesErased(row) && !touched.has(uuidOf(row)) && !row.includes('KnowledgePulse'))
      expect(stays(graphBefore).length).toBeGreaterThan(15)
      expect(stays(await place.graphRows(graph.group))).toEqual(stays(graphBefore))

      // Data of others is unchanged.
      const ids = [retained.id, theirs.id, elsewhere.id, aside.group, 'answers:others']
      const ownTraces = [message.id, conversation.id]
      const untouched = (contents: Contents) =>
        ofOthers(contents, ids).filter((text) => !ownTraces.some((id) => text.includes(id)))
      expect(untouched(after)).toEqual(expect.arrayContaining(untouched(before)))
      expect(await messagesOf(talk, elsewhere.id)).toContain(retained.id)
      // Every past state of the thread can be read, and the thread continues.
      expect((await historyOf(talk, conversation.id)).length).toBeGreaterThan(5)
      expect(await messagesOf(talk, conversation.id)).not.toContain(message.id)
      await approveTool(talk, conversation.id)
      await writeMessage(talk, conversation.id, 'a-later-message', 'Once more.')
      expect(await messagesOf(talk, conversation.id)).toContain('a-later-message')

      const receipt = await app.fetch('GET', `/v1/receipts/${erasure.receipt_id}`)
      expect(receipt.json).toMatchObject({ deleted_id: message.id })
      expect(locationsOf(new Map([['receipt', receipt.text]]), sentence)).toEqual([])
    },
    600_000,
  )
})
