import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer, request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { brotliCompressSync, brotliDecompressSync, gunzipSync, gzipSync } from 'node:zlib'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { consolePages } from './console-pages.ts'

const script = 'export const words = "one two three"\n'.repeat(200)
const page = `<!doctype html><p>${'A page of the console. '.repeat(200)}</p>`
const built = '/_next/static/chunks/words.js'

const folder = mkdtempSync(join(tmpdir(), 'kp-pages-'))
const pages = async () => {
  const chunks = join(folder, '.next/static/chunks')
  mkdirSync(chunks, { recursive: true })
  writeFileSync(join(folder, '.next/secret.js'), 'secret')
  writeFileSync(join(chunks, 'words.js'), script)
  writeFileSync(join(chunks, 'words.js.br'), brotliCompressSync(script))
  writeFileSync(join(chunks, 'words.js.gz'), gzipSync(script))
  writeFileSync(join(chunks, 'font.woff2'), 'font')
  return consolePages(async ({ url }, response) => {
    const isPage = url?.startsWith('/page')
    response.writeHead(isPage ? 200 : 404, { 'Content-Type': 'text/html; charset=utf-8' })
    response.end(isPage ? page : 'not found')
  }, folder)
}
const server = createServer()
let port = 0
beforeAll(async () => {
  server.on('request', await pages())
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const address = server.address()
  port = typeof address === 'object' ? (address?.port ?? 0) : 0
})
afterAll(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

/** Sends the path unchanged. The body is as sent. */
const ask = (path: string, headers: Record<string, string> = {}, method = 'GET') =>
  new Promise<{ status: number; headers: Record<string, unknown>; bytes: Buffer }>((resolve, reject) => {
    request({ host: '127.0.0.1', port, path, headers, method }, async (response) => {
      const bytes = Buffer.concat(await Array.fromAsync(response))
      resolve({ status: response.statusCode ?? 0, headers: response.headers, bytes })
    })
      .once('error', reject)
      .end()
  })
const decoded = (encoding: unknown, bytes: Buffer): string =>
  (encoding === 'br' ? brotliDecompressSync(bytes) : encoding === 'gzip' ? gunzipSync(bytes) : bytes).toString()

describe('a file of the build', () => {
  it.each([
    ['br, gzip', 'br'],
    ['gzip, deflate', 'gzip'],
    ['br;q=0, gzip', 'gzip'],
    ['br;q=0, gzip;q=0', undefined],
    ['identity', undefined],
  ])('for Accept-Encoding %j has the encoding %s', async (accepted, encoding) => {
    const { status, headers, bytes } = await ask(built, { 'Accept-Encoding': accepted })
    expect([status, headers['content-encoding'], decoded(encoding, bytes)]).toEqual([200, encoding, script])
    expect(headers).toMatchObject({
      vary: 'Accept-Encoding',
      'cache-control': 'public, max-age=31536000, immutable',
      'content-type': 'text/javascript; charset=utf-8',
      'content-length': String(bytes.byteLength),
      'x-content-type-options': 'nosniff',
    })
  })

  it('has one ETag for each encoding, with which a request returns 304 without a body', async () => {
    const etags = new Set<unknown>()
    for (const accepted of ['br', 'gzip', 'identity']) {
      const { etag } = (await ask(built, { 'Accept-Encoding': accepted })).headers
      const again = await ask(built, { 'Accept-Encoding': accepted, 'If-None-Match': String(etag) })
      expect([again.status, again.bytes.byteLength]).toEqual([304, 0])
      etags.add(etag)
    }
    expect(etags.size).toBe(3)
  })

  it('has the headers without the body for HEAD', async () => {
    const { headers } = await ask(built, { 'Accept-Encoding': 'br' })
    const head = await ask(built, { 'Accept-Encoding': 'br' }, 'HEAD')
    expect([head.status, head.bytes.byteLength, head.headers['content-length']]).toEqual([
      200,
      0,
      headers['content-length'],
    ])
  })

  it.each([
    ['bytes=0-9', 206, script.slice(0, 10)],
    ['bytes=-5', 206, script.slice(-5)],
    ['bytes=999999-', 416, ''],
    ['lines=1-2', 200, script],
  ])('for Range %j returns %i', async (range, status, text) => {
    const answer = await ask(built, { Range: range })
    expect([answer.status, answer.bytes.toString()]).toEqual([status, text])
  })

  it.each([
    '/_next/static/../secret.js',
    '/_next/static/chunks/../../secret.js',
    '/_next/static/%2e%2e/secret.js',
    '/_next/static/..%2fsecret.js',
    '/_next/static/..\\secret.js',
    '/_next/static//etc/passwd.js',
    '/_next/static/chunks/words.js%00.js',
    '/_next/static/chunks/words.js.br',
    '/_next/static/chunks',
    '/_next/static/__proto__.js',
  ])('is not served for the path %s', async (path) => {
    const { status, bytes } = await ask(path)
    expect([status, bytes.toString()]).toEqual([404, 'not found'])
  })

  it('has no encoding without a compressed copy, and returns 404 after it was deleted', async () => {
    const font = '/_next/static/chunks/font.woff2?v=1'
    const { status, headers } = await ask(font, { 'Accept-Encoding': 'br' })
    expect([status, headers['content-encoding'], headers['content-type']]).toEqual([200, undefined, 'font/woff2'])
    rmSync(join(folder, '.next/static/chunks/font.woff2'))
    const deleted = await ask(font)
    expect([deleted.status, deleted.headers['cache-control']]).toEqual([404, 'no-store'])
  })
})

describe('a page', () => {
  const session = { 'Accept-Encoding': 'br, gzip', Cookie: 'session=1' }
  it.each([
    [{ 'Accept-Encoding': 'br, gzip' }, 'br'],
    [{ 'Accept-Encoding': 'br;q=0, gzip' }, 'gzip'],
    [{ 'Accept-Encoding': 'identity' }, undefined],
    [{ ...session, 'Sec-Fetch-Site': 'same-origin' }, 'br'],
    [{ ...session, 'Sec-Fetch-Site': 'none' }, 'br'],
    [{ ...session, 'Sec-Fetch-Site': 'cross-site' }, undefined],
    [{ ...session, 'Sec-Fetch-Site': 'same-site' }, undefined],
    [session, undefined],
  ])('for %j has the encoding %s', async (headers, encoding) => {
    const answer = await ask('/page', { ...headers })
    expect([answer.headers['content-encoding'], decoded(encoding, answer.bytes)]).toEqual([encoding, page])
  })
})
