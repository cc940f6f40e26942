import '../bin/runtime.ts'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { buildChanged } from '../bin/build.ts'
import { type Credentials, credentialsFile, origin, port } from './credentials.ts'

// The production server and its worker on a database of their own, which is gone afterwards. What the operator would see, the tests read in a file.
const dataDir = mkdtempSync(join(tmpdir(), 'kp-e2e-'))
const settings = {
  NODE_ENV: 'production',
  NEXT_TELEMETRY_DISABLED: '1',
  HOST: '127.0.0.1',
  PORT: String(port),
  KP_URL: origin,
  KP_DATA_DIR: dataDir,
  KP_SECRET: 'only for the browser journeys, of no worth elsewhere',
}
for (const name of Object.keys(process.env)) if (/^(KP_|DATABASE_)/.test(name)) delete process.env[name]
Object.assign(process.env, settings)

const { createApp } = await import('#lib/app.ts')
const { oneTimePassword } = await import('#lib/domains/accounts/passwords.ts')
const { createAccount, createOrganisation } = await import('#lib/domains/accounts/service.ts')
const { readEnv } = await import('#lib/env.ts')
const { firstRun } = await import('#lib/first-run.ts')
const { prepareDatabase } = await import('#lib/stores/postgres/preparation.ts')
const { startTemporary } = await import('#lib/stores/postgres/temporary.ts')

const stopping = new AbortController()
await buildChanged({ ...process.env }, stopping.signal, () => console.log('Building …'))
const cluster = await startTemporary()
const { appUrl } = await prepareDatabase({
  ownerUrl: cluster.ownerUrl('kp_e2e'),
  secret: settings.KP_SECRET,
  mayCreateDatabase: true,
})

async function makePerson(email: string, name: string): Promise<Credentials['person']> {
  const person = { email, password: oneTimePassword(), name }
  const app = createApp({ env: { ...readEnv(), DATABASE_URL: appUrl } })
  try {
    await app.db.transaction(async (tx) => {
      const now = new Date()
      const organisationId = await createOrganisation(tx, 'An organisation', now)
      await createAccount(tx, { ...person, organisationId, role: 'person', mustChangePassword: false, now })
    })
  } finally {
    await app.close()
  }
  return person
}
const told = (await firstRun({ databaseUrl: appUrl })).join('\n')
const toldOf = (label: string): string => {
  const value = new RegExp(`^ *${label} +(\\S+)`, 'm').exec(told)?.[1]
  if (value === undefined) throw new Error(`The first start said nothing of "${label}".`)
  return value
}
const credentials: Credentials = {
  admin: { email: toldOf('Sign in'), password: toldOf('Password') },
  person: await makePerson('person@example.org', 'Test Person'),
  leaving: await makePerson('leaving@example.org', 'Leaving Person'),
  letters: join(dataDir, 'mail'),
}
rmSync(credentialsFile, { force: true })
writeFileSync(credentialsFile, JSON.stringify(credentials), { mode: 0o600, flag: 'wx' })

const children = ['bin/server.ts', 'bin/worker.ts'].map((file) =>
  spawn(process.execPath, [file], {
    env: { ...process.env, DATABASE_URL: appUrl },
    stdio: ['ignore', 'inherit', 'inherit'],
  }),
)
const exits = children.map((child) => new Promise((done) => child.once('exit', done)))

let ending: Promise<void> | undefined
async function end(): Promise<void> {
  stopping.abort()
  for (const child of children) child.kill('SIGTERM')
  await Promise.all(exits)
  await cluster.stop()
  rmSync(credentialsFile, { force: true })
  rmSync(dataDir, { recursive: true, force: true })
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => (ending ??= end()))
Promise.race(exits).then(() => (ending ??= end()))
