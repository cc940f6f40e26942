import '../bin/runtime.ts'
import { rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { controlPort, credentialsFile, type DemoCredentials, port } from './credentials.ts'
import { makeDemoInstallation } from './demo-installation.ts'

// Tests read from a file what the operator would see.
const { env, ownerUrl, password, told, remove } = await makeDemoInstallation({ port })
const { createApp } = await import('#lib/app.ts')
const { oneTimePassword } = await import('#lib/domains/accounts/passwords.ts')
const { createAccount } = await import('#lib/domains/accounts/service.ts')
const { createOrganisation } = await import('#lib/domains/accounts/writes.ts')
const { startInstallation } = await import('./installation.ts')

async function makePerson(email: string, name: string): Promise<DemoCredentials['person']> {
  const person = { email, password: oneTimePassword(), name }
  const app = createApp({ env })
  try {
    await app.db.transaction(async (tx) => {
      const now = new Date()
      const organisationId = await createOrganisation(tx, 'An organization', now)
      await createAccount(tx, { ...person, organisationId, role: 'person', mustChangePassword: false, now })
    })
  } finally {
    await app.close()
  }
  return person
}
const toldOf = (label: string): string => {
  const value = new RegExp(`^ *${label} +(\\S+)`, 'm').exec(told)?.[1]
  if (value === undefined) throw new Error(`The first start said nothing of "${label}".`)
  return value
}
const credentials: DemoCredentials = {
  admin: { email: toldOf('Sign in'), password: toldOf('Password') },
  person: await makePerson('person@example.org', 'Test Person'),
  leaving: await makePerson('leaving@example.org', 'Leaving Person'),
  starting: await makePerson('starting@example.org', 'Starting Person'),
  typing: await makePerson('typing@example.org', 'Typing Person'),
  sleeping: await makePerson('sleeping@example.org', 'Sleeping Person'),
  password,
  letters: join(env.KP_DATA_DIR, 'mail'),
}
rmSync(credentialsFile, { force: true })
writeFileSync(credentialsFile, JSON.stringify(credentials), { mode: 0o600, flag: 'wx' })
// Next keeps the process running after an error, so exit explicitly.
const installation = await startInstallation({ env, ownerUrl, controlPort, hasSideStore: true }).catch(
  async (error: unknown) => {
    console.error(error)
    await remove()
    process.exit(1)
  },
)

let isEnding = false
async function end(): Promise<void> {
  if (isEnding) return
  isEnding = true
  await installation.stop()
  await remove()
  rmSync(credentialsFile, { force: true })
  process.exit()
}
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => void end())
