// The official conformance suite and the official Inspector against /mcp. They reach nothing but 127.0.0.1.
import { execFile } from 'node:child_process'
import { mkdtempSync, readdirSync, readFileSync, rmSync } from 'node:fs'
import http from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { promisify } from 'node:util'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { z } from 'zod'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { isInstalled, mcpTool } from '#lib/testing/services/installed.ts'
import { tools } from './tools.ts'

const run = promisify(execFile)
const timeout = 240_000

/** The suite calls tools by its own names. These two say the same of ours: a text, and an error of the tool. */
const standIns: Readonly<Record<string, string>> = { test_simple_text: 'reputation', test_error_handling: 'read_unit' }

/** Scenarios that need something that this server deliberately does not have, by the reason. */
const withoutFeature: Readonly<Record<string, readonly string[]>> = {
  'It offers tools only. Prompts and resources would be a second way to contributed text, without its mark of trust.': [
    ...['prompts-list', 'prompts-get-simple', 'prompts-get-with-args', 'prompts-get-embedded-resource'],
    ...['prompts-get-with-image', 'completion-complete', 'caching', 'resources-list', 'resources-read-text'],
    ...['resources-read-binary', 'resources-templates-read', 'resources-subscribe', 'resources-unsubscribe'],
  ],
  'Its tools return text and structured content.': [
    ...['tools-call-image', 'tools-call-audio', 'tools-call-embedded-resource', 'tools-call-mixed-content'],
  ],
  'Its tools answer with one message. They send neither progress nor log messages.': [
    ...['tools-call-with-progress', 'tools-call-with-logging', 'logging-set-level'],
  ],
  "It asks neither the client's model nor its user: an answer of a client is no proof of a person.": [
    ...['tools-call-sampling', 'tools-call-elicitation', 'elicitation-sep1034-defaults', 'elicitation-sep1330-enums'],
    ...['basic-elicitation', 'basic-sampling', 'basic-list-roots', 'request-state', 'multiple-input-requests'].map(
      (name) => `input-required-result-${name}`,
    ),
    ...['multi-round', 'non-tool-request', 'result-type', 'tampered-state', 'capability-check'].map(
      (name) => `input-required-result-${name}`,
    ),
  ],
  'Some of its checks call diagnostic tools that ask the client.': ['server-stateless'],
}
/** What a check says that did not find the feature. Every other failure is one of the protocol. */
const isAbsence = /Method not found|Tool test_\w+ not found|^Not testable|Expected InputRequiredResult|^Prerequisite/
/** Extensions, and scenarios that the suite does not score. It runs them, too. */
const isOptional = (scenario: string): boolean =>
  scenario.startsWith('tasks-') || ['json-schema-2020-12', 'http-custom-header-server-validation'].includes(scenario)

const Checks = z.array(z.object({ id: z.string(), status: z.string(), errorMessage: z.string().optional() }))

describe.skipIf(!isInstalled('mcp'))('the endpoint of MCP', () => {
  let test: TestApp
  let token: string
  let home: string
  let proxy: http.Server
  let url: string

  beforeAll(async () => {
    test = await testApp()
    token = (await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })).token
    home = mkdtempSync(join(tmpdir(), 'kp-mcp-'))
    // The suite sends no token and calls its own tools.
    proxy = http.createServer(async (request, response) => {
      const body = Object.entries(standIns).reduce(
        (message, [theirs, ours]) => message.replace(`"${theirs}"`, `"${ours}"`),
        await text(request),
      )
      const headers: http.OutgoingHttpHeaders = { ...request.headers, authorization: `Bearer ${token}` }
      const { 'mcp-name': name } = request.headers
      if (typeof name === 'string') headers['mcp-name'] = standIns[name] ?? name
      if (body !== '') headers['content-length'] = Buffer.byteLength(body)
      const passed = http.request(`${test.url}${request.url}`, { method: request.method, headers }, (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers)
        answer.pipe(response).once('close', () => answer.destroy())
      })
      passed.once('error', () => response.destroy())
      passed.end(body)
    })
    await new Promise<void>((listening) => proxy.listen(0, '127.0.0.1', listening))
    const address = proxy.address()
    url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}/mcp`
  })
  afterAll(async () => {
    proxy?.closeAllConnections()
    proxy?.close()
    await test?.close()
    rmSync(home, { recursive: true, force: true })
  })

  /** Its exit code, and what it printed. */
  const ran = async (program: Parameters<typeof mcpTool>[0], args: readonly string[]) => {
    const env = { PATH: process.env.PATH, HOME: home, NODE_ENV: 'test' as const }
    return await run(process.execPath, [mcpTool(program), ...args], { env, maxBuffer: 2 ** 26 }).then(
      ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
      (error: { code: number; stdout: string; stderr: string }) => error,
    )
  }

  it.each([
    ['2025-11-25', 25],
    ['2026-07-28', 60],
  ])(
    'passes every scenario that revision %s requires, except those of features that it does not have',
    async (revision, least) => {
      const folder = join(home, revision)
      await ran('conformance', ['server', '--url', url, '--requirements', revision, '--output-dir', folder])
      const failed = new Set<string>()
      const faults: string[] = []
      let passed = 0
      for (const results of readdirSync(folder)) {
        const scenario = results.replace(/^server-/, '').replace(/-\d{4}-\d\d-\d\dT[\d-]+Z$/, '')
        if (isOptional(scenario)) continue
        for (const check of Checks.parse(JSON.parse(readFileSync(join(folder, results, 'checks.json'), 'utf8')))) {
          if (check.status === 'SUCCESS') passed++
          if (check.status !== 'FAILURE') continue
          failed.add(scenario)
          if (
            !isAbsence.test(check.errorMessage ?? '') &&
            !/returned JSON-RPC error -32601/.test(check.errorMessage ?? '')
          )
            faults.push(`${scenario} ${check.id}: ${check.errorMessage}`)
        }
      }
      expect(faults).toEqual([])
      const known = new Set(Object.values(withoutFeature).flat())
      expect([...failed].filter((scenario) => !known.has(scenario))).toEqual([])
      expect(passed).toBeGreaterThanOrEqual(least)
    },
    timeout,
  )

  const inspected = async (args: readonly string[], as: string | null = token) => {
    const own = as === null ? [] : ['--header', `Authorization: Bearer ${as}`]
    const given = ['--cli', `${test.url}/mcp`, '--transport', 'http', '--stored-auth-only', '--format', 'json']
    return await ran('mcp-inspector', [...given, ...own, ...args])
  }
  const call = (name: string, era: string) => [
    ...['--protocol-era', era],
    ...['--method', 'tools/call', '--tool-name', name],
  ]

  it.each(['legacy', 'modern'])(
    'shows the Inspector, era %s, every tool, and no schema that clients cannot read',
    async (era) => {
      const { code, stdout, stderr } = await inspected(['--protocol-era', era, '--method', 'tools/list', '--strict'])
      expect([code, stderr]).toEqual([0, ''])
      const listed: { name: string }[] = JSON.parse(stdout).result.tools
      expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name))
    },
    timeout,
  )

  it(
    'answers the Inspector for every tool, with a result or with an error of the tool',
    async () => {
      for (const [at, { name, input }] of tools.entries()) {
        const { code, stdout } = await inspected(call(name, at % 2 === 0 ? 'legacy' : 'modern'))
        const { result } = JSON.parse(stdout)
        const takesNothing = input.safeParse({}).success
        // 5: the tool said that it failed.
        expect([name, code, result.isError === true]).toEqual([name, takesNothing ? 0 : 5, !takesNothing])
      }
      const many = [...call('search_skills', 'modern'), '--load', '--load-requests', '100']
      expect(JSON.parse((await inspected(many)).stdout).result).toMatchObject({ requests: 100, ok: 100, errors: 0 })
    },
    timeout,
  )

  it.each([
    ['no token', null, 'token_missing'],
    ['a wrong token', 'kp_wrong', 'token_invalid'],
  ])(
    'tells the Inspector with %s why it was refused',
    async (_, as, reason) => {
      const { code, stderr } = await inspected(['--method', 'tools/list'], as)
      // 3: a token is required.
      expect([code, JSON.parse(stderr).error.message.includes(`"code":"${reason}"`)]).toEqual([3, true])
    },
    timeout,
  )
})
