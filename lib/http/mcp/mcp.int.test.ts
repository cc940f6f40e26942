import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import http from 'node:http'
import { join } from 'node:path'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from 'vitest'
import { z } from 'zod'
import { isInPerson } from '#lib/kernel/effects.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { blocksOf } from '#lib/testing/guide-walk.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { pythonProgram } from '#lib/testing/python.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { pattern, sop, trace } from '#lib/testing/units.ts'
import { tools } from './tools.ts'

let test: TestApp
let agent: Issued
beforeAll(async () => {
  test = await testApp()
  agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
})
afterAll(() => test?.close())

/** A client of the current revision, or of those before it. */
async function connected(token: string, mode: 'auto' | 'legacy' = 'auto'): Promise<Client> {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const headers = { Authorization: `Bearer ${token}` }
  await client.connect(new StreamableHTTPClientTransport(new URL(`${test.url}/mcp`), { requestInit: { headers } }))
  onTestFinished(() => client.close())
  return client
}
const called = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args })
  const texts = content.flatMap((block) => (block.type === 'text' ? [block.text] : []))
  return { made: structuredContent as ReturnType<typeof JSON.parse>, texts, isError: isError === true }
}
const refusal = ({ texts, isError }: { texts: string[]; isError: boolean }) =>
  isError ? JSON.parse(texts[0] ?? '{}').error : undefined

const withoutId = ({ '@context': _, '@type': __, ...unit }: Record<string, unknown>) => unit

const post = (body: string | Uint8Array<ArrayBuffer>, headers: Record<string, string> = {}) =>
  fetch(`${test.url}/mcp`, {
    method: 'POST',
    body,
    headers: {
      Authorization: `Bearer ${agent.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    },
  })
const listing = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/list', params: {} })

describe.each(['auto', 'legacy'] as const)('a client that negotiates %s', (mode) => {
  it('lists every tool with its schemas, and with hints that none of them destroys anything', async () => {
    const client = await connected(agent.token, mode)
    expect(client.getServerVersion()?.name).toBe('knowledgepulse')
    const { tools: listed } = await client.listTools()
    expect(listed.map(({ name }) => name)).toEqual(tools.map(({ name }) => name))
    for (const { name, inputSchema, outputSchema, annotations } of listed) {
      expect([name, inputSchema.type, outputSchema?.type]).toEqual([name, 'object', 'object'])
      expect(annotations).toMatchObject({ destructiveHint: false })
    }
    const reading = listed.filter(({ annotations }) => annotations?.readOnlyHint).map(({ name }) => name)
    expect(reading).not.toContain('request_erasure')
    expect(reading).toContain('search_knowledge')
  })

  it('contributes, finds, reads, votes on and reports units through the pipeline', async () => {
    const client = await connected(agent.token, mode)
    const word = `linker${mode}`
    const unit = withoutId({ ...trace({ task: { objective: `Find out why ${word} is slow` } }) })
    const contributed = await called(client, 'contribute_trace', { unit })
    expect(contributed.made).toMatchObject({ content_trust: 'untrusted', data: { visibility: 'network' } })
    const { id } = contributed.made.data
    for (const [name, whole] of [
      ['contribute_pattern', pattern()],
      ['contribute_procedure', sop()],
    ] as const)
      expect((await called(client, name, { unit: withoutId({ ...whole }) })).isError).toBe(false)
    const found = await called(client, 'search_knowledge', { query: word })
    expect(found.made.data.map((hit: { id: string }) => hit.id)).toEqual([id])
    expect(found.texts[0]).toContain('not instructions')
    expect((await called(client, 'read_unit', { id })).made.data.unit.task.objective).toContain(word)

    const other = await connected((await issuedAgent(test, ['read', 'write'], { tier: 'pro' })).token, mode)
    expect((await called(other, 'vote', { id, valid: true })).made.data).toMatchObject({ unit_id: id, valid: true })
    expect((await called(other, 'report_unit', { id, reason: 'It is wrong.' })).made.data.reported).toBe(true)
    expect(refusal(await called(client, 'vote', { id, valid: true })).code).toBe('forbidden')
    expect((await called(client, 'reputation')).made.data.agent_id).toBe(agent.id)
    const audited = await test.app.stores.auditLog.query({ agentId: agent.id, action: 'create' })
    expect(audited.map(({ resourceId }) => resourceId)).toContain(id)
  })

  it('contributes, validates, finds, reads and installs skills', async () => {
    const client = await connected(agent.token, mode)
    const name = `slow-builds-${mode}`
    const skill = { skill_md: skillMd(name), files: [{ path: 'a.txt', content: 'Measure.' }] }
    expect((await called(client, 'validate_skill', skill)).made.data).toMatchObject({ valid: true, name })
    const { id } = (await called(client, 'contribute_skill', skill)).made.data
    const found = await called(client, 'search_skills', { query: name })
    expect(found.made.data.map((hit: { id: string }) => hit.id)).toContain(id)
    expect((await called(client, 'read_skill', { id })).made.data.name).toBe(name)
    const installed = (await called(client, 'install_skill', { id })).made
    expect([installed.folder, installed.files.map(({ path }: { path: string }) => path)]).toEqual([
      name,
      ['SKILL.md', 'a.txt'],
    ])
    expect(installed.content_trust).toBe('untrusted')
  })

  it('validates a unit without storing it', async () => {
    const client = await connected(agent.token, mode)
    const stored = async () => (await test.fetch('GET', '/v1/knowledge?mine=true', { token: agent.token })).json.total
    const before = await stored()
    expect((await called(client, 'validate_unit', { unit: trace() })).made.data).toMatchObject({ valid: true })
    const invalid = await called(client, 'validate_unit', { unit: { ...trace(), steps: [] } })
    expect(refusal(invalid)).toMatchObject({ code: 'invalid', issues: [{ path: ['steps'] }] })
    const secret = await called(client, 'validate_unit', {
      unit: trace({
        task: { objective: `-----BEGIN ${'PRIVATE'} KEY-----\n${'a'.repeat(64)}\n-----END ${'PRIVATE'} KEY-----` },
      }),
    })
    expect(refusal(secret).code).toBe('content_rejected')
    expect(JSON.stringify(secret)).not.toContain('aaaa')
    expect(await stored()).toBe(before)
    expect(await test.db.prisma.contentRejection.count({ where: { agentId: agent.id } })).toBe(0)
  })

  it('gets what is held about the agent, and an export', async () => {
    const client = await connected(agent.token, mode)
    expect((await called(client, 'what_is_held_about_me')).made.total).toBeGreaterThan(0)
    const { made } = await called(client, 'export_my_data')
    expect([made.complete, made.export.agent_id]).toEqual([true, agent.id])
  })
})

describe('request_erasure', () => {
  it('files a request that the owner confirms, and erases nothing', async () => {
    const owner = await signedIn(test)
    const own = await issuedAgent(test, ['read', 'write'], { owner })
    const client = await connected(own.token)
    const { made } = await called(client, 'request_erasure')
    expect([made.state, made.confirm_at]).toEqual([
      'received',
      `http://localhost:3000/settings/privacy/requests/${made.request_id}`,
    ])
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: made.request_id } })
    expect([row.agentId, row.verifiedBy, row.runId, row.state]).toEqual([own.id, null, null, 'received'])
    // The same request again, whatever the grace period, still waits for the person.
    const again = await called(client, 'request_erasure', { grace: '7d' })
    expect([again.made.request_id, again.made.state]).toEqual([made.request_id, 'received'])
    test.clock.advance(30 * 86_400_000)
    expect((await called(client, 'what_is_held_about_me')).isError).toBe(false)
    const page = await test.fetch('GET', `/api/privacy/requests/${made.request_id}`, { cookie: owner.cookie })
    expect([page.status, page.json.data.state]).toEqual([200, 'received'])
  })

  it.each([
    ['a forged state', { requestState: 'forged' }],
    [
      'an answer that nobody asked for',
      { inputResponses: { confirm: { action: 'accept', content: { confirm: true } } } },
    ],
    [
      'the state of another request',
      { requestState: Buffer.from('{"request_id":"req_1","verified":true}').toString('base64') },
    ],
    ['states that are no text', { requestState: [{ state: 'verified' }], inputResponses: 'accept' }],
  ])('verifies nothing with %s', async (_, forged) => {
    const own = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const params = { name: 'request_erasure', arguments: {}, ...forged }
    for (const _repeated of [1, 2]) {
      const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params })
      expect((await post(body, { Authorization: `Bearer ${own.token}` })).status).toBeLessThan(500)
    }
    const rows = await test.db.prisma.privacyRequest.findMany({ where: { agentId: own.id } })
    expect(rows.length).toBeLessThanOrEqual(1)
    for (const { state, verifiedBy, runId } of rows)
      expect([state, verifiedBy, runId]).toEqual(['received', null, null])
    // Nothing was erased: the agent still answers.
    expect((await called(await connected(own.token), 'reputation')).made.data.agent_id).toBe(own.id)
  })

  it('waits for an admin when nobody owns the agent', async () => {
    const own = await issuedAgent(test, ['read', 'write'])
    const { made } = await called(await connected(own.token), 'request_erasure')
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: made.request_id } })
    expect([made.state, row.verifiedBy, row.contact]).toEqual(['received', null, null])
  })

  it('is the only tool that changes data of a subject, and no tool calls an operation that erases', () => {
    const called = tools.flatMap(({ operations }) => operations)
    expect(
      called.filter(({ method, audit }) => method === 'delete' || ('action' in audit && audit.action === 'delete')),
    ).toEqual([])
    expect(called.filter(({ id }) => isInPerson(id))).toEqual([])
    for (const { name, isReadOnly, operations } of tools)
      if (isReadOnly)
        expect([
          name,
          operations.filter(({ audit }) => 'action' in audit && ['create', 'update'].includes(audit.action)),
        ]).toEqual([name, []])
  })
})

describe('a message without a valid token', () => {
  it.each([
    ['no token', undefined, 'token_missing'],
    ['a token that does not exist', `kp_${'a'.repeat(40)}`, 'token_invalid'],
  ])('gets 401 with the address of the metadata for %s', async (_, token, code) => {
    const headers = { 'Content-Type': 'application/json', ...(token && { Authorization: `Bearer ${token}` }) }
    const response = await fetch(`${test.url}/mcp`, { method: 'POST', body: listing, headers })
    expect([response.status, (await response.json()).code]).toEqual([401, code])
    const challenge = response.headers.get('www-authenticate') ?? ''
    expect(challenge).toContain('resource_metadata="http://localhost:3000/.well-known/oauth-protected-resource/mcp"')
  })

  it('gets 401 once the token is revoked, also in a connected client, and for the session of a person', async () => {
    const revoked = await issuedAgent(test, ['read', 'write'])
    const client = await connected(revoked.token)
    expect((await called(client, 'reputation')).isError).toBe(false)
    await test.fetch('DELETE', `/v1/auth/tokens/${revoked.tokenId}`, { token: revoked.token })
    await expect(client.callTool({ name: 'reputation', arguments: {} })).rejects.toThrow()
    const { cookie } = await signedIn(test)
    expect((await post(listing, { Authorization: '', Cookie: cookie })).status).toBe(401)
    const bare = await fetch(`${test.url}/mcp`, { method: 'POST', body: listing, headers: { Cookie: cookie } })
    expect(bare.status).toBe(401)
  })

  it('gets the refusal of the operation when the scope is too small', async () => {
    const reader = await connected((await issuedAgent(test, ['read'])).token)
    const refused = await called(reader, 'contribute_trace', { unit: withoutId({ ...trace() }) })
    expect(refusal(refused)).toMatchObject({ code: 'scope_too_small', request_id: expect.any(String) })
  })
})

describe('GET /.well-known/oauth-protected-resource', () => {
  it.each(['', '/mcp'])('describes the resource at the path%s', async (path) => {
    const response = await fetch(`${test.url}/.well-known/oauth-protected-resource${path}`)
    expect([response.status, await response.json()]).toEqual([
      200,
      {
        resource: 'http://localhost:3000/mcp',
        resource_name: 'KnowledgePulse',
        resource_documentation: 'http://localhost:3000/docs/api',
        bearer_methods_supported: ['header'],
        scopes_supported: ['read', 'write', 'privacy', 'admin'],
      },
    ])
  })
})

describe('a message of another site', () => {
  async function asked(headers: Record<string, string>): Promise<number | undefined> {
    const request = http.request(`${test.url}/mcp`, { method: 'POST', agent: false })
    const all = {
      Authorization: `Bearer ${agent.token}`,
      'Content-Type': 'application/json',
      Accept: 'application/json, text/event-stream',
      ...headers,
    }
    for (const [name, value] of Object.entries(all)) request.setHeader(name, value)
    request.end(listing)
    const [response] = await once(request, 'response')
    response.resume()
    return response.statusCode
  }
  it.each([
    [{ Origin: 'https://attacker.example' }, 403],
    [{ Origin: 'null' }, 403],
    [{ Host: 'attacker.example', Origin: 'http://attacker.example' }, 421],
    [{ Host: 'attacker.example' }, 421],
    [{ Host: 'localhost:3000', Origin: 'http://localhost:3000' }, 200],
    [{ Host: 'localhost:3000', Origin: 'http://localhost:4000' }, 403],
    [{ Host: '127.0.0.1:3000' }, 200],
  ])('with %o gets %i', async (headers, status) => {
    expect(await asked(headers as unknown as Record<string, string>)).toBe(status)
  })
})

describe('malformed input', () => {
  it('gets an error, and the next message of the same client works', async () => {
    const client = await connected(agent.token)
    const deep = `${'['.repeat(30_000)}${']'.repeat(30_000)}`
    const messages = [
      '',
      '{',
      'null',
      '[]',
      '"text"',
      '{"jsonrpc":"1.0"}',
      '{"jsonrpc":"2.0","id":1,"method":"nothing"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call"}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"none","arguments":{}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_unit","arguments":[]}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_unit","arguments":{"id":{"a":1}}}}',
      `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"validate_unit","arguments":{"unit":${deep}}}}`,
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"read_unit","arguments":{"id":"\\u0000"}}}',
      '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"request_erasure","arguments":{},"requestState":"forged","inputResponses":{"x":{"action":"accept"}}}}',
    ]
    for (const message of [...messages, new Uint8Array([0xff, 0xfe, 0x00])]) {
      const response = await post(message as string)
      const text = await response.text()
      expect([message.slice(0, 60), response.status < 500, text.includes('internal')]).toEqual([
        message.slice(0, 60),
        true,
        false,
      ])
      const { data } = (await called(client, 'reputation')).made
      expect(data.agent_id).toBe(agent.id)
    }
  }, 120_000)

  it('gets 413 for ten megabytes, 415 for another media type and 405 for other methods', async () => {
    const large = JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'a'.repeat(10_000_000) },
    })
    expect((await post(large)).status).toBe(413)
    expect((await post(listing, { 'Content-Type': 'text/plain' })).status).toBe(415)
    for (const method of ['GET', 'DELETE']) {
      const response = await fetch(`${test.url}/mcp`, { method, headers: { Authorization: `Bearer ${agent.token}` } })
      expect([response.status, response.headers.get('allow')]).toEqual([405, 'POST'])
    }
  })

  it('is an error of the tool for unknown and missing arguments', async () => {
    const client = await connected(agent.token)
    for (const [name, args] of [
      ['read_unit', {}],
      ['read_unit', { id: 7 }],
      ['search_knowledge', { limit: 1_000 }],
      ['contribute_trace', { unit: { steps: 'x' } }],
      ['contribute_trace', {}],
    ] as const)
      expect([name, refusal(await called(client, name, args)).code]).toEqual([name, 'invalid'])
  })
})

describe('docs/mcp.md', () => {
  const guide = readFileSync(join(import.meta.dirname, '../../../docs/mcp.md'), 'utf8')
  it('lists every tool', () => {
    const rows = guide.split('\n').filter((line) => line.startsWith('| `'))
    const listed = rows.flatMap((row) => [...(row.split('|')[1] ?? '').matchAll(/`(\w+)`/g)].map(([, name]) => name))
    expect(listed.sort()).toEqual(tools.map(({ name }) => name).sort())
  })

  it('shows configurations with which clients connect', async () => {
    const [overHttp, onStdio] = blocksOf(guide, 'json').map((block) => JSON.parse(block).mcpServers.knowledgepulse)
    const { url, headers } = overHttp
    const response = await fetch(url.replace('http://localhost:3000', test.url), {
      method: 'POST',
      body: listing,
      headers: {
        Authorization: headers.Authorization.replace('kp_…', agent.token),
        'Content-Type': 'application/json',
        Accept: 'application/json, text/event-stream',
      },
    })
    expect([response.status, (await response.text()).includes('search_knowledge')]).toEqual([200, true])
    // bin/kp/mcp.int.test.ts runs this command.
    expect([onStdio.command, onStdio.args]).toEqual(['kp', ['mcp']])
  })
})

describe('a thousand calls', () => {
  it('are limited like other requests of the token, and the client continues in the next window', async () => {
    const limited = await issuedAgent(test, ['read', 'write'], { tier: 'free' })
    const client = await connected(limited.token)
    const results: string[] = []
    for (let done = 0; done < 1_000; done += 50) {
      const batch = await Promise.all(
        Array.from({ length: 50 }, () => called(client, 'search_skills').catch(() => 'gone')),
      )
      for (const one of batch) results.push(one === 'gone' ? 'gone' : (refusal(one as never)?.code ?? 'done'))
    }
    expect(results).toHaveLength(1_000)
    expect(results.filter((result) => result === 'done').length).toBeGreaterThanOrEqual(50)
    expect(results).toContain('rate_limited')
  }, 240_000)
})

describe.skipIf(!isInstalled('python')).each(['auto', 'legacy'])('the Python client that negotiates %s', (mode) => {
  const Results = z.object({
    tools: z.array(z.string()),
    results: z.array(
      z.object({
        failed: z.boolean(),
        code: z.string().nullable(),
        made: z.record(z.string(), z.unknown()).nullable(),
      }),
    ),
  })

  it('lists and calls every tool in one session, and a refusal does not end it', async () => {
    const python = pythonProgram('mcp_client.py')
    onTestFinished(() => python.close())
    const { token } = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const call = (requests: { name: string; arguments: object }[], as = token) =>
      python.call('calls', { url: `${test.url}/mcp`, token: as, mode, requests }, Results)
    const unit = withoutId({ ...trace({ task: { objective: `Find out why python${mode} is slow` } }) })
    // Most tools refuse a call without arguments, with an error of the tool and not of the session.
    const every = tools.filter(({ name }) => name !== 'request_erasure').map(({ name }) => ({ name, arguments: {} }))
    const last = { name: 'search_knowledge', arguments: { query: `python${mode}` } }
    const { tools: listed, results } = await call([{ name: 'contribute_trace', arguments: { unit } }, ...every, last])
    expect(listed).toEqual(tools.map(({ name }) => name))
    expect(results.length).toBe(every.length + 2)
    expect(results[0]).toMatchObject({ failed: false, made: { content_trust: 'untrusted' } })
    expect(results[1 + every.findIndex(({ name }) => name === 'read_unit')]?.failed).toBe(true)
    expect(results[1 + every.findIndex(({ name }) => name === 'reputation')]?.failed).toBe(false)
    expect(results.at(-1)?.made).toMatchObject({ data: [expect.anything()] })
    await expect(call([], 'kp_wrong')).rejects.toThrow()
    const own = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const names = ['request_erasure', 'what_is_held_about_me']
    const asked = await call(
      names.map((name) => ({ name, arguments: {} })),
      own.token,
    )
    expect(asked.results).toMatchObject([{ failed: false, made: { state: 'received' } }, { failed: false }])
    const requests = await test.db.prisma.privacyRequest.findMany({ where: { agentId: own.id } })
    expect(requests.map(({ state, verifiedBy, runId }) => [state, verifiedBy, runId])).toEqual([
      ['received', null, null],
    ])
    // More writes than the tier admits in a minute.
    const { token: small } = await issuedAgent(test, ['read', 'write'], { tier: 'free' })
    const report = { name: 'report_unit', arguments: { id: 'kp:trace:none', reason: 'wrong' } }
    const limited = await call([...Array(40).fill(report), { name: 'reputation', arguments: {} }], small)
    expect(new Set(limited.results.slice(0, -1).map(({ code }) => code))).toEqual(
      new Set(['not_found', 'rate_limited']),
    )
    expect(limited.results.at(-1)?.failed).toBe(false)
  }, 120_000)
})
