import pg from 'pg'
import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { dryRunRetention } from './contract.ts'
import { RetentionManager, type RetentionPeriods } from './retention-manager.ts'

const day = 86_400_000
const asDocumented: RetentionPeriods = { networkDays: null, orgDays: 730, privateDays: 365 }
type Visibility = 'network' | 'org' | 'private'

let test: TestApp
let admin: Issued
/** Prefix of the ids that {@link keepMany} creates in this test. */
let name: string
beforeAll(async () => {
  test = await testApp()
  admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
})
afterAll(() => test?.close())
beforeEach(async () => {
  test.clock.advance(1_000) // gives sweeps distinct times
  await test.db.pool.query('DELETE FROM units')
  await test.db.pool.query('DELETE FROM skills')
  await test.db.pool.query('DELETE FROM retention_overrides')
  await test.db.pool.query('DELETE FROM retention_shortenings')
  await test.db.pool.query('DELETE FROM legal_holds')
  await test.db.pool.query('DELETE FROM retention_sweeps')
  name = `kp:trace:${newId('t').slice(2, 8)}`
})

const ask = (method: string, path: string, body?: unknown, token = admin.token) =>
  test.fetch(method, `/v1${path}`, { token, body })
/** Sets periods as an admin in person, and ends the time to cancel shorter ones without making any record older. */
const setInForce = async (change: unknown) => {
  const response = await test.fetch('PATCH', '/v1/retention', { ...(await signedIn(test, 'admin')), body: change })
  expect(response.status, response.text).toBe(200)
  await test.db.pool.query('UPDATE retention_shortenings SET starts_at = $1', [test.clock.now()])
}
const sweepNow = (periods = asDocumented) => new RetentionManager(test.app.stores, periods).runSweep()

const hold = async (kind: string, target: string, more: Record<string, unknown> = {}): Promise<string> => {
  const response = await ask('POST', '/holds', { kind, target_id: target, reason: 'a court asked', ...more })
  expect(response.status, response.text).toBe(201)
  return response.json.data.id
}

interface RetainedRow {
  visibility: Visibility
  /** Milliseconds. */
  age: number
  agent?: string
  attributedTo?: string
}
/** Stores a unit of the given age, by the test clock. */
async function keep({ visibility, age, agent = admin.id, attributedTo }: RetainedRow): Promise<string> {
  const id = `kp:trace:${newId('t').slice(2)}`
  await test.db.pool.query(
    `INSERT INTO units (id, type, agent_id, organisation_id, attributed_to, visibility, document, quality_score, created_at, updated_at, domain)
     SELECT $1, 'ReasoningTrace', a.id, a.organisation_id, $5, $3::visibility, '{}', 0.5, $4, $4, 'code' FROM agents a WHERE a.id = $2`,
    [id, agent, visibility, new Date(test.clock.now().getTime() - age), attributedTo ?? null],
  )
  return id
}
/** Stores n expired private units, a second apart. */
const keepMany = (n: number) =>
  test.db.pool.query(
    `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, quality_score, created_at, updated_at, domain)
     SELECT $4 || lpad(n::text, 8, '0'), 'ReasoningTrace', a.id, a.organisation_id, 'private', '{}', 0.5,
       $2::timestamptz + n * interval '1 second', $2, 'code'
     FROM agents a, generate_series(1, $3) AS n WHERE a.id = $1`,
    [admin.id, new Date(test.clock.now().getTime() - 400 * day), n, name],
  )
async function keepSkill(visibility: Visibility, age: number): Promise<string> {
  const id = `kp:skill:${newId('s').slice(2)}`
  const at = new Date(test.clock.now().getTime() - age)
  await test.db.pool.query(
    `INSERT INTO skills (id, agent_id, organisation_id, name, description, visibility, front_matter, document, undeclared_tools, quality_score, created_at, updated_at)
     SELECT $1, a.id, a.organisation_id, $1, 'd', $3::visibility, '{}', 'text', '{}', 0.5, $4, $4 FROM agents a WHERE a.id = $2`,
    [id, admin.id, visibility, at],
  )
  await test.db.pool.query(`INSERT INTO skill_files VALUES ($1, 'a.md', 'x', 1, 'y')`, [id])
  return id
}
const left = async (): Promise<string[]> =>
  (
    await test.db.pool.query<{ id: string }>('SELECT id FROM units UNION ALL SELECT id FROM skills ORDER BY id')
  ).rows.map(({ id }) => id)
const rowsAbout = async (ids: string[]) => {
  const audit = await test.db.pool.query(
    "SELECT resource_id, action, agent_id, resource_type, ip, details, id::text AS id FROM audit_entries WHERE resource_id = ANY($1) AND action = 'delete'",
    [ids],
  )
  const deletions = await test.db.pool.query(
    "SELECT audit_id, requested_by, reason, scope, results, timestamp FROM deletion_audit_log WHERE coalesce(scope->>'unit', scope->>'skill') = ANY($1)",
    [ids],
  )
  return { audit: audit.rows, deletions: deletions.rows }
}
const lastSweep = async () => (await ask('GET', '/retention/sweeps?limit=1')).json.data[0]

/** Locks this unit, so that a sweep waits before it until the lock is released. */
async function statusBefore(unitId: string) {
  const owner = new pg.Client({ connectionString: test.ownerUrl })
  await owner.connect()
  let isHere = true
  const letGo = async () => {
    if (!isHere) return
    isHere = false
    await owner.end()
  }
  onTestFinished(letGo)
  await owner.query('BEGIN')
  await owner.query('SELECT 1 FROM units WHERE id = $1 FOR UPDATE', [unitId])
  return {
    arrived: () => blockedBy(owner),
    kill: async () => {
      await owner.query('SELECT pg_terminate_backend($1)', [await blockedBy(owner)])
    },
    letGo,
  }
}

describe('a sweep', () => {
  it('deletes exactly the expired records, to the millisecond, and returns their number', async () => {
    const retained = [
      await keep({ visibility: 'network', age: 36_500 * day }),
      await keep({ visibility: 'org', age: 730 * day - 1 }),
      await keep({ visibility: 'private', age: 365 * day - 1 }),
      await keep({ visibility: 'org', age: 366 * day }),
    ]
    await keep({ visibility: 'org', age: 730 * day })
    await keep({ visibility: 'private', age: 365 * day })
    await keep({ visibility: 'private', age: 5_000 * day })
    expect(await sweepNow()).toBe(3)
    expect(await left()).toEqual(retained.sort())
    expect(await sweepNow()).toBe(0)
  })

  it('deletes a unit that got a vote meanwhile, and keeps one that was attributed to a held agent meanwhile', async () => {
    await keepMany(20)
    const client = new pg.Client({ connectionString: test.ownerUrl })
    await client.connect()
    onTestFinished(() => client.end())
    const { id: heldAgent } = await issuedAgent(test, ['read', 'write'])
    expect((await ask('POST', '/holds', { kind: 'agent', target_id: heldAgent, reason: 'a court asked' })).status).toBe(
      201,
    )
    await client.query('BEGIN')
    await client.query('UPDATE units SET votes_for = votes_for + 1 WHERE id = $1', [`${name}00000010`])
    await client.query('UPDATE units SET attributed_to = $2 WHERE id = $1', [`${name}00000011`, heldAgent])
    const swept = sweepNow()
    await blockedBy(client)
    await client.query('COMMIT')
    expect(await swept).toBe(19)
    expect(await left()).toEqual([`${name}00000011`])
  })

  it('deletes skills with their files like units', async () => {
    const old = await keepSkill('private', 365 * day)
    const young = await keepSkill('private', 364 * day)
    const everybodys = await keepSkill('network', 9_000 * day)
    expect(await sweepNow()).toBe(1)
    expect(await left()).toEqual([young, everybodys].sort())
    expect((await test.db.pool.query('SELECT FROM skill_files WHERE skill_id = $1', [old])).rowCount).toBe(0)
    const { audit, deletions } = await rowsAbout([old])
    expect(audit.map(({ resource_type }) => resource_type)).toEqual(['skill'])
    expect(deletions).toMatchObject([
      { reason: 'retention', scope: { skill: old }, results: { 'knowledge.skills': 1 } },
    ])
  })

  it('deletes votes, reports and versions with their unit', async () => {
    const id = await keep({ visibility: 'private', age: 400 * day })
    await test.db.pool.query("INSERT INTO unit_votes VALUES ($1, $2, 'o', true, 1, null, now())", [id, admin.id])
    await test.db.pool.query("INSERT INTO unit_reports VALUES ($1, $2, 'o', 'x', null, now())", [id, admin.id])
    await test.db.pool.query("INSERT INTO sop_versions VALUES ($1, 1, '{}', 'a', now())", [id])
    expect(await sweepNow()).toBe(1)
    for (const table of ['unit_votes', 'unit_reports', 'sop_versions'])
      expect((await test.db.pool.query(`SELECT FROM ${table} WHERE unit_id = $1`, [id])).rowCount, table).toBe(0)
  })

  it('deletes an SOP from stored idempotent responses, also from later ones', async () => {
    const { token } = await issuedAgent(test, ['read', 'write'])
    const approver = await issuedAgent(test, ['read', 'write', 'admin'])
    const name = 'Handle zanzibar'
    const body = sop({ name }, { visibility: 'org' })
    const id: string = (await test.fetch('POST', '/v1/sop', { token, body })).json.data.id
    await test.db.pool.query('UPDATE units SET created_at = $2 WHERE id = $1', [
      id,
      new Date(test.clock.now().getTime() - 800 * day),
    ])
    const late = (path: string) =>
      test.fetch('POST', `/v1/sop/${id}/${path}`, {
        token: path === 'approve' ? approver.token : token,
        body: {},
        headers: { 'Idempotency-Key': `late-${path}` },
      })
    for (const path of ['export-skill', 'approve']) expect((await late(path)).text).toContain('zanzibar')
    expect(await sweepNow()).toBe(1)
    for (const path of ['export-skill', 'approve']) expect((await late(path)).text).not.toContain('zanzibar')
    expect(JSON.stringify(await test.db.prisma.idempotencyRecord.findMany())).not.toContain('zanzibar')
  })

  it("counts the age from the storage time by the application's clock, regardless of the stated creation time", async () => {
    const { id, token } = await issuedAgent(test, ['read', 'write'])
    const sent = trace({}, { visibility: 'private', created_at: '2001-01-01T00:00:00Z' })
    const stored = await test.fetch('POST', '/v1/knowledge', { token, body: sent })
    expect([stored.status, stored.json.data.id]).toEqual([201, expect.any(String)])
    expect(await sweepNow()).toBe(0)
    const ahead = { ...test.app.stores, clock: { now: () => new Date(test.clock.now().getTime() + 365 * day) } }
    expect(await new RetentionManager(ahead, asDocumented).runSweep()).toBe(1)
    const { audit } = await rowsAbout([stored.json.data.id])
    expect(audit).toHaveLength(1)
    expect(id).not.toBe('')
  })

  it.each([
    [{ networkDays: null, orgDays: null, privateDays: null }, 0],
    [{ networkDays: 1, orgDays: null, privateDays: null }, 1],
    [{ networkDays: 1, orgDays: 1, privateDays: 1 }, 3],
    [{ networkDays: 11, orgDays: 10, privateDays: 9 }, 2],
  ])('a sweep with the periods %j deletes %i of three units of ten days', async (periods, n) => {
    for (const visibility of ['network', 'org', 'private'] as const) await keep({ visibility, age: 10 * day })
    expect(await sweepNow(periods)).toBe(n)
  })

  it('deletes expired records of a restricted agent', async () => {
    const restricted = await issuedAgent(test, ['read', 'write'])
    await keep({ visibility: 'private', age: 400 * day, agent: restricted.id })
    expect((await test.fetch('DELETE', '/v1/auth/consent', { token: restricted.token })).status).toBe(200)
    expect(await sweepNow()).toBe(1)
  })

  it.each([0, -1, 1e9, 1.5])('rejects a period of %d days and names the field', (days) => {
    expect(() => new RetentionManager(test.app.stores, { ...asDocumented, orgDays: days })).toThrow(/^orgDays must be/)
  })

  it('writes one audit entry and one deletion entry per record, with its id and without content', async () => {
    const ids = [
      await keep({ visibility: 'private', age: 400 * day }),
      await keep({ visibility: 'org', age: 800 * day }),
    ]
    await sweepNow()
    const { id: sweep } = await lastSweep()
    const { audit, deletions } = await rowsAbout(ids)
    expect(audit.map(({ resource_id }) => resource_id).sort()).toEqual([...ids].sort())
    for (const entry of audit)
      expect(entry).toMatchObject({
        action: 'delete',
        agent_id: 'system:retention.sweep',
        resource_type: 'knowledge',
        ip: '',
        details: { sweep },
      })
    expect(deletions.map(({ scope }) => scope.unit).sort()).toEqual([...ids].sort())
    for (const entry of deletions)
      expect(entry).toMatchObject({
        requested_by: 'system:retention.sweep',
        reason: 'retention',
        results: { 'knowledge.units': 1 },
        timestamp: test.clock.now(),
      })
    const uuid7 = /^[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/
    const entryIds = [...audit.map(({ id }) => id), ...deletions.map(({ audit_id }) => audit_id)]
    for (const id of entryIds) expect(id).toMatch(uuid7)
    expect(new Set(entryIds).size).toBe(4)
  })

  it('deletes 25,000 units in bounded transactions', async () => {
    await keepMany(25_000)
    expect(await sweepNow()).toBe(25_000)
    expect(await left()).toEqual([])
    const { rows } = await test.db.pool.query<{ n: number; batches: number; largest: number }>(
      `SELECT sum(n)::int AS n, count(*)::int AS batches, max(n)::int AS largest FROM
        (SELECT count(*) AS n FROM deletion_audit_log WHERE starts_with(scope->>'unit', $1) GROUP BY xmin) AS b`,
      [name],
    )
    expect(rows[0]?.n).toBe(25_000)
    expect(rows[0]?.largest).toBeLessThanOrEqual(5_000)
    expect(rows[0]?.batches).toBeGreaterThanOrEqual(5)
    const { rows: audited } = await test.db.pool.query(
      "SELECT count(DISTINCT resource_id)::int AS n FROM audit_entries WHERE starts_with(resource_id, $1) AND action = 'delete'",
      [name],
    )
    expect(audited).toEqual([{ n: 25_000 }])
    expect(await lastSweep()).toMatchObject({ state: 'finished', deleted: { private: 25_000, total: 25_000 }, held: 0 })
  })
})

describe('records under a legal hold', () => {
  it('are kept when the hold covers a unit, a skill, an agent or attributed units, while the others are deleted, and both are counted', async () => {
    const held = await issuedAgent(test, ['read', 'write'])
    const stays = [
      await keep({ visibility: 'private', age: 400 * day }),
      await keep({ visibility: 'private', age: 401 * day, agent: held.id }),
      await keep({ visibility: 'org', age: 900 * day, agent: held.id }),
      await keep({ visibility: 'private', age: 402 * day, attributedTo: held.id }),
      await keep({ visibility: 'private', age: 402 * day }),
    ]
    // A former version names the agent as its expert.
    await test.db.query(
      undefined,
      `INSERT INTO sop_versions (unit_id, version, document, created_by, created_at) VALUES ($1, 1, $2, $3, now())`,
      [stays[4], JSON.stringify({ source: { expert_id: held.id } }), admin.id],
    )
    const skill = await keepSkill('private', 500 * day)
    await hold('unit', stays[0] ?? '')
    await hold('skill', skill)
    await hold('agent', held.id)
    for (let n = 0; n < 3; n++) await keep({ visibility: 'private', age: 403 * day })
    await keepSkill('private', 500 * day)
    const dry = await ask('POST', '/retention/dry-run')
    expect(dry.json.data.would_delete).toEqual({ network: 0, org: 0, private: 4, total: 4, held: 6 })
    expect(await sweepNow()).toBe(4)
    expect(await left()).toEqual([...stays, skill].sort())
    expect(await lastSweep()).toMatchObject({ deleted: { network: 0, org: 0, private: 4, total: 4 }, held: 6 })
  })

  it('are deleted by the next sweep after the hold is released or has expired', async () => {
    const ids = [
      await keep({ visibility: 'private', age: 400 * day }),
      await keep({ visibility: 'private', age: 400 * day }),
    ]
    const released = await hold('unit', ids[0] ?? '')
    const soon = new Date(test.clock.now().getTime() + 3_600_000)
    await hold('unit', ids[1] ?? '', { expires_at: soon.toISOString() })
    expect(await sweepNow()).toBe(0)
    expect((await releaseInPerson(test, released)).status).toBe(200)
    expect(await sweepNow()).toBe(1)
    const at = (time: Date) => new RetentionManager({ ...test.app.stores, clock: { now: () => time } }, asDocumented)
    expect(await at(new Date(soon.getTime() - 1)).runSweep()).toBe(0)
    expect(await at(soon).runSweep()).toBe(1)
  })

  it('do not prevent a sweep from deleting the records after them', async () => {
    const held = await issuedAgent(test, ['read', 'write'])
    await keepMany(6_000)
    await test.db.pool.query(
      'UPDATE units SET agent_id = $1, organisation_id = (SELECT organisation_id FROM agents WHERE id = $1) WHERE id <= $2',
      [held.id, `${name}00005500`],
    )
    await hold('agent', held.id)
    expect(await sweepNow()).toBe(500)
    expect((await left()).length).toBe(5_500)
    expect(await lastSweep()).toMatchObject({ held: 5_500 })
  })

  it('a hold is rejected when a running sweep has already deleted its target', async () => {
    await keepMany(20)
    const guard = await statusBefore(`${name}00000010`)
    const swept = sweepNow()
    await guard.arrived()
    let isHeld = false
    const holding = hold('unit', `${name}00000020`).then(
      () => true,
      () => false,
    )
    holding.then((value) => {
      isHeld = value
    })
    await guard.letGo()
    expect(await swept).toBe(20)
    // The running batch deleted the unit first, so the hold is rejected instead of covering nothing.
    expect(await holding).toBe(false)
    expect(isHeld).toBe(false)
  })
})

describe('concurrent sweeps', () => {
  it('a second sweep on another replica returns a conflict with the id of the first sweep, and succeeds after the first has ended', async () => {
    await keepMany(10)
    const other = await testApp(
      { DATABASE_URL: test.app.env.DATABASE_URL ?? '' },
      {
        ownerUrl: test.ownerUrl,
        appUrl: test.app.env.DATABASE_URL ?? '',
        drop: async () => undefined,
      },
    )
    try {
      const guard = await statusBefore(`${name}00000005`)
      const first = ask('POST', '/retention/sweep')
      await guard.arrived()
      const running = await lastSweep()
      expect(running).toMatchObject({ state: 'running', finished_at: null, requested_by: admin.id })
      for (const app of [other, test]) {
        const second = await app.fetch('POST', '/v1/retention/sweep', { token: admin.token })
        expect([second.status, second.json.code, second.json.sweep_id]).toEqual([409, 'conflict', running.id])
      }
      await expect(new RetentionManager(other.app.stores, asDocumented).runSweep()).rejects.toMatchObject({
        code: 'conflict',
      })
      // The hourly job finds a running sweep and does nothing.
      await other.app.retention.sweepByClock()
      await guard.letGo()
      expect(await first).toMatchObject({ status: 200, json: { data: { state: 'finished', deleted: { total: 10 } } } })
      const next = await other.fetch('POST', '/v1/retention/sweep', { token: admin.token })
      expect([next.status, next.json.data.deleted.total]).toEqual([200, 0])
    } finally {
      await other.close()
    }
  })

  it('ten concurrent requests return 200 or conflict, and delete each record once', async () => {
    await keepMany(200)
    const responses = await Promise.all(Array.from({ length: 10 }, () => ask('POST', '/retention/sweep')))
    const done = responses.filter(({ status }) => status === 200)
    expect(done.length + responses.filter(({ status }) => status === 409).length).toBe(10)
    expect(done.reduce((sum, { json }) => sum + json.data.deleted.total, 0)).toBe(200)
    expect((await rowsAbout([`${name}00000007`])).deletions).toHaveLength(1)
  })
})

describe('a crash during a sweep', () => {
  it('keeps whole batches, sets the sweep to interrupted, and the next sweep deletes the rest', async () => {
    await keepMany(7_000)
    const guard = await statusBefore(`${name}00006000`)
    const crashed = sweepNow()
    crashed.catch(() => undefined)
    await guard.kill()
    await expect(crashed).rejects.toThrow()
    await guard.letGo()
    const remaining = await left()
    const { rows } = await test.db.pool.query<{ n: number }>(
      `SELECT count(*)::int AS n FROM deletion_audit_log d JOIN audit_entries a ON a.resource_id = d.scope->>'unit'
       WHERE a.action = 'delete' AND a.details->>'sweep' = $1`,
      [(await lastSweep()).id],
    )
    const interrupted = await lastSweep()
    expect(interrupted).toMatchObject({ state: 'interrupted', deleted: { total: 7_000 - remaining.length } })
    expect(rows[0]?.n).toBe(interrupted.deleted.total)
    expect(interrupted.deleted.total).toBe(5_000)
    expect(await sweepNow()).toBe(remaining.length)
    expect(await left()).toEqual([])
  })

  it('leaves an open row, which the next sweep closes, when the whole process crashed', async () => {
    const now = test.clock.now()
    const begun = await test.db.transaction((tx) =>
      new RetentionManager(test.app.stores, asDocumented).begin(tx, { trigger: 'cron', requestedBy: 'x', now }),
    )
    expect((await ask('POST', '/retention/sweep')).json).toMatchObject({ code: 'conflict', sweep_id: begun })
    test.clock.advance(61_000)
    expect((await ask('POST', '/retention/sweep')).status).toBe(200)
    expect((await ask('GET', `/retention/sweeps/${begun}`)).json.data).toMatchObject({ state: 'interrupted' })
  })

  it('lets the worker continue the same sweep when the responding process crashed', async () => {
    await keepMany(30)
    const now = test.clock.now()
    const begun = await test.db.transaction((tx) =>
      new RetentionManager(test.app.stores, asDocumented).begin(tx, { trigger: 'demand', requestedBy: admin.id, now }),
    )
    const resume = test.app.jobs.find(({ name }) => name === 'retention.resume')
    await resume?.execute(test.app.pipeline, { sweepId: begun })
    expect((await ask('GET', `/retention/sweeps/${begun}`)).json.data).toMatchObject({
      state: 'finished',
      trigger: 'demand',
      requested_by: admin.id,
      deleted: { total: 30 },
    })
    // A repetition changes nothing.
    await resume?.execute(test.app.pipeline, { sweepId: begun })
    expect((await rowsAbout([`${name}00000030`])).deletions[0]).toMatchObject({ requested_by: admin.id })
  })

  it('an aborted sweep ends between batches and can be continued', async () => {
    await keepMany(12_000)
    const guard = await statusBefore(`${name}00000001`)
    const ending = new AbortController()
    const manager = new RetentionManager(test.app.stores, asDocumented)
    const begun = await test.db.transaction((tx) =>
      manager.begin(tx, { trigger: 'demand', requestedBy: admin.id, now: test.clock.now() }),
    )
    const carried = manager.executeSweep(begun, { signal: ending.signal })
    await guard.arrived()
    ending.abort()
    await guard.letGo()
    await carried
    const stopped = (await ask('GET', `/retention/sweeps/${begun}`)).json.data
    expect(stopped).toMatchObject({ state: 'running', deleted: { total: 5_000 } })
    await manager.executeSweep(begun)
    expect((await ask('GET', `/retention/sweeps/${begun}`)).json.data).toMatchObject({
      state: 'finished',
      deleted: { total: 12_000 },
    })
  })
})

describe('the retention policy', () => {
  it("uses the environment's value until an admin overrides it, records who changed it and when, and can be reset", async () => {
    const fresh = await ask('GET', '/retention')
    expect(fresh.json.data).toEqual({
      policy: {
        network: { days: null, source: 'environment' },
        org: { days: 730, source: 'environment' },
        private: { days: 365, source: 'environment' },
      },
      presets: {
        default: { network: null, org: 730, private: 365 },
        strict: { network: null, org: 365, private: 180 },
      },
    })
    const set = await ask('PATCH', '/retention', { private_days: 400 })
    expect(set.json.data.policy).toMatchObject({
      org: { days: 730, source: 'environment' },
      private: { days: 400, source: 'override', set_by: admin.id, set_at: test.clock.now().toISOString() },
    })
    await setInForce({ preset: 'strict' })
    expect((await ask('GET', '/retention')).json.data.policy).toMatchObject({
      network: { days: null },
      org: { days: 365 },
      private: { days: 180 },
    })
    expect((await ask('DELETE', '/retention')).json).toEqual(fresh.json)
    const changes = await test.app.audit.query({ resource_type: 'retention', action: 'update' }, test.clock.now())
    expect(changes.length).toBeGreaterThanOrEqual(3)
    expect(changes[1]?.details).toMatchObject({ set: { network: null, org: 365, private: 180 } })
  })

  it("reads the environment's periods", async () => {
    const other = await testApp({
      KP_RETENTION_NETWORK_DAYS: '10',
      KP_RETENTION_ORG_DAYS: '-1',
      KP_RETENTION_PRIVATE_DAYS: '36500',
    })
    try {
      const { token } = await issuedAgent(other, ['admin'])
      const { json } = await other.fetch('GET', '/v1/retention', { token })
      expect(json.data.policy).toMatchObject({ network: { days: 10 }, org: { days: null }, private: { days: 36_500 } })
    } finally {
      await other.close()
    }
  })

  it('applies a change to the next sweep, on demand and by the hourly job', async () => {
    await keep({ visibility: 'network', age: 10 * day })
    await keep({ visibility: 'private', age: 10 * day })
    const sweep = async () => (await ask('POST', '/retention/sweep')).json.data.deleted.total
    expect(await sweep()).toBe(0)
    await setInForce({ private_days: 10 })
    expect(await sweep()).toBe(1)
    await setInForce({ network_days: 9, private_days: null })
    test.clock.advance(1_000)
    const hourly = test.app.jobs.find(({ name }) => name === 'retention.sweep')
    expect(hourly?.cron).toMatch(/^\d{1,2} \* \* \* \*$/)
    await hourly?.execute(test.app.pipeline, {})
    expect(await lastSweep()).toMatchObject({
      trigger: 'cron',
      requested_by: 'system:retention.sweep',
      policy: { network: 9, org: 730, private: null },
      deleted: { network: 1, org: 0, private: 0, total: 1 },
    })
  })

  it.each([[0], [-1], [1e9], [36_501], [1.5], ['soon'], ['30'], [true], [[30]], [{}]])(
    'rejects a period of %j with 422 naming the field, in PATCH and in a dry run',
    async (days) => {
      for (const field of ['network_days', 'org_days', 'private_days'])
        for (const [method, path] of [
          ['PATCH', '/retention'],
          ['POST', '/retention/dry-run'],
        ] as const) {
          const response = await ask(method, path, { [field]: days })
          expect([response.status, response.json.code]).toEqual([422, 'invalid'])
          expect(response.json.issues).toEqual([
            { path: [field], message: 'must be a whole number of days from 1 to 36500, or null to keep forever' },
          ])
        }
      expect((await ask('GET', '/retention')).json.data.policy.org.source).toBe('environment')
    },
  )
  it.each([[{ preset: 'lax' }], [{ preset: 'strict', org_days: 3 }], [{ surprise: 1 }], [[]], [7]])(
    'rejects %j with 422',
    async (body) => expect((await ask('PATCH', '/retention', body)).status).toBe(422),
  )
})

describe('a shorter period', () => {
  const forbidden = { status: 403, json: { code: 'forbidden' } }
  const inForce = async () => (await ask('GET', '/retention')).json.data.policy
  const sweep = async () => (await ask('POST', '/retention/sweep')).json.data.deleted.total
  const person = async (method: string, body?: unknown) =>
    test.fetch(method, '/v1/retention', { ...(await signedIn(test, 'admin')), body })

  it('is rejected with 403 for every token with scope admin, as a change, a preset or a reset, and nothing is deleted', async () => {
    const own = await issuedAgent(test, ['admin'], { owner: await signedIn(test, 'admin') })
    await ask('PATCH', '/retention', { network_days: null, org_days: null, private_days: 400 })
    const before = await inForce()
    for (const age of [2, 399]) await keep({ visibility: 'private', age: age * day })
    await keep({ visibility: 'org', age: 5_000 * day })
    await keep({ visibility: 'network', age: 5_000 * day })
    for (const token of [admin.token, own.token]) {
      for (const change of [
        { network_days: 36_500 },
        { org_days: 1 },
        { private_days: 399 },
        { private_days: null, org_days: 36_500 },
        { preset: 'default' },
        { preset: 'strict' },
      ])
        expect(await ask('PATCH', '/retention', change, token), JSON.stringify(change)).toMatchObject(forbidden)
      expect(await ask('DELETE', '/retention', undefined, token)).toMatchObject(forbidden)
    }
    expect(await inForce()).toEqual(before)
    expect(await sweep()).toBe(0)
    expect(await left()).toHaveLength(4)
  })

  it('applies 24 hours after an admin sets it in the console, and deletes nothing before', async () => {
    await keep({ visibility: 'private', age: 10 * day })
    const set = await person('PATCH', { private_days: 5 })
    const at = new Date(test.clock.now().getTime() + day).toISOString()
    expect(set.json.data.policy.private).toMatchObject({ days: 365, source: 'environment', next: { days: 5, at } })
    expect(await sweep()).toBe(0)
    test.clock.advance(day - 1)
    // The same period again does not start the time again.
    expect((await person('PATCH', { private_days: 5 })).json.data.policy.private.next.at).toBe(at)
    expect(await sweep()).toBe(0)
    test.clock.advance(1)
    expect(await inForce()).toMatchObject({ private: { days: 5, source: 'override' } })
    expect(await sweep()).toBe(1)
    // A later change starts from it.
    expect(await ask('PATCH', '/retention', { private_days: 4 })).toMatchObject(forbidden)
    expect((await ask('PATCH', '/retention', { private_days: 6 })).json.data.policy.private.days).toBe(6)
  })

  it('can be cancelled for 24 hours, also with a token and by a reset', async () => {
    const before = await inForce()
    await keep({ visibility: 'private', age: 10 * day })
    await person('PATCH', { private_days: 5 })
    await ask('PATCH', '/retention', { private_days: 365 })
    expect(await inForce()).toEqual(before)
    await person('PATCH', { private_days: 5, org_days: 5 })
    await ask('DELETE', '/retention')
    expect(await inForce()).toEqual(before)
    test.clock.advance(2 * day)
    expect(await sweep()).toBe(0)
  })

  it('restarts the 24 hours when an admin shortens it further', async () => {
    await keep({ visibility: 'private', age: 20 * day })
    await person('PATCH', { private_days: 200 })
    test.clock.advance(day - 1)
    await person('PATCH', { private_days: 10 })
    test.clock.advance(1)
    expect(await sweep()).toBe(0)
    test.clock.advance(day)
    expect(await sweep()).toBe(1)
  })

  it.each([
    ['demoted', { role: 'person' as const }],
    ['closed', { deactivatedAt: new Date() }],
  ])('of an admin who was %s before it is in force is withdrawn, and the other admins are told', async (_, change) => {
    const [former, other] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    await keep({ visibility: 'private', age: 10 * day })
    await test.fetch('PATCH', '/v1/retention', { ...former, body: { private_days: 5 } })
    await test.db.prisma.account.update({ where: { id: former.accountId }, data: change })
    test.clock.advance(day)
    expect((await inForce()).private).toEqual({ days: 365, source: 'environment' })
    await test.app.jobs.find(({ name: job }) => job === 'retention.sweep')?.execute(test.app.pipeline, {})
    expect((await ask('GET', '/retention/sweeps?limit=1')).json.data[0].deleted.total).toBe(0)
    expect(await test.db.prisma.retentionShortening.count()).toBe(0)
    expect(await left()).toHaveLength(1)
    await drain(test)
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: other.accountId } })
    const { letters } = await test.app.mail.folder.list({ after: undefined, limit: 100 })
    expect(letters.filter(({ to }) => to.includes(email)).map(({ subject }) => subject)).toEqual([
      'A shorter retention period was not applied',
    ])
  })

  it('stays in force if a sweep applied it before the admin was demoted, also if no job had settled it', async () => {
    const former = await signedIn(test, 'admin')
    const now = test.clock.now().getTime()
    const set = { setBy: `user:${former.accountId}`, setAt: new Date(now - 61 * day) }
    await test.db.prisma.retentionShortening.create({
      data: { visibility: 'private', days: 5, startsAt: new Date(now - 60 * day), ...set },
    })
    await test.db.prisma.retentionSweep.create({
      data: {
        id: newId('swp'),
        trigger: 'cron',
        requestedBy: 'system:retention.sweep',
        policy: { network: null, org: 730, private: 5 },
        startedAt: new Date(now - 30 * day),
        finishedAt: new Date(now - 30 * day),
      },
    })
    await test.db.prisma.account.update({ where: { id: former.accountId }, data: { role: 'person' } })
    await keep({ visibility: 'private', age: 10 * day })
    expect((await inForce()).private).toMatchObject({ days: 5, source: 'override' })
    await test.app.jobs.find(({ name: job }) => job === 'retention.sweep')?.execute(test.app.pipeline, {})
    expect(await left()).toHaveLength(0)
    expect(await test.db.prisma.retentionOverride.findMany()).toMatchObject([{ visibility: 'private', days: 5 }])
  })

  it('stays in force if the admin is demoted after a sweep applied it, or if the admin who set it is unknown', async () => {
    const former = await signedIn(test, 'admin')
    await test.fetch('PATCH', '/v1/retention', { ...former, body: { private_days: 5 } })
    test.clock.advance(day)
    await test.app.jobs.find(({ name: job }) => job === 'retention.sweep')?.execute(test.app.pipeline, {})
    await test.db.prisma.account.update({ where: { id: former.accountId }, data: { role: 'person' } })
    expect((await inForce()).private.days).toBe(5)
    await test.fetch('PATCH', '/v1/retention', { ...(await signedIn(test, 'admin')), body: { private_days: 4 } })
    await test.db.prisma.retentionShortening.updateMany({ data: { setBy: 'system:unknown' } })
    test.clock.advance(day)
    expect((await inForce()).private.days).toBe(4)
  })

  it('applies after 24 hours when a reset causes it', async () => {
    await ask('PATCH', '/retention', { private_days: null, org_days: 1_000 })
    await keep({ visibility: 'private', age: 366 * day })
    const reset = await person('DELETE')
    expect(reset.json.data.policy.private).toMatchObject({ days: null, next: { days: 365 } })
    expect(await sweep()).toBe(0)
    test.clock.advance(day)
    expect(await inForce()).toMatchObject({
      private: { days: 365, source: 'environment' },
      org: { days: 730, source: 'environment' },
    })
    expect(await sweep()).toBe(1)
  })
})

describe('a dry run', () => {
  it('returns what is due now and later, changes nothing, and the sweep deletes exactly that', async () => {
    await keep({ visibility: 'private', age: 31 * day })
    await keep({ visibility: 'private', age: 24 * day })
    await keep({ visibility: 'private', age: 2 * day })
    await keep({ visibility: 'org', age: 800 * day })
    await keep({ visibility: 'network', age: 800 * day })
    const dry = await ask('POST', '/retention/dry-run', { private_days: 30 })
    expect(dry.json.data).toEqual({
      policy: { network: null, org: 730, private: 30 },
      at: test.clock.now().toISOString(),
      would_delete: { network: 0, org: 1, private: 1, total: 2, held: 0 },
      upcoming: [
        { within_days: 7, network: 0, org: 1, private: 2, total: 3, held: 0 },
        { within_days: 30, network: 0, org: 1, private: 3, total: 4, held: 0 },
      ],
      records: expect.any(Array),
    })
    const { records } = dryRunRetention.output.parse(dry.json).data
    const daysLeft = (at: string) => Math.round((Date.parse(at) - test.clock.now().getTime()) / day)
    expect(records.map(({ kind, visibility, expires_at }) => [kind, visibility, daysLeft(expires_at)])).toEqual([
      ['unit', 'org', -70],
      ['unit', 'private', -1],
      ['unit', 'private', 6],
      ['unit', 'private', 28],
    ])
    expect(Object.keys(records[0] ?? {})).not.toContain('document')
    expect(await left()).toHaveLength(5)
    expect((await ask('GET', '/retention')).json.data.policy.private).toEqual({ days: 365, source: 'environment' })
    expect((await ask('POST', '/retention/dry-run')).json.data.would_delete.total).toBe(1)
    await setInForce({ private_days: 30 })
    expect((await ask('POST', '/retention/sweep')).json.data.deleted).toEqual({
      network: 0,
      org: 1,
      private: 1,
      total: 2,
    })
    expect(await left()).toHaveLength(3)
  })
})

describe('a dry run and a sweep at the same time', () => {
  it.each([
    ['in force', {}],
    ['stricter', { preset: 'strict' }],
    ['of an admin’s own', { network_days: 500, org_days: 1, private_days: null }],
  ])('agree by visibility and in held records under periods %s', async (_, change) => {
    const held = await issuedAgent(test, ['read', 'write'])
    const visibilities = ['network', 'org', 'private'] as const
    for (const visibility of visibilities)
      for (const age of [0, 1, 179, 180, 181, 364, 365, 366, 499, 500, 729, 730, 731]) {
        await keep({ visibility, age: age * day })
        await keep({ visibility, age: age * day + 1 })
      }
    for (const visibility of visibilities) await keepSkill(visibility, 800 * day)
    const retained = await keep({ visibility: 'org', age: 900 * day })
    await hold('unit', retained)
    for (const visibility of visibilities) await keep({ visibility, age: 900 * day, agent: held.id })
    await hold('agent', held.id)
    const answer = (await ask('POST', '/retention/dry-run', change)).json.data
    await setInForce(change)
    const { held: kept_by_holds, ...removed } = answer.would_delete
    const swept = (await ask('POST', '/retention/sweep')).json.data
    expect(swept).toMatchObject({ policy: answer.policy, deleted: removed, held: kept_by_holds })
    expect(removed.total).toBeGreaterThan(0)
    expect(kept_by_holds).toBeGreaterThan(0)
    expect((await ask('POST', '/retention/dry-run')).json.data.would_delete).toEqual({
      network: 0,
      org: 0,
      private: 0,
      total: 0,
      held: kept_by_holds,
    })
  })
})

describe('sweeps through the API', () => {
  it('return the result and the requester, are audited, and can be read again', async () => {
    const id = await keep({ visibility: 'private', age: 400 * day })
    const { cookie, accountId } = await signedIn(test, 'admin')
    const response = await test.fetch('POST', '/v1/retention/sweep', { cookie })
    expect(response.status).toBe(200)
    expect(response.headers.get('location')).toBe(`/v1/retention/sweeps/${response.json.data.id}`)
    expect(response.json.data).toMatchObject({
      state: 'finished',
      trigger: 'demand',
      requested_by: `user:${accountId}`,
      policy: { network: null, org: 730, private: 365 },
      deleted: { total: 1 },
    })
    const { audit, deletions } = await rowsAbout([id])
    expect(audit).toMatchObject([{ agent_id: `user:${accountId}`, ip: '127.0.0.1' }])
    expect(deletions).toMatchObject([{ requested_by: `user:${accountId}` }])
    expect((await ask('GET', `/retention/sweeps/${response.json.data.id}`)).json.data).toEqual(response.json.data)
    const [created] = await test.app.audit.query(
      { resource_type: 'retention-sweep', action: 'create', resource_id: response.json.data.id },
      test.clock.now(),
    )
    expect(created).toMatchObject({ agentId: `user:${accountId}` })
    expect((await ask('GET', `/retention/sweeps/${newId('swp')}`)).status).toBe(404)
  })

  it('return 202 with the Location after ten seconds, and continue', async () => {
    await keepMany(10)
    const guard = await statusBefore(`${name}00000005`)
    const response = await ask('POST', '/retention/sweep')
    expect([response.status, response.json.data.state, response.json.data.deleted.total]).toEqual([202, 'running', 0])
    const address = response.headers.get('location') ?? ''
    await guard.letGo()
    await expect
      .poll(async () => (await test.fetch('GET', address, { token: admin.token })).json.data, { timeout: 120_000 })
      .toMatchObject({ state: 'finished', deleted: { total: 10 } })
  })

  it('run once when they have the same Idempotency-Key', async () => {
    const headers = { 'Idempotency-Key': newId('key') }
    const asked = () => test.fetch('POST', '/v1/retention/sweep', { token: admin.token, headers })
    const first = await asked()
    const again = await asked()
    expect(again.json.data.id).toBe(first.json.data.id)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
  })

  it('are listed newest first and in pages, each once', async () => {
    for (let n = 0; n < 5; n++) {
      await ask('POST', '/retention/sweep')
      test.clock.advance(1_000)
    }
    const ids: string[] = []
    let total = 0
    for (let cursor: string | null = ''; cursor !== null; ) {
      const { json } = await ask('GET', `/retention/sweeps?limit=3${cursor && `&cursor=${cursor}`}`)
      ids.push(...json.data.map(({ id }: { id: string }) => id))
      total = json.total
      cursor = json.next_cursor
    }
    expect([ids.length, new Set(ids).size]).toEqual([total, total])
    expect((await ask('GET', '/retention/sweeps?cursor=altered')).status).toBe(422)
  })

  it('can be started only by admins, while auditors can read policy and history', async () => {
    const agent = await issuedAgent(test, ['read', 'write'])
    const auditor = await signedIn(test, 'auditor')
    const person = await signedIn(test)
    const everything = [
      ['GET', ''],
      ['PATCH', ''],
      ['DELETE', ''],
      ['POST', '/dry-run'],
      ['POST', '/sweep'],
      ['GET', '/sweeps'],
    ] as const
    for (const [method, path] of everything) {
      const url = `/v1/retention${path}`
      const body = method === 'PATCH' ? {} : undefined
      expect((await test.fetch(method, url, { body })).status).toBe(401)
      expect((await test.fetch(method, url, { body, token: agent.token })).status).toBe(403)
      expect((await test.fetch(method, url, { body, cookie: person.cookie })).status).toBe(403)
      expect((await test.fetch(method, url, { body, cookie: auditor.cookie })).status).toBe(
        method === 'GET' ? 200 : 403,
      )
    }
  })
})
