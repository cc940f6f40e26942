import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { dataOf, madeProject } from '#lib/testing/projects.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

const hour = 3_600_000
const day = 24 * hour
let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(async () => {
  await kit?.test.close()
  await kit?.post.close()
})

const ago = (time: number) => new Date(kit.test.clock.now().getTime() - time).toISOString()
const fromNow = (text: string) => new Date(text).getTime() - kit.test.clock.now().getTime()
const verify = (id: string) => kit.asAdmin(id, 'verify', { note: 'Came to the office.' })
const expedite = (id: string) => kit.asAdmin(id, 'expedite', { reason: 'Asked on the phone.' })

describe('an erasure whose subject an admin identifies', () => {
  it.each([
    ['filed today', 0],
    ['filed with a date so old that the legal deadline is over', 40 * day],
  ])('waits at least 24 hours, with a link to cancel, when it is %s and expedited', async (_, age) => {
    const person = await personWithPassword(kit.test)
    const filed = await kit.fileAsAdmin({
      kinds: ['erasure'],
      account_id: person.accountId,
      grace: 'now',
      received_at: ago(age),
    })
    const { id } = filed.json.data
    const verified = (await verify(id)).json.data
    expect([verified.state, verified.grace, fromNow(verified.waiting_until)]).toEqual(['waiting', '24h', day])
    const expedited = await expedite(id)
    expect([expedited.status, expedited.json.code]).toEqual([409, 'wrong_state'])
    kit.test.clock.advance(day - 1)
    await kit.tick()
    expect((await kit.adminRead(id)).state).toBe('waiting')
    await kit.work()
    expect((await kit.use(kit.linkTo(person.email, 'cancel'), 'cancel')).status).toBe(200)
    kit.test.clock.advance(2)
    await kit.tick()
    expect((await kit.adminRead(id)).state).toBe('cancelled')
    expect(await kit.test.db.prisma.account.count({ where: { id: person.accountId } })).toBe(1)
  })

  it('waits 24 hours after the confirmation by a link too, because an admin chose the grace period', async () => {
    const person = await personWithPassword(kit.test)
    const body = { kinds: ['erasure'], account_id: person.accountId, grace: 'now', received_at: ago(0) }
    const { id } = (await kit.fileAsAdmin(body)).json.data
    await kit.work()
    await kit.use(kit.linkTo(person.email, 'verify'), 'verify')
    const { state, waiting_until } = await kit.adminRead(id)
    expect([state, fromNow(waiting_until)]).toEqual(['waiting', day])
  })

  it('waits 24 hours for an agent that nobody owns', async () => {
    const agent = await issuedAgent(kit.test, ['read'])
    const body = { kinds: ['erasure'], agent_id: agent.id, grace: 'now', received_at: ago(0) }
    const { id } = (await kit.fileAsAdmin(body)).json.data
    expect(fromNow((await verify(id)).json.data.waiting_until)).toBe(day)
  })

  it('waits 24 hours for a participant for whom an admin files it', async () => {
    const project = await madeProject(kit.test)
    const participant = await dataOf(kit.test, 'POST', `/api/projects/${project.id}/participants`, project.agent, {
      body: { external_id: 'u1', name: 'Ada' },
    })
    await passwordEntered(kit.test, kit.admin)
    const path = `/api/projects/${project.id}/participants/${participant.id}/requests`
    const filed = await kit.test.fetch('POST', path, { ...kit.admin, body: { kinds: ['erasure'], grace: 'now' } })
    expect([filed.json.data.state, fromNow(filed.json.data.waiting_until)]).toEqual(['waiting', day])
  })
})

describe('an erasure for a participant that a manager or admin files', () => {
  const application = async (email?: string, isConfirmed = true) => {
    const project = await madeProject(kit.test)
    const body = { external_id: 'u1', name: 'Ada', ...(email !== undefined && { email }) }
    const made = await dataOf(kit.test, 'POST', `/api/projects/${project.id}/participants`, project.agent, { body })
    const where = { id: String(made.id) }
    await kit.test.db.prisma.projectParticipant.update({ where, data: { emailConfirmed: isConfirmed } })
    const manager = await signedIn(kit.test, 'manager', project.owner.organisationId)
    const path = `/api/projects/${project.id}/participants/${where.id}/requests`
    const file = (who: { cookie: string }, body: object = { kinds: ['erasure'], grace: 'now' }) =>
      kit.test.fetch('POST', path, { ...who, body })
    return { project, manager, file, ...where }
  }
  const offices = async ({ manager }: { manager: Person }, office: string) => {
    const who = office === 'admin' ? kit.admin : manager
    await passwordEntered(kit.test, who)
    return who
  }

  it.each(['manager', 'admin'])(
    'waits 24 hours for a %s, and the person cancels it with the link in an email',
    async (office) => {
      const email = `announced-${office}@example.org`
      const made = await application(email)
      const filed = await made.file(await offices(made, office))
      expect(filed.json.data).toMatchObject({ state: 'waiting', grace: '24h', verified_by: office })
      expect(fromNow(filed.json.data.waiting_until)).toBe(day)
      await kit.work()
      const text = kit.emailsTo(email).map((one) => one.text)
      expect(text.join()).toContain(
        office === 'admin' ? 'An admin confirmed the identity' : 'made this request for you',
      )
      const cancelled = await kit.use(kit.linkTo(email, 'cancel'), 'cancel')
      expect([cancelled.status, cancelled.json.data.state]).toEqual([200, 'cancelled'])
    },
  )

  it.each(['manager', 'admin'])('is announced by a %s to no address that nobody confirmed', async (office) => {
    const email = `reported-${office}@example.org`
    const made = await application(email, false)
    expect((await made.file(await offices(made, office))).json.data.state).toBe('waiting')
    await kit.work()
    expect(kit.emailsTo(email)).toEqual([])
  })

  it('keeps a longer grace period, and needs a recently entered password for every kind', async () => {
    const made = await application()
    const manager = await offices(made, 'manager')
    const longer = await made.file(manager, { kinds: ['erasure'], grace: '7d' })
    expect([longer.json.data.grace, fromNow(longer.json.data.waiting_until)]).toEqual(['7d', 7 * day])
    const other = await application()
    await kit.test.db.prisma.session.updateMany({
      where: { accountId: other.manager.accountId },
      data: { passwordAt: ago(11 * 60_000) },
    })
    for (const kinds of [['erasure'], ['access'], ['portability']]) {
      const refused = await other.file(other.manager, { kinds })
      expect([kinds, refused.status, refused.json.code]).toEqual([kinds, 403, 'step_up_required'])
    }
    expect(await kit.test.db.prisma.privacyRequest.count({ where: { participantId: other.id } })).toBe(0)
  })

  it.each([
    ['who is demoted', { role: 'person' as const }],
    ['whose account is closed', { deactivatedAt: new Date() }],
  ])('does not begin for a manager %s before it begins, and returns to the admins', async (_, data) => {
    const made = await application()
    const { id } = (await made.file(await offices(made, 'manager'), { kinds: ['erasure'], grace: '7d' })).json.data
    await kit.test.db.prisma.account.update({ where: { id: made.manager.accountId }, data })
    kit.test.clock.advance(7 * day)
    await kit.tick()
    expect((await kit.adminRead(id)).state).toBe('received')
    expect(await kit.test.db.prisma.projectParticipant.count({ where: { id: made.id } })).toBe(1)
  })

  it('does not begin for an owner who left the project before it begins, and begins for one who did not', async () => {
    for (const isOwner of [false, true]) {
      const made = await application()
      const { owner, id: projectId } = made.project
      const { id } = (await made.file(owner, { kinds: ['erasure'], grace: '7d' })).json.data
      if (!isOwner)
        await kit.test.db.prisma.projectMember.updateMany({
          where: { projectId, memberId: owner.accountId },
          data: { role: 'member' },
        })
      kit.test.clock.advance(7 * day)
      await kit.tick()
      expect([isOwner, (await kit.adminRead(id)).state]).toEqual([isOwner, isOwner ? 'completed' : 'received'])
    }
  })
})

describe('an erasure that an admin confirmed who is no longer an admin when the grace period ends', () => {
  async function confirmedBy(age = 0) {
    const former = await signedIn(kit.test, 'admin')
    const person = await personWithPassword(kit.test)
    const body = { kinds: ['restriction', 'erasure'], account_id: person.accountId, received_at: ago(age) }
    const { id } = (await kit.fileAsAdmin(body)).json.data
    const path = `/api/admin/privacy/requests/${id}/verify`
    const verified = await kit.test.fetch('POST', path, { ...former, body: { note: 'Came to the office.' } })
    expect([verified.status, verified.json.data?.state]).toEqual([200, 'waiting'])
    return { former, person, id }
  }
  const admins = (method: string, path: string, body?: object) =>
    kit.test.fetch(method, `/api/admin/users/${path}`, { ...kit.admin, ...(body && { body }) })
  async function afterGrace() {
    kit.test.clock.advance(day)
    await kit.tick()
  }

  it.each([
    ['demoted', (id: string) => admins('PATCH', id, { role: 'person' })],
    ['closed', (id: string) => admins('POST', `${id}/deactivate`)],
  ])('does not begin for a %s account, and returns to the admins, who confirm it again', async (_, removed) => {
    const { former, person, id } = await confirmedBy(40 * day)
    await passwordEntered(kit.test, kit.admin)
    const { status, text } = await removed(former.accountId)
    expect(status, text).toBe(200)
    await afterGrace()
    await kit.tick()
    const doubted = await kit.adminRead(id)
    expect([doubted.state, doubted.waiting_until]).toEqual(['received', null])
    expect(kit.emailsTo(person.email).at(-1)?.subject).toBe('Your deletion needs another confirmation')
    const seen: { event: string }[] = (await kit.read(person.cookie, id)).timeline
    expect(seen.filter(({ event }) => event === 'doubted')).toHaveLength(1)

    const again = (await verify(id)).json.data
    expect([again.state, fromNow(again.waiting_until)]).toEqual(['waiting', day])
    await afterGrace()
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
  })

  const rowOf = (id: string) => kit.test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
  const asNewAdmin = async (id: string, verb: string, body?: object) =>
    kit.test.fetch('POST', `/api/admin/privacy/requests/${id}/${verb}`, {
      ...(await signedIn(kit.test, 'admin')),
      ...(body && { body }),
    })
  const emailsToAdmin = async () => {
    const where = { id: kit.admin.accountId }
    return kit.emailsTo((await kit.test.db.prisma.account.findUniqueOrThrow({ where })).email)
  }

  it('begins after a pause that is longer than the audit log names the admin', async () => {
    const { id } = await confirmedBy()
    await kit.asAdmin(id, 'pause', { reason: 'A question about it is open.' })
    kit.test.clock.advance(91 * day)
    await kit.tick()
    expect((await rowOf(id)).state).toBe('waiting')
    expect((await asNewAdmin(id, 'resume')).status).toBe(200)
    await kit.tick()
    await kit.work()
    expect((await rowOf(id)).state).toBe('completed')
  })

  it.each([
    ['must change the password', true, false],
    ['waits for an own erasure', false, true],
  ])('begins for an admin who %s', async (_, mustChangePassword, isSuspended) => {
    const { former, id } = await confirmedBy()
    const data = { mustChangePassword, suspendedAt: isSuspended ? kit.test.clock.now() : null }
    await kit.test.db.prisma.account.update({ where: { id: former.accountId }, data })
    await afterGrace()
    await kit.work()
    expect((await rowOf(id)).state).toBe('completed')
  })

  it('begins for an admin who confirmed it about the own account', async () => {
    const own = await signedIn(kit.test, 'admin')
    const filed = await kit.fileAsAdmin({ kinds: ['erasure'], account_id: own.accountId, received_at: ago(0) })
    const { id } = filed.json.data
    const path = `/api/admin/privacy/requests/${id}/verify`
    const verified = await kit.test.fetch('POST', path, { ...own, body: { note: 'It is me.' } })
    expect([verified.status, verified.json.data?.state]).toEqual([200, 'waiting'])
    await afterGrace()
    await kit.work()
    expect((await rowOf(id)).state).toBe('completed')
    expect(await kit.test.db.prisma.account.count({ where: { id: own.accountId } })).toBe(0)
  })

  it('does not begin for an account that is deleted', async () => {
    const { former, id } = await confirmedBy()
    await kit.test.db.prisma.account.delete({ where: { id: former.accountId } })
    await afterGrace()
    expect((await rowOf(id)).state).toBe('received')
  })

  it('is told to the admins at once, and again when it is overdue', async () => {
    const { former, id } = await confirmedBy()
    // Admins were told of the deadline before the confirmation was withdrawn.
    const told = { nearlyToldAt: kit.test.clock.now(), overdueToldAt: kit.test.clock.now() }
    await kit.test.db.prisma.privacyRequest.update({ where: { id }, data: told })
    const { accountId } = kit.admin
    const choice = { kind: 'requests', delivery: 'at_once', updatedAt: kit.test.clock.now() }
    await kit.test.db.prisma.emailChoice.create({ data: { id: newId('emc'), accountId, ...choice } })
    await kit.test.db.prisma.account.update({ where: { id: former.accountId }, data: { role: 'person' } })
    const before = (await emailsToAdmin()).length
    await afterGrace()
    const sent = (await emailsToAdmin()).slice(before)
    expect(sent.map(({ text }) => /an admin must confirm: [1-9]/.test(text))).toEqual([true])
    kit.test.clock.advance(40 * day)
    await kit.tick()
    await kit.tick()
    const { state, overdueToldAt } = await rowOf(id)
    expect([state, overdueToldAt]).toEqual(['received', kit.test.clock.now()])
  })

  it('says after a decided objection that only a new confirmation continues it', async () => {
    const former = await signedIn(kit.test, 'admin')
    const person = await personWithPassword(kit.test)
    const body = { kinds: ['objection', 'erasure'], account_id: person.accountId, received_at: ago(0) }
    const { id } = (await kit.fileAsAdmin(body)).json.data
    await kit.test.fetch('POST', `/api/admin/privacy/requests/${id}/verify`, { ...former, body: { note: 'Came.' } })
    await kit.test.db.prisma.account.update({ where: { id: former.accountId }, data: { role: 'person' } })
    await afterGrace()
    const decided = await asNewAdmin(id, 'complete', { kind: 'objection', note: 'You are right.' })
    expect([decided.status, decided.json.data.state]).toEqual([200, 'received'])
    await kit.work()
    const { subject, text } = kit.emailsTo(person.email).at(-1) ?? { subject: '', text: '' }
    expect(subject).toBe('Part of your privacy request is done')
    expect(text).toContain('The deletion does not begin until the identity of the requester is confirmed again.')
    await asNewAdmin(id, 'verify', { note: 'Came again.' })
    await afterGrace()
    await kit.work()
    expect((await rowOf(id)).state).toBe('completed')
  })

  it('can be cancelled by the person with the first link while it waits for another confirmation', async () => {
    const { former, person, id } = await confirmedBy()
    await kit.work()
    const link = kit.linkTo(person.email, 'cancel')
    await passwordEntered(kit.test, kit.admin)
    await admins('PATCH', former.accountId, { role: 'person' })
    await afterGrace()
    expect((await kit.use(link, 'cancel')).status).toBe(200)
    expect((await kit.adminRead(id)).state).toBe('cancelled')
  })
})

describe('a grace period that a person chose', () => {
  it('is shortened by an admin to 24 hours with a new link to cancel, and ended at once only by the person', async () => {
    const person = await personWithPassword(kit.test)
    const asked = { kinds: ['erasure'], grace: '14d', password: person.password }
    const { id } = (await kit.file(person.cookie, asked)).json.data
    await kit.work()
    const shortened = (await expedite(id)).json.data
    expect([shortened.state, fromNow(shortened.waiting_until)]).toEqual(['waiting', day])
    await kit.work()
    const email = kit.emailsTo(person.email).at(-1)
    expect([email?.subject, email?.text]).toEqual([
      'The grace period was shortened',
      expect.stringContaining('/privacy/confirm#cancel.'),
    ])
    expect((await expedite(id)).json.code).toBe('wrong_state')
    const bulk = await kit.bulk({ action: 'expedite', ids: [id], reason: 'Once more.' })
    expect(bulk.json.data[0]).toMatchObject({ ok: false, code: 'wrong_state' })
    expect((await kit.act(person.cookie, id, 'expedite', { password: person.password })).json.data.state).toBe(
      'running',
    )
    await kit.work()
  })
})

describe('a token of scope admin', () => {
  it('cannot file, verify, expedite or decide about requests of others, and reads the queue', async () => {
    const person = await personWithPassword(kit.test)
    const asked = { kinds: ['erasure'], grace: '14d', password: person.password }
    const { id } = (await kit.file(person.cookie, asked)).json.data
    const rooted = await issuedAgent(kit.test, ['read', 'write', 'admin'])
    const at = '/api/admin/privacy'
    const refused: [string, object][] = [
      [`${at}/requests`, { kinds: ['erasure'], account_id: person.accountId, received_at: ago(0) }],
      [`${at}/requests/${id}/verify`, { note: 'x' }],
      [`${at}/requests/${id}/expedite`, { reason: 'x' }],
      [`${at}/requests/${id}/refuse`, { ground: 'other', reason: 'x' }],
      [`${at}/requests/${id}/extend`, { days: 1, reason: 'x' }],
      [`${at}/requests/${id}/pause`, { reason: 'x' }],
      [`${at}/requests/${id}/assign`, { account_id: null }],
      [`${at}/requests/${id}/comment`, { note: 'x' }],
      [`${at}/requests/${id}/complete`, { kind: 'objection', note: 'x' }],
      [`${at}/requests/${id}/retry`, {}],
    ]
    for (const [path, body] of refused) {
      const { status, json } = await kit.test.fetch('POST', path, { token: rooted.token, body })
      expect([path, status, json.code]).toEqual([path, 403, 'forbidden'])
    }
    const body = { action: 'expedite', ids: [id], reason: 'x' }
    const bulk = await kit.test.fetch('POST', `${at}/bulk`, { token: rooted.token, body })
    expect(bulk.status === 403 || bulk.json.data[0].code === 'forbidden').toBe(true)
    expect((await kit.adminRead(id)).state).toBe('waiting')
    expect((await kit.test.fetch('GET', `${at}/requests`, { token: rooted.token })).status).toBe(200)
  })
})

describe('two-person approval', () => {
  it('requires a second admin to identify the subject of an erasure, and no approval for other kinds', async () => {
    const second = await signedIn(kit.test, 'admin')
    await passwordEntered(kit.test, kit.admin)
    const setting = { ...kit.admin, body: { is_on: true } }
    expect((await kit.test.fetch('PUT', '/api/admin/approvals', setting)).status).toBe(200)
    const victim = await signedIn(kit.test, 'admin')
    const file = async (kinds: string[]) =>
      (await kit.fileAsAdmin({ kinds, account_id: victim.accountId, received_at: ago(0) })).json.data.id
    expect((await verify(await file(['access']))).status).toBe(200)
    const id = await file(['erasure'])
    const refused = await verify(id)
    expect([refused.status, refused.json.code]).toEqual([403, 'approval_required'])
    expect((await kit.adminRead(id)).state).toBe('received')

    const proposed = await kit.test.fetch('POST', '/api/admin/proposals', {
      ...kit.admin,
      body: { operation: 'verifyPrivacyRequestByAdmin', params: { id }, body: { note: 'Came to the office.' } },
    })
    expect(proposed.status, proposed.text).toBe(201)
    const decision = `/api/admin/proposals/${proposed.json.data.proposal_id}/decision`
    await passwordEntered(kit.test, second)
    const decided = await kit.test.fetch('POST', decision, { ...second, body: { decision: 'approve' } })
    expect(decided.status, decided.text).toBe(200)
    const verified = await verify(id)
    expect([verified.status, verified.json.data?.state]).toEqual([200, 'waiting'])
    await operatorAccounts(kit.test.app).liftApprovals()
  })
})
