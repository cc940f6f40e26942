import { createHash } from 'node:crypto'
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { encode } from 'next-auth/jwt'
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest'
import { nextAuthOptions } from '#lib/access/next-auth.ts'
import { createSessions, sessionSecret } from '#lib/access/sessions.ts'
import { auditLog } from '#lib/domains/audit/log.ts'
import { recordDeletion } from '#lib/domains/erasure/writes.ts'
import { type Actor, type Context, movableClock, type PipelinePorts } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { limitKeyOf } from '#lib/kernel/network-keys.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { UseCase } from '#lib/kernel/use-case.ts'
import { openMail } from '#lib/stores/mail/mail.ts'
import { type Database, openDatabase } from '#lib/stores/postgres/database.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { requireOpenSession } from './account-status.ts'
import { unsubscribeLinks } from './email-choices/service.ts'
import { oneTimePassword, type Tries } from './passwords.ts'
import { createChallenges } from './second-factors/passkeys.ts'
import { accountsJobs, accountsService, createAccount } from './service.ts'
import type { OpenSession } from './sign-in.ts'
import { createOrganisation, dropOrganisationIfEmpty } from './writes.ts'

const secret = 'only for this test, thirty-two or more'
const clock = movableClock(new Date())
const email = 'ada@example.org'
const url = 'https://registry.example'
const visit = {
  address: '192.0.2.1',
  limitKey: '192.0.2.1',
  userAgent: 'Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Firefox/140.0',
  locale: 'zh',
} as const

/** Counts in windows of one minute, like the rate limiter. */
function countingTries(): Tries & { reset(): void } {
  let counts = new Map<string, number>()
  return {
    reset() {
      counts = new Map()
    },
    async consume(key, limit) {
      const used = (counts.get(key) ?? 0) + 1
      counts.set(key, used)
      return { allowed: used <= limit, resetAt: new Date(Date.now() + 60_000) }
    },
  }
}
const tries = countingTries()
const dataDir = mkdtempSync(join(tmpdir(), 'kp-accounts-'))

let database: TestDatabase
let db: Database
let pipeline: PipelinePorts
let accounts: ReturnType<typeof accountsService>
let sessions: ReturnType<typeof createSessions>
const optionalEmails = { sendAtOnce: async () => false }
const factorPolicy = async () => ({ required_of: 'nobody' as const, from: null })
let password: string
let accountId: string

beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.appUrl)
  pipeline = {
    clock,
    regions: { choosable: ['eu'], regionsThatBlock: () => [] },
    transaction: db.transaction,
    ...auditLog(db),
    requireOpenSession,
    requirePresent: async () => {},
    recordDeletion,
    idempotency: {
      claim: async () => undefined,
      complete: async () => {},
      renew: async () => {},
      release: async () => {},
    },
  }
  accounts = accountsService(db, {
    pipeline,
    tries,
    markKey: () => Buffer.from(secret),
    graceSignIn: 'keep',
    unsuppress: async () => {},
    challenges: createChallenges(() => Buffer.from(secret)),
    totpKey: () => Buffer.alloc(32, 7),
    party: { origin: url },
    unsubscribeLinks: unsubscribeLinks(() => Buffer.from(secret)),
    factorPolicy: { read: factorPolicy, recent: factorPolicy, store: async () => {} },
    networkOf: limitKeyOf,
    requireApproval: async () => {},
    destroyTelemetryKeys: async () => {},
    requireOwner: async () => {},
    revokeAdminTokens: async () => 0,
  })
  sessions = createSessions({ db, clock, secret, origin: 'http://localhost:3000', factorPolicy })
})
afterAll(async () => {
  await db?.close()
  await database?.drop()
  rmSync(dataDir, { recursive: true })
})
beforeEach(async () => {
  tries.reset()
  await db.pool.query('DELETE FROM sessions')
  await db.pool.query('DELETE FROM accounts')
  password = oneTimePassword()
  accountId = await db.transaction(async (tx) => {
    const organisationId = await createOrganisation(tx, 'Example', clock.now())
    const account = { organisationId, email: 'Ada@Example.org', name: 'Ada', role: 'admin', password } as const
    return createAccount(tx, { ...account, mustChangePassword: false, now: clock.now() })
  })
})

const from = (address: string) => ({ ...visit, address, limitKey: limitKeyOf(address) })
const upkeep = async () => {
  const mail = openMail({ from: 'KnowledgePulse <noreply@registry.example>', dataDir })
  for (const job of accountsJobs(db, mail, {
    publicUrl: url,
    emails: optionalEmails,
  }).filter(({ cron }) => cron))
    await job.execute(pipeline, {})
}
const open = async (word = password): Promise<OpenSession> => {
  const opened = await accounts.signIn({ email, password: word }, visit)
  if (!opened) throw new Error('not signed in')
  return opened
}
const cookieOf = async (sessionId: string, key = sessionSecret(secret)): Promise<string> =>
  `locale=en; next-auth.session-token=${await encode({ token: { sid: sessionId }, secret: key, maxAge: 600 })}`
const actorOf = async (session: OpenSession): Promise<Actor> => {
  const caller = await sessions.callerOfSession(session.sessionId)
  if (!caller) throw new Error('the session is over')
  return caller.actor
}
const run = async (
  useCase: UseCase,
  session: OpenSession,
  raw: { params?: Record<string, string>; body?: unknown } = {},
) => {
  const ctx: Context = {
    actor: await actorOf(session),
    ip: visit.address,
    requestId: 'req_1',
    pipeline,
    now: clock.now(),
  }
  const { body } = await useCase.execute(ctx, { params: raw.params ?? {}, query: {}, headers: {}, body: raw.body })
  return body
}
const refused = async (work: Promise<unknown>): Promise<Problem> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!Problem.is(error)) throw new Error(`expected a refusal, not ${String(error)}`)
  return error
}
const entriesFor = async (resourceId: string) =>
  (
    await db.pool.query(
      'SELECT action, agent_id, resource_type, details FROM audit_entries WHERE resource_id = $1 ORDER BY at, id',
      [resourceId],
    )
  ).rows

describe('sign-in', () => {
  test('opens a session of eight hours and writes an audit entry', async () => {
    const opened = await open()
    expect(opened.expiresAt.getTime() - clock.now().getTime()).toBe(8 * 3_600_000)
    expect(await entriesFor(opened.sessionId)).toEqual([
      { action: 'update', agent_id: `user:${accountId}`, resource_type: 'session', details: { operation: 'signIn' } },
    ])
    const { rows } = await db.pool.query(
      'SELECT user_agent, locale FROM sessions s JOIN accounts a ON a.id = s.account_id',
    )
    expect(rows).toEqual([{ user_agent: 'Firefox on Linux', locale: 'zh' }])
  })

  test('accepts the address in any case, and the password only in the exact case', async () => {
    expect(await accounts.signIn({ email: ' ADA@example.ORG ', password }, visit)).toBeDefined()
    expect(await accounts.signIn({ email, password: password.toUpperCase() }, visit)).toBeUndefined()
    expect(await accounts.signIn({ email, password: '' }, visit)).toBeUndefined()
  })

  test('returns the same result in similar time for an unknown address and a wrong password', async () => {
    const timed = async (address: string) => {
      const start = performance.now()
      const answer = await accounts.verifyPassword(address, 'a wrong password')
      return { answer, took: performance.now() - start }
    }
    await timed(email)
    const known: number[] = []
    const unknown: number[] = []
    for (let round = 0; round < 8; round++) {
      const one = await timed(email)
      const other = await timed('nobody@example.org')
      expect(one.answer).toBe(other.answer)
      known.push(one.took)
      unknown.push(other.took)
    }
    // The time is spent on the hash: without it, an unknown address would take a twentieth of the time.
    expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 8)
  })

  test('is rejected after five attempts a minute, even with the right password, alike for known and unknown addresses', async () => {
    const refusals: unknown[] = []
    for (const address of [email, 'nobody@example.org']) {
      for (let guess = 0; guess < 5; guess++)
        expect(await accounts.signIn({ email: address, password: 'a wrong password' }, visit)).toBeUndefined()
      const problem = await refused(accounts.signIn({ email: address, password }, visit))
      refusals.push({ ...problem.toJSON(), ...problem.headers })
    }
    expect(refusals[0]).toMatchObject({ code: 'rate_limited', 'Retry-After': '60' })
    expect(refusals[1]).toEqual(refusals[0])
    expect(await accounts.signIn({ email, password }, from('192.0.2.2'))).toBeDefined()
  })

  test('returns Retry-After in system time when the business clock is years ahead', async () => {
    clock.advance(2 * 365 * 86_400_000)
    for (let guess = 0; guess < 5; guess++) await accounts.signIn({ email, password: 'x' }, visit)
    const { headers } = await refused(accounts.signIn({ email, password }, visit))
    expect(Number(headers['Retry-After'])).toBeGreaterThan(1)
  })

  test('is rejected for a network that tries twenty accounts a minute', async () => {
    for (let guess = 0; guess < 20; guess++)
      await accounts.signIn({ email: `${guess}@example.org`, password: 'x' }, visit)
    expect(await refused(accounts.signIn({ email, password }, visit))).toMatchObject({ code: 'rate_limited' })
  })

  test('works from other networks while one subnet has used up its attempts from any of its addresses', async () => {
    for (const address of ['2001:db8:0:1::', '192.0.2.66']) {
      const reported = await Promise.all(
        Array.from({ length: 40 }, (_, host) => {
          const one = address.includes(':') ? `${address}${host + 1}` : address
          return accounts.signIn({ email, password: 'a guess' }, from(one)).then(
            () => 'wrong',
            () => 'refused',
          )
        }),
      )
      expect(reported.filter((one) => one === 'wrong')).toHaveLength(5)
    }
    expect(await accounts.signIn({ email, password }, from('2001:db8:0:2::1'))).toBeDefined()
    expect(await accounts.signIn({ email, password }, from('198.51.100.7'))).toBeDefined()
  })

  describe("while guesses from many networks have used up the account's attempts", () => {
    /** Makes forty guesses from ten networks. */
    const flood = (address: string) =>
      Promise.all(
        Array.from({ length: 40 }, (_, guess) =>
          accounts
            .signIn({ email: address, password: 'a guess' }, from(`203.0.113.${guess % 10}`))
            .catch(() => undefined),
        ),
      )

    test('works from networks of successful sign-ins within the last 30 days, and from no others', async () => {
      const home = from('2001:db8:7:7::1')
      expect(await accounts.signIn({ email, password }, home)).toBeDefined()
      clock.advance(30 * 86_400_000 - 1)
      tries.reset()
      await flood(email)
      const elsewhere = await refused(accounts.signIn({ email, password }, from('198.51.100.7')))
      expect(elsewhere).toMatchObject({ code: 'rate_limited', headers: { 'Retry-After': '60' } })
      expect(await accounts.signIn({ email, password }, from('2001:db8:7:7::2'))).toBeDefined()
    })

    test('is rejected from every network 30 days after the last sign-in, and the stored network is deleted', async () => {
      await open()
      clock.advance(30 * 86_400_000 + 1)
      await flood(email)
      expect(await refused(accounts.signIn({ email, password }, visit))).toMatchObject({ code: 'rate_limited' })
      await upkeep()
      expect((await db.pool.query('SELECT * FROM known_sign_ins')).rows).toEqual([])
    })

    test('returns the same error for a wrong password everywhere, for known and unknown addresses', async () => {
      await open()
      tries.reset()
      const reported = new Set<string>()
      for (const address of [email, 'nobody@example.org']) {
        await flood(address)
        for (const place of ['192.0.2.1', '198.51.100.7']) {
          const problem = await refused(accounts.signIn({ email: address, password: 'a guess' }, from(place)))
          reported.add(JSON.stringify({ ...problem.toJSON(), ...problem.headers }))
        }
      }
      expect(reported.size).toBe(1)
    })
  })

  test('stores the network of a sign-in only as a keyed hash', async () => {
    await open()
    clock.advance(1_000)
    await open()
    const { rows } = await db.pool.query('SELECT mark, account_id, last_at FROM known_sign_ins')
    expect(rows).toEqual([{ mark: expect.any(Buffer), account_id: accountId, last_at: clock.now() }])
    const plain = createHash('sha256').update(`${email}\0${visit.limitKey}`).digest()
    expect([rows[0].mark.length, rows[0].mark.equals(plain)]).toEqual([32, false])
  })

  test('counts rejections by code, and limits by network instead of address', async () => {
    const counted: string[] = []
    let address = ''
    const { providers } = nextAuthOptions({
      accounts,
      secret,
      publicUrl: url,
      address: () => address,
      header: () => '',
      refused: (code) => counted.push(code),
      reportFault: (error) => {
        throw error
      },
    })
    const [provider] = providers
    if (provider?.type !== 'credentials') throw new Error('no sign-in with a password')
    const authorize = async (word: string, host: number) => {
      address = `2001:db8:0:1::${host}`
      return provider.authorize({ email, password: word }, { headers: {} })
    }
    expect(await authorize(password, 1)).toMatchObject({ id: accountId })
    for (let guess = 2; guess <= 5; guess++) expect(await authorize('a guess', guess)).toBeNull()
    await expect(authorize(password, 6)).rejects.toThrow('rate_limited:60')
    expect(counted).toEqual([...Array<string>(4).fill('sign_in_failed'), 'rate_limited'])
    const { rows } = await db.pool.query(
      "SELECT ip FROM audit_entries WHERE details->>'operation' = 'signIn' ORDER BY at DESC LIMIT 1",
    )
    expect(rows).toEqual([{ ip: '2001:db8:0:1::1' }])
  })
})

describe('a session', () => {
  test('is found by its cookie, also when the cookie is split', async () => {
    const { sessionId } = await open()
    const cookie = await cookieOf(sessionId)
    expect((await sessions.caller(cookie))?.actor).toMatchObject({
      kind: 'person',
      id: `user:${accountId}`,
      sessionId,
      isAdmin: true,
    })
    const value = cookie.split('session-token=')[1] ?? ''
    const pieces = `next-auth.session-token.1=${value.slice(60)}; next-auth.session-token.0=${value.slice(0, 60)}`
    expect((await sessions.caller(pieces))?.actor.sessionId).toBe(sessionId)
    const withPrefix = (prefix: string) => cookie.replace('next-auth.', `${prefix}next-auth.`)
    for (const prefix of ['__Secure-', '__Host-']) expect(await sessions.caller(withPrefix(prefix))).toBeUndefined()
    // Under https, cookies without the __Host- prefix are ignored, because another host of the domain, or http, can set them.
    const secure = createSessions({ db, clock, secret, origin: 'https://registry.example.org', factorPolicy })
    for (const prefix of ['', '__Secure-']) expect(await secure.caller(withPrefix(prefix))).toBeUndefined()
    expect((await secure.caller(withPrefix('__Host-')))?.actor.sessionId).toBe(sessionId)
  })

  test('is not found for a missing, modified, foreign or expired cookie', async () => {
    const { sessionId } = await open()
    const cookie = await cookieOf(sessionId)
    const old = await encode({ token: { sid: sessionId }, secret: sessionSecret(secret), maxAge: -60 })
    const last = cookie.at(-2)
    for (const wrong of [
      '',
      'theme=dark',
      `${cookie.slice(0, -2)}${last === 'A' ? 'B' : 'A'}${cookie.at(-1)}`,
      'next-auth.session-token=nonsense',
      `next-auth.session-token=${sessionId}`,
      `next-auth.session-token=${old}`,
      await cookieOf(sessionId, sessionSecret('another installation')),
    ])
      expect(await sessions.caller(wrong)).toBeUndefined()
    expect(await sessions.caller(cookie)).toBeDefined()
  })

  test('expires after eight hours', async () => {
    const { sessionId } = await open()
    clock.advance(8 * 3_600_000 - 1)
    expect(await sessions.callerOfSession(sessionId)).toBeDefined()
    clock.advance(1)
    expect(await sessions.callerOfSession(sessionId)).toBeUndefined()
  })

  test('records when it was last seen, to the minute', async () => {
    const { sessionId } = await open()
    const seen = async () =>
      (await db.pool.query('SELECT last_seen_at FROM sessions WHERE id = $1', [sessionId])).rows[0].last_seen_at
    const first = await seen()
    clock.advance(59_000)
    await sessions.callerOfSession(sessionId)
    expect(await seen()).toEqual(first)
    clock.advance(1_000)
    await sessions.callerOfSession(sessionId)
    expect(await seen()).toEqual(clock.now())
  })

  test('lists the agents that the person owns', async () => {
    const session = await open()
    await db.pool.query(
      `INSERT INTO agents (id, organisation_id, owner_id, lawful_basis, notice_version, created_at)
       SELECT 'agent_1', organisation_id, id, 'consent', '1', now() FROM accounts`,
    )
    expect((await actorOf(session)).agents).toEqual(['agent_1'])
    await db.pool.query('DELETE FROM agents')
  })

  test('is rejected after sign-out, and a second sign-out changes nothing', async () => {
    const { sessionId } = await open()
    const cookie = await cookieOf(sessionId)
    await accounts.closeSession(sessionId, visit.address)
    await accounts.closeSession(sessionId, visit.address)
    expect(await sessions.caller(cookie)).toBeUndefined()
    expect((await entriesFor(sessionId)).map(({ details }) => details.operation)).toEqual(['signIn', 'signOut'])
  })

  test('is listed and revoked by its owner, and the current one is marked', async () => {
    const other = await open()
    clock.advance(1000)
    const mine = await open()
    expect(await run(accounts.sessions, mine)).toMatchObject({
      total: 2,
      data: [
        { session_id: mine.sessionId, is_current: true, browser: 'Firefox on Linux' },
        { session_id: other.sessionId, is_current: false },
      ],
    })
    await run(accounts.revokeSession, mine, { params: { id: other.sessionId } })
    expect(await sessions.callerOfSession(other.sessionId)).toBeUndefined()
    expect(await run(accounts.sessions, mine)).toMatchObject({ total: 1 })
    expect(await refused(run(accounts.revokeSession, mine, { params: { id: other.sessionId } }))).toMatchObject({
      code: 'not_found',
    })
  })

  test('a session of another person returns the same not_found as an unknown session', async () => {
    const mine = await open()
    const strangeId = newId('ses')
    const strange = await db.transaction(async (tx) => {
      const organisationId = await createOrganisation(tx, 'Other', clock.now())
      const id = await createAccount(tx, {
        organisationId,
        email: 'eve@example.net',
        name: 'Eve',
        role: 'admin',
        password,
        mustChangePassword: false,
        now: clock.now(),
      })
      await tx.session.create({
        data: {
          id: strangeId,
          accountId: id,
          createdAt: clock.now(),
          lastSeenAt: clock.now(),
          expiresAt: new Date(clock.now().getTime() + 1000),
        },
      })
      return strangeId
    })
    const reported = await refused(run(accounts.revokeSession, mine, { params: { id: strange } }))
    expect(reported.toJSON()).toEqual(
      (await refused(run(accounts.revokeSession, mine, { params: { id: newId('ses') } }))).toJSON(),
    )
    expect(await run(accounts.sessions, mine)).toMatchObject({ total: 1 })
    expect(await sessions.callerOfSession(strange)).toBeDefined()
  })

  test('is deleted a day after its end', async () => {
    const ended = await open()
    await accounts.closeSession(ended.sessionId, visit.address)
    clock.advance(24 * 3_600_000 + 1)
    const young = await open()
    await upkeep()
    expect((await db.pool.query('SELECT id FROM sessions')).rows).toEqual([{ id: young.sessionId }])
  })
})

describe('changing the password', () => {
  const next = 'a quiet harbour at noon'

  test('ends all other sessions and keeps the current one', async () => {
    const other = await open()
    const mine = await open()
    const answer = await run(accounts.changePassword, mine, {
      body: { current_password: password, new_password: next },
    })
    expect(answer).toEqual({ data: { sessions_ended: 1 } })
    expect(await sessions.callerOfSession(other.sessionId)).toBeUndefined()
    expect(await sessions.callerOfSession(mine.sessionId)).toBeDefined()
    expect(await accounts.verifyPassword(email, password)).toBeUndefined()
    expect(await accounts.verifyPassword(email, next)).toBeDefined()
    const [entry] = await entriesFor(accountId)
    expect(entry).toMatchObject({ action: 'update', details: { changed: ['password'], sessions_ended: 1 } })
    expect(JSON.stringify(entry)).not.toContain(next)
  })

  test.each([
    ['current_password', { current_password: 'not the one', new_password: next }],
    ['new_password', { current_password: '', new_password: 'short' }],
    ['new_password', { current_password: '', new_password: 'x'.repeat(201) }],
    ['new_password', { current_password: '', new_password: 'ADA@example.org' }],
    ['more', { current_password: '', new_password: next, more: true }],
  ])('is rejected with the field %s and changes nothing when the input is invalid', async (field, body) => {
    const mine = await open()
    const other = await open()
    const given = { ...body, current_password: body.current_password || password }
    const problem = await refused(run(accounts.changePassword, mine, { body: given }))
    expect(problem.code).toBe('invalid')
    expect(problem.issues?.map(({ path }) => path[0])).toEqual([field])
    expect(await accounts.verifyPassword(email, password)).toBeDefined()
    expect(await sessions.callerOfSession(other.sessionId)).toBeDefined()
  })

  test('is rate limited after five wrong current passwords', async () => {
    const mine = await open()
    const body = { current_password: 'not the one', new_password: next }
    for (let guess = 0; guess < 5; guess++)
      expect(await refused(run(accounts.changePassword, mine, { body }))).toMatchObject({ code: 'invalid' })
    expect(
      await refused(run(accounts.changePassword, mine, { body: { ...body, current_password: password } })),
    ).toMatchObject({ code: 'rate_limited' })
  })

  test('prevents a session for a concurrent sign-in with the old password', async () => {
    const mine = await open()
    const verified = await accounts.verifyPassword(email, password)
    if (!verified) throw new Error('not verified')
    await run(accounts.changePassword, mine, { body: { current_password: password, new_password: next } })
    expect(await accounts.openSession(verified, visit)).toBeUndefined()
  })
})

describe('resetPassword', () => {
  test('sets a one-time password, ends all sessions, and limits the account to changing the password', async () => {
    const before = await open()
    const reset = await accounts.resetPassword('ADA@example.org')
    expect(reset).toMatchObject({ accountId, sessionsEnded: 1 })
    expect(await sessions.callerOfSession(before.sessionId)).toBeUndefined()
    expect(await accounts.verifyPassword(email, password)).toBeUndefined()

    const session = await open(reset.password)
    expect(await run(accounts.me, session)).toMatchObject({
      data: { must_change_password: true, email, role: 'admin' },
    })
    const confined = await actorOf(session)
    expect([confined.can('accounts:person'), confined.can('public')]).toEqual([true, true])
    // The account is an admin's, but until the change it has no rights beyond its own account.
    for (const other of ['accounts:admin', 'members:person', 'tokens:admin', 'audit:self', 'agents:person'] as const)
      expect([other, confined.can(other)]).toEqual([other, false])
    // Registration is open to everybody, and gives an admin more.
    expect(confined.isAdmin).toBe(false)

    await run(accounts.changePassword, session, {
      body: { current_password: reset.password, new_password: 'a quiet harbour at noon' },
    })
    expect((await actorOf(session)).can('tokens:admin')).toBe(true)
    expect((await entriesFor(accountId)).map(({ agent_id }) => agent_id)).toEqual([
      'system:admin.reset-password',
      `user:${accountId}`,
    ])
  })

  test('rejects an unknown address with not_found', async () =>
    expect(await refused(accounts.resetPassword('nobody@example.org'))).toMatchObject({ code: 'not_found' }))
})

describe('a notice', () => {
  const emails = () => (existsSync(join(dataDir, 'mail')) ? readdirSync(join(dataDir, 'mail')) : [])
  const waiting = async () =>
    (
      await db.pool.query(
        `SELECT j.id, j.payload FROM graphile_worker._private_jobs j JOIN graphile_worker._private_tasks t ON t.id = j.task_id WHERE t.identifier = 'accounts.notify'`,
      )
    ).rows
  const deliver = async () => {
    const job = accountsJobs(db, openMail({ from: 'KnowledgePulse <noreply@registry.example>', dataDir }), {
      publicUrl: url,
      emails: optionalEmails,
    }).find(({ name }) => name === 'accounts.notify')
    for (const { payload } of await waiting()) await job?.execute(pipeline, payload)
    await db.pool.query('DELETE FROM graphile_worker._private_jobs')
  }

  test('contains only ids in the queue, and is written in the language of the person', async () => {
    await db.pool.query('DELETE FROM graphile_worker._private_jobs')
    const { password: once } = await accounts.resetPassword(email)
    await db.transaction((tx) => accounts.notify(tx, { kind: 'token-revoked', accountId, keyPrefix: 'kp_AbCdEfGh' }))
    const payloads = JSON.stringify(await waiting())
    expect(payloads).not.toContain(email)
    expect(payloads).not.toContain(once)
    await db.pool.query("UPDATE accounts SET locale = 'zh'")
    await deliver()
    expect(emails()).toHaveLength(2)
    const texts = emails().map((name) => readFileSync(join(dataDir, 'mail', name), 'utf8'))
    for (const text of texts) {
      expect(text).toContain('To: ada@example.org')
      expect(text).toContain('lang=3D"zh"')
      expect(text).not.toContain(once)
    }
  })

  test('a notice to a deleted person is dropped', async () => {
    const before = emails().length
    await db.transaction((tx) =>
      accounts.notify(tx, { kind: 'token-revoked', accountId: 'usr_gone', keyPrefix: 'kp_AbCdEfGh' }),
    )
    await deliver()
    expect(emails()).toHaveLength(before)
  })
})

test('dropOrganisationIfEmpty deletes an organization only when it has no members', async () => {
  const organisationId = await db.transaction((tx) => createOrganisation(tx, 'Empty', clock.now()))
  const exists = async (id: string) => (await db.prisma.organisation.count({ where: { id } })) === 1
  await db.transaction((tx) => dropOrganisationIfEmpty(tx, organisationId))
  expect(await exists(organisationId)).toBe(false)
  const { organisationId: inUse } = await db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
  await db.transaction((tx) => dropOrganisationIfEmpty(tx, inUse))
  expect(await exists(inUse)).toBe(true)
})

test('createAccount rejects an existing address in another case with conflict', async () => {
  const again = db.transaction(async (tx) => {
    const organisationId = await createOrganisation(tx, 'Another', clock.now())
    return createAccount(tx, {
      organisationId,
      email: 'ADA@EXAMPLE.ORG',
      name: 'Ada',
      role: 'admin',
      password,
      mustChangePassword: false,
      now: clock.now(),
    })
  })
  expect(await refused(again)).toMatchObject({ code: 'conflict' })
})

test('a password is stored only as an Argon2id hash', async () => {
  const { rows } = await db.pool.query('SELECT * FROM accounts')
  expect(rows[0].password_hash).toMatch(/^\$argon2id\$v=19\$m=19456,t=2,p=1\$/)
  expect(JSON.stringify(rows)).not.toContain(password)
})
