import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, passwordEntered, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

const hour = 3_600_000
const day = 24 * hour

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const hourly = async () => {
  for (const job of test.app.jobs.filter(({ name }) => name === 'projects.close'))
    await job.execute(test.app.pipeline, {})
  await drain(test)
}
/** Subjects of the emails about projects to an account, oldest first. */
const emails = async (accountId: string): Promise<string[]> => {
  const { email } = await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
  const { letters: all } = await test.app.mail.folder.list({ after: undefined, limit: 100 })
  return all
    .filter(({ to, subject }) => to.includes(email) && /project/.test(subject))
    .map(({ subject }) => subject)
    .reverse()
}
const act = (
  project: MadeProject,
  verb: 'close' | 'reopen',
  asker: { cookie: string } | { token: string } = project.owner,
) => test.fetch('POST', `${project.path}/${verb}`, { ...asker, body: verb === 'close' ? {} : undefined })
const filled = async () => {
  const project = await madeProject(test, { name: 'A name that goes' })
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.owner, { content: 'Words that go.' })
  await madeAttachment(test, message, project.owner)
  await madeDocument(test, project, project.agent)
  return { project, conversation, message }
}
const counts = async (projectId: string) => {
  const { prisma } = test.app.db
  return {
    members: await prisma.projectMember.count({ where: { projectId } }),
    conversations: await prisma.conversation.count({ where: { projectId } }),
    messages: await prisma.message.count({ where: { projectId } }),
    documents: await prisma.document.count({ where: { projectId } }),
    provenance: await prisma.provenance.count({ where: { projectId } }),
  }
}
const none = { members: 0, conversations: 0, messages: 0, documents: 0, provenance: 0 }

describe('closing a project', () => {
  it('emails its members immediately, 7 days and 1 day before, erases everything after 30 days, and signs a receipt', async () => {
    const { project, conversation, message } = await filled()
    const member = await madeMember(test, project)
    const closed = await act(project, 'close')
    expect([closed.status, closed.json.data]).toMatchObject([
      200,
      { status: 'closing', closes_at: new Date(test.clock.now().getTime() + 30 * day).toISOString() },
    ])
    const notified = async () => {
      const mails = await emails(member.accountId)
      expect(await emails(project.owner.accountId)).toEqual(mails)
      return mails.length
    }
    await hourly()
    expect(await notified()).toBe(1)
    for (const [days, sent] of [
      [22, 1],
      [1, 2],
      [5, 2],
      [1, 3],
    ] as const) {
      test.clock.advance(days * day)
      await hourly()
      await hourly()
      expect(await notified()).toBe(sent)
    }
    // Until then, the project stays readable and writable.
    expect((await test.fetch('GET', message.path, member)).status).toBe(200)
    await madeMessage(test, conversation, member)
    expect((await test.fetch('GET', `${project.path}/export`, member)).status).toBe(200)
    test.clock.advance(day - hour)
    await hourly()
    expect(await dataOf(test, 'GET', project.path, member)).toMatchObject({ status: 'closing', is_erasing: false })
    test.clock.advance(hour)
    await hourly()
    expect(await notified()).toBe(4)
    expect(await counts(project.id)).toEqual(none)
    expect(await test.app.stored.objects.list(`projects/${project.id}/`, '', 10)).toEqual([])
    const row = await test.app.db.prisma.project.findUniqueOrThrow({ where: { id: project.id } })
    expect(row).toMatchObject({ name: '', status: 'closed', createdBy: 'erased', closingBy: null, entityKinds: {} })
    const manager = await signedIn(test, 'manager', project.owner.organisationId)
    const seen = await dataOf(test, 'GET', project.path, manager)
    expect(seen).toMatchObject({
      status: 'closed',
      name: '',
      is_erasing: false,
      closed_at: test.clock.now().toISOString(),
    })
    const receipt = await test.fetch('GET', `/v1/receipts/${seen.receipt_id}`)
    expect(receipt.json).toMatchObject({ deleted_id: project.id })
    for (const path of [project.path, conversation.path, message.path])
      expect((await test.fetch('GET', path, member)).status).toBe(404)
    expect((await act(project, 'reopen', manager)).status).toBe(409)
    const again = { id: message.id, role: 'user', content: 'Back.' }
    const elsewhere = await madeConversation(test, await madeProject(test, { owner: project.owner }))
    // Another project may use any id, so the response does not reveal what was erased here.
    expect((await test.fetch('POST', `${elsewhere.path}/messages`, { ...project.owner, body: again })).status).toBe(201)
  })

  it('emails each owner of member agents once', async () => {
    const owner = await signedIn(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner })
    const other = await issuedAgent(test, ['read', 'write'], { owner })
    const { id } = await dataOf(test, 'POST', '/api/projects', agent, { body: { name: 'Made by a program' } })
    const project = { id, groupId: id, path: `/api/projects/${id}`, owner, agent }
    await dataOf(test, 'POST', `${project.path}/members`, agent, { body: { kind: 'agent', member_id: other.id } })
    // An agent whose owner moved to another organization is no longer a member, as after a claim.
    const erased = await signedIn(test)
    const elsewhere = await issuedAgent(test, ['read', 'write'], { owner: erased })
    await test.app.db.prisma.projectMember.create({
      data: {
        projectId: id,
        kind: 'agent',
        memberId: elsewhere.id,
        role: 'member',
        addedBy: agent.id,
        addedAt: test.clock.now(),
      },
    })
    expect(await test.app.db.prisma.projectMember.count({ where: { projectId: id, kind: 'account' } })).toBe(0)
    const notified: string[] = []
    const isReported = async (subject: string) => {
      notified.push(subject)
      const mails = await emails(owner.accountId)
      expect(mails).toEqual(notified.map((one) => expect.stringContaining(one)))
    }
    await act(project, 'close', agent)
    await hourly()
    await isReported('is closing')
    await act(project, 'reopen', agent)
    await hourly()
    await isReported('was reopened')
    await act(project, 'close', agent)
    for (const [days, subject] of [
      [0, 'is closing'],
      [23, 'in 7 days'],
      [6, 'tomorrow'],
      [1, 'is being deleted'],
    ] as const) {
      test.clock.advance(days * day)
      await hourly()
      await isReported(subject)
    }
    expect(await emails(erased.accountId)).toEqual([])
  })

  it('is cancelled by reopening, and the 30 days restart when it is closed again', async () => {
    const { project } = await filled()
    expect((await act(project, 'reopen')).status).toBe(409)
    await act(project, 'close')
    expect((await act(project, 'close')).status).toBe(409)
    test.clock.advance(29 * day)
    await hourly()
    expect((await act(project, 'reopen')).json.data).toMatchObject({ status: 'active', closes_at: null })
    test.clock.advance(2 * day)
    await hourly()
    expect(await counts(project.id)).toMatchObject({ messages: 1, documents: 1 })
    const mails = await emails(project.owner.accountId)
    expect(mails.at(-1)).toContain('reopened')
    const deleted = await test.fetch('DELETE', project.path, project.owner)
    expect([deleted.status, deleted.json.data.status]).toEqual([200, 'closing'])
    test.clock.advance(8 * day)
    await hourly()
    expect(await emails(project.owner.accountId)).toHaveLength(mails.length + 1)
  })

  it.each([
    ['the default reason', undefined, 'deal_closure'],
    ['the given reason', 'gdpr_erasure', 'gdpr_erasure'],
    ['the last reason, after it was reopened', 'user_request', 'user_request'],
  ])('records %s in the audit log, the deletion log and the receipt', async (_, given, said) => {
    const { project } = await filled()
    const close = (body: object | undefined) => test.fetch('DELETE', project.path, { ...project.owner, body })
    if (given === 'user_request') {
      await close({ reason: 'gdpr_erasure' })
      await act(project, 'reopen')
    }
    expect((await close(given === undefined ? undefined : { reason: given })).status).toBe(200)
    test.clock.advance(30 * day)
    await hourly()
    const { prisma } = test.app.db
    const run = await prisma.erasureRun.findFirstOrThrow({ where: { partId: project.id } })
    expect(run.state).toBe('done')
    const logged = await prisma.deletionAuditEntry.findUniqueOrThrow({ where: { auditId: run.auditId ?? '' } })
    const receipt = await test.fetch('GET', `/v1/receipts/${run.receiptId}`)
    const audited = await prisma.auditEntry.findFirstOrThrow({
      where: { resourceId: project.id, action: 'delete', agentId: 'system:projects.close' },
    })
    expect([logged.reason, receipt.json.reason, audited.details]).toMatchObject([said, said, { reason: said }])
  })

  it('is allowed for owners, managers of the organization, and admins', async () => {
    const { project } = await filled()
    const member = await madeMember(test, project)
    const within = project.owner.organisationId
    expect((await act(project, 'close', member)).status).toBe(403)
    expect((await act(project, 'close', { token: project.agent.token })).status).toBe(403)
    for (const stranger of [
      await signedIn(test),
      await signedIn(test, 'manager'),
      await signedIn(test, 'person', within),
    ])
      expect((await act(project, 'close', stranger)).status).toBe(404)
    expect((await act(project, 'close', await signedIn(test, 'auditor'))).status).toBe(403)
    expect((await act(project, 'close', await signedIn(test, 'manager', within))).status).toBe(200)
    expect((await act(project, 'reopen', await signedIn(test, 'admin'))).status).toBe(200)
  })

  it.each([
    ['an admin who is demoted', 'admin', { role: 'person' as const }],
    ['a manager who is demoted', 'manager', { role: 'person' as const }],
    ['an admin whose account is closed', 'admin', { deactivatedAt: new Date() }],
  ] as const)('is withdrawn after the 30 days when it was ordered by %s since', async (_, role, change) => {
    const { project } = await filled()
    const by = await signedIn(test, role, role === 'manager' ? project.owner.organisationId : undefined)
    const other = await signedIn(test, 'admin')
    await passwordEntered(test, by)
    expect((await act(project, 'close', by)).status).toBe(200)
    await test.app.db.prisma.account.update({ where: { id: by.accountId }, data: change })
    test.clock.advance(30 * day)
    await hourly()
    expect(await test.app.db.prisma.project.findUniqueOrThrow({ where: { id: project.id } })).toMatchObject({
      status: 'active',
      closesAt: null,
      closingBy: null,
    })
    expect((await counts(project.id)).messages).toBe(1)
    expect((await emails(project.owner.accountId)).at(-1)).toBe('A project was reopened: its data will not be deleted')
    expect((await emails(other.accountId)).at(-1)).toBe('A project was not closed')
  })

  it.each([
    ['whose owner’s account is closed', 'closed'],
    ['that is retired', 'dead'],
    ['that is no owner of the project', 'removed'],
    ['that is still an owner of the project', 'kept'],
  ] as const)('ordered by an agent %s is withdrawn after the 30 days, unless nothing changed', async (_, change) => {
    const { project } = await filled()
    const { prisma } = test.app.db
    const agentOwner = await madeMember(test, project)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: agentOwner })
    const joined = { kind: 'agent', member_id: agent.id, role: 'owner' }
    await dataOf(test, 'POST', `${project.path}/members`, project.owner, { body: joined })
    expect((await test.fetch('DELETE', project.path, agent)).status).toBe(200)
    if (change === 'closed')
      await prisma.account.update({ where: { id: agentOwner.accountId }, data: { deactivatedAt: test.clock.now() } })
    if (change === 'dead') await prisma.agent.update({ where: { id: agent.id }, data: { status: 'dead' } })
    if (change === 'removed') await prisma.projectMember.deleteMany({ where: { memberId: agent.id } })
    test.clock.advance(30 * day)
    await hourly()
    const { status } = await prisma.project.findUniqueOrThrow({ where: { id: project.id } })
    expect([status, (await counts(project.id)).messages]).toEqual(change === 'kept' ? ['closed', 0] : ['active', 1])
  })

  it('is refused for a token that waits for its owner, and for an agent whose owner’s account is closed', async () => {
    const owner = await signedIn(test)
    const admin = await signedIn(test, 'admin')
    const agent = await issuedAgent(test, ['read', 'write'], { owner })
    const { id } = await dataOf(test, 'POST', '/api/projects', agent, { body: { name: 'Made by a program' } })
    const attempts = async () => {
      const path = `/api/projects/${id}`
      for (const [method, at] of [
        ['POST', `${path}/close`],
        ['DELETE', path],
      ] as const) {
        const { status, json } = await test.fetch(method, at, { ...agent, ...(method === 'POST' && { body: {} }) })
        expect([method, status, json.code]).toEqual([method, 403, 'forbidden'])
      }
    }
    const where = { id: agent.tokenId }
    await test.app.db.prisma.token.update({ where, data: { ownerConfirms: true } })
    await attempts()
    await test.app.db.prisma.token.update({ where, data: { ownerConfirms: false } })
    const closed = await test.fetch('POST', `/api/admin/users/${owner.accountId}/deactivate`, admin)
    expect(closed.status, closed.text).toBe(200)
    await attempts()
    expect((await test.app.db.prisma.project.findUniqueOrThrow({ where: { id } })).status).toBe('active')
  })

  it('a closing continues when the owner who ordered it has since changed roles, was erased, or is unknown', async () => {
    for (const by of ['kept', 'a pseudonym of an erased person', null]) {
      const { project } = await filled()
      expect((await act(project, 'close')).status).toBe(200)
      const where = { id: project.owner.accountId }
      await test.app.db.prisma.account.update({ where, data: { role: 'manager' } })
      await test.app.db.prisma.account.update({ where, data: { role: 'person' } })
      if (by !== 'kept') await test.app.db.prisma.project.update({ where: { id: project.id }, data: { closingBy: by } })
      test.clock.advance(30 * day)
      await hourly()
      expect(await counts(project.id)).toEqual(none)
    }
  })

  it('waits for a legal hold, and continues when it ends', async () => {
    const { project } = await filled()
    const admin = await signedIn(test, 'admin')
    const hold = await dataOf(test, 'POST', '/v1/holds', admin, {
      body: { kind: 'project', target_id: project.id, reason: 'A dispute' },
    })
    await act(project, 'close')
    test.clock.advance(31 * day)
    await hourly()
    expect(await dataOf(test, 'GET', project.path, project.owner)).toMatchObject({ status: 'closing', is_held: true })
    expect(await counts(project.id)).toMatchObject({ messages: 1, documents: 1 })
    await passwordEntered(test, admin)
    await dataOf(test, 'POST', `/v1/holds/${hold.id}/release`, admin, { body: { reason: 'It is settled' } })
    await hourly()
    expect(await counts(project.id)).toEqual(none)
  })

  it('sends only the email of the last day when the job did not run for 29 days', async () => {
    const { project } = await filled()
    await act(project, 'close')
    await hourly()
    test.clock.advance(29 * day + hour)
    await hourly()
    const notified = await emails(project.owner.accountId)
    expect(notified).toHaveLength(2)
    expect(notified[1]).toContain('tomorrow')
  })
})
