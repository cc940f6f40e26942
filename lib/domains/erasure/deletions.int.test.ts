import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { recordDeletion } from './writes.ts'

let test: TestApp
let auditor: Person
let admin: Person
let unitId: string
let author: Awaited<ReturnType<typeof issuedAgent>>
beforeAll(async () => {
  test = await testApp()
  auditor = await signedIn(test, 'auditor')
  admin = await signedIn(test, 'admin')
  const owner = await signedIn(test)
  author = await issuedAgent(test, ['read', 'write'], { owner })
  const stored = await test.fetch('POST', '/v1/knowledge', { token: author.token, body: trace() })
  unitId = stored.json.id ?? stored.json.data.id
  const erased = await test.fetch('DELETE', `/v1/knowledge/${encodeURIComponent(unitId)}`, { token: author.token })
  expect(erased.status).toBeLessThan(300)
  await test.db.transaction(async (tx) => {
    const now = test.clock.now()
    const common = { requestedBy: 'system:exports.upkeep', reason: 'retention', now }
    for (let n = 0; n < 3; n++)
      await recordDeletion(tx, {
        ...common,
        scope: { subject: 'prepared exports that expired' },
        results: { exportsDeleted: n + 1, nothing: 0 },
        now: new Date(now.getTime() - n * 86_400_000 * 365 * 2),
      })
    await recordDeletion(tx, {
      requestedBy: `user:${owner.accountId}`,
      reason: 'user_request',
      scope: { 'saved-search': '=search,"1"' },
      results: { savedSearchesDeleted: 1 },
      now,
    })
  })
})
afterAll(() => test?.close())

const path = '/api/admin/deletions'
const list = async (query = '', cookie = auditor.cookie) =>
  (await test.fetch('GET', `${path}${query}`, { cookie })).json

describe('GET /api/admin/deletions', () => {
  it('returns every deletion of seven years with its kind, its receipt and who asked for it', async () => {
    const { data, total } = await list('?limit=100')
    expect(total).toBe(data.length)
    const [unit] = data.filter(({ scope }: { scope: Record<string, string> }) => scope.unit === unitId)
    expect(unit).toMatchObject({ kind: 'record', reason: 'user_request', requested_by: author.id })
    expect(unit.receipt_id).toMatch(/^rcpt_/)
    expect(Object.values(unit.results)).not.toContain(0)
    expect((await test.fetch('GET', `/v1/receipts/${unit.receipt_id}`)).status).toBe(200)
    const automatic = data.filter(({ kind }: { kind: string }) => kind === 'automatic')
    expect(automatic.map(({ results }: { results: object }) => results)).toEqual(
      [1, 2, 3].map((n) => ({ exportsDeleted: n })),
    )
    expect(data.filter(({ kind }: { kind: string }) => kind === 'owner')).toMatchObject([
      { receipt_id: null, requested_by_name: 'Somebody' },
    ])
    expect(await list('?limit=100', admin.cookie)).toEqual(await list('?limit=100'))
  })

  it('filters by kind, period and id, and pages through all without repetition', async () => {
    expect((await list('?kind=record')).data).toHaveLength(1)
    expect((await list(`?q=${encodeURIComponent(unitId.slice(-12).toUpperCase())}`)).data).toHaveLength(1)
    expect((await list(`?to=${new Date(test.clock.now().getTime() - 86_400_000).toISOString()}`)).data).toHaveLength(2)
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const { data, next_cursor } = await list(`?limit=2${cursor}`)
      ids.push(...data.map(({ audit_id }: { audit_id: string }) => audit_id))
      if (next_cursor === null) break
      cursor = `&cursor=${next_cursor}`
    }
    expect(new Set(ids).size).toBe(ids.length)
    expect(ids).toHaveLength((await list()).total)
  })

  it('returns 403 to people, to managers of the same and of another organization, and to tokens of agents', async () => {
    const cookies = await Promise.all([
      signedIn(test, 'person', auditor.organisationId),
      signedIn(test, 'manager', auditor.organisationId),
      signedIn(test, 'manager'),
    ])
    for (const address of [path, `${path}/export`]) {
      for (const { cookie } of cookies) expect((await test.fetch('GET', address, { cookie })).status).toBe(403)
      expect((await test.fetch('GET', address, { token: author.token })).status).toBe(403)
      expect((await test.fetch('GET', address)).status).toBe(401)
    }
  })
})

describe('GET /api/admin/deletions/export', () => {
  it('returns the same deletions as CSV and JSON Lines, without formulas, and is audited', async () => {
    const { cookie } = auditor
    const csv = await test.fetch('GET', `${path}/export`, { cookie })
    const lines = csv.text.trim().split('\r\n')
    const { total, data } = await list('?limit=100')
    expect(lines).toHaveLength(total + 1)
    expect(csv.text).toContain('""=search,')
    // Spreadsheets read a file without this mark in the encoding of the system.
    const raw = await fetch(`${test.url}${path}/export`, { headers: { Cookie: cookie } })
    expect([...Buffer.from(await raw.arrayBuffer()).subarray(0, 3)]).toEqual([0xef, 0xbb, 0xbf])
    const jsonl = await test.fetch('GET', `${path}/export?format=jsonl&kind=automatic`, { cookie })
    const rows = jsonl.text
      .trim()
      .split('\n')
      .map((line: string) => JSON.parse(line))
    expect(rows).toHaveLength(3)
    const { requested_by_name: _, ...first } = data.find(({ kind }: { kind: string }) => kind === 'automatic')
    expect(rows[0]).toEqual(first)
    expect(await test.db.prisma.auditEntry.count({ where: { resourceType: 'deletion_log', action: 'export' } })).toBe(3)
  })
})
