import { spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import type { TestApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { commandsOf, freshInstallation, readersFolder, sectionOf, walked } from '#lib/testing/guide-walk.ts'

vi.setConfig({ testTimeout: 600_000 })

const hasShell = spawnSync('bash', ['--version']).status === 0 && spawnSync('curl', ['--version']).status === 0
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

/** Stands in for the reader: types passwords and the confirmation, and finds the receipt in the newest email. */
const hands = `
set -eu -o pipefail
typed='a password that was typed'
npm() {
  shift 4
  case " $* " in
    *' admin account add '*--quiet*) "$NODE" "$KP" "$@" ;;
    *' admin account add '*) "$NODE" "$KP" "$@" | tee once ;;
    *' account password '*) printf '%s\\n%s\\n' "$(cat once)" "$typed" | "$NODE" "$KP" "$@" --password-stdin ;;
    *' request erasure '*) printf '%s\\n' "$typed" | "$NODE" "$KP" "$@" --password-stdin --yes ;;
    *' --as '*) printf '%s\\n' "$typed" | "$NODE" "$KP" "$@" --password-stdin ;;
    *) "$NODE" "$KP" "$@" ;;
  esac
}
in_letters() { for letter in $(ls -t "$MAIL"); do tr -d '\\r' < "$MAIL/$letter" | sed -e ':a' -e '/=$/{N;s/=\\n//;ba' -e '}' | grep -o 'rcpt_[0-9A-Za-z]\\{22\\}' || true; done | head -n 1; }
known=
receipt() { until found=$(in_letters) && [ -n "$found" ] && [ "$found" != "$known" ]; do sleep 0.2; done; known=$found; }
`

test.runIf(hasShell)(
  'the commands of the guide about a person’s rights work as written, with kp and curl, up to a valid receipt',
  async () => {
    const commands = commandsOf(sectionOf('api.md', "## A person's rights from a shell"))
    expect(commands.length).toBeGreaterThan(10)
    const script = commands
      .map((text) => (text.includes('rcpt_…') ? `receipt\n${text.replaceAll('rcpt_…', '$known')}` : text))
      .join('\n')
    const { status, said } = await walked(app, folder, `${hands}\n${script}`, { MAIL: join(app.dataDir, 'mail') })
    expect(status, said).toBe(0)
    expect(said.match(/✓ The receipt is valid\./g)).toHaveLength(2)
    expect(said).toContain('you are signed out permanently')
    for (const name of ['somebody.zip', 'somebody-again.zip']) {
      const { manifest, files } = await openArchive(readFileSync(join(folder, 'var', name)))
      expect(manifest.agents).toHaveLength(1)
      expect(JSON.parse(files['account.json'] ?? '')).toMatchObject([{ email: 'somebody@example.org' }])
      expect(JSON.parse(files[`${manifest.agents[0].folder}/knowledge_units.json`] ?? '').length).toBeGreaterThan(0)
    }
    expect(await app.db.prisma.account.count()).toBe(1)
    expect(await app.db.prisma.unit.count()).toBe(0)
  },
)
