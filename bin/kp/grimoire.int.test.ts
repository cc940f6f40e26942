import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer, type Server } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import { openKeyring } from '#lib/client/sealing/keyring.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-grimoire-'))
const first = 'a heron stands in the shallow water'
const second = 'the kettle sings before it is full'
const third = 'seven lamps along the harbour wall'
const secretWords = 'Quiet markets widen before the Tuesday auction.'
const sharedWords = 'Thin books punish haste.'

let app: TestApp
let agent: Issued
let between: Server
let line: ReturnType<typeof commandLine>
/** All bytes that were sent or received, and all output of the server. */
const traffic: Buffer[] = []
const printed: string[] = []
const silenced = vi.spyOn(process.stderr, 'write')
const silencedToo = vi.spyOn(process.stdout, 'write')

beforeAll(async () => {
  app = await testApp()
  agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
  between = createServer(async (request, response) => {
    const pieces: Buffer[] = []
    for await (const piece of request) pieces.push(Buffer.from(piece))
    const body = Buffer.concat(pieces)
    traffic.push(Buffer.from(`${request.method} ${request.url} ${JSON.stringify(request.rawHeaders)}`), body)
    const { host: _host, connection: _connection, ...headers } = request.headers
    const told = await fetch(app.url + request.url, {
      method: request.method ?? 'GET',
      headers: Object.entries(headers).map(([name, value]): [string, string] => [name, String(value)]),
      ...(body.length > 0 && { body: new Uint8Array(body) }),
    })
    const answer = Buffer.from(await told.arrayBuffer())
    traffic.push(answer)
    const sent = [...told.headers].filter(
      ([name]) => !/^(connection|transfer-encoding|content-(length|encoding))$/.test(name),
    )
    response.writeHead(told.status, Object.fromEntries(sent)).end(answer)
  })
  await new Promise<void>((listening) => between.listen(0, '127.0.0.1', listening))
  const address = between.address()
  line = commandLine(`http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`)
  await line.signIn(agent.token)
})
afterAll(async () => {
  silenced.mockRestore()
  silencedToo.mockRestore()
  line?.close()
  await new Promise((closed) => between.close(closed))
  await app?.close()
  rmSync(root, { recursive: true, force: true })
})

let files = 0
const kp = (secrets: readonly string[], args: readonly string[], input = '') => {
  const file = join(root, `secrets-${files++}`)
  writeFileSync(file, secrets.join('\n'), { mode: 0o600 })
  return line.run(['grimoire', ...args], { input, env: { KP_PASSPHRASE_FILE: file } })
}
/** Every row of every table as text, with bytes in base64 and hex. */
async function wholeDatabase(): Promise<string> {
  const { rows: tables } = await app.db.pool.query<{ name: string }>(
    `SELECT quote_ident(table_schema) || '.' || quote_ident(table_name) AS name FROM information_schema.tables
     WHERE table_type = 'BASE TABLE' AND table_schema NOT IN ('pg_catalog', 'information_schema')
       AND has_table_privilege(quote_ident(table_schema) || '.' || quote_ident(table_name), 'SELECT')`,
  )
  let text = ''
  for (const { name } of tables) {
    const { rows } = await app.db.pool.query<{ row: string }>(`SELECT t::text AS row FROM ${name} AS t`)
    text += rows.map(({ row }) => row).join('\n')
  }
  return text
}
const everyFile = (folder: string): string =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((one) => one.isFile())
    .map((one) => readFileSync(join(one.parentPath, one.name), 'latin1'))
    .join('\n')
/** Encodings of a secret. */
const spellings = (secret: Uint8Array): string[] => {
  const bytes = Buffer.from(secret)
  return [
    bytes.toString('latin1'),
    bytes.toString('hex'),
    bytes.toString('base64').slice(0, -4),
    bytes.toString('base64url').slice(0, -4),
  ]
}

describe('kp grimoire', () => {
  test('creates and recovers a keyring, seals and opens entries, and changes the passphrase without revealing secrets to the server', async () => {
    const made = await kp([first], ['init', '--json'])
    expect(made.status, made.err).toBe(0)
    const code: string = made.json.data.recovery_code
    expect(code).toMatch(/^(\w{4}-){6}\w{4}$/)

    const added = await kp(
      [first],
      ['add', '-', '--kind', 'episode', '--confidence', '0.8', '--tag', 'auction-notes', '--json'],
      secretWords,
    )
    expect(added.status, added.err).toBe(0)
    const { id } = added.json.data
    const shared = await kp(
      [],
      ['add', '-', '--kind', 'warning', '--confidence', '0.5', '--clade', '--json'],
      sharedWords,
    )
    expect(shared.status, shared.err).toBe(0)
    const listed = await kp([], ['list', '--json'])
    expect(listed.json.data.map(({ id: one, scope }: { id: string; scope: string }) => [one, scope])).toEqual(
      expect.arrayContaining([
        [id, 'private'],
        [shared.json.data.id, 'clade'],
      ]),
    )
    const shown = await kp([first], ['show', id, '--json'])
    expect(shown.json.data.entry).toMatchObject({ content: secretWords, confidence: 0.8, tags: ['auction-notes'] })
    expect((await kp([], ['show', shared.json.data.id])).out).toContain(sharedWords)

    const wrong = await kp([second], ['show', id])
    expect([wrong.status, wrong.out]).toEqual([1, ''])
    expect(wrong.err).toContain('This passphrase does not open the keyring')
    const changed = await kp([first, second], ['passphrase', '--json'])
    expect(changed.status, changed.err).toBe(0)
    expect((await kp([first], ['show', id])).status).toBe(1)
    expect((await kp([second], ['show', id])).out.trim()).toBe(secretWords)
    const slip = `${code.slice(0, -1)}${code.endsWith('0') ? '1' : '0'}`
    expect((await kp([slip, third], ['recover'])).err).toContain('contains a typing error')
    const recovered = await kp([code, third], ['recover', '--json'])
    expect(recovered.status, recovered.err).toBe(0)
    expect((await kp([third], ['show', id])).out.trim()).toBe(secretWords)

    printed.push(
      ...silenced.mock.calls.map(([text]) => String(text)),
      ...silencedToo.mock.calls.map(([text]) => String(text)),
    )
    const ring = await app.fetch('GET', `/v1/agents/${agent.id}/keyring`, { token: agent.token })
    const master = await openKeyring(ring.json.data.keyring, third)
    const database = await wholeDatabase()
    const places: Record<string, string> = {
      database,
      'files of the installation': everyFile(app.dataDir),
      'what the server printed': printed.join(''),
      traffic: Buffer.concat(traffic).toString('latin1'),
    }
    const secrets: string[] = [
      ...[first, second, third, secretWords, 'auction-notes', code, code.replace(/-/g, '')].flatMap((text) => [
        text,
        ...spellings(Buffer.from(text)),
      ]),
      ...spellings(master.bytes),
    ]
    // The search works: it finds the ciphertext in the database and the shared text in the traffic.
    expect(database).toContain(id)
    expect(database).toContain(ring.json.data.keyring.passphrase.wrapped)
    expect(places.traffic).toContain(sharedWords)
    expect(database).not.toContain(sharedWords)
    for (const [place, text] of Object.entries(places))
      for (const secret of secrets) expect(text.includes(secret), `a secret in ${place}`).toBe(false)
    const gone = await kp([], ['delete', id])
    expect(gone.status, gone.err).toBe(0)
    expect((await kp([third], ['show', id])).status).toBe(1)
  }, 600_000)

  test('sets and changes the members of an entry without sending its content in plain text', async () => {
    const other = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
    await line.signIn(other.token)
    expect((await kp([first], ['init'])).status).toBe(0)
    const described = [
      '--provenance',
      'the Tuesday auction',
      '--parent',
      'shr_one',
      'shr_two',
      '--tag',
      'fees',
      '--from',
      '2026-01-31',
      '--until',
      '2099-01-31T12:00:00Z',
      '--confidence',
      '0.5',
      '--json',
    ]
    const own = await kp([first], ['add', '-', ...described], secretWords)
    const open = await kp([], ['add', '-', '--clade', ...described], sharedWords)
    expect([own.status, open.status], own.err + open.err).toEqual([0, 0])
    const said = {
      confidence: 0.5,
      tags: ['fees'],
      provenance: 'the Tuesday auction',
      parents: ['shr_one', 'shr_two'],
      valid_from: '2026-01-31T00:00:00.000Z',
      valid_until: '2099-01-31T12:00:00.000Z',
    }
    const shown = async (id: string) => (await kp([first], ['show', id, '--json'])).json.data
    for (const [{ json }, content] of [
      [own, secretWords],
      [open, sharedWords],
    ] as const) {
      const { id } = json.data
      expect((await shown(id)).entry).toEqual({ content, ...said })

      const sent = traffic.length
      const edited = await kp([first], ['edit', id, '--confidence', '0.25', '--clear', 'parents', 'from', '--json'])
      expect(edited.status, edited.err).toBe(0)
      const after = { ...said, confidence: 0.25, parents: [], valid_from: null }
      expect(await shown(id)).toMatchObject({ entry: { content, ...after }, valid_until: said.valid_until })
      expect((await kp([first], ['edit', id, '-', '--clear', 'until'], 'Wide books forgive it.')).status).toBe(0)
      expect(await shown(id)).toMatchObject({
        entry: { ...after, content: 'Wide books forgive it.', valid_until: null },
        valid_until: null,
      })
      const onTheWire = Buffer.concat(traffic.slice(sent)).toString('latin1')
      expect(onTheWire).toContain(`PUT /v1/agents/${other.id}/grimoire/${id}`)
      expect(onTheWire.includes('Wide books'), id).toBe(content === sharedWords)
    }
    const sent = traffic.length
    const unchanged = await kp([first], ['edit', own.json.data.id])
    const unsure = await kp([first], ['edit', open.json.data.id, '--clear', 'confidence'])
    const timeless = await kp([first], ['edit', own.json.data.id, '--until', 'soon'])
    expect([unchanged, unsure, timeless].map(({ status }) => status)).toEqual([2, 2, 2])
    expect(Buffer.concat(traffic.slice(sent)).toString('latin1')).not.toContain('PUT ')
    await line.signIn(agent.token)
  }, 600_000)

  test('exports all entries sealed, and opens the file without a registry, with the passphrase or the recovery code', async () => {
    const other = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
    await line.signIn(other.token)
    const code: string = (await kp([first], ['init', '--json'])).json.data.recovery_code
    await kp([first], ['add', '-', '--kind', 'episode', '--confidence', '0.8'], secretWords)
    await kp([], ['add', '-', '--kind', 'warning', '--confidence', '0.5', '--clade'], sharedWords)
    const file = (name: string) => join(root, name)
    const exported = await kp([], ['export', '--output', file('whole.jsonl'), '--json'])
    expect(exported.json?.data, exported.err).toMatchObject({ agent_id: other.id, private: 1, clade: 1 })
    const text = readFileSync(file('whole.jsonl'), 'utf8')
    expect([
      statSync(file('whole.jsonl')).mode & 0o777,
      text.includes(secretWords),
      text.includes(sharedWords),
    ]).toEqual([0o600, false, true])
    expect((await kp([], ['export', '--output', file('whole.jsonl')])).status).toBe(2)

    // Another machine: neither a token nor a registry.
    const alone = commandLine('http://127.0.0.1:9')
    const open = (secret: string, name: string, ...more: string[]) => {
      writeFileSync(file('secret'), secret, { mode: 0o600 })
      return alone.run(['grimoire', 'open', file(name), '--output', file('opened.jsonl'), '--force', ...more], {
        env: { KP_PASSPHRASE_FILE: file('secret') },
      })
    }
    for (const [secret, ...more] of [[first], [code, '--recovery']] as const) {
      const done = await open(secret, 'whole.jsonl', ...more)
      expect(done.status, done.err).toBe(0)
      const opened = readFileSync(file('opened.jsonl'), 'utf8')
        .trim()
        .split('\n')
        .map((one) => JSON.parse(one).entry.content)
      expect(opened.toSorted()).toEqual([secretWords, sharedWords].toSorted())
      rmSync(file('opened.jsonl'))
    }
    const lines = text.trimEnd().split('\n')
    const swapped = lines.map((one) => one.replace('"kind":"episode"', '"kind":"insight"'))
    const broken: Record<string, readonly string[]> = {
      'short.jsonl': lines.slice(0, -1),
      'fewer.jsonl': lines.toSpliced(1, 1),
      'foreign.jsonl': ['{"data":[]}'],
      'changed.jsonl': swapped,
      'keyless.jsonl': [lines[0]?.replace(/"keyring":.*/, '"keyring":null}') ?? '', ...lines.slice(1)],
    }
    for (const [name, content] of Object.entries(broken)) {
      writeFileSync(file(name), content.join('\n'))
      const refused = await open(first, name)
      expect([name, refused.status, existsSync(file('opened.jsonl'))]).toEqual([name, 1, false])
    }
    expect((await open(second, 'whole.jsonl')).err).toContain('This passphrase does not open the keyring')
    alone.close()
    await line.signIn(agent.token)
  }, 600_000)

  test('reports missing input and sends nothing', async () => {
    const sent = traffic.length
    const bad = await kp([''], ['init'])
    expect(bad.status).toBe(2)
    const weak = await kp(['short'], ['init'])
    expect([weak.status, weak.err.includes('12 characters')]).toEqual([1, true])
    const none = await line.run(['grimoire', 'init'])
    expect([none.status, none.err.includes('KP_PASSPHRASE_FILE')]).toEqual([2, true])
    const unsure = await kp([], ['add', '-', '--clade'], 'x')
    expect(unsure.status).toBe(2)
    const written = Buffer.concat(traffic.slice(sent)).toString()
    expect(written).not.toContain('PUT ')
    expect(written).not.toContain('POST ')
  }, 300_000)
})
