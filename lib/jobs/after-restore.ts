import { setTimeout as delay } from 'node:timers/promises'
import type { RunnableJob } from '#lib/kernel/job.ts'

/** Milliseconds between two comparisons of database and ledger. */
const interval = 5_000

interface Runner {
  stop(): Promise<void>
}
export interface RestoreWatch {
  /** How many erasures of the ledger are missing in the database. */
  state(): Promise<{ missing: number }>
  /** Throws if any are missing. */
  admit(): Promise<unknown>
}

/** Erasure jobs run before a replay is complete, because a replay enqueues what it could not finish. */
const isOfErasure = ({ name }: RunnableJob): boolean => name.startsWith('erasure.')

/**
 * Runs the jobs if the database has every erasure of the ledger, and after a restore only erasure jobs. Rejects if the database does not
 * respond at the start.
 */
export async function runJobsAfterReplay(
  run: (jobs: readonly RunnableJob[]) => Promise<Runner>,
  jobs: readonly RunnableJob[],
  restored: RestoreWatch,
  every = interval,
): Promise<Runner> {
  const admitted = jobs.map((job): RunnableJob => {
    if (isOfErasure(job)) return job
    return {
      ...job,
      async execute(...given) {
        // The database may have been restored since the last comparison.
        await restored.admit()
        return job.execute(...given)
      },
    }
  })
  const runFor = (missing: number) => run(missing > 0 ? admitted.filter(isOfErasure) : admitted)
  let { missing } = await restored.state()
  let runner = await runFor(missing)
  const ending = new AbortController()
  const watching = (async () => {
    while (!ending.signal.aborted) {
      await delay(every, undefined, { signal: ending.signal }).catch(() => {})
      // While the database is down, no job runs.
      const found = ending.signal.aborted ? undefined : await restored.state().catch(() => undefined)
      if (!found || found.missing > 0 === missing > 0) continue
      await runner.stop()
      runner = await runFor(found.missing)
      missing = found.missing
    }
  })()
  return {
    async stop() {
      ending.abort()
      await watching
      await runner.stop()
    },
  }
}
