import { afterAll, afterEach, beforeAll, describe, expect, it, vi } from 'vitest'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { issuedAgent, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { reminderPause, type SignInWay } from './rules.ts'

const day = 86_400_000
let test: TestApp
let mail: Mailbox
const real = performance.now.bind(performance)
let ahead = 0
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url })
  vi.spyOn(performance, 'now').mockImplementation(() => real() + ahead)
})
afterAll(async () => {
  vi.restoreAllMocks()
  await test?.close()
  await mail?.close()
})
/** Lets the second pass for which a setting is cached. */
const settle = () => {
  ahead += 1_001
}
afterEach(async () => {
  await operatorAccounts(test.app).liftSecondFactors()
  settle()
})

type Someone = Awaited<ReturnType<typeof signedIn>>
const addFactor = ({ accountId }: Someone, id = `fct_${accountId.slice(4)}`) =>
  test.db.prisma.accountFactor.create({
    data: {
      id,
      accountId,
      kind: 'totp',
      name: 'Phone',
      totpSecret: new Uint8Array(20),
      createdAt: test.clock.now(),
      confirmedAt: test.clock.now(),
    },
  })
async function protectedAdmin(): Promise<Someone> {
  const admin = await signedIn(test, 'admin')
  await addFactor(admin)
  return admin
}
const set = async (who: { cookie?: string; token?: string }, body: object) => {
  const answer = await test.fetch('PUT', '/api/admin/second-factors', { ...who, body })
  settle()
  return answer
}
const requireOf = async (who: 'admins' | 'everybody', from?: Date) => {
  const admin = await protectedAdmin()
  const answer = await set(admin, { required_of: who, ...(from && { from: from.toISOString() }) })
  expect(answer.status, answer.text).toBe(200)
  return admin
}
const ask = async (who: { cookie: string }, path = '/api/overview', method = 'GET', body?: object) => {
  const { status, json } = await test.fetch(method, path, { cookie: who.cookie, ...(body && { body }) })
  return status < 300 ? status : json.code
}
const missing = 'second_factor_required'
const stateOf = async (who: Someone) => (await test.fetch('GET', '/api/account', who)).json.data.second_factor

describe('a requirement of second factors', () => {
  it('is limited to admins with a second factor and a recent password, and rejects tokens', async () => {
    const body = { required_of: 'everybody' }
    const agent = await issuedAgent(test, ['admin'])
    expect((await set({}, body)).json.code).toBe('sign_in_needed')
    expect((await set(await signedIn(test), body)).status).toBe(403)
    expect((await set({ token: agent.token }, body)).json.code).toBe('forbidden')
    expect((await set(await signedIn(test, 'admin'), body)).json.code).toBe('wrong_state')
    const admin = await protectedAdmin()
    test.clock.advance(11 * 60_000)
    expect((await set(admin, body)).json.code).toBe('step_up_required')
    await passwordEntered(test, admin)
    const late = new Date(test.clock.now().getTime() + 366 * day).toISOString()
    expect((await set(admin, { ...body, from: late })).status).toBe(422)
    expect((await test.fetch('GET', '/api/admin/second-factors', admin)).json.data).toMatchObject({
      required_of: 'nobody',
      from: null,
      accounts: 0,
    })
    expect((await set(admin, body)).json.data.required_of).toBe('everybody')
    const { rows } = await test.db.pool.query(
      "SELECT details->>'from' AS before, details->>'to' AS after FROM audit_entries WHERE resource_id = 'second_factors' AND agent_id = $1 AND action = 'update'",
      [`user:${admin.accountId}`],
    )
    expect(rows).toEqual([{ before: 'nobody', after: 'everybody' }])
  })

  it('also confines sessions that were open before, from its time on', async () => {
    const person = await signedIn(test)
    await requireOf('everybody', new Date(test.clock.now().getTime() + day))
    expect(await ask(person)).toBe(200)
    expect(await stateOf(person)).toEqual({ is_missing: false, required_from: expect.any(String) })
    test.clock.advance(day)
    expect(await ask(person)).toBe(missing)
    expect(await stateOf(person)).toEqual({ is_missing: true, required_from: expect.any(String) })
    await addFactor(person)
    expect(await ask(person)).toBe(200)
    expect(await stateOf(person)).toEqual({ is_missing: false, required_from: null })
  })

  it('of admins confines no other role, and follows a change of the role', async () => {
    const [person, admin] = [await signedIn(test), await signedIn(test, 'admin')]
    const chief = await requireOf('admins')
    expect([await ask(person), await ask(admin), await ask(chief)]).toEqual([200, missing, 200])
    for (const [role, expected] of [
      ['admin', missing],
      ['person', 200],
    ] as const) {
      const changed = await test.fetch('PATCH', `/api/admin/users/${person.accountId}`, { ...chief, body: { role } })
      expect(changed.status, changed.text).toBe(200)
      expect(await ask(person)).toBe(expected)
    }
  })

  it('takes an admin’s rights from a session without a second factor, also in operations that stay open', async () => {
    const admin = await signedIn(test, 'admin')
    const other = await signedIn(test)
    const filed = await test.fetch('POST', '/api/privacy/requests', { ...other, body: { kinds: ['access'] } })
    expect(filed.status, filed.text).toBe(201)
    await requireOf('admins')
    expect(await ask(admin, '/api/admin/users')).toBe(missing)
    expect(await ask(admin, '/api/admin/second-factors', 'PUT', { required_of: 'nobody' })).toBe(missing)
    expect(await ask(admin, `/api/privacy/requests/${filed.json.data.id}`)).toBe('not_found')
    const leaving = await signedIn(test)
    const erasure = { kinds: ['erasure'], grace: 'now', password: leaving.password }
    expect(await ask(leaving, '/api/privacy/requests', 'POST', erasure)).toBe(201)
    await drain(test, { except: ['privacy.clock'] })
    const run = await test.db.pool.query('SELECT id FROM erasure_runs ORDER BY created_at DESC LIMIT 1')
    const path = `/api/erasures/${run.rows[0].id}`
    expect(await ask(admin, path)).toBe('not_found')
    await addFactor(admin)
    expect(await ask(admin, path)).toBe(200)
  })

  it('never blocks the rights of a person over their own data', async () => {
    const person = await signedIn(test)
    await requireOf('everybody')
    const open = test.app.useCases.filter(({ operation }) => operation.permission === 'privacy:self')
    expect(open.length).toBeGreaterThan(15)
    expect(open.filter(({ operation }) => !operation.isOpenWithoutSecondFactor)).toEqual([])
    for (const path of ['/api/privacy/inventory', '/api/privacy/plan', '/api/privacy/exports', '/api/privacy/requests'])
      expect([path, await ask(person, path)]).toEqual([path, 200])
    expect(await ask(person, '/api/privacy/exports', 'POST', { scope: 'all' })).toBe(202)
    const filed = await test.fetch('POST', '/api/privacy/requests', {
      ...person,
      body: { kinds: ['erasure'], grace: '24h', password: person.password },
    })
    expect(filed.status, filed.text).toBe(201)
    expect(await ask(person, `/api/privacy/requests/${filed.json.data.id}/cancel`, 'POST', {})).toBe(200)
  })

  it('blocks every operation that is not declared open', async () => {
    const manager = await signedIn(test, 'manager')
    const member = await signedIn(test, 'person', manager.organisationId)
    await requireOf('everybody')
    const body = { kinds: ['access'], member: member.accountId }
    expect(await ask(manager, '/api/privacy/requests', 'POST', body)).toBe(missing)
    for (const path of ['/api/members', '/api/projects', '/api/agents/none', '/v1/auth/tokens', '/v1/knowledge'])
      expect([path, await ask(manager, path)]).toEqual([path, missing])
    expect(await ask(manager, '/v1/auth/tokens', 'POST', { scopes: ['read'] })).toBe(missing)
  })

  it('leaves tokens unaffected', async () => {
    const owner = await signedIn(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner })
    await requireOf('everybody')
    expect((await test.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(200)
  })

  it('keeps the last second factor of an affected account', async () => {
    const person = await signedIn(test)
    const { id } = await addFactor(person)
    await requireOf('everybody')
    expect(await ask(person, `/api/account/factors/${id}`, 'DELETE')).toBe('wrong_state')
    await addFactor(person, id.replace('fct_', 'fct_x').slice(0, id.length))
    expect(await ask(person, `/api/account/factors/${id}`, 'DELETE')).toBe(204)
    expect(await ask(person)).toBe(200)
  })

  it('confines a person whose second factors an admin removed', async () => {
    const person = await signedIn(test)
    await addFactor(person)
    const admin = await requireOf('everybody')
    expect(await ask(person)).toBe(200)
    expect((await test.fetch('DELETE', `/api/admin/users/${person.accountId}/factors`, admin)).status).toBe(200)
    expect(await ask(person)).toBe(missing)
  })

  it.each<[SignInWay, boolean, number | string]>([
    ['identity', false, 200],
    ['identity-one-factor', false, missing],
    ['identity-one-factor', true, missing],
    ['password', true, 200],
  ])('decides about a session opened with %s, second factor %s', async (signedInWith, hasFactor, expected) => {
    const person = await signedIn(test)
    if (hasFactor) await addFactor(person)
    await test.db.prisma.session.updateMany({ where: { accountId: person.accountId }, data: { signedInWith } })
    await requireOf('everybody')
    expect(await ask(person)).toBe(expected)
  })

  it('is lifted by the operator', async () => {
    const admin = await signedIn(test, 'admin')
    await requireOf('everybody')
    expect(await ask(admin)).toBe(missing)
    expect(await operatorAccounts(test.app).liftSecondFactors()).toEqual({ before: 'everybody' })
    settle()
    expect(await ask(admin)).toBe(200)
  })
})

describe('reminders', () => {
  const subjects = () => mail.letters.map(({ to, subject }) => `${to}: ${subject}`)
  const remind = (who: { cookie?: string; token?: string }) =>
    test.fetch('POST', '/api/admin/second-factors/reminders', { ...who, body: {} })

  it('send one email a day to each person without a second factor, also for two concurrent calls', async () => {
    const admin = await protectedAdmin()
    expect((await remind(await signedIn(test))).status).toBe(403)
    expect((await remind(admin)).json.code).toBe('wrong_state')
    const one = await signedIn(test, 'admin')
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: one.accountId } })
    await requireOf('admins', new Date(test.clock.now().getTime() + day))
    const both = await Promise.all([remind(admin), remind(admin)])
    const sent = both.map(({ json }) => json.data.reminded)
    expect(Math.min(...sent)).toBe(0)
    expect(Math.max(...sent)).toBeGreaterThan(0)
    await drain(test, { except: ['privacy.clock'] })
    const expected = `${email}: Add a second factor to your account`
    expect(subjects().filter((line) => line === expected)).toHaveLength(1)
    expect((await remind(admin)).json.data.reminded).toBe(0)
    test.clock.advance(reminderPause)
    await passwordEntered(test, admin)
    expect((await remind(admin)).json.data.reminded).toBeGreaterThan(0)
  })

  it('have their recipients in the list of users', async () => {
    const admin = await requireOf('everybody')
    const person = await signedIn(test)
    const list = async () =>
      (await test.fetch('GET', '/api/admin/users?second_factor=missing&limit=100', admin)).json.data.map(
        ({ account_id }: { account_id: string }) => account_id,
      )
    expect(await list()).toContain(person.accountId)
    expect(await list()).not.toContain(admin.accountId)
    const before = (await test.fetch('GET', '/api/admin/second-factors', admin)).json.data
    await addFactor(person)
    expect(await list()).not.toContain(person.accountId)
    const after = (await test.fetch('GET', '/api/admin/second-factors', admin)).json.data
    expect(after).toMatchObject({ accounts: before.accounts, without: before.without - 1 })
  })
})
