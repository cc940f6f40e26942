import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { dataOf, madeProject } from '#lib/testing/projects.ts'
import { approvableOperations, closedProposalRetention, maxOpenProposals, proposalLife } from './rules.ts'

const at = { proposals: '/api/admin/proposals', setting: '/api/admin/approvals' }
let test: TestApp
let mail: Mailbox
let one: Person
let two: Person
let admins: Issued
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url })
})
afterAll(async () => {
  await test?.close()
  await mail?.close()
})
// Other admins for each test, because rate limits count by account.
beforeEach(async () => {
  one = await signedIn(test, 'admin')
  two = await signedIn(test, 'admin')
  admins = await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise', owner: one })
})
afterEach(async () => {
  await operatorAccounts(test.app).liftApprovals()
  const { approvalProposal, account, retentionOverride, retentionShortening } = test.db.prisma
  await approvalProposal.deleteMany()
  await account.updateMany({ where: { role: 'admin' }, data: { role: 'person' } })
  await retentionOverride.deleteMany()
  await retentionShortening.deleteMany()
})

interface Caller {
  cookie?: string
  token?: string
}
interface Action {
  operation: (typeof approvableOperations)[number]
  method: string
  path: string
  params: Record<string, string> | null
  body: Record<string, unknown> | null
}
const change = async (who: Caller, on: boolean) => test.fetch('PUT', at.setting, { ...who, body: { is_on: on } })
const turnOn = async () => {
  for (const person of [one, two]) await passwordEntered(test, person)
  const answer = await change(one, true)
  expect(answer.status, answer.text).toBe(200)
}
const executeAction = (who: Caller, { method, path, params, body }: Action) =>
  test.fetch(
    method,
    path.replaceAll(/\{(\w+)\}/g, (_, name: string) => params?.[name] ?? ''),
    {
      ...who,
      ...(body && { body }),
    },
  )
const propose = (who: Caller, { operation, params, body }: Pick<Action, 'operation' | 'params' | 'body'>) =>
  test.fetch('POST', at.proposals, { ...who, body: { operation, params, body } })
const decide = (who: Caller, id: string, decision: string) =>
  test.fetch('POST', `${at.proposals}/${id}/decision`, { ...who, body: { decision } })
const listed = async (who: Caller = one) => (await test.fetch('GET', at.proposals, who)).json.data
const stored = (id: string) => test.db.prisma.approvalProposal.findUniqueOrThrow({ where: { id } })
const codeOf = ({ status, json }: { status: number; json: { code?: string } }) =>
  status < 300 ? status : `${status} ${json.code}`
const required = '403 approval_required'
const audited = async (id: string): Promise<Record<string, unknown>[]> =>
  (await test.db.prisma.auditEntry.findMany({ where: { resourceId: id }, orderBy: { at: 'asc' } })).map(
    ({ agentId, details }) => ({ actor: agentId, ...(details as Record<string, unknown>) }),
  )

const retention = (network = 100): Action => ({
  operation: 'editRetention',
  method: 'PATCH',
  path: '/v1/retention',
  params: null,
  body: { network_days: network },
})
/** Turns the setting on, and makes a proposal of the first admin. */
async function proposed(action = retention()): Promise<string> {
  await turnOn()
  const answer = await propose(one, action)
  expect(answer.status, answer.text).toBe(201)
  return answer.json.data.proposal_id
}
async function approved(action = retention()): Promise<string> {
  const id = await proposed(action)
  const answer = await decide(two, id, 'approve')
  expect(answer.status, answer.text).toBe(200)
  expect(answer.json.data.status).toBe('approved')
  return id
}

/** Every approvable operation, with a target that the action can have. */
const actions: Record<(typeof approvableOperations)[number], () => Promise<Omit<Action, 'operation'>>> = {
  changeUserRole: async () => onUser('PATCH', '', { body: { role: 'auditor' } }),
  inviteUser: async () => ({
    method: 'POST',
    path: '/api/admin/users',
    params: null,
    body: {
      email: `${newId('mail')}@example.org`,
      name: 'Somebody',
      role: 'admin',
      organisation_id: one.organisationId,
    },
  }),
  deactivateUser: async () => onUser('POST', '/deactivate'),
  async reactivateUser() {
    const user = await signedIn(test)
    const data = { deactivatedAt: test.clock.now() }
    await test.db.prisma.account.update({ where: { id: user.accountId }, data })
    return onUser('POST', '/reactivate', { user })
  },
  sendUserReset: async () => onUser('POST', '/reset', { user: await signedIn(test, 'auditor') }),
  removeUserSecondFactors: async () => onUser('DELETE', '/factors'),
  changeSecondFactorRequirement: async () => ({
    method: 'PUT',
    path: '/api/admin/second-factors',
    params: null,
    body: { required_of: 'nobody' },
  }),
  createToken: async () => ({
    method: 'POST',
    path: '/v1/auth/tokens',
    params: null,
    body: { agent_id: admins.id, scopes: ['admin'] },
  }),
  async rotateToken() {
    const { tokenId } = await issuedAgent(test, ['read', 'admin'], { owner: one })
    return {
      method: 'POST',
      path: '/v1/auth/tokens/{id}/rotate',
      params: { id: tokenId },
      body: { overlap: '0s' },
    }
  },
  createHold: async () => ({
    method: 'POST',
    path: '/v1/holds',
    params: null,
    body: { kind: 'account', target_id: (await signedIn(test)).accountId, reason: 'A court asked for it.' },
  }),
  async releaseHold() {
    const id = newId('hold')
    const target = { kind: 'account', targetId: (await signedIn(test)).accountId }
    const data = { id, ...target, reason: 'A case.', createdBy: 'system:test', createdAt: test.clock.now() }
    await test.db.prisma.legalHold.create({ data })
    return { method: 'POST', path: '/v1/holds/{id}/release', params: { id }, body: null }
  },
  editRetention: async () => retention(),
  resetRetention: async () => ({ method: 'DELETE', path: '/v1/retention', params: null, body: null }),
  sweepRetention: async () => ({ method: 'POST', path: '/v1/retention/sweep', params: null, body: null }),
  async retireStore() {
    const id = newId('store')
    const seen = { firstSeen: test.clock.now(), lastSeen: test.clock.now() }
    const address = `bolt://${id}`
    await test.db.prisma.knownStore.create({
      data: { id, port: 'graph', provider: 'neo4j', address, shown: address, ...seen },
    })
    const body = { statement: 'The disk was wiped and destroyed.' }
    return { method: 'POST', path: '/api/stores/{id}/retire', params: { id }, body }
  },
  async assignStoreNamespaces() {
    const { organisationId: id } = await signedIn(test)
    const body = { namespaces: [`team${newId('x').slice(-6).toLowerCase()}_`] }
    return { method: 'PUT', path: '/api/admin/organisations/{id}/namespaces', params: { id }, body }
  },
  async verifyPrivacyRequestByAdmin() {
    await passwordEntered(test, two)
    const filing = { kinds: ['erasure'], account_id: (await signedIn(test)).accountId, received_at: test.clock.now() }
    const { json } = await test.fetch('POST', '/api/admin/privacy/requests', { ...two, body: filing })
    const path = '/api/admin/privacy/requests/{id}/verify'
    return { method: 'POST', path, params: { id: json.data.id }, body: { note: 'Came to the office.' } }
  },
  async filePrivacyRequestForParticipant() {
    const { id: projectId, agent } = await madeProject(test)
    const body = { external_id: 'u1' }
    const { id } = await dataOf(test, 'POST', `/api/projects/${projectId}/participants`, agent, { body })
    const path = '/api/projects/{projectId}/participants/{participantId}/requests'
    return { method: 'POST', path, params: { projectId, participantId: id }, body: { kinds: ['erasure'] } }
  },
  changeApprovalSetting: async () => ({ method: 'PUT', path: at.setting, params: null, body: { is_on: false } }),
}
async function onUser(
  method: string,
  suffix: string,
  { user, body = null }: { user?: Person; body?: Record<string, unknown> | null } = {},
): Promise<Omit<Action, 'operation'>> {
  const { accountId: id } = user ?? (await signedIn(test))
  return { method, path: `/api/admin/users/{id}${suffix}`, params: { id }, body }
}

it('the admin whom an action concerns can reject it, and only a third admin can approve it', async () => {
  await turnOn()
  for (const [suffix, operation] of [
    ['/reset', 'sendUserReset'],
    ['/deactivate', 'deactivateUser'],
  ] as const) {
    const action = { operation, ...(await onUser('POST', suffix, { user: two })) }
    const made = await propose(one, action)
    expect(made.status, made.text).toBe(201)
    const { proposal_id: id } = made.json.data
    const own = await decide(two, id, 'approve')
    expect([own.status, own.json.code]).toEqual([403, 'forbidden'])
    expect((await stored(id)).status).toBe('waiting')
    expect((await decide(two, id, 'reject')).json.data.status).toBe('rejected')
  }
})

describe.each(approvableOperations)('%s', (operation) => {
  it('is rejected without an approval, passes once with it, and is rejected again', async () => {
    const action = { operation, ...(await actions[operation]()) }
    await turnOn()
    const token = await executeAction({ token: admins.token }, action)
    expect([required, '403 forbidden', '403 scope_too_small', '401 sign_in_needed']).toContain(codeOf(token))
    const first = await executeAction(one, action)
    expect(codeOf(first), first.text).toBe(required)
    expect(first.json.operation).toBe(operation)
    const made = await propose(one, action)
    expect(made.status, made.text).toBe(201)
    const { proposal_id: id } = made.json.data
    expect(codeOf(await executeAction(one, action))).toBe(required)
    const answer = await decide(two, id, 'approve')
    expect(answer.json.data?.status, answer.text).toBe('approved')
    expect(codeOf(await executeAction(two, action))).toBe(required)
    const done = await executeAction(one, action)
    expect(done.status, done.text).toBeLessThan(300)
    const row = await stored(id)
    expect([row.status, row.content, row.decidedBy]).toEqual(['carried_out', null, two.accountId])
    expect((await audited(id)).at(-1)).toMatchObject({
      actor: `user:${one.accountId}`,
      decision: 'carry_out',
      action: operation,
      approved_by: `user:${two.accountId}`,
    })
    // The approval is used up. Some actions are no longer possible at all.
    if (operation !== 'changeApprovalSetting') {
      const again = await executeAction(one, action)
      expect([required, '404 not_found', '409 wrong_state', '409 conflict', 200]).toContain(codeOf(again))
      if (again.status === 200) expect(operation).toBe('releaseHold')
    }
  })

  it('needs no approval while the setting is off', async () => {
    const action = { operation, ...(await actions[operation]()) }
    for (const person of [one, two]) await passwordEntered(test, person)
    expect(codeOf(await propose(one, action))).toBe('409 wrong_state')
    const done = await executeAction(one, action)
    expect(done.status, done.text).toBeLessThan(300)
  })
})

describe('authorization', () => {
  it('everything returns 401 without a session, and 403 for other roles, tokens and tenants', async () => {
    const id = await proposed()
    const others = [
      await signedIn(test),
      await signedIn(test, 'manager', one.organisationId),
      await signedIn(test, 'auditor'),
      { token: admins.token },
      { token: (await issuedAgent(test, ['read', 'write'])).token },
    ]
    const calls = [
      (who: Caller) => test.fetch('GET', at.proposals, who),
      (who: Caller) => propose(who, retention(50)),
      (who: Caller) => decide(who, id, 'approve'),
      (who: Caller) => decide(who, id, 'withdraw'),
      (who: Caller) => change(who, false),
    ]
    for (const call of calls) {
      expect(codeOf(await call({}))).toBe('401 sign_in_needed')
      for (const who of others) expect((await call(who)).status).toBe(403)
    }
    expect((await stored(id)).status).toBe('waiting')
  })

  it('a revoked token, an ended session and a demoted admin can neither propose nor decide', async () => {
    const id = await proposed()
    const deleted = await signedIn(test, 'admin')
    await test.db.prisma.session.updateMany({
      where: { accountId: deleted.accountId },
      data: { revokedAt: test.clock.now() },
    })
    const demoted = await signedIn(test, 'admin')
    await test.db.prisma.account.update({ where: { id: demoted.accountId }, data: { role: 'person' } })
    const revoked = await issuedAgent(test, ['admin'])
    await test.db.prisma.token.update({ where: { id: revoked.tokenId }, data: { revokedAt: test.clock.now() } })
    for (const [who, status] of [
      [deleted, 401],
      [demoted, 403],
      [{ token: revoked.token }, 401],
    ] as const) {
      expect((await decide(who, id, 'approve')).status).toBe(status)
      expect((await propose(who, retention(40))).status).toBe(status)
    }
  })

  it('propose and decide require a recently entered password', async () => {
    const id = await proposed()
    test.clock.advance(11 * 60_000)
    expect(codeOf(await propose(one, retention(30)))).toBe('403 step_up_required')
    expect(codeOf(await decide(two, id, 'approve'))).toBe('403 step_up_required')
    await passwordEntered(test, two)
    expect((await decide(two, id, 'approve')).status).toBe(200)
  })

  it('one admin cancels a shorter retention period that waits, but changes none', async () => {
    const id = await approved(retention(30))
    expect((await stored(id)).status).toBe('approved')
    const set = (body: unknown) => test.fetch('PATCH', '/v1/retention', { ...one, body })
    const { network } = (await set({ network_days: 30 })).json.data.policy
    expect(network).toMatchObject({ next: { days: 30 } })
    expect(codeOf(await set({ network_days: network.days, org_days: 1 }))).toBe(required)
    expect(codeOf(await set({ network_days: 36_500 }))).toBe(required)
    const cancelled = await test.fetch('PATCH', '/v1/retention', { ...two, body: { network_days: network.days } })
    expect(cancelled.json.data.policy.network.next).toBeUndefined()
  })

  it('registering an agent with the scope admin is rejected, because it has no approval of its own', async () => {
    await turnOn()
    const answer = await test.fetch('POST', '/v1/auth/register', { ...one, body: { scopes: ['admin'] } })
    expect(codeOf(answer), answer.text).toBe(required)
    const plain = await test.fetch('POST', '/v1/auth/register', { ...one, body: { scopes: ['read'] } })
    expect(plain.status, plain.text).toBe(201)
  })

  it('inviting a person and creating a token without the scope admin need no approval', async () => {
    await turnOn()
    const body = { email: `${newId('mail')}@example.org`, name: 'Somebody', role: 'person' }
    expect((await test.fetch('POST', '/api/admin/users', { ...one, body })).status).toBe(201)
    const token = { agent_id: admins.id, scopes: ['read'] }
    expect((await test.fetch('POST', '/v1/auth/tokens', { ...one, body: token })).status).toBe(201)
  })
})

describe('a decision', () => {
  it('is not possible for the proposer, in a second session neither', async () => {
    const id = await proposed()
    const { sessionId, ...second } = await secondSession(one)
    expect(sessionId).not.toBe('')
    for (const who of [one, second])
      for (const decision of ['approve', 'reject'])
        expect(codeOf(await decide(who, id, decision))).toBe('403 forbidden')
    expect(codeOf(await decide({ token: admins.token }, id, 'approve'))).toBe('403 forbidden')
    expect(codeOf(await decide(two, id, 'withdraw'))).toBe('403 forbidden')
    expect((await stored(id)).status).toBe('waiting')
  })

  it('cannot be stored for the proposer in the database either', async () => {
    const id = await proposed()
    await expect(
      test.db.prisma.approvalProposal.update({ where: { id }, data: { decidedBy: one.accountId } }),
    ).rejects.toThrow('approval_proposals_not_own')
  })

  it('happens once when two admins decide concurrently', async () => {
    const id = await proposed()
    const three = await signedIn(test, 'admin')
    const both = await Promise.all([decide(two, id, 'approve'), decide(three, id, 'reject')])
    expect(both.map(codeOf).sort()).toEqual([200, '409 wrong_state'])
  })

  it('rejected and withdrawn proposals allow nothing, lose their content and cannot be decided again', async () => {
    for (const [who, decision, status] of [
      [two, 'reject', 'rejected'],
      [one, 'withdraw', 'withdrawn'],
    ] as const) {
      const id = await proposed()
      const answer = await decide(who, id, decision)
      expect(answer.json.data).toMatchObject({ status, facts: null, request: null })
      expect((await stored(id)).content).toBeNull()
      expect(codeOf(await executeAction(one, retention()))).toBe(required)
      expect(codeOf(await decide(two, id, 'approve'))).toBe('409 wrong_state')
      expect(await audited(id)).toMatchObject([
        { operation: 'propose', action: 'editRetention', admins: 1 },
        { operation: 'decideProposal', action: 'editRetention', decision },
      ])
    }
  })

  it('an approved proposal can be withdrawn by its proposer', async () => {
    const id = await approved()
    expect((await decide(one, id, 'withdraw')).json.data.status).toBe('withdrawn')
    expect(codeOf(await executeAction(one, retention()))).toBe(required)
  })

  it('closes the proposal if the proposer is no longer an admin', async () => {
    const id = await proposed()
    await test.db.prisma.account.update({ where: { id: one.accountId }, data: { role: 'person' } })
    expect((await decide(two, id, 'approve')).json.data.status).toBe('outdated')
  })

  it('a decision of an unknown proposal returns 404', async () => {
    expect(codeOf(await decide(two, newId('app'), 'approve'))).toBe('404 not_found')
  })
})

/** Another session of the same person. */
async function secondSession({ accountId }: Person) {
  const other = await signedIn(test, 'admin')
  await test.db.prisma.session.updateMany({ where: { accountId: other.accountId }, data: { accountId } })
  return { cookie: other.cookie, sessionId: other.accountId }
}

describe('an approval', () => {
  it('allows only the same operation, parameters and body, for the proposer', async () => {
    await approved()
    expect(codeOf(await executeAction(one, retention(101)))).toBe(required)
    expect(codeOf(await executeAction(one, { ...retention(), body: { network_days: 100, org_days: 100 } }))).toBe(
      required,
    )
    expect(codeOf(await executeAction(two, retention()))).toBe(required)
    const reset: Action = { ...retention(), operation: 'resetRetention', method: 'DELETE', body: null }
    expect(codeOf(await executeAction(one, reset))).toBe(required)
    expect((await executeAction(one, retention())).status).toBe(200)
  })

  it('an approval of one account does not allow the same change of another', async () => {
    const [first, second] = [await onUser('POST', '/deactivate'), await onUser('POST', '/deactivate')]
    await approved({ operation: 'deactivateUser', ...first })
    expect(codeOf(await executeAction(one, { operation: 'deactivateUser', ...second }))).toBe(required)
  })

  it('matches a body whose members have another order', async () => {
    await approved({ ...retention(), body: { network_days: 100, org_days: 50 } })
    expect((await executeAction(one, { ...retention(), body: { org_days: 50, network_days: 100 } })).status).toBe(200)
  })

  it('is used up once by two concurrent repeats, also in two sessions', async () => {
    const id = await approved()
    const second = await secondSession(one)
    const both = await Promise.all([executeAction(one, retention()), executeAction(second, retention())])
    expect(both.map(codeOf).sort()).toEqual([200, required])
    expect((await audited(id)).filter(({ decision }) => decision === 'carry_out')).toHaveLength(1)
  })

  it('remains if the action fails or the process dies before the commit', async () => {
    const invitation: Action = { operation: 'inviteUser', ...(await actions.inviteUser()) }
    const id = await approved(invitation)
    const { accountId } = await signedIn(test)
    const inUse = (email: unknown) =>
      test.db.prisma.account.update({ where: { id: accountId }, data: { email: String(email).toLowerCase() } })
    await inUse(invitation.body?.email)
    expect(codeOf(await executeAction(one, invitation))).toBe('409 conflict')
    expect((await stored(id)).status).toBe('approved')
    expect((await audited(id)).filter(({ decision }) => decision === 'carry_out')).toEqual([])
    await inUse(`${newId('mail')}@example.org`)
    expect((await executeAction(one, invitation)).status).toBe(201)
    expect((await stored(id)).status).toBe('carried_out')
  })

  it('is not used up by a replay of the stored answer', async () => {
    const hold: Action = { operation: 'createHold', ...(await actions.createHold()) }
    await approved(hold)
    const headers = { 'Idempotency-Key': newId('key') }
    const send = () => test.fetch('POST', hold.path, { cookie: one.cookie, body: hold.body, headers })
    const first = await send()
    expect(first.status, first.text).toBe(201)
    const again = await send()
    expect([again.status, again.headers.get('idempotency-replayed')]).toEqual([201, 'true'])
    expect(again.json.data.id).toBe(first.json.data.id)
    expect(await test.db.prisma.legalHold.count({ where: { id: first.json.data.id, releasedAt: null } })).toBe(1)
  })

  it('expires 72 hours after the proposal, before and after the decision', async () => {
    const waiting = await proposed(retention(60))
    const other = await approved()
    test.clock.advance(proposalLife)
    await turnOn()
    expect(codeOf(await executeAction(one, retention()))).toBe(required)
    expect(codeOf(await decide(two, waiting, 'approve'))).toBe('409 wrong_state')
    expect((await listed()).map(({ status }: { status: string }) => status)).toEqual(['expired', 'expired'])
    await upkeep()
    for (const id of [waiting, other]) {
      const { status, content } = await stored(id)
      expect([status, content]).toEqual(['expired', null])
      expect((await audited(id)).at(-1)).toMatchObject({ actor: 'system:approvals.upkeep', decision: 'expire' })
    }
    test.clock.advance(closedProposalRetention + 1)
    await upkeep()
    expect(await test.db.prisma.approvalProposal.count()).toBe(0)
  })

  it.each([
    ['deactivated', { deactivatedAt: new Date() }],
    ['demoted', { role: 'person' as const }],
  ])('no longer applies after the approver was %s', async (_, data) => {
    const id = await approved()
    await test.db.prisma.account.update({ where: { id: two.accountId }, data })
    expect(codeOf(await executeAction(one, retention()))).toBe('409 conflict')
    expect((await stored(id)).status).toBe('outdated')
    expect((await audited(id)).at(-1)).toMatchObject({ decision: 'outdated', action: 'editRetention' })
  })

  it('is of no use to a proposer who lost the role', async () => {
    await approved()
    await test.db.prisma.account.update({ where: { id: one.accountId }, data: { role: 'person' } })
    expect(codeOf(await executeAction(one, retention()))).toBe('403 forbidden')
  })

  it('no longer applies after its target changed', async () => {
    const user = await signedIn(test)
    const action: Action = {
      operation: 'changeUserRole',
      method: 'PATCH',
      path: '/api/admin/users/{id}',
      params: { id: user.accountId },
      body: { role: 'admin' },
    }
    const id = await approved(action)
    await test.db.prisma.account.update({ where: { id: user.accountId }, data: { role: 'auditor' } })
    expect(codeOf(await executeAction(one, action))).toBe('409 conflict')
    expect((await stored(id)).status).toBe('outdated')
    expect((await test.db.prisma.account.findUniqueOrThrow({ where: { id: user.accountId } })).role).toBe('auditor')
  })
})

const upkeep = async () => {
  const job = test.app.jobs.find(({ name }) => name === 'approvals.upkeep')
  await job?.execute(test.app.pipeline, {})
}

describe('proposals', () => {
  it('show facts and names to admins, and seal what they would do', async () => {
    const { accountId } = await signedIn(test)
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
    const id = await proposed({
      operation: 'changeUserRole',
      method: 'PATCH',
      path: '/api/admin/users/{id}',
      params: { id: accountId },
      body: { role: 'admin' },
    })
    expect(await listed(two)).toMatchObject([
      {
        proposal_id: id,
        operation: 'changeUserRole',
        status: 'waiting',
        is_own: false,
        proposed_by: { account_id: one.accountId, name: 'Somebody' },
        facts: { email, role_now: 'person', role_next: 'admin' },
        request: { method: 'patch', path: '/api/admin/users/{id}', params: { id: accountId }, body: { role: 'admin' } },
      },
    ])
    const { content } = await stored(id)
    expect(Buffer.from(content ?? []).includes(email)).toBe(false)
    expect(JSON.stringify(await audited(id))).not.toContain(email)
  })

  it('proposals for impossible and invalid actions are rejected', async () => {
    await turnOn()
    const role = { operation: 'changeUserRole', body: { role: 'admin' } } as const
    expect(codeOf(await propose(one, { ...role, params: { id: `usr_${'0'.repeat(22)}` } }))).toBe('404 not_found')
    expect(codeOf(await propose(one, { ...role, params: { id: 'x' } }))).toBe('422 invalid')
    expect(codeOf(await propose(one, { operation: 'editRetention', params: null, body: { network_days: 'x' } }))).toBe(
      '422 invalid',
    )
    const token = { operation: 'createToken', params: null, body: { scopes: ['admin'] } } as const
    expect(codeOf(await propose(one, token))).toBe('422 invalid')
    const unknown = { operation: 'eraseEverything', params: null, body: null }
    expect(codeOf(await test.fetch('POST', at.proposals, { ...one, body: unknown }))).toBe('422 invalid')
  })

  it('proposals of the same action exist once, also when sent twice at once', async () => {
    await turnOn()
    const both = await Promise.all([propose(one, retention()), propose(one, retention())])
    expect(both.map(codeOf).sort()).toEqual([201, '409 conflict'])
    expect((await propose(two, retention())).status).toBe(201)
  })

  it(`are limited to ${maxOpenProposals} open ones and 50 a day, so that nobody floods the other admins with emails`, async () => {
    await turnOn()
    for (let n = 0; n < maxOpenProposals; n++) expect((await propose(one, retention(200 + n))).status).toBe(201)
    expect(codeOf(await propose(one, retention(300)))).toBe('409 conflict')
    const { id, ...row } = await test.db.prisma.approvalProposal.findFirstOrThrow()
    expect(id).toMatch(/^app_/)
    await test.db.prisma.approvalProposal.deleteMany()
    await test.db.prisma.approvalProposal.createMany({
      data: Array.from({ length: 50 }, () => ({
        ...row,
        id: newId('app'),
        status: 'withdrawn',
        content: null,
      })),
    })
    expect(codeOf(await propose(one, retention(300)))).toBe('409 conflict')
  })
})

describe('the setting', () => {
  it('cannot be turned on by the only active admin, and turning it off needs an approval', async () => {
    const closed = (at: Date | null) =>
      test.db.prisma.account.update({ where: { id: two.accountId }, data: { deactivatedAt: at } })
    await closed(new Date())
    await passwordEntered(test, one)
    expect(codeOf(await change(one, true))).toBe('409 wrong_state')
    await closed(null)
    await turnOn()
    expect(codeOf(await change(one, false))).toBe(required)
  })

  it('does not count an admin who has not replaced a one-time password', async () => {
    const oneTime = (mustChangePassword: boolean) =>
      test.db.prisma.account.update({ where: { id: two.accountId }, data: { mustChangePassword } })
    const admins = async () => (await test.fetch('GET', at.setting, one)).json.data.active_admins
    const before = await admins()
    await oneTime(true)
    expect(await admins()).toBe(before - 1)
    await passwordEntered(test, one)
    expect(codeOf(await change(one, true))).toBe('409 wrong_state')
    await oneTime(false)
    expect(await admins()).toBe(before)
  })

  it('required approvals allow nothing after all other admins left, until the operator lifts the requirement', async () => {
    // Entries of the same millisecond have no order.
    test.clock.advance(1_000)
    await turnOn()
    await test.db.prisma.account.update({ where: { id: two.accountId }, data: { deactivatedAt: new Date() } })
    const refused = await executeAction(one, retention())
    expect(codeOf(refused)).toBe(required)
    expect(refused.json.detail).toContain('kp admin lift-approvals')
    expect((await test.fetch('GET', at.setting, one)).json.data).toEqual({ is_on: true, active_admins: 1 })
    expect(await operatorAccounts(test.app).liftApprovals()).toEqual({ before: true })
    expect((await executeAction(one, retention())).status).toBe(200)
    expect((await audited('two_person_approval')).findLast(({ to }) => to === false)).toEqual({
      actor: 'system:admin.account',
      fields: ['two_person_approval'],
      from: true,
      to: false,
    })
  })

  it('is not a field of the general settings', async () => {
    await turnOn()
    const answer = await test.fetch('PATCH', '/v1/settings', { ...one, body: { two_person_approval: false } })
    expect(answer.status).toBe(422)
    expect((await test.fetch('GET', at.setting, one)).json.data.is_on).toBe(true)
  })
})

describe('emails', () => {
  const subjectsTo = async ({ accountId }: Person) => {
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
    return mail.letters.filter(({ to }) => to === email).map(({ subject }) => subject)
  }
  const work = () => drain(test, { except: ['privacy.clock', 'approvals.upkeep'] })

  it('go to the other admins about a proposal, and to the proposer about the decision, without its content', async () => {
    const three = await signedIn(test, 'admin')
    const choice = { ...three, body: { delivery: 'never' } }
    expect((await test.fetch('PUT', '/api/account/emails/approvals', choice)).status).toBe(200)
    const before = mail.letters.length
    const hold: Action = { operation: 'createHold', ...(await actions.createHold()) }
    const id = await proposed(hold)
    await decide(two, id, 'reject')
    await work()
    expect(await subjectsTo(two)).toEqual(['An action waits for your approval'])
    expect(await subjectsTo(one)).toEqual(['Your proposed action was rejected'])
    expect(await subjectsTo(three)).toEqual([])
    const texts = JSON.stringify(mail.letters.slice(before))
    expect(texts).toContain('/admin/approvals')
    expect(texts).not.toContain('A court')
  })
})

describe('erasure', () => {
  const source = () => {
    const found = test.app.dataSources.find(({ name }) => name === 'approvals.proposals')
    if (!found) throw new Error('The data source does not exist.')
    return found
  }

  it('deletes the proposals that a person made or decided, and those about the person or an agent', async () => {
    const user = await signedIn(test)
    const agent = await issuedAgent(test, ['admin'], { owner: user })
    const role: Action = {
      operation: 'changeUserRole',
      method: 'PATCH',
      path: '/api/admin/users/{id}',
      params: { id: user.accountId },
      body: { role: 'admin' },
    }
    const aboutUser = await proposed(role)
    const token = { operation: 'rotateToken', params: { id: agent.tokenId }, body: null } as const
    const aboutToken = (await propose(one, token)).json.data.proposal_id
    const byBoth = (await propose(one, retention())).json.data.proposal_id
    expect((await decide(two, byBoth, 'approve')).status).toBe(200)
    const other = (await propose(two, retention(70))).json.data.proposal_id

    const now = test.clock.now()
    const covered = async (account: string | null, agents: string[]) => {
      const subject = { account, agents }
      const { items } = await test.db.transaction((tx) => source().plan({ subject }, tx, now))
      expect((await source().inventory(subject, now)).count).toBe(items.length)
      expect(await source().residue({ subject }, [], now)).toBe(items.length)
      return items.sort()
    }
    expect(await covered(null, [agent.id])).toEqual([aboutToken])
    expect(await covered(user.accountId, [])).toEqual([aboutToken, aboutUser].sort())
    expect(await covered(two.accountId, [])).toEqual([byBoth, other].sort())
    expect(await covered(one.accountId, [])).toEqual([aboutToken, aboutUser, byBoth].sort())

    const subject = { account: two.accountId, agents: [] }
    await test.db.transaction((tx) => source().erase({ subject }, [byBoth, other], tx))
    expect(await source().residue({ subject }, [byBoth, other], now)).toBe(0)
    // The approval was deleted with the approver.
    expect(codeOf(await executeAction(one, retention()))).toBe(required)
  })

  it('is not bypassed by a proposal of an account that is being erased', async () => {
    await turnOn()
    await test.db.prisma.writeFence.create({
      data: { kind: 'account', id: one.accountId, runId: 'run_test', raisedAt: test.clock.now() },
    })
    expect((await propose(one, retention())).status).toBeGreaterThanOrEqual(400)
    expect(await test.db.prisma.approvalProposal.count()).toBe(0)
    await test.db.prisma.writeFence.deleteMany()
  })

  it('exports list the proposals of a person without what they would do', async () => {
    const id = await approved()
    const exporter = test.app.personExporters.find(({ part }) => part === 'proposals')
    const read = async ({ accountId, organisationId }: Person) => {
      const reader = {
        basis: 'all',
        id: `user:${accountId}`,
        agents: [],
        organisationId,
        isAdmin: false,
        seesPrivate: true,
      } as const
      let text = ''
      for await (const { lines } of exporter?.pages(accountId, { ...reader, until: test.clock.now() }) ?? [])
        text += lines
      return text
    }
    for (const person of [one, two]) expect(await read(person)).toContain(id)
    expect(await read(two)).not.toContain('network_days')
    expect(await read(await signedIn(test))).toBe('')
  })
})
