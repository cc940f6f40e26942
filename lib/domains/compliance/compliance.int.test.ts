import { chmodSync, mkdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type DatabaseQuery, type EvidenceCheck, type EvidenceProblem, evidenceLines } from '#lib/kernel/evidence.ts'
import { newId, newUuid } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { europeanAgent, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import type { CheckView, LineView } from './contract.ts'
import { complianceService, coverageChecks, installationChecks } from './service.ts'

let test: TestApp
let auditor: Person
let owner: pg.Client
beforeAll(async () => {
  test = await testApp()
  auditor = await signedIn(test, 'auditor')
  owner = new pg.Client({ connectionString: test.ownerUrl })
  await owner.connect()
})
afterAll(async () => {
  await owner.end()
  await test.close()
})

const day = 86_400_000
const ago = (milliseconds: number) => new Date(test.clock.now().getTime() - milliseconds)
const lines = async (): Promise<LineView[]> => {
  const { status, json, text } = await test.fetch('GET', '/api/admin/compliance', auditor)
  if (status !== 200) throw new Error(text)
  return json.data.lines
}
async function asked(name: string): Promise<CheckView> {
  const found = (await lines()).flatMap(({ checks }) => checks).find((check) => check.name === name)
  if (!found) throw new Error(`there is no check "${name}"`)
  return found
}

it('a check that looked at nothing is not applicable on an unused installation, and holds on a used one', async () => {
  const states = async () => [(await asked('knowledge.warnings')).state, (await asked('audit.append-only')).state]
  expect(await states()).toEqual(['not_applicable', 'holds'])
  await unit()
  expect(await states()).toEqual(['holds', 'holds'])
})

it('readCompliance returns every line in order and no failure for an installation without faults', async () => {
  const all = await lines()
  expect(all.map(({ line }) => line)).toEqual([...evidenceLines])
  for (const { line, checks } of all) expect([line, checks.length > 0]).toEqual([line, true])
  const bad = all.flatMap(({ checks }) => checks).filter(({ state }) => state === 'fails' || state === 'unknown')
  expect(bad).toEqual([])
  const names = all.flatMap(({ checks }) => checks.map(({ name }) => name))
  expect(new Set(names).size).toBe(names.length)
})

it('readCompliance is limited to admins and auditors, and audited', async () => {
  const cases = [
    [{}, 401],
    [await signedIn(test), 403],
    [await signedIn(test, 'manager'), 403],
    [{ token: (await test.agent()).token }, 403],
    [await signedIn(test, 'admin'), 200],
    [{ token: (await issuedAgent(test, ['admin'])).token }, 200],
  ] as const
  for (const [who, status] of cases) expect((await test.fetch('GET', '/api/admin/compliance', who)).status).toBe(status)
  const [entry] = await test.app.audit.query({ resource_type: 'compliance' }, test.clock.now())
  expect(entry).toMatchObject({ action: 'read', details: { operation: 'readCompliance', fails: 0 } })
})

const unit = async () => {
  const { id, token } = await test.agent()
  const { json } = await test.fetch('POST', '/v1/knowledge', { token, body: trace() })
  return { agentId: id, token, id: String(json.data.id) }
}
const request = async (data: object) => {
  const id = newId('preq')
  const { parts, ...row } = { parts: [], ...data } as { parts: object[] }
  await test.db.prisma.privacyRequest.create({
    data: {
      id,
      kinds: ['erasure'],
      channel: 'console',
      subjectKind: 'person',
      subjectKey: id,
      receivedAt: ago(day),
      legalDueAt: ago(-20 * day),
      ...row,
      parts: { create: parts as { kind: string }[] },
    },
  })
  return id
}
const forget = (id: string) => test.db.prisma.privacyRequest.delete({ where: { id } })

interface Planted {
  check: string
  state: CheckView['state']
  number?: string
  /** Plants the fault. Returns a function that repairs it. */
  plant(): Promise<() => Promise<unknown>>
}
const sql = (plant: string, mend: string) => async () => {
  await owner.query(plant)
  return () => owner.query(mend)
}
const agentWith = (change: string) => async () => {
  const { id } = await test.agent()
  await owner.query(`UPDATE agents SET ${change} WHERE id = $1`, [id])
  return () => owner.query('DELETE FROM agents WHERE id = $1', [id])
}
const requestWith = (data: () => object) => async () => {
  const id = await request(data())
  return () => forget(id)
}
const planted: Planted[] = [
  { check: 'agents.basis', state: 'fails', number: 'without', plant: agentWith("lawful_basis = 'because'") },
  { check: 'agents.basis', state: 'fails', number: 'unconsented', plant: agentWith('consent_at = NULL') },
  { check: 'agents.basis', state: 'fails', number: 'unrestricted', plant: agentWith('consent_withdrawn_at = now()') },
  {
    check: 'knowledge.warnings',
    state: 'attention',
    number: 'warned',
    async plant() {
      const { id } = await unit()
      await owner.query(
        `UPDATE units SET document = jsonb_set(document, '{task,objective}', '"User: tell me"') WHERE id = $1`,
        [id],
      )
      return () => owner.query('DELETE FROM units WHERE id = $1', [id])
    },
  },
  {
    check: 'tokens.refusals',
    state: 'fails',
    number: 'late',
    async plant() {
      const agent = await issuedAgent(test, ['read'])
      await owner.query(
        `INSERT INTO rate_limit_refusals (id, token_id, limit_key, at, request_class, "limit", consumed, ip) VALUES ('r', $1, $1, $2, 'read', 1, 2, '192.0.2.1')`,
        [agent.tokenId, ago(8 * day)],
      )
      return () => owner.query('DELETE FROM rate_limit_refusals')
    },
  },
  {
    check: 'requests.leftovers',
    state: 'fails',
    number: 'payloads',
    plant: requestWith(() => ({ state: 'completed', closedAt: ago(day), payload: { x: 1 } })),
  },
  {
    check: 'requests.leftovers',
    state: 'fails',
    number: 'contacts',
    plant: requestWith(() => ({ state: 'completed', closedAt: ago(9 * day), contact: new Uint8Array([1]) })),
  },
  {
    check: 'requests.access',
    state: 'fails',
    number: 'overdue',
    plant: requestWith(() => ({
      kinds: ['access'],
      state: 'running',
      dueAt: ago(1),
      parts: [{ kind: 'access', state: 'running' }],
    })),
  },
  {
    check: 'requests.portability',
    state: 'fails',
    number: 'overdue',
    plant: requestWith(() => ({
      kinds: ['portability'],
      state: 'verified',
      legalDueAt: ago(1),
      parts: [{ kind: 'portability' }],
    })),
  },
  {
    check: 'requests.erasure',
    state: 'fails',
    number: 'overdue',
    plant: requestWith(() => ({ state: 'running', dueAt: ago(1), parts: [{ kind: 'erasure', state: 'running' }] })),
  },
  {
    check: 'requests.erasure',
    state: 'attention',
    number: 'done',
    plant: requestWith(() => ({
      state: 'completed',
      verifiedAt: ago(10 * day),
      waitingUntil: ago(9 * day),
      closedAt: ago(day),
      parts: [{ kind: 'erasure', state: 'done', finishedAt: ago(day) }],
    })),
  },
  {
    check: 'requests.grace',
    state: 'fails',
    number: 'early',
    plant: requestWith(() => ({
      state: 'running',
      runId: newId('run'),
      waitingUntil: ago(-day),
      parts: [{ kind: 'erasure', state: 'running', startedAt: ago(day) }],
    })),
  },
  {
    check: 'exports.all',
    state: 'fails',
    number: 'late',
    async plant() {
      const person = await signedIn(test)
      await test.db.prisma.preparedExport.create({
        data: {
          id: newId('exp'),
          accountId: person.accountId,
          basis: 'all',
          state: 'ready',
          createdAt: ago(day),
          readyAt: ago(day),
          expiresAt: ago(day / 2),
        },
      })
      return () => test.db.prisma.preparedExport.deleteMany()
    },
  },
  {
    check: 'exports.provided',
    state: 'attention',
    number: 'failed',
    async plant() {
      const person = await signedIn(test)
      await test.db.prisma.preparedExport.create({
        data: {
          id: newId('exp'),
          accountId: person.accountId,
          basis: 'provided',
          state: 'failed',
          fault: 'internal',
          createdAt: ago(day / 2),
        },
      })
      return () => test.db.prisma.preparedExport.deleteMany()
    },
  },
  {
    check: 'retention.expired',
    state: 'fails',
    number: 'expired',
    async plant() {
      const { id } = await unit()
      await owner.query("UPDATE units SET visibility = 'private', created_at = $2 WHERE id = $1", [id, ago(400 * day)])
      return () => owner.query('DELETE FROM units WHERE id = $1', [id])
    },
  },
  {
    check: 'retention.sweep',
    state: 'fails',
    async plant() {
      await owner.query(
        `INSERT INTO retention_sweeps (id, trigger, requested_by, policy, started_at, finished_at) VALUES ('swp_old', 'cron', 'system:x', '{}', $1, $1)`,
        [ago(2 * day)],
      )
      return () => owner.query('DELETE FROM retention_sweeps')
    },
  },
  {
    check: 'llm-log.overdue',
    state: 'fails',
    number: 'minutes',
    async plant() {
      const { id } = await test.agent()
      await test.db.prisma.llmLogEntry.create({
        data: {
          id: newId('llm'),
          agentId: id,
          sealed: new Uint8Array(1),
          createdAt: ago(2 * day),
          expiresAt: ago(day),
        },
      })
      return () => test.db.prisma.llmLogEntry.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'agents.documents',
    state: 'fails',
    number: 'minutes',
    async plant() {
      const { id } = await test.agent()
      const at = ago(3 * day)
      const document = {
        id: newId('adoc'),
        agentId: id,
        kind: 'strategy_thesis' as const,
        title: 'A thesis',
        body: '# A thesis\n',
      }
      await test.db.prisma.agentDocument.create({ data: { ...document, createdAt: at, updatedAt: at } })
      await owner.query('UPDATE agents SET document_days = 1 WHERE id = $1', [id])
      return () => test.db.prisma.agentDocument.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'agents.heartbeats',
    state: 'fails',
    number: 'minutes',
    async plant() {
      const { id } = await test.agent()
      await test.db.prisma.heartbeat.create({ data: { agentId: id, at: ago(2 * day), state: 'idle' } })
      await owner.query("UPDATE agents SET status = 'dead', died_at = $2 WHERE id = $1", [id, ago(2 * day)])
      return () => test.db.prisma.heartbeat.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'grimoire.ended',
    state: 'fails',
    number: 'standing',
    async plant() {
      const { id } = await test.agent()
      const times = { createdAt: ago(2 * day), updatedAt: ago(2 * day) }
      const entry = { id: newId('ent'), agentId: id, kind: 'insight', scope: 'clade', ...times } as const
      await test.db.prisma.grimoireEntry.create({ data: { ...entry, sealed: new Uint8Array(1) } })
      await owner.query('UPDATE agents SET grimoire_days = 1 WHERE id = $1', [id])
      return () => test.db.prisma.grimoireEntry.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'clades.unfetched',
    state: 'fails',
    number: 'minutes',
    async plant() {
      const { id } = await test.agent()
      const times = { createdAt: ago(8 * day), expiresAt: ago(day) }
      await test.db.prisma.cladeDelta.create({ data: { shareId: newId('shr'), agentId: id, ...times } })
      return () => test.db.prisma.cladeDelta.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'snapshots.ended',
    state: 'fails',
    number: 'standing',
    async plant() {
      const { id } = await test.agent()
      const times = { createdAt: ago(day), expiresAt: ago(day / 2) }
      const one = { id: newId('snap'), agentId: id, kind: 'on_demand', keyId: newId('key'), objectKey: id } as const
      await test.db.prisma.snapshot.create({ data: { ...one, ...times } })
      return () => test.db.prisma.snapshot.deleteMany({ where: { agentId: id } })
    },
  },
  {
    check: 'telemetry.keys',
    state: 'fails',
    number: 'minutes',
    async plant() {
      const { id } = await test.agent()
      const times = { createdAt: ago(31 * day), expiresAt: ago(day) }
      await test.db.prisma.telemetryKey.create({ data: { kind: 'agent', id, sealed: new Uint8Array(1), ...times } })
      return () => test.db.prisma.telemetryKey.deleteMany({ where: { id } })
    },
  },
  {
    check: 'audit.oldest',
    state: 'fails',
    async plant() {
      await owner.query(
        `INSERT INTO audit_entries (id, at, action, agent_id, resource_type, resource_id, ip, details) VALUES ($1, $2, 'read', 'x', 'x', 'x', '', '{}')`,
        [newUuid(), ago(91 * day)],
      )
      return () => owner.query('DELETE FROM audit_entries WHERE at < $1', [ago(90 * day)])
    },
  },
  {
    check: 'audit.append-only',
    state: 'fails',
    number: 'writable',
    plant: sql('GRANT DELETE ON audit_entries TO PUBLIC', 'REVOKE DELETE ON audit_entries FROM PUBLIC'),
  },
  {
    check: 'audit.append-only',
    state: 'fails',
    number: 'writable',
    plant: sql(
      'GRANT UPDATE (details) ON audit_entries_default TO PUBLIC',
      'REVOKE UPDATE (details) ON audit_entries_default FROM PUBLIC',
    ),
  },
  {
    check: 'erasure.append-only',
    state: 'fails',
    number: 'writable',
    plant: sql('GRANT TRUNCATE ON deletion_audit_log TO PUBLIC', 'REVOKE TRUNCATE ON deletion_audit_log FROM PUBLIC'),
  },
  {
    check: 'erasure.receipts',
    state: 'fails',
    number: 'bad',
    async plant() {
      const { id, token } = await unit()
      await test.fetch('DELETE', `/v1/knowledge/${id}`, { token })
      const whole = await owner.query('SELECT receipt FROM erasures WHERE deleted_id = $1', [id])
      await owner.query(
        `UPDATE erasures SET receipt = jsonb_set(receipt, '{deleted_id}', '"another"') WHERE deleted_id = $1`,
        [id],
      )
      return () =>
        owner.query('UPDATE erasures SET receipt = $2 WHERE deleted_id = $1', [
          id,
          JSON.stringify(whole.rows[0].receipt),
        ])
    },
  },
  {
    check: 'erasure.logged',
    state: 'fails',
    number: 'missing',
    plant: sql(
      `INSERT INTO erasures (receipt_id, audit_id, deleted_id, deleted_at, state, plan) VALUES ('rcpt_unlogged', 'nowhere', 'x', now(), 'signed', '{}')`,
      `DELETE FROM erasures WHERE receipt_id = 'rcpt_unlogged'`,
    ),
  },
  {
    check: 'erasure.unfinished',
    state: 'fails',
    number: 'unsigned',
    plant: sql(
      `INSERT INTO erasures (receipt_id, audit_id, deleted_id, deleted_at, state, plan) VALUES ('rcpt_unsigned', 'nowhere2', 'x', now() - interval '1 hour', 'committed', '{}')`,
      `DELETE FROM erasures WHERE receipt_id = 'rcpt_unsigned'`,
    ),
  },
  {
    check: 'erasure.steps',
    state: 'attention',
    number: 'stuck',
    plant: sql(
      `WITH r AS (INSERT INTO erasure_runs (id, receipt_id, requested_by, reason, agents, created_at) VALUES ('run_x', 'rcpt_x', 'x', 'x', '{}', now()) RETURNING id)
       INSERT INTO erasure_steps (run_id, holder, store, position, state) SELECT id, 'knowledge.units', 'postgresql', 0, 'stuck' FROM r`,
      `DELETE FROM erasure_runs WHERE id = 'run_x'`,
    ),
  },
  {
    check: 'erasure.readings',
    state: 'attention',
    number: 'waiting',
    // It waits for two days, and no worker reads.
    plant: sql(
      `WITH r AS (INSERT INTO erasure_runs (id, receipt_id, requested_by, reason, agents, state, created_at, finished_at)
         VALUES ('run_unread', 'rcpt_unread', 'x', 'x', '{}', 'done', now() - interval '3 days', now() - interval '2 days') RETURNING id)
       INSERT INTO erased_words (run_id, fingerprints) SELECT id, ''::bytea FROM r`,
      `DELETE FROM erasure_runs WHERE id = 'run_unread'`,
    ),
  },
  {
    check: 'settings.anonymous-reading',
    state: 'attention',
    number: 'on',
    plant: sql(
      "INSERT INTO settings (name, value, updated_at, updated_by) VALUES ('anonymous_reading', 'true', now(), 'x')",
      "DELETE FROM settings WHERE name = 'anonymous_reading'",
    ),
  },
  {
    check: 'holders.tables',
    state: 'fails',
    number: 'unanswered',
    plant: sql('CREATE TABLE diaries (text text)', 'DROP TABLE diaries'),
  },
  {
    check: 'installation.recipients',
    state: 'attention',
    number: 'publications',
    plant: sql('CREATE PUBLICATION everything FOR TABLE units', 'DROP PUBLICATION everything'),
  },
  {
    check: 'installation.folders',
    state: 'fails',
    number: 'open',
    async plant() {
      mkdirSync(join(test.dataDir, 'exports'), { recursive: true })
      chmodSync(join(test.dataDir, 'exports'), 0o755)
      return async () => chmodSync(join(test.dataDir, 'exports'), 0o700)
    },
  },
  {
    check: 'erasure.ledger',
    state: 'fails',
    async plant() {
      const ledger = join(test.dataDir, 'erasures')
      renameSync(ledger, `${ledger}-elsewhere`)
      writeFileSync(ledger, '')
      return async () => {
        rmSync(ledger)
        renameSync(`${ledger}-elsewhere`, ledger)
      }
    },
  },
  {
    check: 'residency.places',
    state: 'fails',
    number: 'projects',
    async plant() {
      const { accountId, organisationId } = await signedIn(test)
      const id = newId('prj')
      await owner.query(
        `INSERT INTO projects (id, organisation_id, name, group_id, region, created_by, created_at, updated_at)
         VALUES ($1, $2, 'x', $1, 'eu', $3, now(), now())`,
        [id, organisationId, `user:${accountId}`],
      )
      return () => owner.query('DELETE FROM projects WHERE id = $1', [id])
    },
  },
  {
    check: 'residency.places',
    state: 'fails',
    number: 'agents',
    async plant() {
      const { id } = await europeanAgent(test)
      return () => owner.query('DELETE FROM agents WHERE id = $1', [id])
    },
  },
  {
    check: 'installation.graph',
    state: 'fails',
    number: 'left',
    plant: sql(
      `WITH r AS (INSERT INTO erasure_runs (id, receipt_id, requested_by, reason, agents, created_at) VALUES ('run_g', 'rcpt_g', 'x', 'x', '{}', now()) RETURNING id)
       INSERT INTO erasure_steps (run_id, holder, store, position, state, planned, residue, verified_at) SELECT id, 'graph.episodes', 'graph', 0, 'done', 1, 1, now() FROM r`,
      `DELETE FROM erasure_runs WHERE id = 'run_g'`,
    ),
  },
  {
    check: 'installation.letters',
    state: 'fails',
    async plant() {
      const file = join(test.dataDir, 'mail', '2026-01-01T00-00-00.000Z-0123abcd.eml')
      mkdirSync(join(test.dataDir, 'mail'), { recursive: true, mode: 0o700 })
      writeFileSync(file, 'Subject: old\r\n\r\n')
      utimesSync(file, ago(8 * day), ago(8 * day))
      return async () => rmSync(file)
    },
  },
]

describe('a planted fault', () => {
  beforeAll(async () => {
    // One valid erasure.
    const { id, token } = await unit()
    await test.fetch('DELETE', `/v1/knowledge/${id}`, { token })
  })

  it.each(planted)('$check reports $state $number', async ({ check, state, number, plant }) => {
    const before = await asked(check)
    const mend = await plant()
    try {
      const found = await asked(check)
      expect(found).toMatchObject({ name: check, state })
      if (number) expect(found.numbers[number]).toBeGreaterThan(before.numbers[number] ?? 0)
      const line = (await lines()).find(({ checks }) => checks.some(({ name }) => name === check))
      expect(line?.state).toBe(state)
    } finally {
      await mend()
    }
    const after = await asked(check)
    expect([after.state, after.numbers[number ?? '']]).toEqual([before.state, before.numbers[number ?? '']])
  })

  it('every check has a test with a planted fault', async () => {
    const names = (await lines()).flatMap(({ checks }) => checks.map(({ name }) => name))
    // cache.lifetimes is tested in its domain with a Redis, and deletions.logged in its own file for each kind of
    // deletion. Faults planted in the audit log cannot be removed.
    const others = [
      'installation.secret',
      'rights.can_view',
      'rights.can_export',
      'rights.can_request_deletion',
      'deletions.logged',
      'cache.lifetimes',
    ]
    expect([...new Set(planted.map(({ check }) => check)), ...others].sort()).toEqual(names.sort())
  })

  it('the rights checks fail when an operation is missing or not available to the subject', async () => {
    const parts = { dataSources: [], retainedRecords: [] }
    const own = test.app.useCases.map(({ operation }) => operation)
    const stateOf = async (operations: typeof own) =>
      Promise.all(
        coverageChecks({ ...parts, operations })
          .filter(({ name }) => name.startsWith('rights.'))
          .map(async (check) => (await check.ask(async () => [], test.clock.now())).state),
      )
    expect(await stateOf(own)).toEqual(['holds', 'holds', 'holds'])
    expect(await stateOf(own.filter(({ id }) => id !== 'readInventory'))).toEqual(['fails', 'holds', 'holds'])
    expect(
      await stateOf(
        own.map((one) => (one.id === 'prepareExport' ? { ...one, permission: 'exports:admin' as const } : one)),
      ),
    ).toEqual(['holds', 'fails', 'holds'])
    expect(
      await stateOf(own.map((one) => (one.id === 'planErasure' ? { ...one, audit: { none: 'x' } } : one))),
    ).toEqual(['holds', 'holds', 'fails'])
  })

  it('the rights checks count operations of the last day', async () => {
    const before = await asked('rights.can_view')
    await test.fetch('GET', '/api/privacy/inventory', await signedIn(test))
    const after = await asked('rights.can_view')
    expect(after.numbers.uses).toBe((before.numbers.uses ?? 0) + 1)
    expect(after.times.last).toBe(test.clock.now().toISOString())
  })
})

const person = async () => (await signedIn(test)).accountId
const run = (id: string, more: object, steps: object[] = []) =>
  test.db.prisma.erasureRun.create({
    data: {
      id,
      receiptId: `rcpt_${id}`,
      requestedBy: 'x',
      reason: 'x',
      createdAt: ago(day),
      ...more,
      steps: { create: steps.map((step, position) => ({ holder: `h${position}`, store: 'graph', position, ...step })) },
    },
  })
const endRun = (id: string) => test.db.prisma.erasureRun.delete({ where: { id } })

/** What the check counts, its planted records, and the causes that the list shows for each of them. */
const listed: readonly [EvidenceProblem, string, unknown[], () => Promise<() => Promise<unknown>>][] = [
  [
    'requests.overdue',
    'requests.erasure',
    [{ code: 'step_stuck', store: 'graph', fault: 'internal' }],
    async () => {
      await run('run_overdue', { state: 'erasing' }, [{ state: 'stuck', fault: 'internal' }])
      const part = { kind: 'erasure', state: 'running' }
      const id = await request({ state: 'running', runId: 'run_overdue', dueAt: ago(1), parts: [part] })
      return async () => {
        await forget(id)
        await endRun('run_overdue')
      }
    },
  ],
  [
    'requests.late',
    'requests.erasure',
    [{ code: 'legal_hold', store: null, fault: null }],
    async () => {
      const id = await request({
        state: 'completed',
        verifiedAt: ago(10 * day),
        waitingUntil: ago(9 * day),
        closedAt: ago(day),
        parts: [{ kind: 'erasure', state: 'done', startedAt: ago(9 * day), finishedAt: ago(day) }],
      })
      await test.db.prisma.privacyRequestEvent.create({
        data: { id: newId('evt'), requestId: id, at: ago(8 * day), by: 'system', event: 'kept_whole' },
      })
      return () => forget(id)
    },
  ],
  [
    'exports.failed',
    'exports.provided',
    ['unavailable'],
    async () => {
      const [again, once] = [await person(), await person()]
      const failed = { basis: 'provided', state: 'failed', fault: 'unavailable' } as const
      const times = { createdAt: ago(day / 4), readyAt: ago(day / 4), expiresAt: ago(-day) }
      await test.db.prisma.preparedExport.createMany({
        data: [
          { ...failed, id: newId('exp'), accountId: once, createdAt: ago((2 * day) / 3) },
          { ...failed, id: newId('exp'), accountId: once, createdAt: ago(day / 2) },
          // A later copy of the same person replaces a failed one.
          { ...failed, id: newId('exp'), accountId: again, createdAt: ago(day / 2) },
          { ...times, id: newId('exp'), accountId: again, basis: 'provided', state: 'ready' },
        ],
      })
      return () => test.db.prisma.preparedExport.deleteMany({ where: { accountId: { in: [again, once] } } })
    },
  ],
  [
    'exports.late',
    'exports.all',
    [null],
    async () => {
      const times = { createdAt: ago(day), readyAt: ago(day), expiresAt: ago(day / 2) }
      const { id } = await test.db.prisma.preparedExport.create({
        data: { id: newId('exp'), accountId: await person(), basis: 'all', state: 'ready', ...times },
      })
      return () => test.db.prisma.preparedExport.delete({ where: { id } })
    },
  ],
  [
    'erasure.residue',
    'erasure.unfinished',
    [{ code: 'residue', store: 'graph', fault: null }],
    async () => {
      // Two steps of one run are one record.
      await run('run_residue', { state: 'done' }, [{ residue: 1 }, { residue: 2 }])
      return () => endRun('run_residue')
    },
  ],
  [
    'erasure.failed',
    'erasure.unfinished',
    [{ code: 'residue_left', store: 'graph', fault: null }],
    async () => {
      await run('run_failed', { state: 'failed', rounds: 5 }, [{ state: 'done', residue: 2 }])
      return () => endRun('run_failed')
    },
  ],
  [
    'erasure.unsearched',
    'erasure.unfinished',
    [{ code: 'store_refuses', store: 'graph', fault: 'credentials' }],
    async () => {
      await run('run_late', { state: 'done', recheckAt: ago(day) }, [{ fault: 'store_refuses:credentials' }])
      return () => endRun('run_late')
    },
  ],
  [
    'erasure.stuck',
    'erasure.steps',
    [{ code: 'planning', store: null, fault: 'internal' }],
    async () => {
      await run('run_unplanned', { state: 'planning', fault: 'internal' })
      return () => endRun('run_unplanned')
    },
  ],
  [
    'erasure.waiting',
    'erasure.steps',
    [{ code: 'store_down', store: 'graph', fault: null }],
    async () => {
      await run('run_waits', { state: 'erasing' }, [{ state: 'running', fault: 'unavailable' }])
      const times = { since: ago(day), triedAt: ago(0) }
      await test.db.prisma.erasureWait.create({ data: { runId: 'run_waits', store: 'graph', ...times } })
      return () => endRun('run_waits')
    },
  ],
  [
    'erasure.places',
    'erasure.readings',
    [undefined],
    async () => {
      const receiptId = `rcpt_${newId('x').slice(2)}`
      await test.db.prisma.erasure.create({
        data: { receiptId, auditId: receiptId, deletedId: 'x', deletedAt: ago(day), plan: {} },
      })
      const times = { firstFoundAt: ago(day), lastFoundAt: ago(day) }
      await test.db.prisma.remainingPlace.create({
        data: {
          id: newId('plc'),
          receiptId,
          holder: 'cache.entries',
          place: 'key:x',
          reason: 'undated',
          readingId: 'x',
          ...times,
        },
      })
      await test.db.prisma.completeReading.create({ data: { id: 'read_listed', startedAt: ago(day), receipts: [] } })
      return async () => {
        await test.db.prisma.erasure.delete({ where: { receiptId } })
        await test.db.prisma.completeReading.delete({ where: { id: 'read_listed' } })
      }
    },
  ],
]
/** The API path that answers the page of a problem. */
const apiOf = (page: string): string =>
  page
    .replace('/admin/requests', '/api/admin/privacy/requests')
    .replace('open=all&', '')
    .replace('/admin/erasures', '/api/erasures')
    .replace('/admin/compliance/copies', '/api/admin/exports')
    .replace('/admin/compliance/readings', '/api/readings/places')

it.each(listed)(
  '%s links a list of exactly the counted records, with their causes',
  async (problem, check, causes, plant) => {
    const admin = await signedIn(test, 'admin')
    const mend = await plant()
    try {
      const found = (await asked(check)).problems.find((one) => one.problem === problem)
      expect(found?.count).toBe(1)
      const { status, json } = await test.fetch('GET', apiOf(found?.page ?? ''), admin)
      expect(status).toBe(200)
      expect(json.data.map((row: { causes?: unknown[]; fault?: string }) => row.causes ?? [row.fault])).toEqual([
        causes,
      ])
    } finally {
      await mend()
    }
    expect((await asked(check)).problems).toEqual([])
  },
)

it('listCopyProblems lists the newest 100 and counts all', async () => {
  const owned = { accountId: await person(), basis: 'provided', state: 'failed', createdAt: ago(day / 2) } as const
  const copies = Array.from({ length: 101 }, () => ({ ...owned, id: newId('exp') }))
  await test.db.prisma.preparedExport.createMany({ data: copies })
  const admin = await signedIn(test, 'admin')
  const { json } = await test.fetch('GET', '/api/admin/exports?scope=provided&problem=failed', admin)
  expect([json.data.length, json.total]).toEqual([100, 101])
  await test.db.prisma.preparedExport.deleteMany({ where: { accountId: owned.accountId } })
})

it('installation.secret fails when the file is readable or writable by others, or missing', async () => {
  const file = join(test.dataDir, 'a-secret')
  const places = { mail: 'folder', limits: 'here', postgresql: 'embedded' } as const
  const [check] = installationChecks({
    places,
    telemetry: 'none',
    folders: [],
    secretFile: file,
    oldestEmail: async () => undefined,
    outboxRetention: 0,
  }).filter(({ name }) => name === 'installation.secret')
  const found = async () => (await check?.ask(async () => [], test.clock.now()))?.state
  expect(await found()).toBe('fails')
  writeFileSync(file, '', { mode: 0o600 })
  expect(await found()).toBe('holds')
  for (const mode of [0o640, 0o604, 0o620]) {
    chmodSync(file, mode)
    expect(await found()).toBe('fails')
  }
})

it('a slow or failing check reports unknown, and the other checks are answered in time', async () => {
  const line = 'grace' as const
  const from = (text: string) => async (query: DatabaseQuery) => {
    await query(text)
    return { state: 'holds' as const }
  }
  const checks: EvidenceCheck[] = [
    {
      line,
      name: 'slow.sql',
      page: null,
      // Longer than the test timeout: a response that waited for it would fail.
      ask: from('SELECT pg_sleep(3600)'),
    },
    { line, name: 'slow.code', page: null, ask: () => new Promise(() => {}) },
    {
      line: 'access',
      name: 'broken.sql',
      page: null,
      ask: from('SELECT FROM nowhere'),
    },
    {
      line: 'access',
      name: 'writes',
      page: null,
      ask: from('DELETE FROM units'),
    },
    { line: 'access', name: 'good', page: null, ask: from('SELECT 1') },
  ]
  const service = complianceService({ db: test.db, checks })
  const actor = {
    id: 'x',
    kind: 'system',
    can: () => true,
    isRestricted: false,
    agents: [],
    organisationId: undefined,
    isAdmin: true,
    scopes: [],
    quota: { unitBytes: 0, batch: 0, exportsPerDay: null },
  } as const
  const answer = await service.read.execute(
    { actor, ip: '', requestId: 'r', pipeline: test.app.pipeline, now: test.clock.now() },
    { params: {}, query: {}, headers: {}, body: undefined },
  )
  const found = (answer.body as { data: { lines: LineView[] } }).data.lines.flatMap((one) => one.checks)
  expect(Object.fromEntries(found.map(({ name, state, fault }) => [name, [state, fault]]))).toEqual({
    'slow.sql': ['unknown', 'too_slow'],
    'slow.code': ['unknown', 'too_slow'],
    'broken.sql': ['unknown', 'error'],
    writes: ['unknown', 'unavailable'],
    good: ['holds', null],
  })
})
