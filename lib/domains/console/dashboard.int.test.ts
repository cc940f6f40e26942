import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import titles from '#messages/en/audit.json' with { type: 'json' }
import { setupStatus, setupSteps, trendWeeks } from './rules.ts'

let setting: PrivacyTest
let auditor: Person
let person: Person
beforeAll(async () => {
  setting = await privacyTest()
  auditor = await signedIn(setting.test, 'auditor')
  person = await signedIn(setting.test)
})
afterAll(() => setting?.close())

const get = (cookie: string) => setting.test.fetch('GET', '/api/admin/dashboard', { cookie })
const dashboard = async (cookie = setting.admin.cookie) => (await get(cookie)).json.data
const ask = () =>
  setting.test.fetch('POST', '/api/privacy/requests', { cookie: person.cookie, body: { kinds: ['objection'] } })

describe('GET /api/admin/dashboard', () => {
  it('returns 403 to people and managers, and no numbers of requests to auditors', async () => {
    const manager = await signedIn(setting.test, 'manager')
    for (const { cookie } of [person, manager]) expect((await get(cookie)).status).toBe(403)
    const { trend, since, setup } = await dashboard(auditor.cookie)
    expect([trend, since]).toEqual([null, null])
    expect(setup.map(({ step }: { step: string }) => step)).toEqual(setupSteps)
  })

  it('reports a second admin as missing until another admin can sign in', async () => {
    const isDone = async () =>
      (await dashboard()).setup.find(({ step }: { step: string }) => step === 'second_admin').is_done
    expect(await isDone()).toBe(false)
    const second = await signedIn(setting.test, 'admin')
    expect(await isDone()).toBe(true)
    await setting.test.db.pool.query('UPDATE accounts SET deactivated_at = now() WHERE id = $1', [second.accountId])
    expect(await isDone()).toBe(false)
  })

  it('counts requests by week and since the sign-in before the current one', async () => {
    const before = (await dashboard()).trend.at(-1).received
    expect((await ask()).status).toBe(201)
    const { trend } = await dashboard()
    expect(trend).toHaveLength(trendWeeks)
    expect(trend.at(-1).received).toBe(before + 1)
    expect(trend.slice(0, -1).every(({ received }: { received: number }) => received === 0)).toBe(true)
  })

  it('lists changes by people with their names, without reads, and writes one audit entry', async () => {
    const { activity } = await dashboard()
    expect(activity[0]).toMatchObject({ action: 'create', actor_id: `user:${person.accountId}` })
    expect(activity[0].actor_name).toEqual(expect.any(String))
    expect(activity[0].resource_name).toEqual(expect.any(String))
    expect(activity[0].act.parts[0].entry.details).toMatchObject({ event: 'received' })
    expect(activity.map(({ action }: { action: string }) => action)).not.toContain('read')
    const entries = () => setting.test.db.prisma.auditEntry.count({ where: { resourceType: 'dashboard' } })
    const known = await entries()
    await dashboard()
    expect(await entries()).toBe(known + 1)
  })
})

it('the activity lists a revoked token as a revocation, with the name and the prefix of the token', async () => {
  const { tokenId, token } = await issuedAgent(setting.test, ['read', 'write'], { owner: person })
  await setting.test.db.prisma.token.update({ where: { id: tokenId }, data: { name: 'build server' } })
  const { cookie } = person
  expect((await setting.test.fetch('DELETE', `/v1/auth/tokens/${tokenId}`, { cookie })).status).toBe(204)
  const { activity } = await dashboard()
  expect(activity[0]).toMatchObject({ action: 'revoke', resource_name: `build server ${token.slice(0, 11)}` })
})

it('the activity lists no confirmed password, which changes only the session', async () => {
  const { cookie, password } = await personWithPassword(setting.test)
  const confirmed = await setting.test.fetch('POST', '/api/account/confirm', { cookie, body: { password } })
  expect(confirmed.status).toBe(200)
  const { activity } = await dashboard()
  expect(activity.map(({ resource_type }: { resource_type: string }) => resource_type)).not.toContain('session')
})

it('the audit log has a title for the resource type of every operation', () => {
  const types = setting.test.app.useCases.flatMap(({ operation: { audit } }) =>
    'none' in audit ? [] : [audit.resourceType],
  )
  expect(types.length).toBeGreaterThan(50)
  expect(types.filter((type) => !Object.hasOwn(titles.types, type))).toEqual([])
})

it('setupStatus reports each step by its setting', () => {
  const nothing = {
    hasMailServer: false,
    hasContact: false,
    statesBackups: false,
    unknownRegions: 2,
    hasIdentityProvider: false,
    admins: 1,
  }
  expect(setupStatus(nothing).some(({ is_done }) => is_done)).toBe(false)
  const everything = {
    hasMailServer: true,
    hasContact: true,
    statesBackups: true,
    unknownRegions: 0,
    hasIdentityProvider: true,
    admins: 2,
  }
  expect(setupStatus(everything).every(({ is_done }) => is_done)).toBe(true)
})
