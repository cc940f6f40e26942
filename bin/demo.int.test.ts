import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type App, createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { verifyReceipt } from '#lib/domains/erasure/receipts/signing.ts'
import { dueNow } from '#lib/domains/privacy-requests/rules.ts'
import { tokenStateOf } from '#lib/domains/tokens/rules.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { materialIn } from './demo/material.ts'
import { buildDemo, type DemoStory, NotEmpty } from './demo/story.ts'

let database: TestDatabase
let app: App
let response: DemoStory
const dataDir = mkdtempSync(join(tmpdir(), 'kp-demo-'))
const secret = 'a secret of thirty-two characters'
const until = new Date()
const env = () => readEnv({ DATABASE_URL: database.appUrl, KP_DATA_DIR: dataDir, KP_SECRET: secret })
// An empty folder, as in a new checkout: the built-in material is used.
const material = materialIn(dataDir)

beforeAll(async () => {
  database = await testDatabase()
  response = await buildDemo({ env: env(), material, until })
  app = createApp({ env: env() })
}, 300_000)
afterAll(async () => {
  await app?.close()
  await database.drop()
  rmSync(dataDir, { recursive: true, force: true })
})

const counted = async (sql: string): Promise<Record<string, number>> =>
  Object.fromEntries((await app.db.query<{ key: string; n: number }>(undefined, sql)).map(({ key, n }) => [key, n]))

describe('the demo', () => {
  it('contains a person of every role in two organizations, all with the same password', async () => {
    const roles = await counted('SELECT role::text AS key, count(*)::int AS n FROM accounts GROUP BY 1')
    expect(Object.keys(roles).sort()).toEqual(['admin', 'auditor', 'manager', 'person'])
    expect(await app.db.prisma.organisation.count({ where: { accounts: { some: {} } } })).toBe(2)
    expect(response.accounts.length).toBe(await app.db.prisma.account.count())
    for (const { email } of response.accounts) expect(email).toMatch(/@example\.(org|com)$/)
    expect(await app.accounts.verifyPassword('ada@example.org', response.password)).toBeDefined()
  })

  it('contains requests of every kind and channel in every state that can last', async () => {
    const states = await counted('SELECT state AS key, count(*)::int AS n FROM privacy_requests GROUP BY 1')
    expect(Object.keys(states).sort()).toEqual(
      'cancelled completed failed partly_completed received rejected running verifying waiting'.split(' '),
    )
    const kinds = await counted(
      'SELECT unnest(kinds)::text AS key, count(*)::int AS n FROM privacy_requests GROUP BY 1',
    )
    expect(Object.keys(kinds).sort()).toEqual(
      'access erasure objection portability rectification restriction'.split(' '),
    )
    const channels = await counted('SELECT channel AS key, count(*)::int AS n FROM privacy_requests GROUP BY 1')
    expect(Object.keys(channels).sort()).toEqual(['api', 'console', 'mail', 'manager'])
  })

  it('has as many records in the inventory of each person as their deletion plans and legal holds retain', async () => {
    const people = await app.db.prisma.account.findMany({ include: { agents: { select: { id: true } } } })
    for (const { id, agents } of people) {
      const subject = { account: id, agents: agents.map((agent) => agent.id) }
      const holds = await app.db.prisma.legalHold.count({
        where: { releasedAt: null, targetId: { in: [id, ...subject.agents] } },
      })
      for (const source of app.dataSources) {
        const { count } = await source.inventory(subject, until)
        const { items, held } = await app.db.transaction((tx) => source.plan({ subject }, tx, until))
        const retained = Object.values(held).reduce((sum, one) => sum + one, 0)
        if (holds === 0) expect([source.name, items.length + retained]).toEqual([source.name, count])
      }
    }
  })

  it('has request deadlines of every status', async () => {
    const rows = await app.db.prisma.privacyRequest.findMany({ where: { closedAt: null } })
    expect(new Set(rows.map((row) => dueNow(row, until).tag))).toEqual(
      new Set(['ok', 'near', 'overdue', 'paused', 'stopped']),
    )
  })

  it('has tokens in every state, and the rejections that revoked one', async () => {
    const tokens = await app.db.prisma.token.findMany()
    expect(new Set(tokens.map((token) => tokenStateOf(token, until)))).toEqual(
      new Set(['active', 'rotated', 'expired', 'revoked']),
    )
    expect(new Set(tokens.map(({ revokedReason }) => revokedReason))).toEqual(
      new Set([null, 'owner', 'rate_limit', 'rotation']),
    )
    expect(await app.db.prisma.rateLimitRefusal.count()).toBe(3)
    const soon = new Date(until.getTime() + 7 * 86_400_000)
    expect(tokens.some(({ expiresAt }) => expiresAt && expiresAt > until && expiresAt < soon)).toBe(true)
  })

  it('has over 300 units of all types and visibilities, skills, votes, reports and units for review', async () => {
    const types = await counted("SELECT type || ' ' || visibility AS key, count(*)::int AS n FROM units GROUP BY 1")
    expect(Object.values(types).reduce((sum, n) => sum + n, 0)).toBeGreaterThanOrEqual(300)
    expect(new Set(Object.keys(types).flatMap((key) => key.split(' ')))).toEqual(
      new Set(['ReasoningTrace', 'ToolCallPattern', 'ExpertSOP', 'private', 'org', 'network']),
    )
    const rest =
      await counted(`SELECT 'skills' AS key, count(*)::int AS n FROM skills UNION SELECT 'votes', count(*)::int FROM unit_votes
      UNION SELECT 'reports', count(*)::int FROM unit_reports UNION SELECT 'quarantined', count(*)::int FROM units WHERE quarantined_at IS NOT NULL
      UNION SELECT 'rejections', count(*)::int FROM content_rejections`)
    for (const [what, n] of Object.entries(rest)) expect(n, what).toBeGreaterThan(0)
  })

  it('has erasures with valid receipts, and active, released and expired legal holds', async () => {
    const keys = await app.signer.keys()
    const receipts = await app.db.prisma.erasure.findMany({ where: { state: 'signed' } })
    expect(receipts.length).toBeGreaterThanOrEqual(6)
    for (const { receipt } of receipts)
      expect(await verifyReceipt(Object(receipt), keys)).toEqual({ kid: expect.any(String) })
    const holds =
      await counted(`SELECT CASE WHEN released_at IS NOT NULL THEN 'released' WHEN expires_at < now() THEN 'ended' ELSE 'active' END AS key,
      count(*)::int AS n FROM legal_holds GROUP BY 1`)
    expect(Object.keys(holds).sort()).toEqual(['active', 'ended', 'released'])
  })

  it('has sixty days of audit entries, sweeps with deletions, and emails of the last week', async () => {
    const days = await app.db.query<{ n: number }>(
      undefined,
      'SELECT count(DISTINCT at::date)::int AS n FROM audit_entries',
    )
    expect(days[0]?.n).toBeGreaterThanOrEqual(58)
    const swept = await app.db.query<{ n: number; taken: number }>(
      undefined,
      "SELECT count(*)::int AS n, sum((deleted->>'private')::int)::int AS taken FROM retention_sweeps",
    )
    expect(swept[0]?.n).toBeGreaterThanOrEqual(50)
    expect(swept[0]?.taken).toBeGreaterThan(0)
    const emails = readdirSync(join(dataDir, 'mail')).sort()
    expect(emails.length).toBeGreaterThan(10)
    const weekAgo = new Date(until.getTime() - 8 * 86_400_000).toISOString()
    expect(emails.filter((name) => name.slice(0, 10) < weekAgo.slice(0, 10))).toEqual([])
  })

  it('leaves jobs for the next worker, all with a known name', async () => {
    const waiting = await counted(
      'SELECT task_identifier AS key, count(*)::int AS n FROM graphile_worker.jobs WHERE attempts < max_attempts GROUP BY 1',
    )
    expect(Object.keys(waiting)).toContain('erasure.verify')
    for (const name of Object.keys(waiting)) expect(app.jobs.map((job) => job.name)).toContain(name)
  })

  it('rejects an installation in use and changes nothing', async () => {
    const before = await app.db.prisma.account.count()
    await expect(buildDemo({ env: env(), material, until })).rejects.toThrow(NotEmpty)
    expect(await app.db.prisma.account.count()).toBe(before)
  })

  it('prints the rejection as one line on the command line', () => {
    const asked = spawnSync(process.execPath, [join(import.meta.dirname, 'demo.ts')], {
      encoding: 'utf8',
      env: {
        ...process.env,
        NODE_ENV: 'production',
        KP_DATA_DIR: dataDir,
        KP_SECRET: secret,
        DATABASE_URL: database.ownerUrl,
      },
    })
    expect(asked.status).toBe(1)
    expect(asked.stderr).toMatch(/^(This installation is in use|Other programs are connected)/)
    expect(asked.stderr).toContain('Nothing was changed.')
    expect(asked.stderr.trim().split('\n')).toHaveLength(1)
  })
})
