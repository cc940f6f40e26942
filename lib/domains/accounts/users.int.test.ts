import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { hashPassword } from './passwords.ts'
import type { Role } from './rules.ts'

let test: TestApp
let admin: Person
beforeAll(async () => {
  test = await testApp()
  admin = await signedIn(test, 'admin')
})
afterAll(() => test.close())

const rows = async (sql: string, ...values: unknown[]) => (await test.db.pool.query(sql, values)).rows
const users = (who: { cookie?: string; token?: string }, query = '') =>
  test.fetch('GET', `/api/admin/users${query}`, who)
const act = (who: { cookie?: string; token?: string }, id: string, verb: string) =>
  test.fetch('POST', `/api/admin/users/${id}/${verb}`, who)
const giveRole = (who: { cookie?: string; token?: string }, id: string, role: Role) =>
  test.fetch('PATCH', `/api/admin/users/${id}`, { ...who, body: { role } })
const me = (who: Person) => test.fetch('GET', '/api/account', who)
const clear = () => rows("UPDATE accounts SET role = 'person' WHERE role = 'admin' AND id <> $1", admin.accountId)
const idsOf = (json: { data: { account_id: string }[] }) => json.data.map(({ account_id }) => account_id)

describe('access to user administration', () => {
  it('is limited to admins, by session or by a token with scope admin', async () => {
    const { accountId: id } = await signedIn(test)
    for (const role of ['person', 'manager', 'auditor'] as const) {
      const who = await signedIn(test, role)
      const asked = [
        users(who),
        test.fetch('GET', `/api/admin/users/${id}`, who),
        test.fetch('GET', '/api/admin/organisations', who),
        test.fetch('POST', '/api/admin/users', { ...who, body: { email: 'x@example.org', name: 'X', role: 'admin' } }),
        giveRole(who, id, 'admin'),
        ...['deactivate', 'reactivate', 'end-sessions', 'invitation', 'reset'].map((verb) => act(who, id, verb)),
      ]
      for (const { status, json } of await Promise.all(asked)) expect([status, json.code]).toEqual([403, 'forbidden'])
    }
    expect((await users({})).status).toBe(401)
    expect((await giveRole({}, id, 'admin')).status).toBe(401)
    const [plain, great] = [await issuedAgent(test, ['read', 'write']), await issuedAgent(test, ['admin'])]
    expect([(await users(plain)).status, (await users(great)).status]).toEqual([403, 200])
    // Roles and accounts are managed only by signed-in people: a token outlives the role of its creator.
    const invited = { email: 'x@example.org', name: 'X', role: 'admin' }
    for (const { status, json } of [
      await giveRole(great, id, 'admin'),
      await giveRole(great, id, 'person'),
      await act(great, id, 'deactivate'),
      await act(great, id, 'reactivate'),
      await test.fetch('POST', '/api/admin/users', { ...great, body: invited }),
    ])
      expect([status, json.code, json.detail]).toEqual([
        403,
        'forbidden',
        expect.stringMatching(/Sign in to the console as a person|requires the session of an admin/),
      ])
    expect(await rows('SELECT role::text, deactivated_at FROM accounts WHERE id = $1', id)).toEqual([
      { role: 'person', deactivated_at: null },
    ])
  })

  it('is rejected with 403 for requests from another origin', async () => {
    const { accountId: id } = await signedIn(test)
    const headers = { Origin: 'https://elsewhere.example' }
    const { status } = await test.fetch('POST', `/api/admin/users/${id}/deactivate`, { cookie: admin.cookie, headers })
    expect(status).toBe(403)
  })
})

describe('GET /api/admin/users', () => {
  it('filters by name or address, role and state, and pages through the results', async () => {
    const made = await Promise.all(Array.from({ length: 5 }, () => signedIn(test, 'manager')))
    const [one, two, three, four] = made
    if (!one || !two || !three || !four) throw new Error('five were made')
    await rows("UPDATE accounts SET name = '100%_Ada' WHERE id = $1", one.accountId)
    await rows("UPDATE accounts SET email = 'ada.lovelace@example.org' WHERE id = $1", two.accountId)
    await rows('UPDATE accounts SET password_hash = NULL WHERE id = $1', three.accountId)
    await rows('UPDATE accounts SET restricted_at = now() WHERE id = $1', four.accountId)
    await act(admin, two.accountId, 'deactivate')
    const found = async (query: string) => idsOf((await users(admin, `?role=manager&limit=100&${query}`)).json)
    expect((await found('q=ADA')).sort()).toEqual([one.accountId, two.accountId].sort())
    expect(await found('q=0%25_a')).toEqual([one.accountId])
    expect(await found('q=%25')).toEqual([one.accountId])
    expect(await found("q='; DROP TABLE accounts --")).toEqual([])
    expect(await found(`q=${one.accountId.slice(0, 12)}`)).toEqual([one.accountId])
    expect(await found('state=invited')).toEqual([three.accountId])
    expect(await found('state=deactivated')).toEqual([two.accountId])
    expect(await found('state=restricted')).toEqual([four.accountId])
    const active = await found('state=active')
    expect(active).toContain(four.accountId)
    expect(active).not.toContain(two.accountId)
    expect(active).not.toContain(three.accountId)
    await rows(
      "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
      four.accountId,
    )
    expect(await found('state=erasing')).toEqual([four.accountId])
    await rows('DELETE FROM write_fences')

    const whole = await users(admin, '?role=manager&limit=100')
    const paged: string[] = []
    let cursor = ''
    do {
      const { json } = await users(admin, `?role=manager&limit=2${cursor}`)
      expect([json.total, json.data.length <= 2]).toEqual([whole.json.total, true])
      paged.push(...idsOf(json))
      cursor = json.next_cursor === null ? '' : `&cursor=${json.next_cursor}`
    } while (cursor !== '')
    expect(paged).toEqual(idsOf(whole.json))
    expect((await users(admin, '?cursor=nonsense')).status).toBe(422)
    expect((await users(admin, '?role=emperor')).status).toBe(422)
    const [entry] = await rows(
      "SELECT details FROM audit_entries WHERE details->>'operation' = 'listUsers' AND details::text LIKE '%\"q\"%' LIMIT 1",
    )
    expect(entry.details).toMatchObject({ filters: ['q', 'role'] })
    expect(await rows("SELECT 1 FROM audit_entries WHERE details::text ILIKE '%ada%'")).toEqual([])
  })

  it('GET /api/admin/users/{id} returns sessions, agents, open requests and the last email', async () => {
    const person = await signedIn(test)
    await issuedAgent(test, ['read'], { owner: person })
    await test.fetch('POST', '/api/privacy/requests', { ...person, body: { kinds: ['access'] } })
    const { json, text } = await test.fetch('GET', `/api/admin/users/${person.accountId}`, admin)
    expect(json.data).toMatchObject({
      account_id: person.accountId,
      states: ['active'],
      sessions: 1,
      agents: 1,
      open_requests: 1,
      identities: [],
      letter: null,
      is_last_admin: false,
    })
    expect(text).not.toContain('argon2')
    expect((await test.fetch('GET', '/api/admin/users/usr_0000000000000000000000', admin)).status).toBe(404)
  })
})

describe('closing an account', () => {
  it('ends its sessions and prevents sign-in, while agents and privacy requests continue', async () => {
    const person = await signedIn(test)
    const agent = await issuedAgent(test, ['read'], { owner: person })
    expect((await me(person)).status).toBe(200)
    const closed = await act(admin, person.accountId, 'deactivate')
    expect(closed.json.data.states).toEqual(['deactivated'])
    expect((await me(person)).status).toBe(401)
    expect((await test.fetch('GET', '/v1/auth/me', agent)).status).toBe(200)
    expect((await act(admin, person.accountId, 'deactivate')).json.code).toBe('wrong_state')
    for (const verb of ['reset', 'invitation'])
      expect((await act(admin, person.accountId, verb)).json.code).toBe('wrong_state')
    // An admin can still file a request for the person: data and rights remain.
    const filed = await test.fetch('POST', '/api/admin/privacy/requests', {
      ...admin,
      body: {
        account_id: person.accountId,
        kinds: ['access'],
        received_at: test.clock.now().toISOString(),
      },
    })
    expect([filed.status, filed.text]).toEqual([201, expect.any(String)])
    expect((await act(admin, person.accountId, 'reactivate')).json.data.states).toEqual(['active'])
    // Ended sessions stay ended.
    expect((await me(person)).status).toBe(401)
    const entries = await rows(
      'SELECT details FROM audit_entries WHERE resource_id = $1 AND agent_id = $2 ORDER BY at, id',
      person.accountId,
      `user:${admin.accountId}`,
    )
    expect(entries.map(({ details }) => details.operation)).toEqual(
      expect.arrayContaining(['deactivateUser', 'reactivateUser']),
    )
  })

  it('rejects the requests of its open sessions', async () => {
    for (let round = 0; round < 4; round++) {
      const person = await signedIn(test)
      await rows('UPDATE accounts SET deactivated_at = now() WHERE id = $1', person.accountId)
      expect((await me(person)).status).toBe(401)
    }
  })

  it('POST /api/admin/users/{id}/end-sessions ends the sessions immediately', async () => {
    const person = await signedIn(test)
    const ended = await act(admin, person.accountId, 'end-sessions')
    expect([ended.status, ended.json.data, (await me(person)).status]).toEqual([200, { sessions_ended: 1 }, 401])
  })

  it('POST /api/admin/users/{id}/end-sessions rejects tokens and sessions whose password was not entered recently', async () => {
    const [locked, stale] = [await signedIn(test, 'admin'), await signedIn(test, 'admin')]
    const { token } = await issuedAgent(test, ['read', 'admin'])
    await test.db.prisma.session.updateMany({ where: { accountId: stale.accountId }, data: { passwordAt: null } })
    const path = `/api/admin/users/${locked.accountId}/end-sessions`
    for (const [by, code] of [
      [{ token }, 'forbidden'],
      [{ cookie: stale.cookie }, 'step_up_required'],
    ] as const) {
      const { status, json } = await test.fetch('POST', path, by)
      expect([status, json.code]).toEqual([403, code])
    }
    expect((await me(locked)).status).toBe(200)
  })
})

describe('the last active admin', () => {
  it('admins cannot close or demote themselves', async () => {
    const other = await signedIn(test, 'admin')
    expect((await act(other, other.accountId, 'deactivate')).status).toBe(403)
    expect((await giveRole(other, other.accountId, 'person')).status).toBe(403)
    expect((await giveRole(other, other.accountId, 'auditor')).status).toBe(403)
  })

  it('cannot be closed or demoted when the other admins are invited, closed or being erased', async () => {
    await clear()
    const [invited, closed, leaving] = [
      await signedIn(test, 'admin'),
      await signedIn(test, 'admin'),
      await signedIn(test, 'admin'),
    ]
    await rows('UPDATE accounts SET password_hash = NULL WHERE id = $1', invited.accountId)
    await rows('UPDATE accounts SET suspended_at = now() WHERE id = $1', leaving.accountId)
    expect((await act(admin, closed.accountId, 'deactivate')).status).toBe(200)
    // An admin whose erasure waits can still act, but does not count as remaining.
    for (const { status, json } of [
      await act(leaving, admin.accountId, 'deactivate'),
      await giveRole(leaving, admin.accountId, 'person'),
    ])
      expect([status, json.code]).toEqual([409, 'conflict'])
    const detail = await test.fetch('GET', `/api/admin/users/${admin.accountId}`, leaving)
    expect(detail.json.data.is_last_admin).toBe(true)
    // A linked identity is a way to sign in.
    await rows(
      "INSERT INTO account_identities (issuer, subject, account_id, linked_at) VALUES ('https://id.example', 's', $1, now())",
      invited.accountId,
    )
    await rows('UPDATE account_identities SET unlinked_at = now() WHERE account_id = $1', invited.accountId)
    expect((await giveRole(leaving, admin.accountId, 'person')).status).toBe(409)
    await rows('UPDATE account_identities SET unlinked_at = NULL WHERE account_id = $1', invited.accountId)
    expect((await giveRole(leaving, admin.accountId, 'person')).status).toBe(200)
    expect((await giveRole(leaving, admin.accountId, 'admin')).status).toBe(200)
    await rows('UPDATE accounts SET suspended_at = NULL WHERE id = $1', leaving.accountId)
  })

  it('one admin remains when the last two close or demote each other concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      await clear()
      const other = await signedIn(test, 'admin')
      const both =
        round % 2 === 0
          ? [act(admin, other.accountId, 'deactivate'), giveRole(other, admin.accountId, 'person')]
          : [giveRole(admin, other.accountId, 'auditor'), act(other, admin.accountId, 'deactivate')]
      const statuses = (await Promise.all(both)).map(({ status }) => status).sort()
      const [left] = await rows(
        "SELECT count(*)::int AS n FROM accounts WHERE role = 'admin' AND deactivated_at IS NULL",
      )
      expect([left.n >= 1, statuses[0]]).toEqual([true, 200])
      await rows("UPDATE accounts SET role = 'admin', deactivated_at = NULL WHERE id = $1", admin.accountId)
      await rows('UPDATE sessions SET revoked_at = NULL WHERE account_id = $1', admin.accountId)
    }
  })

  it('tokens with scope admin are revoked when their owner loses the role or the account is closed', async () => {
    for (const [end, reason] of [
      [(id: string) => giveRole(admin, id, 'manager'), 'owner_role'],
      [(id: string) => act(admin, id, 'deactivate'), 'owner_closed'],
    ] as const) {
      const other = await signedIn(test, 'admin')
      const [great, plain, theirs] = [
        await issuedAgent(test, ['read', 'admin'], { owner: other }),
        await issuedAgent(test, ['read', 'write'], { owner: other }),
        await issuedAgent(test, ['admin']),
      ]
      expect((await users(great)).status).toBe(200)
      expect((await end(other.accountId)).status).toBe(200)
      const after = await users(great)
      expect([after.status, after.json.code]).toEqual([401, 'token_revoked'])
      expect(await rows('SELECT revoked_reason FROM tokens WHERE id = $1', great.tokenId)).toEqual([
        { revoked_reason: reason },
      ])
      expect([(await test.fetch('GET', '/v1/auth/me', plain)).status, (await users(theirs)).status]).toEqual([200, 200])
      const [entry] = await rows(
        "SELECT agent_id, details FROM audit_entries WHERE resource_id = $1 AND details ? 'reason'",
        great.tokenId,
      )
      expect(entry).toMatchObject({ agent_id: `user:${admin.accountId}`, details: { agent_id: great.id, reason } })
    }
  })

  it('tokens with scope admin that an admin created for other agents are revoked with the role, and no others', async () => {
    const other = await signedIn(test, 'admin')
    const [theirs, untouched] = [await issuedAgent(test, ['read', 'write']), await issuedAgent(test, ['admin'])]
    const tokenOf = async (path: string, who: Person, body: object) => {
      const { status, json } = await test.fetch('POST', path, { ...who, body })
      expect(status).toBe(201)
      return { token: json.data.api_key, id: json.data.token_id ?? json.data.id }
    }
    const registered = await tokenOf('/v1/auth/register', other, { scopes: ['read', 'admin'] })
    const created = await tokenOf('/v1/auth/tokens', other, { agent_id: theirs.id, scopes: ['admin'] })
    const byAnother = await tokenOf('/v1/auth/tokens', admin, { agent_id: theirs.id, scopes: ['admin'] })
    const renewed = await tokenOf(`/v1/auth/tokens/${byAnother.id}/rotate`, other, {})
    for (const one of [registered, created, renewed]) expect((await users(one)).status).toBe(200)
    const { json } = await giveRole(admin, other.accountId, 'person')
    expect(json.data.role).toBe('person')
    for (const one of [registered, created, renewed]) {
      const { status, json } = await users(one)
      expect([status, json.code]).toEqual([401, 'token_revoked'])
    }
    expect([(await users(untouched)).status, (await test.fetch('GET', '/v1/auth/me', theirs)).status]).toEqual([
      200, 200,
    ])
  })

  it('an admin who loses the role during a request creates no token with scope admin', async () => {
    const other = await signedIn(test, 'admin')
    const lock = await test.db.pool.connect()
    await lock.query('BEGIN')
    await lock.query('SELECT 1 FROM sessions WHERE account_id = $1 FOR NO KEY UPDATE', [other.accountId])
    const registering = test.fetch('POST', '/v1/auth/register', { ...other, body: { scopes: ['admin'] } })
    const isWaiting = async () =>
      (
        await rows(
          "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock' AND query LIKE '%FROM sessions%'",
        )
      ).length > 0
    await expect.poll(isWaiting, { timeout: 30_000 }).toBe(true)
    await lock.query("UPDATE accounts SET role = 'person' WHERE id = $1", [other.accountId])
    await lock.query('COMMIT')
    lock.release()
    const { status, json } = await registering
    expect([status, json.code]).toEqual([403, 'forbidden'])
  })

  it('is determined without waiting for locks', async () => {
    await test.db.transaction(async (tx) => {
      await tx.$queryRaw`SELECT 1 FROM accounts WHERE role = 'admin' FOR UPDATE`
      const { status } = await test.fetch('GET', `/api/admin/users/${admin.accountId}`, admin)
      expect(status).toBe(200)
    })
  })

  it('a changed role applies from the next request', async () => {
    const person = await signedIn(test)
    expect((await users(person)).status).toBe(403)
    await giveRole(admin, person.accountId, 'admin')
    expect((await users(person)).status).toBe(200)
    await giveRole(admin, person.accountId, 'person')
    expect((await users(person)).status).toBe(403)
  })

  it('an account that is being erased rejects changes with fenced', async () => {
    const person = await signedIn(test)
    await rows(
      "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
      person.accountId,
    )
    for (const { status, json } of [
      await giveRole(admin, person.accountId, 'manager'),
      await act(admin, person.accountId, 'deactivate'),
      await act(admin, person.accountId, 'reset'),
    ])
      expect([status, json.code]).toEqual([409, 'fenced'])
  })
})

describe("one's own account", () => {
  it('an account without a password reports that, and rejects password changes and proofs', async () => {
    const person = await signedIn(test)
    expect((await me(person)).json.data.has_password).toBe(true)
    await rows('UPDATE accounts SET password_hash = NULL WHERE id = $1', person.accountId)
    expect((await me(person)).json.data.has_password).toBe(false)
    const changed = await test.fetch('POST', '/api/account/password', {
      ...person,
      body: { current_password: 'anything at all', new_password: 'three unrelated quiet words' },
    })
    expect([changed.status, changed.json.code]).toEqual([409, 'wrong_state'])
    const filed = await test.fetch('POST', '/api/privacy/requests', { ...person, body: { kinds: ['access'] } })
    expect([filed.status, filed.json.data.state]).toEqual([201, 'received'])
    const proven = await test.fetch('POST', '/api/privacy/requests', {
      ...person,
      body: { kinds: ['restriction'], password: 'anything at all' },
    })
    expect([proven.status, proven.json.issues?.[0].path]).toEqual([422, ['password']])
    const visit = { address: '192.0.2.9', limitKey: '192.0.2.9', userAgent: '', locale: 'en' } as const
    const [{ email }] = await rows('SELECT email FROM accounts WHERE id = $1', person.accountId)
    for (const password of ['', 'anything at all'])
      expect(await test.app.accounts.signIn({ email, password }, visit)).toBeUndefined()
  })

  it('ends all its other sessions', async () => {
    const person = await signedIn(test)
    const other = await signedIn(test)
    await rows('UPDATE sessions SET account_id = $1 WHERE account_id = $2', person.accountId, other.accountId)
    const ended = await test.fetch('DELETE', '/api/sessions', person)
    expect([ended.status, ended.json.data]).toEqual([200, { sessions_ended: 1 }])
    expect([(await me(person)).status, (await me(other)).status]).toEqual([200, 401])
  })

  it('unlinks an identity with the password, and returns 404 for an identity of another account', async () => {
    const [person, other] = [await signedIn(test), await signedIn(test)]
    for (const { accountId } of [person, other])
      await rows(
        "INSERT INTO account_identities (issuer, subject, account_id, linked_at) VALUES ('https://id.example', $1, $1, now())",
        accountId,
      )
    const list = async (who: Person) => (await test.fetch('GET', '/api/account/identities', who)).json.data
    const [{ identity_id: id, issuer }] = await list(person)
    expect([issuer, id.includes(person.accountId)]).toEqual(['https://id.example', false])
    const unlink = (who: Person, identity: string, password = 'my own quiet words') =>
      test.fetch('POST', `/api/account/identities/${identity}/unlink`, { ...who, body: { password } })
    const passwordHash = await hashPassword('my own quiet words')
    await rows('UPDATE accounts SET password_hash = $2 WHERE id = $1', person.accountId, passwordHash)
    expect((await unlink(other, id)).status).toBe(404)
    await rows('UPDATE accounts SET password_hash = NULL WHERE id = $1', other.accountId)
    const [{ identity_id: theirs }] = await list(other)
    expect((await unlink(other, theirs)).json.code).toBe('wrong_state')
    // A person at an open browser must not lock the owner out.
    const guessed = await unlink(person, id, 'some other words')
    expect([guessed.status, guessed.json.issues?.[0].path, (await list(person)).length]).toEqual([422, ['password'], 1])
    const elsewhere = await signedIn(test)
    await rows('UPDATE sessions SET account_id = $1 WHERE account_id = $2', person.accountId, elsewhere.accountId)
    const unlinked = await unlink(person, id)
    expect([unlinked.status, unlinked.json.data]).toEqual([200, { sessions_ended: 1 }])
    expect([(await me(person)).status, (await me(elsewhere)).status]).toEqual([200, 401])
    expect([await list(person), (await list(other)).length]).toEqual([[], 1])
    expect((await unlink(person, id)).status).toBe(404)
    const seen = await test.fetch('GET', `/api/admin/users/${person.accountId}`, admin)
    expect(seen.json.data.identities).toEqual([])
  })
})
