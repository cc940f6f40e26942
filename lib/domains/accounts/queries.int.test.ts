import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { anonymousCaller } from '#lib/access/access.ts'
import { nextAuthOptions } from '#lib/access/next-auth.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { operatorAccounts } from '#lib/operator/accounts.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { signedIn } from '#lib/testing/people.ts'
import { openTestSession } from '#lib/testing/subjects.ts'
import { raiseAccountFence } from './personal-data.ts'
import type { Role } from './rules.ts'
import { createAccount } from './service.ts'
import { createOrganisation } from './writes.ts'

let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app?.close())

const rows = async (sql: string, ...values: unknown[]): Promise<Record<string, unknown>[]> =>
  (await app.db.pool.query(sql, values)).rows
const within: TestApp['db']['transaction'] = (run) => app.db.transaction(run)
const refused = async (work: Promise<unknown>): Promise<Problem> => {
  const error = await work.then(
    () => undefined,
    (reason: unknown) => reason,
  )
  if (!Problem.is(error)) throw new Error(`expected a refusal, not ${String(error)}`)
  return error
}
const password = 'a quiet harbour at noon'
async function account(on = app, role: Role = 'person') {
  const email = `${newId('mail').toLowerCase()}@example.org`
  const id = await on.db.transaction(async (tx) =>
    createAccount(tx, {
      organisationId: await createOrganisation(tx, 'Example', on.clock.now()),
      email,
      name: 'Somebody',
      role,
      password,
      mustChangePassword: false,
      now: on.clock.now(),
    }),
  )
  return { id, email }
}
const visit = { address: '192.0.2.7', limitKey: '192.0.2.7', userAgent: '', locale: 'en' } as const
const signIn = (email: string, word = password, on = app, address = `10.0.0.${Math.floor(Math.random() * 250)}`) =>
  on.app.accounts.signIn({ email, password: word }, { ...visit, address, limitKey: address })
const fence = (kind: 'account' | 'agent', id: string, on = app) =>
  on.db.transaction((tx) => tx.writeFence.create({ data: { kind, id, runId: 'run_x', raisedAt: on.clock.now() } }))

describe('the account directory', () => {
  test('finds an account by id and by address in any case, and returns undefined for unknown ones', async () => {
    const { id, email } = await account()
    const { accounts } = app.app
    expect(await within((tx) => accounts.contactOf(tx, id))).toEqual({ email, locale: 'en', name: 'Somebody' })
    expect(await within((tx) => accounts.byEmail(tx, ` ${email.toUpperCase()} `))).toMatchObject({ accountId: id })
    expect(await within((tx) => accounts.byId(tx, id))).toMatchObject({ accountId: id, role: 'person' })
    for (const nobody of ['usr_nobody', ''])
      expect(await within((tx) => accounts.contactOf(tx, nobody))).toBeUndefined()
    expect(await within((tx) => accounts.byEmail(tx, 'nobody@example.org'))).toBeUndefined()
  })

  test.each([
    ['manager', true, true],
    ['admin', true, true],
    ['person', true, false],
    ['auditor', true, false],
    ['manager', false, false],
  ] as const)('sameOrganisation for a %s of the same organization (%s) returns %s', async (role, isSame, expected) => {
    const manager = await signedIn(app, role)
    const member = await signedIn(app, 'person', isSame ? manager.organisationId : undefined)
    const { sameOrganisation } = app.app.accounts
    expect(await within((tx) => sameOrganisation(tx, manager.accountId, member.accountId))).toBe(expected)
    expect(await within((tx) => sameOrganisation(tx, manager.accountId, manager.accountId))).toBe(false)
    expect(await within((tx) => sameOrganisation(tx, manager.accountId, 'usr_nobody'))).toBe(false)
  })

  test('isLastAdmin returns true when no other active admin remains', async () => {
    const { accounts } = app.app
    const isLast = (id: string) => within((tx) => accounts.isLastAdmin(tx, id))
    await rows("UPDATE accounts SET role = 'person' WHERE role = 'admin'")
    const one = await account(app, 'admin')
    const person = await account()
    expect([await isLast(one.id), await isLast(person.id), await isLast('usr_nobody')]).toEqual([true, false, false])
    const two = await account(app, 'admin')
    expect([await isLast(one.id), await isLast(two.id)]).toEqual([false, false])
    expect((await within((tx) => accounts.adminContacts(tx))).map(({ accountId }) => accountId).sort()).toEqual(
      [one.id, two.id].sort(),
    )
    await within((tx) => accounts.suspend(tx, two.id, app.clock.now()))
    expect(await isLast(one.id)).toBe(true)
    await within((tx) => accounts.unsuspend(tx, two.id))
    expect(await isLast(one.id)).toBe(false)
    await fence('account', two.id)
    expect(await isLast(one.id)).toBe(true)
  })

  test('isLastAdmin lets only one of two admins be suspended concurrently', async () => {
    for (let round = 0; round < 5; round++) {
      await rows("UPDATE accounts SET role = 'person' WHERE role = 'admin'")
      const both = await Promise.all([account(app, 'admin'), account(app, 'admin')])
      const left = await Promise.all(
        both.map(({ id }) =>
          within(async (tx) => {
            if (await app.app.accounts.isLastAdmin(tx, id)) return false
            return app.app.accounts.suspend(tx, id, app.clock.now())
          }),
        ),
      )
      expect(left.sort()).toEqual([false, true])
    }
  })
})

describe('requireOwnProof', () => {
  const check = (id: string, word: string) =>
    within((tx) =>
      app.app.accounts.requireOwnProof({ tx, now: app.clock.now(), actor: anonymousCaller('', false).actor }, id, word),
    )

  test('accepts the right password, and returns the same error for wrong, very long and empty ones and unknown accounts', async () => {
    const { id } = await account()
    await check(id, password)
    const reported = [
      await refused(check(id, 'a wrong password')),
      await refused(check(id, 'x'.repeat(1_000_000))),
      await refused(check(id, '')),
      await refused(check('usr_nobody', password)),
    ]
    for (const problem of reported)
      expect(problem.toJSON()).toMatchObject({ status: 422, issues: [{ path: ['password'] }] })
    expect(new Set(reported.map((problem) => JSON.stringify(problem))).size).toBe(1)
  })

  test('takes similar time for an unknown account', async () => {
    const { id } = await account()
    const time = async (of: string) => {
      const start = performance.now()
      await refused(check(of, 'a wrong password'))
      return performance.now() - start
    }
    const known: number[] = []
    const unknown: number[] = []
    for (let round = 0; round < 8; round++) {
      known.push(await time(id))
      unknown.push(await time('usr_not_here'))
    }
    // Without the hash, an unknown account would take a twentieth of the time.
    expect(Math.min(...unknown)).toBeGreaterThan(Math.min(...known) / 8)
  })

  test('is rate limited after five attempts a minute, even with the right password', async () => {
    const { id } = await account()
    for (let guess = 0; guess < 5; guess++) await refused(check(id, 'a wrong password'))
    const problem = await refused(check(id, password))
    expect(problem.code).toBe('rate_limited')
    expect(Number(problem.headers['Retry-After'])).toBeGreaterThan(0)
  })
})

describe('rectify', () => {
  const rectify = (id: string, changes: Parameters<TestApp['app']['accounts']['rectify']>[2]) =>
    within((tx) => app.app.accounts.rectify(tx, id, changes, app.clock.now()))

  test('changes the given fields, returns the names of changed fields, and keeps the others', async () => {
    const { id, email } = await account()
    expect(await rectify(id, { name: 'Ada', locale: 'zh' })).toEqual(['name', 'locale'])
    expect(await rectify(id, { name: 'Ada', email: email.toUpperCase() })).toEqual([])
    expect(await within((tx) => app.app.accounts.contactOf(tx, id))).toEqual({ email, locale: 'zh', name: 'Ada' })
    expect((await refused(rectify('usr_nobody', { name: 'X' }))).code).toBe('not_found')
  })

  test('deletes known sign-ins and the suppression of the new address when the address changes', async () => {
    const { id, email } = await account()
    await signIn(email)
    const next = `${newId('mail').toLowerCase()}@example.org`
    await within(async (tx) => {
      const { hash, keyId } = await app.app.suppressionKeys.current('email', next, tx)
      await tx.suppression.create({ data: { hash, keyId, kind: 'email', since: app.clock.now(), runId: 'run_x' } })
    })
    expect(await rows('SELECT 1 FROM known_sign_ins WHERE account_id = $1', id)).toHaveLength(1)
    expect(await rectify(id, { email: ` ${next.toUpperCase()}` })).toEqual(['email'])
    expect(await rows('SELECT 1 FROM known_sign_ins WHERE account_id = $1', id)).toEqual([])
    expect(await rows("SELECT 1 FROM suppressions WHERE run_id = 'run_x' AND kind = 'email'")).toEqual([])
    expect(await signIn(email)).toBeUndefined()
    expect(await signIn(next)).toBeDefined()
  })

  test('rejects an address of another account, also when two accounts request it concurrently', async () => {
    const [one, two] = [await account(), await account()]
    expect((await refused(rectify(one.id, { name: 'Eve', email: two.email }))).code).toBe('conflict')
    expect(await within((tx) => app.app.accounts.contactOf(tx, one.id))).toMatchObject({ name: 'Somebody' })
    const wanted = `${newId('mail').toLowerCase()}@example.org`
    const reported = await Promise.all(
      [one, two].map(({ id }) =>
        rectify(id, { email: wanted }).then(
          () => 'taken',
          (error: unknown) => (Problem.is(error) ? error.code : error),
        ),
      ),
    )
    expect(reported.sort()).toEqual(['conflict', 'taken'])
  })
})

describe('a suppressed address', () => {
  const suppress = (...addresses: string[]) =>
    within(async (tx) => {
      for (const address of addresses) {
        const { hash, keyId } = await app.app.suppressionKeys.current('email', address, tx)
        await tx.suppression.create({ data: { hash, keyId, kind: 'email', since: app.clock.now(), runId: 'run_y' } })
      }
    })
  const suppressed = async (...addresses: string[]): Promise<boolean[]> => {
    const found = await rows("SELECT encode(hash, 'hex') AS hash FROM suppressions WHERE kind = 'email'")
    const known = new Set(found.map(({ hash }) => hash))
    return Promise.all(
      addresses.map(async (address) => {
        const { hash } = await within((tx) => app.app.suppressionKeys.current('email', address, tx))
        return known.has(Buffer.from(hash).toString('hex'))
      }),
    )
  }
  const changePassword = (cookie: string, from: string, to: string) =>
    app.fetch('POST', '/api/account/password', { cookie, body: { current_password: from, new_password: to } })

  test('stays suppressed for an account that an operator created until the person sets their first password', async () => {
    const [email, other] = ['back-again@example.org', 'somebody-else@example.org']
    await suppress(email, other)
    await signedIn(app, 'admin')
    const made = await operatorAccounts(app.app).add({ email: 'Back-Again@example.org', name: 'Back', role: 'person' })
    const cookie = await openTestSession(app, made.accountId)
    expect(await suppressed(email, other)).toEqual([true, true])

    expect((await changePassword(cookie, 'not the one', password)).status).toBe(422)
    expect(await suppressed(email, other)).toEqual([true, true])

    expect((await changePassword(cookie, made.password, password)).status).toBe(200)
    expect(await suppressed(email, other)).toEqual([false, true])
  })

  test('stays suppressed when a person changes a password that they chose themselves', async () => {
    const { id, email } = await account()
    await suppress(email)
    expect((await changePassword(await openTestSession(app, id), password, 'another quiet harbour')).status).toBe(200)
    expect(await suppressed(email)).toEqual([true])
  })
})

describe('sign-in to an account that is being erased', () => {
  test('returns fenced only for the right password, and stores nothing', async () => {
    const { id, email } = await account()
    const { email: other } = await account()
    await fence('account', id)
    expect(await signIn(email, 'a wrong password')).toBeUndefined()
    expect(await signIn(other, 'a wrong password')).toBeUndefined()
    const problem = await refused(signIn(email))
    expect(problem.toJSON()).toMatchObject({ code: 'fenced', status: 409 })
    expect(await rows('SELECT 1 FROM sessions WHERE account_id = $1', id)).toEqual([])
    expect(await rows('SELECT 1 FROM known_sign_ins WHERE account_id = $1', id)).toEqual([])
  })

  test('is reported to the sign-in page as a rejection, not as a fault', async () => {
    const { id, email } = await account()
    await fence('account', id)
    const faults: unknown[] = []
    const codes: string[] = []
    const options = nextAuthOptions({
      accounts: app.app.accounts,
      secret: 'a secret of thirty-two characters',
      publicUrl: 'http://localhost:3000',
      address: () => '192.0.2.80',
      header: () => '',
      refused: (code) => codes.push(code),
      reportFault: (error) => faults.push(error),
    })
    const [provider] = options.providers
    if (provider?.type !== 'credentials') throw new Error('no credentials provider')
    const authorise = (word: string) =>
      provider.authorize({ email, password: word }, { headers: {}, body: {}, query: {}, method: 'POST' })
    expect(await authorise('a wrong password')).toBeNull()
    await expect(authorise(password)).rejects.toThrow(/^fenced:$/)
    expect([codes, faults]).toEqual([['sign_in_failed', 'fenced'], []])
  })

  test('leaves no open session when it is concurrent with the fence', async () => {
    for (let round = 0; round < 6; round++) {
      const { id, email } = await account()
      await Promise.all([
        signIn(email).catch((error: unknown) => expect(Problem.is(error) && error.code).toBe('fenced')),
        within(async (tx) => {
          await raiseAccountFence(tx, id, app.clock.now())
          await tx.writeFence.create({
            data: { kind: 'account', id, runId: 'run_x', raisedAt: app.clock.now() },
          })
        }),
      ])
      expect(await rows('SELECT 1 FROM sessions WHERE account_id = $1 AND revoked_at IS NULL', id)).toEqual([])
    }
  })

  test('works during the grace period, or is rejected and sessions end when KP_GRACE_SIGN_IN is stop', async () => {
    const keeping = await account()
    await within((tx) => app.app.accounts.suspend(tx, keeping.id, app.clock.now()))
    expect(await signIn(keeping.email)).toBeDefined()

    const stopping = await testApp({ KP_GRACE_SIGN_IN: 'stop' })
    try {
      const { id, email } = await account(stopping)
      const opened = await signIn(email, password, stopping)
      await stopping.db.transaction((tx) => stopping.app.accounts.suspend(tx, id, stopping.clock.now()))
      const [session] = (
        await stopping.db.pool.query('SELECT revoked_at FROM sessions WHERE id = $1', [opened?.sessionId])
      ).rows
      expect(session?.revoked_at).not.toBeNull()
      expect(await signIn(email, 'a wrong password', stopping)).toBeUndefined()
      const problem = await refused(signIn(email, password, stopping))
      expect(problem.toJSON()).toMatchObject({ code: 'fenced', detail: expect.stringContaining('link in the email') })
      await stopping.db.transaction((tx) => stopping.app.accounts.unsuspend(tx, id))
      expect(await signIn(email, password, stopping)).toBeDefined()
    } finally {
      await stopping.close()
    }
  })
})
