import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { pdfAttachments } from '#bin/kp/receipt-check.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { trace } from '#lib/testing/units.ts'
import { lastCompleteMonth, monthBeside, monthPeriod } from './rules.ts'

let setting: PrivacyTest
let person: Person
let auditor: Person
let agent: Issued
beforeAll(async () => {
  setting = await privacyTest()
  person = await signedIn(setting.test)
  auditor = await signedIn(setting.test, 'auditor')
  agent = await issuedAgent(setting.test, ['read', 'write'], { tier: 'enterprise', owner: person })
})
afterAll(() => setting?.close())

const get = (path: string, cookie: string) => setting.test.fetch('GET', path, { cookie })
const thisMonth = () => setting.test.clock.now().toISOString().slice(0, 7)

describe('GET /api/admin/report', () => {
  it('counts requests by kind, deletions, receipts and holds of the month, for auditors too', async () => {
    const month = thisMonth()
    const before = (await get(`/api/admin/report?month=${month}`, auditor.cookie)).json.data
    const stored = await setting.test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const { id } = stored.json.data
    expect((await setting.test.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })).status).toBe(204)
    await setting.test.fetch('POST', '/v1/holds', {
      cookie: setting.admin.cookie,
      body: { kind: 'account', target_id: person.accountId, reason: 'A lawsuit' },
    })
    await setting.test.db.prisma.privacyRequest.createMany({
      data: [
        { id: `preq_${'1'.repeat(22)}`, days: 40, isOnTime: true, state: 'completed' as const },
        { id: `preq_${'2'.repeat(22)}`, days: 1, isOnTime: false, state: 'rejected' as const },
        { id: `preq_${'3'.repeat(22)}`, days: 1, isOnTime: true, state: 'cancelled' as const },
      ].map(({ id, days, isOnTime, state }) => {
        const now = setting.test.clock.now()
        const receivedAt = new Date(now.getTime() - days * 86_400_000)
        return {
          id,
          kinds: ['access'],
          channel: 'console',
          state,
          subjectKind: 'person',
          subjectKey: 'k',
          receivedAt,
          legalDueAt: new Date(now.getTime() + (isOnTime ? 1 : -1)),
          closedAt: now,
        }
      }),
    })
    setting.test.clock.advance(1_000)
    const { data } = (await get(`/api/admin/report?month=${month}`, auditor.cookie)).json
    const grown = (numbers: (report: typeof data) => number) => numbers(data) - numbers(before)
    expect(grown((report) => report.requests.answered)).toBe(2)
    expect(grown((report) => report.requests.on_time)).toBe(1)
    expect(grown((report) => report.requests.refused)).toBe(1)
    expect(grown((report) => report.requests.closed)).toBe(3)
    const deleted = (report: typeof data) =>
      report.deletions.reduce((sum: number, { count }: { count: number }) => sum + count, 0)
    expect(grown(deleted)).toBe(1)
    expect(grown((report) => report.verified.receipts)).toBe(1)
    expect(grown((report) => report.holds.set)).toBe(1)
    expect(grown((report) => report.holds.in_force)).toBe(1)
    expect(data.requests.kinds.map(({ kind }: { kind: string }) => kind)).toHaveLength(6)
  })

  it('returns 403 to people without the role and 422 for a month that has not begun', async () => {
    expect((await get('/api/admin/report', person.cookie)).status).toBe(403)
    expect((await get('/api/admin/report?month=2099-01', setting.admin.cookie)).status).toBe(422)
    expect((await get('/api/admin/report', setting.admin.cookie)).json.data.month).toBe(
      lastCompleteMonth(setting.test.clock.now()),
    )
  })

  it('exports the same numbers as CSV and PDF', async () => {
    const month = thisMonth()
    const at = (format: string) => `/api/admin/report/export?month=${month}&format=${format}`
    const csv = await get(at('csv'), auditor.cookie)
    expect(csv.headers.get('content-disposition')).toContain(`data-protection-${month}.csv`)
    expect(csv.text).toMatch(/Legal holds,Set,\d+\r\n/)
    const pdf = await get(at('pdf'), auditor.cookie)
    expect(pdf.headers.get('content-type')).toBe('application/pdf')
    expect(pdf.text.startsWith('%PDF-1.7')).toBe(true)
    expect(pdfAttachments(Buffer.from(pdf.text, 'latin1'))).toEqual([])
  })
})

describe('monthPeriod', () => {
  const now = new Date('2026-01-15T12:00:00Z')
  it('ends with the month, or now', () => {
    expect(monthPeriod('2025-12', now)).toEqual({
      from: new Date('2025-12-01T00:00:00Z'),
      until: new Date('2026-01-01T00:00:00Z'),
    })
    expect(monthPeriod('2026-01', now)?.until).toEqual(now)
    expect(monthPeriod('2026-02', now)).toBeUndefined()
    expect([lastCompleteMonth(now), monthBeside('2025-12', 1), monthBeside('2026-01', -1)]).toEqual([
      '2025-12',
      '2026-01',
      '2025-12',
    ])
  })
})
