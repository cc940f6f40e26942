import { Readable } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { CreateBucketCommand, PutBucketVersioningCommand, PutObjectCommand, S3Client } from '@aws-sdk/client-s3'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import neo4j from 'neo4j-driver'
import { afterAll, describe, expect, test } from 'vitest'
import { approve, assistant, historyOf, messagesOf, say } from '#lib/stores/checkpoints/suite/written-thread.ts'
import type { GraphPlanting } from '#lib/stores/graph/graph.ts'
import { neo4jPlanting } from '#lib/stores/graph/neo4j-planting.ts'
import { postgresPlanting } from '#lib/stores/graph/postgres-planting.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { type Contents, filesOf, graphOf, keysOf, objectsOf, placesOf, rowsOf } from '#lib/testing/everything.ts'
import { dealGraph, sentence } from '#lib/testing/graphs.ts'
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
import { isRedisInstalled, startRedis } from '#lib/testing/redis.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'
import { neo4jServer, s3Server } from '#lib/testing/services/shared.ts'

/** An installation with its stores, and every way of looking into them past our code. */
interface Place {
  app: TestApp
  planting: GraphPlanting
  /** Whose tables hold the checkpoints. */
  saver: PostgresSaver
  /** A value of an application, straight into the cache, and another version of an object. */
  cache(key: string, value: string, about: string[]): Promise<void>
  overwrite(key: string, text: string): Promise<void>
  everything(): Promise<Contents>
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

async function withoutServers(): Promise<Place> {
  const app = opened(await testApp(), (one) => one.close())
  const saver = opened(PostgresSaver.fromConnString(app.ownerUrl, { schema: 'langgraph' }), (one) => one.end())
  const { objects, cache } = app.app.stored
  return {
    app,
    planting: postgresPlanting(app.db),
    saver,
    cache: (key, value, about) => cache.set(key, value, { ttl: 600, about }),
    overwrite: (key, text) => objects.put(key, Readable.from([Buffer.from(text)]), { mediaType: 'text/plain' }),
    everything: async () => {
      const keys = await cache.find({ patterns: ['*'], about: [] })
      const cached = await Promise.all(
        keys.map(async (key) => [key, `${key} ${await cache.get(key.replace('kp:cache:', ''))}`] as const),
      )
      return together(await rowsOf(app.ownerUrl), await filesOf(app.dataDir), new Map(cached))
    },
  }
}

async function withServers(): Promise<Place> {
  const graph = await neo4jServer()
  const redis = await startRedis()
  if (!redis) throw new Error('no Redis')
  closing.push(() => redis.stop())
  const { endpoint } = await s3Server()
  const bucket = `one-message-${Date.now()}`
  const s3 = opened(
    new S3Client({
      endpoint,
      region: 'us-east-1',
      forcePathStyle: true,
      credentials: { accessKeyId: s3Credentials.key, secretAccessKey: s3Credentials.secret },
    }),
    async (one) => one.destroy(),
  )
  await s3.send(new CreateBucketCommand({ Bucket: bucket }))
  await s3.send(new PutBucketVersioningCommand({ Bucket: bucket, VersioningConfiguration: { Status: 'Enabled' } }))
  const other = opened(await testDatabase(), (one) => one.drop())
  const saver = opened(PostgresSaver.fromConnString(other.ownerUrl, { schema: 'threads' }), (one) => one.end())
  await saver.setup()
  const { host } = new URL(endpoint)
  const checkpoints = new URL(other.ownerUrl)
  checkpoints.searchParams.set('schema', 'threads')
  const app = opened(
    await testApp({
      KP_GRAPH_URL: graph.url,
      KP_REDIS_URL: redis.url,
      KP_OBJECTS_URL: `s3://${s3Credentials.key}:${s3Credentials.secret}@${host}/${bucket}?region=us-east-1&tls=false&path_style=true`,
      KP_CHECKPOINTS_URL: checkpoints.href,
    }),
    (one) => one.close(),
  )
  const { username, password } = new URL(graph.url)
  const driver = opened(
    neo4j.driver(`bolt://127.0.0.1:${graph.port}`, neo4j.auth.basic(username, decodeURIComponent(password))),
    (one) => one.close(),
  )
  return {
    app,
    planting: opened(neo4jPlanting(graph.url), (one) => one.close()),
    saver,
    cache: (key, value, about) => app.app.stored.cache.set(key, value, { ttl: 600, about }),
    async overwrite(key, text) {
      await s3.send(new PutObjectCommand({ Bucket: bucket, Key: key, Body: text }))
    },
    everything: async () =>
      together(
        await rowsOf(app.ownerUrl),
        await rowsOf(other.ownerUrl),
        await filesOf(app.dataDir),
        await graphOf(driver),
        await keysOf(redis.url),
        await objectsOf(s3, bucket),
      ),
  }
}

const haveServers = isInstalled('neo4j') && isInstalled('s3') && (await isRedisInstalled())

/** The erasure once it is over: on a busy machine the request itself does not wait for that. */
async function verified(app: TestApp, path: string, asker: { cookie: string }) {
  for (const deadline = performance.now() + 60_000; ; await delay(200)) {
    const erasure = await dataOf(app, 'GET', path, asker)
    if (erasure.success || performance.now() > deadline) return erasure
  }
}

/** What is about others must read the same afterwards; what the plan named as changed may differ. */
const ofOthers = (contents: Contents, ids: readonly string[]): string[] =>
  [...contents.values()].filter((text) => ids.some((id) => text.includes(id))).sort()

describe.each([
  ['in one process and its database', true, withoutServers],
  ['in Neo4j, Redis, S3 and another database', haveServers, withServers],
])('one message, everywhere, %s', (_, isThere, open) => {
  test.skipIf(!isThere)(
    'the sentence in every store: erased with its message, no column, property, key, value or version has it',
    async () => {
      const place = await open()
      const { app } = place
      const project = await madeProject(app)
      const other = await madeMember(app, project)
      const conversation = await madeConversation(app, project)
      const elsewhere = await madeConversation(app, project)
      const message = await madeMessage(app, conversation, project.owner, { content: `${sentence}, they say.` })
      const kept = await madeMessage(app, elsewhere, other, { content: 'The weather in the vault is fine.' })
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
      await say(talk, conversation.id, message.id, `Corrected: ${sentence}!`)
      await approve(talk, conversation.id)
      await say(talk, conversation.id, 'another-message-of-this-thread', 'And now to something else entirely.')
      await say(talk, elsewhere.id, kept.id, 'The weather in the vault is fine.')

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
      await place.cache(`answers:${conversation.id}`, JSON.stringify({ said: sentence }), [message.id])
      await place.cache(`about-${message.id}`, `cached: ${sentence}`, [])
      await place.cache('answers:others', 'Something else.', [kept.id])
      await reported(app, project, project.owner, [
        { source_id: message.id, store: 'graph', ref: graph.id('e1'), ended: [graph.id('f-ended')] },
      ])

      const before = await place.everything()
      const planted = placesOf(before, sentence)
      for (const table of ['messages', 'message_edits', 'document_chunks'])
        expect(planted.filter((at) => at.startsWith(`${table} `)).length, table).toBeGreaterThan(0)
      expect(planted.length).toBeGreaterThan(30)

      // The dry run names every store, and changes nothing.
      const plan = await app.fetch('DELETE', `${message.path}?dry_run=true`, project.owner)
      expect(plan.status, plan.text).toBe(200)
      expect(new Set(plan.json.data.verdicts.map(({ store }: { store: string }) => store))).toEqual(
        new Set(['cache', 'checkpoints', 'graph', 'objects', 'postgresql']),
      )
      expect(placesOf(await place.everything(), sentence).sort()).toEqual(planted.sort())

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
      expect(placesOf(after, sentence)).toEqual([])

      // What is of others is as it was.
      const ids = [kept.id, theirs.id, elsewhere.id, aside.group, 'answers:others']
      const ownTraces = [message.id, conversation.id]
      const untouched = (contents: Contents) =>
        ofOthers(contents, ids).filter((text) => !ownTraces.some((id) => text.includes(id)))
      expect(untouched(after)).toEqual(expect.arrayContaining(untouched(before)))
      expect(await messagesOf(talk, elsewhere.id)).toContain(kept.id)
      // The thread reads through all its past, and goes on.
      expect((await historyOf(talk, conversation.id)).length).toBeGreaterThan(5)
      expect(await messagesOf(talk, conversation.id)).not.toContain(message.id)
      await approve(talk, conversation.id)
      await say(talk, conversation.id, 'a-later-message', 'Once more.')
      expect(await messagesOf(talk, conversation.id)).toContain('a-later-message')

      const receipt = await app.fetch('GET', `/v1/receipts/${erasure.receipt_id}`)
      expect(receipt.json).toMatchObject({ deleted_id: message.id })
      expect(placesOf(new Map([['receipt', receipt.text]]), sentence)).toEqual([])
    },
    120_000,
  )
})
