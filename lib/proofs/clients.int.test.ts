// Builds the packages of clients/ as they are published, and tests them against a real registry.
import { execFile } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { HumanMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import {
  type BaseCheckpointSaver,
  type BaseStore,
  emptyCheckpoint,
  InMemoryStore,
  MemorySaver,
} from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { PostgresStore } from '@langchain/langgraph-checkpoint-postgres/store'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { newId } from '#lib/kernel/ids.ts'
import { problems } from '#lib/kernel/problem.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { builtPython, builtTypeScript } from '#lib/testing/client-packages.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { blocksOf, commandsOf, sectionOf } from '#lib/testing/guide-walk.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PythonProgram, pythonProgram } from '#lib/testing/python.ts'
import { isInstalled, openApiTool, pythonExecutable } from '#lib/testing/services/installed.ts'
import { trace } from '#lib/testing/units.ts'

const run = promisify(execFile)
const timeout = 300_000
const tsBlocksOf = (file: string) => blocksOf(readFileSync(join(import.meta.dirname, '../..', file), 'utf8'), 'ts')

/** The response of a server of a test, in order. */
type Answer =
  | { status: number; headers?: Record<string, string>; body?: unknown }
  | 'broken'
  | 'cut'
  | 'silent'
  | 'stalled'
async function scripted(answers: Answer[]) {
  const requests: { key: string | undefined; at: number }[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const key = request.headers['idempotency-key']
    requests.push({ key: typeof key === 'string' ? key : undefined, at: performance.now() })
    const answer = answers[Math.min(requests.length, answers.length) - 1] ?? 'broken'
    if (answer === 'broken') return void request.socket.destroy()
    if (answer === 'silent') return
    if (answer === 'cut' || answer === 'stalled') {
      response.writeHead(200, { 'Content-Type': 'application/json', 'Content-Length': '100' })
      return void response.write('{"data":', () => answer === 'cut' && request.socket.destroy())
    }
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers })
    response.end(JSON.stringify(answer.body ?? {}))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, requests }
}
const problem = (status: number, code: string, headers?: Record<string, string>): Answer => ({
  status,
  body: { title: code, status, code, instance: 'req_1' },
  ...(headers && { headers }),
})

describe.skipIf(!isInstalled('openapi'))('the clients', () => {
  let folder: string
  let test: TestApp
  let agent: Issued
  // The built modules: the compiler of this repository does not know them.
  let client: ReturnType<typeof JSON.parse>
  let langgraph: ReturnType<typeof JSON.parse>
  let python: PythonProgram

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kp-client-'))
    const built = await builtTypeScript(folder)
    client = await built.load('index.js')
    langgraph = await built.load('langgraph.js')
    if (isInstalled('python')) python = pythonProgram('registry_client.py', { PYTHONPATH: await builtPython(folder) })
    test = await testApp()
    agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  }, timeout)
  afterAll(async () => {
    await python?.close()
    await test?.close()
    rmSync(folder, { recursive: true, force: true })
  })

  it('has the types of every operation, under strict settings and without skipLibCheck', async () => {
    const app = join(folder, 'app')
    writeFileSync(
      join(app, 'use.ts'),
      `import { KnowledgePulse, NotFound } from '@knowledgepulse/client'
       const kp = new KnowledgePulse({ url: 'http://localhost:3000' })
       export const score: Promise<number> = kp.get('/v1/reputation/{agent_id}', { params: { agent_id: 'a' } }).then(({ data }) => data.score)
       export const ids = async (): Promise<string[]> => {
         const found: string[] = []
         for await (const unit of kp.pages('/v1/knowledge', { query: { q: 'x' } })) found.push(unit.id)
         return found
       }
       // @ts-expect-error: the path needs an id
       void kp.get('/v1/knowledge/{id}')
       // @ts-expect-error: there is no such address
       void kp.get('/v1/nothing')
       // @ts-expect-error: a title is a text
       void kp.post('/api/projects', { body: { name: 7 } })
       export const isMissing = (error: unknown): boolean => error instanceof NotFound`,
    )
    const compilerOptions = {
      strict: true,
      exactOptionalPropertyTypes: true,
      noUncheckedIndexedAccess: true,
      skipLibCheck: false,
      noEmit: true,
      module: 'nodenext',
      target: 'es2023',
      lib: ['ES2023', 'DOM', 'DOM.Iterable'],
      types: [],
    }
    writeFileSync(join(app, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['use.ts'] }))
    const { stdout } = await run(openApiTool('tsc'), ['-p', app]).catch((error: { stdout: string }) => error)
    expect(stdout.trim()).toBe('')
  })

  it('accepts the snippets of the README and of the guide, with LangGraph, under strict settings', async () => {
    const app = join(folder, 'app')
    const blocks = [...tsBlocksOf('clients/typescript/README.md'), ...tsBlocksOf('docs/for-agent-developers.md')]
    const [guide] = blocks.splice(-1)
    const given = `import type { BaseCheckpointSaver, BaseStore } from '@langchain/langgraph-checkpoint'
      import type { RedisClient } from '@knowledgepulse/client/redis'
      declare const process: { env: Record<string, string | undefined> }
      declare const console: { log(...texts: unknown[]): void }
      declare const saver: BaseCheckpointSaver, store: BaseStore, redis: RedisClient, url: string, token: string, graphiti: string
    `
    const compiled = `import { START, StateGraph, MessagesAnnotation } from '@langchain/langgraph'
      new StateGraph(MessagesAnnotation).addNode('a', () => ({})).addEdge(START, 'a').compile({ checkpointer, store: memories })`
    writeFileSync(join(app, 'readme.ts'), [given, ...blocks, compiled].join('\n'))
    writeFileSync(
      join(app, 'guide.ts'),
      `${given}import { KnowledgePulse } from '@knowledgepulse/client'
      import { RecordedGraphiti } from '@knowledgepulse/client/graphiti'
      import { Recorder, recordedStore } from '@knowledgepulse/client/langgraph'
      import { RecordedCache } from '@knowledgepulse/client/redis'
      ${guide}`,
    )
    const settings = { strict: true, noEmit: true, module: 'nodenext', target: 'es2023', types: [], skipLibCheck: true }
    const config = { compilerOptions: settings, files: ['readme.ts', 'guide.ts'] }
    writeFileSync(join(app, 'readme.json'), JSON.stringify(config))
    const check = run(openApiTool('tsc'), ['-p', join(app, 'readme.json')])
    expect((await check.catch((error: { stdout: string }) => error)).stdout.trim()).toBe('')
  })

  it('creates a project as the guide shows', async () => {
    const [command = ''] = commandsOf(sectionOf('for-agent-developers.md', '## Connect in five lines'))
    const filled = command.replace('kp_…', agent.token).replace('http://localhost:3000', test.url)
    const { stdout } = await run('bash', ['-c', filled])
    expect(JSON.parse(stdout).data).toMatchObject({ id: expect.stringMatching(/^prj_/), name: 'Support' })
  })

  it('has a class for every problem code', () => {
    expect(Object.keys(client.problemClasses).sort()).toEqual(Object.keys(problems).sort())
    expect(new Set(Object.values(client.problemClasses)).size).toBe(Object.keys(problems).length)
  })

  interface Failed {
    class: string
    code?: string
    status?: number
    requestId?: string
    issues?: unknown[]
  }
  interface Request {
    client: { url: string; token?: string }
    method: 'GET' | 'POST' | 'PAGES' | 'STREAM' | 'UPLOAD'
    path: string
    given: { params?: object; query?: object; body?: unknown; timeout?: number; retries?: number }
    upload?: { text: string; mediaType: string; streams: boolean }
  }
  // Untyped, because the answers of different operations have different fields.
  type Outcome = { result: ReturnType<typeof JSON.parse>; failed?: undefined } | { result?: undefined; failed: Failed }
  const Outcomes = z.array(
    z.object({ result: z.unknown().optional(), failed: z.looseObject({ class: z.string() }).optional() }),
  )
  /** Makes all calls at the same time. Time limits are in seconds. */
  type Caller = (requests: readonly Request[]) => Promise<Outcome[]>

  async function once({ client: { url, token }, method, path, given, upload }: Request): Promise<Outcome> {
    const { timeout: seconds, retries, ...input } = given
    const options = {
      ...(seconds !== undefined && { timeout: seconds * 1000 }),
      ...(retries !== undefined && { retries }),
    }
    const kp = new client.KnowledgePulse({ url, ...(token !== undefined && { token }) })
    try {
      if (method === 'PAGES') return { result: await Array.fromAsync(kp.pages(path, input, options)) }
      if (method === 'STREAM') return { result: await new Response(await kp.stream(path, input, options)).text() }
      if (method === 'UPLOAD') {
        const blob = new Blob([upload?.text ?? ''])
        const body = upload?.streams ? blob.stream() : blob
        return { result: await kp.upload(path, input, { body, mediaType: upload?.mediaType }, options) }
      }
      return { result: await kp[method.toLowerCase()](path, input, options) }
    } catch (error) {
      if (!(error instanceof Error)) throw error
      return { failed: Object.assign({ class: error.constructor.name }, error) }
    }
  }
  const inTypeScript: Caller = (requests) => Promise.all(requests.map(once))
  const inPython =
    (name: 'calls' | 'acalls'): Caller =>
    async (requests) =>
      (await python.call(name, { requests }, Outcomes)) as Outcome[]
  const callers: [string, Caller][] = [['TypeScript', inTypeScript]]
  if (isInstalled('python')) callers.push(['Python', inPython('calls')], ['Python with asyncio', inPython('acalls')])

  describe.each(callers)('the contract in %s', (_, calls) => {
    const call = async (request: Omit<Request, 'client'> & Partial<Pick<Request, 'client'>>): Promise<Outcome> => {
      const [outcome] = await calls([{ client: { url: test.url, token: agent.token }, ...request }])
      if (!outcome) throw new Error('no outcome')
      return outcome
    }

    it('contributes, iterates over pages, reads, and throws the class of the code with the request id', async () => {
      const { id, token } = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
      const own = { client: { url: test.url, token } }
      for (let n = 0; n < 5; n++) {
        const body = trace({ task: { objective: `Client ${n} of ${id}` } })
        await call({ ...own, method: 'POST', path: '/v1/knowledge', given: { body } })
      }
      const query = { mine: 'true', limit: 2 }
      const listed = await call({ ...own, method: 'PAGES', path: '/v1/knowledge', given: { query } })
      const ids: string[] = listed.result.map((unit: { id: string }) => unit.id)
      expect(new Set(ids).size).toBe(5)
      const read = (unit: string | undefined) =>
        call({ ...own, method: 'GET', path: '/v1/knowledge/{id}', given: { params: { id: unit } } })
      expect((await read(ids[0])).result.data.id).toBe(ids[0])
      expect((await read('kp:trace:none')).failed).toMatchObject({
        class: 'NotFound',
        code: 'not_found',
        status: 404,
        requestId: expect.stringMatching(/^req_/),
      })
      // An empty id would be the address of the list.
      expect((await read('')).failed).toMatchObject({ class: 'TypeError' })
      const { failed } = await call({ ...own, method: 'POST', path: '/v1/knowledge', given: { body: {} } })
      expect(failed?.class).toBe('Invalid')
      expect(failed?.issues?.length).toBeGreaterThan(0)
    })

    it('streams an export, and uploads a history as a stream', async () => {
      const params = { agent_id: agent.id }
      const exported = await call({ method: 'STREAM', path: '/v1/export/{agent_id}', given: { params } })
      expect(JSON.parse(exported.result).agent_id).toBe(agent.id)
      const missing = await call({
        method: 'STREAM',
        path: '/api/exports/{id}/content',
        given: { params: { id: 'exp_0' } },
      })
      expect(missing.failed?.class).toBe('NotFound')
      const { result } = await call({ method: 'POST', path: '/api/projects', given: { body: { name: 'Imported' } } })
      const at = { params: { projectId: result.data.id } }
      for (const streams of [true, false]) {
        const line = JSON.stringify({ type: 'conversation', id: newId('made'), title: 'First' })
        const upload = { text: `${line}\n`, mediaType: 'application/x-ndjson', streams }
        const sent = await call({ method: 'UPLOAD', path: '/api/projects/{projectId}/import', given: at, upload })
        expect(sent.failed).toBeUndefined()
      }
      const listed = await call({ method: 'GET', path: '/api/projects/{projectId}/conversations', given: at })
      expect(listed.result.total).toBe(2)
    })

    it(
      'retries faults twice with the same idempotency key, and honors Retry-After',
      async () => {
        const done: Answer = { status: 201, body: { data: {} } }
        const faults: Answer[] = [
          'broken',
          'cut',
          problem(408, 'too_slow'),
          problem(409, 'fenced'),
          problem(503, 'unavailable'),
          problem(500, 'internal'),
        ]
        const servers = await Promise.all(faults.map((fault) => scripted([fault, fault, done])))
        const slow = await scripted([problem(429, 'rate_limited', { 'Retry-After': '1' }), done])
        const outcomes = await calls(
          [...servers, slow].map(({ url }) => ({
            client: { url },
            method: 'POST',
            path: '/v1/knowledge',
            given: { body: trace() },
          })),
        )
        expect(outcomes.map(({ failed }) => failed)).toEqual(outcomes.map(() => undefined))
        for (const [n, { requests }] of servers.entries())
          expect([faults[n], requests.length, new Set(requests.map(({ key }) => key)).size]).toEqual([faults[n], 3, 1])
        expect(servers[0]?.requests[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
        const [first, second] = slow.requests
        expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
      },
      timeout,
    )

    it(
      'gives up after two retries, at once for other problems, and for a long Retry-After',
      async () => {
        const cases: [Answer, object, number, string][] = [
          [problem(503, 'unavailable'), {}, 3, 'Unavailable'],
          ['broken', { retries: 1 }, 2, 'RegistryUnreachable'],
          [problem(409, 'conflict'), {}, 1, 'Conflict'],
          [problem(429, 'quota_exceeded', { 'Retry-After': '3600' }), {}, 1, 'QuotaExceeded'],
          [{ status: 502, body: 'a proxy' }, { retries: 0 }, 1, 'RegistryProblem'],
        ]
        const servers = await Promise.all(cases.map(([answer]) => scripted([answer])))
        const outcomes = await calls(
          cases.map(([, given], n) => ({
            client: { url: servers[n]?.url ?? '' },
            method: 'GET',
            path: '/v1/skills',
            given,
          })),
        )
        for (const [n, [, , count, name]] of cases.entries())
          expect([servers[n]?.requests.length, outcomes[n]?.failed?.class]).toEqual([count, name])
      },
      timeout,
    )

    it('ends a call at its time limit, also while the body arrives', async () => {
      for (const answer of ['silent', 'stalled'] as const) {
        const { url } = await scripted([answer])
        const given = { timeout: 0.2, retries: 0 }
        const { failed } = await call({ client: { url }, method: 'GET', path: '/v1/skills', given })
        expect([answer, failed?.class]).toEqual([answer, 'RegistryUnreachable'])
      }
    })
  })

  it('ends a call at the signal of the caller', async () => {
    const { url } = await scripted(['silent'])
    const kp = new client.KnowledgePulse({ url, retries: 0 })
    const ending = new AbortController()
    const call = kp.get('/v1/skills', {}, { signal: ending.signal })
    ending.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
  })

  describe.skipIf(!isInstalled('python'))('the Python package', () => {
    it(
      'has the types of every operation, under strict settings',
      async () => {
        writeFileSync(
          join(folder, 'use.py'),
          `from knowledgepulse import AsyncKnowledgePulse, KnowledgePulse

kp = KnowledgePulse("http://localhost:3000")
score: float = kp.get("/v1/reputation/{agent_id}", params={"agent_id": "a"})["data"]["score"]
ids: list[str] = [unit["id"] for unit in kp.pages("/v1/knowledge", query={"q": "x"})]


async def name() -> str:
    kp = AsyncKnowledgePulse("http://localhost:3000")
    return (await kp.post("/api/projects", body={"name": "A"}))["data"]["name"]


# Each of these lines has to be refused: a suppressed line without a fault is a fault itself.
kp.get("/v1/knowledge/{id}")  # type: ignore[call-overload]
kp.get("/v1/nothing")  # type: ignore[call-overload]
kp.post("/api/projects", body={"name": 7})  # type: ignore[call-overload]
`,
        )
        const found = `${join(folder, 'wheel')}:${folder}`
        const options = { cwd: folder, env: { NODE_ENV: 'test' as const, MYPYPATH: found } }
        const check = [
          '--num-workers',
          '2',
          '--strict',
          '--cache-dir',
          join(folder, 'mypy'),
          '-m',
          'use',
          '-p',
          'knowledgepulse',
        ]
        const { stdout } = await run(pythonExecutable('mypy'), check, options).catch(
          (error: { stdout: string }) => error,
        )
        expect(stdout.trim()).toMatch(/^Success: no issues found in \d+ source files$/)
      },
      timeout,
    )
    it('has a class for every problem code, with the names of the other client', async () => {
      const names = Object.entries(client.problemClasses).map(([code, found]) => [
        code,
        (found as { name: string }).name,
      ])
      expect(await python.call('codes', {}, z.record(z.string(), z.string()))).toEqual(Object.fromEntries(names))
    })
    it('ends a call when its task is cancelled', async () => {
      const { url } = await scripted(['silent'])
      expect(await python.call('cancelled', { url }, z.boolean())).toBe(true)
    })
  })

  describe('Recorder', () => {
    let checkpoints: TestDatabase
    let registry: TestApp
    let token: string
    let cookie: string
    let project: string
    let saver: PostgresSaver
    beforeAll(async () => {
      checkpoints = await testDatabase()
      registry = await testApp({ KP_CHECKPOINTS_URL: checkpoints.ownerUrl })
      saver = PostgresSaver.fromConnString(checkpoints.ownerUrl)
      await saver.setup()
      const admin = await signedIn(registry, 'admin')
      cookie = admin.cookie
      token = (await issuedAgent(registry, ['read', 'write'], { tier: 'enterprise', owner: admin })).token
      const kp = new client.KnowledgePulse({ url: registry.url, token })
      project = (await kp.post('/api/projects', { body: { name: 'Support' } })).data.id
    }, timeout)
    afterAll(async () => {
      await saver?.end()
      await registry?.close()
      await checkpoints?.drop()
    })
    const kpOf = (url = registry.url) => new client.KnowledgePulse({ url, token, retries: 0 })
    /** A busy machine answers late, and a write that no longer waits is not refused. */
    const patience = 60_000
    const recorderOf = (more: object = {}) => new langgraph.Recorder({ client: kpOf(), project, patience, ...more })
    const agentOf = (checkpointer: BaseCheckpointSaver) =>
      new StateGraph(MessagesAnnotation)
        .addNode('answer', (state) => ({
          messages: [{ role: 'ai', content: `You said: ${state.messages.at(-1)?.text}` }],
        }))
        .addEdge(START, 'answer')
        .compile({ checkpointer })
    const sentence = 'My name is Ida Beispiel and I sign the contract on Monday.'
    const rowsOf = async (thread: string): Promise<number> => {
      let rows = 0
      for await (const _ of saver.list({ configurable: { thread_id: thread } })) rows++
      return rows
    }
    const erase = async (thread: string) => {
      const path = `/api/projects/${project}/conversations/${thread}`
      const { status } = await registry.fetch('DELETE', path, {
        cookie,
        headers: { Origin: 'http://localhost:3000' },
        body: {},
      })
      await drain(registry)
      expect([200, 202]).toContain(status)
    }

    it(
      'makes an erasure find a thread of an application without any other call',
      async () => {
        const recorder = recorderOf({ author: () => ({ external_id: 'customer-1', name: 'Ida Beispiel' }) })
        const checkpointer = recorder.checkpoints(saver)
        expect(checkpointer).toBeInstanceOf(PostgresSaver)
        const thread = 'support-1'
        const state = await agentOf(checkpointer).invoke(
          { messages: [new HumanMessage(sentence)] },
          { configurable: { thread_id: thread } },
        )
        await recorder.settle()
        const { json } = await registry.fetch('GET', `/api/projects/${project}/conversations/${thread}/messages`, {
          token,
        })
        expect(json.data.map(({ id }: { id: string }) => id).sort()).toEqual(state.messages.map(({ id }) => id).sort())
        await erase(thread)
        expect(await rowsOf(thread)).toBe(0)
      },
      timeout,
    )

    it(
      'refuses late writes of an erased thread 100 of 100 times, and the thread stays gone',
      async () => {
        const recorder = recorderOf()
        const checkpointer = recorder.checkpoints(saver)
        const thread = 'support-2'
        const config = { configurable: { thread_id: thread } }
        await agentOf(checkpointer).invoke({ messages: [new HumanMessage(sentence)] }, config)
        const before = await saver.getTuple(config)
        if (!before) throw new Error('no checkpoint was stored')
        await erase(thread)
        const late = { configurable: { thread_id: thread, checkpoint_ns: '' } }
        let refused = 0
        for (let n = 0; n < 100; n++)
          await (n % 2 === 0
            ? checkpointer.put(
                late,
                before.checkpoint,
                { source: 'loop', step: n, parents: {} },
                before.checkpoint.channel_versions,
              )
            : checkpointer.putWrites(
                { configurable: { ...late.configurable, checkpoint_id: before.checkpoint.id } },
                [['messages', sentence]],
                'task',
              )
          ).catch((error: unknown) => {
            if (error instanceof langgraph.ErasedThread) refused++
          })
        expect(refused).toBe(100)
        expect(await rowsOf(thread)).toBe(0)
        // Another process of the application, which knows nothing of the thread.
        const other = recorderOf().checkpoints(saver)
        await expect(agentOf(other).invoke({ messages: [new HumanMessage('again')] }, config)).rejects.toThrow('erased')
        expect(await rowsOf(thread)).toBe(0)
      },
      timeout,
    )

    it(
      'lets the application go on while the registry is down, and reports later',
      async () => {
        const faults: unknown[] = []
        let isDown = true
        const call: typeof fetch = (...args) =>
          isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(...args)
        const kp = new client.KnowledgePulse({ url: registry.url, token, retries: 0, fetch: call })
        const recorder = new langgraph.Recorder({
          client: kp,
          project,
          onProblem: (error: unknown) => void faults.push(error),
        })
        // The project may claim a thread with its id also after the first checkpoint.
        const thread = `${project}-3`
        await agentOf(recorder.checkpoints(saver)).invoke(
          { messages: [new HumanMessage(sentence)] },
          { configurable: { thread_id: thread } },
        )
        expect(await rowsOf(thread)).toBeGreaterThan(0)
        expect(faults.length).toBeGreaterThan(0)
        await expect(recorder.settle()).rejects.toBeInstanceOf(client.RegistryUnreachable)
        isDown = false
        await recorder.settle()
        await recorder.close()
        const { json } = await registry.fetch('GET', `/api/projects/${project}/conversations/${thread}/messages`, {
          token,
        })
        expect(json.data.map(({ content }: { content: string }) => content)).toContain(sentence)
      },
      timeout,
    )

    it.each([
      ['keeps the texts in memory', 2 ** 24],
      ['reads the texts from the saver when the queue is full', 0],
    ])(
      'lets no write wait for a registry that hangs, loses nothing, and %s',
      async (_, queue) => {
        let release = () => {}
        const isBack = new Promise<void>((resolve) => {
          release = resolve
        })
        let calls = 0
        const call: typeof fetch = async (...args) => {
          calls++
          await isBack
          return fetch(...args)
        }
        const kp = new client.KnowledgePulse({ url: registry.url, token, fetch: call })
        let lists = 0
        const memory = new Proxy(new MemorySaver(), {
          get(target, name) {
            if (name === 'list') lists++
            const member: unknown = Reflect.get(target, name, target)
            return typeof member === 'function' ? member.bind(target) : member
          },
        })
        const recorder = new langgraph.Recorder({ client: kp, project, queue, patience: 50, retryEvery: 1 })
        const application = agentOf(recorder.checkpoints(memory))
        const threads = Array.from({ length: 10 }, (_, n) => `${project}-hangs-${queue}-${n}`)
        for (const thread of threads)
          await application.invoke(
            { messages: [new HumanMessage(`${sentence} ${thread}`)] },
            { configurable: { thread_id: thread } },
          )
        // Only the first write asked the registry, although retries are due at all times.
        expect(calls).toBe(1)
        release()
        await recorder.close()
        for (const thread of threads) {
          const path = `/api/projects/${project}/conversations/${thread}/messages`
          const { json } = await registry.fetch('GET', path, { token })
          const contents = json.data.map(({ content }: { content: string }) => content).sort()
          expect(contents).toEqual([`${sentence} ${thread}`, `You said: ${sentence} ${thread}`].sort())
        }
        expect(lists > 0).toBe(queue === 0)
      },
      timeout,
    )

    it(
      'deletes what was written to an erased thread while the registry was down',
      async () => {
        let isDown = false
        const call: typeof fetch = (...args) =>
          isDown ? Promise.reject(new TypeError('fetch failed')) : fetch(...args)
        const kp = new client.KnowledgePulse({ url: registry.url, token, retries: 0, fetch: call })
        const recorder = new langgraph.Recorder({ client: kp, project })
        const application = agentOf(recorder.checkpoints(saver))
        const thread = 'support-6'
        const config = { configurable: { thread_id: thread } }
        await application.invoke({ messages: [new HumanMessage(sentence)] }, config)
        const before = await saver.getTuple(config)
        if (!before) throw new Error('no checkpoint was stored')
        await erase(thread)
        isDown = true
        // A checkpoint of messages that were all reported before.
        const late = { configurable: { thread_id: thread, checkpoint_ns: '' } }
        const { checkpoint } = before
        const metadata = { source: 'loop', step: 9, parents: {} } as const
        await recorder.checkpoints(saver).put(late, checkpoint, metadata, checkpoint.channel_versions)
        expect(await rowsOf(thread)).toBeGreaterThan(0)
        isDown = false
        await recorder.close()
        expect(await rowsOf(thread)).toBe(0)
      },
      timeout,
    )

    describe.each(['InMemoryStore', 'PostgresStore'])('recordedStore with %s', (kind) => {
      const storeOf = async () => {
        if (kind === 'InMemoryStore') return new InMemoryStore()
        const store = PostgresStore.fromConnString(checkpoints.ownerUrl)
        await store.setup()
        onTestFinished(() => store.stop())
        return store
      }
      const remembers = (store: BaseStore, direct?: BaseStore, checkpointer?: BaseCheckpointSaver) =>
        new StateGraph(MessagesAnnotation)
          .addNode('remember', async ({ messages }, { store: own }) => {
            const said = messages.at(-1)
            await (direct ?? own)?.put(['memories'], String(said?.id), { said: said?.text })
            return {}
          })
          .addEdge(START, 'remember')
          .compile({ store, ...(checkpointer && { checkpointer }) })

      it(
        'hides the project, and sees no items of others',
        async () => {
          const inner = await storeOf()
          const store: BaseStore = langgraph.recordedStore(inner, recorderOf())
          const other: BaseStore = langgraph.recordedStore(inner, recorderOf({ project: newId('prj') }))
          await store.put(['memories', 'a'], 'first', { n: 1 })
          await other.put(['memories', 'a'], 'first', { n: 2 })
          const [listed, found] = await store.batch([
            { namespacePrefix: ['memories'] },
            { namespace: ['memories', 'a'], key: 'first' },
            { namespace: ['memories', 'b'], key: 'second', value: { n: 3 } },
          ])
          const first = { namespace: ['memories', 'a'], key: 'first', value: { n: 1 } }
          expect(listed).toMatchObject([first])
          expect(found).toMatchObject(first)
          expect(await store.get(['memories', 'a'], 'none')).toBeNull()
          expect((await store.search(['memories'])).map(({ key }) => key).sort()).toEqual(['first', 'second'])
          expect(await store.listNamespaces({ maxDepth: 2 })).toEqual([
            ['memories', 'a'],
            ['memories', 'b'],
          ])
          expect(
            await store.batch([{ matchConditions: [{ matchType: 'suffix', path: ['b'] }], limit: 9, offset: 0 }]),
          ).toEqual([[['memories', 'b']]])
          await expect(store.put([], 'none', {})).rejects.toThrow('namespace')
          await store.delete(['memories', 'a'], 'first')
          expect(await store.get(['memories', 'a'], 'first')).toBeNull()
          expect(await other.get(['memories', 'a'], 'first')).toMatchObject({ value: { n: 2 } })
        },
        timeout,
      )

      it(
        'refuses a late item of an erased thread where the node calls it, and keeps the items of other threads',
        async () => {
          const store: BaseStore = langgraph.recordedStore(await storeOf(), recorderOf())
          const thread = `${project}-late-${kind}`
          const config = { configurable: { thread_id: thread } }
          const other = { configurable: { thread_id: `${thread}-other` } }
          const saved = recorderOf().checkpoints(new MemorySaver())
          await remembers(store, store, saved).invoke({ messages: [new HumanMessage(`${sentence} ${kind}`)] }, config)
          await remembers(store, undefined, saved).invoke(
            { messages: [new HumanMessage(`The other thread of ${kind} stays.`)] },
            other,
          )
          await erase(thread)
          // Without a saver, which would refuse the thread before the node.
          const late = remembers(store, store).invoke({ messages: [new HumanMessage('Late words of nobody.')] }, config)
          await expect(late).rejects.toBeInstanceOf(langgraph.ErasedThread)
          const said = (await store.search(['memories'])).map(({ value }) => value.said)
          expect(said).toContain(`The other thread of ${kind} stays.`)
          expect(said).not.toContain('Late words of nobody.')
          // The registry can reach only the store in PostgreSQL.
          expect(said.includes(`${sentence} ${kind}`)).toBe(kind === 'InMemoryStore')
        },
        timeout,
      )

      it(
        'refuses an item of config.store when its thread is erased while the node works, and keeps one of another thread',
        async () => {
          const inner = await storeOf()
          const recorder = recorderOf()
          const store: BaseStore = langgraph.recordedStore(inner, recorder)
          const [thread, other] = [`${project}-during-${kind}`, `${project}-meanwhile-${kind}`]
          let isLate = () => {}
          const erased = new Promise<void>((resolve) => {
            isLate = resolve
          })
          let working = () => {}
          const isWorking = new Promise<void>((resolve) => {
            working = resolve
          })
          const application = new StateGraph(MessagesAnnotation)
            .addNode('remember', async ({ messages }, { store: own, configurable }) => {
              if (configurable?.thread_id === thread) working()
              await erased
              await own?.put(['late'], String(configurable?.thread_id), { said: messages.at(-1)?.text })
              return {}
            })
            .addEdge(START, 'remember')
            .compile({ store, checkpointer: recorder.checkpoints(new MemorySaver()) })
          await recorder.admit(thread)
          const runs = [thread, other].map((id) =>
            application.invoke({ messages: [new HumanMessage(`Words of ${id}`)] }, { configurable: { thread_id: id } }),
          )
          const results = Promise.allSettled(runs)
          await isWorking
          await erase(thread)
          isLate()
          const [refused, done] = await results
          expect(refused).toMatchObject({ status: 'rejected', reason: expect.any(langgraph.ErasedThread) })
          expect(done?.status).toBe('fulfilled')
          expect((await store.search(['late'])).map(({ key }) => key)).toEqual([other])
        },
        timeout,
      )
    })

    it(
      'refuses late writes when the application contains the client twice',
      async () => {
        const other = join(folder, 'app/node_modules/@knowledgepulse/other')
        cpSync(join(folder, 'app/node_modules/@knowledgepulse/client'), other, { recursive: true })
        const second = await import(join(other, 'dist/index.js'))
        const adapters = await import(join(other, 'dist/langgraph.js'))
        const kp = new second.KnowledgePulse({ url: registry.url, token, retries: 0 })
        const recorder = new langgraph.Recorder({ client: kp, project, patience })
        const inner = new InMemoryStore()
        const store: BaseStore = adapters.recordedStore(inner, recorder)
        const thread = `${project}-twice`
        const config = { configurable: { thread_id: thread } }
        const application = agentOf(recorder.checkpoints(saver))
        await application.invoke({ messages: [new HumanMessage(sentence)] }, config)
        await erase(thread)
        const late = application.invoke({ messages: [new HumanMessage('again')] }, config)
        const error = await late.catch((refusal: unknown) => refusal)
        expect([error instanceof langgraph.ErasedThread, error instanceof adapters.ErasedThread]).toEqual([true, true])
        expect(error instanceof client.RegistryProblem).toBe(false)
        expect(await rowsOf(thread)).toBe(0)
        const remember = new StateGraph(MessagesAnnotation)
          .addNode('remember', async () => {
            await store.put(['late'], 'one', {})
            return {}
          })
          .addEdge(START, 'remember')
          .compile()
        await expect(remember.invoke({ messages: [] }, config)).rejects.toBeInstanceOf(langgraph.ErasedThread)
        expect(await store.search(['late'])).toEqual([])
        const missing = await kp.get('/v1/knowledge/{id}', { params: { id: 'kp:trace:none' } }).catch((e: unknown) => e)
        expect([missing instanceof client.NotFound, missing instanceof client.Conflict]).toEqual([true, false])
        const silent = new second.KnowledgePulse({ url: 'http://127.0.0.1:1', retries: 0 })
        const dead = await silent.get('/v1/knowledge').catch((e: unknown) => e)
        expect([dead instanceof client.RegistryUnreachable, dead instanceof client.RegistryProblem]).toEqual([
          true,
          false,
        ])
      },
      timeout,
    )

    it(
      'reports the messages of a thread that somebody else must name',
      async () => {
        const faults: unknown[] = []
        const thread = 'support-4'
        const config = { configurable: { thread_id: thread } }
        await agentOf(saver).invoke({ messages: [new HumanMessage(sentence)] }, config)
        const recorder = recorderOf({ onProblem: (error: unknown) => void faults.push(error) })
        await agentOf(recorder.checkpoints(saver)).invoke({ messages: [new HumanMessage('And by Tuesday?')] }, config)
        await recorder.settle()
        expect(faults).toEqual([expect.any(client.Invalid)])
        const { json } = await registry.fetch(
          'GET',
          `/api/projects/${project}/conversations/recorded-${thread}/messages`,
          {
            token,
          },
        )
        expect(json.data.map(({ content }: { content: string }) => content)).toContain(sentence)
      },
      timeout,
    )

    it(
      'deletes nothing of the application when the token loses its access',
      async () => {
        const faults: unknown[] = []
        const recorder = recorderOf({ onProblem: (error: unknown) => void faults.push(error) })
        const thread = 'support-5'
        const config = { configurable: { thread_id: thread } }
        const application = agentOf(recorder.checkpoints(saver))
        await application.invoke({ messages: [new HumanMessage(sentence)] }, config)
        const before = await rowsOf(thread)
        await registry.db.prisma.projectMember.deleteMany({ where: { projectId: project } })
        await application.invoke({ messages: [new HumanMessage('Still there?')] }, config)
        expect(faults.length).toBeGreaterThan(0)
        expect(await rowsOf(thread)).toBeGreaterThan(before)
      },
      timeout,
    )

    it.each([
      ['fenced', 409, ['fenced']],
      ['erased', 410, ['erased']],
    ])('keeps the thread when only a message is refused as %s', async (code, status, codes) => {
      const faults: string[] = []
      const answer = (body: unknown, at = 200) => new Response(JSON.stringify(body), { status: at })
      const call = async (url: string, { method }: { method: string }) =>
        method === 'POST' && url.endsWith('/messages')
          ? answer({ title: code, status, code }, status)
          : answer({ data: {} }, method === 'POST' ? 201 : 200)
      const kp = new client.KnowledgePulse({ url: 'http://registry.test', retries: 0, fetch: call })
      const onProblem = (error: { code: string }) => void faults.push(error.code)
      const memory = new MemorySaver()
      const recorder = new langgraph.Recorder({ client: kp, project, onProblem })
      const config = { configurable: { thread_id: 't', checkpoint_ns: '' } }
      const checkpoint = {
        ...emptyCheckpoint(),
        channel_values: { messages: [new HumanMessage({ id: 'm', content: 'x' })] },
      }
      await recorder.checkpoints(memory).put(config, checkpoint, { source: 'input', step: 0, parents: {} })
      await recorder.close()
      expect(await memory.getTuple(config)).toBeDefined()
      expect(new Set(faults)).toEqual(new Set(codes))
    })

    it('has the methods and the serializer of the saver', async () => {
      const memory = new MemorySaver()
      const wrapped = recorderOf().checkpoints(memory)
      expect(wrapped.serde).toBe(memory.serde)
      expect(wrapped.getNextVersion(3)).toBe(memory.getNextVersion(3))
      expect('storage' in wrapped).toBe('storage' in memory)
      expect(JSON.stringify({ wrapped })).toBe(JSON.stringify({ wrapped: memory }))
    })
  })
})
