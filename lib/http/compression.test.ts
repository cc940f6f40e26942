import { brotliDecompressSync, gunzipSync } from 'node:zlib'
import { expect, it } from 'vitest'
import { acceptedEncoding, compressed } from './api-request.ts'

const body = JSON.stringify({ data: Array.from({ length: 100 }, (_, n) => ({ id: n, name: 'A record of a list' })) })
const answer = { status: 200, headers: { 'Content-Type': 'application/json', ETag: 'W/"1"' }, body }
const all = { 'accept-encoding': 'gzip, br' }

it.each([
  ['a client that accepts Brotli', all, 'br'],
  ['a client that accepts only gzip', { 'accept-encoding': 'br;q=0, gzip' }, 'gzip'],
  ['a client that accepts no encoding', {}, undefined],
  ['a request of a page with a session', { ...all, cookie: 'session=1', 'sec-fetch-site': 'same-origin' }, 'br'],
  [
    'a request with a session that another site caused',
    { ...all, cookie: 'a=1', 'sec-fetch-site': 'cross-site' },
    undefined,
  ],
  ['a request with a session and of unknown cause', { ...all, cookie: 'session=1' }, undefined],
])('the text for %s has the right encoding', async (_, headers, encoding) => {
  const sent = await compressed(answer, { headers })
  expect([sent.headers['Content-Encoding'], sent.headers.Vary]).toEqual([encoding, 'Accept-Encoding'])
  const bytes = Buffer.from(sent.body as string | Uint8Array)
  const text = encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes
  expect(text.toString()).toBe(body)
})

it.each([
  ['a strong ETag', { ...answer, headers: { ETag: '"v1"' } }],
  ['few bytes', { ...answer, body: '{}' }],
  ['bytes', { ...answer, body: Buffer.from(body) }],
  ['no body', { ...answer, body: null }],
])('a response with %s remains unchanged', async (_, unchanged) => {
  expect(await compressed(unchanged, { headers: all })).toBe(unchanged)
})

it.each([
  [null, 'identity'],
  ['', 'identity'],
  ['*', 'identity'],
  ['gzip', 'gzip'],
  ['GZIP;q=0.5, deflate', 'gzip'],
  ['gzip, deflate, br', 'br'],
  ['br;q=0, gzip', 'gzip'],
  ['br; q=0.000, gzip; q=0', 'identity'],
  ['brotli, x-gzip', 'identity'],
])('acceptedEncoding of %j returns %s', (header, encoding) => {
  expect(acceptedEncoding(header)).toBe(encoding)
})
