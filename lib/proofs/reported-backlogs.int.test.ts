// How many calls the recorders of clients/ need, and what they do with texts that change under the id of a message.
import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { HumanMessage } from '@langchain/core/messages'
import { emptyCheckpoint, MemorySaver } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtPython, builtTypeScript } from '#lib/testing/client-packages.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'

const timeout = 600_000
type Settings = Record<'url' | 'token' | 'project', string>
interface Written {
  /** Each process of the application has one recorder. The one named `hurried` waits 50 ms for the registry, and keeps 100 characters. */
  process: string
  threads: Record<string, { id?: string; text: string }[]>
  person?: { external_id: string; name: string }
  /** The time of the checkpoint. */
  ts?: string
  /** Whether the process reads the thread before, as a run does. */
  loads?: boolean
}
interface Application {
  start(settings: Settings): Promise<void>
  /** Writes a checkpoint of each thread at the same time. */
  putAll(written: Written): Promise<void>
  /** Notes a value that contains the text. */
  point(pointed: { process: string; thread: string; text: string }): Promise<void>
  /** `timeout` in milliseconds. */
  settle(process: string, timeout?: number): Promise<string>
  /** The limits of reads that a client states after it read a project, and after a check of the registry's health. */
  limits(): Promise<number[]>
  problems(): Promise<string[]>
  stop(): Promise<void>
}
const nameOf = (error: unknown): string => (error instanceof Error ? error.name : String(error))

function typeScriptApplication(): Application {
  const folder = mkdtempSync(join(tmpdir(), 'kp-backlogs-'))
  const problems: string[] = []
  // The built modules: the compiler of this repository does not know them.
  const recorders = new Map<string, ReturnType<typeof JSON.parse>>()
  let made: (process: string) => ReturnType<typeof JSON.parse>
  let clientOf: () => ReturnType<typeof JSON.parse>
  let settings: Settings
  const memory = new MemorySaver()
  const recorderOf = (process: string) => {
    const recorder = recorders.get(process) ?? made(process)
    recorders.set(process, recorder)
    return recorder
  }
  return {
    async start(given) {
      settings = given
      const { url, token, project } = given
      const { load } = await builtTypeScript(folder)
      const client: ReturnType<typeof JSON.parse> = await load('index.js')
      const langgraph: ReturnType<typeof JSON.parse> = await load('langgraph.js')
      clientOf = () => new client.KnowledgePulse({ url, token })
      made = (process) =>
        new langgraph.Recorder({
          client: clientOf(),
          project,
          author: ({ configurable }: { configurable: { person?: object } }) => configurable.person,
          onProblem: (error: unknown) => void problems.push(nameOf(error)),
          retryEvery: 50,
          ...(process === 'hurried' ? { patience: 50, queue: 100 } : { patience: 60_000 }),
        })
    },
    async putAll({ process, threads, person, ts, loads }) {
      const saver: MemorySaver = recorderOf(process).checkpoints(memory)
      const writes = Object.entries(threads).map(async ([thread, said]) => {
        const messages = said.map(
          ({ id, text }) => new HumanMessage({ content: text, ...(id !== undefined && { id }) }),
        )
        const config = { configurable: { thread_id: thread, checkpoint_ns: '', person } }
        const checkpoint = { ...emptyCheckpoint(), channel_values: { messages }, ...(ts !== undefined && { ts }) }
        if (loads) await saver.getTuple(config)
        return saver.put(config, checkpoint, { source: 'input', step: 0, parents: {} })
      })
      await Promise.all(writes)
    },
    point: ({ process, thread, text }) => recorderOf(process).point(thread, { store: 'cache', ref: thread, text }),
    settle: (process, time) =>
      recorderOf(process)
        .settle(time === undefined ? {} : { timeout: time })
        .then(() => '', nameOf),
    async limits() {
      const client = clientOf()
      const params = { projectId: settings.project }
      const found: number[] = []
      for (const [path, input] of [['/api/projects/{projectId}', { params }], ['/health']] as const) {
        await client.get(path, input)
        found.push(client.rateWindow('read').limit)
      }
      return found
    },
    problems: async () => problems.splice(0),
    async stop() {
      for (const recorder of recorders.values()) await recorder.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

function pythonApplication(): Application {
  const folder = mkdtempSync(join(tmpdir(), 'kp-backlogs-'))
  let python: PythonProgram
  return {
    async start(settings) {
      python = pythonProgram('refused_reports.py', { PYTHONPATH: await builtPython(folder) })
      await python.call('start', { ...settings }, z.null())
    },
    putAll: async (written) => void (await python.call('put_all', { ...written }, z.null())),
    point: async (pointed) => void (await python.call('point', pointed, z.null())),
    settle: (process, time) =>
      python.call('settle', { process, timeout: time === undefined ? null : time / 1_000 }, z.string()),
    limits: () => python.call('limits', {}, z.array(z.number())),
    problems: () => python.call('found_problems', {}, z.array(z.string())),
    async stop() {
      await python?.call('close', {}, z.null())
      await python?.close()
      rmSync(folder, { recursive: true, force: true })
    },
  }
}

/** A server between the application and the registry that notes each call and the sources of values, and holds reports until released. */
interface Watch {
  url: string
  calls: string[]
  pointed: string[]
  hold(): () => void
  server: Server
}
const Sources = z.object({ entries: z.array(z.object({ source_id: z.string() })) })
async function watched(registry: TestApp): Promise<Watch> {
  const calls: string[] = []
  const pointed: string[] = []
  let held = Promise.resolve()
  const server = createServer(async (request, response) => {
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk)
    const { method = 'GET', url = '/', headers } = request
    if (method === 'POST' && url.endsWith('/messages')) await held
    if (url.endsWith('/provenance'))
      for (const entry of Sources.parse(JSON.parse(Buffer.concat(chunks).toString())).entries)
        pointed.push(entry.source_id)
    const names = ['authorization', 'content-type', 'idempotency-key']
    const sent = Object.fromEntries(names.flatMap((name) => (headers[name] ? [[name, String(headers[name])]] : [])))
    const body = chunks.length > 0 ? { body: Buffer.concat(chunks) } : {}
    const answer = await fetch(registry.url + url, { method, headers: sent, ...body })
    const [, kind] =
      /\/(conversations|messages|participants|provenance)(?:\/[^/]*)?$/.exec(url.split('?')[0] ?? '') ?? []
    calls.push(`${method} ${kind} ${answer.status}`)
    // `fetch` has unpacked the body.
    const passed = [...answer.headers].filter(([name]) => !['content-encoding', 'content-length'].includes(name))
    response.writeHead(answer.status, Object.fromEntries(passed))
    response.end(await answer.text())
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  const hold = () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    held = promise
    return resolve
  }
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, calls, pointed, hold, server }
}

const languages = [
  ['TypeScript', typeScriptApplication],
  ['Python', pythonApplication],
] as const

describe.skipIf(!isInstalled('openapi') || !isInstalled('python'))('the recorders', () => {
  let registry: TestApp
  let threads: TestDatabase
  let admin: Person
  const ida = { external_id: 'ida', name: 'Ida Beispiel' }
  const connected = new Map<string, Application & Watch & { project: string; token: string; agent: string }>()
  const of = (language: string) => {
    const found = connected.get(language)
    if (!found) throw new Error(`no application in ${language}`)
    return found
  }
  beforeAll(async () => {
    threads = await testDatabase()
    const saver = PostgresSaver.fromConnString(threads.ownerUrl)
    await saver.setup()
    await saver.end()
    registry = await testApp({ KP_CHECKPOINTS_URL: threads.ownerUrl })
    admin = await signedIn(registry, 'admin')
    const start = async ([language, made]: (typeof languages)[number]) => {
      const { token, id: agent } = await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })
      const { json } = await registry.fetch('POST', '/api/projects', { token, body: { name: language } })
      const project: string = json.data.id
      const watch = await watched(registry)
      const application = made()
      await application.start({ url: watch.url, token, project })
      connected.set(language, { ...application, ...watch, project, token, agent })
    }
    await Promise.all(languages.map(start))
  }, timeout)
  afterAll(async () => {
    for (const { stop, server } of connected.values()) {
      await stop()
      server.close()
    }
    await registry?.close()
    await threads?.drop()
  }, timeout)

  const Listed = z.array(z.object({ id: z.string(), content: z.string(), created_at: z.string() }))
  async function storedIn(project: string, thread: string): Promise<z.infer<typeof Listed>> {
    const path = `/api/projects/${project}/conversations/${thread}/messages?limit=100`
    const { json } = await registry.fetch('GET', path, { cookie: admin.cookie })
    return Listed.parse(json.data)
  }
  const textsIn = async (project: string, thread: string): Promise<string[]> =>
    (await storedIn(project, thread)).map(({ content }) => content).sort()
  const settled = (language: string, process: string) =>
    expect.poll(() => of(language).settle(process), { timeout: 120_000 }).toBe('')

  it.each(languages)(
    'in %s compares known messages with pages of the conversation after a restart',
    async (language) => {
      const { project, calls, putAll } = of(language)
      const thread = `${project}-restart`
      const said = Array.from({ length: 120 }, (_, n) => ({
        id: `${thread}-${n}`,
        text: `Sentence ${n} of the thread.`,
      }))
      await putAll({ process: 'before', threads: { [thread]: said } })
      await settled(language, 'before')
      calls.splice(0)
      const more = { id: `${thread}-more`, text: 'One more sentence.' }
      await putAll({ process: 'after', threads: { [thread]: [...said, more] } })
      await settled(language, 'after')
      expect(calls.filter((call) => call.startsWith('POST messages'))).toEqual(['POST messages 201'])
      expect(calls.filter((call) => call === 'GET messages 200').length).toBeLessThanOrEqual(3)
      // Registering, and one check before and after the write.
      expect(calls.length).toBeLessThanOrEqual(8)
      // Nothing waits, so nothing is asked.
      calls.splice(0)
      expect(await of(language).settle('after')).toBe('')
      expect(calls).toEqual([])
      const { json } = await registry.fetch(
        'GET',
        `/api/projects/${project}/conversations/${thread}/messages?limit=1`,
        admin,
      )
      expect(json.total).toBe(121)
    },
    timeout,
  )

  it.each(languages)(
    'in %s report both texts of an id whose text changes, and no erased text again',
    async (language) => {
      const { project, problems, putAll } = of(language)
      const thread = `${project}-changed`
      const put = async (process: string, text: string) => {
        await putAll({ process, threads: { [thread]: [{ id: `${thread}-1`, text }] }, person: ida })
        await settled(language, process)
      }
      const [first, second, third] = ['The words of before.', 'The words of afterwards.', 'And the third words.']
      await put('changed', first)
      await put('changed', second)
      await put('changed', first)
      expect(await textsIn(project, thread)).toEqual([first, second].sort())
      // A restarted process stores neither again.
      await put('changed-2', second)
      await put('changed-2', first)
      expect(await textsIn(project, thread)).toEqual([first, second].sort())
      await problems()
      for (const { id } of await storedIn(project, thread))
        await registry.fetch('DELETE', `/api/projects/${project}/conversations/${thread}/messages/${id}`, {
          cookie: admin.cookie,
          body: { reason: 'user_request' },
        })
      await drain(registry, { mayFail: true, except: ['privacy.clock'] })
      expect(await textsIn(project, thread)).toEqual([])
      await put('changed', first)
      await put('changed', second)
      await put('changed-3', first)
      expect(await textsIn(project, thread)).toEqual([])
      expect(await problems()).toEqual(['Erased'])
      await put('changed', third)
      expect(await textsIn(project, thread)).toEqual([third])
    },
    timeout,
  )

  it.each(languages)(
    'in %s report a changed text of somebody whose processing is restricted, and the same text only once',
    async (language) => {
      const { project, problems, putAll } = of(language)
      const thread = `${project}-restricted`
      const rita = { external_id: 'rita', name: 'Rita Ruhig' }
      const put = async (process: string, text: string) => {
        await putAll({ process, threads: { [thread]: [{ id: `${thread}-1`, text }] }, person: rita })
        await settled(language, process)
      }
      const [first, second] = ['Her words before the restriction.', 'Her words during the restriction.']
      await put('restricted', first)
      const participants = `/api/projects/${project}/participants`
      const { json } = await registry.fetch('GET', `${participants}?external_id=rita`, admin)
      const body = { kinds: ['restriction'] }
      await registry.fetch('POST', `${participants}/${json.data[0].id}/requests`, { cookie: admin.cookie, body })
      await problems()
      await put('restricted-2', first)
      expect(await textsIn(project, thread)).toEqual([first])
      await put('restricted-2', second)
      await put('restricted-3', second)
      expect(await textsIn(project, thread)).toEqual([first, second].sort())
      expect(await problems()).toEqual([])
      // Only the text that the run found in the thread is from before it.
      const third = 'Her words in a run that found the second ones.'
      const said = [{ id: `${thread}-1`, text: third }]
      await putAll({ process: 'restricted-4', threads: { [thread]: said }, person: rita, loads: true })
      await settled(language, 'restricted-4')
      expect(await textsIn(project, thread)).toEqual([first, second, third].sort())
    },
    timeout,
  )

  it.each(languages)(
    'in %s take a message that is stored under two ids for the one with its own id',
    async (language) => {
      const { project, calls, pointed, putAll, point } = of(language)
      const thread = `${project}-twice`
      const text = 'Yes, that would be fine for everybody.'
      const message = { id: `${thread}-1`, text }
      await putAll({ process: 'twice', threads: { [thread]: [{ text }, message] } })
      await settled(language, 'twice')
      expect(await textsIn(project, thread)).toEqual([text, text])
      calls.splice(0)
      await putAll({ process: 'twice-2', threads: { [thread]: [message] } })
      await settled(language, 'twice-2')
      expect(calls.filter((call) => call.startsWith('POST messages'))).toEqual([])
      pointed.splice(0)
      await point({ process: 'twice-2', thread, text })
      await settled(language, 'twice-2')
      expect(pointed).toEqual([message.id])
    },
    timeout,
  )

  it.each(languages)(
    'in %s report words that somebody else said before, with their author',
    async (language) => {
      const { project, pointed, putAll, point } = of(language)
      const thread = `${project}-repeated`
      const text = 'Please call me back tomorrow.'
      await putAll({ process: 'repeated', threads: { [thread]: [{ text }] }, person: ida })
      await settled(language, 'repeated')
      const ylva = { external_id: 'ylva', name: 'Ylva Zweite' }
      const message = { id: `${thread}-1`, text }
      await putAll({ process: 'repeated-2', threads: { [thread]: [message] }, person: ylva })
      await settled(language, 'repeated-2')
      expect(await textsIn(project, thread)).toEqual([text, text])
      const { json } = await registry.fetch('GET', `/api/projects/${project}/participants?external_id=ylva`, admin)
      expect(json.data).toHaveLength(1)
      pointed.splice(0)
      await point({ process: 'repeated-2', thread, text })
      await settled(language, 'repeated-2')
      expect(pointed).toEqual([message.id])
    },
    timeout,
  )

  it.each(languages)(
    'in %s give a changed text the time of its own checkpoint',
    async (language) => {
      const { project, putAll } = of(language)
      const thread = `${project}-edited`
      const ts = language === 'Python' ? '2026-03-01T10:20:30.456+00:00' : '2026-03-01T10:20:30.456Z'
      const put = async (process: string, text: string, more: Partial<Written>) => {
        await putAll({ process, threads: { [thread]: [{ id: `${thread}-1`, text }] }, ...more })
        await settled(language, process)
      }
      await put('edited', 'Asked long ago.', { ts })
      await put('edited-2', 'Edited and asked again.', { loads: true })
      const timesOf = (await storedIn(project, thread)).map(({ content, created_at }) => [
        content,
        created_at === '2026-03-01T10:20:30.456Z',
      ])
      expect(Object.fromEntries(timesOf)).toEqual({ 'Asked long ago.': true, 'Edited and asked again.': false })
    },
    timeout,
  )

  it.each(languages)(
    'in %s end at their time limit, and lose no text of a message that changes while the registry hangs',
    async (language) => {
      const { project, hold, putAll, settle, problems } = of(language)
      const thread = `${project}-held`
      const release = hold()
      // One text fits into the queue with another one, and two do not fit at all.
      const texts = [60, 70, 120, 130].map((length, n) => `Text ${n}: `.padEnd(length, 'words '))
      for (const [n, text] of texts.entries()) {
        const id = `${thread}-${Math.floor(n / 2)}`
        await putAll({ process: 'hurried', threads: { [thread]: [{ id, text }] }, person: ida })
      }
      expect(await settle('hurried', 300)).toBe('TimeoutError')
      expect(await textsIn(project, thread)).toEqual([])
      release()
      await settled(language, 'hurried')
      expect(await textsIn(project, thread)).toEqual([...texts].sort())
      await problems()
    },
    timeout,
  )

  it.each(languages)(
    'in %s have a client that knows no limit from answers that none counts',
    async (language) => {
      const [first, second] = await of(language).limits()
      expect(first).toBeGreaterThan(60)
      expect(second).toBe(first)
    },
    timeout,
  )

  it(
    'stay within the limit of the token with a backlog of 300 messages in ten threads',
    async () => {
      const report = async (language: string) => {
        const { project, agent, token, calls, putAll, settle } = of(language)
        const body = { limits: { writes_per_minute: 200 } }
        const { status } = await registry.fetch('PATCH', `/v1/agents/${agent}`, { ...admin, body })
        expect(status).toBe(200)
        const threads = Object.fromEntries(
          Array.from({ length: 10 }, (_, n) => {
            const thread = `${project}-backlog-${n}`
            const said = Array.from({ length: 30 }, (__, at) => ({
              id: `${thread}-${at}`,
              text: `Text ${at} of ${n}.`,
            }))
            return [thread, said] as const
          }),
        )
        calls.splice(0)
        await putAll({ process: 'backlog', threads })
        expect(await settle('backlog')).toBe('')
        expect(calls.filter((call) => call.endsWith(' 429'))).toEqual([])
        for (const [thread, said] of Object.entries(threads))
          expect(await textsIn(project, thread)).toEqual(said.map(({ text }) => text).sort())
        const own = await registry.fetch('GET', `/api/projects/${project}`, { token })
        expect(own.status).toBe(200)
      }
      await Promise.all(languages.map(([language]) => report(language)))
    },
    timeout,
  )
})
