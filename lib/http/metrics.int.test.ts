import { request } from 'node:http'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Clocks, dueNow, legalDueAt, type State, states } from '#lib/domains/privacy-requests/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app.close())

const ask = (headers: Record<string, string> = {}, token?: string) => app.fetch('GET', '/metrics', { headers, token })
/** The value of a line, by its name and labels. */
function numberOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test('they are for an admin’s token, and for the machine itself past no proxy', async () => {
  const forwarded = { 'X-Forwarded-For': '203.0.113.9' }
  const local = await ask()
  expect([local.status, local.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')])
  expect((await ask(forwarded)).status).toBe(401)
  expect((await ask({ Forwarded: 'for=203.0.113.9' })).status).toBe(401)
  expect((await ask({}, 'kp_nonsense')).status).toBe(401)
  const small = await issuedAgent(app, ['read', 'write'])
  expect((await ask({}, small.token)).status).toBe(403)
  const admin = await issuedAgent(app, ['admin'])
  expect((await ask(forwarded, admin.token)).status).toBe(200)
  const [person, auditor] = [await signedIn(app), await signedIn(app, 'auditor')]
  expect((await app.fetch('GET', '/metrics', { cookie: person.cookie })).status).toBe(403)
  expect((await app.fetch('GET', '/metrics', { cookie: auditor.cookie })).status).toBe(200)
})

test('a page whose own name resolves to this machine is told nothing, and nothing else is open to the machine', async () => {
  const { port } = new URL(app.url)
  const status = await new Promise((told, failed) => {
    request({ host: '127.0.0.1', port, path: '/metrics', headers: { Host: `attack.example.org:${port}` } }, (answer) =>
      told(answer.resume().statusCode),
    )
      .once('error', failed)
      .end()
  })
  expect(status).toBe(401)
  expect((await app.fetch('GET', '/v1/audit')).status).toBe(401)
})

test('requests are counted by state, and by their clocks as the rules have them', async () => {
  const now = app.clock.now()
  const hours = (count: number) => new Date(now.getTime() + count * 3_600_000)
  const rows: Clocks[] = []
  const when = [-100, -1, 1, 17, 19, 24 * 6, 24 * 9, 24 * 40]
  for (const state of states)
    for (const [index, due] of when.entries())
      for (const pausedAt of [null, hours(-2)]) {
        const receivedAt = hours((when[(index * 3) % when.length] ?? 0) - 24 * 31)
        const dueAt = index % 3 === 0 ? null : hours(due)
        rows.push({
          state: state as State,
          receivedAt,
          legalDueAt: legalDueAt(receivedAt),
          dueAt,
          pausedAt,
          extendedAt: null,
        })
      }
  await app.db.prisma.privacyRequest.createMany({
    data: rows.map((row) => ({
      ...row,
      id: newId('preq'),
      kinds: ['access'],
      channel: 'console',
      subjectKind: 'person',
      subjectKey: newId('subject'),
      closedAt: ['completed', 'cancelled', 'rejected'].includes(row.state) ? now : null,
    })),
  })
  const tags = rows.map((row) => dueNow(row, now).tag)
  const { text } = await ask()
  for (const state of states)
    expect(numberOf(text, `kp_privacy_requests{state="${state}"}`), state).toBe(when.length * 2)
  expect(numberOf(text, 'kp_privacy_requests_overdue')).toBe(tags.filter((tag) => tag === 'overdue').length)
  expect(numberOf(text, 'kp_privacy_requests_near')).toBe(tags.filter((tag) => tag === 'near').length)
  expect(new Set(tags)).toEqual(new Set(['ok', 'near', 'overdue', 'paused', 'stopped']))
})

test('erasures: where they stand, what is stuck, and how long those of the last day took', async () => {
  const none = (await ask()).text
  expect(numberOf(none, 'kp_erasure_steps_stuck')).toBe(0)
  expect(numberOf(none, 'kp_erasure_seconds_count')).toBe(0)
  expect(numberOf(none, 'kp_erasure_seconds{quantile="0.5"}')).toBeUndefined()
  const now = app.clock.now()
  const ago = (seconds: number) => new Date(now.getTime() - seconds * 1000)
  const day = 86_400
  const run = (state: 'done' | 'erasing' | 'failed', createdAt: Date, finishedAt: Date | null) =>
    app.db.prisma.erasureRun.create({
      data: {
        ...{
          id: newId('run'),
          receiptId: newId('rcpt'),
          agents: [],
          requestedBy: 'system:test',
          reason: 'gdpr_erasure',
        },
        ...{ state, createdAt, finishedAt },
      },
    })
  await run('done', ago(130), ago(100))
  await run('done', ago(200), ago(190))
  await run('done', ago(2 * day), ago(day + 60)) // ended before the last day
  await run('done', ago(90 * day), ago(60)) // a hold kept it open
  await run('failed', ago(500), ago(400))
  const open = await run('erasing', ago(10), null)
  for (const [position, state] of (['stuck', 'stuck', 'running', 'waiting', 'done'] as const).entries())
    await app.db.prisma.erasureStep.create({
      data: { runId: open.id, holder: `of.${position}`, store: 'postgresql', position, state },
    })
  const { text } = await ask()
  expect(numberOf(text, 'kp_erasures{state="done"}')).toBe(4)
  expect(numberOf(text, 'kp_erasures{state="erasing"}')).toBe(1)
  expect(numberOf(text, 'kp_erasures{state="held"}')).toBe(0)
  expect(numberOf(text, 'kp_erasure_steps_stuck')).toBe(2)
  expect(numberOf(text, 'kp_erasure_steps{state="running"}')).toBe(1)
  expect(numberOf(text, 'kp_erasure_seconds_count')).toBe(2)
  expect(numberOf(text, 'kp_erasure_seconds_sum')).toBe(40)
  expect(numberOf(text, 'kp_erasure_seconds{quantile="0.5"}')).toBe(20)
  expect(numberOf(text, 'kp_erasure_seconds{quantile="1"}')).toBe(30)
})

test('retention: the last whole sweep and what those of the last day did; limits: whether they are shared', async () => {
  const now = app.clock.now()
  const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)
  const sweep = (hours: number, more: object) =>
    app.db.prisma.retentionSweep.create({
      data: {
        ...{ id: newId('sweep'), trigger: 'cron', requestedBy: 'system:retention', policy: {}, startedAt: ago(hours) },
        finishedAt: ago(hours - 0.5),
        ...more,
      },
    })
  await sweep(30, { deleted: { private: 100 }, held: 9 })
  await sweep(3, { deleted: { private: 5, org: 2 }, held: 3 })
  await sweep(1, { deleted: { private: 1 }, held: 4, interrupted: true })
  const { text } = await ask()
  expect(numberOf(text, 'kp_retention_last_sweep_timestamp_seconds')).toBe(ago(2.5).getTime() / 1000)
  expect(numberOf(text, 'kp_retention_sweeps')).toBe(2)
  expect(numberOf(text, 'kp_retention_sweeps_interrupted')).toBe(1)
  expect(numberOf(text, 'kp_retention_deleted')).toBe(8)
  expect(numberOf(text, 'kp_retention_held')).toBe(4)
  expect(numberOf(text, 'kp_limits_degraded')).toBe(0)
  for (const source of ['privacy_requests', 'erasures', 'retention', 'limits'])
    expect(numberOf(text, `kp_measured{of="${source}"}`)).toBe(1)
  expect(text).not.toMatch(/usr_|@|preq_|203\.0\.113/)
})
