import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { findToken } from './contract.ts'
import { hourOf } from './rules.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

const get = (path: string, who: { cookie?: string; token?: string } = admin): Promise<TestResponse> =>
  app.fetch('GET', `/api/admin${path}`, who)
const found = async (path: string) => {
  const response = await get(path)
  expect(response.status, response.text).toBe(200)
  return response.json
}
const named = (name: string, more: Record<string, unknown> = {}) =>
  app.db.transaction(async (tx) => {
    const { organisationId } = admin
    await app.app.agents.issueAgent(tx, {
      agentId: name,
      name: null,
      ownerId: null,
      organisationId,
      tier: 'free',
      isConsentExplicit: false,
      now: app.clock.now(),
      ...more,
    })
    return app.app.tokens.issue(tx, {
      agentId: name,
      scopes: ['read'],
      name: null,
      expiresAt: null,
      now: app.clock.now(),
    })
  })
const used = async (tokenId: string, age: number, use: { reads?: number; writes?: number; refused?: number }) =>
  app.db.prisma.tokenUsage.create({
    data: { tokenId, hour: hourOf(new Date(app.clock.now().getTime() - age)), ...use },
  })
/** Each call is in another window. */
let windows = 0
const nextWindow = () => new Date(++windows * 60_000)
const refuse = (tokenId: string, ip = '192.0.2.7') =>
  app.app.tokens.keepRefusal({ tokenId, requestClass: 'read', limit: 300, consumed: 301, ip, windowEnds: nextWindow() })

describe('access to the administration of tokens', () => {
  const paths = ['/agents', '/agents/nobody', '/tokens', '/revocations', '/rejections']
  test.each(paths)('%s accepts only admins, by session or token', async (path) => {
    const open = path === '/agents/nobody' ? 404 : 200
    expect((await get(path)).status).toBe(open)
    expect((await get(path, { token: (await issuedAgent(app, ['admin'])).token })).status).toBe(open)
    expect((await get(path, {})).status).toBe(401)
    for (const role of ['person', 'manager', 'auditor'] as const)
      expect([role, (await get(path, await signedIn(app, role))).status]).toEqual([role, 403])
    const { token } = await issuedAgent(app, ['read', 'write'])
    expect((await get(path, { token })).json).toMatchObject({ status: 403, code: 'scope_too_small' })
  })

  test.each(paths)('%s rejects ended sessions and former admins', async (path) => {
    const former = await signedIn(app, 'admin')
    await app.db.prisma.account.update({ where: { id: former.accountId }, data: { role: 'person' } })
    expect((await get(path, former)).status).toBe(403)
    const ended = await signedIn(app, 'admin')
    await app.db.prisma.session.deleteMany({ where: { accountId: ended.accountId } })
    expect((await get(path, ended)).status).toBe(401)
  })

  test('admin reads are audited with ids and counts only', async () => {
    await named('audited-agent')
    await found('/agents?q=audited')
    await found('/agents/audited-agent')
    const entries = (await app.app.audit.query({ agent_id: `user:${admin.accountId}` }, app.clock.now())).filter(
      ({ details }) => details?.operation === 'listAgents' || details?.operation === 'readAgentUse',
    )
    expect(entries.map(({ resourceId, details }) => ({ resourceId, details }))).toEqual(
      expect.arrayContaining([
        { resourceId: 'list', details: { operation: 'listAgents', count: 1 } },
        { resourceId: 'audited-agent', details: { operation: 'readAgentUse', tokens: 1 } },
      ]),
    )
    expect(JSON.stringify(entries)).not.toContain('kp_')
  })
})

describe('list of agents', () => {
  test('search matches any part of an id or name case-insensitively, without wildcards', async () => {
    await named('Lookup-One')
    await named('other-one', { name: 'LOOKUP two' })
    await named('x_lookup')
    await named('xylookup')
    const ids = async (q: string, more = '') =>
      (await found(`/agents?q=${encodeURIComponent(q)}${more}`)).data
        .map((one: { agent_id: string }) => one.agent_id)
        .sort()
    expect(await ids('lookup')).toEqual(['Lookup-One', 'other-one', 'x_lookup', 'xylookup'])
    expect(await ids('KUP tw')).toEqual(['other-one'])
    expect(await ids('x_lookup')).toEqual(['x_lookup'])
    expect(await ids('%lookup')).toEqual([])
    expect(await ids('\\')).toEqual([])
    expect(await ids("'; DROP TABLE agents; --")).toEqual([])
    expect(await ids('lookup', '&tier=pro')).toEqual([])
    for (const bad of ['q=', `q=${'x'.repeat(65)}`, 'tier=gold', 'cursor=none-of-ours', 'limit=0', 'surprise=1'])
      expect([bad, (await get(`/agents?${bad}`)).status]).toEqual([bad, 422])
  })

  test('search finds an agent by the name of its token and by the first characters of the key', async () => {
    const { id, agentId } = await named('holder-of-a-named-token').then(async (token) => {
      await app.db.prisma.token.update({ where: { id: token.id }, data: { name: 'Nightly import' } })
      return { id: token.id, agentId: 'holder-of-a-named-token' }
    })
    const { prefix } = await app.db.prisma.token.findUniqueOrThrow({ where: { id } })
    const ids = async (q: string) =>
      (await found(`/agents?limit=100&q=${encodeURIComponent(q)}`)).data.map(
        (one: { agent_id: string }) => one.agent_id,
      )
    for (const q of ['nightly', prefix, prefix.slice(0, 6)]) expect([q, await ids(q)]).toEqual([q, [agentId]])
    // Every key begins with these characters.
    expect(await ids(prefix.slice(0, 3))).not.toContain(agentId)
  })

  test('returns tier, limits, organization, owner, tokens and usage', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read'], { tier: 'enterprise', owner })
    await app.fetch('PATCH', `/v1/agents/${agent.id}`, { ...admin, body: { limits: { reads_per_minute: 7 } } })
    await used(agent.tokenId, 0, { reads: 3, writes: 1, refused: 2 })
    await used(agent.tokenId, 23 * hour, { reads: 10 })
    await used(agent.tokenId, 24 * hour, { reads: 100 })
    await used(agent.tokenId, 8 * day, { reads: 1_000 })
    const { data, total } = await found(`/agents?q=${agent.id}`)
    expect(total).toBe(1)
    expect(data).toEqual([
      {
        agent_id: agent.id,
        name: null,
        tier: 'enterprise',
        limits: { reads_per_minute: 7, writes_per_minute: 2_000 },
        custom_limits: { reads_per_minute: 7, writes_per_minute: null },
        organisation: { id: owner.organisationId, name: 'Test' },
        owner_claimed: true,
        owner: { account_id: owner.accountId, name: expect.any(String) },
        restricted_at: null,
        suspended_at: null,
        created_at: app.clock.now().toISOString(),
        active_tokens: 1,
        use: {
          last_24h: { reads: 13, writes: 1, refused: 2 },
          last_7d: { reads: 113, writes: 1, refused: 2 },
          hours: [10, ...Array(22).fill(0), 4],
        },
      },
    ])
  })

  test('cursor pagination returns each agent once, newest first', async () => {
    for (let n = 0; n < 5; n++) {
      await named(`walked-${n}`)
      if (n % 2) app.clock.advance(1)
    }
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page = await found(`/agents?q=walked&limit=2${cursor && `&cursor=${cursor}`}`)
      expect(page.total).toBe(5)
      seen.push(...page.data.map((one: { agent_id: string }) => one.agent_id))
      cursor = page.next_cursor
    }
    expect(seen).toEqual(['walked-4', 'walked-3', 'walked-2', 'walked-1', 'walked-0'])
  })
})

describe('token lookup by prefix', () => {
  const lookup = (prefix: string, who = admin) => get(`/tokens/match?key_prefix=${prefix}`, who)

  test('returns the token, its agent with the owner, and the number of tokens that are revoked with the token', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read', 'write'], { tier: 'pro', owner })
    const made = await app.fetch('POST', '/v1/auth/tokens', { token: agent.token, body: { scopes: ['read'] } })
    expect(made.status, made.text).toBe(201)
    const response = await lookup(agent.token.slice(0, 11))
    expect(response.status, response.text).toBe(200)
    const { data } = findToken.output.parse(response.json)
    expect(data).toMatchObject({
      id: agent.tokenId,
      agent_id: agent.id,
      state: 'active',
      agent: { owner: { account_id: owner.accountId } },
      active_descendants: 1,
      active_successor: null,
    })
    expect(response.text).not.toContain(agent.token)
  })

  test('names the active successor of a rotated token', async () => {
    const agent = await issuedAgent(app, ['read', 'write'], { tier: 'pro', owner: await signedIn(app) })
    const rotated = await app.fetch('POST', `/v1/auth/tokens/${agent.tokenId}/rotate`, { token: agent.token, body: {} })
    expect(rotated.status, rotated.text).toBe(201)
    const { data } = findToken.output.parse((await lookup(agent.token.slice(0, 11))).json)
    expect(data.active_successor).toBe(rotated.json.data.key_prefix)
  })

  test('returns 404 for an unknown prefix, 422 for a malformed one and 403 without the admin role', async () => {
    expect((await lookup('kp_00000000')).status).toBe(404)
    expect((await lookup('kp_0000')).status).toBe(422)
    expect((await lookup('kp_00000000', await signedIn(app))).status).toBe(403)
  })
})

describe('single agent', () => {
  test('returns its tokens and its usage by hour and day', async () => {
    const agent = await issuedAgent(app, ['read'])
    await used(agent.tokenId, 0, { reads: 3 })
    await used(agent.tokenId, 5 * day, { writes: 4 })
    await used(agent.tokenId, 40 * day, { reads: 5 })
    const at = async (period: string) => (await found(`/agents/${agent.id}?period=${period}`)).data
    const today = await at('24h')
    expect(today).toMatchObject({
      agent_id: agent.id,
      tokens_total: 1,
      tokens_allowed: 5,
      tokens: [{ id: agent.tokenId, state: 'active', use: { reads: 3, writes: 0, refused: 0 } }],
      use: { step: 'hour', total: { reads: 3, writes: 0, refused: 0 } },
    })
    expect(today.tokens[0]).not.toHaveProperty('api_key')
    expect(today.use.points).toHaveLength(24)
    expect(today.use.points.at(-1)).toMatchObject({ at: hourOf(app.clock.now()).toISOString(), reads: 3 })
    expect((await at('7d')).use.total).toEqual({ reads: 3, writes: 4, refused: 0 })
    expect((await at('30d')).use).toMatchObject({ step: 'day', total: { reads: 3, writes: 4, refused: 0 } })
    expect((await at('90d')).use.total).toEqual({ reads: 8, writes: 4, refused: 0 })
    expect((await get(`/agents/${agent.id}?period=1y`)).status).toBe(422)
    expect((await get('/agents/no-such-agent')).json).toMatchObject({ status: 404, code: 'not_found' })
  })

  test('an admin revokes its tokens by id and by prefix, idempotently', async () => {
    const agent = await issuedAgent(app, ['read'])
    const { json } = await app.fetch('POST', '/v1/auth/tokens', { cookie: admin.cookie, body: { agent_id: agent.id } })
    const revoked = await Promise.all(
      [1, 2].map(() => app.fetch('DELETE', `/v1/auth/tokens/${agent.tokenId}`, { cookie: admin.cookie })),
    )
    expect(revoked.map(({ status }) => status)).toEqual([204, 204])
    const body = { key_prefix: json.data.key_prefix }
    expect((await app.fetch('POST', '/v1/auth/revoke', { cookie: admin.cookie, body })).status).toBe(200)
    const { data } = await found(`/agents/${agent.id}`)
    expect(data.active_tokens).toBe(0)
    expect(data.tokens.map((one: { revoked_reason: string }) => one.revoked_reason)).toEqual(['admin', 'admin'])
  })
})

describe('automatic revocations', () => {
  test('are listed with the rejected requests that caused them until those requests are deleted', async () => {
    const agent = await issuedAgent(app, ['read'])
    const { json: rotated } = await app.fetch('POST', `/v1/auth/tokens/${agent.tokenId}/rotate`, {
      token: agent.token,
      body: { overlap: '1h' },
    })
    // Too old to count, and not part of the evidence.
    await refuse(agent.tokenId, '192.0.2.1')
    app.clock.advance(2 * hour)
    const times: string[] = []
    for (const ip of ['192.0.2.2', '2001:db8::3', '192.0.2.4']) {
      times.push(app.clock.now().toISOString())
      await refuse(rotated.data.id, ip)
      app.clock.advance(minute)
    }
    const { data, total } = await found(`/revocations?agent_id=${agent.id}`)
    // The rotated token had already ended, so it is not listed.
    expect(total).toBe(1)
    expect(data).toEqual([
      {
        token_id: rotated.data.id,
        key_prefix: rotated.data.key_prefix,
        agent_id: agent.id,
        revoked_at: times[2],
        evidence: ['192.0.2.2', '2001:db8::3', '192.0.2.4'].map((ip, n) => ({
          at: times[n],
          token_id: rotated.data.id,
          class: 'read',
          limit: 300,
          consumed: 301,
          ip,
        })),
        evidence_until: new Date(Date.parse(times[2] ?? '') + 7 * day).toISOString(),
      },
    ])
    app.clock.advance(7 * day + hour)
    for (const job of app.app.jobs.filter(({ name }) => name === 'tokens.purge'))
      await job.execute(app.app.pipeline, {})
    expect((await found(`/revocations?agent_id=${agent.id}`)).data).toMatchObject([{ evidence: [] }])
    expect((await found('/revocations?agent_id=nobody-here')).data).toEqual([])
  })

  test('are paginated by cursor, and counted in the summary for a week', async () => {
    app.clock.advance(8 * day)
    const before = (await found('/tokens')).data
    expect(before.auto_revoked_7d).toBe(0)
    const agents = [await issuedAgent(app, ['read']), await issuedAgent(app, ['read'])]
    for (const { tokenId } of agents) for (let n = 0; n < 3; n++) await refuse(tokenId)
    const after = (await found('/tokens')).data
    expect(after).toMatchObject({ auto_revoked_7d: 2, active_tokens: before.active_tokens, agents: before.agents + 2 })
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null && seen.length < 2; ) {
      const page = await found(`/revocations?limit=1${cursor && `&cursor=${cursor}`}`)
      seen.push(page.data[0].agent_id)
      cursor = page.next_cursor
    }
    expect(seen.sort()).toEqual(agents.map(({ id }) => id).sort())
  })
})

test('the summary of tokens counts active tokens and their usage of one day', async () => {
  const before = (await found('/tokens')).data
  const [works, ended, expired] = [await named('sum-1'), await named('sum-2'), await named('sum-3')]
  await app.db.prisma.token.update({
    where: { id: ended.id },
    data: { revokedAt: app.clock.now(), revokedReason: 'owner' },
  })
  await app.db.prisma.token.update({ where: { id: expired.id }, data: { expiresAt: app.clock.now() } })
  const suspended = await issuedAgent(app, ['read'])
  await app.db.prisma.agent.update({ where: { id: suspended.id }, data: { suspendedAt: app.clock.now() } })
  await used(works.id, hour, { reads: 11, refused: 1 })
  await used(works.id, 25 * hour, { reads: 100 })
  const after = (await found('/tokens')).data
  expect(after).toEqual({
    agents: before.agents + 4,
    active_tokens: before.active_tokens + 1,
    agents_with_tokens: before.agents_with_tokens + 1,
    auto_revoked_7d: before.auto_revoked_7d,
    use_24h: { reads: before.use_24h.reads + 11, writes: before.use_24h.writes, refused: before.use_24h.refused + 1 },
  })
})

test('concurrent requests of an admin token beyond its rate limit return 429', async () => {
  const { id, token } = await issuedAgent(app, ['admin'], { tier: 'enterprise' })
  await app.db.prisma.agent.update({ where: { id }, data: { readsPerMinute: 5 } })
  const responses = await Promise.all(Array.from({ length: 7 }, () => get('/agents', { token })))
  expect(responses.map(({ status }) => status).sort()).toEqual([200, 200, 200, 200, 200, 429, 429])
})
