import { createApp } from '#lib/app.ts'
import type { Env } from '#lib/config/env.ts'
import { logNotice } from '#lib/kernel/fault-log.ts'
import { firstRun } from '#lib/operator/first-run.ts'

export { firstRun }

/** After a restore, repeats the erasures of the ledger before anything is served. The operator must resolve the remaining ones. */
export async function repeatErasures(env: Env) {
  const app = createApp({ env, replaysByItself: env.KP_ROLE === 'all' })
  try {
    const state = await app.restored.state()
    // Rows that the ledger lacks are written after the comparison, which must read the ledger as it was found.
    if (state.missing === 0 && state.isCompared) {
      const count = await app.writeMissingRows()
      if (count > 0) logNotice(`wrote ${count} erasures and keys of the database back to the ledger, which lacked them`)
    }
    const lost = state.isCompared ? await app.lostRequests() : []
    for (const { id, due } of lost)
      logNotice(`the database lacks the privacy request ${id}, which is due on ${due.slice(0, 10)}: see kp doctor`)
    return state
  } finally {
    await app.close()
  }
}
