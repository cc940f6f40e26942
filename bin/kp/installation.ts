import { join } from 'node:path'
import { type Env, readEnv } from '#lib/env.ts'

export const checkout = join(import.meta.dirname, '../..')

/** The installation's settings as `npm start` reads them. Its relative paths count from the checkout, wherever kp was called. */
export function enterInstallation(): Env {
  process.chdir(checkout)
  return readEnv()
}

type App = import('#lib/app.ts').App

/** Runs the work on the installation of this machine, whether it is running or not. Throws DatabaseFault. */
export async function withInstallation<T>(work: (app: App) => Promise<T>): Promise<T> {
  const env = enterInstallation()
  // The database is no affair of the commands that ask a registry; they start without it.
  const { joinInstallation } = await import('#lib/stores/postgres/installation.ts')
  const joined = await joinInstallation(env)
  const { createApp } = await import('#lib/app.ts')
  const app = createApp({ env: { ...env, DATABASE_URL: joined.appUrl } })
  try {
    return await work(app)
  } finally {
    await app.close()
    await joined.leave()
  }
}
