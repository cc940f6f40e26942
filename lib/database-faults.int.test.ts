import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { trace } from '#lib/testing/units.ts'

let proxy: TcpProxy
let test: TestApp
let agent: Issued
let receipt: string
const idOf = async () =>
  (await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.data.id as string
beforeAll(async () => {
  const database = await testDatabase()
  proxy = await tcpProxy(database.appUrl)
  const waits = { connection: 1_000, limits: 60_000, erasure: 120_000, admission: 60_000 }
  test = await testApp(
    {},
    { ...database, appUrl: proxy.url },
    {
      waits,
      // As Next answers a page that fails.
      pages: (app) => async (request, response) => {
        const isShown = await app.asPerson(request.headers.cookie ?? '', app.accounts.me).then(
          () => true,
          () => false,
        )
        response.statusCode = isShown ? 200 : 500
        response.end('a page')
      },
    },
  )
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const erased = await test.fetch('DELETE', `/v1/knowledge/${await idOf()}`, { token: agent.token })
  receipt = erased.headers.get('x-deletion-receipt') ?? ''
  for (const path of ['/.well-known/jwks.json', `/v1/receipts/${receipt}`])
    expect((await test.fetch('GET', path)).status).toBe(200)
})
afterAll(async () => {
  await proxy?.restore()
  proxy?.thaw()
  await test?.close()
  proxy?.close()
})

/** Every kind of access to the database: tokens, plain SQL, Prisma, transactions, streams. */
const requests = async (id: string): Promise<[method: string, path: string, body?: unknown, key?: string][]> => [
  ['GET', '/v1/auth/me'],
  ['GET', `/v1/knowledge/${id}`],
  ['GET', '/v1/receipts/rcpt_0000000000000000000000'],
  ['GET', '/v1/receipts/rcpt_0000000000000000000000/pdf'],
  ['POST', '/v1/knowledge', trace()],
  ['POST', '/v1/knowledge', trace(), 'a-key'],
  ['POST', '/v1/auth/register', { scopes: ['read'] }],
  ['DELETE', `/v1/knowledge/${id}`],
  ['GET', `/v1/export/${agent.id}`],
]
async function answers(id: string) {
  const found: { asked: string; status: number; retry: boolean; took: number }[] = []
  await Promise.all(
    (await requests(id)).map(async ([method, path, body, key]) => {
      const began = performance.now()
      const headers = key === undefined ? {} : { 'Idempotency-Key': key }
      const response = await test.fetch(method, path, { token: agent.token, body, headers })
      const retry = response.headers.has('retry-after')
      found.push({ asked: `${method} ${path}`, status: response.status, retry, took: performance.now() - began })
    }),
  )
  return found
}
async function expectRefused(id: string) {
  for (const one of await answers(id)) expect(one).toMatchObject({ asked: one.asked, status: 503, retry: true })
}
async function expectPublicAnswers() {
  const keys = await test.fetch('GET', '/.well-known/jwks.json')
  expect([keys.status, keys.json.keys.length]).toEqual([200, 1])
  expect((await test.fetch('GET', `/v1/receipts/${receipt}`)).json.receipt_id).toBe(receipt)
}
const isBack = () =>
  vi.waitUntil(async () => (await test.fetch('GET', '/v1/auth/me', { token: agent.token })).status === 200, 120_000)

it('a database that is down: every operation returns 503, and public keys and receipts are served', async () => {
  const id = await idOf()
  proxy.cut()
  await expectRefused(id)
  await expectPublicAnswers()
  expect((await test.fetch('GET', '/ready')).status).toBe(503)
  await proxy.restore()
  await isBack()
})

it('a frozen database: after the first timeouts every operation returns 503 immediately, until it responds again', async () => {
  const id = await idOf()
  proxy.freeze()
  await expectRefused(id)
  // The breaker is open: requests do not wait for a connection any more.
  await vi.waitUntil(
    async () => (await answers(id)).every(({ status, took }) => status === 503 && took < 2_000),
    120_000,
  )
  await expectPublicAnswers()
  const ready = await test.fetch('GET', '/ready')
  expect([ready.status, ready.json.stores.postgresql.state]).toEqual([503, 'down'])
  proxy.thaw()
  await isBack()
  expect((await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })).status).not.toBe(503)
})

it('a pool without a free connection: operations and pages return 503', async () => {
  const id = await idOf()
  const { cookie } = await signedIn(test)
  expect((await test.fetch('GET', '/overview', { cookie })).status).toBe(200)
  const { pool } = test.db
  const taken = await Promise.all(Array.from({ length: 10 }, () => pool.connect()))
  const refused = await test.fetch('GET', '/overview', { cookie })
  expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '2'])
  await expectRefused(id)
  for (const one of taken) one.release()
  await isBack()
})

it('a full disk: writes return 503 with and without an Idempotency-Key, and /ready reports the full disk', async () => {
  await withConnection(test.ownerUrl, async (owner) => {
    await owner.query(`CREATE FUNCTION refuse_write() RETURNS trigger LANGUAGE plpgsql AS
      $$ BEGIN RAISE EXCEPTION 'could not extend file' USING ERRCODE = '53100'; END $$`)
    for (const table of ['units', 'idempotency_records'])
      await owner.query(`CREATE TRIGGER full_disk BEFORE INSERT ON ${table} EXECUTE FUNCTION refuse_write()`)
  })
  for (const headers of [{}, { 'Idempotency-Key': 'on a full disk' }]) {
    const response = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace(), headers })
    expect([response.status, response.headers.get('retry-after'), response.json.detail]).toEqual([
      503,
      '60',
      expect.stringContaining('database disk is full'),
    ])
  }
  const ready = await test.fetch('GET', '/ready')
  expect(ready.json).toMatchObject({ status: 'degraded', stores: { postgresql: { state: 'degraded' } } })
  expect((await test.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(200)
})
