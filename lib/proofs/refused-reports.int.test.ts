// What the recorders of clients/ do with each refusal of a registry, in real applications on LangGraph.
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as after } from 'node:timers/promises'
import { AIMessage, HumanMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { type BaseCheckpointSaver, emptyCheckpoint, MemorySaver } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtPython, builtTypeScript } from '#lib/testing/client-packages.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { locationsOf, rowsOf } from '#lib/testing/everything.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const timeout = 300_000
interface Settings {
  url: string
  token: string
  project: string
  checkpoints: string
}
interface Said {
  process: string
  saver: 'memory' | 'postgres'
  thread: string
  person: { external_id: string; name?: string; email?: string }
  text: string
  id?: string
}
interface Overlapping {
  process: string
  thread: string
  person: { external_id: string; name?: string }
  text: string
  /** A file. */
  held: string
  /** Whether the first write fails after its text was stored. */
  fails: boolean
}
/** Each process has one recorder. Errors are returned by their names. */
interface Application {
  start(settings: Settings): Promise<void>
  say(said: Said): Promise<string>
  /** Two writes contain the text. The first is admitted before the second, and stored when the file `held` has gone. */
  overlap(writes: Overlapping, kind: 'sync' | 'async'): Promise<string[]>
  put(written: { process: string; thread: string; text: string; ts: string }): Promise<void>
  settle(process: string): Promise<string>
  problems(): Promise<string[]>
  stop(): Promise<void>
}
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : String(error))

function typeScriptApplication(): Application {
  const folder = mkdtempSync(join(tmpdir(), 'kp-refused-'))
  const problems: string[] = []
  // The built modules: the compiler of this repository does not know them.
  const recorders = new Map<string, ReturnType<typeof JSON.parse>>()
  let recorderOf: (process: string) => ReturnType<typeof JSON.parse>
  let stored: PostgresSaver
  const memory = new MemorySaver()
  return {
    async start({ url, token, project, checkpoints }) {
      const { load } = await builtTypeScript(folder)
      const client: ReturnType<typeof JSON.parse> = await load('index.js')
      const langgraph: ReturnType<typeof JSON.parse> = await load('langgraph.js')
      stored = PostgresSaver.fromConnString(checkpoints)
      await stored.setup()
      recorderOf = (process) => {
        const made =
          recorders.get(process) ??
          new langgraph.Recorder({
            client: new client.KnowledgePulse({ url, token }),
            project,
            author: ({ configurable }: { configurable: { person?: object } }) => configurable.person,
            onProblem: (error: unknown) => void problems.push(nameOf(error)),
            retryEvery: 50,
            patience: 60_000,
          })
        recorders.set(process, made)
        return made
      }
    },
    async say({ process, saver, thread, person, text, id }) {
      const checkpointer: BaseCheckpointSaver = recorderOf(process).checkpoints(saver === 'memory' ? memory : stored)
      const graph = new StateGraph(MessagesAnnotation)
        .addNode('answer', () => ({ messages: [new AIMessage('Thank you.')] }))
        .addEdge(START, 'answer')
        .compile({ checkpointer })
      const messages = [new HumanMessage({ content: text, ...(id !== undefined && { id }) })]
      return graph.invoke({ messages }, { configurable: { thread_id: thread, person } }).then(() => '', nameOf)
    },
    async overlap({ process, thread, person, text, held, fails }) {
      const slow = new Proxy(stored, {
        get(target, name) {
          const member = Reflect.get(target, name, target)
          if (name !== 'put') return typeof member === 'function' ? member.bind(target) : member
          return async (...given: Parameters<PostgresSaver['put']>) => {
            while (existsSync(held)) await after(10)
            const result = await target.put(...given)
            if (fails) throw Object.assign(new Error(), { name: 'ConnectionError' })
            return result
          }
        },
      })
      const messages = [new HumanMessage({ id: `${thread}-late`, content: text })]
      const empty = emptyCheckpoint()
      const versions = { messages: 1 }
      const checkpoint = { ...empty, channel_values: { messages }, channel_versions: versions }
      const configurable = { thread_id: thread, checkpoint_ns: '', person }
      const one = recorderOf(process)
        .checkpoints(slow)
        .put({ configurable }, checkpoint, { source: 'input', step: -1, parents: {} }, versions)
      const pending = { configurable: { ...configurable, checkpoint_id: empty.id } }
      const two = recorderOf(process)
        .checkpoints(stored)
        .putWrites(pending, [['messages', messages]], 'task')
      return await Promise.all([two, one].map((write) => write.then(() => '', nameOf)))
    },
    async put({ process, thread, text, ts }) {
      const messages = [new HumanMessage({ id: 'late', content: text })]
      const checkpoint = { ...emptyCheckpoint(), ts, channel_values: { messages } }
      const config = { configurable: { thread_id: thread, checkpoint_ns: '' } }
      await recorderOf(process).checkpoints(memory).put(config, checkpoint, { source: 'input', step: 0, parents: {} })
    },
    settle: (process) =>
      recorderOf(process)
        .settle()
        .then(() => '', nameOf),
    problems: async () => problems.splice(0),
    async stop() {
      for (const recorder of recorders.values()) await recorder.close()
      await stored?.end()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function pythonApplication(): Application {
  const folder = mkdtempSync(join(tmpdir(), 'kp-refused-'))
  let python: PythonProgram
  return {
    async start(settings) {
      python = pythonProgram('refused_reports.py', { PYTHONPATH: await builtPython(folder) })
      await python.call('start', { ...settings }, z.null())
    },
    say: (said) => python.call('say', { ...said }, z.string()),
    overlap: (writes, kind) =>
      python.call(kind === 'sync' ? 'overlap' : 'overlap_async', { ...writes }, z.array(z.string())),
    put: async (written) => void (await python.call('put', written, z.null())),
    settle: (process) => python.call('settle', { process }, z.string()),
    problems: () => python.call('found_problems', {}, z.array(z.string())),
    async stop() {
      await python?.call('close', {}, z.null())
      await python?.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

describe.skipIf(!isInstalled('openapi') || !isInstalled('python')).each([
  ['TypeScript', typeScriptApplication],
  ['Python', pythonApplication],
])('a refused report of the recorder in %s', (language, made) => {
  const application = made()
  let registry: TestApp
  let threads: TestDatabase
  let admin: Person
  let project: string
  let proxy: Server
  /** The answers to the next reports of messages, before they reach the registry; of one author, if it names one. */
  let refusals: { status: number; code: string; isForever?: boolean; author?: string }[] = []
  let reports = 0
  let deletions = 0
  /** The answers to the next deletions: 503 without a deletion, or 504 after it. */
  let lostDeletions: (503 | 504)[] = []

  beforeAll(async () => {
    threads = await testDatabase()
    registry = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
    admin = await signedIn(registry, 'admin')
    const { token } = await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })
    const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: 'Support' } })
    project = json.data.id
    proxy = createServer(async (request, response) => {
      const chunks: Buffer[] = []
      for await (const chunk of request) chunks.push(chunk)
      const { method = 'GET', url = '/', headers } = request
      const isReport = method === 'POST' && url.endsWith('/messages')
      if (isReport) reports++
      if (method === 'DELETE') response.once('finish', () => deletions++)
      const lost = method === 'DELETE' ? lostDeletions.shift() : undefined
      if (lost === 503) return void response.writeHead(503).end()
      const [refusal] = isReport ? refusals : []
      if (refusal && Buffer.concat(chunks).includes(refusal.author ?? '')) {
        if (!refusal.isForever) refusals.shift()
        const { status, code } = refusal
        response.writeHead(status, { 'Content-Type': 'application/problem+json' })
        return void response.end(JSON.stringify({ title: code, status, code }))
      }
      const names = ['authorization', 'content-type', 'idempotency-key']
      const sent = Object.fromEntries(names.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])))
      const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
      const answer = await fetch(registry.url + url, { method, headers: sent, ...body })
      if (lost === 504) return void response.writeHead(504).end()
      // `fetch` has unpacked the body.
      response.writeHead(answer.status, { 'Content-Type': answer.headers.get('content-type') ?? 'text/plain' })
      response.end(await answer.text())
    })
    await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
    const address = proxy.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    await application.start({ url, token, project, checkpoints: threads.ownerUrl })
  }, timeout)
  afterAll(async () => {
    refusals = []
    await application.stop()
    proxy?.close()
    await registry?.close()
    await threads?.drop()
  }, timeout)

  const ida = { external_id: 'ida', name: 'Ida Beispiel' }
  const otto = { external_id: 'otto', name: 'Otto Muster' }
  const messagesOf = async (thread: string) => {
    const path = `/api/projects/${project}/conversations/${thread}/messages?limit=100`
    const { json } = await registry.fetch('GET', path, { cookie: admin.cookie })
    const Listed = z.object({ role: z.string(), content: z.string(), created_at: z.string() })
    return z.object({ data: z.array(Listed) }).parse(json).data
  }
  /** The registry's clock stands still in tests, so that the order of messages of one time is that of their ids. */
  const saidIn = async (thread: string) =>
    (await messagesOf(thread)).filter(({ role }) => role === 'user').map(({ content }) => content)
  /** Says something, and waits until it was reported. A call may take too long on a busy machine: then it is repeated. */
  const sayAndReport = async (said: Said) => {
    expect(await application.say(said)).toBe('')
    await expect.poll(() => application.settle(said.process), { timeout: 60_000 }).toBe('')
  }
  const refusalsToldOf = async () => (await application.problems()).filter((name) => name !== 'RegistryUnreachable')
  const eraseAuthor = async ({ external_id }: { external_id: string }) => {
    const participants = `/api/projects/${project}/participants`
    const { json } = await registry.fetch('GET', `${participants}?external_id=${external_id}`, admin)
    const { status } = await registry.fetch('POST', `${participants}/${json.data[0].id}/requests`, {
      cookie: admin.cookie,
      body: { kinds: ['erasure'], grace: 'now' },
    })
    expect(status).toBe(201)
    await drain(registry, { mayFail: true, except: ['privacy.clock'] })
  }
  const storedPlaces = async (text: string) => locationsOf(await rowsOf(threads.ownerUrl), text)

  it.each([
    ['Restricted', 403, 'restricted'],
    ['Conflict', 409, 'conflict'],
    ['QuotaExceeded', 413, 'quota_exceeded'],
    ['TooLarge', 413, 'too_large'],
    ['Invalid', 422, 'invalid'],
    ['RateLimited', 429, 'rate_limited'],
    ['Internal', 500, 'internal'],
    ['Unavailable', 503, 'unavailable'],
    ['TokenInvalid', 401, 'token_invalid'],
    ['WrongState', 409, 'wrong_state'],
  ])(
    'waits after %s, tells the application, and is sent again',
    async (name, status, code) => {
      const thread = `${project}-waits-${code}`
      const text = `Please repeat the words of ${code}.`
      await application.problems()
      refusals = Array.from({ length: 3 }, () => ({ status, code }))
      expect(await application.say({ process: 'waits', saver: 'memory', thread, person: ida, text })).toBe('')
      expect(await application.problems()).toContain(name)
      await expect.poll(() => saidIn(thread), { timeout: 60_000 }).toEqual([text])
      await expect.poll(async () => (await messagesOf(thread)).length, { timeout: 60_000 }).toBe(2)
      expect(refusals).toEqual([])
    },
    timeout,
  )

  it(
    'keeps a refused message until the registry accepts it, also after a restart',
    async () => {
      const thread = `${project}-restart`
      const [first, second] = ['The first words before the restart.', 'The second words after it.']
      refusals = [{ status: 413, code: 'quota_exceeded', isForever: true }]
      await application.say({ process: 'before', saver: 'memory', thread, person: ida, text: first })
      await expect.poll(() => application.settle('before'), { timeout: 60_000 }).toBe('QuotaExceeded')
      expect(await saidIn(thread)).toEqual([])
      refusals = []
      await sayAndReport({ process: 'after', saver: 'memory', thread, person: ida, text: second })
      expect((await saidIn(thread)).sort()).toEqual([first, second].sort())
    },
    timeout,
  )

  it(
    'is sent without the email address when the registry knows another one',
    async () => {
      const thread = `${project}-email`
      const [first, second, third] = ['Words with the old address.', 'Words with the new address.', 'More of them.']
      const person = { external_id: 'moved', name: 'Maja Umzug' }
      const say = (text: string, email: string) =>
        sayAndReport({ process: 'email', saver: 'memory', thread, person: { ...person, email }, text })
      await say(first, 'old@example.org')
      await application.problems()
      await say(second, 'new@example.org')
      await say(third, 'new@example.org')
      expect(await refusalsToldOf()).toEqual(['Conflict'])
      expect((await saidIn(thread)).sort()).toEqual([first, second, third].sort())
    },
    timeout,
  )

  it(
    'is stored at once for a participant whose processing is restricted',
    async () => {
      const thread = `${project}-restricted`
      const person = { external_id: 'restricted', name: 'Rita Ruhig' }
      await sayAndReport({ process: 'restricted', saver: 'memory', thread, person, text: 'Before the restriction.' })
      const participants = `/api/projects/${project}/participants`
      const { json } = await registry.fetch('GET', `${participants}?external_id=restricted`, admin)
      const body = { kinds: ['restriction'] }
      await registry.fetch('POST', `${participants}/${json.data[0].id}/requests`, { cookie: admin.cookie, body })
      await application.problems()
      await sayAndReport({ process: 'restricted', saver: 'memory', thread, person, text: 'During the restriction.' })
      // A restarted process reports both again.
      await sayAndReport({ process: 'restricted-2', saver: 'memory', thread, person, text: 'And still during it.' })
      expect(await refusalsToldOf()).toEqual([])
      expect((await saidIn(thread)).sort()).toEqual([
        'And still during it.',
        'Before the restriction.',
        'During the restriction.',
      ])
    },
    timeout,
  )

  it(
    'gets another id when its id belongs to another conversation, and none when it was reported before',
    async () => {
      const threadOf = (n: number) => `${project}-same-${n}`
      const say = (process: string, n: number, text: string) =>
        sayAndReport({ process, saver: 'memory', thread: threadOf(n), person: ida, text, id: `${project}-1` })
      await say('ids', 1, 'The first text of this id.')
      await say('ids', 2, 'The second text of this id.')
      await say('ids-2', 1, 'The first text of this id.')
      await say('ids-2', 2, 'The second text of this id.')
      expect(await saidIn(threadOf(1))).toEqual(['The first text of this id.'])
      expect(await saidIn(threadOf(2))).toEqual(['The second text of this id.'])
    },
    timeout,
  )

  it(
    'is sent in parts that overlap when it is longer than a message, and without NUL characters',
    async () => {
      const thread = `${project}-long`
      const signs = Array.from({ length: 120_000 }, (_, n) => String.fromCodePoint(0x4e00 + (n % 5_000)))
      const long = `${signs.join('')}😀${'x'.repeat(10)}\0End.`
      await application.problems()
      await sayAndReport({ process: 'long', saver: 'memory', thread, person: ida, text: long })
      expect(await refusalsToldOf()).toEqual([])
      const parts = await saidIn(thread)
      expect(parts.length).toBe(2)
      for (const part of parts) expect(Buffer.byteLength(part)).toBeLessThanOrEqual(256 * 1024)
      expect(`${parts[0]}${parts[1]?.slice(1_000)}`).toBe(long.replace('\0', '\uFFFD'))
      // A restarted process reports nothing twice.
      await sayAndReport({ process: 'long-2', saver: 'memory', thread, person: ida, text: 'Short.' })
      expect((await saidIn(thread)).length).toBe(3)
    },
    timeout,
  )

  it(
    'has the time of its checkpoint when it is sent late',
    async () => {
      const thread = `${project}-late`
      const ts = '2026-03-01T10:20:30.456Z'
      const given = language === 'Python' ? ts.replace('Z', '+00:00') : ts
      await application.put({ process: 'late', thread, text: 'Said long ago.', ts: given })
      await expect.poll(() => application.settle('late'), { timeout: 60_000 }).toBe('')
      expect(await messagesOf(thread)).toEqual([{ role: 'user', content: 'Said long ago.', created_at: ts }])
    },
    timeout,
  )

  it(
    'ends the run of an erased author, erases what they wrote, and keeps what others wrote',
    async () => {
      const thread = `${project}-erased`
      const vera = { external_id: 'vera', name: 'Vera Vergessen' }
      const [old, his, late] = [
        'Vera asks for a quiet room above the garden in the second week of May.',
        'Otto wants the invoice of the blue bicycles before the end of this month.',
        'Vera returns later and asks whether the green boat can carry nine guests.',
      ]
      const say = (person: typeof vera, text: string) =>
        application.say({ process: 'erased', saver: 'postgres', thread, person, text })
      const settles = () => expect.poll(() => application.settle('erased'), { timeout: 120_000 }).toBe('')
      expect([await say(vera, old), await say(otto, his)]).toEqual(['', ''])
      await settles()
      await eraseAuthor(vera)
      expect(await storedPlaces(old)).toEqual([])
      expect((await storedPlaces(his)).length).toBeGreaterThan(0)
      // The run may end before a registry that answers late has refused the author.
      expect(['', 'ErasedAuthor']).toContain(await say(vera, late))
      await settles()
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect(await storedPlaces(late)).toEqual([])
      expect((await storedPlaces(his)).length).toBeGreaterThan(0)
      const before = reports
      expect(await say(vera, late)).toBe('ErasedAuthor')
      expect([reports, await storedPlaces(late)]).toEqual([before, []])
      expect(await say(otto, 'Otto is still here.')).toBe('')
      await settles()
      expect((await saidIn(thread)).sort()).toEqual([his, 'Otto is still here.'].sort())
    },
    timeout,
  )

  it.each([
    ['sync', false],
    ['async', false],
    ['sync', true],
    ['async', true],
  ] as const)(
    'erases what an admitted write of an erased author stores after the erasure of its text (%s, the write fails: %s)',
    async (kind, fails) => {
      const thread = `${project}-overlap-${kind}-${fails}`
      const person = { external_id: `paula-${kind}-${fails}`, name: 'Paula Pause' }
      const process = `overlap-${kind}-${fails}`
      const isShort = kind === 'async' && !fails
      const text = isShort
        ? 'PIN 4711 of Paula'
        : `Paula says ${kind} and ${fails} that the yellow lighthouse needs a new lamp before winter.`
      const his = 'Otto keeps the keys of the lighthouse in the drawer below the old radio.'
      await sayAndReport({ process: `${process}-1`, saver: 'postgres', thread, person, text: 'Good morning.' })
      await eraseAuthor(person)
      await sayAndReport({ process: `${process}-1`, saver: 'postgres', thread, person: otto, text: his })
      const held = join(mkdtempSync(join(tmpdir(), 'kp-held-')), 'held')
      writeFileSync(held, '')
      const before = deletions
      const overlapping = application.overlap({ process, thread, person, text, held, fails }, kind)
      try {
        await expect.poll(() => deletions, { timeout: 60_000 }).toBeGreaterThan(before)
        await drain(registry, { mayFail: true, except: ['privacy.clock'] })
        expect(await storedPlaces(text)).toEqual([])
      } finally {
        rmSync(join(held, '..'), { recursive: true })
      }
      expect(await overlapping).toEqual(['ErasedAuthor', fails ? 'ConnectionError' : 'ErasedAuthor'])
      await expect.poll(() => application.settle(process), { timeout: 60_000 }).toBe('')
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect(await storedPlaces(text)).toEqual([])
      expect((await storedPlaces(his)).length).toBeGreaterThan(0)
      expect(await saidIn(thread)).toEqual([his])
    },
    timeout,
  )

  it(
    'erases a text of an erased author once although answers are lost and its parts are equal',
    async () => {
      const thread = `${project}-lost`
      const person = { external_id: 'petra', name: 'Petra Paket' }
      await sayAndReport({ process: 'lost', saver: 'memory', thread, person, text: 'Good night, said Petra.' })
      await eraseAuthor(person)
      const before = deletions
      lostDeletions = [503, 504, 504]
      const said = await application.say({
        process: 'lost',
        saver: 'memory',
        thread,
        person,
        text: 'ab '.repeat(270_000),
      })
      expect(['', 'ErasedAuthor']).toContain(said)
      await expect.poll(() => application.settle('lost'), { timeout: 60_000 }).toBe('')
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      // Four parts: the first was deleted by the second attempt, the second part by its first.
      expect(deletions - before).toBeLessThanOrEqual(6)
      expect(lostDeletions).toEqual([])
      expect((await messagesOf(thread)).filter(({ role }) => role === 'user')).toEqual([])
    },
    timeout,
  )

  it(
    'erases what a second process of an erased author stores after the erasure of its text',
    async () => {
      const thread = `${project}-two`
      const person = { external_id: 'pia', name: 'Pia Prozess' }
      const text = 'Pia asks in two processes whether the green umbrella was found in the last train.'
      const id = `${thread}-id`
      await sayAndReport({ process: 'two-0', saver: 'postgres', thread, person, text: 'Good evening.' })
      await eraseAuthor(person)
      for (const process of ['two-1', 'two-2']) {
        expect(['', 'ErasedAuthor']).toContain(
          await application.say({ process, saver: 'postgres', thread, person, text, id }),
        )
        await expect.poll(() => application.settle(process), { timeout: 60_000 }).toBe('')
        await drain(registry, { mayFail: true, except: ['privacy.clock'] })
        expect(await storedPlaces(text)).toEqual([])
      }
    },
    timeout,
  )

  it(
    'erases nothing that an earlier run of somebody else may have written',
    async () => {
      const thread = `${project}-others`
      const lena = { external_id: 'lena', name: 'Lena Leise' }
      const his = 'Otto asks for seven yellow umbrellas and a tent beside the northern lake.'
      const first = 'Lena orders the same tent.'
      await sayAndReport({ process: 'others', saver: 'postgres', thread: `${thread}-2`, person: lena, text: first })
      refusals = [{ status: 413, code: 'quota_exceeded', isForever: true, author: otto.external_id }]
      await application.say({ process: 'others', saver: 'postgres', thread, person: otto, text: his })
      await eraseAuthor(lena)
      const late = 'Lena asks again for the colors of the umbrellas.'
      const run = { process: 'others-2', saver: 'postgres', thread, person: lena, text: late } as const
      expect(['', 'ErasedAuthor']).toContain(await application.say(run))
      await expect.poll(() => application.settle('others-2'), { timeout: 120_000 }).toBe('Erased')
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect((await storedPlaces(his)).length).toBeGreaterThan(0)
      expect(await storedPlaces(late)).toEqual([])
      refusals = []
      await expect.poll(() => application.settle('others'), { timeout: 60_000 }).toBe('')
      expect(await saidIn(thread)).toEqual([his])
    },
    timeout,
  )

  // The last test: it moves the registry's clock.
  it(
    'leaves what an admitted write stores again of a text that was reported before its author was erased to the second search',
    async () => {
      const kinds = ['sync', 'async'] as const
      const his = 'Otto sells the tickets of the ferry at the third window beside the harbor office.'
      const textOf = (kind: string) => `Wanda asks ${kind} whether the ferry to the small island takes two canoes.`
      for (const kind of kinds) {
        const [thread, process] = [`${project}-becomes-${kind}`, `becomes-${kind}`]
        const [person, text] = [{ external_id: `wanda-${kind}`, name: 'Wanda Wandel' }, textOf(kind)]
        await sayAndReport({ process: `${process}-1`, saver: 'postgres', thread, person: otto, text: his })
        const held = join(mkdtempSync(join(tmpdir(), 'kp-held-')), 'held')
        writeFileSync(held, '')
        const overlapping = application.overlap({ process, thread, person, text, held, fails: false }, kind)
        try {
          await expect.poll(() => saidIn(thread), { timeout: 60_000 }).toContain(text)
          await eraseAuthor(person)
          expect(await storedPlaces(text)).toEqual([])
        } finally {
          rmSync(join(held, '..'), { recursive: true })
        }
        await overlapping
        await expect.poll(() => application.settle(process), { timeout: 60_000 }).toBe('')
        await drain(registry, { mayFail: true, except: ['privacy.clock'] })
        expect((await storedPlaces(text)).length).toBeGreaterThan(0)
      }
      registry.clock.advance(25 * 3_600_000)
      await registry.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(registry.app.pipeline, {})
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      for (const kind of kinds) expect(await storedPlaces(textOf(kind))).toEqual([])
      expect((await storedPlaces(his)).length).toBeGreaterThan(0)
    },
    timeout,
  )
})
