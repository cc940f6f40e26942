import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { trace } from '#lib/testing/units.ts'
import { readerKindOf } from './rules.ts'

let setting: PrivacyTest
let person: Person
let stranger: Person
let auditor: Person
let agent: Issued
beforeAll(async () => {
  setting = await privacyTest()
  const { test } = setting
  person = await signedIn(test)
  stranger = await signedIn(test)
  auditor = await signedIn(test, 'auditor')
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person })
})
afterAll(() => setting?.close())

const get = (path: string, cookie: string) => setting.test.fetch('GET', path, { cookie })
const store = async (visibility: string, objective: string): Promise<string> =>
  (
    await setting.test.fetch('POST', '/v1/knowledge', {
      token: agent.token,
      body: trace({ task: { objective } }, { visibility }),
    })
  ).json.data.id
const dataOf = async (cookie = setting.admin.cookie) => get(`/api/admin/users/${person.accountId}/data`, cookie)
const readersOf = async (cookie = person.cookie) => (await get('/api/privacy/readers', cookie)).json

describe('GET /api/admin/users/{id}/data', () => {
  it('returns 403 to everybody but admins, and 404 for an unknown account', async () => {
    for (const { cookie } of [person, stranger, auditor]) expect((await dataOf(cookie)).status).toBe(403)
    const unknown = `usr_${'0'.repeat(22)}`
    expect((await get(`/api/admin/users/${unknown}/data`, setting.admin.cookie)).status).toBe(404)
  })

  it('returns the same counts as the inventory of the person, and no content of private records', async () => {
    await store('private', 'the secretword of a private record')
    const response = await dataOf()
    const { data } = response.json
    const inventory = (await get('/api/privacy/inventory', person.cookie)).json
    const counted = (lines: { holder: string; count: number }[]) =>
      Object.fromEntries(
        lines
          // Reading the inventory changes sessions and the audit log only.
          .filter(({ holder, count }) => count > 0 && holder !== 'accounts.sessions')
          .map(({ holder, count }) => [holder, count]),
      )
    expect(counted(data.held)).toEqual(counted(inventory.data))
    expect(data.held.find(({ holder }: { holder: string }) => holder === 'knowledge.units').count).toBe(1)
    expect(data.agents.map(({ id }: { id: string }) => id)).toEqual([agent.id])
    expect(JSON.stringify(data)).not.toContain('secretword')
  })

  it('returns empty lists for a person who has done nothing, and counts only the account', async () => {
    const newcomer = await signedIn(setting.test)
    const { data } = (await get(`/api/admin/users/${newcomer.accountId}/data`, setting.admin.cookie)).json
    expect(data).toMatchObject({ agents: [], receipts: [], holds: [], readers: [] })
    const held: { holder: string; count: number }[] = data.held
    expect(held.filter(({ count, holder }) => count > 0 && !holder.startsWith('accounts'))).toEqual([])
  })

  it('returns the holds in force on the person', async () => {
    const held = await setting.test.fetch('POST', '/v1/holds', {
      cookie: setting.admin.cookie,
      body: { kind: 'account', target_id: person.accountId, reason: 'A lawsuit' },
    })
    expect(held.status).toBe(201)
    const { data } = (await dataOf()).json
    expect(data.holds).toEqual([held.json.data.id])
    expect(JSON.stringify(data)).not.toContain('lawsuit')
  })
})

describe('GET /api/privacy/readers', () => {
  it('names who opened a record of the person by role, without names, and leaves out the person', async () => {
    const unit = await store('network', 'Find out why the cache is cold')
    await get(`/api/knowledge/${unit}`, person.cookie)
    await get(`/api/knowledge/${unit}`, stranger.cookie)
    await get(`/api/knowledge/${unit}`, stranger.cookie)
    await get(`/api/knowledge/${unit}`, auditor.cookie)
    await setting.test.fetch('GET', `/v1/knowledge/${unit}`, { token: agent.token })
    await get(`/api/admin/users/${person.accountId}`, setting.admin.cookie)
    const { data, is_complete } = await readersOf()
    const found = data.map(({ who, action, resource_type, count }: Record<string, unknown>) =>
      [who, action, resource_type, count].join(' '),
    )
    expect(found).toContain('member read knowledge 2')
    expect(found).toContain('auditor read knowledge 1')
    expect(found.some((line: string) => line.startsWith('admin read account'))).toBe(true)
    expect(found.some((line: string) => line.startsWith('agent'))).toBe(false)
    expect(is_complete).toBe(true)
    const text = JSON.stringify(data)
    for (const { accountId } of [stranger, auditor, setting.admin]) expect(text).not.toContain(accountId)
    expect(await readersOf(stranger.cookie)).toMatchObject({ data: [] })
  })
})

describe('GET /api/knowledge with owner', () => {
  it('lists the shared records of a person to an admin, and never private ones', async () => {
    const [shared, own] = [await store('org', 'A shared wombat'), await store('private', 'A private wombat')]
    const list = (cookie: string) => get(`/api/knowledge?q=wombat&owner=${person.accountId}`, cookie)
    const ids = ({ json }: Awaited<ReturnType<typeof get>>) => json.data.map(({ id }: { id: string }) => id)
    expect(ids(await list(setting.admin.cookie))).toEqual([shared])
    for (const cookie of [person.cookie, stranger.cookie, auditor.cookie]) expect((await list(cookie)).status).toBe(403)
    const refused = await setting.test.fetch('PATCH', `/v1/knowledge/${own}`, {
      cookie: setting.admin.cookie,
      body: { unit: { task: { objective: 'changed' } } },
    })
    expect(refused.status).toBe(404)
    const nobody = await get(`/api/knowledge?owner=${stranger.accountId}`, setting.admin.cookie)
    expect(ids(nobody)).toEqual([])
  })
})

describe('readerKindOf', () => {
  it.each([
    ['user:usr_1', 'admin', 'admin'],
    ['user:usr_1', 'manager', 'member'],
    ['user:usr_1', undefined, 'unknown'],
    ['system:exports.prepare', undefined, 'system'],
    ['anonymous', undefined, 'unknown'],
    ['kp-agent-1', undefined, 'agent'],
  ])('%s with the role %s is %s', (actor, role, kind) => expect(readerKindOf(actor, role)).toBe(kind))
})
