import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { cookieFetch } from '#lib/client/cookies.ts'
import { hashPassword } from '#lib/domains/accounts/passwords.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { authPages } from '#lib/testing/next-auth.ts'
import { client, type Known, openIdProviderFor, type TestProvider } from '#lib/testing/openid-provider.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { freePort } from '#lib/testing/ports.ts'
import { identityProvider } from './openid.ts'

const originalUrl = process.env.NEXTAUTH_URL
let test: TestApp
let post: Mailbox
let provider: TestProvider
beforeAll(async () => {
  const port = await freePort()
  const url = `http://127.0.0.1:${port}`
  // As bin/server.ts tells it.
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

/** A browser with cookies of its own for each site; tries count by network, so each comes from another. */
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
    /** Where the button leads: the provider's address with the request. */
    async begin(callbackUrl = '/settings/privacy'): Promise<string> {
      const { csrfToken } = (await (await ask(`${base}/api/auth/csrf`)).json()) as { csrfToken: string }
      const body = new URLSearchParams({ csrfToken, callbackUrl, json: 'true' })
      const answer = await ask(`${base}/api/auth/signin/oidc`, { method: 'POST', body })
      return String(((await answer.json()) as { url?: string }).url)
    },
    /** Follows to the last address that is a page of ours; `until` stops before an address is asked for. */
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
/** The whole way: from the button to a page of ours. */
async function arrive(person: Known, callbackUrl?: string) {
  provider.is(person)
  const own = browser()
  const end = new URL(await own.follow(await own.begin(callbackUrl)))
  return { own, end, error: end.searchParams.get('error'), status: (await own.me()).status }
}

describe('who comes from the provider', () => {
  it('the first time is linked to the account of the verified address, and signed in as with a password', async () => {
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

    // From then on by the subject alone, whatever the provider says of the address.
    const later = await arrive({ sub, email: 'moved@example.org', email_verified: false })
    expect([later.status, later.error]).toEqual([200, null])
    await drain(test, { except: ['privacy.clock'] })
    expect(post.letters.filter(({ to }) => to === email)).toHaveLength(1)
  })

  it('with an address that the provider did not verify, or none, is refused, whether or not an account has it', async () => {
    const person = await signedIn(test)
    const email = await emailOf(person)
    for (const known of [
      { email, email_verified: false },
      { email },
      {},
      { email: 'nobody@example.org', email_verified: false },
    ] satisfies Partial<Known>[]) {
      const { error, status, end } = await arrive({ sub: subject(), ...known })
      expect([error, status, end.pathname]).toEqual(['unverified', 401, '/sign-in'])
    }
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', person.accountId)).toEqual([])
  })

  it('and whom nobody invited gets no account, and is told so where they wanted to go from', async () => {
    const before = await rows('SELECT count(*)::int AS n FROM accounts')
    const { error, status, end } = await arrive(
      { sub: subject(), email: 'new@example.org', email_verified: true },
      '/tokens',
    )
    expect([error, status]).toEqual(['uninvited', 401])
    expect(end.searchParams.get('callbackUrl')).toMatch(/\/tokens$/)
    expect(await rows('SELECT count(*)::int AS n FROM accounts')).toEqual(before)
  })

  it('of another issuer with the same subject, or of this one with another’s address, is somebody else', async () => {
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
    // The provider gave the address to somebody else: the account stays with whom it was linked to.
    const heir = await arrive({ sub: subject(), email: await emailOf(other), email_verified: true })
    expect([heir.error, heir.status]).toEqual(['uninvited', 401])
  })

  it('to an account that is closed, or being erased, comes not in, and is not linked', async () => {
    const [closed, gone] = [await signedIn(test), await signedIn(test)]
    const sub = subject()
    expect((await arrive({ sub, email: await emailOf(closed), email_verified: true })).status).toBe(200)
    await rows('UPDATE accounts SET deactivated_at = now() WHERE id = $1', closed.accountId)
    const again = await arrive({ sub, email: await emailOf(closed), email_verified: true })
    expect([again.error, again.status]).toEqual(['forbidden:', 401])
    await rows(
      "INSERT INTO write_fences (kind, id, run_id, raised_at) VALUES ('account', $1, 'run_x', now())",
      gone.accountId,
    )
    const late = await arrive({ sub: subject(), email: await emailOf(gone), email_verified: true })
    expect([late.error, late.status]).toEqual(['fenced:', 401])
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', gone.accountId)).toEqual([])
    expect(
      await rows(
        'SELECT 1 FROM sessions WHERE account_id = $1 AND revoked_at IS NULL AND user_agent <> $2',
        gone.accountId,
        '',
      ),
    ).toEqual([])
  })

  it('who was invited opens the letter’s link first: the provider’s word for an address is not the mailbox itself', async () => {
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
    const letters = post.letters.filter(({ to }) => to === email)
    const code = /\/password\/new#(\w+)/.exec(letters.at(-1)?.text ?? '')?.[1]
    const used = await test.fetch('POST', '/api/account/password/link', {
      body: { code, new_password: 'three unrelated quiet words' },
    })
    expect(used.status).toBe(200)
    expect((await arrive(known)).status).toBe(200)
    const { json: after } = await test.fetch('GET', `/api/admin/users/${json.data.account_id}`, admin)
    expect(after.data).toMatchObject({ states: ['active'], identities: [{ issuer: provider.issuer }] })
  })

  it('whose sign-in was unlinked stays out, and is not linked again; nor is another that gets the address', async () => {
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
    // The session that the provider opened is over, too.
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

  it('the first time twice at once is linked once', async () => {
    const person = await signedIn(test)
    const known = { sub: subject(), email: await emailOf(person), email_verified: true }
    const both = await Promise.all([arrive(known), arrive(known), arrive(known)])
    expect(both.map(({ status }) => status)).toEqual([200, 200, 200])
    expect(await rows('SELECT 1 FROM account_identities WHERE account_id = $1', person.accountId)).toHaveLength(1)
  })
})

describe('an answer of the provider', () => {
  const known = async () => ({ sub: subject(), email: await emailOf(await signedIn(test)), email_verified: true })

  it('asks with PKCE, state and nonce, and names our address alone', async () => {
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

  it('works once: the same address again opens nothing, in the same browser or another', async () => {
    provider.is(await known())
    const own = browser()
    const callback = await own.follow(await own.begin(), isCallback)
    const thief = browser()
    await thief.begin()
    const stolen = await thief.follow(callback)
    expect([new URL(stolen).searchParams.get('error'), (await thief.me()).status]).toEqual(['OAuthCallback', 401])
    // The state was another browser's: nothing was spent, and its own goes on.
    await own.follow(callback)
    expect((await own.me()).status).toBe(200)
    const sessions = (await rows('SELECT count(*)::int AS n FROM sessions'))[0].n
    const replayed = await own.follow(callback)
    expect(new URL(replayed).searchParams.get('error')).toBe('OAuthCallback')
    expect((await rows('SELECT count(*)::int AS n FROM sessions'))[0].n).toBe(sessions)
  })

  it('that is made up, or tampered with, opens nothing', async () => {
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

  it('leads to no other site, whatever was asked for', async () => {
    const person = await known()
    for (const callbackUrl of ['https://evil.example/', '//evil.example', 'javascript:alert(1)']) {
      const { end } = await arrive(person, callbackUrl)
      expect(end.origin).toBe(test.url)
    }
  })
})

/** Another installation with a provider of its own, while `run` lasts. next-auth knows one address in a process. */
async function elsewhere(
  options: { isInToken: boolean; isDown: boolean },
  run: (at: { url: string; other: TestApp; by: TestProvider }) => Promise<void>,
) {
  const port = await freePort()
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
  it('may put the address into the ID token; the same subject as here is nobody there', async () => {
    const sub = subject()
    const known = { sub, email: await emailOf(await signedIn(test)), email_verified: true }
    expect((await arrive(known)).status).toBe(200)
    await elsewhere({ isInToken: true, isDown: false }, async ({ url, other, by }) => {
      const person = await signedIn(other)
      // As a dump of the first installation would bring it.
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

  it('that names one address in the ID token and verifies another elsewhere vouches for that other alone', async () => {
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
    // The token says both: nobody else is asked.
    expect(await said({ sub: 's', email: inToken, email_verified: false }, 'own@example.org')).toEqual({
      sub: 's',
      email: inToken,
      email_verified: false,
    })
  })

  it('that does not answer: the sign-in page says so', async () => {
    await elsewhere({ isInToken: false, isDown: true }, async ({ url }) => {
      expect(await browser(url).begin()).toMatch(/error=OAuthSignin$/)
    })
  })
})
