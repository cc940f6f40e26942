import { text } from 'node:stream/consumers'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
let line: ReturnType<typeof commandLine>
beforeAll(async () => {
  test = await testApp()
  line = commandLine(test.url)
})
afterAll(async () => {
  line?.close()
  await test?.close()
})
const program = `${import.meta.dirname}/../kp.ts`

/** `kp mcp` as a client starts it. */
async function connected(token: string, mode: 'auto' | 'legacy', url = test.url) {
  const client = new Client({ name: 'test', version: '1.0.0' }, { versionNegotiation: { mode } })
  const { PATH = '' } = process.env
  const env = { PATH, HOME: line.workplace, KP_URL: url, KP_TOKEN: token }
  await client.connect(new StdioClientTransport({ command: process.execPath, args: [program, 'mcp'], env }))
  return client
}
const called = async (client: Client, name: string, args: Record<string, unknown> = {}) => {
  const { structuredContent, content, isError } = await client.callTool({ name, arguments: args })
  const first = content[0]
  const refusal = isError && first?.type === 'text' ? JSON.parse(first.text).error : undefined
  return { made: structuredContent as ReturnType<typeof JSON.parse>, refusal }
}

it.each(['auto', 'legacy'] as const)('serves the tools to a client that negotiates %s', async (mode) => {
  const { token, id } = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const client = await connected(token, mode)
  const { '@context': _, '@type': __, ...unit } = { ...trace() }
  const { made } = await called(client, 'contribute_trace', { unit })
  expect((await called(client, 'read_unit', { id: made.data.id })).made.data.unit.metadata.agent_id).toBe(id)
  expect((await called(client, 'read_unit', { id: 'kp:trace:none' })).refusal).toMatchObject({
    code: 'not_found',
    request_id: expect.any(String),
  })
  expect((await called(client, 'export_my_data')).made.export.agent_id).toBe(id)
  await client.close()
})

it('answers with the refusal when the token is wrong, and continues', async () => {
  const client = await connected(`kp_${'a'.repeat(40)}`, 'auto')
  for (let n = 0; n < 2; n++) expect((await called(client, 'reputation')).refusal.code).toBe('token_invalid')
  await client.close()
})

it('names the address and the next step when no registry answers there', async () => {
  const client = await connected(`kp_${'a'.repeat(40)}`, 'auto', 'http://localhost:1')
  const { refusal } = await called(client, 'reputation')
  expect(refusal).toMatchObject({
    code: 'unreachable',
    detail: expect.stringMatching(/^No answer from http:\/\/localhost:1: .+\. Start the registry/),
  })
  await client.close()
})

it('skips lines that are no messages, and ends with exit code 0 when the client closes its input', async () => {
  const { token } = await issuedAgent(test, ['read'])
  const child = line.start(['mcp'], { KP_TOKEN: token })
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new Error('the process has no streams')
  const said = text(stdout)
  const warned = text(stderr)
  stdin.write('nonsense\n{"jsonrpc":"2.0"}\n[]\n')
  stdin.write(
    `${JSON.stringify({
      jsonrpc: '2.0',
      id: 1,
      method: 'initialize',
      params: { protocolVersion: '2025-11-25', capabilities: {}, clientInfo: { name: 'raw', version: '1' } },
    })}\n`,
  )
  await new Promise<void>((answered) => stdout.once('data', () => answered()))
  stdin.end()
  const code = await new Promise((resolve) => child.once('close', resolve))
  expect(code).toBe(0)
  const lines = (await said)
    .trim()
    .split('\n')
    .map((each) => JSON.parse(each))
  expect(lines.at(-1)).toMatchObject({ id: 1, result: { serverInfo: { name: 'knowledgepulse' } } })
  expect(await warned).not.toContain('nonsense')
})

it('is refused before it serves anything when no agent is signed in', async () => {
  const { status, err, out } = await line.run(['mcp'])
  expect([status, out]).toEqual([1, ''])
  expect(err).toContain('no agent is signed in')
})
