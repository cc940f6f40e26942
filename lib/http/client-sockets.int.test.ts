import { createServer, type IncomingMessage, request, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { finished } from 'node:stream/promises'
import { setImmediate as turn } from 'node:timers/promises'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'

let test: TestApp
let port: number
/** Passes a request to a route handler like Next: later, without the socket, and with the client's `X-Forwarded-For`. */
async function answerAsNext(asked: IncomingMessage, response: ServerResponse): Promise<void> {
  await turn()
  const headers = new Headers({ 'x-forwarded-for': String(asked.headers['x-forwarded-for'] ?? '127.0.0.1') })
  headers.set('content-type', 'application/json')
  const body = await asked.toArray()
  const route = test.app.route(test.app.agents.register)
  const answer = await route(
    new Request('http://localhost/v1/auth/register', { method: 'POST', headers, body: Buffer.concat(body) }),
    { params: Promise.resolve(undefined) },
  )
  response.writeHead(answer.status).end(await answer.text())
}
const server = createServer((asked, response) => void answerAsNext(asked, response))
beforeAll(async () => {
  test = await testApp({ KP_TRUSTED_PROXIES: '127.0.0.2' })
  test.app.followClientSockets()
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  port = (server.address() as AddressInfo).port
})
afterAll(async () => {
  server.close()
  server.closeAllConnections()
  await test.close()
})

/** Registers an agent from a local address, and returns the client's address in its audit entry. */
async function auditedAddress(agentId: string, localAddress: string, forwardedFor?: string): Promise<string> {
  const answer = await new Promise<IncomingMessage>((done, failed) =>
    request(
      {
        host: '127.0.0.1',
        port,
        localAddress,
        method: 'POST',
        agent: false,
        headers: { ...(forwardedFor !== undefined && { 'X-Forwarded-For': forwardedFor }) },
      },
      done,
    )
      .once('error', failed)
      .end(JSON.stringify({ agent_id: agentId, scopes: ['read'] })),
  )
  await finished(answer.resume())
  expect(answer.statusCode).toBe(201)
  const [entry] = await test.db.query<{ ip: string }>(
    undefined,
    "SELECT ip FROM audit_entries WHERE resource_id = $1 AND action = 'create'",
    [agentId],
  )
  return entry?.ip ?? 'no entry'
}

it('a route handler of plain Next takes the client address from the socket, and from headers of trusted proxies only', async () => {
  expect(await auditedAddress('direct', '127.0.0.1')).toBe('127.0.0.1')
  expect(await auditedAddress('forged', '127.0.0.3', '198.51.100.1')).toBe('127.0.0.3')
  expect(await auditedAddress('proxied', '127.0.0.2', '203.0.113.9, 198.51.100.7')).toBe('198.51.100.7')
})

it('a route handler of plain Next distinguishes concurrent clients', async () => {
  const clients = Array.from({ length: 20 }, (_, n) => `127.0.1.${n + 1}`)
  const seen = await Promise.all(clients.map((client, n) => auditedAddress(`client-${n}`, client)))
  expect(seen).toEqual(clients)
})
