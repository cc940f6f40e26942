import { Logger, parseCronItems, run } from 'graphile-worker'
import type { GatePorts } from '#lib/kernel/context.ts'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { watchForAbandoned } from './abandoned.ts'

/** The queue's own troubles; what a job says is told once, by the job's own fault. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' && !message.startsWith('Failed task')) logNotice(`queue: ${message}`)
})

/**
 * Runs the jobs until it is stopped; a stop waits for those under way. A job that fails is retried with exponential back-off; one whose
 * worker was killed is taken up by another within seconds.
 */
export async function runJobs(
  db: Database,
  gate: GatePorts,
  jobs: readonly RunnableJob[],
): Promise<{ stop(): Promise<void> }> {
  const watch = watchForAbandoned(db, (error) => logFault(error, { job: 'queue', state: 'looking for abandoned jobs' }))
  const runner = await run({
    pgPool: db.pool,
    events: watch.events,
    concurrency: 4,
    pollInterval: 2_000,
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
  return {
    async stop() {
      await runner.stop()
      await watch.stop()
    },
  }
}
