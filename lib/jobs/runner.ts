import { Logger, parseCronItems, type Runner, run } from 'graphile-worker'
import type { GatePorts } from '#lib/kernel/context.ts'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** The queue's own troubles; what a job says is told once, by the job's own fault. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' && !message.startsWith('Failed task')) logNotice(`queue: ${message}`)
})

/** Runs the jobs until it is stopped; a stop waits for those under way. A job that fails is retried with exponential back-off. */
export async function runJobs(db: Database, gate: GatePorts, jobs: readonly RunnableJob[]): Promise<Runner> {
  const runner = await run({
    pgPool: db.pool,
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
  return runner
}
