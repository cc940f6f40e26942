import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import type { TestResponse } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest({ KP_TRUSTED_PROXIES: '127.0.0.1' })
})
afterAll(() => kit.close())

const password = 'three unrelated quiet words'
const hour = 3_600_000
/** Attempts are counted by network: a new network starts from zero. */
let network = 1
const elsewhere = () => {
  network++
}
const headers = () => ({ 'X-Forwarded-For': `198.51.100.${network}` })
const codeIn = (email: string): string => {
  const texts = kit.emailsTo(email).map(({ text }) => text)
  return texts.flatMap((text) => [...text.matchAll(/\/password\/new#(\w+)/g)]).at(-1)?.[1] ?? 'no link'
}
const rows = async (sql: string, ...values: unknown[]) => (await kit.test.db.pool.query(sql, values)).rows
async function invite(cookie: string, body: object, path = '/api/admin/users') {
  // Inviting needs a recently entered password.
  await kit.test.db.prisma.session.updateMany({ data: { passwordAt: kit.test.clock.now() } })
  return kit.test.fetch('POST', path, { cookie, body: { name: 'Somebody', role: 'person', ...body } })
}
const ask = (email: string) => kit.test.fetch('POST', '/api/account/reset', { body: { email }, headers: headers() })
const use = (code: string, new_password = password) =>
  kit.test.fetch('POST', '/api/account/password/link', { body: { code, new_password }, headers: headers() })
const visit = { address: '192.0.2.7', limitKey: '192.0.2.7', userAgent: '', locale: 'en' } as const
const signIn = (email: string, word: string) => kit.test.app.accounts.signIn({ email, password: word }, visit)

/** Creates a person who was invited and chose a password. */
async function settled(): Promise<{ email: string; id: string }> {
  elsewhere()
  const email = `${newId('mail').toLowerCase()}@example.org`
  const { json } = await invite(kit.admin.cookie, { email })
  await kit.work()
  expect((await use(codeIn(email))).status).toBe(200)
  await kit.work()
  return { email, id: json.data.account_id }
}

describe('an invitation', () => {
  it('creates an account without a password and emails a single-use link to set it; nobody is signed in', async () => {
    const email = `${newId('mail')}@Example.org`
    const { status, json } = await invite(kit.admin.cookie, { email, locale: 'zh', new_organisation: '示例' })
    expect(status).toBe(201)
    expect(json.data).toMatchObject({
      email: email.toLowerCase(),
      states: ['invited'],
      has_password: false,
      locale: 'zh',
    })
    expect(await signIn(email, password)).toBeUndefined()
    // The queue contains only an id; the code is created with the email.
    const [job] = await rows(
      "SELECT payload::text AS payload FROM graphile_worker._private_jobs WHERE payload::text LIKE '%invitation%'",
    )
    expect(job.payload).toContain(json.data.account_id)
    expect(job.payload).not.toContain(email.toLowerCase())
    await kit.work()
    const [linkEmail] = kit.emailsTo(email.toLowerCase())
    expect(linkEmail?.subject).toBe('邀请您加入 KnowledgePulse')
    expect(linkEmail?.text).toContain('示例')
    const code = codeIn(email.toLowerCase())
    expect(
      await rows('SELECT 1 FROM account_links WHERE encode(code_hash, $1) LIKE $2', 'escape', `%${code}%`),
    ).toEqual([])
    const used = await use(code)
    expect([used.status, used.json.data, used.headers.getSetCookie()]).toEqual([200, { sessions_ended: 0 }, []])
    expect(await signIn(email, password)).toMatchObject({ accountId: json.data.account_id })
    expect((await use(code, 'another quiet set of words')).json).toMatchObject({ code: 'link_spent', status: 410 })
    expect(await signIn(email, password)).toBeDefined()
    const [entry] = await rows(
      "SELECT details, agent_id FROM audit_entries WHERE details->>'operation' = 'usePasswordLink' AND resource_id = $1",
      json.data.account_id,
    )
    expect(entry).toEqual({
      agent_id: 'anonymous',
      details: { operation: 'usePasswordLink', changed: ['password'], by: 'invitation', sessions_ended: 0 },
    })
  })

  it('replaces the previous one when sent again, expires after seven days, and is limited to three emails an hour', async () => {
    const email = `${newId('mail').toLowerCase()}@example.org`
    const { json } = await invite(kit.admin.cookie, { email })
    const again = () => kit.test.fetch('POST', `/api/admin/users/${json.data.account_id}/invitation`, kit.admin)
    await kit.work()
    const first = codeIn(email)
    expect((await again()).status).toBe(202)
    expect((await use(first)).status).toBe(410)
    await kit.work()
    const second = codeIn(email)
    expect(second).not.toBe(first)
    expect((await again()).status).toBe(202)
    await kit.work()
    const many = await again()
    expect([many.status, Number(many.headers.get('retry-after')) > 3_000]).toEqual([429, true])
    await kit.work()
    expect(kit.emailsTo(email)).toHaveLength(3)
    kit.test.clock.advance(7 * 24 * hour + 1)
    expect((await use(codeIn(email))).status).toBe(410)
    const fresh = await signedIn(kit.test, 'admin')
    const { status } = await kit.test.fetch('POST', `/api/admin/users/${json.data.account_id}/invitation`, fresh)
    expect(status).toBe(202)
    await kit.work()
    expect((await use(codeIn(email))).status).toBe(200)
    expect((await kit.test.fetch('POST', `/api/admin/users/${json.data.account_id}/invitation`, fresh)).json.code).toBe(
      'wrong_state',
    )
  })

  it('an invitation is sent later when the mail server rejects its email, and the rejected emails do not count', async () => {
    const admin = await signedIn(kit.test, 'admin')
    const email = `${newId('mail').toLowerCase()}@example.org`
    await invite(admin.cookie, { email })
    kit.post.refuse(true)
    let round = 0
    const { drain } = await import('#lib/testing/jobs.ts')
    await drain(kit.test, { mayFail: true, until: () => round++ === 5, except: ['privacy.clock'] })
    kit.post.refuse(false)
    expect(
      await rows('SELECT 1 FROM account_links l JOIN accounts a ON a.id = l.account_id WHERE a.email = $1', email),
    ).toEqual([])
    await kit.work()
    expect(kit.emailsTo(email)).toHaveLength(1)
    elsewhere()
    expect((await use(codeIn(email))).status).toBe(200)
  })

  it('is available to admins for any organization, and to managers for their own with the roles person and manager', async () => {
    const { test } = kit
    const manager = await signedIn(test, 'manager')
    const other = await signedIn(test, 'manager')
    const made = await invite(manager.cookie, { email: `${newId('m')}@example.org`, role: 'manager' }, '/api/members')
    expect([made.status, made.json.data.state]).toEqual([201, 'invited'])
    const [{ organisation_id }] = await rows(
      'SELECT organisation_id FROM accounts WHERE id = $1',
      made.json.data.account_id,
    )
    expect(organisation_id).toBe(manager.organisationId)
    for (const role of ['admin', 'auditor'])
      expect((await invite(manager.cookie, { email: 'x@example.org', role }, '/api/members')).status).toBe(422)
    const more = await invite(
      manager.cookie,
      { email: 'x@example.org', organisation_id: other.organisationId },
      '/api/members',
    )
    expect(more.status).toBe(422)
    // A member of another organization is not found.
    const again = (who: { cookie: string }) =>
      test.fetch('POST', `/api/members/${made.json.data.account_id}/invitation`, who)
    expect([(await again(other)).status, (await again(manager)).status]).toEqual([404, 202])
    const seen = async (who: { cookie: string }) =>
      (await test.fetch('GET', '/api/members', who)).json.data.map((row: { account_id: string }) => row.account_id)
    expect((await seen(manager)).sort()).toEqual([manager.accountId, made.json.data.account_id].sort())
    expect(await seen(other)).toEqual([other.accountId])
    for (const role of ['person', 'auditor'] as const) {
      const who = await signedIn(test, role, manager.organisationId)
      expect((await test.fetch('GET', '/api/members', who)).status).toBe(403)
      expect((await invite(who.cookie, { email: 'x@example.org' }, '/api/members')).status).toBe(403)
      expect((await again(who)).status).toBe(403)
    }
    // An agent's token does not act as its owner.
    const { token } = await issuedAgent(test, ['read', 'write'], { owner: manager })
    expect((await test.fetch('GET', '/api/members', { token })).status).toBe(403)
    expect((await test.fetch('GET', '/api/members')).status).toBe(401)
  })

  it('an invitation by a manager does not reveal or reserve an address, and can be withdrawn', async () => {
    const { test } = kit
    const [manager, rival, admin] = [
      await signedIn(test, 'manager'),
      await signedIn(test, 'manager'),
      await signedIn(test, 'admin'),
    ]
    const somebody = await personWithPassword(test)
    const [known, unknown] = [somebody.email, `${newId('mail').toLowerCase()}@example.org`]
    const member = (who: { cookie: string }, email: string) => invite(who.cookie, { email }, '/api/members')
    const shape = ({ status, json, headers }: TestResponse) => [
      status,
      { ...json.data, account_id: typeof json.data.account_id, email: '', created_at: '' },
      [...headers.keys()].sort(),
    ]
    const [one, other] = [await member(manager, known), await member(manager, unknown)]
    expect(one.status, one.text).toBe(201)
    expect(shape(one)).toEqual(shape(other))
    await kit.work()
    for (const email of [known, unknown])
      expect(kit.emailsTo(email).filter(({ text }) => text.includes('/password/new#'))).toHaveLength(1)
    const listed = async () =>
      (await test.fetch('GET', '/api/members', manager)).json.data
        .filter(({ state }: { state: string }) => state === 'invited')
        .map(({ email }: { email: string }) => email)
        .sort()
    expect(await listed()).toEqual([known, unknown].sort())
    // One invitation per organization; another organization or an admin can invite the same address.
    expect((await member(manager, unknown.toUpperCase())).status).toBe(409)
    expect((await member(rival, unknown)).status).toBe(201)
    // The owner of an existing account learns of the conflict only from the link; the account does not change.
    const refused = await use(codeIn(known))
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
    expect((await test.fetch('GET', '/api/account', somebody)).status).toBe(200)
    // The address is free until somebody accepts; the first acceptance claims it.
    await kit.work()
    const codes = kit.emailsTo(unknown).map(({ text }) => /new#(\w+)/.exec(text)?.[1] ?? '')
    const withdrawn = await test.fetch('DELETE', `/api/members/${other.json.data.account_id}/invitation`, manager)
    expect(withdrawn.status).toBe(204)
    expect((await use(codes[0] ?? '')).json.code).toBe('link_spent')
    expect((await use(codes[1] ?? '')).status).toBe(200)
    expect(await rows('SELECT invited_email, organisation_id FROM accounts WHERE email = $1', unknown)).toEqual([
      { invited_email: null, organisation_id: rival.organisationId },
    ])
    expect(await listed()).toEqual([known])
    // Cannot be withdrawn by strangers, twice, or after the acceptance.
    const withdraw = (who: { cookie?: string }, id: string, at = '/api/members') =>
      test.fetch('DELETE', `${at}/${id}/invitation`, who)
    const id = one.json.data.account_id
    expect((await withdraw({}, id)).status).toBe(401)
    expect((await withdraw(rival, id)).status).toBe(404)
    expect((await withdraw(await signedIn(test, 'person', manager.organisationId), id)).status).toBe(403)
    expect((await withdraw(manager, manager.accountId)).json.code).toBe('wrong_state')
    expect((await withdraw(admin, id, '/api/admin/users')).status).toBe(204)
    expect((await withdraw(manager, id)).status).toBe(404)
    expect(await rows('SELECT 1 FROM deletion_audit_log WHERE scope::text LIKE $1', `%${id}%`)).toHaveLength(1)
  })

  it('a withdrawn invitation still counts against the daily limit of fifty', async () => {
    const { test } = kit
    const manager = await signedIn(test, 'manager')
    await rows(
      `UPDATE organisations SET withdrawn_invitations = ARRAY(SELECT $2::timestamptz FROM generate_series(1, 48)) WHERE id = $1`,
      manager.organisationId,
      test.clock.now(),
    )
    const made = await invite(manager.cookie, { email: `${newId('m')}@example.org` }, '/api/members')
    expect(made.status).toBe(201)
    expect((await test.fetch('DELETE', `/api/members/${made.json.data.account_id}/invitation`, manager)).status).toBe(
      204,
    )
    expect((await invite(manager.cookie, { email: `${newId('m')}@example.org` }, '/api/members')).status).toBe(429)
  })

  it('is limited to fifty by managers per organization and day', async () => {
    const { test } = kit
    const manager = await signedIn(test, 'manager')
    const second = await signedIn(test, 'manager', manager.organisationId)
    await rows(
      `INSERT INTO accounts (id, organisation_id, email, name, role, created_at, updated_at)
       SELECT $1 || n, $1, $1 || n || '@example.org', 'Somebody', 'person', $2, $2 FROM generate_series(1, 47) n`,
      manager.organisationId,
      test.clock.now(),
    )
    const one = (who: { cookie: string }) => invite(who.cookie, { email: `${newId('m')}@example.org` }, '/api/members')
    const both = await Promise.all([one(manager), one(second)])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 429])
    const refused = both.find(({ status }) => status === 429)
    expect([refused?.json.code, refused?.json.detail]).toEqual([
      'rate_limited',
      expect.stringMatching(/Nobody was invited/),
    ])
    expect(Number(refused?.headers.get('retry-after'))).toBeGreaterThan(80_000)
    expect((await one(await signedIn(test, 'manager'))).status).toBe(201)
    test.clock.advance(24 * hour)
    expect((await one(await signedIn(test, 'manager', manager.organisationId))).status).toBe(201)
  })

  it('an unaccepted invitation is deleted with its account 30 days after the last email, unless other records refer to it', async () => {
    const { test } = kit
    const day = 24 * hour
    const made = async (extra: object = {}) => {
      const admin = await signedIn(test, 'admin')
      const { json } = await invite(admin.cookie, { email: `${newId('mail').toLowerCase()}@example.org`, ...extra })
      await kit.work()
      return json.data.account_id as string
    }
    const alone = await made({ new_organisation: 'Theirs alone' })
    const [reminded, filed, owner, held] = [await made(), await made(), await made(), await made()]
    const { id: there } = await settled()
    const admin = await signedIn(test, 'admin')
    const request = await test.fetch('POST', '/api/admin/privacy/requests', {
      ...admin,
      body: { account_id: filed, kinds: ['access'], received_at: test.clock.now().toISOString() },
    })
    expect(request.status).toBe(201)
    await issuedAgent(test, ['read'], { owner: { accountId: owner, organisationId: admin.organisationId, cookie: '' } })
    const hold = await test.fetch('POST', '/v1/holds', {
      ...admin,
      body: { kind: 'account', target_id: held, reason: 'A court asked for it' },
    })
    expect([hold.status, hold.text]).toEqual([201, expect.any(String)])
    const upkeep = test.app.jobs.find(({ name }) => name === 'accounts.upkeep')
    const left = async () => {
      await upkeep?.execute(test.app.pipeline, {})
      const ids = [alone, reminded, filed, owner, held, there]
      const found = await rows('SELECT id FROM accounts WHERE id = ANY($1)', ids)
      return found.map(({ id }) => id).sort()
    }
    test.clock.advance(20 * day)
    const again = await test.fetch('POST', `/api/admin/users/${reminded}/invitation`, await signedIn(test, 'admin'))
    expect(again.status).toBe(202)
    await kit.work()
    test.clock.advance(10 * day - hour)
    expect(await left()).toHaveLength(6)
    test.clock.advance(2 * hour)
    expect(await left()).toEqual([reminded, filed, owner, held, there].sort())
    expect(await rows("SELECT 1 FROM organisations WHERE name = 'Theirs alone'")).toEqual([])
    const [entry] = await rows(
      "SELECT agent_id, details FROM audit_entries WHERE resource_id = $1 AND action = 'delete'",
      alone,
    )
    expect(entry).toMatchObject({ agent_id: 'system:accounts.upkeep', details: { reason: 'invitation_not_accepted' } })
    test.clock.advance(20 * day)
    expect(await left()).toEqual([filed, owner, held, there].sort())
  })

  it('creates at most one account per address, for an existing address, concurrent calls and a repeated Idempotency-Key', async () => {
    const admin = await signedIn(kit.test, 'admin')
    const email = `${newId('mail').toLowerCase()}@example.org`
    const both = await Promise.all([
      invite(admin.cookie, { email }),
      invite(admin.cookie, { email: email.toUpperCase() }),
    ])
    expect(both.map(({ status }) => status).sort()).toEqual([201, 409])
    const another = `${newId('mail').toLowerCase()}@example.org`
    const once = { 'Idempotency-Key': newId('key') }
    const body = { email: another, name: 'Somebody', role: 'person' }
    const [one, two] = [
      await kit.test.fetch('POST', '/api/admin/users', { cookie: admin.cookie, body, headers: once }),
      await kit.test.fetch('POST', '/api/admin/users', { cookie: admin.cookie, body, headers: once }),
    ]
    expect([one.status, two.status, two.json.data.account_id]).toEqual([201, 201, one.json.data.account_id])
    await kit.work()
    expect([kit.emailsTo(email).length, kit.emailsTo(another).length]).toEqual([1, 1])
    // The audit log contains no address.
    const found = await rows("SELECT 1 FROM audit_entries WHERE details::text ILIKE '%@example.org%'")
    expect(found).toEqual([])
  })
})

describe('a password reset', () => {
  it('returns the same response and leaves the same traces for a known and an unknown address', async () => {
    const { email, id } = await settled()
    const before = kit.post.letters.length
    const traces = async () =>
      (
        await rows(
          `SELECT (SELECT count(*)::int FROM graphile_worker._private_jobs) AS jobs, (SELECT count(*)::int FROM audit_entries) AS entries,
           (SELECT count(*)::int FROM account_links) AS links`,
        )
      )[0]
    const start = await traces()
    const known = await ask(email.toUpperCase())
    const middle = await traces()
    const unknown = await ask(`${newId('mail').toLowerCase()}@example.org`)
    const end = await traces()
    expect([known.status, known.json]).toEqual([unknown.status, unknown.json])
    for (const name of ['jobs', 'entries', 'links']) expect(middle[name] - start[name]).toBe(end[name] - middle[name])
    const sizes = await rows(
      "SELECT octet_length(payload::text) AS size FROM graphile_worker._private_jobs WHERE payload::text LIKE '%reset-link%'",
    )
    expect(new Set(sizes.map(({ size }) => size)).size).toBe(1)
    await kit.work()
    expect(kit.post.letters.length - before).toBe(1)

    const session = await signIn(email, password)
    expect(session).toBeDefined()
    const word = 'entirely different quiet words'
    expect((await use(codeIn(email), word)).json.data).toEqual({ sessions_ended: 1 })
    expect(await signIn(email, password)).toBeUndefined()
    expect(await signIn(email, word)).toMatchObject({ accountId: id })
    await kit.work()
    expect(kit.emailsTo(email).at(-1)?.subject).toBe('Your password was set')
  })

  it('is limited to three emails an hour, and its link expires after an hour or when another link is used', async () => {
    const { email } = await settled()
    kit.test.clock.advance(hour + 1)
    const before = kit.emailsTo(email).length
    for (let time = 0; time < 5; time++) {
      expect((await ask(email)).status).toBe(202)
      await kit.work()
    }
    expect(kit.emailsTo(email).length - before).toBe(3)
    const codes = kit
      .emailsTo(email)
      .slice(-3)
      .map(({ text }) => /#(\w+)/.exec(text)?.[1] ?? '')
    expect(new Set(codes).size).toBe(3)
    expect((await use(codes[0] ?? '', 'quiet words once more')).status).toBe(200)
    for (const code of codes) expect((await use(code, 'and more quiet words')).status).toBe(410)
    kit.test.clock.advance(hour + 1)
    await ask(email)
    await kit.work()
    kit.test.clock.advance(hour)
    expect((await use(codeIn(email))).status).toBe(410)
  })

  it("resets requested by strangers do not prevent an admin's reset or an invitation", async () => {
    const { email, id } = await settled()
    kit.test.clock.advance(hour + 1)
    const admin = await signedIn(kit.test, 'admin')
    const before = kit.emailsTo(email).length
    for (let time = 0; time < 5; time++) {
      await ask(email)
      await kit.work()
    }
    const send = () => kit.test.fetch('POST', `/api/admin/users/${id}/reset`, admin)
    for (let time = 0; time < 3; time++) {
      expect((await send()).status).toBe(202)
      await kit.work()
    }
    expect([(await send()).status, kit.emailsTo(email).length - before]).toEqual([429, 6])
    elsewhere()
    const invited = `${newId('mail').toLowerCase()}@example.org`
    const { json } = await invite(admin.cookie, { email: invited })
    await kit.work()
    for (let time = 0; time < 4; time++) {
      await ask(invited)
      await kit.work()
    }
    const again = await kit.test.fetch('POST', `/api/admin/users/${json.data.account_id}/invitation`, admin)
    expect(again.status).toBe(202)
    await kit.work()
    expect((await use(codeIn(invited))).status).toBe(200)
  })

  it('has an invalid link after the address changed or the operator reset the password', async () => {
    const { test } = kit
    const [moved, reset] = [await settled(), await settled()]
    for (const { email } of [moved, reset]) await ask(email)
    await kit.work()
    const codes = [codeIn(moved.email), codeIn(reset.email)]
    const next = `${newId('mail').toLowerCase()}@example.org`
    await test.db.transaction((tx) => test.app.accounts.rectify(tx, moved.id, { email: next }, test.clock.now()))
    await rows(
      "INSERT INTO account_identities (issuer, subject, account_id, linked_at) VALUES ('https://id.example', $1, $1, now())",
      reset.id,
    )
    await test.app.accounts.resetPassword(reset.email)
    for (const code of codes) expect((await use(code, 'the mailbox of somebody else')).status).toBe(410)
    // Other ways to sign in end as well.
    const come = () =>
      test.app.accounts.signInWithIdentity(
        {
          issuer: 'https://id.example',
          subject: reset.id,
          email: reset.email,
          isEmailVerified: true,
          isOneFactor: false,
        },
        visit,
      )
    expect(await come()).toBe('unlinked')
    // Requested before the address changed but written later: the email is sent to the new address.
    elsewhere()
    await ask(next)
    await kit.work()
    expect(kit.emailsTo(next)).toHaveLength(1)
  })

  it('is limited by network and address, alike for known and unknown addresses', async () => {
    const { email } = await settled()
    elsewhere()
    for (const address of [email, `${newId('mail').toLowerCase()}@example.org`]) {
      for (let time = 0; time < 5; time++) expect((await ask(address)).status).toBe(202)
      const { status, headers } = await ask(address)
      expect([status, headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^\d+$/)])
    }
    elsewhere()
    for (let time = 0; time < 20; time++) await ask(`${newId('mail').toLowerCase()}@example.org`)
    expect((await ask(`${newId('mail').toLowerCase()}@example.org`)).status).toBe(429)
    elsewhere()
    for (let time = 0; time < 20; time++) expect((await use('x'.repeat(43))).status).toBe(410)
    expect((await use('x'.repeat(43))).status).toBe(429)
    elsewhere()
    await kit.work()
  })

  it('rejects invalid passwords without using up the link, and a link works once in concurrent calls', async () => {
    const { email } = await settled()
    await ask(email)
    await kit.work()
    const code = codeIn(email)
    for (const [word, message] of [
      ['short', /12 characters/],
      [email, /your email address/],
      [password, /your current password/],
      ['aaaaaaaaaaaaaaaa', /repeats/],
    ] as const) {
      const { status, json } = await use(code, word)
      expect([status, json.issues[0].path, json.issues[0].message]).toEqual([
        422,
        ['new_password'],
        expect.stringMatching(message),
      ])
    }
    const both = await Promise.all([use(code, 'the first quiet words'), use(code, 'the second quiet words')])
    expect(both.map(({ status }) => status).sort()).toEqual([200, 410])
    for (const code of ['', 'x', 'x'.repeat(44), "x' OR 1=1 --"]) expect((await use(code)).status).toBe(422)
  })

  it('is not sent to a closed account or one that is being erased, and earlier links stop working', async () => {
    const [closed, deleted] = [await settled(), await settled()]
    for (const { email } of [closed, deleted]) await ask(email)
    await kit.work()
    const codes = [codeIn(closed.email), codeIn(deleted.email)]
    const admin = await signedIn(kit.test, 'admin')
    const { status } = await kit.test.fetch('POST', `/api/admin/users/${closed.id}/deactivate`, admin)
    expect(status).toBe(200)
    await rows(
      "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
      deleted.id,
    )
    for (const code of codes) expect((await use(code, 'some other quiet words')).status).toBe(410)
    const before = kit.post.letters.length
    elsewhere()
    for (const { email } of [closed, deleted]) expect((await ask(email)).status).toBe(202)
    await kit.work()
    expect(kit.post.letters.length).toBe(before)
    await expect(signIn(closed.email, password)).rejects.toMatchObject({ code: 'forbidden' })
  })

  it('has its link deleted an hour after the link expired', async () => {
    const { email, id } = await settled()
    await ask(email)
    await kit.work()
    const upkeep = kit.test.app.jobs.find(({ name }) => name === 'accounts.upkeep')
    const links = async () => (await rows('SELECT 1 FROM account_links WHERE account_id = $1', id)).length
    await upkeep?.execute(kit.test.app.pipeline, {})
    expect(await links()).toBe(2)
    kit.test.clock.advance(hour + 1_000)
    await upkeep?.execute(kit.test.app.pipeline, {})
    expect(await links()).toBe(1)
    kit.test.clock.advance(hour)
    await upkeep?.execute(kit.test.app.pipeline, {})
    expect(await links()).toBe(0)
  })
})
