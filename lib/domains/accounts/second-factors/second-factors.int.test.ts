import { AuthenticatorEmulator, PasskeysCredentialsMemoryRepository, WebAuthnEmulator } from 'nid-webauthn-emulator'
import { Secret, TOTP } from 'otpauth'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { publicUrl } from '#lib/config/env.ts'
import { doors } from '#lib/kernel/effects.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { openTestSession, personWithPassword } from '#lib/testing/subjects.ts'
import { createChallenges } from './passkeys.ts'
import { challengeLife, codeLock, maxWrongCodes } from './rules.ts'
import { stepOfCode } from './verification.ts'

const minute = 60_000
let test: TestApp
let mail: Mailbox
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url })
})
afterAll(async () => {
  await test?.close()
  await mail?.close()
})

type Someone = Awaited<ReturnType<typeof signedIn>>
const emailOf = async ({ accountId }: Person): Promise<string> =>
  (await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })).email
const subjectsTo = async (person: Person): Promise<string[]> => {
  const to = await emailOf(person)
  return mail.letters.filter((email) => email.to === to).map(({ subject }) => subject)
}
let visits = 0
const visit = () => {
  const address = `192.0.2.${++visits % 250}`
  return { address, limitKey: `${address}/${visits}`, userAgent: 'Firefox', locale: 'en' as const }
}
const signIn = async (person: Someone, code?: string) =>
  test.app.accounts.signIn({ email: await emailOf(person), password: person.password, code }, visit())
const outcome = (signing: Promise<unknown>): Promise<unknown> =>
  signing.then(
    (opened) => (opened === undefined ? 'wrong password' : 'signed in'),
    (error: Error & { reason?: string; code?: string }) => error.reason ?? error.code ?? error.message,
  )

/** Adds an authenticator app. Returns its code generator, its id and the recovery codes. */
async function withApp(person: Someone) {
  const added = await test.fetch('POST', '/api/account/factors/totp', { ...person, body: { name: 'Phone' } })
  expect(added.status, added.text).toBe(201)
  const { factor_id: id, secret, uri } = added.json.data
  expect(uri).toContain('otpauth://totp/KnowledgePulse')
  const totp = new TOTP({ algorithm: 'SHA1', digits: 6, period: 30, secret: Secret.fromBase32(secret) })
  const codeAt = (offset = 0) => totp.generate({ timestamp: test.clock.now().getTime() + offset * 1_000 })
  const confirmed = await test.fetch('POST', `/api/account/factors/${id}/confirm`, {
    ...person,
    body: { code: codeAt() },
  })
  expect(confirmed.status, confirmed.text).toBe(200)
  return { id, codeAt, recoveryCodes: (confirmed.json.data.recovery_codes ?? []) as string[] }
}

/** An authenticator of a library that we did not write. `verifies`: it checks a PIN or fingerprint; it then says so in each response. */
function newDevice(verifies = { user: true }) {
  const interact = () => ({ options: { up: true, uv: verifies.user } })
  return new WebAuthnEmulator(
    new AuthenticatorEmulator({
      credentialsRepository: new PasskeysCredentialsMemoryRepository(),
      userMakeCredentialInteraction: (user) => ({ ...interact(), user }),
      userGetAssertionInteraction: (user) => ({ ...interact(), ...(user && { user }) }),
    }),
  )
}
const origin = () => publicUrl(test.app.env)
/** Registers a passkey of an emulated authenticator that we did not write. */
async function withPasskey(person: Someone, device = newDevice()) {
  const started = await test.fetch('POST', '/api/account/passkeys/options', { ...person, body: {} })
  expect(started.status, started.text).toBe(200)
  const response = device.createJSON(origin(), started.json.data)
  const added = await test.fetch('POST', '/api/account/passkeys', { ...person, body: { name: 'Laptop', response } })
  return { device, response, added }
}

const signInOptions = async () => {
  const started = await test.fetch('POST', '/api/account/passkeys/sign-in', { body: {} })
  expect(started.status, started.text).toBe(200)
  return started.json.data
}
const signInWith = async (device: WebAuthnEmulator) =>
  test.app.accounts.signInWithPasskey(JSON.stringify(device.getJSON(origin(), await signInOptions())), visit())
const factorsOf = async (person: Person) => (await test.fetch('GET', '/api/account/factors', person)).json.data
const auditedChanges = async ({ accountId }: Person) =>
  (
    await test.db.pool.query<{ operation: string }>(
      `SELECT details->>'operation' AS operation FROM audit_entries WHERE resource_id = $1 AND details ? 'factor' ORDER BY at, id`,
      [accountId],
    )
  ).rows.map(({ operation }) => operation)

describe('codes', () => {
  // RFC 6238, appendix B: SHA-1, the last six of eight digits.
  it.each([
    [59, '287082'],
    [1_111_111_109, '081804'],
    [1_111_111_111, '050471'],
    [1_234_567_890, '005924'],
    [2_000_000_000, '279037'],
    [20_000_000_000, '353130'],
  ])('of RFC 6238 at second %i is %s, and is valid one step earlier and later', async (second, code) => {
    const secret = Buffer.from('12345678901234567890')
    const step = Math.floor(second / 30)
    const stepAt = (offset: number) => stepOfCode(secret, code, new Date((second + offset) * 1_000))
    expect(await Promise.all([0, -30, 30].map(stepAt))).toEqual([step, step, step])
    expect(await Promise.all([-90, 90].map(stepAt))).toEqual([undefined, undefined])
  })

  it('are required at sign-in after an app was confirmed, and work once', async () => {
    const person = await signedIn(test)
    expect(await outcome(signIn(person))).toBe('signed in')
    const { codeAt, recoveryCodes } = await withApp(person)
    expect(recoveryCodes).toHaveLength(10)
    expect(await outcome(signIn(person))).toBe('needed')
    expect(await outcome(signIn(person, codeAt()))).toBe('wrong') // the code of the confirmation
    test.clock.advance(minute)
    expect(await outcome(signIn(person, codeAt()))).toBe('signed in')
    expect(await outcome(signIn(person, codeAt()))).toBe('wrong')
    expect(await outcome(signIn({ ...person, password: 'a guess' }, codeAt(30)))).toBe('wrong password')
  })

  it('are accepted only once when four sign-ins send the same code concurrently', async () => {
    const person = await signedIn(test)
    const { codeAt } = await withApp(person)
    test.clock.advance(minute)
    const code = codeAt()
    const outcomes = await Promise.all([1, 2, 3, 4].map(() => outcome(signIn(person, code))))
    expect(outcomes.sort()).toEqual(['signed in', 'wrong', 'wrong', 'wrong'])
  })

  it(`are rejected for an hour after ${maxWrongCodes} wrong codes in a row, even when they are right`, async () => {
    const person = await signedIn(test)
    const { codeAt } = await withApp(person)
    test.clock.advance(minute)
    for (let guess = 0; guess < maxWrongCodes; guess++) {
      expect(await outcome(signIn(person, '000000'))).toBe('wrong')
      test.clock.advance(minute)
    }
    expect(await outcome(signIn(person, codeAt()))).toBe('rate_limited')
    test.clock.advance(codeLock)
    expect(await outcome(signIn(person, codeAt()))).toBe('signed in')
  })

  it('wrong codes of an app lock only the app: a recovery code still works, and the error message says so', async () => {
    const person = await signedIn(test)
    const { codeAt, recoveryCodes } = await withApp(person)
    const [first = '', second = ''] = recoveryCodes
    test.clock.advance(minute)
    const lock = () =>
      test.db.prisma.account.update({
        where: { id: person.accountId },
        data: { wrongCodes: maxWrongCodes, wrongCodeAt: test.clock.now() },
      })
    const confirm = (code: string) =>
      test.fetch('POST', '/api/account/confirm', { ...person, body: { password: person.password, code } })
    await lock()
    const refused = await confirm(codeAt())
    expect(refused.status).toBe(429)
    expect(refused.json.detail).toContain('or use a recovery code or a passkey')
    expect((await confirm(first)).status).toBe(200)
    await lock()
    expect(await outcome(signIn(person, codeAt()))).toBe('rate_limited')
    expect(await outcome(signIn(person, first))).toBe('wrong')
    expect(await outcome(signIn(person, second))).toBe('signed in')
  })

  it('wrong codes of a new app do not count as wrong passwords, and wrong passwords do not count as wrong codes', async () => {
    const guess = async (person: Someone, body: object, path = '/api/account/confirm') =>
      (await test.fetch('POST', path, { ...person, body })).status
    const added = async (person: Someone) => {
      const { json } = await test.fetch('POST', '/api/account/factors/totp', { ...person, body: { name: 'Phone' } })
      const totp = new TOTP({ secret: Secret.fromBase32(json.data.secret) })
      const code = totp.generate({ timestamp: test.clock.now().getTime() })
      return { path: `/api/account/factors/${json.data.factor_id}/confirm`, code }
    }
    const tries = Array.from({ length: 5 })
    const one = await signedIn(test)
    const waiting = await added(one)
    for (const _ of tries) expect(await guess(one, { code: '000000' }, waiting.path)).toBe(422)
    expect(await guess(one, { code: waiting.code }, waiting.path)).toBe(429)
    expect(await guess(one, { password: one.password })).toBe(200)
    const other = await signedIn(test)
    const app = await added(other)
    for (const _ of tries) expect(await guess(other, { password: 'a guess' })).toBe(422)
    expect(await guess(other, { password: other.password })).toBe(429)
    expect(await guess(other, { code: app.code }, app.path)).toBe(200)
  })

  it('wrong recovery codes do not lock the codes of an app', async () => {
    const person = await signedIn(test)
    const { codeAt } = await withApp(person)
    test.clock.advance(minute)
    for (let guess = 0; guess < maxWrongCodes; guess++)
      expect(await outcome(signIn(person, 'aaaaa-aaaaa-aaaaa-aaaaa'))).toBe('wrong')
    expect(await outcome(signIn(person, codeAt()))).toBe('signed in')
  })

  it('recovery codes work once each, in any spelling, and only for their account', async () => {
    const person = await signedIn(test)
    const other = await signedIn(test)
    const [first = '', second = ''] = (await withApp(person)).recoveryCodes
    await withApp(other)
    expect(await outcome(signIn(other, first))).toBe('wrong')
    expect(await outcome(signIn(person, first.toUpperCase().replaceAll('-', ' ')))).toBe('signed in')
    expect(await outcome(signIn(person, first))).toBe('wrong')
    expect(await factorsOf(person)).toMatchObject({ recovery_codes: 9 })
    const renewed = await test.fetch('POST', '/api/account/recovery-codes', { ...person, body: {} })
    expect(renewed.json.data.recovery_codes).toHaveLength(10)
    expect(await outcome(signIn(person, second))).toBe('wrong')
  })
})

describe('an authenticator app', () => {
  it('protects nothing before its first code, and expires after 15 minutes', async () => {
    const person = await signedIn(test)
    const added = await test.fetch('POST', '/api/account/factors/totp', { ...person, body: { name: 'Phone' } })
    const { factor_id: id, secret } = added.json.data
    expect(await outcome(signIn(person))).toBe('signed in')
    expect(await factorsOf(person)).toEqual({ factors: [], recovery_codes: 0 })
    const confirm = (code: string) =>
      test.fetch('POST', `/api/account/factors/${id}/confirm`, { ...person, body: { code } })
    expect((await confirm('000000')).status).toBe(422)
    test.clock.advance(16 * minute)
    const code = new TOTP({ secret: Secret.fromBase32(secret) }).generate({ timestamp: test.clock.now().getTime() })
    expect((await confirm(code)).status).toBe(404)
  })

  it('stores its secret only sealed, and returns it once under an idempotency key', async () => {
    const person = await signedIn(test)
    const ask = () =>
      test.fetch('POST', '/api/account/factors/totp', {
        ...person,
        body: { name: 'Phone' },
        headers: { 'Idempotency-Key': 'app-1' },
      })
    const { secret, factor_id: id } = (await ask()).json.data
    expect((await ask()).json.data).toEqual({ factor_id: id })
    const { rows } = await test.db.pool.query('SELECT totp_secret FROM account_factors WHERE id = $1', [id])
    expect(rows[0].totp_secret.includes(Buffer.from(Secret.fromBase32(secret).buffer))).toBe(false)
  })

  it('is refused for an account without a password, without a recent password, and above ten factors', async () => {
    const person = await signedIn(test)
    await test.db.pool.query('UPDATE accounts SET password_hash = NULL WHERE id = $1', [person.accountId])
    const add = (who: { cookie: string }) =>
      test.fetch('POST', '/api/account/factors/totp', { ...who, body: { name: 'A' } })
    expect((await add(person)).status).toBe(409)
    const later = await signedIn(test)
    test.clock.advance(11 * minute)
    expect((await add(later)).json.code).toBe('step_up_required')
    const many = await signedIn(test)
    for (let one = 0; one < 10; one++) expect((await withPasskey(many)).added.status).toBe(201)
    expect((await add(many)).status).toBe(409)
  })
})

describe('a passkey', () => {
  it('opens a session without a password, and replaces the code of an app', async () => {
    const person = await signedIn(test)
    const { device, added } = await withPasskey(person)
    expect(added.status, added.text).toBe(201)
    expect(added.json.data.recovery_codes).toHaveLength(10)
    expect(await signInWith(device)).toMatchObject({ accountId: person.accountId })
    expect(await outcome(signIn(person))).toBe('needed')
    expect(await factorsOf(person)).toMatchObject({ factors: [{ kind: 'passkey', name: 'Laptop' }] })
  })

  it('is registered once, and by one account', async () => {
    const person = await signedIn(test)
    const { response } = await withPasskey(person)
    const again = await test.fetch('POST', '/api/account/passkeys', { ...person, body: { name: 'Again', response } })
    expect(again.status).toBe(409)
    // The challenge is bound to the account that asked for it.
    const thief = await signedIn(test)
    const taken = await test.fetch('POST', '/api/account/passkeys', { ...thief, body: { name: 'Mine', response } })
    expect(taken.status).toBe(422)
  })

  it('does not accept a response twice, also concurrently, after five minutes or from another origin', async () => {
    const person = await signedIn(test)
    const { device } = await withPasskey(person)
    const answer = JSON.stringify(device.getJSON(origin(), await signInOptions()))
    const attempt = (text: string) => outcome(test.app.accounts.signInWithPasskey(text, visit()))
    expect((await Promise.all([attempt(answer), attempt(answer)])).sort()).toEqual(['signed in', 'wrong password'])
    expect(await attempt(answer)).toBe('wrong password')
    const late = JSON.stringify(device.getJSON(origin(), await signInOptions()))
    test.clock.advance(challengeLife + 1)
    expect(await attempt(late)).toBe('wrong password')
    const elsewhere = 'https://localhost:4000'
    expect(await attempt(JSON.stringify(device.getJSON(elsewhere, await signInOptions())))).toBe('wrong password')
  })

  it('does not accept a response without user verification', async () => {
    const person = await signedIn(test)
    const verifies = { user: true }
    const { device } = await withPasskey(person, newDevice(verifies))
    expect(await outcome(signInWith(device))).toBe('signed in')
    verifies.user = false
    expect(await outcome(signInWith(device))).toBe('wrong password')
    expect((await withPasskey(await signedIn(test), newDevice(verifies))).added.status).toBe(422)
  })

  it.each([
    ['nothing', ''],
    ['no JSON', '{'],
    ['JSON of another kind', '[]'],
    ['a prototype', '{"__proto__":{"id":"x"}}'],
    [
      'an unknown passkey',
      '{"id":"AAAA","rawId":"AAAA","type":"public-key","clientExtensionResults":{},"response":{"clientDataJSON":"e30","authenticatorData":"AAAA","signature":"AAAA"}}',
    ],
    ['a very long text', `"${'x'.repeat(200_000)}"`],
  ])('is not found in %s', async (_name, text) =>
    expect(await outcome(test.app.accounts.signInWithPasskey(text, visit()))).toBe('wrong password'),
  )

  it('opens no session of a closed account', async () => {
    const person = await signedIn(test)
    const { device } = await withPasskey(person)
    const admin = await signedIn(test, 'admin')
    expect((await test.fetch('POST', `/api/admin/users/${person.accountId}/deactivate`, admin)).status).toBe(200)
    expect(await outcome(signInWith(device))).toBe('forbidden')
  })
})

describe('challenges', () => {
  const challenges = createChallenges(() => Buffer.alloc(32, 1))
  const now = new Date('2026-01-01T00:00:00Z')
  const text = (bytes: Uint8Array) => Buffer.from(bytes).toString('base64url')

  it('are accepted for their use and their account alone, until they expire', () => {
    const challenge = text(challenges.issue({ registration: 'usr_1' }, now))
    const at = (ms: number) => challenges.issuedAt(challenge, { registration: 'usr_1' }, new Date(now.getTime() + ms))
    expect([at(0), at(challengeLife)]).toEqual([now, now])
    expect([at(challengeLife + 1), at(-1)]).toEqual([undefined, undefined])
    expect(challenges.issuedAt(challenge, { registration: 'usr_2' }, now)).toBeUndefined()
    expect(challenges.issuedAt(challenge, 'sign-in', now)).toBeUndefined()
  })
  it.each(['', 'AAAA', text(new Uint8Array(56)), '💥'])('issued elsewhere are rejected: %j', (given) =>
    expect(challenges.issuedAt(given, 'sign-in', now)).toBeUndefined(),
  )
})

describe('second factors', () => {
  it('are removed by their owner with a recent password; without any, the password alone signs in', async () => {
    const person = await signedIn(test)
    const stranger = await signedIn(test)
    const { id } = await withApp(person)
    const remove = (who: Person) => test.fetch('DELETE', `/api/account/factors/${id}`, who)
    expect((await remove(stranger)).status).toBe(404)
    expect((await remove(person)).status).toBe(204)
    expect((await remove(person)).status).toBe(404)
    expect(await outcome(signIn(person))).toBe('signed in')
    expect(await factorsOf(person)).toEqual({ factors: [], recovery_codes: 0 })
    expect(await auditedChanges(person)).toEqual([
      'addAuthenticatorApp',
      'confirmAuthenticatorApp',
      'removeSecondFactor',
    ])
  })

  it('are removed by an admin, not by a manager or the person themselves, and the person gets an email', async () => {
    const person = await signedIn(test)
    await withApp(person)
    const admin = await signedIn(test, 'admin')
    const manager = await signedIn(test, 'manager', person.organisationId)
    const remove = (who: Person, id = person.accountId) => test.fetch('DELETE', `/api/admin/users/${id}/factors`, who)
    expect((await remove(manager)).status).toBe(403)
    expect((await remove(admin, admin.accountId)).status).toBe(403)
    expect((await remove(admin)).json).toEqual({ data: { factors_removed: 1 } })
    expect(await outcome(signIn(person))).toBe('signed in')
    await drain(test)
    const subjects = await subjectsTo(person)
    expect(subjects).toEqual(['A second factor was added to your account', 'An admin removed your second factors'])
  })

  it('are removed by the operator’s reset of the password', async () => {
    const person = await signedIn(test)
    await withApp(person)
    await test.app.accounts.resetPassword(await emailOf(person))
    expect(await test.db.prisma.accountFactor.count({ where: { accountId: person.accountId } })).toBe(0)
  })

  it('cannot be listed, added or removed with a token or without a session', async () => {
    for (const [method, path] of [
      ['GET', '/api/account/factors'],
      ['POST', '/api/account/factors/totp'],
      ['POST', '/api/account/passkeys/options'],
      ['POST', '/api/account/recovery-codes'],
    ] as const)
      expect((await test.fetch(method, path, { ...(method === 'POST' && { body: { name: 'A' } }) })).status).toBe(401)
  })
})

/** Gives the sessions what one has that was opened before the factor, or whose cookie somebody copied. */
const asOlderSession = ({ accountId }: Someone) =>
  test.db.prisma.session.updateMany({ where: { accountId }, data: { signedInWith: null, passwordAt: null } })

describe('an act on one’s own account with the password', () => {
  /** Calls that succeed with the right password, by operation. The table of effects names all of them. */
  const acts: Record<string, (person: Someone, password: string) => Promise<[path: string, body: object]>> = {
    filePrivacyRequest: async (_, password) => [
      '/api/privacy/requests',
      { kinds: ['rectification'], changes: { name: 'Somebody else' }, password },
    ],
    verifyPrivacyRequest: async (person, password) => {
      const filed = await test.fetch('POST', '/api/privacy/requests', { ...person, body: { kinds: ['erasure'] } })
      expect(filed.json.data.state, filed.text).toBe('received')
      return [`/api/privacy/requests/${filed.json.data.id}/verify`, { password }]
    },
    expeditePrivacyRequest: async (person, password) => {
      await passwordEntered(test, person)
      const body = { kinds: ['erasure'], password }
      const filed = await test.fetch('POST', '/api/privacy/requests', { ...person, body })
      expect(filed.json.data.state, filed.text).toBe('waiting')
      await asOlderSession(person)
      return [`/api/privacy/requests/${filed.json.data.id}/expedite`, { password }]
    },
    changePassword: async (_, password) => [
      '/api/account/password',
      { current_password: password, new_password: 'quite another password 7' },
    ],
    unlinkIdentity: async (person, password) => {
      const link = { issuer: 'https://provider.example', subject: newId('sub'), accountId: person.accountId }
      await test.db.prisma.accountIdentity.create({ data: { ...link, linkedAt: test.clock.now() } })
      const { json } = await test.fetch('GET', '/api/account/identities', person)
      return [`/api/account/identities/${json.data[0].identity_id}/unlink`, { password }]
    },
  }
  const fields = (body: unknown) => (body instanceof z.ZodObject ? Object.keys(body.shape) : [])

  it('is named by the table of effects, with every operation of people that takes their password', () => {
    const taking = test.app.useCases.filter(({ operation }) =>
      fields(operation.body).some((field) => field === 'password' || field === 'current_password'),
    )
    const named = taking.map(({ operation: { id } }) => id)
    expect(Object.keys(acts).sort()).toEqual([...(doors['act-on-oneself'].consulted ?? [])].sort())
    // The step-up itself, and a link of an email that sets a first password or a new one.
    const others = ['confirmPassword', 'usePasswordLink']
    expect(named.filter((id) => !others.includes(id)).sort()).toEqual(Object.keys(acts).sort())
  })

  it.each(Object.keys(acts))('%s needs the second factor too, and changes nothing without it', async (operation) => {
    const make = acts[operation]
    if (!make) throw new Error(operation)
    const [plain, person] = [await signedIn(test), await signedIn(test)]
    await withApp(person)
    for (const one of [plain, person]) await asOlderSession(one)
    const call = async ([path, body]: [string, object], one: Someone) => {
      const { status, json } = await test.fetch('POST', path, { ...one, body })
      return status < 300 ? 'done' : json.code
    }
    const stored = async () => {
      const { rows } = await test.db.pool.query(
        `SELECT name, password_hash, (SELECT jsonb_agg(r.state ORDER BY r.id) FROM privacy_requests r WHERE r.account_id = a.id) AS requests,
        (SELECT count(*) FROM account_identities i WHERE i.account_id = a.id AND unlinked_at IS NULL) AS identities
        FROM accounts a WHERE id = $1`,
        [person.accountId],
      )
      return rows
    }
    expect(await call(await make(plain, plain.password), plain)).toBe('done')
    const right = await make(person, person.password)
    const before = await stored()
    const guess = JSON.parse(JSON.stringify(right).replace(person.password, 'a guess'))
    // Without the second factor, a password is not even tested.
    for (const tried of [guess, right]) expect(await call(tried, person)).toBe('step_up_required')
    expect(await stored()).toEqual(before)
    await passwordEntered(test, person)
    expect(await call(guess, person)).toBe('invalid')
    expect(await stored()).toEqual(before)
    expect(await call(right, person)).toBe('done')
    expect(await stored()).not.toEqual(before)
  })

  it('succeeds after a mistyped password and a mistyped code, within the limit of attempts', async () => {
    const person = await signedIn(test)
    // Unlike an app, a passkey is added without an attempt that counts.
    const [recoveryCode] = (await withPasskey(person)).added.json.data.recovery_codes
    await asOlderSession(person)
    const file = () =>
      test.fetch('POST', '/api/privacy/requests', {
        ...person,
        body: { kinds: ['erasure'], password: person.password },
      })
    expect((await file()).json.code).toBe('step_up_required')
    for (const [password, code, status] of [
      ['a mistyped password', undefined, 422],
      [person.password, undefined, 422],
      [person.password, '000000', 422],
      [person.password, recoveryCode, 200],
    ] as const) {
      const body = { password, ...(code !== undefined && { code }) }
      expect((await test.fetch('POST', '/api/account/confirm', { ...person, body })).status).toBe(status)
    }
    const filed = await file()
    expect([filed.status, filed.json.data?.state], filed.text).toEqual([201, 'waiting'])
  })
})

describe('confirming the password', () => {
  const confirm = (person: Someone, factor: Record<string, string> = {}, password = person.password) =>
    test.fetch('POST', '/api/account/confirm', { ...person, body: { password, ...factor } })
  const faults = async (response: ReturnType<typeof confirm>) => {
    const { status, json } = await response
    return [status, json.issues?.map(({ path }: { path: string[] }) => path.join('.'))]
  }
  const isRecent = async (person: Someone) =>
    (await test.fetch('POST', '/api/account/recovery-codes', { ...person, body: {} })).json.code !== 'step_up_required'
  it('requires an unused code of the account in a session that was opened with the password alone', async () => {
    const person = await signedIn(test)
    const { codeAt } = await withApp(person)
    await asOlderSession(person)
    test.clock.advance(minute)
    expect(await faults(confirm(person))).toEqual([422, ['code']])
    // A code with a wrong password is not used up.
    const code = codeAt()
    expect(await faults(confirm(person, { code }, 'a guess'))).toEqual([422, ['password']])
    expect(await isRecent(person)).toBe(false)
    expect((await confirm(person, { code })).status).toBe(200)
    expect(await faults(confirm(person, { code }))).toEqual([422, ['code']])
  })

  it('locks the account before its factors, as adding and removing a factor does', async () => {
    const person = await signedIn(test)
    const { codeAt } = await withApp(person)
    await asOlderSession(person)
    test.clock.advance(minute)
    const removing = new pg.Client({ connectionString: test.ownerUrl })
    await removing.connect()
    try {
      await removing.query('BEGIN')
      await removing.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [person.accountId])
      const confirming = confirm(person, { code: codeAt() })
      await blockedBy(removing)
      const { rowCount } = await removing.query(
        'SELECT FROM account_factors WHERE account_id = $1 FOR UPDATE SKIP LOCKED',
        [person.accountId],
      )
      expect(rowCount).toBe(1)
      await removing.query('COMMIT')
      expect((await confirming).status).toBe(200)
    } finally {
      await removing.end()
    }
  })

  it('accepts a recovery code, and no wrong code', async () => {
    const person = await signedIn(test)
    const { recoveryCodes } = await withApp(person)
    await asOlderSession(person)
    expect(await faults(confirm(person, { code: '000000' }))).toEqual([422, ['code']])
    expect((await confirm(person, { code: recoveryCodes[0] ?? '' })).status).toBe(200)
    expect(await isRecent(person)).toBe(true)
  })

  it('accepts a passkey of the account once, and none of another account', async () => {
    const [person, other] = [await signedIn(test), await signedIn(test)]
    const [{ device }, others] = [await withPasskey(person), await withPasskey(other)]
    await asOlderSession(person)
    const answer = async (by: WebAuthnEmulator) => JSON.stringify(by.getJSON(origin(), await signInOptions()))
    for (const passkey of [await answer(others.device), 'not JSON', '{}'])
      expect(await faults(confirm(person, { passkey }))).toEqual([422, ['passkey']])
    test.clock.advance(minute)
    const passkey = await answer(device)
    expect((await confirm(person, { passkey })).status).toBe(200)
    expect(await faults(confirm(person, { passkey }))).toEqual([422, ['passkey']])
  })

  it('is not replaced by a new password, which only the account without a second factor confirms', async () => {
    const change = (person: Someone) =>
      test.fetch('POST', '/api/account/password', {
        ...person,
        body: { current_password: person.password, new_password: 'quite another password 7' },
      })
    const [plain, person] = [await signedIn(test), await signedIn(test)]
    await withApp(person)
    for (const one of [plain, person]) await asOlderSession(one)
    expect((await change(plain)).status).toBe(200)
    expect((await change(person)).json.code).toBe('step_up_required')
    expect([await isRecent(plain), await isRecent(person)]).toEqual([true, false])
  })

  it('is needed for a sign-in that began before the factor was added', async () => {
    const person = await signedIn(test)
    const adding = new pg.Client({ connectionString: test.ownerUrl })
    await adding.connect()
    try {
      await adding.query('BEGIN')
      await adding.query('SELECT FROM accounts WHERE id = $1 FOR NO KEY UPDATE', [person.accountId])
      const signingIn = outcome(signIn(person))
      await blockedBy(adding)
      await adding.query(
        `INSERT INTO account_factors (id, account_id, kind, name, created_at, confirmed_at, totp_secret)
         VALUES ($1, $2, 'totp', 'Phone', now(), now(), 'sealed')`,
        [newId('fct'), person.accountId],
      )
      await adding.query('COMMIT')
      expect(await signingIn).toBe('needed')
    } finally {
      await adding.end()
    }
  })
})

it('a session that was open before a factor was added, or codes were replaced, ends, and the person gets an email', async () => {
  const person = await personWithPassword(test)
  const older = { cookie: await openTestSession(test, person.accountId) }
  const status = async () => (await test.fetch('GET', '/api/account', older)).status
  expect(await status()).toBe(200)
  await withApp(person)
  expect(await status()).toBe(401)
  const later = { cookie: await openTestSession(test, person.accountId) }
  expect((await test.fetch('POST', '/api/account/recovery-codes', { ...person, body: {} })).status).toBe(200)
  expect((await test.fetch('GET', '/api/account', later)).status).toBe(401)
  expect((await test.fetch('GET', '/api/account', person)).status).toBe(200)
  await drain(test)
  expect(await subjectsTo(person)).toContain('Your recovery codes were replaced')
})
