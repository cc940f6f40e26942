import { execFile, spawnSync } from 'node:child_process'
import { subscribe, unsubscribe } from 'node:diagnostics_channel'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { Agent, type IncomingMessage, request, type Server } from 'node:http'
import { connect, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { finished } from 'node:stream/promises'
import { setTimeout as delay } from 'node:timers/promises'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { longWaits, type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

const run = promisify(execFile)
/** A JRE without a compiler cannot launch source files. */
const hasJavaCompiler = () => spawnSync('java', ['--describe-module', 'jdk.compiler']).status === 0

let test: TestApp
let agent: { id: string; token: string }
let document: string
const requests = 50
beforeAll(async () => {
  test = await testApp()
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const units = Array.from({ length: 100 }, () => trace())
  await test.fetch('POST', '/v1/knowledge/batch', { token: agent.token, body: { units } })
  document = (await test.fetch('GET', `/v1/export/${agent.id}`, { token: agent.token })).text
})
afterAll(() => test.close())

/**
 * Opens a connection to which a test writes piece by piece. Returns what was received until it was closed, and after how many
 * milliseconds that was.
 */
function lineTo(url: string) {
  const started = performance.now()
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  const closed = new Promise<{ text: string; after: number }>((done) =>
    socket.on('error', () => {}).once('close', () => done({ text, after: performance.now() - started })),
  )
  return { socket, closed }
}

function answerOf(text: string) {
  const [head = '', body = ''] = text.split('\r\n\r\n')
  const headers = new Headers(
    head
      .split('\r\n')
      .slice(1)
      .map((one): [string, string] => [one.slice(0, one.indexOf(':')), one.slice(one.indexOf(':') + 1).trim()]),
  )
  return { status: Number(head.split(' ')[1]), headers, json: JSON.parse(body) }
}

/** The number of listeners on the connection, by event. */
const listenersOf = (socket: Socket): Record<string, number> =>
  Object.fromEntries(socket.eventNames().map((name) => [String(name), socket.listenerCount(name)]))

describe('many requests over one connection leave no listeners on it', () => {
  const kinds: [what: string, method: string, path: () => string, body: () => string, status: number][] = [
    ['reads', 'GET', () => '/v1/auth/me', () => '', 200],
    ['contributions', 'POST', () => '/v1/knowledge', () => JSON.stringify(trace()), 201],
    ['malformed bodies', 'POST', () => '/v1/knowledge', () => '{', 400],
    ['exports', 'GET', () => `/v1/export/${agent.id}`, () => '', 200],
    ['imports', 'POST', () => '/v1/import', () => document, 200],
    ['malformed imports', 'POST', () => '/v1/import', () => '{"a":', 400],
    ['pages', 'GET', () => '/nowhere', () => '', 404],
    ['forms', 'POST', () => '/sign-in', () => 'x', 404],
  ]
  it.each(kinds)('%s', async (_what, method, path, body, wanted) => {
    const agents = new Agent({ keepAlive: true, maxSockets: 1 })
    const headers = { Authorization: `Bearer ${agent.token}`, 'Content-Type': 'application/json' }
    const ask = async (): Promise<number | undefined> => {
      const answer = await new Promise<IncomingMessage>((done, failed) =>
        request(test.url + path(), { method, agent: agents, headers }, done)
          .once('error', failed)
          .end(body()),
      )
      await finished(answer.resume())
      return answer.statusCode
    }
    const seen: { socket: Socket; listeners: Record<string, number> }[] = []
    const onRequest = (message: unknown) => {
      const { socket } = message as { socket: Socket }
      seen.push({ socket, listeners: listenersOf(socket) })
    }
    subscribe('http.server.request.start', onRequest)
    try {
      for (let n = 0; n < requests; n++) expect(await ask()).toBe(wanted)
    } finally {
      unsubscribe('http.server.request.start', onRequest)
      agents.destroy()
    }
    expect(new Set(seen.map(({ socket }) => socket)).size).toBe(1)
    expect(seen).toHaveLength(requests)
    expect(seen.at(-1)?.listeners).toEqual(seen[1]?.listeners)
  })
})

describe('a malformed request', () => {
  it.each([
    [
      'headers of 200 KB',
      `GET /health HTTP/1.1\r\nHost: x\r\nX: ${'x'.repeat(200_000)}\r\n\r\n`,
      431,
      'headers_too_large',
    ],
    ['an address of 3 MB', `GET /${'x'.repeat(3_000_000)} HTTP/1.1\r\nHost: x\r\n\r\n`, 431, 'headers_too_large'],
    ['text that is not HTTP', 'Good morning\r\n\r\n', 400, 'bad_request'],
    [
      'a malformed chunk',
      'POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nnone\r\n',
      400,
      'bad_request',
    ],
  ])('with %s returns a problem with a request id', async (_what, sent, status, code) => {
    const { socket, closed } = lineTo(test.url)
    socket.write(sent)
    const answer = answerOf((await closed).text)
    expect(answer).toMatchObject({ status, json: { status, code, instance: answer.headers.get('x-request-id') } })
    expect(answer.headers.get('x-request-id')).toMatch(/^req_/)
    expect(answer.headers.get('content-type')).toBe('application/problem+json')
    expect(answer.headers.get('kp-schema-version')).toBe('v1')
    expect(answer.headers.get('x-ratelimit-limit')).toBe('60')
    expect(answer.headers.get('ratelimit-policy')).toBe('"read";q=60;w=60')
  })

  it('returns no problem inside a response that has begun', async () => {
    const { socket, closed } = lineTo(test.url)
    const ask = `GET /v1/export/${agent.id} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\n\r\n`
    socket.write(`${ask}Good morning\r\n\r\n`)
    const { text } = await closed
    expect(text).not.toContain('application/problem+json')
  })
})

describe('a client that sends very slowly', () => {
  const max = 1_000
  let slow: TestApp
  beforeAll(async () => {
    const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
    slow = await testApp({}, database, { patience: max })
  })
  afterAll(() => slow?.close())

  async function dripping(head: string, drop: string) {
    const { socket, closed } = lineTo(slow.url)
    socket.write(head)
    const dripper = setInterval(() => socket.writable && socket.write(drop), max / 10)
    try {
      return await Promise.race([closed, delay(120_000, undefined, { ref: false })])
    } finally {
      clearInterval(dripper)
      socket.destroy()
    }
  }

  it('is rejected when the time limit of its headers ends', async () => {
    const ended = await dripping('GET /health HTTP/1.1\r\nHost: x\r\nX-Slow: ', 'x')
    expect(ended?.after).toBeGreaterThan(max * 0.9)
    expect(answerOf(ended?.text ?? '')).toMatchObject({ status: 408, json: { code: 'too_slow' } })
  })

  it('is rejected when it sends nothing', async () => {
    expect(await dripping('', '')).toMatchObject({ text: expect.stringMatching(/^HTTP\/1.1 408 /) })
  })

  it.each([
    ['/v1/knowledge', 'Content-Length: 1000'],
    ['/v1/knowledge/batch', 'Transfer-Encoding: chunked'],
    ['/sign-in', 'Content-Length: 1000'],
  ])('is disconnected when the time limit of its body for %s (%s) ends', async (path, length) => {
    const { token } = agent
    const ended = await dripping(
      `POST ${path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\n${length}\r\n\r\n`,
      length.startsWith('Content') ? ' ' : '1\r\n \r\n',
    )
    expect(ended?.after).toBeGreaterThan(max * 0.9)
  })

  const importHead = () =>
    `POST /v1/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\nContent-Type: application/json\r\nConnection: close\r\nTransfer-Encoding: chunked\r\n\r\n`

  it('is rejected when an upload is slower than 8 KiB per second, although it never pauses', async () => {
    const ended = await dripping(importHead(), '1\r\n \r\n')
    expect(ended).toBeDefined()
    expect(ended?.after).toBeGreaterThan(max * 0.9)
    expect(answerOf(ended?.text ?? '')).toMatchObject({ status: 400, json: { code: 'bad_request' } })
  }, 300_000)

  it('is accepted when an upload takes longer than the limit of a pause, with steady progress', async () => {
    // Long beside a pause of a busy machine.
    const patience = 10_000
    const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
    const patient = await testApp({}, database, { patience })
    onTestFinished(() => patient.close())
    const { socket, closed } = lineTo(patient.url)
    socket.write(importHead())
    const sent = Buffer.from(document)
    // Spaces before JSON mean nothing.
    const padding = `10000\r\n${' '.repeat(0x10000)}\r\n`
    const started = performance.now()
    while (performance.now() - started < patience * 1.2) {
      socket.write(padding)
      await delay(1_000)
    }
    socket.write(`${sent.length.toString(16)}\r\n`)
    socket.write(sent)
    socket.write('\r\n0\r\n\r\n')
    const { text } = await closed
    expect(text).toMatch(/^HTTP\/1\.1 200 /)
  })
})

describe('uploads', () => {
  it('of one tenant have eight slots, and do not exclude those of another', async () => {
    const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
    const hasty = await testApp({}, database, { waits: { ...longWaits, admission: 10 } })
    const other = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const opened = Array.from({ length: 9 }, () => lineTo(hasty.url))
    try {
      for (const { socket } of opened)
        socket.write(
          `POST /v1/import HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${agent.token}\r\nContent-Type: application/json\r\nContent-Length: 100000\r\n\r\n{`,
        )
      const refused = await Promise.race(opened.map(async ({ socket }) => String((await once(socket, 'data'))[0])))
      expect(answerOf(refused)).toMatchObject({ status: 503, json: { code: 'unavailable' } })
      const headers = { 'Content-Type': 'application/json' }
      const theirs = await hasty.fetch('POST', '/v1/import', { token: other.token, body: '{', headers })
      expect([theirs.status, theirs.json.code]).toEqual([400, 'malformed_json'])
    } finally {
      for (const { socket } of opened) socket.destroy()
      await hasty.close()
    }
  })
})

describe('requests that offer another protocol', () => {
  /** As Java's HttpClient sends it with its default version; the settings are those of JDK 17. */
  const offer =
    'Connection: Upgrade, HTTP2-Settings\r\nUpgrade: h2c\r\nHTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAAAAUAAEAA'
  let upgraded: TestApp
  beforeAll(async () => {
    const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
    // Next adds such a listener to the server when it renders its first page.
    upgraded = await testApp({}, database, {
      pages: () => async (request, response) => {
        const { server } = request.socket as Socket & { server: Server }
        server.on('upgrade', (_request, socket) => socket.end())
        response.writeHead(200).end('a page')
      },
    })
    expect((await upgraded.fetch('GET', '/')).status).toBe(200)
  })
  afterAll(() => upgraded?.close())

  it.each(['h2c', 'websocket', 'TLS/1.0, HTTP/2.0'])(
    'requests that offer %s get an HTTP/1.1 response',
    async (protocol) => {
      const { socket, closed } = lineTo(upgraded.url)
      const body = JSON.stringify(trace())
      const { length } = Buffer.from(body)
      socket.write(
        `POST /v1/knowledge HTTP/1.1\r\nHost: x\r\n${offer.replace('h2c', protocol)}\r\nAuthorization: Bearer ${agent.token}\r\nContent-Type: application/json\r\nContent-Length: ${length}\r\n\r\n${body}`,
      )
      // The connection remains HTTP/1.1.
      await once(socket, 'data')
      socket.write(`GET /health HTTP/1.1\r\nHost: x\r\n${offer}\r\n\r\n`)
      await once(socket, 'data')
      socket.write('GET /health HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n')
      const { text } = await closed
      expect([...text.matchAll(/HTTP\/1\.1 (\d+)/g)].map(([, status]) => status)).toEqual(['201', '200', '200'])
    },
  )

  it('requests of curl --http2 get a response', async () => {
    const { stdout } = await run('curl', [
      '-sS',
      '--http2',
      '-d',
      '{}',
      '-w',
      '\n%{http_code}',
      `${upgraded.url}/v1/knowledge`,
    ])
    expect(stdout).toMatch(/\n401$/)
  })

  it.skipIf(!hasJavaCompiler())(
    'from Java’s HttpClient get a response',
    async () => {
      const source = join(mkdtempSync(join(tmpdir(), 'kp-java-')), 'Ask.java')
      onTestFinished(() => rmSync(dirname(source), { recursive: true }))
      writeFileSync(
        source,
        `import java.net.URI; import java.net.http.*; import java.net.http.HttpResponse.BodyHandlers;
       class Ask { public static void main(String[] given) throws Exception {
         var client = HttpClient.newHttpClient();
         for (int n = 0; n < 2; n++) {
           var request = HttpRequest.newBuilder(URI.create(given[0] + "/v1/knowledge")).header("Authorization", "Bearer " + given[1])
             .header("Content-Type", "application/json").POST(HttpRequest.BodyPublishers.ofString(given[2])).build();
           System.out.println(client.send(request, BodyHandlers.ofString()).statusCode());
         } } }`,
      )
      const { stdout } = await run('java', [source, upgraded.url, agent.token, JSON.stringify(trace())])
      expect(stdout).toBe('201\n201\n')
    },
    120_000,
  )
})

describe('requests that RFC 9112 forbids', () => {
  it.each([
    ['two Host headers', 'GET /health HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n'],
    ['no version', 'GET /health\r\n\r\n'],
  ])('with %s return 400', async (_what, sent) => {
    const { socket, closed } = lineTo(test.url)
    socket.write(sent)
    expect((await closed).text).toMatch(/^HTTP\/1\.1 400 /)
  })
})

describe('unsupported methods', () => {
  it.each([
    ['TRACE', '/v1/knowledge', 'GET, POST, HEAD'],
    ['TRACE', '/sign-in', 'GET, HEAD, POST'],
    ['OPTIONS', '*', 'GET, HEAD, POST'],
    ['OPTIONS', '/v1/knowledge/batch', 'POST'],
    ['PUT', '/health', 'GET, HEAD'],
    ['GET', '/v1/agents/0/snapshots/restore', 'POST'],
  ])('%s %s returns 405 with Allow', async (method, path, allow) => {
    const { socket, closed } = lineTo(test.url)
    socket.write(`${method} ${path} HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`)
    const answer = answerOf((await closed).text)
    expect([answer.status, answer.headers.get('allow')]).toEqual([405, allow])
  })
})
