import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { maxSearches } from './rules.ts'

let test: TestApp
let auditor: Person
beforeAll(async () => {
  test = await testApp()
  auditor = await signedIn(test, 'auditor')
})
afterAll(() => test.close())

const path = '/api/audit/searches'
const save = (who: { cookie?: string; token?: string }, name: string, query = 'action=delete') =>
  test.fetch('POST', path, { ...who, body: { name, query } })
const list = async (who: Person) => (await test.fetch('GET', path, who)).json

describe('a saved search', () => {
  it('is stored with canonical filters, listed by name and deleted', async () => {
    const made = await save(auditor, ' Deletions of today ', 'q=ab%26c&action=delete&from=2026-01-01T00:00:00Z')
    expect(made.status).toBe(201)
    expect(made.json.data).toMatchObject({
      name: 'Deletions of today',
      query: 'action=delete&from=2026-01-01T00%3A00%3A00Z&q=ab%26c',
    })
    await save(auditor, 'A first one')
    expect((await list(auditor)).data.map(({ name }: { name: string }) => name)).toEqual([
      'A first one',
      'Deletions of today',
    ])
    expect((await test.fetch('DELETE', `${path}/${made.json.data.id}`, auditor)).status).toBe(204)
    expect((await list(auditor)).total).toBe(1)
    const entries = await test.app.audit.query({ resource_id: made.json.data.id }, test.clock.now())
    expect(entries.map(({ action }) => action).sort()).toEqual(['create', 'delete'])
    expect(JSON.stringify(entries)).not.toMatch(/Deletions of today|ab&c/)
  })

  it('is invisible to every other account, including admins', async () => {
    const made = await save(auditor, 'Mine')
    const admin = await signedIn(test, 'admin')
    expect((await list(admin)).data).toEqual([])
    expect((await test.fetch('DELETE', `${path}/${made.json.data.id}`, admin)).status).toBe(404)
    expect((await save(admin, 'Mine')).status).toBe(201)
    expect((await list(auditor)).data.some(({ name }: { name: string }) => name === 'Mine')).toBe(true)
  })

  it('has a unique name, also under concurrent requests', async () => {
    const someone = await signedIn(test, 'auditor')
    const reported = await Promise.all([save(someone, 'Twice'), save(someone, 'Twice'), save(someone, 'Twice')])
    expect(reported.map(({ status }) => status).sort()).toEqual([201, 409, 409])
  })

  it('is created once when the request is repeated', async () => {
    const someone = await signedIn(test, 'auditor')
    const headers = { 'Idempotency-Key': 'the same intent' }
    const ask = () => test.fetch('POST', path, { ...someone, headers, body: { name: 'Once', query: 'q=x' } })
    const [one, two] = [await ask(), await ask()]
    expect([one.status, two.status, two.json.data.id]).toEqual([201, 201, one.json.data.id])
    expect((await list(someone)).total).toBe(1)
  })

  it(`is limited to ${maxSearches} per account, also under concurrent requests`, async () => {
    const someone = await signedIn(test, 'auditor')
    await test.db.prisma.savedSearch.createMany({
      data: Array.from({ length: maxSearches - 1 }, (_, n) => ({
        id: `srch_${String(n).padStart(22, '0')}`,
        accountId: someone.accountId,
        name: `number ${n}`,
        query: 'q=x',
        createdAt: test.clock.now(),
      })),
    })
    const reported = await Promise.all([save(someone, 'last'), save(someone, 'one too many')])
    expect(reported.map(({ status }) => status).sort()).toEqual([201, 409])
    expect((await list(someone)).total).toBe(maxSearches)
  })

  it('belongs to its page: the same name may be used on another, which accepts only its own filters', async () => {
    const someone = await signedIn(test, 'admin')
    const saveOn = (page: string, query: string) =>
      test.fetch('POST', path, { ...someone, body: { page, name: 'Late ones', query } })
    expect((await saveOn('requests', 'due=overdue&assignee=none')).json.data).toMatchObject({
      page: 'requests',
      query: 'due=overdue&assignee=none',
    })
    expect((await saveOn('deletion-log', 'kind=owner&q=x')).status).toBe(201)
    expect((await saveOn('audit', 'action=delete')).status).toBe(201)
    expect((await saveOn('requests', 'due=week')).status).toBe(409)
    expect((await saveOn('requests', 'action=delete')).status).toBe(422)
    expect((await saveOn('users', 'role=admin')).status).toBe(422)
    const onPage = async (page: string) => (await test.fetch('GET', `${path}?page=${page}`, someone)).json.data
    expect((await onPage('requests')).map(({ query }: { query: string }) => query)).toEqual([
      'due=overdue&assignee=none',
    ])
    expect((await list(someone)).total).toBe(3)
  })

  it.each([
    ['no filter', ''],
    ['an unknown filter', 'action=delete&cursor=abc'],
    ['a repeated filter', 'q=a&q=b'],
    ['empty values', 'q=&action='],
    ['a NUL', 'q=a%00b'],
    ['too long a value', `q=${'x'.repeat(2_000)}`],
  ])('rejects a query with %s', async (_, query) => {
    const response = await save(auditor, 'Refused', query)
    expect([response.status, response.json.code, response.json.issues[0].path]).toEqual([422, 'invalid', ['query']])
  })

  it.each([[''], ['   '], ['a\u0000b'], ['two\nlines'], ['x'.repeat(81)], ['\ud800']])(
    'rejects the name %j',
    async (name) => {
      expect((await save(auditor, name)).status).toBe(422)
    },
  )
})

describe('access to saved searches', () => {
  it('is rejected without a session, for persons, managers and tokens', async () => {
    const token = (await issuedAgent(test, ['admin', 'read', 'write'])).token
    const cases = [
      [{}, 401],
      [await signedIn(test), 403],
      [await signedIn(test, 'manager'), 403],
      [{ token }, 403],
      [{ token: (await test.agent()).token }, 403],
    ] as const
    for (const [who, status] of cases) {
      expect((await test.fetch('GET', path, who)).status).toBe(status)
      expect((await save(who, 'No')).status).toBe(status)
      expect((await test.fetch('DELETE', `${path}/srch_${'0'.repeat(22)}`, who)).status).toBe(status)
    }
  })

  it('is rejected for a revoked session', async () => {
    const someone = await signedIn(test, 'auditor')
    await test.db.prisma.session.updateMany({
      where: { accountId: someone.accountId },
      data: { revokedAt: test.clock.now() },
    })
    expect((await save(someone, 'Late')).status).toBe(401)
  })
})

it('a saved search is counted, exported, and erased with its account', async () => {
  const someone = await signedIn(test, 'auditor')
  const { json } = await save(someone, 'To go', 'q=gone')
  const subject = { account: someone.accountId, agents: [] }
  const dataSource = test.app.dataSources.find(({ name }) => name === 'audit.searches')
  const exporter = test.app.personExporters.find(({ part }) => part === 'saved_searches')
  if (!dataSource || !exporter) throw new Error('nobody answers for saved searches')
  expect(await dataSource.inventory(subject, test.clock.now())).toMatchObject({ count: 1, since: test.clock.now() })
  const lines: string[] = []
  const reader = {
    basis: 'provided' as const,
    id: `user:${someone.accountId}`,
    agents: [],
    organisationId: someone.organisationId,
    isAdmin: false,
    seesPrivate: true,
    until: test.clock.now(),
  }
  for await (const page of exporter.pages(someone.accountId, reader)) lines.push(page.lines)
  expect(JSON.parse(lines.join(''))).toMatchObject({ name: 'To go', query: 'q=gone' })
  const planned = await test.db.transaction((tx) => dataSource.plan({ subject }, tx, test.clock.now()))
  expect(planned.items).toEqual([json.data.id])
  expect(await dataSource.residue({ subject }, planned.items, test.clock.now())).toBe(1)
  expect(await test.db.transaction((tx) => dataSource.erase({ subject }, planned.items, tx))).toBe(1)
  expect(await dataSource.residue({ subject }, planned.items, test.clock.now())).toBe(0)
})
