import { join } from 'node:path'
import { type Env, readEnv } from '#lib/config/env.ts'
import type { JoinedInstallation } from '#lib/platform/installation.ts'
import type { LedgerDecisions } from '#lib/platform/ledger-settling.ts'
import type { Invocation } from './invocation.ts'

export const checkout = join(import.meta.dirname, '../..')

/**
 * Reads the settings of the installation like `npm start`. Relative paths in them refer to the checkout, so the
 * process changes into it: resolve paths that the user typed before.
 */
export function enterInstallation({ env }: Pick<Invocation, 'env'>): Env {
  if (process.cwd() !== checkout) process.chdir(checkout)
  return readEnv(env)
}

type App = import('#lib/app.ts').App

/**
 * Runs the work on the installation of this machine, whether it is running or not. `decisions`: what the operator declares lost.
 * @throws DatabaseFault
 */
export async function withInstallation<T>(
  invocation: Pick<Invocation, 'env'>,
  work: (app: App, joined: Pick<JoinedInstallation, 'ownerUrl'>) => Promise<T>,
  decisions?: LedgerDecisions,
): Promise<T> {
  const env = enterInstallation(invocation)
  // Loaded here, because most commands only call a registry and start faster without it.
  const { acceptLoss, joinInstallation } = await import('#lib/platform/installation.ts')
  const joined = await (decisions ? acceptLoss(env, decisions) : joinInstallation(env))
  const { createApp } = await import('#lib/app.ts')
  const app = createApp({ env: { ...env, DATABASE_URL: env.DATABASE_DIRECT_URL ?? joined.appUrl } })
  try {
    return await work(app, joined)
  } finally {
    await app.close()
    await joined.leave()
  }
}
