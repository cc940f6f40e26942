import { spawn, spawnSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { createServer } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createAccount, createOrganisation } from '#lib/domains/accounts/service.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { drainWhile } from '#lib/testing/jobs.ts'
import { authPages } from '#lib/testing/next-auth.ts'

vi.setConfig({ testTimeout: 600_000 })

const root = join(import.meta.dirname, '../..')
const hasShell = spawnSync('bash', ['--version']).status === 0 && spawnSync('curl', ['--version']).status === 0
let app: TestApp
let folder = ''
beforeAll(async () => {
  const probe = createServer()
  await new Promise<void>((listening) => probe.listen(0, '127.0.0.1', listening))
  const address = probe.address()
  const port = typeof address === 'object' ? (address?.port ?? 0) : 0
  await new Promise((closed) => probe.close(closed))
  app = await testApp({ KP_URL: `http://127.0.0.1:${port}` }, undefined, { pages: authPages, port })
  // As the first start of an installation leaves it: with an admin.
  const now = app.clock.now()
  await app.db.transaction(async (tx) =>
    createAccount(tx, {
      ...{ organisationId: await createOrganisation(tx, 'First', now), email: 'admin@example.org', name: 'Admin', now },
      ...{ role: 'admin', password: 'correct horse battery', mustChangePassword: false },
    }),
  )
  folder = mkdtempSync(join(tmpdir(), 'kp-walk-'))
  mkdirSync(join(folder, 'var'))
  symlinkSync(join(root, 'docs'), join(folder, 'docs'))
})
afterAll(async () => {
  await app.close()
  rmSync(folder, { recursive: true, force: true })
})

/** The commands of the README's section, in its order: what stands in a block by itself and is no answer. */
function commandsOf(heading: string): string[] {
  const readme = readFileSync(join(root, 'README.md'), 'utf8')
  const from = readme.indexOf(`\n## ${heading}\n`)
  const section = readme.slice(from, readme.indexOf('\n## ', from + 4))
  return [...section.matchAll(/^```\n([\s\S]*?)^```$/gm)]
    .map(([, text = '']) => text)
    .filter((text) => !text.startsWith('✓'))
}

/** What the reader brings: the fingers that type passwords and the word, and the eyes that find the receipt in the newest letter. */
const reader = `
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
  'the README’s walk works to the letter, with kp and with curl, up to the receipt that holds',
  async () => {
    const commands = commandsOf("A subject's rights")
    expect(commands.length).toBeGreaterThan(10)
    const script = commands
      .map((text) => (text.includes('rcpt_…') ? `receipt\n${text.replaceAll('rcpt_…', '$known')}` : text))
      .join('\n')
      .replaceAll('http://localhost:3000', app.url)
    const bash = spawn('bash', ['-c', `${reader}\n${script}`], {
      cwd: folder,
      env: {
        ...{ PATH: process.env.PATH, HOME: folder, XDG_CONFIG_HOME: folder, NODE_ENV: 'production' },
        ...{ NODE: process.execPath, KP: join(root, 'bin/kp.ts'), MAIL: join(app.dataDir, 'mail'), KP_URL: app.url },
        ...{
          DATABASE_URL: app.app.env.DATABASE_URL ?? '',
          KP_DATA_DIR: app.dataDir,
          KP_SECRET: app.app.env.KP_SECRET ?? '',
        },
      },
    })
    let said = ''
    for (const stream of [bash.stdout, bash.stderr])
      stream.setEncoding('utf8').on('data', (text: string) => {
        said += text
      })
    let status: number | null | undefined
    bash.once('close', (code) => {
      status = code
    })
    // Windows of limits end in real time, so business time goes with it: who waits as they are told has waited long enough.
    let last = performance.now()
    await drainWhile(
      app,
      () => status === undefined,
      () => {
        app.clock.advance(performance.now() - last)
        last = performance.now()
      },
    )
    expect(status, said).toBe(0)
    expect(said.match(/✓ The receipt holds\./g)).toHaveLength(2)
    expect(said).toContain('you are signed out for good')
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
