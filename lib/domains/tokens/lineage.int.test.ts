import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { shownOnce } from '#lib/client/shown-once.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { createToken, listTokens, revokeByPrefix, rotateToken } from './contract.ts'
import { tokenDataSource } from './personal-data.ts'

const hour = 3_600_000
const day = 24 * hour
let app: TestApp
let database: TestDatabase
let mail: Mailbox
let admin: Person
beforeAll(async () => {
  mail = await mailbox()
  database = await testDatabase()
  app = await testApp({ KP_SMTP_URL: mail.url }, database)
  admin = await signedIn(app, 'admin')
})
afterAll(async () => {
  await app?.close()
  await mail?.close()
})

const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await app.db.pool.query(sql, values)).rows
const reasonOf = async (id: string) => (await rows('SELECT revoked_reason FROM tokens WHERE id = $1', id))[0]
const revokedWith = { revoked_reason: 'issuer_revoked' }
const me = (token: string) => app.fetch('GET', '/v1/auth/me', { token })
const codeOf = async (token: string) => {
  const { status, json } = await me(token)
  return status === 200 ? 'works' : json.code
}
const create = (ask: TestRequest) => app.fetch('POST', '/v1/auth/tokens', ask)
const rotate = (id: string, ask: TestRequest) => app.fetch('POST', `/v1/auth/tokens/${id}/rotate`, ask)
const revoke = (id: string, ask: TestRequest) => app.fetch('DELETE', `/v1/auth/tokens/${id}`, ask)
const byPrefix = async (key_prefix: string, ask: TestRequest) =>
  revokeByPrefix.output.parse((await app.fetch('POST', '/v1/auth/revoke', { ...ask, body: { key_prefix } })).json)

interface Made {
  id: string
  token: string
  prefix: string
  expires: string | null
  issuer: string | null
}
function madeOf(notified: { status: number; text: string; json: unknown }): Made {
  expect(notified.status, notified.text).toBe(201)
  const { data } = createToken.output.parse(notified.json)
  const { id, key_prefix: prefix, expires_at: expires, issued_by_token_id: issuer } = data
  return { id, prefix, expires, issuer, token: shownOnce(data.api_key) }
}
const created = async (ask: TestRequest) => madeOf(await create(ask))
const rotated = async (id: string, ask: TestRequest) => {
  const response = await rotate(id, { body: {}, ...ask })
  rotateToken.output.parse(response.json)
  return madeOf(response)
}
/** An agent with a token, a second one created with it, and a third one created with the second. */
async function chain(owner?: Person): Promise<{ agent: Issued; keys: string[]; second: Made; third: Made }> {
  const agent = await issuedAgent(app, ['read', 'write'], { tier: 'pro', ...(owner && { owner }) })
  const second = await created({ token: agent.token, body: { scopes: ['read', 'write'] } })
  const third = await created({ token: second.token, body: { scopes: ['read'] } })
  return { agent, second, third, keys: [agent.token, second.token, third.token] }
}
const codesOf = (keys: readonly string[]) => Promise.all(keys.map(codeOf))
const revoked = 'token_revoked'

/** Starts the requests one after the other while the row is locked, each once the one before it waits; then unlocks the row. */
async function queued<T>(locked: { sql: string; id: string }, requests: readonly (() => Promise<T>)[]): Promise<T[]> {
  const holding = await app.db.pool.connect()
  const begun: Promise<T>[] = []
  try {
    await holding.query('BEGIN')
    await holding.query(locked.sql, [locked.id])
    for (const request of requests) {
      begun.push(request())
      const waiting = `SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
        AND query NOT LIKE 'UPDATE tokens t SET last_used_at%'`
      await expect.poll(async () => (await rows(waiting)).length, { timeout: 120_000 }).toBe(begun.length)
    }
    await holding.query('COMMIT')
  } finally {
    // After a failure, the transaction ends with its connection: nothing must wait for the lock then.
    holding.release(true)
  }
  return Promise.all(begun)
}
const agentRow = (id: string) => ({ sql: 'SELECT 1 FROM agents WHERE id = $1 FOR NO KEY UPDATE', id })
const tokenRow = (id: string) => ({ sql: 'SELECT 1 FROM tokens WHERE id = $1 FOR UPDATE', id })

describe('revoking a token', () => {
  test('revokes all tokens that were created with it, with one audit entry each, and no other token', async () => {
    const owner = await signedIn(app)
    const { agent, second, third, keys } = await chain(owner)
    const own = await created({ cookie: owner.cookie, body: { scopes: ['read'] } })
    const fourth = await created({ token: second.token, body: { scopes: ['read'] } })
    await revoke(fourth.id, { token: fourth.token })
    const notified = await byPrefix(agent.token.slice(0, 11), { cookie: owner.cookie })
    expect(notified.data.revoked_descendants).toBe(2)
    expect(notified.message).toContain('Tokens that were created with it are also revoked: 2.')
    expect(await codesOf(keys)).toEqual([revoked, revoked, revoked])
    expect(await codeOf(own.token)).toBe('works')
    expect([await reasonOf(agent.tokenId), await reasonOf(second.id), await reasonOf(third.id)]).toEqual([
      { revoked_reason: 'owner' },
      revokedWith,
      revokedWith,
    ])
    expect(await reasonOf(fourth.id)).toEqual({ revoked_reason: 'owner' })
    for (const { id } of [second, third]) {
      const entries = await rows(
        `SELECT agent_id, action, details FROM audit_entries WHERE resource_type = 'token' AND resource_id = $1
           AND details ->> 'reason' IS NOT NULL`,
        id,
      )
      expect(entries).toMatchObject([
        {
          agent_id: `user:${owner.accountId}`,
          action: 'update',
          details: { agent_id: agent.id, reason: 'issuer_revoked', revoked_with: agent.tokenId },
        },
      ])
    }
    const again = await byPrefix(agent.token.slice(0, 11), { cookie: owner.cookie })
    expect(again.data).toEqual({ ...notified.data, revoked_descendants: 0 })
  })

  test('revokes its descendants when an admin, the token itself or a descendant with its scopes requests it', async () => {
    for (const ask of [
      () => ({ cookie: admin.cookie }),
      ({ agent }: { agent: Issued }) => ({ token: agent.token }),
      ({ second }: { second: Made }) => ({ token: second.token }),
    ]) {
      const made = await chain()
      expect((await revoke(made.agent.tokenId, ask(made))).status).toBe(204)
      expect(await codesOf(made.keys)).toEqual([revoked, revoked, revoked])
    }
  })

  test('does not revoke the tokens from which it descends', async () => {
    const { agent, second, keys } = await chain()
    await revoke(second.id, { token: agent.token })
    expect(await codesOf(keys)).toEqual(['works', revoked, revoked])
  })

  test('takes effect immediately in another process', async () => {
    const { agent, keys } = await chain()
    const other = await testApp({ KP_DATA_DIR: app.dataDir }, { ...database, drop: async () => {} })
    try {
      const elsewhere = async () =>
        Promise.all(keys.map(async (token) => (await other.fetch('GET', '/v1/auth/me', { token })).status))
      expect(await elsewhere()).toEqual([200, 200, 200])
      await revoke(agent.tokenId, { token: agent.token })
      expect(await elsewhere()).toEqual([401, 401, 401])
    } finally {
      await other.close()
    }
  })

  test('revokes its descendants when too many rejected requests cause it, and the email to the owner counts them', async () => {
    const owner = await signedIn(app)
    const { agent, second, third, keys } = await chain(owner)
    const refusal = {
      tokenId: agent.tokenId,
      requestClass: 'read',
      limit: 300,
      consumed: 301,
      ip: '192.0.2.7',
    } as const
    for (const [n, expected] of [false, false, true].entries())
      expect(await app.app.tokens.keepRefusal({ ...refusal, windowEnds: new Date(n * 60_000) })).toBe(expected)
    expect(await codesOf(keys)).toEqual([revoked, revoked, revoked])
    expect(await reasonOf(agent.tokenId)).toEqual({ revoked_reason: 'rate_limit' })
    for (const { id } of [second, third]) {
      expect(await reasonOf(id)).toEqual(revokedWith)
      expect(
        await rows(
          'SELECT details FROM audit_entries WHERE agent_id = $1 AND resource_id = $2',
          'system:rate-limit',
          id,
        ),
      ).toMatchObject([{ details: { reason: 'issuer_revoked', revoked_with: agent.tokenId } }])
    }
    await drain(app)
    const { email } = await app.db.prisma.account.findUniqueOrThrow({ where: { id: owner.accountId } })
    expect(mail.letters.filter(({ to }) => to === email).map(({ text }) => text)).toEqual([
      expect.stringContaining('2 tokens that were created with it were revoked as well.'),
    ])
  })

  test('revokes 3,000 descendants in one transaction', async () => {
    const agent = await issuedAgent(app, ['read'])
    // Each was created with the one before it.
    await rows(
      `INSERT INTO tokens (id, agent_id, limit_key, hash, prefix, scopes, created_at, issued_by_token_id)
       SELECT $1 || '_' || n, $1, $1 || '_' || n, sha256(($1 || n)::bytea), 'x' || substr(md5($1 || n), 1, 10), '{read}', $2,
         CASE n WHEN 1 THEN $3 ELSE $1 || '_' || n - 1 END FROM generate_series(1, 3000) n`,
      agent.id,
      app.clock.now(),
      agent.tokenId,
    )
    expect((await byPrefix(agent.token.slice(0, 11), { token: agent.token })).data.revoked_descendants).toBe(3_000)
    expect(await rows('SELECT 1 FROM tokens WHERE agent_id = $1 AND revoked_at IS NULL', agent.id)).toEqual([])
    const entries = "SELECT 1 FROM audit_entries WHERE details ->> 'revoked_with' = $1"
    expect(await rows(entries, agent.tokenId)).toHaveLength(3_000)
  }, 60_000)
})

describe('a token of an admin', () => {
  test('is revoked together with the tokens that it created for agents of others, and no other token of these agents is revoked', async () => {
    const leaked = await issuedAgent(app, ['admin'])
    const owner = await signedIn(app)
    const victim = await issuedAgent(app, ['read'], { owner })
    const made = await created({ token: leaked.token, body: { agent_id: victim.id, scopes: ['read'] } })
    expect((await create({ token: made.token })).json.code).toBe('forbidden')
    expect(made.issuer).toBe(leaked.tokenId)
    await revoke(leaked.tokenId, { token: leaked.token })
    expect(await codesOf([leaked.token, made.token, victim.token])).toEqual([revoked, revoked, 'works'])
  })

  test('cannot create a token that ends later than itself', async () => {
    const boss = await issuedAgent(app, ['read'], { owner: admin })
    await passwordEntered(app, admin)
    const short = await created({
      cookie: admin.cookie,
      body: { agent_id: boss.id, scopes: ['admin'], expires_in_days: 10 },
    })
    const { id, tokenId } = await issuedAgent(app, ['read'])
    const made = await created({ token: short.token, body: { agent_id: id } })
    expect(made.expires).toBe(short.expires)
    const late = await create({ token: short.token, body: { agent_id: id, expires_in_days: 11 } })
    expect([late.status, late.json.code]).toEqual([403, 'forbidden'])
    // Its successor for a token without an expiry expires with it.
    const next = await rotated(tokenId, { token: short.token })
    expect([next.expires, next.issuer]).toEqual([short.expires, short.id])
    app.clock.advance(10 * day)
    expect(await codesOf([made.token, next.token])).toEqual(['token_expired', 'token_expired'])
  })

  test('is the issuer of the tokens of agents that it registers; the token of an ordinary agent is not', async () => {
    const leaked = await issuedAgent(app, ['admin'])
    const ordinary = await issuedAgent(app, ['read', 'write'])
    const register = async (token: string, body: object) => {
      const response = await app.fetch('POST', '/v1/auth/register', { token, body })
      expect(response.status, response.text).toBe(201)
      return shownOnce(response.json.data.api_key)
    }
    const paid = await register(leaked.token, { tier: 'pro', scopes: ['read', 'write'] })
    const free = await register(ordinary.token, {})
    const further = await register(ordinary.token, { agent_id: ordinary.id })
    await revoke(leaked.tokenId, { token: leaked.token })
    await revoke(ordinary.tokenId, { token: ordinary.token })
    expect(await codesOf([paid, free, further])).toEqual([revoked, 'works', revoked])
  })

  test('is revoked with its descendants when its owner is no longer an admin', async () => {
    const former = await signedIn(app, 'admin')
    const boss = await issuedAgent(app, ['admin'], { owner: former })
    const agent = await issuedAgent(app, ['read'])
    const made = await created({ token: boss.token, body: { agent_id: agent.id } })
    await passwordEntered(app, admin)
    const body = { role: 'person' }
    const response = await app.fetch('PATCH', `/api/admin/users/${former.accountId}`, { cookie: admin.cookie, body })
    expect(response.status, response.text).toBe(200)
    expect(await codesOf([boss.token, made.token, agent.token])).toEqual([revoked, revoked, 'works'])
  })

  test('ends the tokens that it created for others when its agent is erased', async () => {
    const boss = await issuedAgent(app, ['admin'])
    const agent = await issuedAgent(app, ['read'])
    const made = await created({ token: boss.token, body: { agent_id: agent.id } })
    const dataSource = tokenDataSource(app.app.db, app.app.pipeline)
    const subject = { account: null, agents: [boss.id] }
    await app.app.db.transaction((tx) => dataSource.erase({ subject }, [boss.tokenId], tx))
    expect(await codesOf([made.token, agent.token])).toEqual([revoked, 'works'])
    expect(await rows('SELECT issued_by_token_id FROM tokens WHERE id = $1', made.id)).toEqual([
      { issued_by_token_id: null },
    ])
  })
})

describe('a token that is being revoked', () => {
  test('creates no token that works afterwards, whichever request runs first', async () => {
    for (const isCreationFirst of [true, false]) {
      const agent = await issuedAgent(app, ['read'])
      await me(agent.token)
      const steps = [() => create({ token: agent.token }), () => revoke(agent.tokenId, { token: agent.token })]
      const responses = await queued(agentRow(agent.id), isCreationFirst ? steps : steps.toReversed())
      expect(responses.map(({ status, json }) => json?.code ?? status)).toEqual(
        isCreationFirst ? [201, 204] : [204, 'token_revoked'],
      )
      const left = await rows(
        'SELECT revoked_reason FROM tokens WHERE agent_id = $1 AND id <> $2',
        agent.id,
        agent.tokenId,
      )
      expect(left).toEqual(isCreationFirst ? [revokedWith] : [])
    }
  })

  test('creates no token for an agent of another owner, including by registering one', async () => {
    for (const isCreationFirst of [true, false])
      for (const what of ['create', 'register']) {
        const leaked = await issuedAgent(app, ['admin'])
        const victim = await issuedAgent(app, ['read'])
        await me(leaked.token)
        const steps = [
          () =>
            what === 'create'
              ? create({ token: leaked.token, body: { agent_id: victim.id } })
              : app.fetch('POST', '/v1/auth/register', { token: leaked.token, body: {} }),
          () => revoke(leaked.tokenId, { cookie: admin.cookie }),
        ]
        const [first, last] = await queued(tokenRow(leaked.tokenId), isCreationFirst ? steps : steps.toReversed())
        const notified = isCreationFirst ? { made: first, ended: last } : { made: last, ended: first }
        expect(notified.ended?.status).toBe(204)
        if (notified.made?.status === 201) expect(await codeOf(notified.made.json.data.api_key)).toBe(revoked)
        else expect(notified.made?.json.code).toBe(revoked)
        const works = 'SELECT 1 FROM tokens WHERE issued_by_token_id = $1 AND revoked_at IS NULL'
        expect(await rows(works, leaked.tokenId)).toEqual([])
      }
  })

  test('leaves no successor of a descendant that is rotated concurrently', async () => {
    for (const isRotationFirst of [true, false]) {
      const leaked = await issuedAgent(app, ['admin'])
      const victim = await issuedAgent(app, ['read'])
      const made = await created({ token: leaked.token, body: { agent_id: victim.id } })
      await me(made.token)
      const steps = [
        () => rotate(made.id, { token: made.token, body: { overlap: '1h' } }),
        () => revoke(leaked.tokenId, { cookie: admin.cookie }),
      ]
      await queued(tokenRow(made.id), isRotationFirst ? steps : steps.toReversed())
      const works = 'SELECT 1 FROM tokens WHERE limit_key = $1 AND revoked_at IS NULL'
      expect(await rows(works, made.id)).toEqual([])
      expect(await codeOf(victim.token)).toBe('works')
    }
  })

  test('cannot create a token after its revocation', async () => {
    const { agent, second, third } = await chain()
    await revoke(agent.tokenId, { token: agent.token })
    const before = await rows('SELECT count(*) FROM tokens')
    for (const { token } of [agent, second, third])
      for (const response of [
        await create({ token }),
        await rotate(third.id, { token, body: {} }),
        await app.fetch('POST', '/v1/auth/register', { token, body: {} }),
      ])
        expect([response.status, response.json.code]).toEqual([401, revoked])
    expect(await rows('SELECT count(*) FROM tokens')).toEqual(before)
  })
})

describe('rotating a token', () => {
  test('keeps its descendants, which end with its successor and not with the old key', async () => {
    for (const overlap of ['0s', '1h']) {
      const { agent, second, third } = await chain()
      const next = await rotated(agent.tokenId, { token: agent.token, body: { overlap } })
      expect(await codesOf([second.token, third.token, next.token])).toEqual(['works', 'works', 'works'])
      await revoke(agent.tokenId, { token: next.token })
      expect(await codesOf([second.token, third.token, next.token])).toEqual(['works', 'works', 'works'])
      await revoke(next.id, { token: next.token })
      expect(await codesOf([second.token, third.token, next.token])).toEqual([revoked, revoked, revoked])
    }
  })

  test('during its overlap creates nothing that lasts longer than the overlap', async () => {
    const agent = await issuedAgent(app, ['read'])
    await rotated(agent.tokenId, { token: agent.token, body: { overlap: '1h' } })
    const late = await created({ token: agent.token })
    expect(late.expires).toBe(new Date(app.clock.now().getTime() + hour).toISOString())
    expect((await revoke(agent.tokenId, { token: agent.token })).status).toBe(204)
    expect(await codeOf(late.token)).toBe(revoked)
  })

  test('a token keeps its issuer when it rotates itself or a person rotates it; another token that rotates it becomes the issuer', async () => {
    const owner = await signedIn(app)
    const { agent, second, third } = await chain(owner)
    const byItself = await rotated(second.id, { token: second.token })
    expect(byItself.issuer).toBe(agent.tokenId)
    const byPerson = await rotated(byItself.id, { cookie: owner.cookie })
    expect(byPerson.issuer).toBe(agent.tokenId)
    const own = await created({ cookie: owner.cookie, body: { scopes: ['read'] } })
    expect(own.issuer).toBeNull()
    // The holder of this token now knows a key of the owner.
    const taken = await rotated(own.id, { token: byPerson.token })
    expect(taken.issuer).toBe(byPerson.id)
    await revoke(agent.tokenId, { cookie: owner.cookie })
    expect(await codesOf([byPerson.token, third.token, taken.token])).toEqual([revoked, revoked, revoked])
  })

  test('is rejected when the acting token descends from it, so that no token is its own issuer', async () => {
    const { agent, second, third, keys } = await chain()
    const attempts: [Issued['tokenId'], string][] = [
      [agent.tokenId, second.token],
      [agent.tokenId, (await created({ token: second.token, body: { scopes: ['read', 'write'] } })).token],
    ]
    for (const [id, token] of attempts) {
      const response = await rotate(id, { token, body: { overlap: '24h' } })
      expect([response.status, response.json.code]).toEqual([403, 'forbidden'])
    }
    expect(await codesOf(keys)).toEqual(['works', 'works', 'works'])
    await expect(rows('UPDATE tokens SET issued_by_token_id = id WHERE id = $1', third.id)).rejects.toThrow(
      'tokens_not_issued_by_themselves',
    )
    // Above may rotate below.
    expect((await rotated(second.id, { token: agent.token })).issuer).toBe(agent.tokenId)
  })

  test('ends, as revoking does, even if the rows form a cycle', async () => {
    const { agent, second, third, keys } = await chain()
    await rows('UPDATE tokens SET issued_by_token_id = $2 WHERE id = $1', agent.tokenId, third.id)
    expect((await rotate(second.id, { token: third.token, body: {} })).status).toBe(403)
    await revoke(second.id, { token: agent.token })
    expect(await codesOf(keys)).toEqual([revoked, revoked, revoked])
  })

  test('keeps the chain when the old token is purged', async () => {
    const { agent, second } = await chain()
    const next = await rotated(agent.tokenId, { token: agent.token })
    app.clock.advance(91 * day)
    await app.app.jobs.find(({ name }) => name === 'tokens.purge')?.execute(app.app.pipeline, {})
    expect(await rows('SELECT 1 FROM tokens WHERE id = $1', agent.tokenId)).toEqual([])
    await revoke(next.id, { token: next.token })
    expect(await codeOf(second.token)).toBe(revoked)
  })

  test('makes the successor known when the owner revokes a leaked key by its prefix', async () => {
    const owner = await signedIn(app)
    const leaked = await issuedAgent(app, ['read'], { owner })
    const next = await rotated(leaked.tokenId, { token: leaked.token })
    const notified = await byPrefix(leaked.token.slice(0, 11), { cookie: owner.cookie })
    expect(notified.message).toContain(`Its successor ${next.prefix} is still active.`)
    await byPrefix(next.prefix, { cookie: owner.cookie })
    expect(await codeOf(next.token)).toBe(revoked)
    expect((await byPrefix(leaked.token.slice(0, 11), { cookie: owner.cookie })).message).toBe(
      'The token was already revoked.',
    )
  })
})

describe('the issuer of a token', () => {
  test('is visible to the owner in lists, in the response that creates the token, in the audit log and in the export', async () => {
    const owner = await signedIn(app)
    const { agent, second, third } = await chain(owner)
    const own = await created({ cookie: owner.cookie, body: { agent_id: agent.id } })
    const { json } = await app.fetch('GET', '/v1/auth/tokens', { cookie: owner.cookie })
    const listed = listTokens.output.parse(json).data.map(({ id, issued_by_token_id }) => [id, issued_by_token_id])
    expect(Object.fromEntries(listed)).toEqual({
      [agent.tokenId]: null,
      [second.id]: agent.tokenId,
      [third.id]: second.id,
      [own.id]: null,
    })
    expect((await me(second.token)).json.data.token.issued_by_token_id).toBe(agent.tokenId)
    const [entry] = await rows(
      "SELECT details FROM audit_entries WHERE action = 'create' AND resource_id = $1",
      third.id,
    )
    expect(entry).toMatchObject({ details: { issued_by: second.id } })
    const { json: exported } = await app.fetch('GET', `/v1/export/${agent.id}`, { cookie: owner.cookie })
    const inExport = exported.tokens.map((one: { id: string; issued_by_token_id: string | null }) => [
      one.id,
      one.issued_by_token_id,
    ])
    expect(Object.fromEntries(inExport)).toMatchObject({ [third.id]: second.id, [own.id]: null })
  })

  test('is hidden from strangers, who cannot revoke, rotate or extend a chain', async () => {
    const { agent, second, third, keys } = await chain()
    const stranger = await issuedAgent(app, ['read', 'write'])
    for (const id of [agent.tokenId, second.id, third.id]) {
      expect((await revoke(id, { token: stranger.token })).status).toBe(404)
      expect((await rotate(id, { token: stranger.token, body: {} })).status).toBe(404)
    }
    expect((await create({ token: stranger.token, body: { agent_id: agent.id } })).status).toBe(404)
    expect((await app.fetch('GET', `/v1/auth/tokens?agent_id=${agent.id}`, { token: stranger.token })).status).toBe(404)
    expect(await codesOf(keys)).toEqual(['works', 'works', 'works'])
    // Revoking the stranger's own token ends nothing of others.
    await revoke(stranger.tokenId, { token: stranger.token })
    expect(await codesOf(keys)).toEqual(['works', 'works', 'works'])
  })
})
