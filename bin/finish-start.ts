import { createApp } from '#lib/app.ts'
import type { Env } from '#lib/config/env.ts'
import { firstRun } from '#lib/operator/first-run.ts'

export { firstRun }

/** After a restore, repeats the erasures of the ledger before anything is served. The operator must resolve the remaining ones. */
export async function repeatErasures(env: Env) {
  const app = createApp({ env, replaysByItself: env.KP_ROLE === 'all' })
  try {
    return await app.restored.state()
  } finally {
    await app.close()
  }
}
