import { createServer, type IncomingMessage } from 'node:http'
import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest'
import { z } from 'zod'
import { operation } from '#lib/kernel/operation.ts'
import { type Endpoint, RequestRefused, request, send } from './request.ts'

const change = operation({
  id: 'changeThing',
  method: 'patch',
  path: '/v1/things/{id}',
  summary: 'Change a thing',
  permission: 'things:write',
  audit: { none: 'for the test' },
  limit: 'write',
  status: 200,
  params: z.strictObject({ id: z.string() }),
  query: z.strictObject({ limit: z.coerce.number().optional(), q: z.string().optional() }),
  headers: z.object({ prefer: z.string().optional() }),
  body: z.strictObject({ name: z.string() }),
  output: z.object({ data: z.object({ name: z.string() }) }),
})

let answer: { status: number; headers: Record<string, string>; body: string }
let received: { method?: string; url?: string; headers: IncomingMessage['headers']; body: string }
const server = createServer(async (message, response) => {
  let body = ''
  for await (const piece of message.setEncoding('utf8')) body += piece
  received = {
    ...(message.method && { method: message.method }),
    ...(message.url && { url: message.url }),
    headers: message.headers,
    body,
  }
  response.writeHead(answer.status, answer.headers).end(answer.body)
})
let baseUrl = ''
beforeAll(async () => {
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  baseUrl = `http://127.0.0.1:${typeof address === 'object' ? address?.port : ''}`
})
afterAll(() => new Promise((closed) => server.close(closed)))
beforeEach(() => {
  answer = { status: 200, headers: { 'Content-Type': 'application/json' }, body: '{"data":{"name":"new"}}' }
})

const refused = async (work: Promise<unknown>): Promise<RequestRefused> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!(error instanceof RequestRefused)) throw new Error(`expected a refusal, not ${String(error)}`)
  return error
}

test('request sends path, query, headers and body as given, and omits undefined values', async () => {
  const parts = {
    params: { id: 'a/b ?' },
    query: { limit: 5, q: undefined },
    headers: { prefer: 'x' },
    body: { name: 'new' },
  }
  expect(await request(change, parts, { baseUrl: `${baseUrl}/`, token: 'kp_1', idempotencyKey: 'once' })).toEqual({
    data: { name: 'new' },
  })
  expect(received).toMatchObject({
    method: 'PATCH',
    url: '/v1/things/a%2Fb%20%3F?limit=5',
    headers: {
      authorization: 'Bearer kp_1',
      'idempotency-key': 'once',
      prefer: 'x',
      'content-type': 'application/json',
    },
    body: '{"name":"new"}',
  })
})

test('send accepts a method and a path instead of an operation', async () => {
  const place: Endpoint<typeof change> = { method: 'patch', path: '/v1/things/{id}' }
  expect((await send(place, { params: { id: '1' } }, { baseUrl })).body.data.name).toBe('new')
  expect(received.headers).not.toHaveProperty('authorization')
  expect(received.headers).not.toHaveProperty('content-type')
})

test('send returns an undefined body for a response without one', async () => {
  answer = { status: 204, headers: {}, body: '' }
  expect(await send(change, {}, { baseUrl })).toMatchObject({ status: 204, body: undefined })
})

test('request throws the problem of the response with the time to wait', async () => {
  const problem = {
    type: '/docs/api#rate_limited',
    title: 'Too many requests',
    status: 429,
    code: 'rate_limited',
    detail: 'Wait.',
    instance: 'req_1',
  }
  answer = {
    status: 429,
    headers: { 'Content-Type': 'application/problem+json', 'Retry-After': '7' },
    body: JSON.stringify(problem),
  }
  expect(await refused(request(change, {}, { baseUrl }))).toMatchObject({ problem, retryAfter: 7, message: 'Wait.' })
})

test.each(['<h1>Bad Gateway</h1>', '', '{"error":"none of ours"}', '[1]'])(
  'request throws the code unknown for the response %j of a proxy',
  async (body) => {
    answer = { status: 502, headers: { 'Content-Type': 'text/html' }, body }
    expect((await refused(request(change, {}, { baseUrl }))).problem).toMatchObject({ code: 'unknown', status: 502 })
  },
)

test('request throws the code unreachable without a response', async () => {
  expect((await refused(request(change, {}, { baseUrl: 'http://127.0.0.1:1' }))).problem).toMatchObject({
    code: 'unreachable',
    status: 0,
  })
})

test('send streams an upload with its own media type', async () => {
  const pieces = ['{"a":1}\n', '{"a":2}\n'].map((line) => new TextEncoder().encode(line))
  const bytes = new ReadableStream<Uint8Array>({
    pull(controller) {
      const piece = pieces.shift()
      if (piece) controller.enqueue(piece)
      else controller.close()
    },
  })
  await send(change, { params: { id: 'x' } }, { baseUrl, upload: { mediaType: 'application/x-ndjson', bytes } })
  expect(received.body).toBe('{"a":1}\n{"a":2}\n')
  expect(received.headers).toMatchObject({ 'content-type': 'application/x-ndjson', 'transfer-encoding': 'chunked' })
})
