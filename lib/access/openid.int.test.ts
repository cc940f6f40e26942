import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cookieFetch } from '#lib/client/cookies.ts'
import { hashPassword } from '#lib/domains/accounts/passwords.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { authPages } from '#lib/testing/next-auth.ts'
import { client, openIdProviderFor, type ProviderUser, type TestProvider } from '#lib/testing/openid-provider.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { identityProvider } from './next-auth.ts'

const originalUrl = process.env.NEXTAUTH_URL
let test: TestApp
let post: Mailbox
let provider: TestProvider
beforeAll(async () => {
  const port = await freeTestPort()
  const url = `http://127.0.0.1:${port}`
  // Like bin/server.ts.
  process.env.NEXTAUTH_URL = url
  post = await mailbox()
  provider = await openIdProviderFor(`${url}/api/auth/callback/oidc`)
  test = await testApp(
    {
      KP_URL: url,
      KP_SMTP_URL: post.url,
      KP_TRUSTED_PROXIES: '127.0.0.1',
      KP_OIDC_ISSUER: provider.issuer,
      KP_OIDC_CLIENT_ID: client.id,
      KP_OIDC_CLIENT_SECRET: client.secret,
    },
    undefined,
    { pages: authPages, port },
  )
})
afterAll(async () => {
  if (originalUrl === undefined) delete process.env.NEXTAUTH_URL
  else process.env.NEXTAUTH_URL = originalUrl
  await test?.close()
  await provider?.close()
  await post?.close()
})
afterEach(() => drain(test, { except: ['privacy.clock'] }))

const rows = async (sql: string, ...values: unknown[]) => (await test.db.pool.query(sql, values)).rows
const emailOf = async ({ accountId }: Person): Promise<string> =>
  (await rows('SELECT email FROM accounts WHERE id = $1', accountId))[0].email
const subject = () => newId('sub')
const fail = () => {
  throw new Error('it asks no UserInfo endpoint')
}

/** A browser with separate cookies for each site. Attempts are limited by network, so each browser has a different one. */
let network = 1
function browser(base = test.url) {
  const from = `198.51.100.${network++}`
  const jars = new Map<string, typeof fetch>()
  const at = (url: string): typeof fetch => {
    const { origin } = new URL(url)
    const jar = jars.get(origin) ?? cookieFetch()
    jars.set(origin, jar)
    return jar
  }
  const ask = (url: string, init: RequestInit = {}) =>
    at(url)(url, {
      ...init,
      headers: { 'X-Forwarded-For': from, 'User-Agent': 'Firefox/140.0 (X11; Linux)', 'Accept-Language': 'zh' },
    })
  return {
    ask,
    /** The address that the sign-in button leads to: the provider's, with the request. */
    async begin(callbackUrl = '/settings/privacy'): Promise<string> {
      const { csrfToken } = (await (await ask(`${base}/api/auth/csrf`)).json()) as { csrfToken: string }
      const body = new URLSearchParams({ csrfToken, callbackUrl, json: 'true' })
      const answer = await ask(`${base}/api/auth/signin/oidc`, { method: 'POST', body })
      return String(((await answer.json()) as { url?: string }).url)
    },
    /** Follows redirects to the last address, which is a page of ours; `until` stops before an address is requested. */
    async follow(start: string, until: (url: string) => boolean = () => false): Promise<string> {
      let url = start
      for (let step = 0; step < 12 && !until(url); step++) {
        const answer = await ask(url)
        const location = answer.headers.get('location')
        if (location === null) return url
        url = new URL(location, url).href
      }
      return url
    },
    me: async () => ask(`${base}/api/account`),
  }
}
const isCallback = (url: string) => url.includes('/api/auth/callback/oidc')
/** Runs the complete sign-in, from the button to a page of ours. */
async function arrive(person: ProviderUser, callbackUrl?: string) {
  provider.is(person)
  const own = browser()
  const end = new URL(await own.follow(await own.begin(callbackUrl)))
  return { own, end, error: end.searchParams.get('error'), status: (await own.me()).status }
}

describe('a person whom the OpenID provider authenticates', () => {
  it('is linked to the account of the verified address the first time, and signed in as with a password', async () => {
    const person = await signedIn(test)
    const email = await emailOf(person)
    const sub = subject()
    const first = await arrive({ sub, email: email.toUpperCase(), email_verified: true })
    expect([first.end.pathname, first.error, first.status]).toEqual(['/settings/privacy', null, 200])
    expect(
      await rows('SELECT issuer, subject FROM account_identities WHERE account_id = $1', person.accountId),
    ).toEqual([{ issuer: provider.issuer, subject: sub }])
    const me = (await (await first.own.me()).json()) as { data: { account_id: string; locale: string } }
    expect(me.data).toMatchObject({ account_id: person.accountId, locale: 'zh' })
    const sessions = await rows(
      'SELECT id, user_agent FROM sessions WHERE account_id = $1 AND user_agent <> $2',
      person.accountId,
      '',
    )
    expect(sessions).toEqual([{ id: expect.any(String), user_agent: 'Firefox on Linux' }])
    expect(await rows('SELECT agent_id, details FROM audit_entries WHERE resource_id = $1', sessions[0].id)).toEqual([
      { agent_id: `user:${person.accountId}`, details: { operation: 'signIn', by: 'identity' } },
    ])
    // Revoked like any other.
    expect((await test.fetch('DELETE', `/api/sessions/${sessions[0].id}`, person)).status).toBe(204)
    expect((await first.own.me()).status).toBe(401)
    await drain(test, { except: ['privacy.clock'] })
    expect(post.letters.filter(({ to }) => to === email).map(({ subject: title }) => title)).toEqual([
      '您的账户关联了新的登录方式',
    ])

    // From now on, only the subject counts, whatever the provider reports about the address.
    const later = await arrive({ sub, email: 'moved@example.org', email_verified: false })
    expect([later.status, later.error]).toEqual([200, null])
    await drain(test, { except: ['privacy.clock'] })
    expect(post.letters.filter(({ to }) => to === email)).toHaveLength(1)
  })

  it.each([
    [['pwd'], 'identity-one-factor'],
    [['pwd', 'otp'], 'identity'],
    [undefined, 'identity'],
  ])('with the methods %j gets a session that is marked %s', async (amr, expected) => {
    const person = await signedIn(test)
    const email = await emailOf(person)
    const { status } = await arrive({ sub: subject(), email, email_verified: true, ...(amr && { amr }) })
    expect(status).toBe(200)
    const opened = 'SELECT signed_in_with FROM sessions WHERE account_id = $1 AND signed_in_with IS NOT NULL'
    expect(await rows(opened, person.accountId)).toEqual([{ signed_in_with: expected }])
  })

  it('is rejected when the provider did not verify an address, whether or not an account has it', async () => {
    const person = await signedIn(test)
    const email = await emailOf(person)
    for (const known of [
      { email, email_verified: false },
      { email },
      {},
      { email: 'nobody@example.org', email_verified: false },
    ] satisfies Partial<ProviderUser>[]) {
      const { error, status, end } = await arrive({ sub: subject(), ...known })
      expect([error, status, end.pathname]).toEqual(['unverified', 401, '/sign-in'])
    }
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', person.accountId)).toEqual([])
  })

  it('gets no account without an invitation, and sees the reason on the sign-in page', async () => {
    const before = await rows('SELECT count(*)::int AS n FROM accounts')
    const { error, status, end } = await arrive(
      { sub: subject(), email: 'new@example.org', email_verified: true },
      '/tokens',
    )
    expect([error, status]).toEqual(['uninvited', 401])
    expect(end.searchParams.get('callbackUrl')).toMatch(/\/tokens$/)
    expect(await rows('SELECT count(*)::int AS n FROM accounts')).toEqual(before)
  })

  it('is a different person with another issuer, or with another subject and this address', async () => {
    const [victim, other] = [await signedIn(test), await signedIn(test)]
    const sub = subject()
    await rows(
      "INSERT INTO account_identities (issuer, subject, account_id, linked_at) VALUES ('https://other.example', $1, $2, now())",
      sub,
      victim.accountId,
    )
    const stranger = await arrive({ sub, email: 'stranger@example.org', email_verified: true })
    expect([stranger.error, stranger.status]).toEqual(['uninvited', 401])
    const own = await arrive({ sub, email: await emailOf(other), email_verified: true })
    const me = (await (await own.own.me()).json()) as { data: { account_id: string } }
    expect(me.data.account_id).toBe(other.accountId)
    // The provider reassigned the address: the account stays linked to the original person.
    const heir = await arrive({ sub: subject(), email: await emailOf(other), email_verified: true })
    expect([heir.error, heir.status]).toEqual(['uninvited', 401])
  })

  it('is neither signed in nor linked when the account is closed or being erased', async () => {
    const [closed, deleted] = [await signedIn(test), await signedIn(test)]
    const sub = subject()
    expect((await arrive({ sub, email: await emailOf(closed), email_verified: true })).status).toBe(200)
    await rows('UPDATE accounts SET deactivated_at = now() WHERE id = $1', closed.accountId)
    const again = await arrive({ sub, email: await emailOf(closed), email_verified: true })
    expect([again.error, again.status]).toEqual(['forbidden:', 401])
    await rows(
      "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
      deleted.accountId,
    )
    const late = await arrive({ sub: subject(), email: await emailOf(deleted), email_verified: true })
    expect([late.error, late.status]).toEqual(['fenced:', 401])
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', deleted.accountId)).toEqual([])
    expect(
      await rows(
        'SELECT 1 FROM sessions WHERE account_id = $1 AND revoked_at IS NULL AND user_agent <> $2',
        deleted.accountId,
        '',
      ),
    ).toEqual([])
  })

  it('needs the invitation link first when invited: the provider’s verification does not prove access to the mailbox', async () => {
    const admin = await signedIn(test, 'admin')
    const email = `${newId('mail').toLowerCase()}@example.org`
    const { json } = await test.fetch('POST', '/api/admin/users', {
      ...admin,
      body: { email, name: 'New', role: 'person' },
    })
    expect(json.data.states).toEqual(['invited'])
    const known = { sub: subject(), email, email_verified: true }
    const early = await arrive(known)
    expect([early.error, early.status]).toEqual(['unaccepted', 401])
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', json.data.account_id)).toEqual([])
    await drain(test, { except: ['privacy.clock'] })
    const emails = post.letters.filter(({ to }) => to === email)
    const code = /\/password\/new#(\w+)/.exec(emails.at(-1)?.text ?? '')?.[1]
    const used = await test.fetch('POST', '/api/account/password/link', {
      body: { code, new_password: 'three unrelated quiet words' },
    })
    expect(used.status).toBe(200)
    expect((await arrive(known)).status).toBe(200)
    const { json: after } = await test.fetch('GET', `/api/admin/users/${json.data.account_id}`, admin)
    expect(after.data).toMatchObject({ states: ['active'], identities: [{ issuer: provider.issuer }] })
  })

  it('stays signed out and unlinked after the sign-in was unlinked, and so does another person with the address', async () => {
    const person = await signedIn(test)
    const known = { sub: subject(), email: await emailOf(person), email_verified: true }
    const first = await arrive(known)
    expect(first.status).toBe(200)
    await rows(
      'UPDATE accounts SET password_hash = $2 WHERE id = $1',
      person.accountId,
      await hashPassword('my own words'),
    )
    const list = await test.fetch('GET', '/api/account/identities', person)
    const unlinked = await test.fetch('POST', `/api/account/identities/${list.json.data[0].identity_id}/unlink`, {
      ...person,
      body: { password: 'my own words' },
    })
    expect([unlinked.status, unlinked.json.data]).toEqual([200, { sessions_ended: 1 }])
    // The session that the provider opened has also ended.
    expect((await first.own.me()).status).toBe(401)
    for (const [who, error] of [
      [known, 'unlinked'],
      [{ ...known, sub: subject() }, 'uninvited'],
    ] as const) {
      const again = await arrive(who)
      expect([again.error, again.status, again.end.pathname]).toEqual([error, 401, '/sign-in'])
    }
    expect(
      await rows(
        'SELECT subject, unlinked_at IS NULL AS linked FROM account_identities WHERE account_id = $1',
        person.accountId,
      ),
    ).toEqual([{ subject: known.sub, linked: false }])
  })

  it('is linked once when two first sign-ins run concurrently', async () => {
    const person = await signedIn(test)
    const known = { sub: subject(), email: await emailOf(person), email_verified: true }
    const both = await Promise.all([arrive(known), arrive(known), arrive(known)])
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', person.accountId)).toHaveLength(1)
  })
})

describe('a response of the provider', () => {
  const known = async () => ({ sub: subject(), email: await emailOf(await signedIn(test)), email_verified: true })

  it('follows a request with PKCE, state and nonce that contains only our own address', async () => {
    const asked = new URL(await browser().begin())
    expect(asked.origin).toBe(provider.issuer)
    expect(Object.fromEntries(asked.searchParams)).toMatchObject({
      code_challenge_method: 'S256',
      code_challenge: expect.stringMatching(/^[\w-]{43}$/),
      state: expect.stringMatching(/^[\w-]{20,}$/),
      nonce: expect.stringMatching(/^[\w-]{20,}$/),
      redirect_uri: `${test.url}/api/auth/callback/oidc`,
      scope: 'openid email profile',
    })
  })

  it('opens one session: the same callback address opens no other, in the same browser or another', async () => {
    provider.is(await known())
    const own = browser()
    const callback = await own.follow(await own.begin(), isCallback)
    const thief = browser()
    await thief.begin()
    const stolen = await thief.follow(callback)
    expect([new URL(stolen).searchParams.get('error'), (await thief.me()).status]).toEqual(['OAuthCallback', 401])
    // The state belonged to another browser: nothing was used up, and that browser can continue.
    await own.follow(callback)
    expect((await own.me()).status).toBe(200)
    const sessions = (await rows('SELECT count(*)::int AS n FROM sessions'))[0].n
    const replayed = await own.follow(callback)
    expect(new URL(replayed).searchParams.get('error')).toBe('OAuthCallback')
    expect((await rows('SELECT count(*)::int AS n FROM sessions'))[0].n).toBe(sessions)
  })

  it('opens no session when it is forged or altered', async () => {
    provider.is(await known())
    for (const spoil of [
      (url: URL) => url.searchParams.set('state', 'x'.repeat(43)),
      (url: URL) => url.searchParams.delete('state'),
      (url: URL) => url.searchParams.set('code', 'x'.repeat(43)),
      (url: URL) => url.searchParams.set('iss', 'https://other.example'),
      (url: URL) => url.searchParams.set('error', '<script>access_denied'),
    ]) {
      const own = browser()
      const callback = new URL(await own.follow(await own.begin(), isCallback))
      spoil(callback)
      const end = await own.follow(callback.href)
      expect([new URL(end).pathname, (await own.me()).status]).toEqual(['/sign-in', 401])
      expect(end).not.toContain('<')
    }
  })

  it('never redirects to another site', async () => {
    const person = await known()
    for (const callbackUrl of ['https://evil.example/', '//evil.example', 'javascript:alert(1)']) {
      const { end } = await arrive(person, callbackUrl)
      expect(end.origin).toBe(test.url)
    }
  })
})

/** Runs another installation with a separate provider while `run` runs. next-auth supports one address per process. */
async function elsewhere(
  options: { isInToken: boolean; isDown: boolean },
  run: (at: { url: string; other: TestApp; by: TestProvider }) => Promise<void>,
) {
  const port = await freeTestPort()
  const url = `http://127.0.0.1:${port}`
  const by = await openIdProviderFor(`${url}/api/auth/callback/oidc`, options)
  if (options.isDown) await by.close()
  process.env.NEXTAUTH_URL = url
  const other = await testApp(
    {
      KP_URL: url,
      KP_OIDC_ISSUER: by.issuer,
      KP_OIDC_CLIENT_ID: client.id,
      KP_OIDC_CLIENT_SECRET: client.secret,
    },
    undefined,
    { pages: authPages, port },
  )
  try {
    await run({ url, other, by })
  } finally {
    process.env.NEXTAUTH_URL = test.url
    await other.close()
    if (!options.isDown) await by.close()
  }
}

describe('another provider', () => {
  it("may put the address into the ID token, and its subject is not the first provider's subject with the same id", async () => {
    const sub = subject()
    const known = { sub, email: await emailOf(await signedIn(test)), email_verified: true }
    expect((await arrive(known)).status).toBe(200)
    await elsewhere({ isInToken: true, isDown: false }, async ({ url, other, by }) => {
      const person = await signedIn(other)
      // Like a database dump of the first installation.
      await other.db.pool.query(
        'INSERT INTO account_identities (issuer, subject, account_id, linked_at) VALUES ($1, $2, $3, now())',
        [provider.issuer, sub, person.accountId],
      )
      by.is(known)
      const stranger = browser(url)
      const end = new URL(await stranger.follow(await stranger.begin()))
      expect([end.searchParams.get('error'), (await stranger.me()).status]).toEqual(['uninvited', 401])
      const { rows: found } = await other.db.pool.query('SELECT email FROM accounts WHERE id = $1', [person.accountId])
      by.is({ sub, email: found[0].email, email_verified: true })
      const own = browser(url)
      await own.follow(await own.begin())
      expect((await own.me()).status).toBe(200)
    })
  })

  it('only vouches for the verified address when the ID token contains another one', async () => {
    const inToken = `${newId('victim').toLowerCase()}@example.org`
    const client = (email: string | undefined) => ({
      issuer: { metadata: { userinfo_endpoint: 'https://id.example/me' } },
      userinfo: async () => ({ sub: 's', email_verified: true, ...(email !== undefined && { email }) }),
    })
    const { userinfo } = identityProvider({
      issuer: 'https://id.example',
      clientId: 'c',
      clientSecret: 's',
      name: 'Id',
    })
    const ask = typeof userinfo === 'object' ? userinfo.request : undefined
    const token = (claims: object) => `x.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.x`
    const said = (claims: object, email?: string): unknown =>
      Reflect.apply(ask ?? fail, undefined, [
        { tokens: { id_token: token(claims), access_token: 'a' }, client: client(email) },
      ])
    expect(await said({ sub: 's', email: inToken }, 'own@example.org')).toMatchObject({
      email: 'own@example.org',
      email_verified: true,
    })
    expect(await said({ sub: 's', email: inToken })).not.toMatchObject({ email: inToken })
    // The token contains both claims, so the UserInfo endpoint is not called.
    expect(await said({ sub: 's', email: inToken, email_verified: false }, 'own@example.org')).toEqual({
      sub: 's',
      email: inToken,
      email_verified: false,
    })
  })

  it('is reported as unavailable on the sign-in page when it does not respond', async () => {
    await elsewhere({ isInToken: false, isDown: true }, async ({ url }) => {
      expect(await browser(url).begin()).toMatch(/error=OAuthSignin$/)
    })
  })
})
