import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { authPages } from '#lib/testing/next-auth.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-snapshots-'))
const [first, second] = ['a heron stands in the shallow water', 'the kettle sings before it is full']
const lesson = 'Quiet markets widen before the Tuesday auction.'
let app: TestApp
let person: Awaited<ReturnType<typeof personWithPassword>>
let agents: [Issued, Issued]
let line: ReturnType<typeof commandLine>

beforeAll(async () => {
  const probe = createServer()
  await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening))
  const address = probe.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await new Promise((closed) => probe.close(closed))
  // People sign in through the installation's pages, which require its own address.
  app = await testApp({ KP_URL: `http://127.0.0.1:${port}` }, undefined, { pages: authPages, port })
  person = await personWithPassword(app)
  const owned = () => issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner: person })
  agents = [await owned(), await owned()]
  line = commandLine(app.url)
  await line.signIn(agents[0].token)
})
afterAll(async () => {
  line?.close()
  await app?.close()
  rmSync(root, { recursive: true, force: true })
})

const passphraseFile = (...lines: string[]): string => {
  const file = join(root, 'passphrases')
  writeFileSync(file, `${lines.join('\n')}\n`)
  return file
}
const kp = (args: string[], lines = [first], more: { input?: string } = {}) =>
  line.run([...args, '--json'], { ...more, env: { KP_PASSPHRASE_FILE: passphraseFile(...lines) } })
const asOwner = (args: string[], lines: string[]) =>
  kp([...args, '--as', person.email, '--password-stdin'], lines, { input: `${person.password}\n` })
const ask = async (agent: Issued, path: string) =>
  (await app.fetch('GET', `/v1/agents/${agent.id}${path}`, { cookie: person.cookie })).json.data

/** Runs the queue's snapshot jobs during the work. */
async function whileMaking<T>(work: Promise<T>): Promise<T> {
  let isDone = false
  const done = work.finally(() => {
    isDone = true
  })
  const make = app.app.jobs.find(({ name }) => name === 'snapshots.make')
  while (!isDone) {
    for (const { id } of await app.db.prisma.snapshot.findMany({ where: { state: 'preparing' } }))
      await make?.execute(app.app.pipeline, { id })
    await new Promise((soon) => setTimeout(soon, 100))
  }
  return done
}

test('snapshot creates, downloads and opens a snapshot, and restores it into the same agent and another one', async () => {
  const [own, other] = agents
  const refused = await kp(['grimoire', 'init'])
  expect([refused.status === 0, refused.err]).toEqual([false, expect.stringContaining('the owner adds --as')])
  expect((await asOwner(['grimoire', 'init', '--agent', own.id], [first])).status).toBe(0)
  expect((await asOwner(['grimoire', 'init', '--agent', other.id], [second])).status).toBe(0)
  const secret = await kp(['grimoire', 'add', '-'], [first], { input: lesson })
  expect(secret.status, secret.err).toBe(0)
  await app.fetch('POST', `/v1/agents/${own.id}/grimoire`, {
    token: own.token,
    body: { scope: 'clade', kind: 'insight', content: { claim: 'calm' }, confidence: 0.7 },
  })
  await app.fetch('POST', `/v1/agents/${own.id}/documents`, {
    token: own.token,
    body: { kind: 'playbook', title: 'Fixing', body: 'Wait for it.\n' },
  })
  await app.fetch('PUT', `/v1/agents/${own.id}/state`, { token: own.token, body: { step: 3 } })

  const made = await whileMaking(kp(['snapshot', 'create']))
  expect([made.status, made.json?.data.state], made.err).toEqual([0, 'ready'])
  const { id } = made.json.data
  expect((await kp(['snapshot', 'list'])).json.data).toMatchObject([{ id, kind: 'on_demand', state: 'ready' }])

  const output = join(root, 'own.jsonl')
  const opened = await kp(['snapshot', 'download', id, '--output', output])
  expect([opened.status, statSync(output).mode & 0o777], opened.err).toEqual([0, 0o600])
  const lines = readFileSync(output, 'utf8').trimEnd().split('\n')
  expect(lines.map((text) => JSON.parse(text).part)).toEqual([
    'agent',
    'agent_documents',
    'keyrings',
    'grimoire_entries',
    'grimoire_entries',
    'state',
    'state',
    'end',
  ])
  const sealed = join(root, 'own.kpsnap')
  expect((await kp(['snapshot', 'download', id, '--output', sealed, '--sealed'])).status).toBe(0)
  expect(readFileSync(sealed).subarray(0, 8).toString()).toBe('KPSNAP1\n')
  const wrong = await kp(['snapshot', 'download', id, '--output', join(root, 'no')], [second])
  expect([wrong.status === 0, wrong.err.includes('wrong_passphrase')]).toEqual([false, true])
  expect(readdirSync(root).sort()).toEqual(['own.jsonl', 'own.kpsnap', 'passphrases'])

  // Every record already exists.
  const same = await kp(['snapshot', 'restore', id])
  expect(same.json?.data, same.err).toMatchObject({ documents: 0, entries: 0, there: 3 })
  await app.fetch('DELETE', `/v1/agents/${own.id}/grimoire/${secret.json.data.id}`, { token: own.token })
  expect((await kp(['snapshot', 'restore', id])).json.data).toMatchObject({ documents: 0, entries: 1, there: 2 })
  expect((await kp(['grimoire', 'show', secret.json.data.id])).json.data.entry.content).toBe(lesson)

  // The owner restores the snapshot of a retired agent into another one; repeating it changes nothing.
  await app.fetch('PUT', `/v1/agents/${own.id}/status`, {
    cookie: person.cookie,
    body: { status: 'dead', confirm: own.id },
  })
  for (const came of [
    { documents: 1, entries: 2, there: 0 },
    { documents: 0, entries: 0, there: 3 },
  ]) {
    const words = ['snapshot', 'restore', id, '--agent', own.id, '--into', other.id]
    const restored = await asOwner(words, [first, second])
    expect(restored.json?.data, restored.err).toMatchObject({ agent_id: other.id, ...came, state_bytes: 10 })
  }
  expect((await ask(other, '/documents')).map(({ title }: { title: string }) => title)).toEqual(['Fixing'])
  const entries: { id: string; scope: string }[] = await ask(other, '/grimoire')
  expect(entries.map(({ scope }) => scope).sort()).toEqual(['clade', 'private'])
  const moved = entries.find(({ scope }) => scope === 'private')?.id ?? ''
  const shown = await kp(['grimoire', 'show', moved, '--token', other.token], [second])
  expect(shown.json?.data.entry.content, shown.err).toBe(lesson)
  expect(await app.db.prisma.stateBundle.count({ where: { agentId: other.id } })).toBe(1)

  expect((await asOwner(['snapshot', 'delete', id, '--agent', own.id], [first])).status).toBe(0)
  const gone = await asOwner(['snapshot', 'download', id, '--agent', own.id, '--output', join(root, 'x')], [first])
  expect([gone.status === 0, gone.err.includes('not_found')]).toEqual([false, true])
})
