// Floods of requests that count in no token's window.

import { get } from 'node:http'
import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it, onTestFinished, vi } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'

const waits = { erasure: 120_000, connection: 120_000, limits: 60_000, admission: 1_500 }
const opened = () => testApp({ KP_TRUSTED_PROXIES: '127.0.0.1' }, undefined, { waits })
let test: TestApp
beforeAll(async () => {
  test = await opened()
})
afterAll(() => test.close())
const from = (address: string) => ({ 'X-Forwarded-For': address })

describe('GET /openapi.json', () => {
  /** The response as sent: fetch decompresses. */
  const ask = (headers: Record<string, string>, method = 'GET') =>
    new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((done, failed) => {
      get(`${test.url}/openapi.json`, { headers, method }, async (response) => {
        const bytes = Buffer.concat(await Array.fromAsync(response))
        done({ status: response.statusCode ?? 0, headers: response.headers, bytes })
      }).once('error', failed)
    })

  it('returns the document in the accepted encoding, with one ETag and a length', async () => {
    const document = JSON.stringify(test.app.openApi())
    const [plain, gzip, br] = [
      await ask({}),
      await ask({ 'Accept-Encoding': 'gzip' }),
      await ask({ 'Accept-Encoding': 'gzip, br' }),
    ]
    expect([plain.status, plain.headers['content-encoding'], plain.bytes.toString('utf8')]).toEqual([
      200,
      undefined,
      document,
    ])
    expect([gzip.headers['content-encoding'], gunzipSync(gzip.bytes).toString('utf8')]).toEqual(['gzip', document])
    expect([br.headers['content-encoding'], brotliDecompressSync(br.bytes).toString('utf8')]).toEqual(['br', document])
    expect(br.bytes.byteLength).toBeLessThan(plain.bytes.byteLength / 5)
    for (const { headers, bytes } of [plain, gzip, br]) {
      expect(headers).toMatchObject({
        'content-type': 'application/json',
        'content-length': String(bytes.byteLength),
        vary: 'Accept-Encoding',
        etag: plain.headers.etag,
        'x-content-type-options': 'nosniff',
      })
    }
    const head = await ask({ 'Accept-Encoding': 'br' }, 'HEAD')
    expect([head.status, head.bytes.byteLength, head.headers['content-length']]).toEqual([
      200,
      0,
      br.headers['content-length'],
    ])
  })

  it('returns 304 without a body for the ETag of any encoding', async () => {
    const { headers } = await ask({ 'Accept-Encoding': 'br' })
    const again = await ask({ 'If-None-Match': String(headers.etag) })
    expect([again.status, again.bytes.byteLength, again.headers.etag]).toEqual([304, 0, headers.etag])
    expect((await ask({ 'If-None-Match': '"other"' })).status).toBe(200)
  })
})

describe('the rate limit of pages', () => {
  it('counts pages, /openapi.json and unknown API addresses of one client together, and returns 429 above it', async () => {
    const flood = await opened()
    onTestFinished(() => flood.close())
    const paths = ['/overview', '/openapi.json', '/v1/nowhere', '/api/nowhere/at/all']
    const found = new Map<number, number>()
    for (let n = 0; n < 3_000; n += 50)
      await Promise.all(
        Array.from({ length: 50 }, async (_, m) => {
          const path = paths[(n + m) % paths.length] ?? ''
          const headers = { ...from('203.0.113.7'), 'If-None-Match': '*' }
          const { status } = await flood.fetch('GET', path, { headers })
          found.set(status, (found.get(status) ?? 0) + 1)
        }),
      )
    expect(Object.fromEntries(found)).toEqual({ 304: 750, 404: 2_250 })
    for (const path of paths) {
      const refused: TestResponse = await flood.fetch('GET', path, { headers: from('203.0.113.7') })
      expect([path, refused.status, refused.json.code]).toEqual([path, 429, 'rate_limited'])
      expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
      expect((await flood.fetch('GET', path, { headers: from('203.0.113.8') })).status).not.toBe(429)
    }
    // Operations have their own limits.
    const { token } = await flood.agent()
    expect((await flood.fetch('GET', '/v1/auth/me', { token, headers: from('203.0.113.7') })).status).toBe(200)
    expect((await flood.fetch('GET', '/health', { headers: from('203.0.113.7') })).status).toBe(200)
  })
})

describe('POST /v1/auth/register', () => {
  it('uses at most two database connections for one network, so that others can read, write and register during a flood', async () => {
    const register = (address: string) => test.fetch('POST', '/v1/auth/register', { headers: from(address) })
    const { token } = await test.agent()
    expect((await register('198.51.100.1')).status).toBe(201)
    const responses: TestResponse[] = []
    await withConnection(test.ownerUrl, async (lockOwner) => {
      // Registrations of known networks wait for their row.
      await lockOwner.query('BEGIN; SELECT 1 FROM registration_networks FOR UPDATE')
      for (let n = 0; n < 60; n++) void register(`198.51.100.${n}`).then((one) => responses.push(one))
      await vi.waitUntil(() => responses.length === 58, { timeout: 120_000 })
      expect(responses.map(({ status, json }) => `${status} ${json.code}`)).toEqual(Array(58).fill('503 unavailable'))
      for (const { headers } of responses) expect(headers.get('retry-after')).toBe('2')
      const busy = await test.db.query<{ n: number }>(
        undefined,
        `SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
      )
      expect(busy).toEqual([{ n: 2 }])
      expect((await test.fetch('GET', '/v1/auth/me', { token })).status).toBe(200)
      expect((await register('192.0.2.1')).status).toBe(201)
      expect(responses).toHaveLength(58)
    })
    await vi.waitUntil(() => responses.length === 60, { timeout: 120_000 })
    expect(responses.slice(58).map(({ status }) => status)).toEqual([201, 201])
    // Nothing was refused for its rate: the network registers again.
    expect((await register('198.51.100.1')).status).toBe(201)
  })
})
