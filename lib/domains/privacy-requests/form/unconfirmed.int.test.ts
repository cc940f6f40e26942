import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'

let test: TestApp
let admin: Person
beforeAll(async () => {
  // Without a mail server, emails are written to a folder.
  test = await testApp()
  admin = await signedIn(test, 'admin')
  await passwordEntered(test, admin)
  const body = { request_form: { is_on: true, origins: [] } }
  expect((await test.fetch('PATCH', '/v1/settings', { cookie: admin.cookie, body })).status).toBe(200)
})
afterAll(() => test?.close())

const day = 86_400_000
const path = '/api/admin/privacy/unconfirmed'
let count = 0
const newAddress = () => `stranger-${++count}@example.org`
const send = async (email: string) => {
  const body = { email, name: 'Forward Me', kind: 'access', locale: 'en' }
  expect((await test.fetch('POST', '/api/privacy/form', { body })).status).toBe(202)
  await drain(test, { except: ['privacy.clock'] })
}
const confirm = (token: string | undefined) => test.fetch('POST', '/api/privacy/form/confirm', { body: { token } })
const list = async () => (await test.fetch('GET', path, { cookie: admin.cookie })).json.data
const found = async (email: string) => (await list()).find((one: { email: string }) => one.email === email)
const waiting = async () =>
  (await test.fetch('GET', '/api/admin/waiting', { cookie: admin.cookie })).json.data.requests.unconfirmed
async function forward(id: string, headers = {}) {
  await passwordEntered(test, admin)
  return test.fetch('POST', `${path}/${id}/link`, { cookie: admin.cookie, headers })
}
const tokenIn = ({ json }: Awaited<ReturnType<typeof forward>>): string => json.data.link.split('#')[1]

describe('requests from the form without a mail server', () => {
  it('wait for an admin for a month; the 24 hours of the link start when it is forwarded', async () => {
    const email = newAddress()
    await send(email)
    const sentAt = test.clock.now().toISOString()
    expect(await waiting()).toBe(1)
    test.clock.advance(3 * day)
    const { id, is_forwarded } = await found(email)
    expect(is_forwarded).toBe(false)
    const forwarded = await forward(id)
    expect(forwarded.json.data).toMatchObject({ email, text: expect.stringContaining(forwarded.json.data.link) })
    expect(await waiting()).toBe(0)
    expect((await found(email)).is_forwarded).toBe(true)
    test.clock.advance(day - 60_000)
    const { status, json } = await confirm(tokenIn(forwarded))
    expect([status, json.data.received_at]).toEqual([200, sentAt])
    expect(await found(email)).toBeUndefined()
    const entries = await test.db.prisma.auditEntry.findMany({ where: { resourceId: id, action: 'update' } })
    expect(entries.map(({ details }) => details)).toMatchObject([{ event: 'forwarded' }])
    expect(JSON.stringify(entries)).not.toMatch(/stranger|request\/confirm/)
  })

  it('end 24 hours after the link was forwarded, and a month after the form was sent', async () => {
    const [forwardedTo, left] = [newAddress(), newAddress()]
    await send(forwardedTo)
    await send(left)
    const link = await forward((await found(forwardedTo)).id)
    test.clock.advance(day)
    expect((await confirm(tokenIn(link))).status).toBe(410)
    expect(await found(forwardedTo)).toBeUndefined()
    test.clock.advance(28 * day)
    const { id } = await found(left)
    test.clock.advance(day)
    expect(await found(left)).toBeUndefined()
    expect((await forward(id)).status).toBe(404)
    await test.app.jobs.find(({ name }) => name === 'privacy.clock')?.execute(test.app.pipeline, {})
    expect(await test.db.prisma.unconfirmedRequest.count({ where: { usedAt: null } })).toBe(0)
  })

  it('have one valid link, the newest; a repeated request creates a new link, because no reply with a link is stored', async () => {
    const email = newAddress()
    await send(email)
    const { id } = await found(email)
    const first = await forward(id, { 'Idempotency-Key': 'one' })
    const again = await forward(id, { 'Idempotency-Key': 'one' })
    expect(tokenIn(again)).not.toBe(tokenIn(first))
    expect((await confirm(tokenIn(first))).status).toBe(410)
    const { rows } = await test.db.pool.query('SELECT * FROM idempotency_records WHERE resource_id = $1', [id])
    expect(JSON.stringify(rows)).not.toMatch(/stranger|request\/confirm/)
    expect((await confirm(tokenIn(again))).status).toBe(200)
  })

  it('are shown to no other role, and their links to no token and to nobody who has not just entered the password', async () => {
    const email = newAddress()
    await send(email)
    const { id } = await found(email)
    for (const role of ['person', 'manager', 'auditor'] as const) {
      const { cookie } = await signedIn(test, role)
      expect((await test.fetch('GET', path, { cookie })).status).toBe(403)
      expect((await test.fetch('POST', `${path}/${id}/link`, { cookie })).status).toBe(403)
    }
    const { token } = await issuedAgent(test, ['admin', 'read', 'write'], { owner: admin })
    expect((await test.fetch('POST', `${path}/${id}/link`, { token })).status).toBe(403)
    test.clock.advance(3_600_000)
    const { json } = await test.fetch('POST', `${path}/${id}/link`, { cookie: admin.cookie })
    expect(json.code).toBe('step_up_required')
  })
})
