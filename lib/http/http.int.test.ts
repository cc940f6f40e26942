import { connect } from 'node:net'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { signedIn } from '#lib/testing/people.ts'
import { startRedis } from '#lib/testing/redis.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
let agent: { id: string; token: string }
beforeAll(async () => {
  test = await testApp({ KP_TRUSTED_PROXIES: '10.0.0.0/8' })
  agent = await test.agent()
})
afterAll(() => test.close())

/** Sends raw bytes over a socket, for requests that no client library would send. */
const raw = (text: string): Promise<string> =>
  new Promise((done, failed) => {
    const socket = connect(Number(new URL(test.url).port), '127.0.0.1', () => socket.write(text))
    let answer = ''
    socket.on('data', (piece) => {
      answer += piece
    })
    socket.on('close', () => done(answer)).on('error', failed)
  })

describe('every response', () => {
  it.each([
    ['zh-CN,zh;q=0.9,en;q=0.5', '缺少令牌'],
    ['en-GB,zh;q=0.5', 'A token is required'],
    ['fr', 'A token is required'],
  ])('a problem has the title of the language %s', async (language, title) => {
    const refused = await test.fetch('GET', '/v1/auth/me', { headers: { 'Accept-Language': language } })
    expect([refused.status, refused.json.code, refused.json.title]).toEqual([401, 'token_missing', title])
  })

  it('echoes a valid request id, otherwise generates one, and includes it in a problem', async () => {
    const given = await test.fetch('GET', '/v1/auth/me', { token: agent.token, headers: { 'X-Request-Id': 'my-id.1' } })
    expect(given.headers.get('x-request-id')).toBe('my-id.1')
    const odd = await test.fetch('GET', '/v1/auth/me', {
      token: agent.token,
      headers: { 'X-Request-Id': 'a b<script>' },
    })
    expect(odd.headers.get('x-request-id')).toMatch(/^req_/)
    const refused = await test.fetch('GET', '/v1/knowledge/kp:trace:none', { token: agent.token })
    expect(refused.json.instance).toBe(refused.headers.get('x-request-id'))
    expect(refused.json).toMatchObject({ type: '/docs/api#not_found', status: 404, title: 'Not found' })
  })

  it('has the limits of its class, also when it is an error', async () => {
    const { token } = await test.agent()
    const seen = async (response: TestResponse) =>
      ['x-ratelimit-limit', 'x-ratelimit-remaining'].map((name) => Number(response.headers.get(name)))
    expect(await seen(await test.fetch('GET', '/v1/auth/me', { token }))).toEqual([300, 299])
    expect(await seen(await test.fetch('GET', '/v1/knowledge/kp:trace:none', { token }))).toEqual([300, 298])
    expect(await seen(await test.fetch('POST', '/v1/knowledge', { token, body: trace() }))).toEqual([30, 29])
    expect(await seen(await test.fetch('POST', '/v1/knowledge', { token, body: '{' }))).toEqual([30, 28])
    const began = Date.now()
    const anonymous = await test.fetch('GET', '/v1/auth/me')
    expect(anonymous.headers.get('x-ratelimit-limit')).toBe('60')
    for (const response of [
      anonymous,
      await test.fetch('GET', '/health'),
      await test.fetch('POST', '/v1/knowledge', { token, body: '{' }),
    ]) {
      expect(response.headers.get('ratelimit-policy')).toMatch(/^"(read|write)";q=\d+;w=60$/)
      expect(response.headers.get('ratelimit')).toMatch(/^"(read|write)";r=\d+;t=\d+$/)
      expect(Number(response.headers.get('x-ratelimit-reset'))).toBeGreaterThan(began / 1000 - 1)
    }
  })

  it('has the limits of pages when Next handles the request', async () => {
    const seen = []
    for (const path of ['/api/auth/session', '/sign-in', '/api/auth/csrf']) {
      const { status, headers } = await test.fetch('GET', path)
      seen.push([status, headers.get('x-ratelimit-limit'), headers.get('ratelimit-policy')])
      seen.push(Number(headers.get('x-ratelimit-remaining')))
    }
    const first = Number(seen[1])
    const page = [404, '3000', '"read";q=3000;w=60']
    expect(seen).toEqual([page, first, page, first - 1, page, first - 2])
  })

  it('has the limits of its class when the server rejects a page request', async () => {
    const answers = {
      'the body of a form is too large': await test.fetch('POST', '/api/auth/callback/x', { body: 'x'.repeat(70_000) }),
      'the path has malformed escapes': await test.fetch('GET', '/nowhere/%E0%A4%A'),
    }
    expect(Object.values(answers).map(({ status }) => status)).toEqual([413, 400])
    for (const [when, { headers }] of Object.entries(answers)) {
      expect([when, headers.get('x-ratelimit-limit'), headers.get('x-ratelimit-remaining')]).toEqual([when, '60', '60'])
      expect(headers.get('ratelimit-policy')).toBe('"read";q=60;w=60')
      expect(Number(headers.get('x-ratelimit-reset'))).toBeGreaterThan(Date.now() / 1000 - 1)
    }
    expect(answers['the path has malformed escapes'].json.instance).toBe(
      answers['the path has malformed escapes'].headers.get('x-request-id'),
    )
  })

  it('a response to HEAD equals the response to GET without its body', async () => {
    const get = await test.fetch('GET', '/v1/receipts/rcpt_0000000000000000000000')
    const head = await test.fetch('HEAD', '/v1/receipts/rcpt_0000000000000000000000')
    expect([head.status, head.text, head.headers.get('content-type')]).toEqual([
      get.status,
      '',
      get.headers.get('content-type'),
    ])
  })
})

describe('hostile requests', () => {
  it.each([
    ['an invalid length', 'POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n', 400],
    ['two lengths', 'POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
    [
      'a length and chunks',
      'POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nContent-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n',
      400,
    ],
    [
      'invalid percent-encoding in the path',
      'GET /v1/knowledge/%E0%A4%A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n',
      404,
    ],
    ['a path to a parent folder', 'GET /v1/../../etc/passwd HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 404],
    ['a NUL in the path', 'GET /v1/knowledge/kp:trace:%00 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n', 401],
  ])('with %s return the expected status', async (_name, text, status) => {
    expect((await raw(text)).split(' ')[1]).toBe(String(status))
  })

  it('are rejected at the size limit when a chunked body has no Content-Length', async () => {
    const { token } = await test.agent()
    const pieces = Array.from({ length: 400 }, () => '800\r\n'.concat(' '.repeat(2048), '\r\n')).join('')
    const answer = await raw(
      `POST /v1/knowledge HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer ${token}\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n${pieces}0\r\n\r\n`,
    )
    expect(answer.split(' ')[1]).toBe('413')
  })

  it('are rejected as invalid when ids contain escapes and quotes', async () => {
    for (const id of [
      "kp:trace:'; DROP TABLE units; --",
      'kp:trace:../../x',
      'kp:trace:%00',
      `kp:trace:${'x'.repeat(65)}`,
    ]) {
      const response = await test.fetch('GET', `/v1/knowledge/${encodeURIComponent(id)}`, { token: agent.token })
      expect([id, response.status]).toEqual([id, 422])
    }
  })

  it('are rejected as having unknown fields when properties have names of Object.prototype', async () => {
    const { token } = await test.agent()
    const body = JSON.stringify(trace()).replace('{', '{"__proto__":{"isAdmin":true},"constructor":{"prototype":{}},')
    const response = await test.fetch('POST', '/v1/knowledge', { token, body })
    expect(response.status).toBe(422)
    expect(({} as { isAdmin?: boolean }).isAdmin).toBeUndefined()
  })
})

describe('requests outside the API', () => {
  it('are rejected with the headers of every response', async () => {
    const response = await test.fetch('GET', '/v1/nowhere', { headers: { 'X-Request-Id': 'mine' } })
    expect([
      response.status,
      response.headers.get('x-request-id'),
      response.headers.get('x-content-type-options'),
    ]).toEqual([404, 'mine', 'nosniff'])
    expect(response.headers.get('x-ratelimit-limit')).toBe('60')
  })

  it('reach Next only with a small body and Content-Length', async () => {
    const form = (body: Uint8Array) =>
      fetch(`${test.url}/api/auth/callback/credentials`, { method: 'POST', body: body as BodyInit })
    expect((await form(new Uint8Array(1_000))).status).toBe(404) // the page behind the API server in this test
    expect((await form(new Uint8Array(70_000))).status).toBe(413)
    const endless = await raw(
      'POST /sign-in HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n1\r\na\r\n0\r\n\r\n',
    )
    expect(endless.split(' ')[1]).toBe('413')
  })
})

describe('a browser’s session', () => {
  it('writes only when the request comes from our own pages', async () => {
    const person = await signedIn(test)
    const { token } = await test.agent()
    const claim = (headers: Record<string, string>) =>
      test.fetch('POST', '/api/agents/claim', { cookie: person.cookie, body: { token }, headers })
    for (const headers of [
      { Origin: 'https://evil.example' },
      { Origin: 'null' },
      { Origin: 'http://localhost:3000.evil.example' },
    ]) {
      const response = await claim(headers)
      expect([response.status, response.json.code]).toEqual([403, 'cross_site'])
    }
    const bare = await fetch(`${test.url}/api/agents/claim`, {
      method: 'POST',
      headers: { Cookie: person.cookie, 'Content-Type': 'application/json' },
      body: JSON.stringify({ token }),
    })
    expect(bare.status).toBe(403)
    expect((await claim({})).status).toBe(200)
  })

  it('is rejected on the next request after it was revoked, and when it was not issued here', async () => {
    const person = await signedIn(test)
    expect((await test.fetch('GET', '/api/sessions', { cookie: person.cookie })).status).toBe(200)
    await test.db.prisma.session.updateMany({ where: { accountId: person.accountId }, data: { revokedAt: new Date() } })
    expect((await test.fetch('GET', '/api/sessions', { cookie: person.cookie })).status).toBe(401)
    expect((await test.fetch('GET', '/api/sessions', { cookie: 'next-auth.session-token=forged' })).status).toBe(401)
  })

  it('does not replace an invalid token of the same request', async () => {
    const person = await signedIn(test)
    const response = await test.fetch('GET', '/v1/auth/me', { cookie: person.cookie, token: 'kp_broken' })
    expect([response.status, response.json.code]).toEqual([401, 'token_invalid'])
  })
})

describe('anonymous reading', () => {
  it('is off by default; when an admin enables it, reads return network units and are counted by address, ignoring forged headers', async () => {
    const { json } = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const hidden = await test.fetch('POST', '/v1/knowledge', {
      token: agent.token,
      body: trace({}, { visibility: 'org' }),
    })
    const path = `/v1/knowledge/${json.data.id}`
    expect((await test.fetch('GET', path)).status).toBe(401)
    const admin = await signedIn(test, 'admin')
    expect((await test.fetch('PATCH', '/v1/settings', { ...admin, body: { anonymous_reading: true } })).status).toBe(
      200,
    )
    // A setting is cached for a second.
    await expect.poll(async () => (await test.fetch('GET', path)).status, { timeout: 120_000 }).toBe(200)
    expect((await test.fetch('GET', `/v1/knowledge/${hidden.json.data.id}`)).status).toBe(404)
    expect((await test.fetch('POST', '/v1/knowledge', { body: trace() })).status).toBe(401)
    const responses: TestResponse[] = []
    for (let n = 0; n < 70; n++)
      responses.push(await test.fetch('GET', path, { headers: { 'X-Forwarded-For': `198.51.100.${n}` } }))
    const allowed = responses.filter(({ status }) => status === 200).length
    expect(allowed).toBeLessThan(60)
    const last = responses.at(-1)
    expect([last?.status, last?.json.code]).toEqual([429, 'rate_limited'])
    expect(Number(last?.headers.get('retry-after'))).toBeGreaterThan(0)
  })
})

describe('limits on two replicas', () => {
  it.each(['postgres', 'redis'] as const)(
    'over one %s admit together exactly as many requests as the tier allows',
    async (store) => {
      const redis = store === 'redis' ? await startRedis() : undefined
      if (store === 'redis' && redis === undefined) return
      const settings = { KP_LIMITS: store, ...(redis && { KP_REDIS_URL: redis.url }) }
      const one = await testApp(settings)
      const two = await testApp(settings, {
        ownerUrl: one.ownerUrl,
        appUrl: one.app.env.DATABASE_URL ?? '',
        drop: async () => {},
      })
      try {
        const { token } = await one.agent()
        const statuses = await Promise.all(
          Array.from({ length: 64 }, (_, n) =>
            (n % 2 ? one : two).fetch('POST', '/v1/knowledge', { token, body: '{' }).then(({ status }) => status),
          ),
        )
        expect(statuses.filter((status) => status === 400)).toHaveLength(30)
        expect(statuses.filter((status) => status === 429).length).toBeGreaterThanOrEqual(3)
        expect(new Set(statuses)).toEqual(new Set([400, 429]))
        // One burst is one refusal, on both replicas together, so the token is not revoked.
        expect(await one.db.prisma.rateLimitRefusal.count()).toBe(1)
        for (const replica of [one, two])
          expect((await replica.fetch('GET', '/v1/auth/me', { token })).status).toBe(200)
      } finally {
        await two.close()
        await one.close()
        await redis?.stop()
      }
    },
  )
})
