import { once } from 'node:events'
import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import type { OperationShape } from '#lib/kernel/operation.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

interface Credential {
  token?: string
  cookie?: string
}

/** A request whose headers have arrived, and whose body is sent by `send`, which returns the status and the code of the answer. */
async function heldRequest(method: string, path: string, { token, cookie }: Credential, body: unknown) {
  const socket = connect(Number(new URL(test.url).port), '127.0.0.1')
  await once(socket, 'connect')
  let text = ''
  socket.setEncoding('utf8').on('data', (piece) => {
    text += piece
  })
  const closed = once(socket, 'close')
  const bytes = JSON.stringify(body)
  const credential = token === undefined ? `Cookie: ${cookie}` : `Authorization: Bearer ${token}`
  socket.write(
    `${method} ${path} HTTP/1.1\r\nHost: x\r\nOrigin: ${test.app.env.KP_URL ?? `http://localhost:${test.app.env.PORT}`}\r\n${credential}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: ${Buffer.byteLength(bytes)}\r\n\r\n`,
  )
  return {
    async send() {
      socket.write(bytes)
      await closed
      const [head = '', answer = ''] = text.split('\r\n\r\n')
      return { status: Number(head.split(' ')[1]), code: /"code":"(\w+)"/.exec(answer)?.[1] }
    },
  }
}

/** Requests that began before these were sent have identified their callers when these are answered. */
async function othersBegan(credential: Credential) {
  for (let round = 0; round < 5; round++) await test.fetch('GET', '/v1/knowledge?limit=1', credential)
}

const withBody = () =>
  test.app.useCases
    .map(({ operation }): OperationShape => operation)
    .filter(({ body, permission, limit }) => body !== undefined && permission !== 'public' && limit !== 'exempt')
const pathOf = ({ path }: OperationShape) => path.replaceAll(/\{\w+\}/g, 'x')

describe('a body that arrives after its sender lost the right to send it', () => {
  it('is refused by every operation after the session ended', async () => {
    const operations = withBody()
    expect(operations.length).toBeGreaterThan(50)
    const answers = new Map<string, number>()
    // A person may write only so many times a minute.
    for (let from = 0; from < operations.length; from += 20) {
      const admin = await signedIn(test, 'admin')
      const some = operations.slice(from, from + 20)
      const held = await Promise.all(
        some.map(async (one) => ({ one, sent: await heldRequest(one.method.toUpperCase(), pathOf(one), admin, {}) })),
      )
      await othersBegan(admin)
      const { accountId } = admin
      await test.app.db.prisma.session.updateMany({ where: { accountId }, data: { revokedAt: test.clock.now() } })
      for (const { one, sent } of held) answers.set(one.id, (await sent.send()).status)
    }
    expect([...answers].filter(([, status]) => status !== 401)).toEqual([])
  })

  it('is refused by every operation after the token was revoked', async () => {
    const operations = withBody()
    const { token, tokenId } = await issuedAgent(test, ['read', 'write', 'privacy', 'admin'], { tier: 'enterprise' })
    const held = await Promise.all(
      operations.map(async (one) => ({
        one,
        isPermitted: (await test.fetch(one.method.toUpperCase(), pathOf(one), { token, body: {} })).status !== 403,
        sent: await heldRequest(one.method.toUpperCase(), pathOf(one), { token }, {}),
      })),
    )
    await othersBegan({ token })
    await test.app.db.prisma.token.update({ where: { id: tokenId }, data: { revokedAt: test.clock.now() } })
    const answers = await Promise.all(
      held.map(async ({ one, isPermitted, sent }) => [one.id, isPermitted, (await sent.send()).status] as const),
    )
    expect(answers.filter(([, isPermitted]) => isPermitted).length).toBeGreaterThan(20)
    expect(answers.filter(([, isPermitted, status]) => isPermitted && status !== 401)).toEqual([])
  })

  it('changes no role after the admin lost theirs', async () => {
    const admin = await signedIn(test, 'admin')
    await signedIn(test, 'admin')
    const other = await signedIn(test, 'person')
    const path = `/api/admin/users/${other.accountId}`
    const { send } = await heldRequest('PATCH', path, admin, { role: 'admin' })
    await othersBegan(admin)
    await test.app.db.prisma.account.update({ where: { id: admin.accountId }, data: { role: 'person' } })
    expect(await send()).toEqual({ status: 403, code: 'forbidden' })
    const { role } = await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: other.accountId } })
    expect(role).toBe('person')
  })

  it('stores nothing for an agent that was restricted or paused meanwhile', async () => {
    for (const data of [
      { restrictedAt: test.clock.now(), restrictedFor: ['request'] },
      { status: 'paused' as const },
    ]) {
      const agent = await issuedAgent(test, ['read', 'write'])
      const { send } = await heldRequest('POST', '/v1/knowledge', agent, trace())
      await othersBegan(agent)
      await test.app.db.prisma.agent.update({ where: { id: agent.id }, data })
      expect((await send()).status).toBe(403)
    }
  })
})
