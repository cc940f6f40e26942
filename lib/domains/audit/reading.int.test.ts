import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newUuid } from '#lib/kernel/ids.ts'
import { encodeCursor } from '#lib/kernel/pages.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import type { AuditFilters } from './contract.ts'
import { isRevocation } from './rules.ts'
import { auditReading } from './service.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const hour = 3_600_000
const day = 24 * hour
const filters: AuditFilters = {}
const insert = (
  entries: { at: Date; action?: string; resourceType?: string; resourceId?: string; agentId?: string }[],
) =>
  test.db.prisma.auditEntry.createMany({
    data: entries.map(({ at, action = 'read', resourceType = 'knowledge', resourceId = 'x', agentId = 'a' }) => ({
      id: newUuid(),
      at,
      action,
      agentId,
      resourceType,
      resourceId,
      ip: '',
      details: {},
    })),
  })

describe('a search without an index', () => {
  it('finds each entry of 90 days once, even when the time limit ends every page', async () => {
    const now = test.clock.now()
    const ages = [1, 30 * 60_000, hour, 5 * hour, day, 10 * day, 10 * day, 44 * day, 88 * day, 90 * day - hour]
    await insert(ages.map((age) => ({ at: new Date(now.getTime() - age), resourceId: 'needle' })))
    await insert([{ at: new Date(now.getTime() - 90 * day - 1), resourceId: 'needle' }])
    const impatient = auditReading(test.db, { max: 0, step: 3 * day })
    const found: number[] = []
    const reached: (Date | undefined)[] = []
    let cursor: string | undefined
    for (let pages = 0; ; pages++) {
      expect(pages).toBeLessThan(50)
      const page = await impatient.find({ ...filters, q: 'NEEDLE', cursor }, undefined, now, 3)
      found.push(...page.rows.map(({ at }) => now.getTime() - at.getTime()))
      if (!page.next) break
      reached.push(page.reached)
      cursor = encodeCursor(page.next.at, page.next.id)
    }
    expect(found).toEqual(ages)
    expect(reached.some((time) => time !== undefined)).toBe(true)
    const patient = await auditReading(test.db).find({ ...filters, q: 'needle' }, undefined, now, 100)
    expect([patient.rows.length, patient.next, patient.reached]).toEqual([ages.length, undefined, undefined])
  })

  it('returns only entries of the requested period', async () => {
    const now = test.clock.now()
    const at = (age: number) => new Date(now.getTime() - age)
    await insert([3, 4, 5].map((days) => ({ at: at(days * day), resourceType: 'rare' })))
    const log = auditReading(test.db)
    const rows = await log.find({ resource_type: 'rare', from: at(4 * day), to: at(3 * day + 1) }, undefined, now, 10)
    expect(rows.rows.map(({ at: time }) => time)).toEqual([at(4 * day)])
  })

  it('exports every match, beyond the time limit of a page', async () => {
    const auditor = await signedIn(test, 'auditor')
    const { text, status } = await test.fetch('GET', '/v1/audit/export?q=needle', auditor)
    expect([status, text.trim().split('\n').length]).toEqual([200, 10])
  })
})

describe('the total', () => {
  it('is exact below a thousand, a marked estimate above, and neither for a text search', async () => {
    const now = test.clock.now()
    await insert(
      Array.from({ length: 3_000 }, (_, n) => ({
        at: new Date(now.getTime() - n * 60_000),
        agentId: 'busy',
        action: 'validate',
      })),
    )
    await test.db.pool.query('SELECT 1')
    const auditor = await signedIn(test, 'auditor')
    const ask = async (query: string) => (await test.fetch('GET', `/v1/audit?limit=5&${query}`, auditor)).json
    expect(await ask('resource_type=rare')).toMatchObject({
      total: 3,
      counted: 'exact',
      total_estimate: null,
      searched_to: null,
    })
    for (const query of ['agent_id=busy', 'action=validate', '']) {
      const { total, counted, total_estimate } = await ask(query)
      expect([query, total, counted]).toEqual([query, 1_001, 'at_least'])
      expect(total_estimate).toBeGreaterThanOrEqual(1_001)
    }
    expect(await ask('q=busy')).toMatchObject({ total: 0, counted: 'exact' })
    expect(await ask('q=x&agent_id=busy')).toMatchObject({ total: 1_001, counted: 'at_least', total_estimate: null })
    const first = await ask('action=validate')
    expect(await ask(`action=validate&cursor=${first.next_cursor}`)).toMatchObject({
      total: 5,
      counted: 'at_least',
      total_estimate: null,
    })
  })
})

describe('names in the log', () => {
  it('GET /v1/audit returns the current names of people and agents to auditors only', async () => {
    const auditor = await signedIn(test, 'auditor')
    const person = await signedIn(test)
    const now = test.clock.now()
    await insert([
      { at: now, agentId: `user:${person.accountId}`, resourceType: 'named', resourceId: auditor.accountId },
      { at: now, agentId: 'user:usr_deleted', resourceType: 'named', resourceId: 'deleted' },
    ])
    const read = async (query: string, reader = auditor) =>
      (await test.fetch('GET', `/v1/audit?resource_type=named${query}`, reader)).json.data
    expect(await read(`&agent_id=user:${person.accountId}`)).toMatchObject([
      { actorName: 'Somebody', resourceName: 'Somebody' },
    ])
    expect(await read('&agent_id=user:usr_deleted')).toMatchObject([{ actorName: null, resourceName: null }])
    expect(await read('', person)).toMatchObject([{ actorName: null, resourceName: null }])
  })

  it('GET /v1/audit returns the name and the prefix of a revoked token', async () => {
    const auditor = await signedIn(test, 'auditor')
    const owner = await signedIn(test)
    const { tokenId, token } = await issuedAgent(test, ['read', 'write'], { owner })
    await test.db.prisma.token.update({ where: { id: tokenId }, data: { name: 'build server' } })
    const revoked = await test.fetch('POST', '/v1/auth/revoke', { ...owner, body: { key_prefix: token.slice(0, 11) } })
    expect(revoked.status).toBe(200)
    const { json } = await test.fetch('GET', `/v1/audit?resource_id=${tokenId}&action=update`, auditor)
    expect(json.data).toMatchObject([{ resourceName: `build server ${token.slice(0, 11)}` }])
    expect(isRevocation(json.data[0].resourceType, json.data[0].details)).toBe(true)
  })

  it('GET /api/audit/actors finds people by name and address and agents by name, for auditors only', async () => {
    const auditor = await signedIn(test, 'auditor')
    const person = await signedIn(test)
    const agent = await test.agent()
    const { email } = await test.db.prisma.account.update({
      where: { id: person.accountId },
      data: { name: 'Wanda Wanted' },
      select: { email: true },
    })
    const find = async (q: string, reader = auditor) =>
      test.fetch('GET', `/api/audit/actors?q=${encodeURIComponent(q)}`, reader)
    const wanda = { id: `user:${person.accountId}`, kind: 'person', name: 'Wanda Wanted', email }
    expect((await find('wanda want')).json.data).toEqual([wanda])
    expect((await find(email.toUpperCase())).json.data).toEqual([wanda])
    expect((await find(agent.id)).json.data).toMatchObject([{ id: agent.id, kind: 'agent', email: null }])
    expect((await find('%_%')).json.data).toEqual([])
    expect((await find('wanda', person)).status).toBe(403)
  })
})

it('GET /v1/audit and its export omit reads when reads=false', async () => {
  const auditor = await signedIn(test, 'auditor')
  const at = test.clock.now()
  await insert(
    ['read', 'update', 'read', 'delete'].map((action) => ({
      at,
      action,
      resourceType: 'mixed',
      resourceId: 'mixed-1',
    })),
  )
  const actions = async (query: string): Promise<string[]> =>
    (await test.fetch('GET', `/v1/audit?${query}`, auditor)).json.data
      .map(({ action }: { action: string }) => action)
      .sort()
  expect(await actions('resource_id=mixed-1&reads=false')).toEqual(['delete', 'update'])
  expect(await actions('resource_type=mixed&reads=false')).toEqual(['delete', 'update'])
  expect(await actions('resource_id=mixed-1&reads=true')).toHaveLength(4)
  expect(await actions('resource_id=mixed-1')).toHaveLength(4)
  const exported = await test.fetch('GET', '/v1/audit/export?resource_id=mixed-1&reads=false', auditor)
  expect(exported.text.trim().split('\n')).toHaveLength(2)
})
