import { Client } from 'pg'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { nearlyDueSql, nextDueSql } from './repository.ts'
import { nearlyDueAt, nextDue } from './rules.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const day = 86_400_000
const adminEmails = async () => {
  const { email } = await kit.test.db.prisma.account.findUniqueOrThrow({ where: { id: kit.admin.accountId } })
  return kit.emailsTo(email)
}

const digest = async () => {
  await kit.test.app.jobs.find(({ name }) => name === 'accounts.digest')?.execute(kit.test.app.pipeline, {})
  await kit.work()
}

it('requests are flagged as nearly due and overdue once each, and admins get one email a day with counts', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['objection'], password: person.password })).json.data
  await kit.tick()
  await digest()
  expect(await adminEmails()).toHaveLength(0)
  kit.test.clock.advance(2.5 * day)
  await kit.tick()
  await kit.tick()
  expect(await adminEmails()).toHaveLength(0)
  await digest()
  expect((await adminEmails()).map(({ subject }) => subject)).toEqual(['Privacy requests are due soon'])
  kit.test.clock.advance(day)
  for (let hour = 0; hour < 5; hour++) {
    kit.test.clock.advance(3_600_000)
    await kit.tick()
  }
  expect(await adminEmails()).toHaveLength(1)
  await digest()
  const [, overdue] = await adminEmails()
  expect([overdue?.subject, (await adminEmails()).length]).toEqual(['Privacy requests are overdue', 2])
  expect(overdue?.text).toContain('Overdue: 1.')
  expect(overdue?.text).not.toContain(id)
  const queue = await kit.test.fetch('GET', '/api/admin/privacy/requests?due=overdue', { cookie: kit.admin.cookie })
  expect(queue.json.data.map((row: { id: string; due: string }) => [row.id, row.due])).toEqual([[id, 'overdue']])
  const { timeline } = await kit.adminRead(id)
  expect(timeline.filter(({ event }: { event: string }) => event === 'overdue' || event === 'nearly_due')).toHaveLength(
    2,
  )
  // Internal reminders are not in the subject's timeline.
  expect((await kit.read(person.cookie, id)).timeline.some(({ event }: { event: string }) => event === 'overdue')).toBe(
    false,
  )
  await kit.asAdmin(id, 'complete', { kind: 'objection', note: 'Upheld.' })
  await digest()
  expect(await adminEmails()).toHaveLength(2)
})

it('an unconfirmed request is closed as expired after a month, and the subject gets an email', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['access'] })).json.data
  kit.test.clock.advance(32 * day)
  await kit.tick()
  const read = await kit.read(person.cookie, id)
  expect([read.state, read.timeline.at(-1).event, read.timeline.at(-1).by]).toEqual(['cancelled', 'expired', 'system'])
  expect(kit.emailsTo(person.email).at(-1)?.subject).toBe('Your privacy request has expired')
})

it('the address is deleted with the last email, or after seven days when the email cannot be sent', async () => {
  const contactOf = async (id: string) =>
    (await kit.test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })).contact
  const [one, other] = [await personWithPassword(kit.test), await personWithPassword(kit.test)]
  const file = async (person: typeof one) =>
    (await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })).json.data.id
  const sent = await file(one)
  expect(await contactOf(sent)).not.toBeNull()
  await kit.work()
  expect(await contactOf(sent)).toBeNull()
  kit.post.refuse(true)
  const unsent = await file(other)
  await expect(kit.work()).rejects.toThrow('rejected the email')
  expect(await contactOf(unsent)).not.toBeNull()
  kit.test.clock.advance(7 * day + 1)
  await kit.clockJob()
  expect(await contactOf(unsent)).toBeNull()
  kit.post.refuse(false)
  await kit.work()
  expect(kit.emailsTo(other.email)).toEqual([])
})

it('the stored address of a request is sealed', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['access'] })).json.data
  const { rows } = await kit.test.db.pool.query(
    'SELECT privacy_requests::text AS text FROM privacy_requests WHERE id = $1',
    [id],
  )
  expect(rows[0].text).not.toContain(person.email)
  expect(rows[0].text).not.toContain(Buffer.from(person.email).toString('hex'))
})

it("emails are in the subject's language, as text and HTML", async () => {
  const person = await personWithPassword(kit.test)
  await kit.test.db.prisma.account.update({ where: { id: person.accountId }, data: { locale: 'zh' } })
  const made = await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })
  await kit.work()
  const [email] = kit.emailsTo(person.email)
  expect(email?.subject).toBe('您的数据将被删除')
  expect(email?.text).toContain('请打开下面的页面并点击按钮')
  expect(email?.html).toContain('lang="zh"')
  expect((await kit.use(kit.linkTo(person.email, 'cancel'), 'cancel')).json.data.state).toBe('cancelled')
  await kit.work()
  expect(kit.emailsTo(person.email).at(-1)?.text).toContain(made.json.data.id)
})

it("the erasure of an owner closes the erasure of an agent as moot, and cancelling the owner's erasure keeps the agent's tokens suspended", async () => {
  const owner = await personWithPassword(kit.test)
  const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
  const own = await kit.file(owner.cookie, {
    kinds: ['erasure'],
    agent_id: agent.id,
    grace: '14d',
    password: owner.password,
  })
  const all = await kit.file(owner.cookie, { kinds: ['erasure'], grace: '7d', password: owner.password })
  await kit.act(owner.cookie, all.json.data.id, 'cancel')
  expect((await kit.test.fetch('GET', '/v1/auth/me', { token: agent.token })).json.code).toBe('token_suspended')
  const again = await kit.file(owner.cookie, { kinds: ['erasure'], grace: 'now', password: owner.password })
  expect(again.json.data.state).toBe('running')
  expect((await kit.adminRead(own.json.data.id)).state).toBe('cancelled')
  await kit.work()
  expect((await kit.adminRead(again.json.data.id)).state).toBe('completed')
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { agentId: agent.id } })).toBe(0)
})

it('the erasure of the last admin waits for another admin, with one email, while the deadlines and the grace period continue', async () => {
  const role = (id: string, to: 'admin' | 'auditor') =>
    kit.test.db.prisma.account.update({ where: { id }, data: { role: to } })
  const person = await personWithPassword(kit.test)
  await role(person.accountId, 'admin')
  const { id, legal_due_at, due_at } = (
    await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })
  ).json.data
  await role(kit.admin.accountId, 'auditor')
  kit.test.clock.advance(day + 1)
  await kit.tick()
  await kit.tick()
  const waiting = await kit.read(person.cookie, id)
  expect([waiting.state, waiting.paused, waiting.legal_due_at, waiting.due_at]).toEqual([
    'waiting',
    null,
    legal_due_at,
    due_at,
  ])
  expect(waiting.timeline.filter(({ event }: { event: string }) => event === 'blocked')).toHaveLength(1)
  expect(kit.emailsTo(person.email).filter(({ text }) => text.includes('last administrator'))).toHaveLength(1)
  await role(kit.admin.accountId, 'admin')
  await kit.tick()
  expect((await kit.adminRead(id)).state).toBe('completed')
})

it('a fault of a batch that no single request reproduces is logged once, and the requests are processed', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })).json.data
  kit.test.clock.advance(day + 1)
  // Sequences are not rolled back: only the first change fails.
  const owner = new Client({ connectionString: kit.test.ownerUrl })
  await owner.connect()
  await owner.query(`CREATE SEQUENCE first_change; GRANT ALL ON SEQUENCE first_change TO PUBLIC;
    CREATE FUNCTION fail_once() RETURNS trigger LANGUAGE plpgsql AS $$
    BEGIN IF nextval('first_change') = 1 THEN RAISE EXCEPTION 'once'; END IF; RETURN NEW; END $$;
    CREATE TRIGGER fail_once BEFORE UPDATE ON privacy_requests FOR EACH ROW EXECUTE FUNCTION fail_once()`)
  const log = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  onTestFinished(() => log.mockRestore())
  await kit.clockJob()
  const faults = log.mock.calls.map(([line]) => String(line)).filter((line) => line.includes('privacy.clock'))
  await owner.query('DROP TRIGGER fail_once ON privacy_requests; DROP FUNCTION fail_once; DROP SEQUENCE first_change')
  await owner.end()
  expect(faults).toHaveLength(1)
  expect((await kit.adminRead(id)).state).toBe('running')
  await kit.work()
})

it('requests are deleted KP_REQUESTS_YEARS after closing, and the erasure plan names that date', async () => {
  const brief = await privacyTest({ KP_REQUESTS_YEARS: '1' })
  try {
    const person = await personWithPassword(brief.test)
    const { id } = (await brief.file(person.cookie, { kinds: ['restriction'], password: person.password })).json.data
    const plan = await brief.test.fetch('GET', '/api/privacy/plan', { cookie: person.cookie })
    const request = plan.json.data.retained.find(({ what }: { what: string }) => what.includes('privacy request'))
    const left = new Date(request.until).getTime() - brief.test.clock.now().getTime()
    expect([364 * day < left, left < 367 * day]).toEqual([true, true])
    brief.test.clock.advance(363 * day)
    await brief.clockJob()
    expect(await brief.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(1)
    brief.test.clock.advance(4 * day)
    await brief.clockJob()
    expect(await brief.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(0)
  } finally {
    await brief.close()
  }
})

it.each([
  ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', null],
  ['2026-01-31T10:00:00Z', '2026-02-28T10:00:00Z', '2026-02-03T10:00:00Z'],
  ['2026-01-31T10:00:00Z', '2026-04-30T10:00:00.123Z', '2026-04-30T09:00:00.001Z'],
  ['2026-01-01T00:00:00Z', '2026-01-02T00:00:00Z', '2026-01-02T00:00:00Z'],
])(
  'the SQL clocks equal the rules for received %s, legal deadline %s, own deadline %s',
  async (received, legal, ours) => {
    const [receivedAt, legalDueAt, dueAt] = [new Date(received), new Date(legal), ours === null ? null : new Date(ours)]
    const { rows } = await kit.test.db.pool.query(
      `SELECT ${nearlyDueSql} AS near, ${nextDueSql} AS due
     FROM (VALUES ($1::timestamptz, $2::timestamptz, $3::timestamptz)) AS clocks (received_at, legal_due_at, due_at)`,
      [receivedAt, legalDueAt, dueAt],
    )
    const clocks = { state: 'running', receivedAt, legalDueAt, dueAt, pausedAt: null, extendedAt: null } as const
    expect(rows).toEqual([{ near: nearlyDueAt(clocks), due: nextDue(clocks) }])
  },
)

it('a closed request is deleted with its timeline after three years', async () => {
  const person = await personWithPassword(kit.test)
  const { id } = (await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })).json.data
  kit.test.clock.advance(3 * 365 * day - 2 * day)
  await kit.clockJob()
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(1)
  kit.test.clock.advance(4 * day)
  await kit.clockJob()
  expect(await kit.test.db.prisma.privacyRequest.count({ where: { id } })).toBe(0)
  expect(await kit.test.db.prisma.privacyRequestEvent.count({ where: { requestId: id } })).toBe(0)
})
