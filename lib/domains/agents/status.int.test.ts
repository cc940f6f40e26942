import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { raiseAccountFence } from '#lib/domains/accounts/personal-data.ts'
import { contributeUnit } from '#lib/domains/knowledge/contract.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { readRestriction, setRestriction, withdrawAllConsent } from './contract.ts'
import { raiseAgentFences } from './personal-data.ts'
import { noticeVersion } from './rules.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app?.close())

const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await app.db.pool.query(sql, values)).rows
const agentRow = async (id: string) => (await rows('SELECT * FROM agents WHERE id = $1', id))[0]
const reasonsOf = async (id: string) => (await agentRow(id))?.restricted_for
const restrict = (body: unknown, ask: TestRequest) => app.fetch('POST', '/api/privacy/restriction', { body, ...ask })
const write = (token: string) => app.fetch('POST', '/v1/knowledge', { token, body: trace() })
const claim = (token: string, cookie: string) => app.fetch('POST', '/api/agents/claim', { body: { token }, cookie })
/** A person who owns two agents. */
async function owner(): Promise<{ person: Person; one: Issued; other: Issued; ask: TestRequest }> {
  const person = await signedIn(app)
  const [one, other] = [
    await issuedAgent(app, ['read', 'write'], { owner: person }),
    await issuedAgent(app, ['read', 'write'], { owner: person }),
  ]
  return { person, one, other, ask: { cookie: person.cookie } }
}
/** A response without its request id. */
const plain = ({ json: { instance: _, ...answer } }: { json: Record<string, unknown> }) => answer
const code = ({ status, json }: { status: number; json: { code?: string } }) => [status, json?.code]

describe('restricting oneself', () => {
  test("pauses all of a person's agents and no others; reading, erasing and exporting still work", async () => {
    const { person, one, other, ask } = await owner()
    const stranger = await app.agent(['read', 'write'])
    const { id } = contributeUnit.output.parse((await write(one.token)).json).data
    expect((await app.fetch('GET', `/v1/knowledge/${id}`, { token: stranger.token })).status).toBe(200)

    const response = await restrict({ restricted: true }, ask)
    expect(response.status, response.text).toBe(200)
    expect(setRestriction.output.parse(response.json).data).toEqual({
      agent_id: null,
      restricted: true,
      restricted_at: app.clock.now().toISOString(),
      restricted_for: ['request'],
      agents: 2,
      changed: 2,
    })
    for (const { token } of [one, other]) expect(code(await write(token))).toEqual([403, 'restricted'])
    expect((await write(stranger.token)).status).toBe(201)
    expect((await app.fetch('GET', `/v1/knowledge/${id}`, { token: stranger.token })).status).toBe(404)
    expect((await app.fetch('GET', `/v1/knowledge/${id}`, { token: one.token })).status).toBe(200)
    expect((await app.fetch('GET', `/v1/export/${one.id}`, { token: one.token })).status).toBe(200)
    expect((await app.fetch('GET', `/v1/export/${one.id}`, ask)).status).toBe(200)
    expect((await app.fetch('DELETE', `/v1/knowledge/${id}`, { token: one.token })).status).toBe(204)

    const entries = await rows(
      "SELECT resource_type, resource_id, details FROM audit_entries WHERE agent_id = $1 AND details->>'operation' = 'setRestriction' ORDER BY resource_id",
      `user:${person.accountId}`,
    )
    expect(entries.map((entry) => entry.resource_id).sort()).toEqual([person.accountId, one.id, other.id].sort())
    expect(entries.every((entry) => JSON.stringify(entry.details).includes('restricted_at'))).toBe(true)
  })

  test('is lifted by the same operation, and repeating it changes nothing', async () => {
    const { one, ask } = await owner()
    await restrict({ restricted: true }, ask)
    const since = (await agentRow(one.id))?.restricted_at
    app.clock.advance(60_000)
    const again = setRestriction.output.parse((await restrict({ restricted: true }, ask)).json).data
    expect(again).toMatchObject({ changed: 0, restricted: true })
    expect((await agentRow(one.id))?.restricted_at).toEqual(since)
    const lifted = setRestriction.output.parse((await restrict({ restricted: false }, ask)).json).data
    expect(lifted).toMatchObject({ restricted: false, restricted_at: null, restricted_for: [], changed: 2 })
    expect(await agentRow(one.id)).toMatchObject({ restricted_at: null, restricted_for: [] })
    expect((await write(one.token)).status).toBe(201)
    expect(setRestriction.output.parse((await restrict({ restricted: false }, ask)).json).data.changed).toBe(0)
  })

  test('lifting it keeps restrictions by withdrawn consent and by objection', async () => {
    const { person, one, other, ask } = await owner()
    const subject = { account: person.accountId, agents: [] }
    const now = app.clock.now()
    await app.fetch('DELETE', `/v1/auth/consent?agent_id=${one.id}`, ask)
    await restrict({ restricted: true }, ask)
    expect(await reasonsOf(one.id)).toEqual(['consent', 'request'])
    await app.db.transaction((tx) => app.app.agents.restrict(tx, subject, 'objection', now))
    expect(await reasonsOf(other.id)).toEqual(['objection', 'request'])
    const answer = setRestriction.output.parse((await restrict({ restricted: false }, ask)).json)
    expect(answer.data).toMatchObject({ restricted: true, restricted_for: ['objection'] })
    expect(answer.message).toContain('another one remains')
    expect(await reasonsOf(one.id)).toEqual(['consent', 'objection'])
    expect(code(await write(other.token))).toEqual([403, 'restricted'])
    const change = await app.db.transaction((tx) => app.app.agents.unrestrict(tx, subject, 'objection', now))
    expect(change).toEqual({ account: person.accountId, agents: [one.id, other.id].sort() })
    expect((await write(other.token)).status).toBe(201)
    expect(await agentRow(one.id)).toMatchObject({ restricted_for: ['consent'] })
    // Conversely: new consent keeps the requested restriction.
    await restrict({ restricted: true, agent_id: one.id }, ask)
    await app.fetch('POST', '/v1/auth/consent', { body: { policy_version: noticeVersion, agent_id: one.id }, ...ask })
    expect(await reasonsOf(one.id)).toEqual(['request'])
  })

  test('affects only the named agent, and cannot be lifted for one agent while all are restricted', async () => {
    const { one, other, ask } = await owner()
    const answer = setRestriction.output.parse((await restrict({ restricted: true, agent_id: one.id }, ask)).json)
    expect(answer.data).toMatchObject({ agent_id: one.id, restricted: true, agents: 1, changed: 1 })
    expect(await reasonsOf(other.id)).toEqual([])
    expect((await restrict({ restricted: false, agent_id: one.id }, ask)).status).toBe(200)
    await restrict({ restricted: true }, ask)
    expect(code(await restrict({ restricted: false, agent_id: one.id }, ask))).toEqual([409, 'conflict'])
    expect(await reasonsOf(one.id)).toEqual(['request'])
  })

  test('applies to agents claimed or created later', async () => {
    const person = await signedIn(app)
    await restrict({ restricted: true }, { cookie: person.cookie })
    const stray = await app.agent(['read', 'write'])
    expect((await write(stray.token)).status).toBe(201)
    expect((await claim(stray.token, person.cookie)).status).toBe(200)
    expect(code(await write(stray.token))).toEqual([403, 'restricted'])
    const made = await issuedAgent(app, ['read', 'write'], { owner: person })
    expect(code(await write(made.token))).toEqual([403, 'restricted'])
    await restrict({ restricted: false }, { cookie: person.cookie })
    expect((await write(stray.token)).status).toBe(201)
  })

  test('is lifted by a person only with a recently entered password', async () => {
    const { person, ask } = await owner()
    app.clock.advance(11 * 60_000)
    expect((await restrict({ restricted: true }, ask)).status).toBe(200)
    expect(code(await restrict({ restricted: false }, ask))).toEqual([403, 'step_up_required'])
    await passwordEntered(app, person)
    expect((await restrict({ restricted: false }, ask)).status).toBe(200)
  })

  test("works for an agent with scope write, which cannot lift its owner's restriction", async () => {
    const agent = await app.agent(['read', 'write'])
    expect((await restrict({ restricted: true }, { token: agent.token })).status).toBe(200)
    expect(code(await write(agent.token))).toEqual([403, 'restricted'])
    expect((await restrict({ restricted: false }, { token: agent.token })).status).toBe(200)
    expect((await write(agent.token)).status).toBe(201)
    const reader = await app.agent(['read'])
    expect(code(await restrict({ restricted: true }, { token: reader.token }))).toEqual([403, 'scope_too_small'])
    const { one, ask } = await owner()
    await restrict({ restricted: true, agent_id: one.id }, ask)
    expect(code(await restrict({ restricted: false }, { token: one.token }))).toEqual([403, 'forbidden'])
    expect(await reasonsOf(one.id)).toEqual(['request'])
  })

  test('returns the same 404 to strangers, other tenants and admins as for missing agents', async () => {
    const { one } = await owner()
    const stranger = await app.agent(['read', 'write'])
    const admin = await issuedAgent(app, ['read', 'write', 'admin'])
    const other = await signedIn(app)
    const boss = await signedIn(app, 'admin')
    const answer: unknown[] = []
    for (const ask of [
      { token: stranger.token },
      { token: admin.token },
      { cookie: other.cookie },
      { cookie: boss.cookie },
    ])
      for (const id of [one.id, 'nobody-here'])
        answer.push(plain(await restrict({ restricted: true, agent_id: id }, ask)))
    expect(new Set(answer.map((json) => JSON.stringify(json))).size).toBe(1)
    expect(answer[0]).toMatchObject({ status: 404 })
    expect((await restrict({ restricted: true }, {})).status).toBe(401)
    expect(await reasonsOf(one.id)).toEqual([])
    for (const body of [{}, { restricted: 'yes' }, { restricted: true, more: 1 }, { restricted: true, agent_id: '' }])
      expect((await restrict(body, { cookie: other.cookie })).status).toBe(422)
  })

  test('is not repeated by an idempotent retry or by a revoked token', async () => {
    const agent = await issuedAgent(app, ['read', 'write'])
    const headers = { 'Idempotency-Key': 'pause-once' }
    const first = await restrict({ restricted: true }, { token: agent.token, headers })
    await restrict({ restricted: false }, { token: agent.token })
    const again = await restrict({ restricted: true }, { token: agent.token, headers })
    expect(again.json).toEqual(first.json)
    expect(again.headers.get('Idempotency-Replayed')).toBe('true')
    expect(await reasonsOf(agent.id)).toEqual([])
    await rows('UPDATE tokens SET revoked_at = now() WHERE id = $1', agent.tokenId)
    expect(code(await restrict({ restricted: true }, { token: agent.token }))).toEqual([401, 'token_revoked'])
    expect(code(await app.fetch('DELETE', '/api/privacy/consent', { token: agent.token }))).toEqual([
      401,
      'token_revoked',
    ])
    expect(await agentRow(agent.id)).toMatchObject({ restricted_for: [], consent_withdrawn_at: null })
  })

  test('ends in one state with all reasons when several requests are concurrent', async () => {
    const { person, one, ask } = await owner()
    const subject = { account: person.accountId, agents: [] }
    const strays = await Promise.all(Array.from({ length: 4 }, () => app.agent(['read', 'write'])))
    await Promise.all([
      restrict({ restricted: true }, ask),
      app.db.transaction((tx) => app.app.agents.restrict(tx, subject, 'objection', app.clock.now())),
      app.fetch('DELETE', '/api/privacy/consent', ask),
      ...strays.map(({ token }) => claim(token, person.cookie)),
    ])
    expect(await reasonsOf(one.id)).toEqual(['consent', 'objection', 'request'])
    for (const { id } of strays) {
      const row = await agentRow(id)
      expect(row?.owner_id).toBe(person.accountId)
      expect(row?.restricted_for).toEqual(expect.arrayContaining(['objection', 'request']))
      expect(row?.restricted_at).not.toBeNull()
    }
  })
})

describe('withdrawing consent for all agents', () => {
  const withdraw = (ask: TestRequest) => app.fetch('DELETE', '/api/privacy/consent', ask)

  test('requires a token that can write; a read-only token is rejected', async () => {
    const reader = await issuedAgent(app, ['read'])
    expect(code(await withdraw({ token: reader.token }))).toEqual([403, 'scope_too_small'])
    expect(await agentRow(reader.id)).toMatchObject({ restricted_for: [], consent_withdrawn_at: null })
    const writer = await issuedAgent(app, ['write'])
    expect((await withdraw({ token: writer.token })).status).toBe(200)
  })

  test('restricts all own agents and no others in one request, and offers erasure', async () => {
    const { one, other, ask } = await owner()
    const stranger = await app.agent(['read', 'write'])
    const response = await withdraw(ask)
    expect(response.status, response.text).toBe(200)
    const { data, message } = withdrawAllConsent.output.parse(response.json)
    expect(data).toEqual({ agents: 2, changed: 2 })
    expect(message).toContain('POST /api/privacy/requests')
    for (const { id, token } of [one, other]) {
      expect(await agentRow(id)).toMatchObject({
        consent_withdrawn_at: app.clock.now(),
        restricted_at: app.clock.now(),
        restricted_for: ['consent'],
      })
      expect(code(await write(token))).toEqual([403, 'restricted'])
    }
    expect((await write(stranger.token)).status).toBe(201)
    expect(withdrawAllConsent.output.parse((await withdraw(ask)).json).data).toEqual({ agents: 2, changed: 0 })
    const body = { policy_version: noticeVersion, agent_id: one.id }
    expect((await app.fetch('POST', '/v1/auth/consent', { body, ...ask })).status).toBe(200)
    expect((await write(one.token)).status).toBe(201)
    expect(code(await write(other.token))).toEqual([403, 'restricted'])
  })

  test('succeeds for an agent with the scope write and for a person without agents, and is rejected for other callers', async () => {
    const reader = await app.agent(['read'])
    expect(code(await withdraw({ token: reader.token }))).toEqual([403, 'scope_too_small'])
    const agent = await app.agent(['read', 'write'])
    expect((await withdraw({ token: agent.token })).json.data).toEqual({ agents: 1, changed: 1 })
    expect((await withdraw({ cookie: (await signedIn(app)).cookie })).json.data).toEqual({ agents: 0, changed: 0 })
    expect((await withdraw({})).status).toBe(401)
  })
})

describe('suspending', () => {
  const me = (token: string) => app.fetch('GET', '/v1/auth/me', { token })
  const own = (person: Person) => ({ account: person.accountId, agents: [] })
  const suspend = (subject: { account: string | null; agents: string[] }) =>
    app.db.transaction((tx) => app.app.agents.suspend(tx, subject, app.clock.now()))
  const unsuspend = (subject: { account: string | null; agents: string[] }) =>
    app.db.transaction((tx) => app.app.agents.unsuspend(tx, subject, app.clock.now()))

  test('rejects every token of the subject immediately and explains how to cancel; tokens work again afterwards', async () => {
    const { person, one, other, ask } = await owner()
    const stranger = await app.agent(['read'])
    expect((await me(one.token)).status).toBe(200)
    expect(await suspend(own(person))).toEqual({ account: person.accountId, agents: [one.id, other.id].sort() })
    for (const { token } of [one, other]) {
      const response = await me(token)
      expect(code(response)).toEqual([401, 'token_suspended'])
      expect(response.headers.get('WWW-Authenticate')).toContain('invalid_token')
      expect(response.json.detail).toContain('cancel with this token')
    }
    for (const [method, path] of [
      ['GET', '/v1/knowledge'],
      ['POST', '/v1/knowledge'],
      ['GET', `/v1/export/${one.id}`],
      ['POST', '/v1/auth/tokens'],
      ['POST', '/v1/auth/register'],
      ['DELETE', '/v1/auth/consent'],
    ] as const) {
      const body = method === 'POST' ? {} : undefined
      expect(code(await app.fetch(method, path, { token: one.token, body })), path).toEqual([401, 'token_suspended'])
    }
    expect((await me(stranger.token)).status).toBe(200)
    // A token created meanwhile is suspended as well.
    const made = await app.fetch('POST', '/v1/auth/tokens', { body: { agent_id: one.id }, ...ask })
    expect(made.status, made.text).toBe(201)
    expect(code(await me(made.json.data.api_key))).toEqual([401, 'token_suspended'])
    // Sign-in still works.
    expect((await app.fetch('GET', '/api/account', ask)).status).toBe(200)

    expect(await suspend(own(person))).toEqual({ account: null, agents: [] })
    await unsuspend(own(person))
    expect((await me(one.token)).status).toBe(200)
    expect(await rows('SELECT 1 FROM accounts WHERE suspended_at IS NOT NULL AND id = $1', person.accountId)).toEqual(
      [],
    )
  })

  test('affects only the named agent; revoked and expired tokens are reported as such', async () => {
    const { one, other } = await owner()
    const subject = { account: null, agents: [one.id] }
    await suspend(subject)
    expect(code(await me(one.token))).toEqual([401, 'token_suspended'])
    expect((await me(other.token)).status).toBe(200)
    await rows('UPDATE tokens SET revoked_at = now() WHERE id = $1', one.tokenId)
    expect(code(await me(one.token))).toEqual([401, 'token_revoked'])
  })

  test('lets an agent read its own privacy requests, which it needs for cancelling', async () => {
    const agent = await app.agent(['read', 'write'])
    const { token } = agent
    await suspend({ account: null, agents: [agent.id] })
    expect((await app.fetch('GET', '/api/privacy/requests', { token })).status).toBe(200)
    const none = `/api/privacy/requests/preq_${'0'.repeat(22)}`
    expect(code(await app.fetch('GET', none, { token }))).toEqual([404, 'not_found'])
    expect(code(await app.fetch('POST', `${none}/cancel`, { token }))).toEqual([404, 'not_found'])
    expect(code(await me(token))).toEqual([401, 'token_suspended'])
  })

  test('blocks other privacy operations, so that a leaked token cannot use the grace period', async () => {
    const { person, one } = await owner()
    await suspend(own(person))
    for (const [method, path, body] of [
      ['POST', '/api/privacy/requests', { kinds: ['erasure'], grace: 'now' }],
      ['POST', '/api/privacy/requests', { kinds: ['access'] }],
      ['POST', `/api/privacy/requests/preq_${'0'.repeat(22)}/link`, undefined],
      ['POST', '/api/privacy/restriction', { restricted: true }],
      ['DELETE', '/api/privacy/consent', undefined],
      ['GET', '/api/privacy/inventory', undefined],
      ['GET', '/api/privacy/plan', undefined],
    ] as const)
      expect(code(await app.fetch(method, path, { token: one.token, body })), path).toEqual([401, 'token_suspended'])
  })

  test('applies to agents claimed meanwhile; a suspended agent cannot be claimed', async () => {
    const person = await signedIn(app)
    await suspend(own(person))
    const stray = await app.agent(['read'])
    expect((await claim(stray.token, person.cookie)).status).toBe(200)
    expect(code(await me(stray.token))).toEqual([401, 'token_suspended'])
    const waiting = await app.agent(['read'])
    await suspend({ account: null, agents: [waiting.id] })
    const another = await signedIn(app)
    expect(code(await claim(waiting.token, another.cookie))).toEqual([404, 'not_found'])
    expect((await agentRow(waiting.id))?.owner_id).toBeNull()
  })
})

test('with KP_GRACE_TOKENS=keep only the account is suspended', async () => {
  const keeping = await testApp({ KP_GRACE_TOKENS: 'keep' })
  try {
    const person = await signedIn(keeping)
    const agent = await issuedAgent(keeping, ['read'], { owner: person })
    const change = await keeping.db.transaction((tx) =>
      keeping.app.agents.suspend(tx, { account: person.accountId, agents: [] }, keeping.clock.now()),
    )
    expect(change).toEqual({ account: person.accountId, agents: [] })
    expect((await keeping.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(200)
  } finally {
    await keeping.close()
  }
})

describe('a fenced subject', () => {
  const fence = (person: Person | null, agents: string[] = []) =>
    app.db.transaction(async (tx) => {
      const subject = { account: person?.accountId ?? null, agents }
      const email = person && (await raiseAccountFence(tx, person.accountId, app.clock.now()))
      const owned = await raiseAgentFences(tx, subject, { andOwned: true, now: app.clock.now() })
      const seized = { agents: owned, email }
      const fenced = [
        ...seized.agents.map((id) => ({ kind: 'agent', id })),
        ...(person ? [{ kind: 'account', id: person.accountId }] : []),
      ]
      await tx.writeFence.createMany({
        data: fenced.map((one) => ({ ...one, runId: 'run_of_this_test', raisedAt: app.clock.now() })),
      })
      return seized
    })

  test('is locked completely: current agents, address, sessions and tokens', async () => {
    const { person, one, other, ask } = await owner()
    const fenced = await fence(person)
    expect(fenced.agents).toEqual([one.id, other.id].sort())
    expect(fenced.email).toMatch(/@example\.org$/)
    expect((await app.fetch('GET', '/api/account', ask)).status).toBe(401)
    expect(code(await app.fetch('GET', '/v1/auth/me', { token: one.token }))).toEqual([401, 'token_suspended'])
  })

  test('cannot claim agents or get tokens; the 409 stores nothing', async () => {
    const person = await signedIn(app)
    const { person: another } = await owner()
    const stray = await app.agent(['read'])
    await fence(null, [stray.id])
    expect(code(await claim(stray.token, another.cookie))).toEqual([404, 'not_found'])
    const late = await app.agent(['read'])
    await app.db.transaction((tx) =>
      tx.writeFence.create({
        data: { kind: 'account', id: person.accountId, runId: 'run_x', raisedAt: app.clock.now() },
      }),
    )
    expect(code(await claim(late.token, person.cookie))).toEqual([409, 'fenced'])
    expect((await agentRow(late.id))?.owner_id).toBeNull()
  })

  test('either includes an agent that is claimed concurrently in the erasure, or the claim is rejected', async () => {
    for (let round = 0; round < 12; round++) {
      const person = await signedIn(app)
      const strays = await Promise.all(Array.from({ length: 2 }, () => app.agent(['read'])))
      const [first, fenced, second] = await Promise.all([
        claim(strays[0]?.token ?? '', person.cookie),
        fence(person),
        claim(strays[1]?.token ?? '', person.cookie),
      ])
      for (const [index, response] of [first, second].entries()) {
        const id = strays[index]?.id ?? ''
        const claimed = (await agentRow(id))?.owner_id === person.accountId
        expect([200, 401, 404, 409], response.text).toContain(response.status)
        expect(claimed, response.text).toBe(response.status === 200)
        expect(fenced.agents.includes(id), response.text).toBe(claimed)
      }
    }
  })
})

describe('registering again', () => {
  test('is rejected for an erased id with the same message as for an id in use', async () => {
    const taken = await app.agent(['read'], { agent_id: 'here-already' })
    await app.db.transaction(async (tx) => {
      const { hash, keyId } = await app.app.suppressionKeys.current('agent', 'once-erased', tx)
      await tx.suppression.create({ data: { hash, keyId, kind: 'agent', since: app.clock.now(), runId: 'run_x' } })
      await tx.writeFence.create({
        data: { kind: 'agent', id: 'being-erased', runId: 'run_x', raisedAt: app.clock.now() },
      })
    })
    const register = (agent_id: string, ask: TestRequest = {}) =>
      app.fetch('POST', '/v1/auth/register', { body: { agent_id }, ...ask })
    const admin = await issuedAgent(app, ['admin'])
    const responses = [
      await register(taken.id),
      await register('once-erased'),
      await register('being-erased'),
      await register('once-erased', { token: admin.token }),
    ]
    expect(responses.map(plain)).toEqual(Array(4).fill(responses[0] && plain(responses[0])))
    expect(responses[0]?.json).toMatchObject({ status: 409, code: 'id_in_use' })
    expect(await rows("SELECT 1 FROM agents WHERE id IN ('once-erased', 'being-erased')")).toEqual([])
    expect(await rows("SELECT 1 FROM organisations WHERE name IN ('once-erased', 'being-erased')")).toEqual([])
    expect((await register('Once-erased')).status).toBe(201)
  })
})

describe('reading a restriction', () => {
  const look = async (ask: TestRequest, agent?: string) =>
    app.fetch('GET', `/api/privacy/restriction${agent === undefined ? '' : `?agent_id=${agent}`}`, ask)
  const seen = async (ask: TestRequest, agent?: string) =>
    readRestriction.output.parse((await look(ask, agent)).json).data

  test('returns the restriction of the person, of their agents and of a single agent, and changes nothing', async () => {
    const { person, one, other, ask } = await owner()
    const free = { restricted: false, restricted_at: null, restricted_for: [] }
    const none = { ...free, agent_id: null, agents: 2, restricted_agents: 0, withdrawn_agents: 0 }
    expect(await seen(ask)).toEqual(none)
    await restrict({ restricted: true, agent_id: one.id }, ask)
    await app.fetch('DELETE', `/v1/auth/consent?agent_id=${one.id}`, ask)
    expect(await seen(ask)).toEqual({ ...none, restricted_agents: 1, withdrawn_agents: 1 })
    const alone = { agents: 1, restricted_agents: 1, withdrawn_agents: 1 }
    const at = app.clock.now().toISOString()
    const byBoth = { restricted: true, restricted_at: at, restricted_for: ['consent', 'request'] }
    expect(await seen(ask, one.id)).toEqual({ agent_id: one.id, ...byBoth, ...alone })
    expect(await seen({ token: one.token })).toEqual({ agent_id: one.id, ...byBoth, ...alone })
    expect(await seen(ask, other.id)).toMatchObject({ ...free, agent_id: other.id, restricted_agents: 0 })
    await restrict({ restricted: true }, ask)
    expect(await seen(ask)).toMatchObject({ restricted: true, restricted_for: ['request'], restricted_agents: 2 })
    const entries = await rows(
      "SELECT resource_id, details FROM audit_entries WHERE agent_id = $1 AND details->>'operation' = 'readRestriction'",
      `user:${person.accountId}`,
    )
    expect(entries.map((entry) => entry.resource_id)).toContain(one.id)
  })

  test('is rejected for anonymous requests, strangers, other tenants and admins', async () => {
    const { one, ask } = await owner()
    const { one: foreign, ask: others } = await owner()
    const admin = await signedIn(app, 'admin')
    expect((await look({})).status).toBe(401)
    for (const stranger of [others, { cookie: admin.cookie }, { token: foreign.token }])
      expect(code(await look(stranger, one.id))).toEqual([404, 'not_found'])
    expect(code(await look(ask, 'agent_nowhere'))).toEqual([404, 'not_found'])
    await app.db.pool.query(
      'UPDATE sessions SET revoked_at = now() WHERE account_id = (SELECT owner_id FROM agents WHERE id = $1)',
      [one.id],
    )
    expect((await look(ask)).status).toBe(401)
  })
})
