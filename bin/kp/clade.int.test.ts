import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { newKeyring } from '#lib/client/sealing/keyring.ts'
import { joinClade } from '#lib/domains/clades/writes.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { giveKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'

const root = mkdtempSync(join(tmpdir(), 'kp-clade-'))
const passphrase = 'a heron stands in the shallow water'
const address = `0x${'cd'.repeat(20)}`
const lesson = `Thin books punish haste; the bot pays from ${address}.`

let app: TestApp
let sender: Issued
let sibling: Issued
let line: ReturnType<typeof commandLine>
let other: ReturnType<typeof commandLine>
beforeAll(async () => {
  app = await testApp()
  const owner = await signedIn(app)
  sender = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner })
  sibling = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner })
  await app.app.pipeline.transaction((tx) =>
    joinClade(tx, { agentId: sibling.id, ancestorId: sender.id, ownerId: owner.accountId, now: app.clock.now() }),
  )
  line = commandLine(app.url)
  other = commandLine(app.url)
  await giveKeyring(app, sender.id, (await newKeyring(passphrase)).keyring)
  await line.signIn(sender.token)
  await other.signIn(sibling.token)
})
afterAll(async () => {
  line?.close()
  other?.close()
  await app?.close()
  rmSync(root, { recursive: true, force: true })
})
const kp = (args: readonly string[], input = '') => {
  const file = join(root, 'secrets')
  writeFileSync(file, passphrase, { mode: 0o600 })
  return line.run([...args], { input, env: { KP_PASSPHRASE_FILE: file } })
}

test('clade strips a private entry on this machine and shares it; siblings fetch it and acknowledge its recall', async () => {
  const added = await kp(['grimoire', 'add', '-', '--confidence', '0.8', '--json'], lesson)
  expect(added.status, added.err).toBe(0)
  const id = added.json.data.id
  const off = await kp(['clade', 'share', id])
  expect([off.status === 0, off.err]).toEqual([false, expect.stringContaining('Sharing is off')])
  expect((await kp(['clade', 'on'])).status).toBe(0)
  expect((await kp(['clade', 'status'])).out).toContain(sibling.id)
  const preview = await kp(['clade', 'preview', id, '--json'])
  expect(preview.status, preview.err).toBe(0)
  expect(preview.out).toContain('Thin books punish haste')
  expect(preview.out).not.toContain(address)
  expect(preview.json.data.removed).toEqual({ ethereum_address: 1 })
  const shared = await kp(['clade', 'share', id, '--digest', preview.json.data.digest, '--json'])
  expect(shared.status, shared.err).toBe(0)
  expect(shared.json.data).toMatchObject({ sent_to: [sibling.id], removed: { ethereum_address: 1 } })

  const pending = await other.run(['clade', 'pending', '--json'])
  expect(pending.json.data).toMatchObject([{ action: 'add', payload: { confidence: 0.8 } }])
  expect((await other.run(['clade', 'ack', String(pending.json.next_after)])).status).toBe(0)
  const recalled = await kp(['clade', 'recall', shared.json.data.share_id, '--json'])
  expect(recalled.json.data).toMatchObject({ withdrawn: 0, to_acknowledge: 1 })
  const again = await other.run(['clade', 'pending', '--json'])
  expect(again.json.data).toMatchObject([{ action: 'remove', payload: null }])
  expect((await other.run(['clade', 'ack', String(again.json.next_after)])).out).toContain('1 removed')
  expect((await kp(['clade', 'off'])).status).toBe(0)
  expect((await other.run(['clade', 'ack', 'soon'])).status).not.toBe(0)
})

test('clade recall reaches entries that derive from a share through private entries', async () => {
  const added = async (by: typeof kp, args: readonly string[]): Promise<string> => {
    const told = await by(
      ['grimoire', 'add', '-', '--confidence', '0.8', '--json', ...args],
      'Thin books punish haste.',
    )
    expect(told.status, told.err).toBe(0)
    return told.json.data.id
  }
  const theirs = await added((args, input) => other.run([...args], { input: input ?? '' }), ['--clade'])
  for (const by of [line, other]) expect((await by.run(['clade', 'on'])).status).toBe(0)
  const first = await other.run(['clade', 'share', theirs, '--json'])
  expect(first.status, first.err).toBe(0)
  const origin = first.json.data.share_id
  const middle = await added(kp, ['--parent', origin])
  const entry = await added(kp, ['--parent', middle])
  const shared = await kp(['clade', 'share', entry, '--json'])
  expect(shared.status, shared.err).toBe(0)
  const recalled = await other.run(['clade', 'recall', origin, '--json'])
  expect(recalled.json.data.recalled).toEqual([origin, shared.json.data.share_id].sort())
  const again = await kp(['clade', 'share', entry])
  expect([again.status === 0, again.err]).toEqual([false, expect.stringContaining('recalled')])
})
