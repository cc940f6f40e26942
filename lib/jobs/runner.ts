import { setTimeout as delay } from 'node:timers/promises'
import { Logger, parseCronItems, type Runner, run } from 'graphile-worker'
import type { GatePorts } from '#lib/kernel/context.ts'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { watchForAbandoned } from './abandoned.ts'

/** The queue's own troubles; what a job says is told once, by the job's own fault. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' && !message.startsWith('Failed task')) logNotice(`queue: ${message}`)
})

/** Milliseconds until a queue that ended is started again. */
const restartAfter = 1_000

/**
 * Runs the jobs until it is stopped; a stop waits for those under way. A job that fails is retried with exponential back-off; one whose
 * worker was killed is taken up by another within seconds. An outage of the database does not end it.
 */
export async function runJobs(
  db: Database,
  gate: GatePorts,
  jobs: readonly RunnableJob[],
): Promise<{ stop(): Promise<void> }> {
  const watch = watchForAbandoned(db, (error) => logFault(error, { job: 'queue', state: 'looking for abandoned jobs' }))
  const begin = (): Promise<Runner> =>
    run({
      pgPool: db.pool,
      events: watch.events,
      concurrency: 4,
      pollInterval: 2_000,
      // Otherwise the queue reports jobs in promises that nobody handles: one that is rejected in an outage ends the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      noHandleSignals: true,
      logger,
      taskList: Object.fromEntries(
        jobs.map((job) => [
          job.name,
          async (payload: unknown, { job: { id } }: { job: { id: string } }) => {
            try {
              await job.execute(gate, payload)
            } catch (error) {
              logFault(error, { job: job.name, jobId: id })
              throw error
            }
          },
        ]),
      ),
      parsedCronItems: parseCronItems(
        jobs.flatMap(({ name, cron }) =>
          cron ? [{ task: name, match: cron, identifier: name, options: { backfillPeriod: 0 } }] : [],
        ),
      ),
    })
  let runner = await begin()
  const stopping = new AbortController()
  // The queue ends for good when the database is away while it reports a job, and the process would stay without doing anything.
  const kept = (async () => {
    for (;;) {
      await runner.promise.catch(() => {})
      for (let isRunning = false; !isRunning && !stopping.signal.aborted; ) {
        await delay(restartAfter, undefined, { signal: stopping.signal }).catch(() => {})
        if (stopping.signal.aborted) break
        logNotice('queue: it ended without being told to, and is started again')
        await begin().then(
          (next) => {
            runner = next
            isRunning = true
          },
          (error: unknown) => logFault(error, { job: 'queue', state: 'starting again' }),
        )
      }
      if (stopping.signal.aborted) return
    }
  })()
  return {
    async stop() {
      stopping.abort()
      // One that ended by itself cannot be stopped.
      await runner.stop().catch(() => {})
      await kept
      await watch.stop()
    },
  }
}
