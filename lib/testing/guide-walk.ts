import { spawn } from 'node:child_process'
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createAccount } from '#lib/domains/accounts/service.ts'
import { createOrganisation } from '#lib/domains/accounts/writes.ts'
import { ledgerFolder } from '#lib/stores/ledger/ledger-place.ts'
import { type TestApp, testApp } from './app.ts'
import { drainWhile } from './jobs.ts'
import { authPages } from './next-auth.ts'
import { freeTestPort } from './ports.ts'

const root = join(import.meta.dirname, '../..')

/** A section of a guide in `docs/`, up to the next heading of its level. `heading` has its number signs: `## Errors`. */
export function sectionOf(guide: string, heading: string): string {
  const text = `\n${readFileSync(join(root, 'docs', guide), 'utf8')}`
  const from = text.indexOf(`\n${heading}\n`)
  if (from < 0) throw new Error(`docs/${guide} has no section "${heading}"`)
  const rest = text.slice(from + heading.length + 1)
  // A comment in a shell command is no heading: it follows no blank line.
  const end = rest.search(new RegExp(`\\n\\n#{1,${heading.indexOf(' ')}} `))
  return end < 0 ? rest : rest.slice(0, end)
}
/** The code blocks of a language, in order. */
export const blocksOf = (text: string, language: string): string[] =>
  [...text.matchAll(new RegExp(`^\`\`\`${language}\\n([\\s\\S]*?)^\`\`\`$`, 'gm'))].map(([, block = '']) => block)
/** The shell commands of a text: its blocks of the language `sh`. */
export const commandsOf = (text: string): string[] => blocksOf(text, 'sh')
/** The lines that a text shows as answers: its blocks of the language `text`. */
export const answersOf = (text: string): string[] =>
  blocksOf(text, 'text').flatMap((block) => block.trimEnd().split('\n'))

/** A new installation with an admin, at the address where people sign in. */
export async function freshInstallation(): Promise<TestApp> {
  const port = await freeTestPort()
  const app = await testApp({ KP_URL: `http://127.0.0.1:${port}` }, undefined, { pages: authPages, port })
  const now = app.clock.now()
  await app.db.transaction(async (tx) =>
    createAccount(tx, {
      organisationId: await createOrganisation(tx, 'First', now),
      email: 'admin@example.org',
      name: 'Admin',
      now,
      role: 'admin',
      password: 'correct horse battery',
      mustChangePassword: false,
    }),
  )
  return app
}

/** A checkout as a reader has it, for files that the commands write. Call `close` at the end. */
export function readersFolder() {
  const folder = mkdtempSync(join(tmpdir(), 'kp-walk-'))
  mkdirSync(join(folder, 'var'))
  symlinkSync(join(root, 'docs'), join(folder, 'docs'))
  return { folder, close: (): void => rmSync(folder, { recursive: true, force: true }) }
}

/** Runs a bash script in the reader's folder, next to a worker. `$NODE "$KP"` is kp. Returns the exit code and the output. */
export async function walked(
  app: TestApp,
  folder: string,
  script: string,
  env: Record<string, string> = {},
): Promise<{ status: number | null; said: string }> {
  const bash = spawn('bash', ['-c', script.replaceAll('http://localhost:3000', app.url)], {
    cwd: folder,
    env: {
      PATH: process.env.PATH,
      HOME: folder,
      XDG_CONFIG_HOME: folder,
      NODE_ENV: 'production',
      NODE: process.execPath,
      KP: join(root, 'bin/kp.ts'),
      KP_URL: app.url,
      KP_DATA_DIR: app.dataDir,
      DATABASE_URL: app.app.env.DATABASE_URL ?? '',
      KP_SECRET: app.app.env.KP_SECRET ?? '',
      // The home of the reader is not that of the application, so the default place differs.
      KP_LEDGER_URL: ledgerFolder(app.app.env),
      ...env,
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
  // Rate-limit windows end in real time, so the test clock follows it: a client that waits as told has waited long
  // enough.
  let last = performance.now()
  await drainWhile(
    app,
    () => status === undefined,
    () => {
      app.clock.advance(performance.now() - last)
      last = performance.now()
    },
  )
  return { status: status ?? null, said }
}
