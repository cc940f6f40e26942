// The adapters of clients/python against a real registry and real stores.
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Storage } from '@google-cloud/storage'
import neo4j, { type Driver } from 'neo4j-driver'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
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
const source = join(import.meta.dirname, '../../clients/python/src')
const sentence = 'My name is Ida Beispiel and I sign the contract on Monday.'
const Said = z.array(z.tuple([z.string(), z.string(), z.string()]))

describe.skipIf(!isInstalled('python'))('the Python adapters', () => {
  let checkpoints: TestDatabase
  let registry: TestApp
  let admin: Person
  let token: string
  let project: string
  let python: PythonProgram

  beforeAll(async () => {
    checkpoints = await testDatabase()
    registry = await testApp({ KP_CHECKPOINTS_URL: checkpoints.ownerUrl })
    admin = await signedIn(registry, 'admin')
    token = (await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })).token
    const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: 'Support' } })
    project = json.data.id
    python = pythonProgram('recorded_threads.py', { PYTHONPATH: source })
    await python.call('connect', { url: registry.url, token, project, checkpoints: checkpoints.ownerUrl }, z.null())
  }, timeout)
  afterAll(async () => {
    await python?.close()
    await registry?.close()
    await checkpoints?.drop()
  })

  const messagesOf = async (conversation: string) => {
    const path = `/api/projects/${project}/conversations/${conversation}/messages`
    const { json } = await registry.fetch('GET', path, { token })
    return z.object({ data: z.array(z.object({ id: z.string(), content: z.string() })) }).parse(json).data
  }
  const erase = async (conversation: string) => {
    const path = `/api/projects/${project}/conversations/${conversation}`
    const { status } = await registry.fetch('DELETE', path, { cookie: admin.cookie, body: {} })
    await drain(registry)
    expect([200, 202]).toContain(status)
  }
  const rowsOfThread = (thread: string) => python.call('rows', { thread }, z.number())
  const settled = () => python.call('settle', {}, z.string().nullable())
  const problems = () => python.call('found_problems', {}, z.array(z.string()))

  describe.each([
    ['sync', 'say', 'late'],
    ['async', 'asay', 'alate'],
  ])('recorded_saver, %s', (mode, say, late) => {
    it(
      'makes an erasure find a thread of an application without any other call',
      async () => {
        const thread = `support-${mode}-1`
        const state = await python.call(say, { thread, text: sentence }, Said)
        expect(await settled()).toBeNull()
        expect((await messagesOf(thread)).map(({ id }) => id).sort()).toEqual(state.map(([id]) => id).sort())
        await erase(thread)
        expect(await rowsOfThread(thread)).toBe(0)
      },
      timeout,
    )

    it(
      'refuses late writes of an erased thread 100 of 100 times, and the thread stays gone',
      async () => {
        const thread = `support-${mode}-2`
        await python.call(say, { thread, text: sentence }, Said)
        await python.call('keep', { thread }, z.null())
        await erase(thread)
        expect(await python.call(late, { thread, times: 100 }, z.number())).toBe(100)
        expect(await rowsOfThread(thread)).toBe(0)
        // Another process of the application, which knows nothing of the thread.
        await expect(python.call(say, { thread, text: 'again', fresh: true }, Said)).rejects.toThrow('ErasedThread')
        expect(await rowsOfThread(thread)).toBe(0)
      },
      timeout,
    )

    it(
      'lets the application go on while the registry is down, and reports later',
      async () => {
        await problems()
        // The project may claim a thread with its id also after the first checkpoint.
        const thread = `${project}-${mode}-3`
        await python.call('switch', { down: true }, z.null())
        await python.call(say, { thread, text: sentence }, Said)
        expect(await rowsOfThread(thread)).toBeGreaterThan(0)
        expect(await problems()).toContain('RegistryUnreachable')
        expect(await settled()).toBe('RegistryUnreachable')
        await python.call('switch', { down: false }, z.null())
        expect(await settled()).toBeNull()
        expect((await messagesOf(thread)).map(({ content }) => content)).toContain(sentence)
      },
      timeout,
    )

    it(
      'deletes what was written to an erased thread while the registry was down',
      async () => {
        const thread = `support-${mode}-4`
        await python.call(say, { thread, text: sentence }, Said)
        await erase(thread)
        await python.call('switch', { down: true }, z.null())
        await python.call(say, { thread, text: 'Still there?' }, Said)
        expect(await rowsOfThread(thread)).toBeGreaterThan(0)
        await python.call('switch', { down: false }, z.null())
        await expect.poll(() => python.call('arows', { thread }, z.number()), { timeout: 60_000 }).toBe(0)
      },
      timeout,
    )
  })

  it(
    'lets no write wait for a registry that hangs, and loses nothing',
    async () => {
      const threads = Array.from({ length: 10 }, (_, n) => `${project}-hangs-${n}`)
      // Only the first write asked the registry, although retries are due at all times.
      expect(await python.call('hang', { threads, text: sentence }, z.number())).toBe(1)
      for (const thread of threads)
        expect((await messagesOf(thread)).map(({ content }) => content).sort()).toEqual(
          [`${sentence} ${thread}`, `You said: ${sentence} ${thread}`].sort(),
        )
    },
    timeout,
  )

  it(
    'reports the messages of a thread that somebody else must name',
    async () => {
      const thread = 'support-5'
      await python.call('say', { thread, text: sentence, recorded: false }, Said)
      await problems()
      await python.call('say', { thread, text: 'And by Tuesday?', fresh: true }, Said)
      expect(await problems()).toEqual(['Invalid'])
      expect((await messagesOf(`recorded-${thread}`)).map(({ content }) => content)).toContain(sentence)
    },
    timeout,
  )

  it('has the optional methods, the serializer and the attributes of the saver', async () => {
    expect(await python.call('shape', {}, z.record(z.string(), z.unknown()))).toEqual({
      saver: true,
      serde: true,
      specs: true,
      version: expect.stringMatching(/^0+1$/),
      optional: true,
      none: [],
      allowlist: true,
      attribute: true,
    })
  })

  it.each([
    ['in memory', false],
    ['in PostgreSQL', true],
  ])(
    'passes the official suite %s as the saver does without it',
    async (_, postgres) => {
      const Report = z.record(z.string(), z.tuple([z.number(), z.array(z.string())]))
      const plain = await python.call('conformance', { recorded: false, postgres }, Report)
      expect(await python.call('conformance', { recorded: true, postgres }, Report)).toEqual(plain)
      expect(Object.values(plain).reduce((sum, [passed]) => sum + passed, 0)).toBeGreaterThan(50)
    },
    timeout,
  )

  it('recorded_store puts the project before each namespace, and hides it from the application', async () => {
    for (const namespace of await python.call('stored_memories', {}, z.array(z.array(z.string()))))
      expect(namespace).toEqual([project, 'memories'])
    expect(await python.call('own_memories', {}, z.record(z.string(), z.unknown()))).toEqual({
      namespaces: ['memories'],
      listed: [['memories']],
      all: [['memories']],
      get: true,
      missing: null,
    })
  })
})

const isReady =
  isInstalled('python') && isInstalled('neo4j') && isInstalled('s3') && isInstalled('gcs') && (await isRedisInstalled())
describe.skipIf(!isReady)('the example application in Python', () => {
  const edda = { external_id: 'customer-1', name: 'Edda Vorbild' }
  const emil = { external_id: 'customer-2', name: 'Emil Muster' }
  const hers = [
    'This is Edda Vorbild and my daughter sleeps in room seventy seven of the clinic.',
    'The doctors of Nordwind Werke see Edda Vorbild again on the ninth of April.',
  ]
  const his = 'Suedlicht Bank asks Emil Muster for the signed contract before Friday noon at the latest.'
  let threads: TestDatabase
  let redis: TestRedis
  let driver: Driver
  let bucket: Awaited<ReturnType<typeof versionedBucket>>
  let registry: TestApp
  let admin: Person
  let token: string
  let project: string
  let python: PythonProgram

  beforeAll(async () => {
    threads = await testDatabase()
    const cache = await startRedis()
    if (!cache) throw new Error('no Redis')
    redis = cache
    const { url, port } = await neo4jServer()
    const { username, password } = new URL(url)
    driver = neo4j.driver(`bolt://127.0.0.1:${port}`, neo4j.auth.basic(username, decodeURIComponent(password)))
    bucket = await versionedBucket((await s3Server()).endpoint)
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
    const clients = join(source, '..')
    python = pythonProgram('recorded_application.py', { PYTHONPATH: source, EXAMPLES: join(clients, 'examples') })
    const graph = { uri: `bolt://127.0.0.1:${port}`, user: username, password: decodeURIComponent(password) }
    const names = { 'Edda Vorbild': 0, 'Emil Muster': 0, 'Nordwind Werke': 0, 'Suedlicht Bank': 0 }
    const given = { url: registry.url, token, project, checkpoints: threads.ownerUrl, redis: redis.url, graph, names }
    await python.call('start', given, z.null())
  }, timeout)
  afterAll(async () => {
    await python?.call('stop', {}, z.null())
    await python?.close()
    bucket?.close()
    await Promise.all([registry?.close(), driver?.close(), redis?.stop()])
    await threads?.drop()
  })

  const say = (thread: string, person: object, text: string) => python.call('say', { thread, person, text }, z.string())
  /** The places of all stores that contain one of the texts. */
  async function placesOf(texts: readonly string[]): Promise<string[]> {
    const all = [
      await rowsOf(threads.ownerUrl),
      await rowsOf(registry.ownerUrl),
      await keysOf(redis.url),
      await graphOf(driver),
    ]
    return all.flatMap((contents) => texts.flatMap((text) => locationsOf(contents, text)))
  }

  it(
    'stores nothing of an erased person, with no report in the application, and keeps what others said',
    async () => {
      await say(`${project}-1`, edda, hers[0] ?? '')
      await say(`${project}-1`, edda, hers[1] ?? '')
      await say(`${project}-2`, emil, his)
      // A registry that answers late is asked again.
      const problems = await python.call('settle', {}, z.array(z.string()))
      expect(problems.filter((problem) => !problem.startsWith('RegistryUnreachable'))).toEqual([])
      const before = await placesOf([his])
      expect((await placesOf(hers)).length).toBeGreaterThan(10)
      const { json: reported } = await registry.fetch('GET', `/api/projects/${project}/provenance?limit=100`, { token })
      const stores = new Set(reported.data.map(({ store }: { store: string }) => store))
      expect(stores).toEqual(new Set(['checkpoints', 'graph', 'cache']))

      const participants = `/api/projects/${project}/participants`
      const { json: found } = await registry.fetch('GET', `${participants}?external_id=${edda.external_id}`, { token })
      const { status } = await registry.fetch('POST', `${participants}/${found.data[0].id}/requests`, {
        cookie: admin.cookie,
        body: { kinds: ['erasure'], grace: 'now' },
      })
      expect(status).toBe(201)
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect(await placesOf([...hers, edda.name])).toEqual([])
      // An erasure empties the cache of its project, and evaluates facts again that quote the erased person. What others said remains.
      const own = (places: readonly string[]) =>
        places.flatMap((place) => /^(?:checkpoint_\w+|store|messages)(?= )/.exec(place) ?? []).sort()
      const after = await placesOf([his])
      expect(own(after)).toEqual(own(before))
      expect(own(after)).toEqual(expect.arrayContaining(['checkpoint_blobs', 'messages', 'store']))
      // His episode.
      expect(after.filter((place) => place.startsWith('4:')).length).toBeGreaterThan(0)
    },
    timeout,
  )

  it(
    'refuses late episodes, facts and values of an erased thread, also when it is erased while the model answers',
    async () => {
      const path = (thread: string) => `/api/projects/${project}/conversations/${thread}`
      const text = 'Nordwind Werke wants the blue folder of Suedlicht Bank back before the summer holidays begin.'
      for (const thread of [`${project}-3`, `${project}-4`]) await say(thread, emil, text)
      const late = 'Nordwind Werke told Suedlicht Bank later that the red folder would also be welcome soon.'
      await registry.fetch('DELETE', path(`${project}-3`), { cookie: admin.cookie, body: {} })
      await drain(registry)
      expect(await python.call('refused', { thread: `${project}-3`, text: late }, z.array(z.string()))).toEqual([
        'add_episode',
        'add_episode_bulk',
        'add_triplet',
        'set',
      ])
      const url = `${registry.url}${path(`${project}-4`)}`
      const during = { thread: `${project}-4`, text: late, url, cookie: admin.cookie }
      expect(await python.call('interrupted', during, z.boolean())).toBe(true)
      expect(await placesOf([late])).toEqual([])
    },
    timeout,
  )

  it(
    'deletes the files of a conversation with it, and refuses late ones',
    async () => {
      const thread = `${project}-5`
      const text = 'Suedlicht Bank keeps the green folder of Emil Muster in the cellar until the first of May.'
      await say(thread, emil, text)
      const { endpoint } = await s3Server()
      const { key: id, secret } = s3Credentials
      const s3 = { endpoint_url: endpoint, aws_access_key_id: id, aws_secret_access_key: secret }
      const given = { thread, text, s3, bucket: new URL(bucket.url).pathname.slice(1) }
      const keys = await python.call('uploaded', given, z.array(z.string()))
      expect(keys).toEqual([expect.stringMatching(/\/[0-9a-f-]{36}\.txt$/), expect.stringMatching(/\/[0-9a-f-]{36}$/)])
      await python.call('settle', {}, z.array(z.string()))
      const stored = async () => [...(await bucket.contents()).keys()].filter((key) => key.includes(`${project}/`))
      expect(await stored()).toHaveLength(2)
      await registry.fetch('DELETE', `/api/projects/${project}/conversations/${thread}`, {
        cookie: admin.cookie,
        body: {},
      })
      await drain(registry)
      expect(await stored()).toEqual([])
      expect(await python.call('uploaded', given, z.string())).toBe('ErasedThread')
      expect(await stored()).toEqual([])
      // While the registry is down, nothing can be refused. What was written is deleted when it answers.
      const silent = 'Nordwind Werke hides the silver folder of Suedlicht Bank while the registry sleeps tonight.'
      expect(await python.call('downtime', { ...given, text: silent }, z.array(z.string()))).toHaveLength(2)
      expect(await placesOf([silent])).toEqual([])
      expect(await stored()).toEqual([])
    },
    timeout,
  )

  it('stores and deletes every version in Google Cloud Storage', async () => {
    const { endpoint } = await gcsServer()
    const name = `adapters-${randomBytes(4).toString('hex')}`
    const storage = new Storage({ apiEndpoint: endpoint, projectId: 'local', useAuthWithCustomEndpoint: false })
    await storage.createBucket(name, { versioning: { enabled: true } })
    expect(await python.call('versions', { endpoint, name }, z.array(z.number()))).toEqual([2, 0])
  })

  it(
    'keeps graph groups within the project',
    async () => {
      const text = 'Nordwind Werke and Suedlicht Bank meet on the second floor every Thursday afternoon.'
      expect(await python.call('groups', { text }, z.record(z.string(), z.unknown()))).toEqual({
        own: project,
        inner: `${project}-team`,
        bulk: [project],
        found: [project],
        seen: [project],
      })
    },
    timeout,
  )

  it(
    'runs the snippets of the README as they are printed, and records what they store',
    async () => {
      const id = `readme-${randomBytes(4).toString('hex')}`
      const { endpoint } = await s3Server()
      const { key, secret } = s3Credentials
      const env = {
        KP_URL: registry.url,
        KP_TOKEN: token,
        AWS_ENDPOINT_URL_S3: endpoint,
        AWS_ACCESS_KEY_ID: key,
        AWS_SECRET_ACCESS_KEY: secret,
        AWS_DEFAULT_REGION: 'us-east-1',
      }
      const printed = (file: string) =>
        blocksOf(readFileSync(join(source, '../../..', file), 'utf8'), 'python').map((block) =>
          block.replaceAll('prj_…', project).replaceAll('"uploads"', `"${id}"`),
        )
      const blocks = printed('clients/python/README.md')
      expect(blocks.length).toBe(5)
      const thread = `${project}-${id}`
      const text = 'Nordwind Werke asks Suedlicht Bank for the number of the yellow account before the winter begins.'
      const said = await python.call(
        'readme',
        { blocks, env, bucket: id, thread, text },
        z.record(z.string(), z.unknown()),
      )
      expect(said).toMatchObject({
        printed: expect.stringMatching(/^not there req_/),
        found: 1,
        cached: text,
        memories: [text],
      })
      const path = `/api/projects/${project}/conversations/${thread}/messages`
      const { json: stored } = await registry.fetch('GET', path, { token })
      expect(stored.data.map(({ content }: { content: string }) => content)).toContain(text)
      const participants = `/api/projects/${project}/participants?external_id=${id}`
      expect((await registry.fetch('GET', participants, { token })).json.data).toHaveLength(1)
      // The guide for agent developers connects the same with asyncio.
      const [guide] = printed('docs/for-agent-developers.md')
      expect(await python.call('guide', { code: guide, env, thread: `${thread}-2`, text }, z.string())).toBe(text)
    },
    timeout,
  )

  it('is connected by five lines, and reports nothing by itself', () => {
    const lines = readFileSync(join(source, '../examples/support.py'), 'utf8').split('\n')
    expect(lines.filter((line) => line.endsWith('# connect')).length).toBe(5)
    expect(lines.filter((line) => /\bkp\.|recorder\.|provenance/.test(line))).toEqual([])
  })

  it('gives every value of the cache a time to live of at most a day, and deletes the values of a person', async () => {
    expect(await python.call('lifetimes', {}, z.record(z.string(), z.unknown()))).toEqual({
      long: true,
      short: true,
      without: [],
      refused: true,
      read: 'b',
      deleted: 2,
      after: null,
    })
  })
})
