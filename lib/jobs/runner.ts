import { EventEmitter } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { Logger, parseCronItems, type Runner, run, type WorkerEvents } from 'graphile-worker'
import type { PoolClient } from 'pg'
import type { PipelinePorts } from '#lib/kernel/context.ts'
import { logFault, logNotice } from '#lib/kernel/fault-log.ts'
import type { RunnableJob } from '#lib/kernel/job.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { checkConnection, deleteReplacedJobs, freeAbandonedJobs, lockWorker } from './queue.ts'

/** How often this process checks, and for how long a job stays with the worker that took it, in milliseconds of system time. */
const every = 10_000
const settled = 5_000

/**
 * Frees the jobs of workers whose process has ended; the queue alone would do that after four hours. Returns the number of such workers.
 * A job that is freed while it is still running runs twice, which every job must tolerate.
 */
export async function freeAbandoned(db: Database, patience = settled): Promise<number> {
  const [row] = await freeAbandonedJobs(db, { patience })
  const count = row?.n ?? 0
  if (count > 0) await deleteReplacedJobs(db, {})
  return count
}

/**
 * Marks this process as alive: it holds a database lock, named after its worker, on a separate connection. The lock is released when the
 * process ends for any reason, so any process that can take it knows that the worker has ended. Pass `events` to the queue.
 */
function watchForAbandoned(db: Database, onFault: (error: unknown) => void) {
  let name: string | undefined
  let connection: PoolClient | undefined
  let working: Promise<void> = Promise.resolve()

  function letGo(): void {
    connection?.release(true)
    connection = undefined
  }
  /** A broken connection has lost the lock, so another one takes it. */
  async function hold(): Promise<void> {
    if (connection) await checkConnection(connection, {}).catch(letGo)
    if (connection || name === undefined) return
    connection = await db.session()
    await lockWorker(connection, { worker: name })
  }
  const look = (): void => {
    working = working
      .then(hold)
      .then(() => freeAbandoned(db))
      .then(() => {})
      .catch((error: unknown) => {
        letGo()
        onFault(error)
      })
  }
  const events: WorkerEvents = new EventEmitter()
  events.on('pool:create', ({ workerPool }) => {
    name = workerPool.id
    // When a pool ends, the jobs that it held are freed.
    working = working.then(letGo)
    look()
  })
  const timer = setInterval(look, every)
  return {
    events,
    async stop(): Promise<void> {
      clearInterval(timer)
      await working
      letGo()
    },
  }
}

/** Logs only the queue's own errors; an error in a job is already logged by the job. */
const logger = new Logger(() => (level, message) => {
  if (level === 'error' && !message.startsWith('Failed task')) logNotice(`queue: ${message}`)
})

/** Milliseconds until a queue that ended is restarted. */
const restartAfter = 1_000

/**
 * Runs the jobs until it is stopped; stopping waits for running jobs. A failed job is retried with exponential back-off. If a worker is
 * killed, another takes over its jobs within seconds. It continues after a database outage.
 */
export async function runJobs(
  db: Database,
  pipeline: PipelinePorts,
  jobs: readonly RunnableJob[],
): Promise<{ stop(): Promise<void> }> {
  const watch = watchForAbandoned(db, (error) => logFault(error, { job: 'queue', state: 'looking for abandoned jobs' }))
  const begin = (): Promise<Runner> =>
    run({
      pgPool: db.pool,
      events: watch.events,
      concurrency: 4,
      pollInterval: 2_000,
      // Otherwise the queue completes jobs in promises that nothing handles, and one that rejects in an outage ends the process.
      preset: { worker: { completeJobBatchDelay: 0, failJobBatchDelay: 0 } },
      noHandleSignals: true,
      logger,
      taskList: Object.fromEntries(
        jobs.map((job) => [
          job.name,
          async (payload: unknown, { job: { id } }: { job: { id: string } }) => {
            try {
              await job.execute(pipeline, payload)
            } catch (error) {
              logFault(error, { job: job.name, jobId: id })
              throw error
            }
          },
        ]),
      ),
      parsedCronItems: parseCronItems(
        jobs.flatMap(({ name, cron, catchUp }) =>
          cron ? [{ task: name, match: cron, identifier: name, options: { backfillPeriod: catchUp } }] : [],
        ),
      ),
    })
  let runner = await begin()
  const stopping = new AbortController()
  // The queue ends if the database is down while it completes a job. Without a restart the process would do nothing more.
  const retained = (async () => {
    for (;;) {
      await runner.promise.catch(() => {})
      for (let isRunning = false; !isRunning && !stopping.signal.aborted; ) {
        await delay(restartAfter, undefined, { signal: stopping.signal }).catch(() => {})
        if (stopping.signal.aborted) break
        logNotice('the job queue ended unexpectedly and is restarted')
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
      // A queue that has already ended cannot be stopped.
      await runner.stop().catch(() => {})
      await retained
      await watch.stop()
    },
  }
}

/** Milliseconds between two comparisons of database and ledger. */
const interval = 5_000

interface RunningJobs {
  stop(): Promise<void>
}
interface RestoreWatch {
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
  run: (jobs: readonly RunnableJob[]) => Promise<RunningJobs>,
  jobs: readonly RunnableJob[],
  restored: RestoreWatch,
  every = interval,
): Promise<RunningJobs> {
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
