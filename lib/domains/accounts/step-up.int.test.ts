import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

const minute = 60_000
const day = 24 * 60 * minute
let test: TestApp
let mail: Mailbox
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url })
})
afterAll(async () => {
  await test?.close()
  await mail?.close()
})

type Who = { cookie?: string; token?: string }
const confirm = (who: Who, password: string) =>
  test.fetch('POST', '/api/account/confirm', { ...who, body: { password } })
const createToken = (who: Who, body: Record<string, unknown>) => test.fetch('POST', '/v1/auth/tokens', { ...who, body })
const invite = (who: Who, role: string) =>
  test.fetch('POST', '/api/admin/users', {
    ...who,
    body: { email: `${role}-${Math.random()}@example.org`, name: 'New', role },
  })
const fileFor = async (who: Who, subject: { accountId: string }): Promise<TestResponse> =>
  test.fetch('POST', '/api/admin/privacy/requests', {
    ...who,
    body: { kinds: ['erasure'], account_id: subject.accountId, grace: '7d', received_at: test.clock.now() },
  })
const act = (who: Who, request: string, verb: string, body: object) =>
  test.fetch('POST', `/api/admin/privacy/requests/${request}/${verb}`, { ...who, body })
const verify = (who: Who, request: string) => act(who, request, 'verify', { note: 'Came to the office.' })
const expedite = (who: Who, request: string) => act(who, request, 'expedite', { reason: 'They asked for it.' })
const bulk = (who: Who, body: object) => test.fetch('POST', '/api/admin/privacy/bulk', { ...who, body })
/** Files the erasure of a new person. Returns the id of the request. */
async function erasureOf(who: Who, isVerified: boolean): Promise<string> {
  const filed = await fileFor(who, await signedIn(test))
  expect(filed.status, filed.text).toBe(201)
  const { id } = filed.json.data
  if (isVerified) expect((await verify(who, id)).status).toBe(200)
  return id
}
const answer = ({ status, json }: TestResponse) => [status, json?.code]
const needed = [403, 'step_up_required']

/** Returns the dangerous actions; each succeeds for an admin with a recent password. */
async function dangerous(admin: Person): Promise<(() => Promise<TestResponse>)[]> {
  const somebody = await signedIn(test)
  const agent = await issuedAgent(test, ['read'], { owner: admin })
  const held = await test.fetch('POST', '/v1/holds', {
    ...admin,
    body: { kind: 'agent', target_id: agent.id, reason: 'Litigation' },
  })
  expect(held.status, held.text).toBe(201)
  const received = await erasureOf(admin, false)
  const invited = (await invite(admin, 'person')).json.data
  const invitedMember = await test.fetch('POST', '/api/members', {
    ...admin,
    body: { email: `${newId('m')}@example.org`, name: 'M', role: 'person' },
  })
  const [waiting, alsoWaiting] = [await erasureOf(admin, true), await erasureOf(admin, true)]
  return [
    () => fileFor(admin, somebody),
    () => verify(admin, received),
    () => expedite(admin, waiting),
    () => bulk(admin, { action: 'expedite', ids: [alsoWaiting], reason: 'They asked for it.' }),
    () => test.fetch('PATCH', `/api/admin/users/${somebody.accountId}`, { ...admin, body: { role: 'manager' } }),
    () => test.fetch('PATCH', '/v1/retention', { ...admin, body: { org_days: 700 } }),
    () => test.fetch('DELETE', '/v1/retention', admin),
    () => test.fetch('POST', '/v1/retention/sweep', admin),
    () => test.fetch('POST', `/v1/holds/${held.json.data.id}/release`, admin),
    () => createToken(admin, { agent_id: agent.id, scopes: ['admin'] }),
    () => test.fetch('POST', '/v1/auth/register', { ...admin, body: { scopes: ['admin'] } }),
    ...['person', 'manager'].flatMap((role) => [
      () => invite(admin, role),
      () =>
        test.fetch('POST', '/api/members', { ...admin, body: { email: `${newId('m')}@example.org`, name: 'M', role } }),
    ]),
    () => test.fetch('POST', '/v1/invites', { ...admin, body: {} }),
    () => test.fetch('POST', `/api/admin/users/${invited.account_id}/invitation`, admin),
    () => test.fetch('POST', `/api/members/${invitedMember.json.data.account_id}/invitation`, admin),
  ]
}

describe('a recently entered password', () => {
  it('is required for dangerous actions of an admin, and lasts ten minutes', async () => {
    const admin = await signedIn(test, 'admin')
    const actions = await dangerous(admin)
    test.clock.advance(10 * minute + 1)
    for (const act of actions) expect(answer(await act())).toEqual(needed)
    expect(answer(await confirm(admin, 'a wrong password'))).toEqual([422, 'invalid'])
    expect(answer((await actions[0]?.()) as TestResponse)).toEqual(needed)

    const { status, json } = await confirm(admin, admin.password)
    expect([status, json.data.recent_until]).toEqual([
      200,
      new Date(test.clock.now().getTime() + 10 * minute).toISOString(),
    ])
    for (const act of actions) expect((await act()).status).toBeLessThan(300)
    test.clock.advance(10 * minute)
    expect((await invite(admin, 'auditor')).status).toBe(201)
    test.clock.advance(1)
    expect(answer(await invite(admin, 'auditor'))).toEqual(needed)
    // All other actions work without it.
    expect((await test.fetch('GET', '/api/admin/users', admin)).status).toBe(200)
  })

  it('is required to file, verify and expedite a person’s request, and a refused action changes nothing', async () => {
    const admin = await signedIn(test, 'admin')
    const [received, waiting] = [await erasureOf(admin, false), await erasureOf(admin, true)]
    const somebody = await signedIn(test)
    test.clock.advance(10 * minute + 1)
    const refused = [
      await fileFor(admin, somebody),
      await verify(admin, received),
      await expedite(admin, waiting),
      await bulk(admin, { action: 'expedite', ids: [waiting], reason: 'They asked for it.' }),
    ]
    expect(refused.map(answer)).toEqual(refused.map(() => needed))
    const stateOf = async (id: string) =>
      (await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })).state
    expect([await stateOf(received), await stateOf(waiting)]).toEqual(['received', 'waiting'])
    expect(await test.db.prisma.privacyRequest.count({ where: { accountId: somebody.accountId } })).toBe(0)
    // Other actions in bulk need no password.
    expect((await bulk(admin, { action: 'comment', ids: [waiting], note: 'Called.' })).json.data[0].ok).toBe(true)

    expect((await confirm(admin, admin.password)).status).toBe(200)
    const expedited = await bulk(admin, { action: 'expedite', ids: [waiting], reason: 'They asked for it.' })
    expect(expedited.json.data[0]).toMatchObject({ id: waiting, ok: true })
    expect((await verify(admin, received)).status).toBe(200)
  })

  it('is confirmed only by the person: confirming rejects strangers, tokens, ended sessions and repeated guesses', async () => {
    const admin = await signedIn(test, 'admin')
    const agent = await issuedAgent(test, ['admin'])
    expect((await confirm({}, admin.password)).status).toBe(401)
    expect((await confirm(agent, admin.password)).status).toBe(403)
    const other = await signedIn(test, 'admin')
    expect(answer(await confirm(other, admin.password))).toEqual([422, 'invalid'])
    const ended = await signedIn(test, 'admin')
    await test.db.prisma.session.updateMany({
      where: { accountId: ended.accountId },
      data: { revokedAt: test.clock.now() },
    })
    expect((await confirm(ended, ended.password)).status).toBe(401)
    for (let tries = 0; tries < 5; tries++) await confirm(admin, 'a guess')
    expect(answer(await confirm(admin, admin.password))).toEqual([429, 'rate_limited'])
  })

  it('belongs to one session: another session of the account must confirm again', async () => {
    const admin = await signedIn(test, 'admin')
    await test.db.prisma.session.updateMany({ where: { accountId: admin.accountId }, data: { passwordAt: null } })
    expect(answer(await invite(admin, 'manager'))).toEqual(needed)
  })
})

describe('a token', () => {
  it('cannot create a token with scope admin or an invitation above the role person', async () => {
    const owner = await signedIn(test)
    const agent = await issuedAgent(test, ['read'], { owner })
    const unclaimed = await issuedAgent(test, ['read'])
    const leaked = await issuedAgent(test, ['read', 'admin'])
    for (const id of [agent.id, unclaimed.id, leaked.id])
      expect(answer(await createToken(leaked, { agent_id: id, scopes: ['admin'] }))).toEqual([403, 'forbidden'])
    const register = (body: Record<string, unknown>) => test.fetch('POST', '/v1/auth/register', { ...leaked, body })
    expect(answer(await register({ scopes: ['admin'] }))).toEqual([403, 'forbidden'])
    expect(answer(await register({ agent_id: leaked.id, scopes: ['admin'] }))).toEqual([403, 'forbidden'])
    const rotation = await test.fetch('POST', `/v1/auth/tokens/${leaked.tokenId}/rotate`, {
      ...leaked,
      body: { overlap: '24h' },
    })
    expect(answer(rotation)).toEqual([403, 'forbidden'])
    for (const role of ['manager', 'auditor', 'admin'])
      expect(answer(await invite(leaked, role))).toEqual([403, 'forbidden'])
    expect((await invite(leaked, 'person')).status).toBe(201)
    const admins = await test.db.prisma.token.count({
      where: { scopes: { has: 'admin' }, agentId: { in: [agent.id, unclaimed.id] } },
    })
    expect(admins).toBe(0)
  })

  it('a token with scope admin expires after at most 90 days', async () => {
    const admin = await signedIn(test, 'admin')
    const agent = await issuedAgent(test, ['read'], { owner: admin })
    const end = new Date(test.clock.now().getTime() + 90 * day).toISOString()
    const made = await createToken(admin, { agent_id: agent.id, scopes: ['admin'] })
    expect([made.status, made.json.data.expires_at]).toEqual([201, end])
    const long = await createToken(admin, { agent_id: agent.id, scopes: ['admin'], expires_in_days: 91 })
    expect([...answer(long), long.json.issues[0].path]).toEqual([422, 'invalid', ['expires_at']])
    // A token of an old version without an expiry: its successor gets one.
    const old = await issuedAgent(test, ['admin'], { owner: admin })
    const rotated = await test.fetch('POST', `/v1/auth/tokens/${old.tokenId}/rotate`, { ...admin, body: {} })
    expect([rotated.status, rotated.json.data.expires_at]).toEqual([201, end])
    const byHand = await operator(test.app).issueToken(['admin'], 'by hand')
    expect(byHand.expiresAt?.toISOString()).toBe(end)
    test.clock.advance(90 * day)
    expect((await test.fetch('GET', '/v1/auth/me', { token: made.json.data.api_key })).status).toBe(401)
  })

  it('a token created by an admin for an agent of somebody else is marked, and the owner gets an email', async () => {
    const [owner, admin] = [await signedIn(test), await signedIn(test, 'admin')]
    const agent = await issuedAgent(test, ['read'], { owner })
    const listed = async () => {
      const { json } = await test.fetch('GET', '/v1/auth/tokens', owner)
      return json.data.map((token: { name: string | null; issued_by_admin: boolean }) => [
        token.name,
        token.issued_by_admin,
      ])
    }
    const made = await createToken(admin, { agent_id: agent.id, name: 'made', scopes: ['read'] })
    expect([made.status, made.json.data.issued_by_admin]).toEqual([201, true])
    const own = await createToken(owner, { agent_id: agent.id, name: 'own', scopes: ['read'] })
    expect(own.json.data.issued_by_admin).toBe(false)
    const rotated = await test.fetch('POST', `/v1/auth/tokens/${agent.tokenId}/rotate`, { ...admin, body: {} })
    expect(rotated.json.data.issued_by_admin).toBe(true)
    expect(await listed()).toEqual(
      expect.arrayContaining([
        ['made', true],
        ['own', false],
        [null, true],
      ]),
    )
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: owner.accountId } })
    await drain(test)
    const emails = mail.letters.filter(({ to }) => to === email)
    for (const { key_prefix } of [made.json.data, rotated.json.data])
      expect(
        emails.filter(({ text }) => text.includes(key_prefix)),
        key_prefix,
      ).toHaveLength(1)
  })
})
