// Builds the packages of clients/ as they are published, and tests them against a real registry.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, type IncomingMessage } from 'node:http'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import { HumanMessage } from '@langchain/core/messages'
import { MessagesAnnotation, START, StateGraph } from '@langchain/langgraph'
import { emptyCheckpoint, MemorySaver } from '@langchain/langgraph-checkpoint'
import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { problems } from '#lib/kernel/problem.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { isInstalled, openApiTool } from '#lib/testing/services/installed.ts'
import { trace } from '#lib/testing/units.ts'

const run = promisify(execFile)
const root = join(import.meta.dirname, '../..')
const timeout = 300_000

/** The response of a server of a test, in order. */
type Answer = { status: number; headers?: Record<string, string>; body?: unknown } | 'broken'
async function scripted(answers: Answer[]) {
  const requests: { key: string | undefined; at: number }[] = []
  const server = createServer((request: IncomingMessage, response) => {
    const key = request.headers['idempotency-key']
    requests.push({ key: typeof key === 'string' ? key : undefined, at: performance.now() })
    const answer = answers[Math.min(requests.length, answers.length) - 1] ?? 'broken'
    if (answer === 'broken') return void request.socket.destroy()
    response.writeHead(answer.status, { 'Content-Type': 'application/json', ...answer.headers })
    response.end(JSON.stringify(answer.body ?? {}))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`, requests }
}
const problem = (status: number, code: string, headers?: Record<string, string>): Answer => ({
  status,
  body: { title: code, status, code, instance: 'req_1' },
  ...(headers && { headers }),
})

describe.skipIf(!isInstalled('openapi'))('@knowledgepulse/client', () => {
  let folder: string
  let test: TestApp
  let agent: Issued
  // The built modules: the compiler of this repository does not know them.
  let client: Awaited<ReturnType<typeof load>>
  let langgraph: Awaited<ReturnType<typeof load>>
  const load = (file: string) => import(join(folder, 'app/node_modules/@knowledgepulse/client/dist', file))

  beforeAll(async () => {
    folder = mkdtempSync(join(tmpdir(), 'kp-client-'))
    const source = join(folder, 'repository/clients/typescript')
    cpSync(join(root, 'clients/typescript'), source, { recursive: true })
    cpSync(join(root, 'openapi.json'), join(folder, 'repository/openapi.json'))
    const env = {
      NODE_ENV: 'test' as const,
      PATH: `${dirname(openApiTool('tsc'))}:${process.env.PATH}`,
      HOME: folder,
      npm_config_offline: 'true',
    }
    const options = { cwd: source, env, maxBuffer: 2 ** 26 }
    mkdirSync(join(source, 'src/generated'), { recursive: true })
    await run(openApiTool('openapi-typescript'), ['../../openapi.json', '-o', 'src/generated/openapi.ts'], options)
    await run(openApiTool('tsc'), ['-p', '.'], options).catch((error: unknown) => {
      throw new Error(error instanceof Error && 'stdout' in error ? String(error.stdout) : 'tsc failed')
    })
    await run('npm', ['pack', '--ignore-scripts'], options)
    const [tarball] = readdirSync(source).filter((file) => file.endsWith('.tgz'))
    const installed = join(folder, 'app/node_modules/@knowledgepulse/client')
    mkdirSync(installed, { recursive: true })
    await run('tar', ['xzf', join(source, tarball ?? ''), '-C', installed, '--strip-components', '1'])
    writeFileSync(join(folder, 'app/package.json'), '{"type":"module"}')
    client = await load('index.js')
    langgraph = await load('langgraph.js')
    test = await testApp()
    agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  }, timeout)
  afterAll(async () => {
    await test?.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const connected = (more: object = {}) => new client.KnowledgePulse({ url: test.url, token: agent.token, ...more })

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

  it('has a class for every problem code', () => {
    expect(Object.keys(client.problemClasses).sort()).toEqual(Object.keys(problems).sort())
    expect(new Set(Object.values(client.problemClasses)).size).toBe(Object.keys(problems).length)
  })

  it('contributes, iterates over pages, reads, and throws the class of the code with the request id', async () => {
    const kp = connected()
    for (let n = 0; n < 5; n++) await kp.post('/v1/knowledge', { body: trace({ task: { objective: `Client ${n}` } }) })
    const ids: string[] = []
    for await (const { id } of kp.pages('/v1/knowledge', { query: { mine: 'true', limit: 2 } })) ids.push(id)
    expect(new Set(ids).size).toBe(5)
    const { data } = await kp.get('/v1/knowledge/{id}', { params: { id: ids[0] } })
    expect(data.id).toBe(ids[0])
    const missing = await kp
      .get('/v1/knowledge/{id}', { params: { id: 'kp:trace:none' } })
      .catch((error: unknown) => error)
    expect(missing).toBeInstanceOf(client.NotFound)
    expect(missing).toMatchObject({ code: 'not_found', status: 404, requestId: expect.stringMatching(/^req_/) })
    const invalid = await kp.post('/v1/knowledge', { body: {} }).catch((error: unknown) => error)
    expect(invalid).toBeInstanceOf(client.Invalid)
    expect(invalid.issues.length).toBeGreaterThan(0)
  })

  it('streams an export, and uploads a history as a stream', async () => {
    const kp = connected()
    const body = await kp.stream('/v1/export/{agent_id}', { params: { agent_id: agent.id } })
    expect((await new Response(body).json()).agent_id).toBe(agent.id)
    const { data: project } = await kp.post('/api/projects', { body: { name: 'Imported' } })
    const line = JSON.stringify({ type: 'conversation', id: `c-${Date.now()}`, title: 'First' })
    await kp.upload(
      '/api/projects/{projectId}/import',
      { params: { projectId: project.id } },
      { body: new Blob([`${line}\n`]).stream(), mediaType: 'application/x-ndjson' },
    )
    const { total } = await kp.get('/api/projects/{projectId}/conversations', { params: { projectId: project.id } })
    expect(total).toBe(1)
  })

  it(
    'retries faults twice with the same idempotency key, and honors Retry-After',
    async () => {
      const done: Answer = { status: 201, body: { data: {} } }
      for (const fault of [
        'broken',
        problem(408, 'too_slow'),
        problem(409, 'fenced'),
        problem(503, 'unavailable'),
        problem(500, 'internal'),
      ] as const) {
        const { url, requests } = await scripted([fault, fault, done])
        const kp = new client.KnowledgePulse({ url })
        await kp.post('/v1/knowledge', { body: trace() })
        expect([fault, requests.length, new Set(requests.map(({ key }) => key)).size]).toEqual([fault, 3, 1])
        expect(requests[0]?.key).toMatch(/^[0-9a-f-]{36}$/)
      }
      const slow = await scripted([problem(429, 'rate_limited', { 'Retry-After': '1' }), done])
      await new client.KnowledgePulse({ url: slow.url }).post('/v1/knowledge', { body: trace() })
      const [first, second] = slow.requests
      expect((second?.at ?? 0) - (first?.at ?? 0)).toBeGreaterThanOrEqual(1_000)
    },
    timeout,
  )

  it(
    'gives up after two retries, at once for other problems, and for a long Retry-After',
    async () => {
      const count = async (answer: Answer, options?: object) => {
        const { url, requests } = await scripted([answer])
        const error = await new client.KnowledgePulse({ url })
          .get('/v1/skills', {}, options)
          .catch((thrown: unknown) => thrown)
        return [requests.length, error.name]
      }
      expect(await count(problem(503, 'unavailable'))).toEqual([3, 'Unavailable'])
      expect(await count('broken', { retries: 1 })).toEqual([2, 'RegistryUnreachable'])
      expect(await count(problem(409, 'conflict'))).toEqual([1, 'Conflict'])
      expect(await count(problem(429, 'quota_exceeded', { 'Retry-After': '3600' }))).toEqual([1, 'QuotaExceeded'])
      expect(await count({ status: 502, body: 'a proxy' }, { retries: 0 })).toEqual([1, 'RegistryProblem'])
    },
    timeout,
  )

  it('ends a call at its time limit and at the signal of the caller', async () => {
    const silent = createServer(() => {})
    await new Promise<void>((listening) => silent.listen(0, '127.0.0.1', listening))
    onTestFinished(() => {
      silent.closeAllConnections()
      silent.close()
    })
    const address = silent.address()
    const kp = new client.KnowledgePulse({
      url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
      retries: 0,
    })
    await expect(kp.get('/v1/skills', {}, { timeout: 50 })).rejects.toBeInstanceOf(client.RegistryUnreachable)
    const ending = new AbortController()
    const call = kp.get('/v1/skills', {}, { signal: ending.signal })
    ending.abort(new Error('enough'))
    await expect(call).rejects.toThrow('enough')
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
    const recorderOf = (more: object = {}) => new langgraph.Recorder({ client: kpOf(), project, ...more })
    const agentOf = (checkpointer: PostgresSaver) =>
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
