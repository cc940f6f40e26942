import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

const day = 86_400_000
const statusAndCode = ({ status, json }: { status: number; json: { code?: string } }) => [status, json?.code]
const ask = (token: string, body: object) => test.fetch('POST', '/api/privacy/requests', { token, body })
const act = (token: string, id: string, verb: string) =>
  test.fetch('POST', `/api/privacy/requests/${id}/${verb}`, { token })

describe('a proof of identity', () => {
  const planted = async (kinds: string[], grace = 'now') => {
    const manager = await signedIn(test, 'manager')
    const person = await personWithPassword(test)
    await test.db.prisma.account.update({
      where: { id: person.accountId },
      data: { organisationId: manager.organisationId },
    })
    const made = await kit.file(manager.cookie, { kinds, grace, member: person.accountId })
    expect(made.status).toBe(201)
    return { manager, person, id: made.json.data.id as string }
  }

  it('confirms only the requested kinds, and leaves other kinds of the open request unconfirmed', async () => {
    const { person, id } = await planted(['access', 'restriction', 'erasure'])
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const response = await kit.file(person.cookie, { kinds: ['access'], password: person.password })
    expect([response.status, response.json.data.kinds, response.json.data.state, response.json.joined]).toEqual([
      201,
      ['access'],
      'running',
      [],
    ])
    expect(response.json.data.id).not.toBe(id)
    const left = await kit.read(person.cookie, id)
    expect([left.kinds, left.state, left.parts.length]).toEqual([['restriction', 'erasure'], 'received', 2])
    expect(left.timeline.at(-1)).toMatchObject({ event: 'taken_over', details: { request_id: response.json.data.id } })
    expect((await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).status).toBe(201)
    expect(await test.db.prisma.erasureRun.count({ where: { accountId: person.accountId } })).toBe(0)
    await kit.work()
  })

  it('applies the chosen grace period, even when the legal month of the open request is nearly over', async () => {
    const { person, id } = await planted(['erasure'])
    test.clock.advance(27 * day)
    const response = await kit.file(person.cookie, { kinds: ['erasure'], grace: '14d', password: person.password })
    expect([response.status, response.json.data.id, response.json.data.grace, response.json.data.state]).toEqual([
      200,
      id,
      '14d',
      'waiting',
    ])
    expect(new Date(response.json.data.waiting_until).getTime() - test.clock.now().getTime()).toBe(14 * day)
  })

  it('is required to shorten the grace period: otherwise the longer one applies', async () => {
    const { person, id } = await planted(['erasure'])
    const response = await kit.file(person.cookie, { kinds: ['erasure'], grace: '7d' })
    expect([response.status, response.json.data.id, response.json.data.grace]).toEqual([200, id, '7d'])
    expect((await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now' })).json.data.grace).toBe('7d')
  })

  it('confirms the requested kinds in several open requests', async () => {
    const person = await personWithPassword(test)
    const ids = []
    for (const kind of ['restriction', 'erasure'])
      ids.push((await kit.file(person.cookie, { kinds: [kind] })).json.data.id)
    const response = await kit.file(person.cookie, { kinds: ['restriction', 'erasure'], password: person.password })
    expect([response.status, response.json.data.state]).toEqual([200, 'waiting'])
    expect(await Promise.all(ids.map(async (id) => (await kit.read(person.cookie, id)).state))).toEqual([
      'completed',
      'waiting',
    ])
  })

  it('is reported as missing: the response lists all kinds of the joined request', async () => {
    const { person } = await planted(['access', 'erasure'])
    const response = await kit.file(person.cookie, { kinds: ['access'] })
    expect([response.status, response.json.message]).toEqual([200, expect.stringContaining('access, erasure')])
  })
})

describe('the email that asks for a confirmation', () => {
  it.each([
    ['14d', /access, deletion.*[\s\S]*begins at \d{4}-/],
    ['now', /access, deletion.*[\s\S]*as soon as you confirm/],
  ])('lists the kinds and when the erasure would begin (grace %s)', async (grace, words) => {
    const person = await personWithPassword(test)
    const { id } = (await kit.file(person.cookie, { kinds: ['access', 'erasure'], grace })).json.data
    await kit.work()
    expect(kit.emailsTo(person.email).at(-1)?.text).toMatch(words)
    await kit.act(person.cookie, id, 'link')
    await kit.work()
    const again = kit.emailsTo(person.email)
    expect(again).toHaveLength(2)
    expect(again.at(-1)?.text).toMatch(words)
  })
})

describe('a changed address', () => {
  const moved = async (person: MadePerson) => {
    const fresh = `new-${person.email}`
    await kit.file(person.cookie, { kinds: ['rectification'], password: person.password, changes: { email: fresh } })
    await kit.work()
    expect((await kit.use(kit.linkTo(fresh, 'address'), 'address')).status).toBe(200)
    await kit.work()
    return fresh
  }

  it('receives all further emails, and links sent to the former address stop working', async () => {
    const person = await personWithPassword(test)
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now' })).json.data
    await kit.work()
    const former = kit.linkTo(person.email, 'verify')
    const fresh = await moved(person)
    const sent = kit.emailsTo(person.email).length
    expect(kit.emailsTo(fresh).some(({ subject }) => subject.includes('now come to this address'))).toBe(true)
    expect((await kit.use(former, 'verify')).json.code).toBe('link_spent')
    test.clock.advance(3_600_001)
    expect((await kit.act(person.cookie, id, 'link')).status).toBe(200)
    await kit.work()
    expect(kit.emailsTo(person.email)).toHaveLength(sent)
    expect((await kit.use(kit.linkTo(fresh, 'verify'), 'verify')).json.data.state).toBe('running')
    await kit.work()
    // The account is deleted; the receipt is sent to the latest address.
    expect(kit.emailsTo(fresh).at(-1)?.text).toContain('/receipts/rcpt_')
    expect(kit.emailsTo(person.email)).toHaveLength(sent)
  })

  it('is taken from the used link, not from a later request', async () => {
    const person = await personWithPassword(test)
    const [own, foreign] = [`own-${person.email}`, `foreign-${person.email}`]
    const correct = (kinds: string[], email: string) =>
      kit.file(person.cookie, { kinds, password: person.password, changes: { email } })
    await correct(['rectification'], own)
    await kit.work()
    const link = kit.linkTo(own, 'address')
    // The same call confirms an open request for access and adds another address to the rectification.
    await kit.file(person.cookie, { kinds: ['access'] })
    expect((await correct(['access', 'rectification'], foreign)).status).toBe(200)
    expect((await kit.use(link, 'address')).json.code).toBe('link_spent')
    const emailOf = async () =>
      (await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: person.accountId } })).email
    expect(await emailOf()).toBe(person.email)
    // The other address gets a link of its own.
    await kit.work()
    expect((await kit.use(kit.linkTo(foreign, 'address'), 'address')).status).toBe(200)
    expect(await emailOf()).toBe(foreign)
  })

  it('receives a new link to cancel, and the former link stops working', async () => {
    const person = await personWithPassword(test)
    await kit.file(person.cookie, { kinds: ['erasure'], grace: '14d', password: person.password })
    await kit.work()
    const former = kit.linkTo(person.email, 'cancel')
    const fresh = await moved(person)
    expect((await kit.use(former, 'cancel')).json.code).toBe('link_spent')
    expect((await kit.use(kit.linkTo(fresh, 'cancel'), 'cancel')).json.data.state).toBe('cancelled')
  })
})

describe('a token', () => {
  it('returns 404 for requests that the owner or an admin filed about its agent', async () => {
    const owner = await personWithPassword(test)
    const reader = await issuedAgent(test, ['read'], { owner })
    const writer = await issuedAgent(test, ['read', 'write'], { owner })
    for (const { id: agentId, token } of [reader, writer]) {
      test.clock.advance(day)
      const made = await kit.fileAsAdmin({
        kinds: ['erasure'],
        grace: '14d',
        agent_id: agentId,
        received_at: test.clock.now(),
      })
      const { id } = made.json.data
      await kit.work()
      expect((await kit.use(kit.linkTo(owner.email, 'verify'), 'verify')).json.data.state).toBe('waiting')
      expect(statusAndCode(await act(token, id, 'cancel'))).toEqual([404, 'not_found'])
      expect((await test.fetch('GET', `/api/privacy/requests/${id}`, { token })).status).toBe(404)
      expect((await kit.read(owner.cookie, id)).state).toBe('waiting')
    }
  })

  it('cannot cancel a request or send its link with only the read scope', async () => {
    const { id, token } = await issuedAgent(test, ['read', 'write'])
    const reader = await test.app.db.transaction((tx) =>
      test.app.tokens.issue(tx, { agentId: id, scopes: ['read'], name: null, expiresAt: null, now: test.clock.now() }),
    )
    const restricted = (await ask(token, { kinds: ['restriction'] })).json.data.id
    expect(statusAndCode(await act(reader.key, restricted, 'link'))).toEqual([403, 'scope_too_small'])
    expect(statusAndCode(await act(token, restricted, 'link'))).toEqual([409, 'wrong_state'])
    const made = (await ask(token, { kinds: ['erasure'] })).json.data
    expect(statusAndCode(await act(reader.key, made.id, 'cancel'))).toEqual([403, 'scope_too_small'])
    expect((await act(token, made.id, 'cancel')).json.data.state).toBe('cancelled')
  })

  it("neither joins nor sees the owner's request about its agent", async () => {
    const owner = await personWithPassword(test)
    const reader = await issuedAgent(test, ['read'], { owner })
    const kinds = ['access', 'restriction', 'objection']
    const theirs = (await kit.file(owner.cookie, { kinds, agent_id: reader.id, statement: 'Mine.' })).json.data
    const response = await ask(reader.token, { kinds: ['access'], statement: 'Its.' })
    expect([response.status, response.json.data.kinds, response.json.joined]).toEqual([201, ['access'], []])
    expect(response.json.data.id).not.toBe(theirs.id)
    const after = await kit.read(owner.cookie, theirs.id)
    expect([after.state, after.kinds, after.statement]).toEqual(['received', kinds, 'Mine.'])
  })

  it('with the write scope takes over an unconfirmed erasure of its agent, and is rejected for a confirmed one', async () => {
    const owner = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner })
    const theirs = (await kit.file(owner.cookie, { kinds: ['erasure'], agent_id: agent.id })).json.data
    const response = await ask(agent.token, { kinds: ['erasure'] })
    expect([response.status, response.json.data.channel, response.json.data.state]).toEqual([201, 'api', 'waiting'])
    expect((await kit.read(owner.cookie, theirs.id)).state).toBe('cancelled')
    // The owner joins the agent's request and can cancel it.
    const joined = await kit.file(owner.cookie, { kinds: ['erasure'], agent_id: agent.id, password: owner.password })
    expect([joined.status, joined.json.data.id]).toEqual([200, response.json.data.id])
    expect((await kit.act(owner.cookie, response.json.data.id, 'cancel')).status).toBe(200)
    await kit.file(owner.cookie, { kinds: ['erasure'], agent_id: agent.id, password: owner.password })
    expect((await ask(agent.token, { kinds: ['erasure'] })).status).toBeGreaterThanOrEqual(400)
  })

  it('exports only the requests that its agent filed; the owner exports all of them', async () => {
    const owner = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner })
    const body = { kinds: ['objection'], agent_id: agent.id, password: owner.password, statement: 'My own words.' }
    const { id } = (await kit.file(owner.cookie, body)).json.data
    await kit.asAdmin(id, 'refuse', { ground: 'unfounded', reason: 'The answer to them.' })
    await kit.file(owner.cookie, { ...body, statement: 'My next words.' })
    const own = (await ask(agent.token, { kinds: ['restriction'] })).json.data.id
    const path = `/v1/export/${agent.id}?scope=all`
    const byToken = (await test.fetch('GET', path, { token: agent.token })).text
    for (const hidden of [id, 'My next words', 'The answer to them']) expect(byToken).not.toContain(hidden)
    expect(byToken).toContain(own)
    const byOwner = (await test.fetch('GET', path, { cookie: owner.cookie })).text
    for (const shown of [id, own, 'My next words', 'The answer to them']) expect(byOwner).toContain(shown)
  })
})

describe('a manager who filed a request for a member of the organization', () => {
  it('sees the state of the request without receipt and erasure, while they manage the member', async () => {
    const manager = await signedIn(test, 'manager')
    const member = await signedIn(test, 'person', manager.organisationId)
    const made = await kit.file(manager.cookie, { kinds: ['erasure'], grace: 'now', member: member.accountId })
    const { id } = made.json.data
    expect(made.json.data.receipt_id).toBeNull()
    await kit.asAdmin(id, 'verify', { note: 'In person.' })
    test.clock.advance(86_400_000)
    await kit.clockJob()
    const seen = await kit.read(manager.cookie, id)
    expect([seen.state, seen.receipt_id, seen.erasure]).toEqual(['running', null, null])
    const own = await kit.adminRead(id)
    expect(own.receipt_id).toMatch(/^rcpt_/)
    expect(JSON.stringify(seen)).not.toContain(own.erasure.run_id)
    const run = `/api/erasures/${own.erasure.run_id}`
    expect((await test.fetch('GET', run, { cookie: manager.cookie })).status).toBe(404)
    const list = async () => (await test.fetch('GET', '/api/privacy/requests', { cookie: manager.cookie })).json
    expect((await list()).data).toMatchObject([{ id, receipt_id: null }])
    const { organisationId } = await signedIn(test, 'manager')
    for (const data of [{ organisationId }, { organisationId: manager.organisationId, role: 'person' as const }]) {
      await test.db.prisma.account.update({ where: { id: manager.accountId }, data })
      expect([data, (await kit.act(manager.cookie, id, 'link')).status]).toEqual([data, 404])
      expect((await test.fetch('GET', `/api/privacy/requests/${id}`, { cookie: manager.cookie })).status).toBe(404)
      expect([(await list()).data, (await list()).total]).toEqual([[], 0])
    }
    await kit.work()
  })
})

it('GET /api/privacy/requests filters by open and pages through the results', async () => {
  const person = await personWithPassword(test)
  const file = async (kind: string) =>
    (await kit.file(person.cookie, { kinds: [kind], password: person.password, statement: 'As it stands.' })).json.data
      .id as string
  const objection = await file('objection')
  const called = await file('erasure')
  expect((await kit.act(person.cookie, called, 'cancel')).status).toBe(200)
  const correction = await file('rectification')
  const page = async (query: string) =>
    (await test.fetch('GET', `/api/privacy/requests?${query}`, { cookie: person.cookie })).json
  const ids = ({ data, total }: { data: { id: string }[]; total: number }) => [data.map(({ id }) => id), total]
  expect(ids(await page('open=false'))).toEqual([[called], 1])
  expect(ids(await page(''))).toEqual([expect.arrayContaining([objection, called, correction]), 3])
  const first = await page('open=true&limit=1')
  const second = await page(`open=true&limit=1&cursor=${first.next_cursor}`)
  expect([first.total, second.total, second.next_cursor]).toEqual([2, 2, null])
  expect([...first.data, ...second.data].map(({ id }: { id: string }) => id).sort()).toEqual(
    [objection, correction].sort(),
  )
  expect((await test.fetch('GET', '/api/privacy/requests?open=yes', { cookie: person.cookie })).status).toBe(422)
})

describe('the receipt of an erasure', () => {
  it('has a reserved id, by which an agent without an owner reads it after the erasure', async () => {
    const agent = await issuedAgent(test, ['read', 'write'])
    const { id, receipt_id } = (await ask(agent.token, { kinds: ['erasure'], grace: 'now' })).json.data
    expect(receipt_id).toMatch(/^rcpt_[0-9A-Za-z]{22}$/)
    expect((await test.fetch('GET', `/v1/receipts/${receipt_id}`)).status).toBe(404)
    test.clock.advance(day + 1)
    await kit.tick()
    expect((await test.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(401)
    const receipt = await test.fetch('GET', `/v1/receipts/${receipt_id}`)
    expect([receipt.status, receipt.json.deleted_id]).toEqual([200, agent.id])
    expect((await kit.adminRead(id)).receipt_id).toBe(receipt_id)
  })

  it('is absent for a cancelled request and not linked in emails before it is signed', async () => {
    const person = await personWithPassword(test)
    const made = await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })
    await kit.work()
    expect(JSON.stringify(kit.emailsTo(person.email))).not.toContain('rcpt_')
    expect((await kit.act(person.cookie, made.json.data.id, 'cancel')).json.data.receipt_id).toBeNull()
    expect((await kit.file(person.cookie, { kinds: ['restriction'] })).json.data.receipt_id).toBeNull()
  })
})
