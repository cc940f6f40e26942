import { spawn, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { trace } from '#lib/testing/units.ts'

// Part of util-linux on every Linux. Other systems have a `script` with other arguments.
const hasTerminals = process.platform === 'linux' && spawnSync('script', ['--version']).status === 0
const program = join(import.meta.dirname, '../kp.ts')
let app: TestApp
let agent: { id: string; token: string }
let home = ''
beforeAll(async () => {
  app = await testApp()
  agent = await app.agent()
  home = mkdtempSync(join(tmpdir(), 'kp-terminal-'))
})
afterAll(async () => {
  await app.close()
  rmSync(home, { recursive: true, force: true })
})

/** Runs kp on a terminal, answers each question, and returns the visible output. */
async function onTerminal(words: string, answers: [question: string, answer: string][] = []) {
  const env = { PATH: process.env.PATH, HOME: home, XDG_CONFIG_HOME: home, KP_URL: app.url, KP_TOKEN: agent.token }
  const child = spawn('script', ['-qec', `"${process.execPath}" "${program}" ${words}`, '/dev/null'], {
    cwd: home,
    env: { ...env, NODE_ENV: 'production', TERM: 'xterm' },
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  const left = [...answers]
  let seen = ''
  child.stdout.setEncoding('utf8').on('data', (piece: string) => {
    seen += piece
    const [question, answer] = left[0] ?? []
    if (question === undefined || !seen.includes(question)) return
    left.shift()
    child.stdin.write(`${answer}\n`)
  })
  const status = await new Promise<number | null>((done, failed) => child.once('error', failed).once('close', done))
  return { status, seen, unasked: left.length }
}

describe.runIf(hasTerminals)('on a terminal', () => {
  test('contribute shows a progress bar, and clears it at the end', async () => {
    const units = Array.from({ length: 25 }, (_, n) => JSON.stringify(trace({ task: { objective: `unit ${n}` } })))
    writeFileSync(join(home, 'units.jsonl'), units.join('\n'))
    const { status, seen } = await onTerminal('contribute units.jsonl')
    expect(status).toBe(0)
    const shares = [...seen.matchAll(/[█░]{20} +(\d+) %/g)].map(([, share]) => Number(share))
    expect(shares.length).toBeGreaterThan(1)
    expect(shares).toEqual(shares.toSorted((one, other) => one - other))
    expect(seen.slice(seen.lastIndexOf('█'))).toContain('\r\u001b[K')
    expect(seen.trimEnd().split('\n').at(-1)).toContain('25')
  })

  test('delete recommends an export, and erases only after the correct confirmation is typed', async () => {
    const { json } = await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const id: string = json.data.id
    const refused = await onTerminal(`delete ${id}`, [['last four characters', 'nope']])
    expect(refused).toMatchObject({ status: 1, unasked: 0 })
    expect(refused.seen.indexOf('kp export me --output')).toBeLessThan(refused.seen.indexOf('last four characters'))
    expect(refused.seen).toContain('kp export me --output')
    expect(refused.seen).toContain('Nothing was erased.')
    const done = await onTerminal(`delete ${id}`, [['last four characters', id.slice(-4)]])
    expect(done, done.seen).toMatchObject({ status: 0, unasked: 0 })
    expect(done.seen).toContain(`${id} was erased.`)
  })

  test('grimoire init rejects the passphrase and makes no keyring when the repeated passphrase differs', async () => {
    const { status, seen, unasked } = await onTerminal('grimoire init', [
      ['A new passphrase', 'a heron stands in the shallow water'],
      ['Repeat it:', 'the kettle sings before it is full'],
    ])
    expect({ status, unasked }, seen).toEqual({ status: 1, unasked: 0 })
    expect(seen).toContain('The two passphrases differ. Nothing was sent')
    expect(seen).not.toContain('heron')
    const keyring = await app.fetch('GET', `/v1/agents/${agent.id}/keyring`, { token: agent.token })
    expect(keyring.status).toBe(404)
  })
})
