// Requests that Schemathesis generates from openapi.json must cause no server error, and every response must match the
// document.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import type { Scope } from '#lib/domains/tokens/rules.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { sampled, sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { isInstalled, pythonExecutable } from '#lib/testing/services/installed.ts'

const root = join(import.meta.dirname, '../..')
const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]
const Document = z.object({ paths: z.record(z.string(), z.record(z.string(), z.object({ operationId: z.string() }))) })
const { paths } = Document.parse(JSON.parse(readFileSync(join(root, 'openapi.json'), 'utf8')))
const all = Object.values(paths).flatMap((methods) => Object.values(methods).map(({ operationId }) => operationId))
const operations = sampled('operations that Schemathesis calls', all, 6)
const examples = sampledRuns('requests that Schemathesis generates for an operation', 28, 4)

let app: TestApp
let folder: string
beforeAll(async () => {
  app = await testApp()
  folder = mkdtempSync(join(tmpdir(), 'kp-schemathesis-'))
})
afterAll(async () => {
  await app?.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The failures that Schemathesis prints. Empty without failures. */
async function failuresWith(scopes: Scope[]): Promise<string> {
  const { token } = await issuedAgent(app, scopes, { tier: 'enterprise' })
  const args = [
    ...['run', join(root, 'openapi.json'), '--url', app.url, '--header', `Authorization: Bearer ${token}`],
    ...['--checks', checks.join(','), '--max-examples', String(examples), '--seed', String(sampleSeed % 2 ** 31)],
    ...['--phases', 'coverage,fuzzing', '--suppress-health-check', 'all', '--warnings', 'off', '--no-color'],
    ...['--generation-database', 'none', '--continue-on-failure'],
    ...operations.flatMap((id) => ['--include-operation-id', id]),
  ]
  const env = { NODE_ENV: 'test' as const, PATH: process.env.PATH, HOME: folder, NO_COLOR: '1' }
  return new Promise((resolve) => {
    const options = { cwd: folder, env, maxBuffer: 2 ** 28 }
    execFile(pythonExecutable('schemathesis'), args, options, (error, stdout, stderr) =>
      resolve(error ? `${stdout.slice(-40_000)}\n${stderr.slice(-2_000)}` : ''),
    )
  })
}

describe.skipIf(!isInstalled('python'))('requests that Schemathesis generates', () => {
  it.each<[string, Scope[]]>([
    ['read', ['read']],
    ['write', ['read', 'write']],
    ['admin', ['read', 'write', 'admin']],
  ])(
    'get documented responses and no server error with a token of scope %s',
    async (_, scopes) => {
      expect(existsSync(pythonExecutable('schemathesis'))).toBe(true)
      expect(await failuresWith(scopes)).toBe('')
    },
    7_200_000,
  )
})
