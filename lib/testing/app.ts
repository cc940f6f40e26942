import { mkdtempSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type App, type AppOptions, createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { createApiServer, createListener } from '#lib/http/api-server.ts'
import type { Handle } from '#lib/http/handle.ts'
import { movableClock } from '#lib/kernel/context.ts'
import { type TestDatabase, testDatabase } from './database.ts'
import { overhearing } from './overhearing.ts'

export interface TestRequest {
  token?: string | undefined
  cookie?: string
  /** Sent as JSON. A string or bytes are sent unchanged. */
  body?: unknown
  headers?: Record<string, string>
}
export interface TestResponse {
  status: number
  headers: Headers
  text: string
  /** The parsed body. Untyped, because tests read arbitrary properties. */
  json: ReturnType<typeof JSON.parse>
}

/** The secret of every installation of a test that does not set its own. */
export const testSecret = 'a secret of thirty-two characters'

/** Milliseconds. Long enough that a slow machine changes neither a response to 202 or 503 nor what a limit admits. */
export const longWaits = { erasure: 120_000, connection: 120_000, limits: 60_000, admission: 120_000 }

/** Answers requests in place of Next. */
type MakePages = (app: App) => (request: IncomingMessage, response: ServerResponse) => Promise<void>
const noPages: MakePages = () => async (_request, response) => {
  response.writeHead(404).end('a page')
}

/**
 * The production application with its own database, behind the API server on 127.0.0.1. The test moves the clock.
 * `afterAll(app.close)`: it throws if the application offered telemetry an undeclared event.
 *
 * @param settings environment variables; rate limits are counted in memory unless KP_LIMITS says otherwise
 * @param options.patience how long the server waits for headers, for a body and for an idle client, in milliseconds
 * @param options.port a free port by default
 * @param options.waits how long requests wait for stores, for tests of slow stores
 */
export async function testApp(
  settings: Record<string, string> = {},
  given?: TestDatabase,
  {
    patience,
    pages = noPages,
    port = 0,
    waits = longWaits,
    ...parts
  }: { waits?: NonNullable<AppOptions['patience']>; patience?: number; pages?: MakePages; port?: number } & Pick<
    AppOptions,
    'interrupt' | 'moreDataSources' | 'replaysByItself'
  > = {},
) {
  const database = given ?? (await testDatabase())
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-test-'))
  const env = readEnv({
    NODE_ENV: 'test',
    DATABASE_URL: database.appUrl,
    KP_DATA_DIR: dataDir,
    KP_LIMITS: 'memory',
    KP_SECRET: testSecret,
    ...settings,
  })
  const clock = movableClock(new Date())
  /** Responses with a status that the operation's contract does not name. */
  const undocumented = new Set<string>()
  const watched =
    (handle: Handle): Handle =>
    async (useCase, request, via) => {
      const answer = await handle(useCase, request, via)
      const { id, status, alsoStatus = [] } = useCase.operation
      const known: readonly number[] = [status, ...alsoStatus]
      if (answer.status < 300 && !known.includes(answer.status)) undocumented.add(`${id} ${answer.status}`)
      return answer
    }
  const open = async () => {
    const telemetry = overhearing(clock.now)
    const app = createApp({ env, clock, overheard: telemetry.offer, patience: waits, ...parts })
    const server = createListener(createApiServer({ ...app, handle: watched(app.handle) }, pages(app), patience), {
      ...(patience !== undefined && { maxHeadersTime: patience, every: patience / 4 }),
    })
    await new Promise<void>((listening) => server.listen(port, '127.0.0.1', listening))
    const address = server.address()
    const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
    return { app, server, telemetry, url }
  }
  /** Released by `close`: a test file stays in memory until its worker ends, but its applications must not. */
  let opened: Awaited<ReturnType<typeof open>> | undefined = await open()
  const live = () => {
    if (!opened) throw new Error('the application is closed')
    return opened
  }
  const { url } = live()

  return {
    get app() {
      return live().app
    },
    get db() {
      return live().app.db
    },
    clock,
    dataDir,
    ownerUrl: database.ownerUrl,
    url,
    /** The distinct events that were captured. Telemetry is off, so none was sent. */
    heard: () => live().telemetry.heard(),
    /** The number of connected clients. */
    connections: () =>
      new Promise<number>((resolve, reject) =>
        live().server.getConnections((error, count) => (error ? reject(error) : resolve(count))),
      ),
    async fetch(
      method: string,
      path: string,
      { token, cookie, body, headers }: TestRequest = {},
    ): Promise<TestResponse> {
      const sent =
        body === undefined || typeof body === 'string' || body instanceof Uint8Array ? body : JSON.stringify(body)
      const response = await fetch(url + path, {
        method,
        headers: {
          ...(token !== undefined && { Authorization: `Bearer ${token}` }),
          ...(cookie !== undefined && { Cookie: cookie, Origin: env.KP_URL ?? `http://localhost:${env.PORT}` }),
          ...(body !== undefined && { 'Content-Type': 'application/json' }),
          ...headers,
        },
        ...(sent !== undefined && { body: sent as BodyInit }),
      })
      const text = await response.text()
      const isJson =
        /json/.test(response.headers.get('content-type') ?? '') &&
        !/jsonl|ndjson/.test(response.headers.get('content-type') ?? '')
      return {
        status: response.status,
        headers: response.headers,
        text,
        json: isJson && text !== '' ? JSON.parse(text) : undefined,
      }
    },
    /**
     * Registers an agent and returns its id and token. Each agent registers from its own network, so that agents of a
     * test share no limits.
     */
    async agent(
      scopes: string[] = ['read', 'write'],
      more: Record<string, unknown> = {},
    ): Promise<{ id: string; token: string }> {
      const { json, status, text } = await this.fetch('POST', '/v1/auth/register', { body: { scopes, ...more } })
      if (status !== 201) throw new Error(`registration answered ${status}: ${text}`)
      const id: string = json.data.agent_id
      await live().app.db.prisma.agent.update({ where: { id }, data: { network: null, sharesWindow: false } })
      return { id, token: json.data.api_key }
    },
    async close(): Promise<void> {
      const { app, server, telemetry } = live()
      opened = undefined
      await new Promise((closed) => {
        server.close(closed)
        server.closeAllConnections()
      })
      await app.close()
      await database.drop()
      rmSync(dataDir, { recursive: true, force: true })
      await telemetry.check()
      if (undocumented.size > 0) throw new Error(`Not in the contracts: ${[...undocumented].join(', ')}`)
    },
  }
}
export type TestApp = Awaited<ReturnType<typeof testApp>>
