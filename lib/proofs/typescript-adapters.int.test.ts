// The adapters of clients/typescript against a real registry and real stores.
import { randomBytes } from 'node:crypto'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { S3 } from '@aws-sdk/client-s3'
import { Storage } from '@google-cloud/storage'
import { HumanMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { InMemoryStore } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { createClient } from '@redis/client'
import neo4j, { type Driver } from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtTypeScript } from '#lib/testing/client-packages.ts'
import { versionedBucket } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { graphOf, keysOf, locationsOf, rowsOf } from '#lib/testing/everything.ts'
import { blocksOf } from '#lib/testing/guide-walk.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isRedisInstalled, startRedis, type TestRedis } from '#lib/testing/redis.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Credentials } from '#lib/testing/services/objects.ts'
import { gcsServer, neo4jServer, s3Server } from '#lib/testing/services/shared.ts'

const timeout = 300_000
const example = join(import.meta.dirname, '../../clients/typescript/examples/support.ts')
const isReady =
  isInstalled('openapi') &&
  isInstalled('python') &&
  isInstalled('neo4j') &&
  isInstalled('s3') &&
  isInstalled('gcs') &&
  (await isRedisInstalled())

describe.skipIf(!isReady)('the example application in TypeScript', () => {
  const jana = { external_id: 'customer-1', name: 'Jana Exempel' }
  const carl = { external_id: 'customer-2', name: 'Carl Vorlage' }
  const hers = [
    'This is Jana Exempel and my daughter sleeps in room seventy seven of the clinic.',
    'The doctors of Ostwind Werke see Jana Exempel again on the ninth of April.',
  ]
  const his = 'Mondlicht Bank asks Carl Vorlage for the signed contract before Friday noon at the latest.'
  const late = 'Ostwind Werke told Mondlicht Bank later that the red folder would also be welcome soon.'
  let folder: string
  let threads: TestDatabase
  let saver: PostgresSaver
  let redis: TestRedis
  let cached: ReturnType<typeof createClient>
  let driver: Driver
  let bucket: Awaited<ReturnType<typeof versionedBucket>>
  let s3: S3
  let registry: TestApp
  let admin: Person
  let token: string
  let project: string
  let service: PythonProgram
  // The built modules: the compiler of this repository does not know them.
  type Built = ReturnType<typeof JSON.parse>
  let modules: { client: Built; langgraph: Built; objects: Built }
  let running: Built
  let graphiti: string

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kp-adapters-'))
    const { app, load } = await builtTypeScript(folder)
    copyFileSync(example, join(app, 'support.ts'))
    modules = {
      client: await load('index.js'),
      langgraph: await load('langgraph.js'),
      objects: await load('objects.js'),
    }
    threads = await testDatabase()
    saver = PostgresSaver.fromConnString(threads.ownerUrl)
    await saver.setup()
    const cache = await startRedis()
    if (!cache) throw new Error('no Redis')
    redis = cache
    cached = createClient({ url: redis.url })
    await cached.connect()
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    const { endpoint } = await s3Server()
    bucket = await versionedBucket(endpoint)
    const { key: accessKeyId, secret: secretAccessKey } = s3Credentials
    const credentials = { accessKeyId, secretAccessKey }
    s3 = new S3({ endpoint, region: 'us-east-1', forcePathStyle: true, credentials })
    registry = await testApp({
      KP_CHECKPOINTS_URL: threads.ownerUrl,
      KP_GRAPH_URL: url,
      KP_REDIS_URL: redis.url,
      KP_OBJECTS_URL: bucket.url,
    })
    admin = await signedIn(registry, 'admin')
    token = (await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })).token
    const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: 'Support' } })
    project = json.data.id
    service = pythonProgram('graphiti_service.py')
    const graph = { uri: `bolt://127.0.0.1:${port}`, user: username, password: decodeURIComponent(password) }
    const names = { 'Jana Exempel': 0, 'Carl Vorlage': 0, 'Ostwind Werke': 0, 'Mondlicht Bank': 0 }
    graphiti = await service.call('start', { graph, names }, z.string())
    const { application } = await import(join(app, 'support.ts'))
    const { s3Bucket } = modules.objects
    const name = new URL(bucket.url).pathname.slice(1)
    running = application(
      kpOf(),
      project,
      { saver, graphiti, redis: cached, bucket: s3Bucket(s3, name) },
      async (question: string) => `Noted for you: ${question}`,
    )
  }, timeout)
  afterAll(async () => {
    await running?.recorder.close()
    cached?.destroy()
    s3?.destroy()
    bucket?.close()
    await service?.close()
    await saver?.end()
    await Promise.all([registry?.close(), driver?.close(), redis?.stop()])
    await threads?.drop()
    rmSync(folder, { recursive: true, force: true })
  })

  const kpOf = () => new modules.client.KnowledgePulse({ url: registry.url, token })
  const say = (thread: string, person: object, text: string) =>
    running.agent.invoke({ messages: [new HumanMessage(text)] }, { configurable: { thread_id: thread, person } })
  /** The places of all stores that contain one of the texts. Other tests use the same graph server with other names. */
  async function placesOf(texts: readonly string[]): Promise<string[]> {
    const all = [
      await rowsOf(threads.ownerUrl),
      await rowsOf(registry.ownerUrl),
      await keysOf(redis.url),
      await graphOf(driver),
      await bucket.contents(),
    ]
    return all.flatMap((contents) => texts.flatMap((text) => locationsOf(contents, text)))
  }
  const erase = async (thread: string) => {
    const path = `/api/projects/${project}/conversations/${thread}`
    const { status, text } = await registry.fetch('DELETE', path, { cookie: admin.cookie, body: {} })
    expect([200, 202], text).toContain(status)
    await drain(registry)
  }
  const keys = async () => [...(await bucket.contents()).keys()]

  it(
    'stores nothing of an erased person, with no report in the application, and keeps what others said',
    async () => {
      await say(`${project}-1`, jana, hers[0] ?? '')
      await say(`${project}-1`, jana, hers[1] ?? '')
      await say(`${project}-2`, carl, his)
      await running.recorder.settle()
      expect(await service.call('rest', {}, z.array(z.string()))).toEqual([])
      const before = await placesOf([his])
      expect((await placesOf(hers)).length).toBeGreaterThan(10)
      const { json: reported } = await registry.fetch('GET', `/api/projects/${project}/provenance?limit=100`, { token })
      const stores = new Set(reported.data.map(({ store }: { store: string }) => store))
      expect(stores).toEqual(new Set(['checkpoints', 'cache', 'objects']))

      const participants = `/api/projects/${project}/participants`
      const { json: found } = await registry.fetch('GET', `${participants}?external_id=${jana.external_id}`, { token })
      const { status } = await registry.fetch('POST', `${participants}/${found.data[0].id}/requests`, {
        cookie: admin.cookie,
        body: { kinds: ['erasure'], grace: 'now' },
      })
      expect(status).toBe(201)
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect(await placesOf([...hers, jana.name])).toEqual([])
      const own = (places: readonly string[]) =>
        places.flatMap((place) => /^(?:checkpoint_\w+|messages)(?= )/.exec(place) ?? []).sort()
      const after = await placesOf([his])
      expect(own(after)).toEqual(own(before))
      // His episode, and his transcript.
      expect(after.filter((place) => place.startsWith('4:')).length).toBeGreaterThan(0)
      expect(after.filter((place) => place.includes(`${project}/`)).length).toBeGreaterThan(0)
    },
    timeout,
  )

  it(
    'deletes files that contain no text with the conversation, and refuses late writes to every store',
    async () => {
      const thread = `${project}-3`
      await say(thread, carl, 'Ostwind Werke wants the blue folder of Mondlicht Bank back before the summer holidays.')
      const photo: string = await running.files.upload('Photo of Carl.PNG', randomBytes(64), { thread })
      expect(photo).toMatch(new RegExp(`^${project}/[0-9a-f-]{36}\\.png$`))
      await running.recorder.settle()
      expect((await keys()).some((key) => key.includes(photo))).toBe(true)
      await erase(thread)
      expect((await keys()).some((key) => key.includes(photo))).toBe(false)
      const before = await keys()
      const { ErasedThread } = modules.langgraph
      for (const write of [
        () => running.cache.set('late', late, { thread }),
        () => running.files.upload('late.txt', late, { thread }),
        () => running.graph.addMessages([{ role_type: 'user', content: late }], { thread }),
        () => say(thread, carl, late),
      ])
        await expect(write()).rejects.toBeInstanceOf(ErasedThread)
      await service.call('rest', {}, z.array(z.string()))
      expect(await placesOf([late])).toEqual([])
      expect(await keys()).toEqual(before)
    },
    timeout,
  )

  it('gives every value of the cache a time to live of at most a day, and deletes the values of a person', async () => {
    const { cache } = running
    await cache.set('long', 'a', { ttl: 10 ** 9, subject: 'customer-9' })
    await cache.set('short', 'b', { ttl: 5, subject: 'customer-9' })
    await expect(cache.set('none', 'c', { ttl: 0 })).rejects.toThrow('ttl must be at least 1 second')
    const [long, short] = [await cached.ttl(await cache.key('long')), await cached.ttl(await cache.key('short'))]
    expect(long > 86_000 && long <= 86_400 && short > 0 && short <= 5).toBe(true)
    for await (const found of cached.scanIterator())
      for (const key of found) {
        const ttl = await cached.ttl(key)
        expect(ttl > 0 && ttl <= 86_400, key).toBe(true)
      }
    expect(await cache.get('short')).toBe('b')
    expect(await cache.deleteSubject('customer-9')).toBe(2)
    expect(await cache.get('long')).toBeNull()
  })

  it('searches only the graph group of the project', async () => {
    expect(Array.isArray(await running.graph.search('contract'))).toBe(true)
  })

  it('stores and deletes every version in Google Cloud Storage', async () => {
    const { endpoint } = await gcsServer()
    const storage = new Storage({ apiEndpoint: endpoint, projectId: 'local', useAuthWithCustomEndpoint: false })
    const name = `adapters-${randomBytes(4).toString('hex')}`
    await storage.createBucket(name, { versioning: { enabled: true } })
    const { gcsBucket, RecordedUploads } = modules.objects
    const recorder = new modules.langgraph.Recorder({ client: kpOf(), project, patience: 60_000 })
    const files = new RecordedUploads(gcsBucket(storage.bucket(name)), recorder)
    const key: string = await files.upload('a.txt', 'first', { contentType: 'text/plain' })
    await storage.bucket(name).file(key).save('second', { resumable: false })
    const versions = async () => (await storage.bucket(name).getFiles({ versions: true }))[0].length
    expect(await versions()).toBe(2)
    const other = key.replace(project, 'prj_other')
    for (const foreign of [other, `${project}/report.txt`, `${key}/more`, `${project}/`, ''])
      await expect(files.delete(foreign)).rejects.toThrow('Nothing was deleted.')
    expect(await versions()).toBe(2)
    await files.delete(key)
    expect(await versions()).toBe(0)
    await recorder.close()
  })

  it(
    'runs the snippets of the README as they are printed, and records what they store',
    async () => {
      const id = `readme-${randomBytes(4).toString('hex')}`
      await s3.createBucket({ Bucket: id })
      const app = join(folder, 'app')
      // The snippets create S3 without options. The server of the test needs some.
      const { endpoint } = await s3Server()
      const { key, secret } = s3Credentials
      const options = {
        endpoint,
        region: 'us-east-1',
        forcePathStyle: true,
        credentials: { accessKeyId: key, secretAccessKey: secret },
      }
      const printed = blocksOf(readFileSync(join(example, '../../README.md'), 'utf8'), 'ts')
      expect(printed.length).toBe(5)
      const snippets = printed
        .join('\n')
        .replaceAll('prj_…', project)
        .replaceAll("'uploads'", `'${id}'`)
        .replace('http://localhost:3000', registry.url)
        .replace('http://localhost:8000', graphiti)
        .replace("import { S3 } from '@aws-sdk/client-s3'", "import { S3 as Plain } from '@aws-sdk/client-s3'")
        .replace('process.env.KP_TOKEN', JSON.stringify(token))
      writeFileSync(
        join(app, 'readme.ts'),
        `const { saver, store, redis } = globalThis.readme
         class S3 extends Plain { constructor() { super(${JSON.stringify(options)}) } }
         ${snippets}
         export { cache, checkpointer, files, graph, memories, recorder }`,
      )
      Object.assign(globalThis, { readme: { saver, store: new InMemoryStore(), redis: cached } })
      const { cache, checkpointer, files, graph, memories, recorder }: Built = await import(join(app, 'readme.ts'))
      const text = 'Ostwind Werke asks Mondlicht Bank for the number of the yellow account before the winter begins.'
      const agent = new StateGraph(MessagesAnnotation)
        .addNode('remember', async ({ messages }, { store }) => {
          const question = messages.at(-1)?.text ?? ''
          await cache.set(id, question)
          await files.upload('question.txt', question)
          await graph.addMessages([{ role_type: 'user', role: 'user', content: question }])
          await store?.put(['memories'], 'question', { said: question })
          return {}
        })
        .addEdge(START, 'remember')
        .compile({ checkpointer, store: memories })
      const thread = `${project}-${id}`
      await agent.invoke({ messages: [new HumanMessage(text)] }, { configurable: { thread_id: thread, user_id: id } })
      await recorder.close()
      expect(await service.call('rest', {}, z.array(z.string()))).toEqual([])
      expect(await cache.get(id)).toBe(text)
      expect((await memories.search(['memories'])).map(({ value }: Built) => value.said)).toEqual([text])
      expect((await s3.listObjectsV2({ Bucket: id })).KeyCount).toBe(1)
      const path = `/api/projects/${project}/conversations/${thread}/messages`
      const { json } = await registry.fetch('GET', path, { token })
      expect(json.data.map(({ content }: { content: string }) => content)).toEqual([text])
      const participants = `/api/projects/${project}/participants?external_id=${id}`
      expect((await registry.fetch('GET', participants, { token })).json.data).toHaveLength(1)
    },
    timeout,
  )

  it('is connected by five lines, and reports nothing by itself', () => {
    const lines = readFileSync(example, 'utf8').split('\n')
    expect(lines.filter((line) => line.endsWith('// connect')).length).toBe(5)
    expect(lines.filter((line) => /\bkp\.|recorder\.(?!checkpoints)|provenance/.test(line))).toEqual([])
  })
})
