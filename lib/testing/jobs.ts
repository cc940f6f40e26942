import { setTimeout as delay } from 'node:timers/promises'
import { Logger, runOnce } from 'graphile-worker'
import { waitingFlag } from '#lib/jobs/queue.ts'
import type { TestApp } from './app.ts'

export interface Drained {
  /** Names of the executed jobs in order, including repetitions. */
  ran: string[]
  faults: { job: string; error: unknown }[]
}
export interface DrainOptions {
  /** Called before each round. True ends the drain. */
  until?: () => boolean | Promise<boolean>
  /** Failing jobs are retried as often as the queue allows. Otherwise the first error is thrown. */
  mayFail?: boolean
  /** Jobs that remain in the queue. */
  except?: readonly string[]
}

/** How often in a row a drain retries unavailable stores when no other work remains. */
const maxWaits = 3
/** More rounds with jobs than any test needs: a job that enqueues itself forever is a defect. */
const maxRounds = 500
/** Milliseconds to wait for jobs that another worker has locked. Only a hanging worker takes this long. */
const patience = 120_000
const waiting = 'locked_at IS NULL AND attempts < max_attempts AND task_identifier = ANY($1::text[])'
const silent = new Logger(() => () => {})

/**
 * Runs the jobs of the test's database through the real queue until none can run. Scheduled jobs run immediately. Jobs
 * that wait for a store are retried three times and then remain. Two concurrent drains act as two workers. A killed
 * worker's job stays locked.
 */
export async function drain(
  { app }: Pick<TestApp, 'app'>,
  { until, mayFail = false, except = [] }: DrainOptions = {},
): Promise<Drained> {
  const drained: Drained = { ran: [], faults: [] }
  const jobs = app.jobs.filter(({ name }) => !except.includes(name))
  const names = jobs.map(({ name }) => name)
  const taskList = Object.fromEntries(
    jobs.map((job) => [
      job.name,
      async (payload: unknown) => {
        drained.ran.push(job.name)
        try {
          await job.execute(app.pipeline, payload)
        } catch (error) {
          drained.faults.push({ job: job.name, error })
          throw error
        }
      },
    ]),
  )
  const began = await app.db.pool.query<{ at: Date }>('SELECT now() AS at')
  const areThere = async (which: string): Promise<boolean> => {
    const text = `SELECT EXISTS (SELECT FROM graphile_worker.jobs WHERE ${which}) AS found`
    const { rows } = await app.db.pool.query<{ found: boolean }>(text, [names, began.rows[0]?.at])
    return rows[0]?.found ?? false
  }
  const inHand = 'locked_at >= $2 AND task_identifier = ANY($1::text[])'
  /** Wait, so that the next drain sees the jobs that another worker is returning to the queue. */
  const givenBack = async () => {
    for (const giveUp = performance.now() + patience; performance.now() < giveUp && (await areThere(inHand)); )
      await delay(10)
  }
  const isWaiting = `(attempts = 0 AND flags IS NOT NULL AND flags ? '${waitingFlag}')`
  let rounds = 0
  let waits = 0
  let giveUp = performance.now() + patience
  while (!(await until?.())) {
    if (rounds === maxRounds) throw new Error(`the queue is not empty after ${maxRounds} rounds`)
    if (performance.now() > giveUp) throw new Error(`another worker keeps its jobs locked for ${patience} ms`)
    const before = drained.ran.length
    const others = `${waiting} AND NOT ${isWaiting} AND $2::timestamptz IS NOT NULL`
    if (rounds > 0 && !(await areThere(`(${others}) OR (${inHand})`))) waits++
    else waits = 0
    if (waits > maxWaits) return drained
    await app.db.pool.query(
      `SELECT graphile_worker.reschedule_jobs(array_agg(id), run_at => now() - interval '1 second') FROM graphile_worker.jobs
       WHERE ${waiting}${waits === 0 && rounds > 0 ? ` AND NOT ${isWaiting}` : ''} HAVING count(*) > 0`,
      [names],
    )
    await runOnce({ pgPool: app.db.pool, taskList, noHandleSignals: true, concurrency: 1, logger: silent })
    const [fault] = drained.faults
    if (fault && !mayFail) {
      await givenBack()
      throw fault.error
    }
    // Jobs that another worker has locked may return to the queue.
    if (!(await areThere(`(${waiting} AND $2::timestamptz IS NOT NULL) OR (${inHand})`))) return drained
    if (drained.ran.length > before) {
      rounds++
      giveUp = performance.now() + patience
    } else await delay(10)
  }
  await givenBack()
  return drained
}

/**
 * Drains the queue while other code waits for its jobs. Jobs may fail. Polls twenty times a second, to leave processor
 * time to that code. Calls `each` after every poll.
 */
export async function drainWhile(
  test: Pick<TestApp, 'app'>,
  isDeleting: () => boolean,
  each = () => {},
): Promise<void> {
  while (isDeleting()) {
    await drain(test, { mayFail: true })
    each()
    await delay(50)
  }
}
