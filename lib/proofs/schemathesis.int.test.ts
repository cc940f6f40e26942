// Requests that Schemathesis generates from openapi.json must cause no server error, and every response must match the
// document.
import { execFile } from 'node:child_process'
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { type TokenScope, tierLimits } from '#lib/domains/tokens/rules.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { pathParameters } from '#lib/testing/path-parameters.ts'
import { signedIn } from '#lib/testing/people.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { sampled, sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { isInstalled, pythonExecutable } from '#lib/testing/services/installed.ts'
import { type MadeSubject, madeSubject, openTestSession } from '#lib/testing/subjects.ts'

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
const seed = sampleSeed % 2 ** 31

const hasScopes =
  (...scopes: TokenScope[]) =>
  async ({ app, clock }: TestApp, { agents }: MadeSubject) =>
    Promise.all(
      [...agents, ...agents].map(({ id: agentId }) =>
        app.db.transaction(async (tx) => {
          const token = await app.tokens.issue(tx, { agentId, scopes, name: null, expiresAt: null, now: clock.now() })
          return { Authorization: `Bearer ${token.key}` }
        }),
      ),
    )
const session = ({ app }: TestApp, cookie: string) => ({
  Cookie: cookie,
  Origin: app.env.KP_URL ?? `http://localhost:${app.env.PORT}`,
})
/** The headers of each kind of client, several of each kind. */
const clients: Record<string, (test: TestApp, subject: MadeSubject) => Promise<Record<string, string>[]>> = {
  'tokens of scope write': hasScopes('read', 'write'),
  'sessions of a person': async (test, { accountId }) =>
    Promise.all([1, 2, 3].map(async () => session(test, await openTestSession(test, accountId)))),
  'sessions of an admin': async (test) =>
    Promise.all([1, 2, 3].map(async () => session(test, (await signedIn(test, 'admin')).cookie))),
  'tokens of scope admin': hasScopes('read', 'write', 'admin'),
  'tokens of scope read': hasScopes('read'),
}

/** Adds records that {@link madeSubject} leaves out. */
async function moreRecords(test: TestApp, { accountId, agents, projects, units }: MadeSubject): Promise<void> {
  const person = { cookie: await openTestSession(test, accountId) }
  const admin = await signedIn(test, 'admin')
  await dataOf(
    test,
    'POST',
    `/api/projects/${projects.own}/participants`,
    { token: agents[0]?.token ?? '' },
    {
      body: { external_id: 'customer-7', name: 'A customer' },
    },
  )
  await dataOf(test, 'POST', '/api/privacy/requests', person, { body: { kinds: ['access'] } })
  await dataOf(test, 'POST', '/v1/holds', admin, {
    body: { kind: 'unit', target_id: units[0], reason: 'A dispute about this unit.' },
  })
}

const Interaction = z.object({ response: z.object({ status_code: z.number() }).nullish() })
const Finished = z.object({
  ScenarioFinished: z.object({
    phase: z.string(),
    recorder: z.object({ label: z.string(), interactions: z.record(z.string(), Interaction).default({}) }),
  }),
})
interface Run {
  /** What Schemathesis prints about failures. Empty without failures. */
  failures: string
  /** The number of generated requests by phase. */
  requests: Record<string, number>
  /** The operations that received a request, and those that accepted one. */
  called: Set<string>
  accepted: Set<string>
}

/** Reads the events of a run. */
function runOf(failures: string, events: string): Run {
  const run: Run = { failures, requests: {}, called: new Set(), accepted: new Set() }
  for (const line of events.split('\n')) {
    if (!line.startsWith('{"ScenarioFinished"')) continue
    const { phase, recorder } = Finished.parse(JSON.parse(line)).ScenarioFinished
    const statuses = Object.values(recorder.interactions).map(({ response }) => response?.status_code ?? 0)
    run.requests[phase] = (run.requests[phase] ?? 0) + statuses.length
    if (statuses.length > 0) run.called.add(recorder.label)
    if (statuses.some((status) => status >= 200 && status < 300)) run.accepted.add(recorder.label)
  }
  return run
}

/** Raises the limit of sessions, because Schemathesis sends more requests in a minute. */
function raiseSessionLimits(): void {
  const { pro } = tierLimits
  const { reads, writes } = pro
  Object.assign(pro, { reads: 1_000_000, writes: 1_000_000 })
  onTestFinished(() => void Object.assign(pro, { reads, writes }))
}

/** Calls the operations of a new application with records of every kind. */
async function runWith(client: string, ids: readonly string[]): Promise<Run> {
  raiseSessionLimits()
  const test = await testApp()
  const folder = mkdtempSync(join(tmpdir(), 'kp-schemathesis-'))
  onTestFinished(async () => {
    await test.close()
    rmSync(folder, { recursive: true, force: true })
  })
  const subject = await madeSubject(test)
  await moreRecords(test, subject)
  // Before the clients sign in, so that `places` contains no session or token that the clients use: a request could end or revoke it.
  const places = await pathParameters(test)
  const headers = await clients[client]?.(test, subject)
  const hooks = join(folder, 'hooks.json')
  writeFileSync(hooks, JSON.stringify({ headers, places, seed }))
  const events = join(folder, 'events.ndjson')
  const args = [
    'run',
    join(root, 'openapi.json'),
    '--url',
    test.url,
    '--checks',
    checks.join(','),
    '--max-examples',
    String(examples),
    '--seed',
    String(seed),
    '--phases',
    'examples,coverage,fuzzing',
    '--suppress-health-check',
    'all',
    '--warnings',
    'off',
    '--no-color',
    '--generation-database',
    'none',
    '--continue-on-failure',
    '--report',
    'ndjson',
    '--report-ndjson-path',
    events,
    ...ids.flatMap((id) => ['--include-operation-id', id]),
  ]
  const env = {
    NODE_ENV: 'test' as const,
    PATH: process.env.PATH,
    HOME: folder,
    NO_COLOR: '1',
    PYTHONPATH: join(root, 'lib/testing/python'),
    PYTHONDONTWRITEBYTECODE: '1',
    SCHEMATHESIS_HOOKS: 'schemathesis_hooks',
    KP_SCHEMATHESIS_HOOKS: hooks,
  }
  return new Promise((resolve) => {
    const options = { cwd: folder, env, maxBuffer: 2 ** 28 }
    execFile(pythonExecutable('schemathesis'), args, options, (error, stdout, stderr) => {
      const failures = error ? `${stdout.slice(-40_000)}\n${stderr.slice(-2_000)}` : ''
      resolve(runOf(failures, existsSync(events) ? readFileSync(events, 'utf8') : ''))
    })
  })
}

/** A full run has a test for every 21 operations, each of which takes a minute or two. */
const portion = 21
const portions = Array.from({ length: Math.ceil(operations.length / portion) }, (_, n) =>
  operations.slice(n * portion, (n + 1) * portion),
)
const kinds = sampled('clients for which Schemathesis generates requests', Object.keys(clients), 2)
const cases = kinds.flatMap((client) => portions.map((ids, n) => ({ client, ids, part: n + 1 })))

describe.skipIf(!isInstalled('python'))('requests that Schemathesis generates', () => {
  it.each(cases)(
    'get documented responses and no server error with $client, part $part',
    async ({ client, ids, part }) => {
      expect(existsSync(pythonExecutable('schemathesis'))).toBe(true)
      const { failures, requests, called, accepted } = await runWith(client, ids)
      // A full run shows what it covered.
      if (operations.length === all.length)
        console.log(JSON.stringify({ client, part, requests, refused: [...called.difference(accepted)] }))
      expect(failures).toBe('')
      expect(called.size).toBe(ids.length)
    },
    1_200_000,
  )
})
