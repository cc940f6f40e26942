import { spawnSync } from 'node:child_process'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { TestApp } from '#lib/testing/app.ts'
import { commandsOf, freshInstallation, readersFolder, sectionOf, walked } from '#lib/testing/guide-walk.ts'

vi.setConfig({ testTimeout: 600_000 })

const hasShell = spawnSync('bash', ['--version']).status === 0
const reader = readersFolder()
const { folder } = reader
let app: TestApp
beforeAll(async () => {
  app = await freshInstallation()
})
afterAll(async () => {
  await app?.close()
  reader.close()
})

/** Stands in for the reader: types passwords and the agent's id, and finds ids in the printed output. */
const hands = `
set -eu -o pipefail
typed='a password that was typed'
npm() {
  shift 4
  case " $* " in
    *' admin account add '*) "$NODE" "$KP" "$@" | tee once ;;
    *' account password '*) printf '%s\\n%s\\n' "$(cat once)" "$typed" | "$NODE" "$KP" "$@" --password-stdin ;;
    *' agent die '*) printf '%s\\n' "$typed" | "$NODE" "$KP" "$@" --password-stdin --yes ;;
    *' --as '*) printf '%s\\n' "$typed" | "$NODE" "$KP" "$@" --password-stdin ;;
    *) "$NODE" "$KP" "$@" ;;
  esac 2>&1 | tee -a printed
}
seen() { grep -o "$1_[0-9A-Za-z]\\{22\\}" printed | tail -n 1; }
`

test.runIf(hasShell)('the commands of the guide about an agent’s private data work as written', async () => {
  const commands = commandsOf(sectionOf('for-agent-developers.md', "## An agent's private data"))
  expect(commands.length).toBeGreaterThan(5)
  const script = commands.join('\n').replace(/\b(ent|shr|snap)_…/g, (_, kind: string) => `"$(seen ${kind})"`)
  const secrets = join(folder, 'passphrase')
  writeFileSync(secrets, 'a heron stands in the shallow water\n', { mode: 0o600 })
  const { status, said } = await walked(app, folder, `${hands}\n${script}`, { KP_PASSPHRASE_FILE: secrets })
  expect(status, said).toBe(0)
  const [, preview = '', fetched = '', recalled = ''] =
    /Sharing is on for([\s\S]*?)waits for wren([\s\S]*?)recalled and no longer available([\s\S]*)/.exec(said) ?? []
  expect(preview, said).toContain('Thin books punish haste')
  for (const sent of [preview, fetched]) expect(sent).not.toMatch(/0x5290|3,120|12\.5/)
  for (const told of [preview, fetched]) expect(told).toMatch(/removed: .*1 × ethereum_address/i)
  expect(fetched).toMatch(/add +shr_\w+ +heron/)
  expect(recalled).toMatch(/remove +shr_\w+ +heron/)
  expect(recalled).toContain('The agent is retired.')
  const file = join(folder, 'var/heron.jsonl')
  expect(statSync(file).mode & 0o777).toBe(0o600)
  const parts = readFileSync(file, 'utf8')
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line).part)
  expect(parts).toEqual(expect.arrayContaining(['agent', 'keyrings', 'grimoire_entries', 'end']))
  expect(await app.db.prisma.agent.findMany({ select: { id: true, status: true }, orderBy: { id: 'asc' } })).toEqual([
    { id: 'heron', status: 'dead' },
    { id: 'wren', status: 'active' },
  ])
})
