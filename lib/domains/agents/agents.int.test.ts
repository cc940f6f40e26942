import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { shownOnce } from '#lib/client/shown-once.ts'
import { contributeUnit } from '#lib/domains/knowledge/contract.ts'
import { makeKey } from '#lib/domains/tokens/keys.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { furtherToken, type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { createInvite, editAgent, giveConsent, listOwnAgents, registerAgent, withdrawConsent } from './contract.ts'
import { noticeVersion } from './rules.ts'

const hour = 3_600_000
let app: TestApp
let admin: Issued
let person: Person

beforeAll(async () => {
  app = await testApp()
  admin = await issuedAgent(app, ['admin'])
  person = await signedIn(app)
})
afterAll(() => app?.close())

const register = (body?: unknown, ask: TestRequest = {}) => app.fetch('POST', '/v1/auth/register', { body, ...ask })
async function registered(body?: unknown, ask: TestRequest = {}) {
  const response = await register(body, ask)
  expect(response.status, response.text).toBe(201)
  const { data } = registerAgent.output.parse(response.json)
  return { ...data, api_key: shownOnce(data.api_key) }
}
const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await app.db.pool.query(sql, values)).rows
const agentRow = async (id: string) => (await rows('SELECT * FROM agents WHERE id = $1', id))[0]
const count = async (table: string): Promise<unknown> => (await rows(`SELECT count(*)::int AS n FROM ${table}`))[0]?.n
const runJob = async (name: string): Promise<void> => {
  const job = app.app.jobs.find((one) => one.name === name)
  if (!job) throw new Error(`no job ${name}`)
  await job.execute(app.app.pipeline, {})
}
const everything = async () => [await count('agents'), await count('tokens'), await count('organisations')]

describe('registering', () => {
  test('works without any fields and returns an active token', async () => {
    const made = await registered()
    expect(made).toMatchObject({ tier: 'free', scopes: ['read'], expires_at: null, notice: { version: noticeVersion } })
    expect(made.agent_id).toMatch(/^agent_/)
    expect(made.api_key.startsWith(made.key_prefix)).toBe(true)
    const me = await app.fetch('GET', '/v1/auth/me', { token: made.api_key })
    expect(me.status).toBe(200)
    expect(me.json.data).toMatchObject({ agent_id: made.agent_id, owner_claimed: false })
  })

  test('has no rate limit and is audited without the key', async () => {
    const made = await registered({ agent_id: 'careful-one', name: 'Careful' })
    const entries = await rows(`SELECT * FROM audit_entries WHERE resource_id = 'careful-one'`)
    const [token] = await rows(`SELECT id FROM tokens WHERE agent_id = 'careful-one'`)
    expect(entries).toMatchObject([
      { action: 'create', agent_id: 'anonymous', resource_type: 'agent', details: { token_id: token?.id } },
    ])
    expect(JSON.stringify(entries)).not.toContain(made.api_key.slice(11))
  })

  test('rejects reserved names: jobs, data sources, our ids and pseudonyms', async () => {
    const names = [
      ...app.app.jobs.map(({ name }) => name),
      ...app.app.dataSources.map(({ name }) => name),
      ...[
        'usr',
        'preq',
        'run',
        'rcpt',
        'exp',
        'hold',
        'org',
        'tok',
        'ses',
        'plan',
        'req',
        'prj',
        'conv',
        'msg',
        'doc',
      ].map(newId),
      'erased-0Ab1Cd2Ef3Gh',
      'erased',
      'list',
      'bulk',
      'query',
    ]
    expect(names.length).toBeGreaterThan(40)
    const before = await everything()
    for (const agent_id of names) {
      const response = await register({ agent_id })
      expect([agent_id, response.status, response.json.issues?.[0]?.path]).toEqual([agent_id, 422, ['agent_id']])
    }
    expect(await everything()).toEqual(before)
  })

  test('lets an agent from an earlier version keep a reserved name and get further tokens', async () => {
    const agent = await app.agent(['read'])
    await rows(
      'INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at) SELECT $2, organisation_id, lawful_basis, notice_version, created_at FROM agents WHERE id = $1',
      agent.id,
      'plan-b',
    )
    await rows("UPDATE tokens SET agent_id = 'plan-b' WHERE agent_id = $1", agent.id)
    const response = await register({ agent_id: 'plan-b' }, { token: agent.token })
    expect([response.status, response.json.data?.agent_id]).toEqual([201, 'plan-b'])
    expect((await app.fetch('GET', '/v1/export/plan-b', { token: agent.token })).status).toBe(200)
  })

  test('stores neither the key nor anything that reveals it', async () => {
    const made = await registered({}, { headers: { 'Idempotency-Key': newId('key') } })
    const stored = await rows('SELECT t::text FROM tokens t UNION ALL SELECT r::text FROM idempotency_records r')
    expect(stored.length).toBeGreaterThan(1)
    expect(JSON.stringify(stored)).not.toContain(made.api_key.slice(11))
  })

  test('records the lawful basis: basis, version, time and form', async () => {
    const silent = await registered()
    expect(await agentRow(silent.agent_id)).toMatchObject({
      lawful_basis: 'consent',
      notice_version: noticeVersion,
      consent_at: app.clock.now(),
      consent_via: 'registration',
    })
    const explicit = await registered({ consent: { policy_version: noticeVersion } })
    expect(await agentRow(explicit.agent_id)).toMatchObject({ consent_via: 'explicit' })
  })

  test('rejects consent to another version of the notice', async () => {
    const response = await register({ consent: { policy_version: 'another' } })
    expect(response.status).toBe(422)
    expect(response.json.issues).toMatchObject([{ path: ['consent', 'policy_version'] }])
  })

  test('creates a separate organization for each agent', async () => {
    const one = await registered()
    const other = await registered()
    expect(one.organisation_id).not.toBe(other.organisation_id)
    expect((await agentRow(one.agent_id))?.owner_id).toBeNull()
  })

  test.each([{ scopes: ['admin'] }, { scopes: ['read', 'admin'] }, { tier: 'pro' }, { tier: 'enterprise' }])(
    'is rejected without admin rights when the body is %j',
    async (body) => {
      const before = await everything()
      const response = await register(body)
      expect([response.status, response.json.code]).toEqual([403, 'forbidden'])
      const agent = await app.agent(['read', 'write'])
      expect((await register(body, { token: agent.token })).status).toBe(403)
      const [agents, tokens, organisations] = before
      expect(await everything()).toEqual([Number(agents) + 1, Number(tokens) + 1, Number(organisations) + 1])
    },
  )

  test('lets an admin set scopes and tier, by token and by session', async () => {
    const made = await registered({ scopes: ['read'], tier: 'enterprise' }, { token: admin.token })
    expect(made).toMatchObject({ scopes: ['read'], tier: 'enterprise' })
    const { cookie } = await signedIn(app, 'admin')
    expect(await registered({ scopes: ['admin'] }, { cookie })).toMatchObject({ scopes: ['admin'] })
    expect(await registered({ tier: 'pro' }, { cookie })).toMatchObject({ tier: 'pro' })
    expect((await register({ tier: 'pro' }, { cookie: person.cookie })).status).toBe(403)
  })

  test.each([
    [{ agent_id: 'ab' }, 'agent_id'],
    [{ agent_id: 'user:admin' }, 'agent_id'],
    [{ agent_id: 'system:purge' }, 'agent_id'],
    [{ agent_id: 'anonymous' }, 'agent_id'],
    [{ agent_id: 7 }, 'agent_id'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['root'] }, 'scopes'],
    [{ scopes: 'read' }, 'scopes'],
    [{ tier: 'gold' }, 'tier'],
    [{ name: 'two\nlines' }, 'name'],
    [{ name: 'x'.repeat(101) }, 'name'],
    [{ is_admin: true }, 'is_admin'],
    [{ consent: { policy_version: noticeVersion, more: 1 } }, 'consent'],
  ])('returns 422 for %j and names %s', async (body, field) => {
    const before = await everything()
    const response = await register(body)
    expect([response.status, response.json.code]).toEqual([422, 'invalid'])
    expect(response.json.issues?.[0 as unknown as string]?.path).toContain(field)
    expect(await everything()).toEqual(before)
  })

  test.each([
    ['{"agent_id":', 400],
    ['"text"', 422],
    ['[]', 422],
    [Buffer.from([0x7b, 0xff, 0x7d]), 400],
    ['{"name":"a\\u0000b"}', 422],
    [`{"name":"${'x'.repeat(70_000)}"}`, 413],
  ])('with the body %j returns %i', async (body, status) => expect((await register(body)).status).toBe(status))

  test('an invalid token returns 401 and is never treated as anonymous', async () => {
    for (const token of ['nonsense', makeKey()]) expect((await register({}, { token })).status).toBe(401)
  })
})

describe('an agent_id in use', () => {
  test('is rejected for everyone else', async () => {
    const owner = await app.agent(['read', 'write'])
    const stranger = await app.agent(['read', 'write'])
    for (const ask of [{}, { token: stranger.token }, { token: admin.token }, { cookie: person.cookie }]) {
      const response = await register({ agent_id: owner.id }, ask)
      expect([response.status, response.json.code]).toEqual([409, 'id_in_use'])
    }
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', owner.id)).toHaveLength(1)
  })

  test('gets another token when the request has a token of this agent, and nothing else changes', async () => {
    const owner = await app.agent(['read', 'write'])
    const before = await agentRow(owner.id)
    const more = await registered({ agent_id: owner.id, scopes: ['write'], name: 'second' }, { token: owner.token })
    expect(more).toMatchObject({ agent_id: owner.id, scopes: ['write'], tier: 'free' })
    expect(await rows('SELECT name FROM tokens WHERE agent_id = $1 ORDER BY name', owner.id)).toEqual([
      { name: 'second' },
      { name: null },
    ])
    expect(await agentRow(owner.id)).toEqual({ ...before, first_used_at: app.clock.now() })
    // No agent was created, and the audit log does not claim so.
    const [token] = await rows(`SELECT id FROM tokens WHERE agent_id = $1 AND name = 'second'`, owner.id)
    expect(await rows(`SELECT * FROM audit_entries WHERE agent_id = $1 AND action = 'create'`, owner.id)).toMatchObject(
      [{ resource_type: 'token', resource_id: token?.id, details: { agent_id: owner.id, is_new: false } }],
    )
    expect((await app.fetch('GET', '/v1/auth/me', { token: more.api_key })).status).toBe(200)
  })

  test('gets no scopes beyond those of the token in the request', async () => {
    const reader = await app.agent(['read'])
    const response = await register({ agent_id: reader.id, scopes: ['read', 'write'] }, { token: reader.token })
    expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    expect((await register({ agent_id: reader.id, tier: 'pro' }, { token: reader.token })).status).toBe(403)
  })

  test('cannot get more tokens than its tier allows', async () => {
    const owner = await app.agent(['read'])
    const responses = await Promise.all(
      Array.from({ length: 12 }, () => register({ agent_id: owner.id }, { token: owner.token })),
    )
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(4)
    expect(responses.filter(({ status }) => status === 409)).toHaveLength(8)
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', owner.id)).toHaveLength(5)
  })

  test('is assigned to exactly one of many concurrent requests', async () => {
    const id = newId('wanted')
    const organisations = await count('organisations')
    const responses = await Promise.all(Array.from({ length: 16 }, () => register({ agent_id: id })))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(15).fill(409)])
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', id)).toHaveLength(1)
    expect(await count('organisations')).toBe(Number(organisations) + 1)
  })
})

describe('an Idempotency-Key', () => {
  test('returns the agent again without its key', async () => {
    const headers = { 'Idempotency-Key': newId('key') }
    const body = { agent_id: newId('twice') }
    const first = await register(body, { headers })
    const again = await register(body, { headers })
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    const { api_key, ...rest } = registerAgent.output.parse(first.json).data
    expect(again.json.data).toEqual(rest)
    expect(again.text).not.toContain(shownOnce(api_key))
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', body.agent_id)).toHaveLength(1)
  })
  test('does not affect a request with another body', async () => {
    const headers = { 'Idempotency-Key': newId('key') }
    const [one, other] = [newId('one'), newId('other')]
    expect((await registered({ agent_id: one }, { headers })).agent_id).toBe(one)
    expect((await registered({ agent_id: other }, { headers })).agent_id).toBe(other)
  })
})

describe('registration modes', () => {
  const modes: TestApp[] = []
  const inMode = async (settings: Record<string, string>) => {
    const mode = await testApp(settings)
    modes.push(mode)
    return mode
  }
  afterAll(() => Promise.all(modes.map((mode) => mode.close())))

  test('closed: only admins can register agents; existing agents still get tokens', async () => {
    const closed = await inMode({ KP_REGISTRATION: 'closed' })
    const response = await closed.fetch('POST', '/v1/auth/register', { body: {} })
    expect([response.status, response.json.code]).toEqual([403, 'registration_closed'])
    const { token } = await issuedAgent(closed, ['admin'])
    const made = await closed.fetch('POST', '/v1/auth/register', { body: {}, token })
    expect(made.status).toBe(201)
    const { agent_id, api_key } = registerAgent.output.parse(made.json).data
    const more = await closed.fetch('POST', '/v1/auth/register', { body: { agent_id }, token: api_key })
    expect(more.status).toBe(201)
  })

  test('invite: an invitation works once, with its scopes and tier', async () => {
    const mode = await inMode({ KP_REGISTRATION: 'invite' })
    const ask = (body: unknown, token?: string) => mode.fetch('POST', '/v1/auth/register', { body, token })
    const { token } = await issuedAgent(mode, ['admin'])
    const invite = async (body?: unknown) => {
      const response = await mode.fetch('POST', '/v1/invites', { token, body })
      expect(response.status, response.text).toBe(201)
      return shownOnce(createInvite.output.parse(response.json).data.code)
    }
    for (const body of [{}, { invite: 'kpi_0000000000000000000000' }]) {
      const response = await ask(body)
      expect([response.status, response.json.code]).toEqual([403, 'registration_closed'])
    }

    const code = await invite({ tier: 'pro', scopes: ['write', 'read'] })
    // Refused requests do not consume the invitation.
    expect((await ask({ invite: code, scopes: ['admin'] })).status).toBe(403)
    expect((await ask({ invite: code, tier: 'enterprise' })).status).toBe(403)
    const responses = await Promise.all(Array.from({ length: 8 }, () => ask({ invite: code })))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, ...Array(7).fill(403)])
    expect(responses.find(({ status }) => status === 201)?.json.data).toMatchObject({
      tier: 'pro',
      scopes: ['read', 'write'],
    })

    const late = await invite({ expires_in_days: 1 })
    mode.clock.advance(24 * hour)
    expect((await ask({ invite: late })).status).toBe(403)
    expect((await ask({}, token)).status).toBe(201)
    const stored = await mode.db.pool.query('SELECT i::text FROM invites i')
    expect(JSON.stringify(stored.rows)).not.toContain(code)

    mode.clock.advance(9 * 24 * hour)
    await mode.app.jobs.find(({ name }) => name === 'agents.purge-invites')?.execute(mode.app.pipeline, {})
    expect((await mode.db.pool.query('SELECT 1 FROM invites')).rowCount).toBe(0)
  })

  test.each(['open', 'invite'])(
    '%s: an invitation ends when its creator loses the right to invite',
    async (registration) => {
      const mode = await inMode({ KP_REGISTRATION: registration })
      const { prisma } = mode.db
      type Creator = { token: string } | { cookie: string }
      const byToken = (end: (one: Issued) => Promise<unknown>) => async () => {
        const one = await issuedAgent(mode, ['admin'])
        return { creator: { token: one.token }, end: () => end(one) }
      }
      const byPerson = (data: { role: 'person' } | { deactivatedAt: Date }) => async () => {
        const { cookie, accountId } = await signedIn(mode, 'admin')
        return { creator: { cookie }, end: () => prisma.account.update({ where: { id: accountId }, data }) }
      }
      const endings: Record<string, () => Promise<{ creator: Creator; end: () => Promise<unknown> }>> = {
        'a token that is revoked': byToken(({ tokenId }) =>
          prisma.token.update({ where: { id: tokenId }, data: { revokedAt: mode.clock.now() } }),
        ),
        'a token that expires': byToken(({ tokenId }) =>
          prisma.token.update({ where: { id: tokenId }, data: { expiresAt: mode.clock.now() } }),
        ),
        'an agent that is retired': byToken(({ id }) =>
          prisma.agent.update({ where: { id }, data: { status: 'dead' } }),
        ),
        'an admin who is demoted': byPerson({ role: 'person' }),
        'an admin whose account is closed': byPerson({ deactivatedAt: mode.clock.now() }),
      }
      for (const [ending, prepare] of Object.entries(endings)) {
        const { creator, end } = await prepare()
        const invite = async () => {
          const response = await mode.fetch('POST', '/v1/invites', { ...creator, body: { tier: 'enterprise' } })
          return { invite: shownOnce(createInvite.output.parse(response.json).data.code) }
        }
        const [before, after] = [await invite(), await invite()]
        const status = async (body: object) => (await mode.fetch('POST', '/v1/auth/register', { body })).status
        expect([ending, await status(before)]).toEqual([ending, 201])
        await end()
        expect([ending, await status(after)]).toEqual([ending, 403])
      }
    },
  )

  test('explicit consent: registering without it is rejected', async () => {
    const asks = await inMode({ KP_EXPLICIT_CONSENT: 'true', KP_LAWFUL_BASIS: 'contract' })
    const response = await asks.fetch('POST', '/v1/auth/register', { body: {} })
    expect(response.status).toBe(422)
    expect(response.json.issues).toMatchObject([{ path: ['consent'] }])
    const body = { agent_id: 'consents', consent: { policy_version: noticeVersion } }
    expect((await asks.fetch('POST', '/v1/auth/register', { body })).status).toBe(201)
    const { rows: stored } = await asks.db.pool.query('SELECT lawful_basis, consent_via FROM agents')
    expect(stored).toEqual([{ lawful_basis: 'contract', consent_via: 'explicit' }])
  })

  test('only admins can create invitations', async () => {
    const agent = await app.agent(['read', 'write'])
    expect((await app.fetch('POST', '/v1/invites', {})).status).toBe(401)
    expect((await app.fetch('POST', '/v1/invites', { token: agent.token })).status).toBe(403)
    expect((await app.fetch('POST', '/v1/invites', { cookie: person.cookie })).status).toBe(403)
    const admins = { token: admin.token, body: { scopes: ['admin'] } }
    expect((await app.fetch('POST', '/v1/invites', admins)).status).toBe(422)
  })
})

describe('withdrawing consent', () => {
  const withdraw = (ask: TestRequest) => app.fetch('DELETE', '/v1/auth/consent', ask)

  test('restricts the agent, offers erasure, and is reversed by new consent', async () => {
    const agent = await app.agent(['read', 'write'])
    const unit = await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const response = await withdraw({ token: agent.token })
    expect(response.status, response.text).toBe(200)
    const { data, message } = withdrawConsent.output.parse(response.json)
    const at = app.clock.now().toISOString()
    expect(data).toMatchObject({ agent_id: agent.id, restricted_at: at, consent_withdrawn_at: at })
    expect(message).toContain('DELETE /v1/knowledge/')

    const write = () => app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const refused = await write()
    expect([refused.status, refused.json.code]).toEqual([403, 'restricted'])
    const { id } = contributeUnit.output.parse(unit.json).data
    expect((await app.fetch('DELETE', `/v1/knowledge/${id}`, { token: agent.token })).status).toBe(204)

    app.clock.advance(1_000)
    const again = withdrawConsent.output.parse((await withdraw({ token: agent.token })).json)
    expect(again.data).toEqual(data)

    const stale = { token: agent.token, body: { policy_version: 'old' } }
    expect((await app.fetch('POST', '/v1/auth/consent', stale)).status).toBe(422)
    const fresh = { token: agent.token, body: { policy_version: noticeVersion } }
    const given = await app.fetch('POST', '/v1/auth/consent', fresh)
    expect(giveConsent.output.parse(given.json).data).toMatchObject({
      restricted_at: null,
      consent_withdrawn_at: null,
      consent_at: app.clock.now().toISOString(),
    })
    expect((await write()).status).toBe(201)
    const audited = await rows(
      `SELECT action, resource_type, agent_id FROM audit_entries WHERE resource_id = $1 AND action = 'update' AND resource_type = 'agent'`,
      agent.id,
    )
    expect(audited).toEqual(Array(3).fill({ action: 'update', resource_type: 'agent', agent_id: agent.id }))
  })

  test('keeps a restriction with another reason', async () => {
    const agent = await app.agent(['read', 'write'])
    await rows(
      `UPDATE agents SET restricted_at = $2, restricted_for = '{objection}' WHERE id = $1`,
      agent.id,
      new Date('2026-01-01T00:00:00Z'),
    )
    await withdraw({ token: agent.token })
    const fresh = { token: agent.token, body: { policy_version: noticeVersion } }
    const given = await app.fetch('POST', '/v1/auth/consent', fresh)
    expect(giveConsent.output.parse(given.json).data.restricted_at).toBe('2026-01-01T00:00:00.000Z')
  })

  test('is limited to the agent and its owner', async () => {
    const stranger = await app.agent(['read', 'write'])
    const mine = await issuedAgent(app, ['read'], { owner: await signedIn(app) })
    expect((await withdraw({})).status).toBe(401)
    const other = `/v1/auth/consent?agent_id=${mine.id}`
    for (const ask of [{ token: stranger.token }, { cookie: person.cookie }, { token: admin.token }])
      expect((await app.fetch('DELETE', other, ask)).status).toBe(404)
    expect((await agentRow(mine.id))?.restricted_at).toBeNull()

    const owner = await signedIn(app)
    expect((await withdraw({ cookie: owner.cookie })).status).toBe(422)
    const one = await issuedAgent(app, ['read'], { owner })
    await issuedAgent(app, ['read'], { owner })
    expect((await withdraw({ cookie: owner.cookie })).status).toBe(422)
    expect((await app.fetch('DELETE', `/v1/auth/consent?agent_id=${one.id}`, { cookie: owner.cookie })).status).toBe(
      200,
    )
  })

  test('withdrawing and giving it return 403 for a read-only token and change nothing', async () => {
    const agent = await app.agent(['read', 'write'])
    const { token } = await furtherToken(app, agent.id, ['read'])
    const body = { policy_version: noticeVersion }
    const given = async () => [
      await app.fetch('POST', '/v1/auth/consent', { token, body }),
      await app.fetch('POST', '/v1/auth/register', { token, body: { agent_id: agent.id, consent: body } }),
    ]
    for (const response of [await withdraw({ token }), ...(await given())])
      expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    expect(await agentRow(agent.id)).toMatchObject({ restricted_at: null, consent_via: 'registration' })
    expect((await withdraw({ token: agent.token })).status).toBe(200)
    for (const response of await given())
      expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    expect((await agentRow(agent.id))?.restricted_at).not.toBeNull()
  })

  test('a person needs a recently entered password to give it again, and none to withdraw it', async () => {
    const later = await testApp()
    onTestFinished(() => later.close())
    const owner = await signedIn(later)
    const agent = await issuedAgent(later, ['read', 'write'], { owner })
    const body = { policy_version: noticeVersion, agent_id: agent.id }
    const give = () => later.fetch('POST', '/v1/auth/consent', { cookie: owner.cookie, body })
    later.clock.advance(11 * 60_000)
    const withdrawn = await later.fetch('DELETE', `/v1/auth/consent?agent_id=${agent.id}`, { cookie: owner.cookie })
    expect(withdrawn.status).toBe(200)
    const refused = await give()
    expect([refused.status, refused.json.code]).toEqual([403, 'step_up_required'])
    await passwordEntered(later, owner)
    expect((await give()).status).toBe(200)
  })

  test('POST returns 403 for a token when the owner of the agent withdrew consent', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read', 'write'], { owner })
    const path = `/v1/auth/consent?agent_id=${agent.id}`
    expect((await app.fetch('DELETE', path, { cookie: owner.cookie })).status).toBe(200)
    const body = { policy_version: noticeVersion }
    for (const response of [
      await app.fetch('POST', '/v1/auth/consent', { token: agent.token, body }),
      await app.fetch('POST', '/v1/auth/register', { token: agent.token, body: { agent_id: agent.id, consent: body } }),
    ])
      expect([response.status, response.json.code], response.text).toEqual([403, 'forbidden'])
    expect((await agentRow(agent.id))?.restricted_at).not.toBeNull()
    const given = await app.fetch('POST', '/v1/auth/consent', {
      cookie: owner.cookie,
      body: { ...body, agent_id: agent.id },
    })
    expect(given.status, given.text).toBe(200)
  })
})

describe('tiers and limits', () => {
  const edit = (id: string, body: unknown, ask: TestRequest = { token: admin.token }) =>
    app.fetch('PATCH', `/v1/agents/${id}`, { body, ...ask })

  test('can be changed by an admin and apply from the next request', async () => {
    const agent = await app.agent(['read'])
    const window = async () =>
      (await app.fetch('GET', '/v1/auth/me', { token: agent.token })).headers.get('x-ratelimit-limit')
    expect(await window()).toBe('300')
    expect((await edit(agent.id, { tier: 'pro' })).status).toBe(200)
    expect(await window()).toBe('1000')
    const response = await edit(agent.id, { tier: 'enterprise', limits: { reads_per_minute: 1_777 } })
    expect(editAgent.output.parse(response.json).data).toMatchObject({
      tier: 'enterprise',
      limits: { reads_per_minute: 1_777, writes_per_minute: null },
    })
    expect(await window()).toBe('1777')
    const operator = await signedIn(app, 'admin')
    expect((await edit(agent.id, { tier: 'free' }, { cookie: operator.cookie })).status).toBe(200)
    expect(await window()).toBe('300')
    expect(await agentRow(agent.id)).toMatchObject({ reads_per_minute: null, writes_per_minute: null })
  })

  test('individual limits require the enterprise tier', async () => {
    const agent = await app.agent(['read'])
    const response = await edit(agent.id, { limits: { reads_per_minute: 5 } })
    expect(response.status).toBe(422)
    expect(response.json.issues).toMatchObject([{ path: ['limits'] }])
  })

  test.each([
    [{ tier: 'gold' }, 422],
    [{ limits: { reads_per_minute: 0 } }, 422],
    [{ limits: { reads_per_minute: 1e9 } }, 422],
    [{ limits: { reads_per_minute: 1.5 } }, 422],
    [{ owner_id: 'me' }, 422],
  ])('editing with %j returns %i', async (body, status) => {
    const agent = await app.agent(['read'])
    expect((await edit(agent.id, body)).status).toBe(status)
  })

  test.each([
    ['the tier', { tier: 'pro' }, undefined],
    ['the reads', { limits: { reads_per_minute: 1 } }, undefined],
    ['the writes', { limits: { writes_per_minute: 1 } }, undefined],
    ['larger limits of its own', { limits: null }, { reads_per_minute: 20_000 }],
  ])('are lowered only in person, with a recently entered password: %s', async (_, body, limits) => {
    const agent = await issuedAgent(app, ['read'], { tier: 'enterprise' })
    if (limits) expect((await edit(agent.id, { limits })).status).toBe(200)
    const before = await agentRow(agent.id)
    const byToken = await edit(agent.id, body)
    expect([byToken.status, byToken.json.code]).toEqual([403, 'forbidden'])
    const operator = await signedIn(app, 'admin')
    await app.db.prisma.session.updateMany({
      where: { accountId: operator.accountId },
      data: { passwordAt: new Date(app.clock.now().getTime() - 11 * 60_000) },
    })
    const late = await edit(agent.id, body, { cookie: operator.cookie })
    expect([late.status, late.json.code]).toEqual([403, 'step_up_required'])
    expect(await agentRow(agent.id)).toEqual(before)
    await passwordEntered(app, operator)
    expect((await edit(agent.id, body, { cookie: operator.cookie })).status).toBe(200)
  })

  test('cannot be changed by anyone else', async () => {
    const agent = await app.agent(['read', 'write'])
    expect((await edit(agent.id, { tier: 'pro' }, {})).status).toBe(401)
    expect((await edit(agent.id, { tier: 'pro' }, { token: agent.token })).status).toBe(403)
    expect((await edit(agent.id, { tier: 'pro' }, { cookie: person.cookie })).status).toBe(403)
    expect((await edit('nobody-here', { tier: 'pro' })).status).toBe(404)
    expect((await agentRow(agent.id))?.tier).toBe('free')
  })
})

describe('claiming', () => {
  const claim = (token: string, cookie = person.cookie) =>
    app.fetch('POST', '/api/agents/claim', { cookie, body: { token } })

  test('moves only the agent and its contributions', async () => {
    const agent = await app.agent(['read', 'write'])
    const unit = await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    expect(unit.status, unit.text).toBe(201)
    const alone = (await agentRow(agent.id))?.organisation_id
    expect((await claim(agent.token)).json).toEqual({ data: { agent_id: agent.id, name: null } })
    expect(await agentRow(agent.id)).toMatchObject({
      owner_id: person.accountId,
      organisation_id: person.organisationId,
    })
    expect(await rows('SELECT organisation_id FROM units WHERE agent_id = $1', agent.id)).toEqual([
      { organisation_id: person.organisationId },
    ])
    expect(await rows('SELECT 1 FROM organisations WHERE id = $1', alone)).toEqual([])
    const entries = await rows('SELECT * FROM audit_entries WHERE agent_id = $1', `user:${person.accountId}`)
    expect(entries).toContainEqual(
      expect.objectContaining({ action: 'update', resource_type: 'agent', resource_id: agent.id }),
    )
    const stored = await rows('SELECT e::text FROM audit_entries e UNION ALL SELECT r::text FROM idempotency_records r')
    expect(JSON.stringify(stored)).not.toContain(agent.token)

    // Repeating it succeeds; another person is rejected.
    expect((await claim(agent.token)).status).toBe(200)
    const another = await signedIn(app)
    expect((await claim(agent.token, another.cookie)).status).toBe(409)
    expect((await agentRow(agent.id))?.owner_id).toBe(person.accountId)
  })

  test('succeeds for one of several people when they claim concurrently', async () => {
    const agent = await app.agent(['read'])
    const people = await Promise.all(Array.from({ length: 4 }, () => signedIn(app)))
    const responses = await Promise.all(people.map(({ cookie }) => claim(agent.token, cookie)))
    expect(responses.map(({ status }) => status).sort()).toEqual([200, 409, 409, 409])
    const winner = people[responses.findIndex(({ status }) => status === 200)]
    expect(await agentRow(agent.id)).toMatchObject({
      owner_id: winner?.accountId,
      organisation_id: winner?.organisationId,
    })
  })

  test('reveals nothing about an invalid token', async () => {
    const revoked = await app.agent(['read'])
    await rows('UPDATE tokens SET revoked_at = $2 WHERE agent_id = $1', revoked.id, app.clock.now())
    const expired = await app.agent(['read'])
    await rows('UPDATE tokens SET expires_at = $2 WHERE agent_id = $1', expired.id, app.clock.now())
    const responses = await Promise.all(
      [makeKey(), 'mistyped', revoked.token, expired.token].map((token) => claim(token)),
    )
    const said = responses.map(({ status, json }) => [status, json.code, json.detail])
    expect(said[0]?.[0]).toBe(404)
    expect(new Set(said.map((one) => JSON.stringify(one))).size).toBe(1)
  })

  test("requires a token with all scopes of the agent's tokens", async () => {
    const agent = await app.agent(['read', 'write'])
    const reader = await registered({ agent_id: agent.id, scopes: ['read'] }, { token: agent.token })
    expect((await claim(reader.api_key)).status).toBe(403)
    expect((await claim(agent.token)).status).toBe(200)
  })

  test('is limited to people', async () => {
    const agent = await app.agent(['read', 'write'])
    const body = { token: agent.token }
    expect((await app.fetch('POST', '/api/agents/claim', { body })).status).toBe(401)
    expect((await app.fetch('POST', '/api/agents/claim', { body, token: agent.token })).status).toBe(403)
  })

  test("adds the agent to its owner's list only, by page", async () => {
    const owner = await signedIn(app)
    const mine: string[] = []
    for (let n = 0; n < 5; n++) {
      mine.unshift((await issuedAgent(app, ['read'], { owner })).id)
      app.clock.advance(1)
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const response = await app.fetch('GET', `/api/agents?limit=2${query}`, { cookie: owner.cookie })
      const page = listOwnAgents.output.parse(response.json)
      expect(page.total).toBe(5)
      seen.push(...page.data.map(({ agent_id }) => agent_id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen).toEqual(mine)
    expect((await app.fetch('GET', '/api/agents?cursor=bogus', { cookie: owner.cookie })).status).toBe(422)
    const other = await signedIn(app)
    expect((await app.fetch('GET', '/api/agents', { cookie: other.cookie })).json.data).toEqual([])
    expect((await app.fetch('GET', '/api/agents', {})).status).toBe(401)
  })
})

test('agents that never used a token are deleted after a day with their tokens and organizations; others stay', async () => {
  const unused = await registered()
  const used = await app.agent(['read'])
  await app.fetch('GET', '/v1/auth/me', { token: used.token })
  const claimed = await issuedAgent(app, ['read'], { owner: person })
  app.clock.advance(23 * hour)
  const young = await registered()
  await runJob('agents.purge-unused')
  expect(await agentRow(unused.agent_id)).toBeDefined()

  app.clock.advance(hour + 1)
  const deletions = await count('deletion_audit_log')
  await runJob('agents.purge-unused')
  expect(await agentRow(unused.agent_id)).toBeUndefined()
  expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', unused.agent_id)).toEqual([])
  expect(await rows('SELECT 1 FROM organisations WHERE id = $1', unused.organisation_id)).toEqual([])
  for (const id of [used.id, claimed.id, young.agent_id]) expect(await agentRow(id)).toBeDefined()
  expect((await app.fetch('GET', '/v1/auth/me', { token: unused.api_key })).status).toBe(401)

  expect(await count('deletion_audit_log')).toBe(Number(deletions) + 1)
  const [entry] = await rows(`SELECT details FROM audit_entries WHERE agent_id = 'system:agents.purge-unused'`)
  expect(entry?.details).toMatchObject({ count: expect.any(Number) })
  // A second run finds nothing and writes no audit entry.
  await runJob('agents.purge-unused')
  expect(await count('deletion_audit_log')).toBe(Number(deletions) + 1)
})

test('the purge deletes more than one batch completely', async () => {
  await rows(
    `WITH o AS (INSERT INTO organisations (id, name, created_at) SELECT 'org_bulk_' || n, 'x', $1 FROM generate_series(1, 2100) n RETURNING id)
     INSERT INTO agents (id, organisation_id, lawful_basis, notice_version, created_at) SELECT replace(id, 'org', 'agent'), id, 'consent', '1', $1 FROM o`,
    new Date(app.clock.now().getTime() - 25 * hour),
  )
  await runJob('agents.purge-unused')
  expect(await rows(`SELECT 1 FROM agents WHERE id LIKE 'agent_bulk_%'`)).toEqual([])
  expect(await rows(`SELECT 1 FROM organisations WHERE id LIKE 'org_bulk_%'`)).toEqual([])
})
