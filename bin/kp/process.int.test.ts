import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { afterAll, expect, test, vi } from 'vitest'
import { commandLine } from '#lib/testing/command-line.ts'
import { trace } from '#lib/testing/units.ts'

// Nothing listens at this address.
const line = commandLine('http://127.0.0.1:9')
afterAll(line.close)

test('kp exits with 1 and prints paths as typed when a file is invalid', async () => {
  writeFileSync(join(line.workplace, 'valid.json'), JSON.stringify(trace()))
  writeFileSync(join(line.workplace, 'empty.json'), '{}')
  const ran = await line.runProcess(['validate', '-', 'valid.json', 'empty.json'], { input: JSON.stringify(trace()) })
  expect([ran.status, ran.err]).toEqual([1, '2 valid, 1 invalid.\n'])
  expect(ran.out).toContain('✓ stdin\n✓ valid.json\n✗ empty.json: ')
})

test('kp resolves paths against INIT_CWD when npm runs it', async () => {
  const folder = join(line.workplace, 'elsewhere')
  mkdirSync(folder)
  writeFileSync(join(folder, 'unit.json'), JSON.stringify(trace()))
  const env = { npm_lifecycle_event: 'kp', INIT_CWD: folder }
  const ran = await line.runProcess(['validate', 'unit.json'], { env })
  expect(ran).toMatchObject({ status: 0, out: `✓ ${join(folder, 'unit.json')}\n` })
})

test('kp exits with 0 and prints no error when the reader closes the pipe', async () => {
  const child = line.start(['pii', 'scan', '--redact', '-'])
  const { stdin, stdout, stderr } = child
  if (!stdin || !stdout || !stderr) throw new Error('kp has no pipes')
  const printed = text(stderr)
  stdin.on('error', () => {}).end('An ordinary line of text without anything in it.\n'.repeat(100_000))
  stdout.once('data', () => stdout.destroy())
  expect(await once(child, 'close')).toEqual([0, null])
  expect(await printed).toBe('')
})

test('kp exits with 143 and removes the unfinished file when SIGTERM ends an export', async () => {
  const server = createServer((_, response) => {
    response.writeHead(200, { 'Content-Type': 'application/json', 'KP-Schema-Version': 'v1' })
    response.write('{"agent_id":"a","knowledge_units":[')
  })
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  const url = `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`
  const files = () => readdirSync(line.workplace).filter((name) => name.startsWith('export.json'))
  try {
    const child = line.start(['export', 'agent-x', '--output', 'export.json', '--url', url])
    const ended = once(child, 'exit')
    await vi.waitUntil(() => files().length > 0, { timeout: 60_000, interval: 10 })
    expect(files()).toEqual([expect.stringMatching(/^export\.json\.\w+\.part$/)])
    child.kill('SIGTERM')
    expect(await ended).toEqual([143, null])
    expect(files()).toEqual([])
  } finally {
    server.closeAllConnections()
    server.close()
  }
})
