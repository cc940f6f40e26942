import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { TestResponse } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { trace } from '#lib/testing/units.ts'

const day = 86_400_000
let setting: PrivacyTest
let person: Person
let agent: Issued
let manager: Person
let auditor: Person
let stranger: Person
beforeAll(async () => {
  setting = await privacyTest()
  const { test } = setting
  person = await signedIn(test)
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person })
  manager = await signedIn(test, 'manager', person.organisationId)
  auditor = await signedIn(test, 'auditor')
  stranger = await signedIn(test)
})
afterAll(() => setting?.close())

const get = (path: string, cookie: string): Promise<TestResponse> => setting.test.fetch('GET', path, { cookie })
const overview = async (cookie = person.cookie) => (await get('/api/overview', cookie)).json.data
const work = async (cookie: string) => (await get('/api/work', cookie)).json.data
const waiting = async (cookie = setting.admin.cookie) => (await get('/api/admin/waiting', cookie)).json.data
const store = async (visibility: string, { token } = agent): Promise<string> =>
  (await setting.test.fetch('POST', '/v1/knowledge', { token, body: trace({}, { visibility }) })).json.data.id
/** Makes a unit older by this number of days. */
const aged = (id: string, days: number) =>
  setting.test.db.pool.query("UPDATE units SET created_at = created_at - $2 * interval '1 day' WHERE id = $1", [
    id,
    days,
  ])
const audited = () => setting.test.db.prisma.auditEntry.count()

describe('authorization', () => {
  it.each(['/api/overview', '/api/work', '/api/admin/waiting', '/api/receipts'])(
    '%s returns 401 without a session and 403 for a token without the role',
    async (path) => {
      const nobody = await setting.test.fetch('GET', path)
      expect([nobody.status, nobody.json.code]).toEqual([401, 'sign_in_needed'])
      const token = await setting.test.fetch('GET', path, { token: agent.token })
      expect(token.status).toBe(403)
    },
  )

  it('GET /api/admin/waiting is limited to admins and auditors, and auditors get only audit data', async () => {
    for (const { cookie } of [person, manager]) expect((await get('/api/admin/waiting', cookie)).status).toBe(403)
    expect(await waiting(auditor.cookie)).toEqual({
      as_of: expect.any(String),
      requests: null,
      erasures: { running: 0, stuck: 0, failed: 0 },
      quarantined: null,
      holds: null,
      outbox: null,
      notices: { unread: 0 },
      revocations: null,
      approvals: null,
    })
  })

  it('a revoked session is rejected on the next request', async () => {
    const deleted = await signedIn(setting.test)
    expect((await get('/api/work', deleted.cookie)).status).toBe(200)
    await setting.test.db.pool.query('UPDATE sessions SET revoked_at = now() WHERE account_id = $1', [
      deleted.accountId,
    ])
    for (const path of ['/api/overview', '/api/work', '/api/receipts'])
      expect((await get(path, deleted.cookie)).status).toBe(401)
  })

  it('overviews write no audit entry, and the list of receipts writes one with a count and no receipt id', async () => {
    const before = await audited()
    for (const path of ['/api/overview', '/api/work', '/api/admin/waiting']) await get(path, setting.admin.cookie)
    expect(await audited()).toBe(before)
    await get('/api/receipts', person.cookie)
    expect(await audited()).toBe(before + 1)
    const entry = await setting.test.db.prisma.auditEntry.findFirstOrThrow({ where: { resourceType: 'receipt' } })
    expect(entry).toMatchObject({
      action: 'read',
      resourceId: 'list',
      details: { operation: 'listReceipts', count: 0 },
    })
  })
})

describe('the overview', () => {
  it('of a new account returns the account and its sign-in', async () => {
    const fresh = await signedIn(setting.test)
    const answer = await overview(fresh.cookie)
    const inventory = (await get('/api/privacy/inventory', fresh.cookie)).json
    expect(answer).toMatchObject({
      held: { records: inventory.total, stores: 1 },
      agents: { total: 0, restricted: 0, suspended: 0 },
      tokens: { active: 0, expiring: 0, next_expiry: null, last_used_at: null },
      requests: { open: 0, shown: [] },
      expiring: { days: 30, total: 0, by_visibility: [], exports: [] },
      receipts: [],
      sign_ins: [{ at: expect.any(String), is_current: true }],
    })
  })

  it('counts the same records as the inventory, and none of other people', async () => {
    const other = await issuedAgent(setting.test, ['read', 'write'], { owner: stranger })
    await store('private', other)
    await store('org')
    const answer = await overview()
    const inventory = (await get('/api/privacy/inventory', person.cookie)).json
    expect(answer.held.records).toBe(inventory.total)
    expect(answer.agents).toEqual({ total: 1, restricted: 0, suspended: 0 })
    expect(answer.tokens).toMatchObject({ active: 1, expiring: 0, next_expiry: null })
  })

  it('counts tokens that expire within 14 days, and no expired ones', async () => {
    const owner = await signedIn(setting.test)
    const own = await issuedAgent(setting.test, ['read', 'write'], { owner })
    const now = setting.test.clock.now().getTime()
    for (const [index, days] of [-1, 3, 14, 15].entries())
      await setting.test.db.prisma.token.create({
        data: {
          id: newId('tok'),
          agentId: own.id,
          limitKey: newId('key'),
          hash: new Uint8Array([index, ...Buffer.from(newId('h'))]),
          prefix: newId('kp'),
          scopes: ['read'],
          createdAt: new Date(now),
          expiresAt: new Date(now + days * day),
        },
      })
    expect((await overview(owner.cookie)).tokens).toMatchObject({
      active: 4,
      expiring: 2,
      next_expiry: new Date(now + 3 * day).toISOString(),
    })
  })

  it('returns records that expire within 30 days by visibility, without records under legal hold', async () => {
    const owner = await signedIn(setting.test)
    const own = await issuedAgent(setting.test, ['read', 'write'], { tier: 'enterprise', owner })
    const sibling = await issuedAgent(setting.test, ['read', 'write'], { owner })
    // Private: 365 days. Organization: 730 days. Network: no expiry.
    for (const [visibility, days] of [
      ['private', 334],
      ['private', 336],
      ['private', 350],
      ['org', 720],
      ['org', 400],
      ['network', 5_000],
    ] as const)
      await aged(await store(visibility, own), days)
    await aged(await store('private', sibling), 360)
    const held = await store('private', own)
    await aged(held, 360)
    const hold = { kind: 'unit', target_id: held, reason: 'a court asked for it' }
    await setting.test.fetch('POST', '/v1/holds', { cookie: setting.admin.cookie, body: hold })
    const { expiring } = await overview(owner.cookie)
    expect(expiring).toMatchObject({
      total: 4,
      by_visibility: expect.arrayContaining([
        { visibility: 'private', count: 3, first_at: expect.any(String) },
        { visibility: 'org', count: 1, first_at: expect.any(String) },
      ]),
    })
    const [first] = expiring.by_visibility.filter(({ visibility }: { visibility: string }) => visibility === 'private')
    expect(Math.round((Date.parse(first.first_at) - setting.test.clock.now().getTime()) / day)).toBe(5)
  })

  it('returns open requests, most urgent first, and no closed ones', async () => {
    const owner = await signedIn(setting.test)
    const filed = await setting.file(owner.cookie, { kinds: ['objection'], statement: 'I object.' })
    const later = await setting.file(owner.cookie, { kinds: ['erasure'], grace: '14d' })
    expect([filed.status, later.status]).toEqual([201, 201])
    const answer = await overview(owner.cookie)
    expect(answer.requests.open).toBe(2)
    expect(answer.requests.shown[0]).toEqual({
      id: expect.stringMatching(/^preq_/),
      kinds: expect.any(Array),
      state: 'received',
      agent_id: null,
      received_at: expect.any(String),
      waiting_until: null,
      due_at: null,
      legal_due_at: expect.any(String),
      due: 'ok',
      seconds_left: expect.any(Number),
      can_cancel: true,
    })
    expect(JSON.stringify(answer)).not.toContain('I object')
    await setting.act(owner.cookie, later.json.data.id, 'cancel')
    expect((await overview(owner.cookie)).requests.open).toBe(1)
    expect((await overview(stranger.cookie)).requests.open).toBe(0)
  })
})

describe("the list of a person's receipts", () => {
  it("contains erasures by the person's agents, newest first, in pages, and is invisible to others", async () => {
    const owner = await signedIn(setting.test)
    const own = await issuedAgent(setting.test, ['read', 'write'], { tier: 'enterprise', owner })
    const erased: string[] = []
    for (let n = 0; n < 3; n++) {
      const id = await store('private', own)
      setting.test.clock.advance(1_000)
      await setting.test.fetch('DELETE', `/v1/knowledge/${id}`, { token: own.token })
      erased.unshift(id)
    }
    const first = (await get('/api/receipts?limit=2', owner.cookie)).json
    expect(first).toMatchObject({ total: 3, limit: 2, next_cursor: expect.any(String) })
    const rest = (await get(`/api/receipts?limit=2&cursor=${first.next_cursor}`, owner.cookie)).json
    const rows = [...first.data, ...rest.data]
    expect(rows.map(({ deleted_id }: { deleted_id: string }) => deleted_id)).toEqual(erased)
    expect(rows[0]).toMatchObject({ kind: 'unit', signed_at: expect.any(String) })
    expect((await setting.test.fetch('GET', `/v1/receipts/${rows[0].receipt_id}`)).status).toBe(200)
    expect((await overview(owner.cookie)).receipts.map(({ deleted_id }: { deleted_id: string }) => deleted_id)).toEqual(
      erased,
    )
    for (const { cookie } of [stranger, setting.admin])
      expect((await get('/api/receipts', cookie)).json).toMatchObject({ data: [], total: 0 })
    expect((await get('/api/receipts?cursor=nonsense', owner.cookie)).status).toBe(422)
  })

  it("contains the signed receipt of an agent's erasure for the former owner who requested it", async () => {
    const owner = await signedIn(setting.test)
    const own = await issuedAgent(setting.test, ['read', 'write'], { owner })
    const filed = await setting.file(owner.cookie, {
      kinds: ['erasure'],
      grace: 'now',
      agent_id: own.id,
      password: await passwordOf(owner),
    })
    expect(filed.json.data).toMatchObject({ state: 'running' })
    expect((await get('/api/receipts', owner.cookie)).json.total).toBe(0)
    // Before the first job the erasure is already running, and the requester's own.
    expect(await work(owner.cookie)).toMatchObject({
      total: 1,
      stuck: 0,
      items: [{ kind: 'erasure', is_own: true, request_id: filed.json.data.id, state: 'running', done: 0 }],
    })
    expect(await work(stranger.cookie)).toMatchObject({ total: 0, items: [] })
    expect((await work(setting.admin.cookie)).items).toMatchObject([
      { kind: 'erasure', is_own: false, request_id: filed.json.data.id },
    ])
    expect((await work(auditor.cookie)).items).toMatchObject([{ kind: 'erasure', is_own: false, request_id: null }])
    expect((await waiting()).erasures).toEqual({ running: 1, stuck: 0, failed: 0 })
    await setting.work()
    expect(await work(owner.cookie)).toMatchObject({ total: 0, items: [] })
    const { data } = (await get('/api/receipts', owner.cookie)).json
    expect(data).toMatchObject([
      { receipt_id: filed.json.data.receipt_id, deleted_id: own.id, kind: 'agent', signed_at: expect.any(String) },
    ])
    expect((await get('/api/receipts', stranger.cookie)).json.total).toBe(0)
  })
})

describe('running and waiting work', () => {
  it("includes a person's exports while they are prepared, and then as downloads", async () => {
    const owner = await signedIn(setting.test)
    const begun = await setting.test.fetch('POST', '/api/privacy/exports', { cookie: owner.cookie, body: {} })
    expect(begun.status).toBe(202)
    expect((await work(owner.cookie)).items).toMatchObject([
      { kind: 'export', id: begun.json.data.id, is_own: true, state: 'waiting', done: 0, total: 0 },
    ])
    // An admin does not see other people's exports.
    expect((await work(setting.admin.cookie)).items).toEqual([])
    await setting.work()
    expect((await work(owner.cookie)).total).toBe(0)
    expect((await overview(owner.cookie)).expiring.exports).toMatchObject([
      { id: begun.json.data.id, is_downloaded: false },
    ])
  })

  it('includes partial erasures of projects for the requester, with a link, and for admins', async () => {
    const owner = await signedIn(setting.test)
    const { db, clock } = setting.test
    await db.prisma.erasureRun.create({
      data: {
        id: 'run_part',
        receiptId: 'rcpt_part',
        auditId: '00000000-0000-4000-8000-00000000000a',
        agents: [],
        partKind: 'message',
        partId: 'msg_part',
        projectId: 'prj_part',
        conversationId: 'conv_part',
        requestedBy: `user:${owner.accountId}`,
        reason: 'user_request',
        createdAt: clock.now(),
      },
    })
    const one = { kind: 'erasure', id: 'run_part', request_id: null, state: 'running' }
    expect((await work(owner.cookie)).items).toMatchObject([{ ...one, is_own: true, project_id: 'prj_part' }])
    expect((await work(person.cookie)).items).toEqual([])
    for (const { cookie } of [setting.admin, auditor])
      expect((await work(cookie)).items).toMatchObject([{ ...one, is_own: false, project_id: null }])
    await db.prisma.erasureRun.update({ where: { id: 'run_part' }, data: { state: 'failed' } })
    expect((await work(owner.cookie)).items).toMatchObject([{ ...one, state: 'stuck' }])
    await db.prisma.erasureRun.delete({ where: { id: 'run_part' } })
    expect((await work(owner.cookie)).total).toBe(0)
  })

  it('includes a running sweep for actors who may see retention', async () => {
    const { db, clock } = setting.test
    const row = { trigger: 'cron', requestedBy: 'system:test', policy: {}, startedAt: clock.now() }
    await db.prisma.retentionSweep.create({ data: { id: 'swp_test', ...row, deleted: { private: 7 } } })
    const sweep = { kind: 'sweep', id: 'swp_test', state: 'running', done: 7, total: 0, is_own: false }
    for (const { cookie } of [setting.admin, auditor]) expect((await work(cookie)).items).toMatchObject([sweep])
    expect((await work(person.cookie)).items).toEqual([])
    await db.prisma.retentionSweep.update({ where: { id: 'swp_test' }, data: { finishedAt: clock.now() } })
    expect((await work(setting.admin.cookie)).items).toEqual([])
  })

  it('counts the same requests as the admin queue', async () => {
    const owner = await signedIn(setting.test)
    await setting.file(owner.cookie, { kinds: ['erasure'] })
    const total = async (query: string): Promise<number> =>
      (await get(`/api/admin/privacy/requests?open=true&${query}`, setting.admin.cookie)).json.total
    const counted = (await waiting()).requests
    expect(counted.open).toBeGreaterThan(0)
    expect(counted).toEqual({
      open: await total(''),
      near: await total('due=near'),
      week: await total('due=week'),
      overdue: await total('due=overdue'),
      unconfirmed: 0,
    })
    setting.test.clock.advance(25 * day)
    expect((await waiting()).requests.week).toBe(await total('due=week'))
    expect((await waiting()).requests.week).toBeGreaterThan(0)
    setting.test.clock.advance(30 * day)
    expect((await waiting()).requests.overdue).toBe(await total('due=overdue'))
    expect((await waiting()).requests.overdue).toBeGreaterThan(0)
  })

  it('counts legal holds that end soon, quarantined units, and tokens revoked by rate limits', async () => {
    const { db, clock } = setting.test
    const { cookie } = setting.admin
    const before = await waiting()
    const id = await store('network')
    for (const days of [6, 8])
      await setting.test.fetch('POST', '/v1/holds', {
        cookie,
        body: {
          kind: 'unit',
          target_id: id,
          reason: 'for a while',
          expires_at: new Date(clock.now().getTime() + days * day).toISOString(),
        },
      })
    await db.pool.query('UPDATE units SET quarantined_at = $2 WHERE id = $1', [id, clock.now()])
    const revoked = await issuedAgent(setting.test, ['read'], { owner: person })
    await db.pool.query("UPDATE tokens SET revoked_at = $2, revoked_reason = 'rate_limit' WHERE id = $1", [
      revoked.tokenId,
      clock.now(),
    ])
    const now = await waiting()
    expect(now.holds.ending).toBe(before.holds.ending + 1)
    expect(now.quarantined).toBe(before.quarantined + 1)
    expect(now.revocations.recent).toBe(before.revocations.recent + 1)
    // A mail server delivers emails, so there is no folder.
    expect(now.outbox).toEqual({ undelivered: 0, files: null })
    clock.advance(8 * day)
    expect((await waiting()).revocations.recent).toBe(before.revocations.recent)
  })
})

const passwordOf = async ({ accountId }: Person): Promise<string> => {
  const { hashPassword } = await import('#lib/domains/accounts/passwords.ts')
  const passwordHash = await hashPassword('a password of the test')
  await setting.test.db.prisma.account.update({ where: { id: accountId }, data: { passwordHash } })
  return 'a password of the test'
}
