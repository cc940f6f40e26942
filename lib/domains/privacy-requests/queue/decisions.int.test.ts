import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const hour = 3_600_000
const day = 24 * hour
const fileFor = (body: object) => kit.fileAsAdmin(body)
const byMail = async (more: object = {}): Promise<{ person: MadePerson; id: string }> => {
  const person = await personWithPassword(kit.test)
  const made = await fileFor({
    kinds: ['access'],
    email: person.email.toUpperCase(),
    received_at: kit.test.clock.now(),
    ...more,
  })
  expect(made.status).toBe(201)
  return { person, id: made.json.data.id }
}
const eventsOf = async (id: string): Promise<string[]> =>
  (await kit.adminRead(id)).timeline.map(({ event }: { event: string }) => event)

describe('a request received by mail', () => {
  it('counts its deadline from the receipt and is verified by a link to the stored address', async () => {
    const receivedAt = new Date(kit.test.clock.now().getTime() - 10 * day)
    const { person, id } = await byMail({ received_at: receivedAt.toISOString(), statement: 'As in my letter.' })
    const read = await kit.adminRead(id)
    expect([read.channel, read.state, read.received_at, read.account_id, read.statement]).toEqual([
      'mail',
      'received',
      receivedAt.toISOString(),
      person.accountId,
      'As in my letter.',
    ])
    await kit.work()
    expect((await kit.use(kit.linkTo(person.email, 'verify'), 'verify')).json.data.state).toBe('running')
  })
  it.each([
    ['in the future', 1, ['received_at']],
    ['too long ago', -61 * day, ['received_at']],
  ])('is rejected with 422 when received %s', async (_, offset, path) => {
    const { email } = await personWithPassword(kit.test)
    const response = await fileFor({
      kinds: ['access'],
      email,
      received_at: new Date(kit.test.clock.now().getTime() + offset),
    })
    expect([response.status, response.json.issues[0].path]).toEqual([422, path])
  })
  it('is rejected with 422 without exactly one subject, and with 404 for an unknown subject', async () => {
    const received_at = kit.test.clock.now()
    const { email, accountId } = await personWithPassword(kit.test)
    for (const [body, status] of [
      [{}, 422],
      [{ email, account_id: accountId }, 422],
      [{ email: 'nobody@example.org' }, 404],
      [{ account_id: `usr_${'0'.repeat(22)}` }, 404],
      [{ agent_id: 'nobody' }, 404],
    ] as const)
      expect([body, (await fileFor({ kinds: ['access'], received_at, ...body })).status]).toEqual([body, status])
  })
  it('is verified by an admin with internal evidence when it concerns an agent without an owner', async () => {
    const agent = await issuedAgent(kit.test, ['read', 'write'])
    const made = await fileFor({ kinds: ['restriction'], agent_id: agent.id, received_at: kit.test.clock.now() })
    const { id } = made.json.data
    const response = await kit.asAdmin(id, 'verify', { note: 'Signed with the key that the agent publishes.' })
    expect([response.status, response.json.data.state, response.json.data.verified_by]).toEqual([
      200,
      'completed',
      'admin',
    ])
    const { timeline } = await kit.adminRead(id)
    expect(timeline.find(({ event }: { event: string }) => event === 'evidence')).toMatchObject({
      internal: true,
      by: 'admin',
    })
    // A mailed request is not visible to the agent's token.
    expect((await kit.test.fetch('GET', `/api/privacy/requests/${id}`, { token: agent.token })).status).toBe(404)
    expect((await kit.asAdmin(id, 'verify', { note: 'Again.' })).json.code).toBe('wrong_state')
  })
  it("hides the admin's evidence from the subject", async () => {
    const { person, id } = await byMail()
    await kit.asAdmin(id, 'verify', { note: 'She came by in person.' })
    expect(JSON.stringify(await kit.adminRead(id))).toContain('came by in person')
    const seen = await kit.read(person.cookie, id)
    expect([seen.verified_by, JSON.stringify(seen).includes('came by')]).toEqual(['admin', false])
  })
})

describe('the deadlines of a request', () => {
  it('are extended once, by at most two months, and the email contains the reason and the legal remedies', async () => {
    const { person, id } = await byMail()
    const before = new Date((await kit.adminRead(id)).legal_due_at)
    for (const days of [0, 63, 1.5])
      expect((await kit.asAdmin(id, 'extend', { days, reason: 'Many.' })).status).toBe(422)
    const response = await kit.asAdmin(id, 'extend', { days: 30, reason: 'Seven stores have to be searched.' })
    expect([
      response.status,
      response.json.data.extended,
      new Date(response.json.data.legal_due_at).getTime() - before.getTime(),
    ]).toEqual([200, true, 30 * day])
    const again = await kit.asAdmin(id, 'extend', { days: 1, reason: 'More.' })
    expect([again.status, again.json.issues[0].path]).toEqual([422, ['days']])
    await kit.work()
    expect(kit.emailsTo(person.email).at(-1)?.text).toMatch(/Seven stores[\s\S]*complaint/)
  })
  it('are not announced again when the legal deadline is extended and the internal one comes first', async () => {
    const { id } = await byMail({ kinds: ['objection'], statement: 'Please stop.' })
    await kit.asAdmin(id, 'verify', { note: 'Came to the office.' })
    kit.test.clock.advance(4 * day)
    await kit.clockJob()
    const overdue = async () =>
      (await kit.adminRead(id)).timeline.filter(({ event }: { event: string }) => event === 'overdue').length
    expect(await overdue()).toBe(1)
    expect((await kit.asAdmin(id, 'extend', { days: 30, reason: 'Seven stores have to be searched.' })).status).toBe(
      200,
    )
    await kit.clockJob()
    expect(await overdue()).toBe(1)
  })
  it('are not extended after the first month', async () => {
    const { id } = await byMail({ received_at: new Date(kit.test.clock.now().getTime() - 50 * day).toISOString() })
    const response = await kit.asAdmin(id, 'extend', { days: 10, reason: 'Late.' })
    expect([response.status, response.json.issues[0].message]).toEqual([422, expect.stringContaining('first month')])
  })
  it('are paused for a visible reason and later moved by the length of the pause, and no erasure begins meanwhile', async () => {
    const person = await personWithPassword(kit.test)
    const { json } = await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })
    const { id, legal_due_at, due_at } = json.data
    expect((await kit.asAdmin(id, 'pause', {})).status).toBe(422)
    expect((await kit.asAdmin(id, 'pause', { reason: 'We doubt who asked.' })).json.data.due).toBe('paused')
    expect((await kit.asAdmin(id, 'pause', { reason: 'Twice.' })).json.code).toBe('wrong_state')
    kit.test.clock.advance(3 * day)
    await kit.clockJob()
    const paused = await kit.read(person.cookie, id)
    expect([paused.state, paused.paused.reason]).toEqual(['waiting', 'We doubt who asked.'])
    const resumed = (await kit.asAdmin(id, 'resume')).json.data
    const later = (text: string) => new Date(new Date(text).getTime() + 3 * day).toISOString()
    expect([resumed.legal_due_at, resumed.due_at]).toEqual([later(legal_due_at), later(due_at)])
    // The grace period ended during the pause.
    expect(resumed.state).toBe('running')
    expect((await kit.asAdmin(id, 'resume')).json.code).toBe('wrong_state')
    await kit.work()
  })
  it('shorten a grace period to three days before the legal deadline, and the email reports it', async () => {
    const { person, id } = await byMail({
      kinds: ['erasure'],
      grace: '14d',
      received_at: new Date(kit.test.clock.now().getTime() - 20 * day).toISOString(),
    })
    await kit.work()
    await kit.use(kit.linkTo(person.email, 'verify'), 'verify')
    const { waiting_until, legal_due_at } = await kit.adminRead(id)
    expect(new Date(legal_due_at).getTime() - new Date(waiting_until).getTime()).toBe(3 * day)
    await kit.work()
    expect(kit.emailsTo(person.email).at(-1)?.text).toContain('earlier than you chose')
  })
})

describe('decisions of admins', () => {
  it('refusing requires a reason, the email names the remedies, and stopped tokens work again', async () => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })).json.data
    expect((await kit.asAdmin(id, 'refuse', { ground: 'excessive' })).status).toBe(422)
    const response = await kit.asAdmin(id, 'refuse', {
      ground: 'legal_obligation',
      reason: 'Tax law keeps it until 2031.',
    })
    expect([response.json.data.state, response.json.data.parts[0].state]).toEqual(['rejected', 'refused'])
    expect((await kit.test.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(200)
    await kit.work()
    const last = kit.emailsTo(person.email).at(-1)?.text ?? ''
    for (const words of ['the law obliges us', 'Tax law keeps it', 'complaint', 'judicial remedy'])
      expect(last).toContain(words)
    expect((await kit.asAdmin(id, 'refuse', { ground: 'other', reason: 'Again.' })).json.code).toBe('wrong_state')
    expect((await kit.asAdmin(id, 'comment', { note: 'Filed under T.' })).status).toBe(200)
  })
  it('refuse, expedite, pause, retry and complete return wrong_state while an erasure runs', async () => {
    const person = await personWithPassword(kit.test)
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })).json
      .data
    for (const [verb, body] of [
      ['refuse', { ground: 'other', reason: 'Late.' }],
      ['expedite', { reason: 'Late.' }],
      ['pause', { reason: 'Late.' }],
      ['retry', {}],
      ['complete', { kind: 'objection', note: 'None.' }],
    ] as const)
      expect([verb, (await kit.asAdmin(id, verb, body)).json.code]).toEqual([verb, 'wrong_state'])
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
  })
  it('expediting ends the grace period by the subject with a password, and shortens it by an admin with a reason', async () => {
    const [one, other] = [await personWithPassword(kit.test), await personWithPassword(kit.test)]
    const [first, second] = await Promise.all(
      [one, other].map(
        async ({ cookie, password }) =>
          (await kit.file(cookie, { kinds: ['erasure'], grace: '14d', password })).json.data,
      ),
    )
    expect((await kit.act(one.cookie, first.id, 'expedite', { password: 'not the password' })).status).toBe(422)
    expect((await kit.act(one.cookie, first.id, 'expedite', { password: one.password })).json.data.state).toBe(
      'running',
    )
    expect((await kit.asAdmin(second.id, 'expedite', { reason: 'Asked by telephone.' })).json.data.state).toBe(
      'waiting',
    )
    kit.test.clock.advance(day)
    await kit.tick()
    expect((await kit.adminRead(second.id)).state).toBe('completed')
  })
  it('assign accepts only admins, and assignments and comments are neither visible to the subject nor emailed', async () => {
    const { person, id } = await byMail()
    await kit.work()
    const emails = kit.emailsTo(person.email).length
    expect((await kit.asAdmin(id, 'assign', { account_id: person.accountId })).status).toBe(422)
    expect((await kit.asAdmin(id, 'assign', { account_id: kit.admin.accountId })).json.data.assigned_to).toBe(
      kit.admin.accountId,
    )
    await kit.asAdmin(id, 'comment', { note: 'Ask Legal first.' })
    expect(await eventsOf(id)).toEqual(['received', 'link_sent', 'assigned', 'comment'])
    const seen = await kit.read(person.cookie, id)
    expect(seen.timeline.map(({ event }: { event: string }) => event)).toEqual(['received', 'link_sent'])
    expect(JSON.stringify(seen)).not.toContain('Legal')
    await kit.work()
    expect(kit.emailsTo(person.email)).toHaveLength(emails)
  })
})

describe('the queue of requests', () => {
  it('filters, sorts by the earlier deadline, and pages through all requests once', async () => {
    const ask = async (query: string) =>
      (await kit.test.fetch('GET', `/api/admin/privacy/requests?${query}`, { cookie: kit.admin.cookie })).json
    const { id } = await byMail({ kinds: ['portability'] })
    await kit.asAdmin(id, 'assign', { account_id: kit.admin.accountId })
    const first = await ask(`open=true&assignee=${kit.admin.accountId}&kind=portability&channel=mail&state=received`)
    expect(first.data.map((row: { id: string }) => row.id)).toEqual([id])
    expect((await ask(`q=${id.slice(0, 12)}`)).total).toBe(1)
    const verified = await personWithPassword(kit.test)
    const ours = (await kit.file(verified.cookie, { kinds: ['objection'], password: verified.password })).json.data
    const all: { id: string; legal_due_at: string; due_at: string | null; due: string }[] = []
    for (let cursor = ''; ; ) {
      const page = await ask(`limit=3&sort=due${cursor && `&cursor=${cursor}`}`)
      all.push(...page.data)
      if (page.next_cursor === null) break
      cursor = page.next_cursor
    }
    expect(new Set(all.map((row) => row.id)).size).toBe(all.length)
    expect(all.length).toBe((await ask('limit=1')).total)
    const open = all.filter(({ due }) => due !== 'stopped')
    expect(open).toEqual(all.slice(0, open.length))
    const running = open.filter(({ due }) => due !== 'paused')
    expect(running).toEqual(open.slice(0, running.length))
    const firstDue = running.map((row) => [row.due_at ?? row.legal_due_at, row.legal_due_at].toSorted()[0])
    expect(firstDue).toEqual(firstDue.toSorted())
    // Our 72 hours end before the legal month of the unconfirmed request, although that one was received first.
    expect(all.findIndex((row) => row.id === ours.id)).toBeLessThan(all.findIndex((row) => row.id === id))
    expect(
      (await kit.test.fetch('GET', '/api/admin/privacy/requests?cursor=x', { cookie: kit.admin.cookie })).status,
    ).toBe(422)
  })
  it('bulk actions succeed or fail for each request separately', async () => {
    const [one, other] = [await byMail(), await byMail()]
    const none = `preq_${'0'.repeat(22)}`
    const response = await kit.bulk({ action: 'comment', ids: [one.id, none, other.id], note: 'Same sender.' })
    expect(response.json.data.map(({ ok, code }: { ok: boolean; code: string | null }) => [ok, code])).toEqual([
      [true, null],
      [false, 'not_found'],
      [true, null],
    ])
    expect((await kit.bulk({ action: 'expedite', ids: [one.id], reason: 'No grace runs.' })).json.data[0].code).toBe(
      'wrong_state',
    )
    expect((await kit.bulk({ action: 'assign', ids: [one.id, one.id], account_id: null })).status).toBe(422)
    const entries = await kit.test.db.prisma.auditEntry.count({
      where: { resourceType: 'request', resourceId: other.id },
    })
    expect(entries).toBeGreaterThanOrEqual(3)
  })
  it('returns 403 to auditors, who can list erasures', async () => {
    const { cookie } = await signedIn(kit.test, 'auditor')
    expect((await kit.test.fetch('GET', '/api/admin/privacy/requests', { cookie })).status).toBe(403)
    expect((await kit.test.fetch('GET', '/api/erasures', { cookie })).status).toBe(200)
  })
})

it('erasures are listed for auditors, and read by auditors and by the subject', async () => {
  const owner = await personWithPassword(kit.test)
  const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
  const made = await kit.file(owner.cookie, {
    kinds: ['erasure'],
    agent_id: agent.id,
    grace: 'now',
    password: owner.password,
  })
  const plan = await kit.test.fetch('GET', '/api/privacy/plan', { cookie: owner.cookie })
  expect([plan.status, plan.json.data.total > 0, plan.json.data.retained.length > 0]).toEqual([200, true, true])
  const running = await kit.read(owner.cookie, made.json.data.id)
  const auditor = await signedIn(kit.test, 'auditor')
  const stranger = await signedIn(kit.test, 'person')
  const listed = await kit.test.fetch('GET', '/api/erasures?state=planning', { cookie: auditor.cookie })
  expect(listed.json.data).toMatchObject([
    { run_id: running.erasure.run_id, request_id: made.json.data.id, receipt_id: null },
  ])
  const read = (cookie: string) => kit.test.fetch('GET', `/api/erasures/${running.erasure.run_id}`, { cookie })
  expect([
    (await read(owner.cookie)).status,
    (await read(auditor.cookie)).status,
    (await read(stranger.cookie)).status,
  ]).toEqual([200, 200, 404])
  await kit.work()
  const done = await kit.adminRead(made.json.data.id)
  expect([done.state, done.erasure.state]).toEqual(['completed', 'done'])
})
