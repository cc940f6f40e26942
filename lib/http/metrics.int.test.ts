import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { parse } from 'yaml'
import { z } from 'zod'
import { type Clocks, dueNow, legalDueAt, type RequestState, states } from '#lib/domains/privacy-requests/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { listenedAt, metricsListener } from './api-server.ts'

const monitoring = 'prometheus-0123456789abcdef'
let app: TestApp
beforeAll(async () => {
  app = await testApp({ KP_METRICS_TOKEN: monitoring })
})
afterAll(() => app.close())

const ask = () => app.fetch('GET', '/metrics', { headers: { Authorization: `Bearer ${monitoring}` } })
/** The value of a line, by its name and labels. */
function numberOf(text: string, name: string): number | undefined {
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return line === undefined ? undefined : Number(line.slice(name.length + 1))
}

test('GET /metrics accepts admins, auditors and the token of KP_METRICS_TOKEN, and nobody by address or request headers', async () => {
  const plain = (headers: Record<string, string>) => app.fetch('GET', '/metrics', { headers })
  // A proxy on the same machine sends requests from 127.0.0.1, possibly with the host localhost.
  expect((await plain({})).status).toBe(401)
  expect((await plain({ 'X-Forwarded-For': '127.0.0.1' })).status).toBe(401)
  const open = await plain({ Authorization: `Bearer ${monitoring}` })
  expect([open.status, open.headers.get('content-type')]).toEqual([200, expect.stringContaining('text/plain')])
  for (const wrong of [
    `Bearer ${monitoring}x`,
    `Bearer ${monitoring.slice(1)}`,
    `Basic ${monitoring}`,
    'Bearer kp_nonsense',
  ])
    expect((await plain({ Authorization: wrong })).status, wrong).toBe(401)
  // The token gives access to nothing else.
  const path = (at: string) => app.fetch('GET', at, { headers: { Authorization: `Bearer ${monitoring}` } })
  for (const at of ['/v1/audit', '/v1/auth/me', '/api/admin/agents']) expect((await path(at)).status, at).toBe(401)
  const small = await issuedAgent(app, ['read', 'write'])
  expect((await app.fetch('GET', '/metrics', small)).status).toBe(403)
  const revoked = await issuedAgent(app, ['admin'])
  expect((await app.fetch('GET', '/metrics', revoked)).status).toBe(200)
  await app.db.prisma.token.update({ where: { id: revoked.tokenId }, data: { revokedAt: app.clock.now() } })
  expect((await app.fetch('GET', '/metrics', revoked)).status).toBe(401)
  const [person, auditor] = [await signedIn(app), await signedIn(app, 'auditor')]
  expect((await app.fetch('GET', '/metrics', person)).status).toBe(403)
  expect((await app.fetch('GET', '/metrics', auditor)).status).toBe(200)
})

test('the listener of KP_METRICS_LISTEN serves GET /metrics and nothing else', async () => {
  const server = metricsListener(app.app)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const at = server.address()
  const url = `http://127.0.0.1:${typeof at === 'object' ? at?.port : 0}`
  const metrics = await fetch(`${url}/metrics`)
  expect([metrics.status, (await metrics.text()).includes('kp_')]).toEqual([200, true])
  for (const path of ['/v1/audit', '/health', '/ready', '/metrics/', '/'])
    expect((await fetch(url + path)).status).toBe(404)
  expect((await fetch(`${url}/metrics`, { method: 'POST' })).status).toBe(404)
  expect(listenedAt('[::1]:9464')).toEqual({ host: '::1', port: 9464 })
})

test('many requests of one address to /ready and pages return 429, and requests of other addresses do not', async () => {
  const flood = await testApp({ KP_TRUSTED_PROXIES: '127.0.0.1' }, undefined, {
    pages: () => async (_request, response) => {
      response.writeHead(200).end('a page')
    },
  })
  onTestFinished(() => flood.close())
  const statuses = async (path: string, count: number, address: (n: number) => string) => {
    const found = new Map<number, number>()
    for (let n = 0; n < count; n += 50) {
      const responses = await Promise.all(
        Array.from({ length: 50 }, (_, m) =>
          flood.fetch('GET', path, { headers: { 'X-Forwarded-For': address(n + m) } }),
        ),
      )
      for (const { status } of responses) found.set(status, (found.get(status) ?? 0) + 1)
    }
    return Object.fromEntries(found)
  }
  expect(await statuses('/ready', 350, () => '203.0.113.7')).toEqual({ 200: 300, 429: 50 })
  expect(await statuses('/ready', 50, () => '203.0.113.8')).toEqual({ 200: 50 })
  expect(await statuses('/overview', 3_050, () => '203.0.113.7')).toEqual({ 200: 3_000, 429: 50 })
  const refused = await flood.fetch('GET', '/overview', { headers: { 'X-Forwarded-For': '203.0.113.7' } })
  expect([refused.json.code, Number(refused.headers.get('retry-after')) > 0]).toEqual(['rate_limited', true])
  expect(
    (await flood.fetch('GET', '/_next/static/a.js', { headers: { 'X-Forwarded-For': '203.0.113.7' } })).status,
  ).toBe(200)
})

test('anonymous IPv6 requests count in their /64, and in their /48 with 16 times the limit', async () => {
  const own = await testApp({ KP_TRUSTED_PROXIES: '127.0.0.1' })
  onTestFinished(() => own.close())
  await own.db.prisma.setting.create({
    data: { name: 'anonymous_reading', value: true, updatedAt: own.clock.now(), updatedBy: 'test' },
  })
  const ask = (address: string) =>
    own.fetch('GET', '/v1/knowledge?limit=1', { headers: { 'X-Forwarded-For': address } })
  const many = async (count: number, address: (n: number) => string) => {
    const responses = await Promise.all(Array.from({ length: count }, (_, n) => ask(address(n))))
    return responses.filter(({ status }) => status === 429).length
  }
  expect(await many(61, () => '2001:db8:1:1::5')).toBe(1)
  // Each from a different subnet: 60 × 16 in total, of which 61 are used.
  expect(await many(909, (n) => `2001:db8:1:${(n + 2).toString(16)}::1`)).toBe(10)
  expect(await many(1, () => '2001:db8:2:1::5')).toBe(0)
})

test('GET /metrics returns requests by state and by deadline', async () => {
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
          state: state as RequestState,
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

test('GET /metrics returns erasures by state, stuck erasures, and the duration of erasures of the last day', async () => {
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
        id: newId('run'),
        receiptId: newId('rcpt'),
        agents: [],
        requestedBy: 'system:test',
        reason: 'gdpr_erasure',
        state,
        createdAt,
        finishedAt,
      },
    })
  await run('done', ago(130), ago(100))
  await run('done', ago(200), ago(190))
  await run('done', ago(2 * day), ago(day + 60)) // ended before the last day
  await run('done', ago(90 * day), ago(60)) // delayed by a hold
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

test('GET /metrics returns the last complete retention sweep, the sweeps of the day, and whether limits are shared', async () => {
  const now = app.clock.now()
  const ago = (hours: number) => new Date(now.getTime() - hours * 3_600_000)
  const sweep = (hours: number, more: object) =>
    app.db.prisma.retentionSweep.create({
      data: {
        id: newId('sweep'),
        trigger: 'cron',
        requestedBy: 'system:retention',
        policy: {},
        startedAt: ago(hours),
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

test('the alert rules and the dashboard use only metrics that exist', async () => {
  const admin = await issuedAgent(app, ['admin'])
  const text = (await app.fetch('GET', '/metrics', admin)).text
  const known = new Set(
    [...text.matchAll(/^# TYPE (\w+) (\w+)/gm)].flatMap(([, name, type]) =>
      type === 'histogram' ? [name, `${name}_bucket`] : [name],
    ),
  )
  const folder = join(import.meta.dirname, '../../deploy/monitoring')
  const rules = z
    .object({ groups: z.array(z.object({ rules: z.array(z.object({ alert: z.string(), expr: z.string() })) })) })
    .parse(parse(readFileSync(join(folder, 'alerts.yml'), 'utf8')))
  const dashboard = z
    .object({ panels: z.array(z.object({ targets: z.array(z.object({ expr: z.string() })) })) })
    .parse(JSON.parse(readFileSync(join(folder, 'dashboard.json'), 'utf8')))
  const expressions = [
    ...rules.groups.flatMap((group) => group.rules.map(({ expr }) => expr)),
    ...dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr)),
  ]
  const used = new Set(expressions.flatMap((expr) => [...expr.matchAll(/\bkp_\w+/g)].map(([name]) => name)))
  expect(used.size).toBeGreaterThan(12)
  expect([...used].filter((name) => !known.has(name))).toEqual([])
})
