import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '#lib/app.ts'
import { shownOnce } from '#lib/client/shown-once.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { furtherToken, type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { createToken, listTokens, readSelf, revokeByPrefix, rotateToken } from './contract.ts'
import { makeKey } from './keys.ts'
import type { TierName } from './rules.ts'

const minute = 60_000
const hour = 60 * minute
const day = 24 * hour
let app: TestApp
let admin: Issued
let person: Person

beforeAll(async () => {
  app = await testApp()
  admin = await issuedAgent(app, ['admin'])
  person = await signedIn(app)
})
afterAll(() => app?.close())

const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await app.db.pool.query(sql, values)).rows
const tokenRow = async (id: string) => (await rows('SELECT * FROM tokens WHERE id = $1', id))[0]
const me = (token: string) => app.fetch('GET', '/v1/auth/me', { token })
const create = (ask: TestRequest) => app.fetch('POST', '/v1/auth/tokens', ask)
const rotate = (id: string, ask: TestRequest) => app.fetch('POST', `/v1/auth/tokens/${id}/rotate`, ask)
const revoke = (id: string, ask: TestRequest) => app.fetch('DELETE', `/v1/auth/tokens/${id}`, ask)
async function created(ask: TestRequest) {
  const response = await create(ask)
  expect(response.status, response.text).toBe(201)
  const { data } = createToken.output.parse(response.json)
  return { ...data, api_key: shownOnce(data.api_key) }
}
async function rotated(id: string, ask: TestRequest) {
  const response = await rotate(id, ask)
  expect(response.status, response.text).toBe(201)
  const { data } = rotateToken.output.parse(response.json)
  return { ...data, api_key: shownOnce(data.api_key) }
}
const active = async (agentId: string): Promise<number> =>
  (
    await rows(
      'SELECT 1 FROM tokens WHERE agent_id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > $2)',
      agentId,
      app.clock.now(),
    )
  ).length
const statuses = (reported: { status: number }[]) => reported.map(({ status }) => status).sort()
/** Each call is in another window. */
let windows = 0
const nextWindow = () => new Date(++windows * 60_000)
const refuse = (tokenId: string) =>
  app.app.tokens.keepRefusal({
    tokenId,
    requestClass: 'read',
    limit: 300,
    consumed: 301,
    ip: '192.0.2.7',
    windowEnds: nextWindow(),
  })

describe('a token', () => {
  test('reads its agent, tier, scopes and limits', async () => {
    const agent = await issuedAgent(app, ['read', 'write'], { tier: 'pro' })
    const { data } = readSelf.output.parse((await me(agent.token)).json)
    expect(data).toMatchObject({
      agent_id: agent.id,
      tier: 'pro',
      scopes: ['read', 'write'],
      limits: {
        reads_per_minute: 1000,
        writes_per_minute: 200,
        batch: 100,
        unit_bytes: 1_048_576,
        exports_per_day: 100,
        tokens: 20,
      },
      token: { id: agent.tokenId, expires_at: null },
      consent: { lawful_basis: 'consent', via: 'registration', withdrawn_at: null },
      owner_claimed: false,
    })
    const ofPerson = readSelf.output.parse((await app.fetch('GET', '/v1/auth/me', { cookie: person.cookie })).json)
    expect(ofPerson.data).toMatchObject({ agent_id: null, account_id: person.accountId, token: null })
    expect((await app.fetch('GET', '/v1/auth/me')).status).toBe(401)
  })

  test('is created with a name, scopes and an expiry, and its key is not stored', async () => {
    const agent = await issuedAgent(app, ['read', 'write'])
    const headers = { 'Idempotency-Key': 'create-once' }
    const body = { name: 'nightly', scopes: ['read'], expires_in_days: 2 }
    const made = await created({ token: agent.token, body, headers })
    expect(made).toMatchObject({ agent_id: agent.id, name: 'nightly', scopes: ['read'] })
    expect(made.expires_at).toBe(new Date(app.clock.now().getTime() + 2 * day).toISOString())
    const again = await create({ token: agent.token, body, headers })
    expect(again.json.data).toEqual({ ...made, api_key: undefined })
    expect(again.text).not.toContain(made.api_key)
    const stored = await rows(
      'SELECT t::text FROM tokens t UNION ALL SELECT r::text FROM idempotency_records r UNION ALL SELECT e::text FROM audit_entries e',
    )
    expect(JSON.stringify(stored)).not.toContain(made.api_key.slice(11))

    expect((await me(made.api_key)).status).toBe(200)
    app.clock.advance(2 * day)
    const late = await me(made.api_key)
    expect([late.status, late.json.code]).toEqual([401, 'token_expired'])
    expect(late.headers.get('www-authenticate')).toContain('invalid_token')
  })

  test.each([
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at'],
    [{ expires_at: 'tomorrow' }, 'expires_at'],
    // The year 10000 in UTC, which responses cannot represent.
    [{ expires_at: '9999-12-31T23:59:59-23:00' }, 'expires_at'],
    [{ expires_at: '2999-01-01T00:00:00Z', expires_in_days: 1 }, 'expires_in_days'],
    [{ expires_in_days: 0 }, 'expires_in_days'],
    [{ expires_in_days: 1e9 }, 'expires_in_days'],
    [{ scopes: [] }, 'scopes'],
    [{ scopes: ['everything'] }, 'scopes'],
    [{ name: 'a\u0000b' }, 'name'],
    [{ tier: 'pro' }, 'tier'],
  ])('is not created with %j: the response is 422 and names %s', async (body, field) => {
    const agent = await issuedAgent(app, ['read'])
    const response = await create({ token: agent.token, body })
    expect([response.status, response.json.code]).toEqual([422, 'invalid'])
    expect(JSON.stringify(response.json.issues)).toContain(`"${field}"`)
    expect(await active(agent.id)).toBe(1)
  })

  test('cannot grant scopes that it lacks', async () => {
    const reader = await issuedAgent(app, ['read'])
    const writer = await issuedAgent(app, ['read', 'write'])
    for (const [token, scopes] of [
      [reader.token, ['write']],
      [reader.token, ['read', 'write']],
      [writer.token, ['admin']],
    ] as const) {
      const response = await create({ token, body: { scopes } })
      expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    }
    const more = await created({ token: writer.token, body: { scopes: ['read'] } })
    // A read-only token cannot turn a wider one into its own by rotating it.
    const response = await rotate(writer.tokenId, { token: more.api_key, body: {} })
    expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    expect((await me(writer.token)).status).toBe(200)
  })

  test('a token that expires cannot create a token with a later expiry', async () => {
    const agent = await issuedAgent(app, ['read'])
    const short = await created({ token: agent.token, body: { expires_in_days: 1 } })
    expect((await create({ token: short.api_key, body: { expires_in_days: 2 } })).status).toBe(403)
    expect((await rotate(agent.tokenId, { token: short.api_key, body: {} })).status).toBe(403)
    expect((await created({ token: short.api_key })).expires_at).toBe(short.expires_at)
    expect((await rotated(short.id, { token: short.api_key })).expires_at).toBe(short.expires_at)
  })

  test('is rejected on every route from the first request after its revocation', async () => {
    const agent = await issuedAgent(app, ['read', 'write'])
    const made = await created({ token: agent.token })
    expect((await me(made.api_key)).status).toBe(200)
    expect((await revoke(made.id, { token: agent.token })).status).toBe(204)
    for (const [method, path] of [
      ['GET', '/v1/auth/me'],
      ['POST', '/v1/auth/register'],
      ['GET', '/v1/auth/tokens'],
      ['GET', '/v1/knowledge/kp:trace:x'],
    ] as const) {
      const response = await app.fetch(method, path, { token: made.api_key })
      expect([response.status, response.json.code]).toEqual([401, 'token_revoked'])
    }
    expect((await revoke(made.id, { token: agent.token })).status).toBe(204)
    expect(await tokenRow(made.id)).toMatchObject({ revoked_reason: 'owner' })
    expect((await me(agent.token)).status).toBe(200)
  })

  test('is rejected in the wrong header or format', async () => {
    const agent = await issuedAgent(app, ['read'])
    expect((await app.fetch('GET', '/v1/auth/me', { headers: { 'X-Api-Key': agent.token } })).status).toBe(401)
    expect((await app.fetch('GET', '/v1/auth/me', { headers: { Authorization: agent.token } })).status).toBe(401)
    expect((await app.fetch('GET', '/v1/auth/me', { headers: { Authorization: `Basic ${agent.token}` } })).status).toBe(
      401,
    )
    expect((await me(makeKey())).status).toBe(401)
  })
})

describe('revoking with a weaker token', () => {
  test('ends only the token itself and those that it created, unless it can write and has all scopes of the other', async () => {
    const agent = await issuedAgent(app, ['read', 'write', 'privacy'])
    const [reader, writer, other] = await Promise.all([
      furtherToken(app, agent.id, ['read']),
      furtherToken(app, agent.id, ['read', 'write']),
      furtherToken(app, agent.id, ['read']),
    ])
    const made = await created({ token: reader.token, body: { scopes: ['read'] } })
    const status = async (id: string, { token }: { token: string }) => (await revoke(id, { token })).status
    for (const { tokenId } of [agent, writer, other]) expect(await status(tokenId, reader)).toBe(403)
    const prefix = String((await tokenRow(other.tokenId))?.prefix)
    const byPrefix = await app.fetch('POST', '/v1/auth/revoke', { token: reader.token, body: { key_prefix: prefix } })
    expect([byPrefix.status, byPrefix.json.code]).toEqual([403, 'scope_too_small'])
    expect(await status(agent.tokenId, writer)).toBe(403)
    expect(await active(agent.id)).toBe(5)
    expect(await status(made.id, reader)).toBe(204)
    expect(await status(other.tokenId, writer)).toBe(204)
    expect(await status(reader.tokenId, reader)).toBe(204)
    expect(await status(writer.tokenId, agent)).toBe(204)
    expect(await active(agent.id)).toBe(1)
  })
})

describe('revoking by prefix', () => {
  const byPrefix = (key_prefix: string, ask: TestRequest) =>
    app.fetch('POST', '/v1/auth/revoke', { body: { key_prefix }, ...ask })

  test("revokes the agent's token idempotently", async () => {
    const agent = await issuedAgent(app, ['read'])
    const made = await created({ token: agent.token })
    const first = revokeByPrefix.output.parse((await byPrefix(made.key_prefix, { token: agent.token })).json)
    expect(first.data).toMatchObject({ id: made.id, revoked_at: app.clock.now().toISOString() })
    expect((await me(made.api_key)).status).toBe(401)
    app.clock.advance(1)
    const again = revokeByPrefix.output.parse((await byPrefix(made.key_prefix, { token: agent.token })).json)
    expect(again.data).toEqual(first.data)
  })
  test('returns 404 for an unknown prefix or the prefix of another agent, and 422 for an invalid prefix', async () => {
    const agent = await issuedAgent(app, ['read'])
    const other = await issuedAgent(app, ['read'])
    for (const prefix of [agent.token.slice(0, 11), 'kp_00000000'])
      expect((await byPrefix(prefix, { token: other.token })).status).toBe(404)
    for (const prefix of ['', 'kp_%', agent.token, 'kp_'])
      expect((await byPrefix(prefix, { token: agent.token })).status).toBe(422)
    expect((await me(agent.token)).status).toBe(200)
  })
})

describe("access to another agent's token", () => {
  test('is denied to strangers, who cannot see, create, rotate or revoke the token', async () => {
    const victim = await issuedAgent(app, ['read', 'write'])
    const owned = await issuedAgent(app, ['read', 'write'], { owner: await signedIn(app) })
    const stranger = await issuedAgent(app, ['read', 'write'])
    for (const ask of [{ token: stranger.token }, { cookie: person.cookie }])
      for (const { id, tokenId, token } of [victim, owned]) {
        const responses = [
          await app.fetch('GET', `/v1/auth/tokens?agent_id=${id}`, ask),
          await create({ ...ask, body: { agent_id: id } }),
          await rotate(tokenId, { ...ask, body: {} }),
          await revoke(tokenId, ask),
          await app.fetch('POST', '/v1/auth/revoke', { ...ask, body: { key_prefix: token.slice(0, 11) } }),
        ]
        expect(responses.map(({ status }) => status)).toEqual([404, 404, 404, 404, 404])
        expect(await tokenRow(tokenId)).toMatchObject({ revoked_at: null, expires_at: null })
        expect(await active(id)).toBe(1)
      }
    expect((await revoke('tok_nothing', { token: stranger.token })).json.detail).toBe(
      (await revoke(victim.tokenId, { token: stranger.token })).json.detail,
    )
  })

  test('returns 401 for requests without a token', async () => {
    const victim = await issuedAgent(app, ['read'])
    const responses = [
      await app.fetch('GET', '/v1/auth/tokens'),
      await create({ body: { agent_id: victim.id } }),
      await rotate(victim.tokenId, { body: {} }),
      await revoke(victim.tokenId, {}),
      await app.fetch('POST', '/v1/auth/revoke', { body: { key_prefix: victim.token.slice(0, 11) } }),
    ]
    for (const { status, json } of responses) expect([status, json.code]).toEqual([401, 'token_missing'])
  })

  test('is granted to admins and owners', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read'], { owner })
    const made = await created({ cookie: owner.cookie, body: { scopes: ['read', 'write'] } })
    expect(made.agent_id).toBe(agent.id)
    expect((await create({ cookie: owner.cookie, body: { scopes: ['admin'] } })).status).toBe(403)
    const { cookie } = await signedIn(app, 'admin')
    const given = await created({ cookie, body: { agent_id: agent.id, scopes: ['admin'] } })
    // The owner can revoke a token issued by an admin, but cannot take it over by rotating it.
    expect((await rotate(given.id, { cookie: owner.cookie, body: {} })).status).toBe(403)
    expect((await revoke(given.id, { cookie: owner.cookie })).status).toBe(204)
    expect((await revoke(made.id, { token: admin.token })).status).toBe(204)
    expect(await tokenRow(made.id)).toMatchObject({ revoked_reason: 'admin' })
    expect((await create({ token: admin.token, body: { agent_id: 'nobody-here' } })).status).toBe(404)
    // A person with no agent or several must specify the agent.
    expect((await create({ cookie: person.cookie })).status).toBe(422)
  })
})

describe('list of tokens', () => {
  test("returns the agent's own tokens by page, without keys", async () => {
    const agent = await issuedAgent(app, ['read'], { tier: 'pro' })
    await issuedAgent(app, ['read'])
    const made = [agent.tokenId]
    for (let n = 0; n < 4; n++) {
      // Two per millisecond, split by the end of a page, so that the id decides the order.
      if (n % 2 === 0) app.clock.advance(1)
      made.push((await created({ token: agent.token, body: { name: `token ${n}` } })).id)
    }
    const seen: string[] = []
    let cursor: string | null = null
    do {
      const query: string = cursor === null ? '' : `&cursor=${cursor}`
      const response = await app.fetch('GET', `/v1/auth/tokens?limit=3${query}`, { token: agent.token })
      expect(response.text).not.toContain('api_key')
      const page = listTokens.output.parse(response.json)
      expect(page).toMatchObject({ total: 5, limit: 3 })
      seen.push(...page.data.map(({ id }) => id))
      cursor = page.next_cursor
    } while (cursor !== null)
    expect(seen).toHaveLength(5)
    expect(new Set(seen)).toEqual(new Set(made))
    expect(seen.at(-1)).toBe(agent.tokenId)
  })
  test('returns the state of each token, and rejects a cursor from another list', async () => {
    const agent = await issuedAgent(app, ['read'])
    const old = await created({ token: agent.token })
    await rotated(old.id, { token: agent.token, body: { overlap: '1h' } })
    const deleted = await created({ token: agent.token })
    await revoke(deleted.id, { token: agent.token })
    const { data } = listTokens.output.parse((await app.fetch('GET', '/v1/auth/tokens', { token: agent.token })).json)
    const states = Object.fromEntries(data.map(({ id, state }) => [id, state]))
    expect(states[old.id]).toBe('rotated')
    expect(states[deleted.id]).toBe('revoked')
    expect(states[agent.tokenId]).toBe('active')
    for (const query of ['cursor=x', 'limit=0', 'limit=101', 'limit=1e9', 'offset=1'])
      expect((await app.fetch('GET', `/v1/auth/tokens?${query}`, { token: agent.token })).status).toBe(422)
  })
  test('returns the tokens of all agents that a person owns', async () => {
    const owner = await signedIn(app)
    const [one, other] = [await issuedAgent(app, ['read'], { owner }), await issuedAgent(app, ['read'], { owner })]
    const list = async (query: string, ask: TestRequest) =>
      listTokens.output
        .parse((await app.fetch('GET', `/v1/auth/tokens${query}`, ask)).json)
        .data.map(({ id }) => id)
        .sort()
    expect(await list('', { cookie: owner.cookie })).toEqual([one.tokenId, other.tokenId].sort())
    expect(await list(`?agent_id=${one.id}`, { cookie: owner.cookie })).toEqual([one.tokenId])
    expect(await list(`?agent_id=${one.id}`, { token: admin.token })).toEqual([one.tokenId])
    expect(await list('', { token: admin.token })).toEqual([admin.tokenId])
  })
})

describe('rotation', () => {
  test('replaces the key immediately', async () => {
    const agent = await issuedAgent(app, ['read', 'write'])
    const made = await rotated(agent.tokenId, { token: agent.token })
    expect(made).toMatchObject({ agent_id: agent.id, scopes: ['read', 'write'], name: null })
    expect((await me(agent.token)).json.code).toBe('token_revoked')
    expect((await me(made.api_key)).status).toBe(200)
    expect(await tokenRow(agent.tokenId)).toMatchObject({ revoked_reason: 'rotation' })
    const [entry] = await rows(
      `SELECT action, details FROM audit_entries WHERE resource_id = $1 AND resource_type = 'token'`,
      agent.tokenId,
    )
    expect(entry).toMatchObject({ action: 'update', details: { rotated_to: made.id } })
  })

  test.each([
    ['1m', minute],
    ['15m', 15 * minute],
    ['1h', hour],
    ['6h', 6 * hour],
    ['24h', day],
  ] as const)('with an overlap of %s keeps both keys valid until it ends', async (overlap, lasts) => {
    const agent = await issuedAgent(app, ['read'])
    const made = await rotated(agent.tokenId, { token: agent.token, body: { overlap } })
    app.clock.advance(lasts - 1)
    expect([(await me(agent.token)).status, (await me(made.api_key)).status]).toEqual([200, 200])
    app.clock.advance(1)
    expect([(await me(agent.token)).status, (await me(made.api_key)).status]).toEqual([401, 200])
  })

  test('succeeds once per token when requested concurrently', async () => {
    const agent = await issuedAgent(app, ['read'])
    for (const overlap of ['1h', '0s']) {
      const victim = await created({ token: agent.token })
      const responses = await Promise.all(
        Array.from({ length: 8 }, () => rotate(victim.id, { token: agent.token, body: { overlap } })),
      )
      expect(statuses(responses)).toEqual([201, ...Array(7).fill(409)])
    }
  })

  test('is serialized with the 429 response that revokes the token, so that no new token remains active', async () => {
    for (const isRotationFirst of [true, false]) {
      const agent = await issuedAgent(app, ['read'])
      const victim = await created({ token: agent.token })
      await refuse(victim.id)
      await refuse(victim.id)
      const holding = await app.db.pool.connect()
      const steps = [
        () => rotate(victim.id, { token: agent.token, body: { overlap: '1h' } }),
        () => refuse(victim.id),
      ] as const
      const begun: Promise<unknown>[] = []
      try {
        await holding.query('BEGIN')
        await holding.query('SELECT 1 FROM agents WHERE id = $1 FOR NO KEY UPDATE', [agent.id])
        for (const step of isRotationFirst ? steps : steps.toReversed()) {
          begun.push(step())
          const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
          await expect.poll(async () => (await rows(waiting)).length, { timeout: 120_000 }).toBe(begun.length)
        }
        await holding.query('COMMIT')
      } finally {
        // After a failure, the transaction ends with its connection: nothing must wait for the lock then.
        holding.release(true)
      }
      expect(await Promise.all(begun)).toMatchObject(
        isRotationFirst ? [{ status: 201 }, true] : [true, { status: 409 }],
      )
      expect(await rows('SELECT 1 FROM tokens WHERE limit_key = $1', victim.id)).toHaveLength(isRotationFirst ? 2 : 1)
      expect(await active(agent.id)).toBe(1)
      expect((await me(agent.token)).status).toBe(200)
    }
  })

  test('starts with new Idempotency-Keys', async () => {
    const agent = await issuedAgent(app, ['read'])
    const headers = { 'Idempotency-Key': 'one' }
    const first = await created({ token: agent.token, body: { name: 'first' }, headers })
    const next = await rotated(agent.tokenId, { token: agent.token })
    const second = await created({ token: next.api_key, body: { name: 'second' }, headers })
    expect(second.id).not.toBe(first.id)
  })

  test('is rejected for revoked and expired tokens', async () => {
    const agent = await issuedAgent(app, ['read'])
    const revoked = await created({ token: agent.token })
    await revoke(revoked.id, { token: agent.token })
    const expired = await created({ token: agent.token, body: { expires_in_days: 1 } })
    app.clock.advance(day)
    for (const { id } of [revoked, expired])
      expect((await rotate(id, { token: agent.token, body: {} })).status).toBe(409)
  })

  test('accepts only the documented overlaps', async () => {
    const agent = await issuedAgent(app, ['read'])
    for (const overlap of ['2h', '', 60, null, '48h'])
      expect((await rotate(agent.tokenId, { token: agent.token, body: { overlap } })).status).toBe(422)
  })
})

describe('limit of tokens per agent', () => {
  test.each([
    ['free', 5],
    ['pro', 20],
    ['enterprise', 100],
  ] as [TierName, number][])('in tier %s is exactly %i for concurrent requests', async (tier, max) => {
    const agent = await issuedAgent(app, ['read'], { tier })
    // Insert most tokens directly: creating a hundred would exceed the write limit.
    await rows(
      `INSERT INTO tokens (id, agent_id, limit_key, hash, prefix, scopes, created_at)
       SELECT $1 || '_' || n, $1, $1 || '_' || n, sha256(($1 || n)::bytea), 'x' || substr(md5($1 || n), 1, 10), '{read}', $2 FROM generate_series(1, $3::int - 4) n`,
      agent.id,
      app.clock.now(),
      max,
    )
    const responses = await Promise.all(Array.from({ length: 10 }, () => create({ token: agent.token })))
    expect(statuses(responses)).toEqual([...Array(3).fill(201), ...Array(7).fill(409)])
    expect(await active(agent.id)).toBe(max)
  })

  test('may be exceeded by one during the overlap of a rotation, never by two', async () => {
    const agent = await issuedAgent(app, ['read'])
    const made = []
    for (let n = 0; n < 4; n++) made.push(await created({ token: agent.token }))
    const responses = await Promise.all(
      made.map(({ id }) => rotate(id, { token: agent.token, body: { overlap: '1h' } })),
    )
    expect(statuses(responses)).toEqual([201, 409, 409, 409])
    expect(await active(agent.id)).toBe(6)
    expect((await create({ token: agent.token })).status).toBe(409)
    const left = made[responses.findIndex(({ status }) => status === 409)]
    expect((await rotate(left?.id ?? '', { token: agent.token, body: {} })).status).toBe(201)
    expect(await active(agent.id)).toBe(6)
    app.clock.advance(hour)
    expect(await active(agent.id)).toBe(5)
  })

  test('does not count ended tokens', async () => {
    const agent = await issuedAgent(app, ['read'])
    for (let n = 0; n < 4; n++) await created({ token: agent.token, body: { expires_in_days: 1 } })
    expect((await create({ token: agent.token })).status).toBe(409)
    app.clock.advance(day)
    await created({ token: agent.token })
  })
})

describe('rate limit windows', () => {
  const write = async (token: string, times: number) =>
    Promise.all(Array.from({ length: times }, () => app.fetch('DELETE', '/v1/auth/tokens/tok_none', { token })))
  const letThrough = (reported: { status: number }[]) => reported.filter(({ status }) => status === 404).length

  test.each(['0s', '1h'] as const)('are not multiplied by rotations with an overlap of %s', async (overlap) => {
    const agent = await issuedAgent(app, ['read', 'write'])
    let { tokenId: id, token } = agent
    const keys = [token]
    let allowed = 0
    for (let round = 0; round < 3; round++) {
      allowed += letThrough(await write(token, 5))
      const made = await rotated(id, { token, body: { overlap } })
      id = made.id
      token = made.api_key
      keys.push(token)
    }
    allowed += letThrough(await write(token, 13))
    // The four tokens share thirty writes, and each of the three rotations was one.
    expect(allowed).toBe(27)
    expect((await rotate(id, { token, body: { overlap } })).status).toBe(429)
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1', agent.id)).toHaveLength(4)
    const left = []
    for (const key of overlap === '0s' ? [token] : keys) left.push((await me(key)).headers.get('x-ratelimit-remaining'))
    expect(left).toEqual(overlap === '0s' ? ['299'] : ['299', '298', '297', '296'])
  })

  test("are not multiplied by creating and revoking tokens: at most the tier's tokens per minute", async () => {
    const agent = await issuedAgent(app, ['read', 'write'])
    const keys = [agent.tokenId]
    const again = async () => {
      const response = await create({ token: agent.token, body: { scopes: ['read', 'write'] } })
      if (response.status !== 201) return response.status
      const made = createToken.output.parse(response.json).data
      keys.push(made.id)
      expect(letThrough(await write(shownOnce(made.api_key), 1))).toBe(1)
      expect((await revoke(made.id, { token: agent.token })).status).toBe(204)
      return response.status
    }
    for (let n = 0; n < 4; n++) expect(await again()).toBe(201)
    expect(await active(agent.id)).toBe(1)
    const response = await create({ token: agent.token })
    expect([response.status, response.json.code]).toEqual([409, 'conflict'])
    expect(response.json.detail).toContain('within the last minute')
    // The limit also applies to registering again.
    const register = { token: agent.token, body: { agent_id: agent.id } }
    expect((await app.fetch('POST', '/v1/auth/register', register)).status).toBe(409)
    // A rotation opens no new window, so it is not delayed.
    const next = await rotated(agent.tokenId, { token: agent.token })
    expect(await create({ token: next.api_key })).toMatchObject({ status: 409 })

    app.clock.advance(minute - 1)
    expect((await create({ token: next.api_key })).status).toBe(409)
    app.clock.advance(1)
    expect((await create({ token: next.api_key })).status).toBe(201)
    expect(new Set(keys).size).toBe(5)
  })

  test('count a token and its successors once, so rotations do not use up the limit', async () => {
    const agent = await issuedAgent(app, ['read'])
    let { tokenId: id, token } = agent
    for (let n = 0; n < 6; n++) {
      const made = await rotated(id, { token })
      id = made.id
      token = made.api_key
    }
    for (let n = 0; n < 4; n++) await created({ token })
    expect((await create({ token })).status).toBe(409)
  })
})

describe('429 responses', () => {
  test('revoke the token at the third within an hour, with evidence, an audit entry and an email to the owner', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read'], { owner })
    expect([await refuse(agent.tokenId), await refuse(agent.tokenId)]).toEqual([false, false])
    expect((await me(agent.token)).status).toBe(200)
    expect(await refuse(agent.tokenId)).toBe(true)
    expect((await me(agent.token)).json.code).toBe('token_revoked')
    expect(await tokenRow(agent.tokenId)).toMatchObject({ revoked_reason: 'rate_limit' })
    expect(
      await rows('SELECT "limit", consumed, ip FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId),
    ).toEqual(Array(3).fill({ limit: 300, consumed: 301, ip: '192.0.2.7' }))
    const entries = await rows('SELECT * FROM audit_entries WHERE resource_id = $1', agent.tokenId)
    expect(entries).toMatchObject([{ action: 'update', agent_id: 'system:rate-limit', resource_type: 'token' }])
    const mails = await rows(
      `SELECT payload FROM graphile_worker._private_jobs WHERE payload ->> 'accountId' = $1`,
      owner.accountId,
    )
    expect(mails).toMatchObject([{ payload: { kind: 'token-revoked', keyPrefix: agent.token.slice(0, 11) } }])
    expect(await refuse(agent.tokenId)).toBe(false)
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId)).toHaveLength(3)
  })

  test('429 responses for a token and its successors are summed, and revoke all of them that are active', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read'], { owner })
    const sibling = await created({ token: agent.token })
    const first = await created({ token: agent.token })
    expect(await refuse(first.id)).toBe(false)
    const second = await rotated(first.id, { token: agent.token })
    expect(await refuse(second.id)).toBe(false)
    const third = await rotated(second.id, { token: agent.token, body: { overlap: '24h' } })
    expect((await me(second.api_key)).status).toBe(200)
    app.clock.advance(1)
    expect(await refuse(third.id)).toBe(true)
    for (const { api_key } of [first, second, third])
      expect((await me(api_key)).json.code, 'of one limit key').toBe('token_revoked')
    for (const token of [agent.token, sibling.api_key]) expect((await me(token)).status).toBe(200)

    const reasons = await rows(
      'SELECT id, revoked_reason FROM tokens WHERE limit_key = $1 ORDER BY created_at, revoked_at',
      first.id,
    )
    expect(Object.fromEntries(reasons.map((row) => [row.id, row.revoked_reason]))).toEqual({
      [first.id]: 'rotation',
      [second.id]: 'rate_limit',
      [third.id]: 'rate_limit',
    })
    const evidence = await rows('SELECT token_id FROM rate_limit_refusals WHERE limit_key = $1', first.id)
    expect(new Set(evidence.map((row) => row.token_id))).toEqual(new Set([first.id, second.id, third.id]))
    const entries = await rows(
      `SELECT resource_id, details FROM audit_entries WHERE agent_id = 'system:rate-limit' AND details ->> 'received_by' = $1`,
      third.id,
    )
    expect(new Set(entries.map((entry) => entry.resource_id))).toEqual(new Set([second.id, third.id]))
    for (const { details } of entries) expect(details).toMatchObject({ agent_id: agent.id, refusals: 3 })
    const mails = await rows(
      `SELECT payload ->> 'keyPrefix' AS prefix FROM graphile_worker._private_jobs WHERE payload ->> 'accountId' = $1`,
      owner.accountId,
    )
    expect(new Set(mails.map(({ prefix }) => prefix))).toEqual(new Set([second.key_prefix, third.key_prefix]))
  })

  test('429 responses of a token before its rotation still count after the rotation', async () => {
    const agent = await issuedAgent(app, ['read'])
    const next = await rotated(agent.tokenId, { token: agent.token })
    expect([await refuse(agent.tokenId), await refuse(agent.tokenId)]).toEqual([false, false])
    expect(await refuse(agent.tokenId)).toBe(true)
    expect((await me(next.api_key)).json.code).toBe('token_revoked')
    expect(await tokenRow(agent.tokenId)).toMatchObject({ revoked_reason: 'rotation' })
  })

  test('are counted exactly across concurrent rotations', async () => {
    const agent = await issuedAgent(app, ['read'])
    const next = await rotated(agent.tokenId, { token: agent.token, body: { overlap: '1h' } })
    const last = await rotated(next.id, { token: next.api_key, body: { overlap: '1h' } })
    const ids = [agent.tokenId, next.id, last.id]
    const retained = await Promise.all(Array.from({ length: 12 }, (_, n) => refuse(ids[n % 3] ?? '')))
    expect(retained.filter(Boolean)).toHaveLength(1)
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE limit_key = $1', agent.tokenId)).toHaveLength(3)
    expect(await active(agent.id)).toBe(0)
  })

  test('are not summed when they are an hour apart', async () => {
    const agent = await issuedAgent(app, ['read'])
    for (let n = 0; n < 6; n++) {
      expect(await refuse(agent.tokenId)).toBe(false)
      app.clock.advance(hour / 2)
    }
    expect((await me(agent.token)).status).toBe(200)
  })

  test('429 responses for a stranger or for another token of the same agent never count', async () => {
    const [victim, stranger] = [await issuedAgent(app, ['read']), await issuedAgent(app, ['read'])]
    const sibling = await created({ token: victim.token })
    await refuse(victim.tokenId)
    await refuse(victim.tokenId)
    for (const id of [stranger.tokenId, sibling.id]) {
      await refuse(id)
      await refuse(id)
      expect(await refuse(id)).toBe(true)
    }
    expect((await me(victim.token)).status).toBe(200)
  })

  test('are counted exactly when they are concurrent', async () => {
    const agent = await issuedAgent(app, ['read'])
    const retained = await Promise.all(Array.from({ length: 12 }, () => refuse(agent.tokenId)))
    expect(retained.filter(Boolean)).toHaveLength(1)
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId)).toHaveLength(3)
    expect(await rows('SELECT 1 FROM audit_entries WHERE resource_id = $1', agent.tokenId)).toHaveLength(1)
  })

  /** An agent that may read twice a minute. */
  const slowAgent = async () => {
    const agent = await issuedAgent(app, ['read'], { tier: 'enterprise' })
    await app.db.prisma.agent.update({ where: { id: agent.id }, data: { readsPerMinute: 2 } })
    return agent
  }

  test('are sent over HTTP as a plain 429, and in the third window as one that reports the revocation, followed by 401', async () => {
    const agent = await slowAgent()
    const other = await issuedAgent(app, ['read'])
    for (let n = 0; n < 2; n++) await refuse(agent.tokenId)
    const reported = []
    for (let n = 0; n < 4; n++) reported.push(await me(agent.token))
    expect(reported.map(({ status }) => status)).toEqual([200, 200, 429, 401])
    expect(reported[2]?.headers.get('retry-after')).toMatch(/^[1-9]\d*$/)
    expect(reported[2]?.json.detail).toContain('revoked')
    expect((await me(other.token)).status).toBe(200)
  })

  test('429 responses of one burst of parallel requests count once', async () => {
    const agent = await slowAgent()
    const reported = await Promise.all(Array.from({ length: 20 }, () => me(agent.token)))
    expect(statuses(reported)).toEqual([200, 200, ...Array(18).fill(429)])
    expect((await me(agent.token)).status).toBe(429)
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId)).toHaveLength(1)
    expect(await tokenRow(agent.tokenId)).toMatchObject({ revoked_reason: null })
  })

  test('429 responses in a window that agents of one network share count only against a token that exceeds the limit by itself', async () => {
    const [eager, modest] = [await issuedAgent(app, ['read']), await issuedAgent(app, ['read'])]
    await app.app.db.prisma.agent.updateMany({
      where: { id: { in: [eager.id, modest.id] } },
      data: { readsPerMinute: 2, sharesWindow: true, network: new Uint8Array(32).fill(7) },
    })
    const reported = []
    for (const { token } of [eager, eager, modest, modest, eager]) reported.push((await me(token)).status)
    expect(reported).toEqual([200, 200, 429, 429, 429])
    const counted = async ({ tokenId }: typeof eager) =>
      (await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', tokenId)).length
    expect([await counted(eager), await counted(modest)]).toEqual([1, 0])
  })

  test('429 responses of one window count once for reads and once for writes, also when replicas record them', async () => {
    const agent = await issuedAgent(app, ['read'])
    const replica = createApp({ env: app.app.env })
    const refusal = { tokenId: agent.tokenId, limit: 300, consumed: 301, ip: '192.0.2.7', windowEnds: nextWindow() }
    for (const { tokens } of [app.app, replica])
      for (const requestClass of ['read', 'write', 'read'] as const)
        expect(await tokens.keepRefusal({ ...refusal, requestClass })).toBe(false)
    await replica.close()
    expect(await rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId)).toHaveLength(2)
  })

  test('are sent even when the database is unavailable', async () => {
    const down = createApp({ env: { ...app.app.env, DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' } })
    const refusal = { tokenId: admin.tokenId, limit: 1, consumed: 2, ip: '', windowEnds: nextWindow() }
    expect(await down.tokens.keepRefusal({ ...refusal, requestClass: 'read' })).toBe(false)
    await down.close()
  })
})

test('the purge deletes only expired records of rejected requests and tokens that ended long ago', async () => {
  const agent = await issuedAgent(app, ['read'])
  const revoked = await created({ token: agent.token })
  const expiring = await created({ token: agent.token, body: { expires_in_days: 1 } })
  await refuse(agent.tokenId)
  await revoke(revoked.id, { token: agent.token })
  const job = app.app.jobs.find(({ name }) => name === 'tokens.purge')
  const left = async () =>
    (await rows('SELECT id FROM tokens WHERE agent_id = $1 ORDER BY id', agent.id)).map(({ id }) => id)
  const evidence = () => rows('SELECT 1 FROM rate_limit_refusals WHERE token_id = $1', agent.tokenId)

  app.clock.advance(7 * day)
  await job?.execute(app.app.pipeline, {})
  expect(await evidence()).toHaveLength(1)
  app.clock.advance(1)
  await job?.execute(app.app.pipeline, {})
  expect(await evidence()).toHaveLength(0)

  app.clock.advance(83 * day - 1)
  await job?.execute(app.app.pipeline, {})
  expect(await left()).toHaveLength(3)
  app.clock.advance(1)
  await job?.execute(app.app.pipeline, {})
  expect(await left()).toEqual([agent.tokenId, expiring.id].sort())
  app.clock.advance(day)
  await job?.execute(app.app.pipeline, {})
  expect(await left()).toEqual([agent.tokenId])
})
