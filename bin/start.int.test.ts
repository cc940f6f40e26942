import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { expect, test } from 'vitest'

/** What a start says that is refused before it builds or opens anything. */
async function refusedStart(env: Record<string, string>) {
  const settings = { ...process.env, KP_DATA_DIR: `${tmpdir()}/kp-never-made`, ...env }
  const child = spawn(process.execPath, ['bin/start.ts'], { env: settings, stdio: ['ignore', 'pipe', 'pipe'] })
  let said = ''
  for (const stream of [child.stdout, child.stderr]) {
    stream.setEncoding('utf8').on('data', (text: string) => {
      said += text
    })
  }
  const [status] = await once(child, 'close')
  return { status, lines: said.trim().split('\n') }
}

test('a bad variable is named in one line', async () => {
  const { status, lines } = await refusedStart({ PORT: '99999' })
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringContaining('PORT')])
})

test('a port in use is named in one line, with the command that avoids it', async () => {
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const address = other.address()
  const port = typeof address === 'object' && address ? address.port : 0
  const { status, lines } = await refusedStart({ PORT: String(port), HOST: '127.0.0.1' })
  other.close()
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringMatching(new RegExp(`^Port ${port} .* in use.*PORT=${port + 1} npm start$`))])
})

test('an address that is not this machine’s is named in one line', async () => {
  const { status, lines } = await refusedStart({ HOST: '192.0.2.1', PORT: '3000' }) // TEST-NET-1 (RFC 5737)
  expect(status).toBe(1)
  expect(lines).toEqual([expect.stringContaining('HOST: 192.0.2.1')])
})
