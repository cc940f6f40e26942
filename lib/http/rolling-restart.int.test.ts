import { mkdtempSync, rmSync } from 'node:fs'
import { createServer, request as forward, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as delay } from 'node:timers/promises'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp, testSecret } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { createApiServer, createListener, endServer } from './api-server.ts'

const dataDir = mkdtempSync(join(tmpdir(), 'kp-rolling-'))
let database: TestDatabase
let people: TestApp
beforeAll(async () => {
  database = await testDatabase()
  people = await testApp({}, { ...database, drop: async () => {} })
})
afterAll(async () => {
  await people?.close()
  await database?.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

const portOf = (server: Server): number => {
  const address = server.address()
  return typeof address === 'object' && address ? address.port : 0
}
const listening = (server: Server, port = 0) =>
  new Promise<void>((done, failed) => server.once('error', failed).listen(port, '127.0.0.1', done))

/** How often the balancer asks each replica whether it is ready, in milliseconds. */
const interval = 50

async function replica(port = 0) {
  const app = createApp({
    env: readEnv({
      NODE_ENV: 'test',
      DATABASE_URL: database.appUrl,
      KP_DATA_DIR: dataDir,
      KP_SECRET: testSecret,
      KP_LEDGER_URL: join(dataDir, 'ledger'),
    }),
  })
  const server = createListener(createApiServer(app, async (_, response) => void response.writeHead(404).end()))
  await listening(server, port)
  return {
    port: portOf(server),
    app,
    /** It serves until `drained` resolves: the order of events, not the speed of the machine, decides the test. */
    async stop(drained = (): Promise<unknown> => Promise.resolve()) {
      await endServer(server, { announce: app.service.announceStop, drained })
      await app.close()
    },
  }
}

/** A balancer as simple as they come: it asks `/ready`, and sends each request to one ready replica, without repeating it. */
async function balancer(ports: readonly number[]) {
  const ready = new Set<number>()
  /** Replicas of the requests without a complete response. */
  const running: number[] = []
  const asking = new AbortController()
  const watch = async (port: number) => {
    while (!asking.signal.aborted) {
      const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined)
      if (answer?.ok) ready.add(port)
      else ready.delete(port)
      await answer?.body?.cancel()
      await delay(interval)
    }
  }
  const watching = ports.map(watch)
  let turn = 0
  const server = createServer((incoming, outgoing) => {
    const all = [...ready]
    const port = all[turn++ % all.length]
    if (port === undefined) return void outgoing.writeHead(502).end()
    const { method, url: path, headers } = incoming
    running.push(port)
    outgoing.once('close', () => running.splice(running.indexOf(port), 1))
    const onward = forward({ port, host: '127.0.0.1', method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers)
      answer.pipe(outgoing)
    })
    onward.on('error', () => {
      if (outgoing.headersSent) outgoing.destroy()
      else outgoing.writeHead(502).end()
    })
    incoming.pipe(onward)
  })
  await listening(server)
  return {
    url: `http://127.0.0.1:${portOf(server)}`,
    ready,
    isServing: (port: number) => ready.has(port) || running.includes(port),
    async close() {
      asking.abort()
      await Promise.all(watching)
      server.closeAllConnections()
      await new Promise((done) => server.close(done))
    },
  }
}

test('two replicas are replaced one after the other under load, and no request of a client that retries once fails', async () => {
  const agent = await issuedAgent(people, ['read', 'write'], { tier: 'enterprise' })
  const replicas = [await replica(), await replica()]
  const front = await balancer(replicas.map(({ port }) => port))
  await vi.waitUntil(() => front.ready.size === 2, { timeout: 60_000, interval: 20 })

  const stored: string[] = []
  const failures: string[] = []
  let retries = 0
  const isOver = new AbortController()
  async function call(method: string, path: string, body?: string): Promise<string | undefined> {
    const headers = {
      Authorization: `Bearer ${agent.token}`,
      'Content-Type': 'application/json',
      ...(body !== undefined && { 'Idempotency-Key': newId('key') }),
    }
    for (const isLast of [false, true]) {
      const answer = await fetch(front.url + path, { method, headers, ...(body !== undefined && { body }) }).catch(
        () => undefined,
      )
      const text = await answer?.text().catch(() => undefined)
      if (answer?.ok && text !== undefined) return text
      if (isLast) failures.push(`${method} ${path}: ${answer?.status ?? 'no answer'} ${text ?? ''}`)
      else retries++
    }
    return undefined
  }
  async function client(): Promise<void> {
    while (!isOver.signal.aborted) {
      const text = await call('POST', '/v1/knowledge', JSON.stringify(trace({}, { visibility: 'private' })))
      if (text === undefined) continue
      const { id } = JSON.parse(text).data
      stored.push(id)
      await call('GET', `/v1/knowledge/${encodeURIComponent(id)}`)
    }
  }
  const clients = Array.from({ length: 6 }, client)

  for (const [index, { port }] of replicas.entries()) {
    await vi.waitUntil(() => front.ready.size === 2, { timeout: 60_000, interval: 20 })
    const { promise: drained, resolve: endDrain } = Promise.withResolvers<void>()
    const stopping = replicas[index]?.stop(() => drained)
    await vi.waitUntil(() => !front.isServing(port), { timeout: 60_000, interval: 5 })
    // It says why, and still serves.
    const state = await fetch(`http://127.0.0.1:${port}/ready`)
    expect([state.status, (await state.json()).attention]).toEqual([503, expect.arrayContaining(['stopping'])])
    expect((await fetch(`http://127.0.0.1:${port}/health`)).status).toBe(200)
    endDrain()
    await stopping
    replicas[index] = await replica(port)
  }
  await vi.waitUntil(() => front.ready.size === 2, { timeout: 60_000, interval: 20 })
  isOver.abort()
  await Promise.all(clients)
  expect({ failures, retries }).toEqual({ failures: [], retries: 0 })
  expect(stored.length).toBeGreaterThan(20)
  const { rows } = await people.db.pool.query('SELECT count(*)::int AS n FROM units WHERE id = ANY($1)', [stored])
  expect(rows[0]?.n).toBe(stored.length)

  await front.close()
  for (const one of replicas) await one.stop()
})
