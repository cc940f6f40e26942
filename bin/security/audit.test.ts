import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gunzipSync } from 'node:zlib'
import { expect, it, onTestFinished } from 'vitest'
import { assessAudit, audit, type Exception } from './audit.ts'

const today = '2026-11-23'
const id = 'GHSA-aaaa-bbbb-cccc'
const url = `https://github.com/advisories/${id}`
const exception = { advisory: id, reason: 'We do not call the function.', expires: today }

/** A registry that knows one vulnerable package, or answers every request with a status. */
async function registry(status?: number): Promise<{ address: string; asked: unknown[] }> {
  const asked: unknown[] = []
  const server = createServer(async (request, response) => {
    const pieces: Uint8Array[] = []
    for await (const piece of request) pieces.push(piece)
    if (status !== undefined) return response.writeHead(status).end()
    response.setHeader('Content-Type', 'application/json')
    if (request.url !== '/-/npm/v1/security/advisories/bulk') {
      const versions = {
        '1.0.0': { name: 'fragile', version: '1.0.0' },
        '1.0.1': { name: 'fragile', version: '1.0.1' },
      }
      return response.end(JSON.stringify({ name: 'fragile', 'dist-tags': { latest: '1.0.1' }, versions }))
    }
    const bytes = Buffer.concat(pieces)
    asked.push(JSON.parse(String(request.headers['content-encoding'] === 'gzip' ? gunzipSync(bytes) : bytes)))
    const advisory = { id: 1, url, title: 'It breaks', severity: 'high', vulnerable_versions: '<1.0.1' }
    return response.end(JSON.stringify({ fragile: [advisory] }))
  })
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  onTestFinished(() => void server.close())
  const address = server.address()
  return { address: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/`, asked }
}

/** The outcome for a lock file that names `fragile`. */
async function outcome(address: string, exceptions: readonly Exception[]) {
  const folder = mkdtempSync(join(tmpdir(), 'kp-audit-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const root = { name: 'x', version: '1.0.0', dependencies: { fragile: '1.0.0' } }
  const packages = { '': root, 'node_modules/fragile': { version: '1.0.0' } }
  writeFileSync(join(folder, 'package.json'), JSON.stringify(root))
  writeFileSync(join(folder, 'package-lock.json'), JSON.stringify({ ...root, lockfileVersion: 3, packages }))
  const env = { ...process.env, npm_config_registry: address, npm_config_cache: join(folder, 'cache') }
  return audit(folder, exceptions, today, env)
}

it('audit fails for an advisory without an exception', async () => {
  const { address, asked } = await registry()
  expect(await outcome(address, [])).toEqual({ failures: [`fragile: high: It breaks (${url})`], notes: [] })
  expect(asked).toEqual([{ fragile: ['1.0.0'] }])
})

it('audit passes for an advisory with a valid exception', async () => {
  const { address } = await registry()
  expect(await outcome(address, [exception])).toEqual({ failures: [], notes: [] })
})

it('audit passes with a note when the registry has no audits', async () => {
  const { address } = await registry(405)
  expect(await outcome(address, [])).toEqual({ failures: [], notes: [expect.stringContaining('not checked')] })
})

it('audit passes with a note when nothing listens at the address of the registry', async () => {
  expect(await outcome('http://127.0.0.1:9/', [])).toEqual({
    failures: [],
    notes: [expect.stringContaining('not checked')],
  })
})

it('audit fails for an expired exception, with and without an answer of the registry', () => {
  const expired = { ...exception, expires: '2026-11-22' }
  const answered = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })
  for (const output of [answered, ''])
    expect(assessAudit(output, [expired], today).failures).toEqual([expect.stringContaining('expired on 2026-11-22')])
})

it('audit notes an exception that no package needs', () => {
  const answered = JSON.stringify({ auditReportVersion: 2, vulnerabilities: {} })
  expect(assessAudit(answered, [exception], today)).toEqual({ failures: [], notes: [expect.stringContaining(id)] })
})

it('audit rejects an exception without a reason or a day of expiry', async () => {
  for (const wrong of [
    { ...exception, reason: '' },
    { ...exception, expires: 'never' },
  ])
    await expect(outcome('http://127.0.0.1:9/', [wrong])).rejects.toThrow()
})
