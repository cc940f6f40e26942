// The adapters of clients/python against a real registry and real stores.
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

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
  const rowsOf = (thread: string) => python.call('rows', { thread }, z.number())
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
        expect(await rowsOf(thread)).toBe(0)
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
        expect(await rowsOf(thread)).toBe(0)
        // Another process of the application, which knows nothing of the thread.
        await expect(python.call(say, { thread, text: 'again', fresh: true }, Said)).rejects.toThrow('ErasedThread')
        expect(await rowsOf(thread)).toBe(0)
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
        expect(await rowsOf(thread)).toBeGreaterThan(0)
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
        expect(await rowsOf(thread)).toBeGreaterThan(0)
        await python.call('switch', { down: false }, z.null())
        await expect.poll(() => python.call('arows', { thread }, z.number()), { timeout: 60_000 }).toBe(0)
      },
      timeout,
    )
  })

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
