import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'
import type { PoolClient } from 'pg'
import type { Database } from '#lib/stores/postgres/database.ts'

/** How often this process checks, and for how long a job stays with the worker that took it, in milliseconds of system time. */
const every = 10_000
const settled = 5_000

const lock = `SELECT pg_advisory_lock(hashtext('graphile_worker'), hashtext($1))`
const free = `SELECT graphile_worker.force_unlock_workers(array_agg(name)) AS done, count(*)::int AS n
  FROM (SELECT DISTINCT locked_by AS name FROM graphile_worker.jobs
    WHERE locked_by IS NOT NULL AND locked_at <= now() - $1::float8 * interval '1 ms') AS w
  WHERE pg_try_advisory_xact_lock(hashtext('graphile_worker'), hashtext(name))`

/**
 * Deletes jobs that were replaced by another with their key while running. They never run again, and without their worker nothing else
 * deletes them.
 */
const dropReplaced = `SELECT graphile_worker.complete_jobs(array_agg(id)) FROM graphile_worker.jobs
  WHERE key IS NULL AND locked_at IS NULL AND attempts >= max_attempts AND last_error IS NULL HAVING count(*) > 0`

/**
 * Frees the jobs of workers whose process has ended; the queue alone would do that after four hours. Returns the number of such workers.
 * A job that is freed while it is still running runs twice, which every job must tolerate.
 */
export async function freeAbandoned(db: Pick<Database, 'query'>, patience = settled): Promise<number> {
  const [row] = await db.query<{ n: number }>('jobs-free-abandoned', free, [patience])
  const count = row?.n ?? 0
  if (count > 0) await db.query('jobs-drop-replaced', dropReplaced)
  return count
}

/**
 * Marks this process as alive: it holds a database lock, named after its worker, on a separate connection. The lock is released when the
 * process ends for any reason, so any process that can take it knows that the worker has ended. Pass `events` to the queue.
 */
export function watchForAbandoned(db: Pick<Database, 'pool' | 'query'>, onFault: (error: unknown) => void) {
  let name: string | undefined
  let connection: PoolClient | undefined
  let working: Promise<void> = Promise.resolve()

  function letGo(): void {
    connection?.release(true)
    connection = undefined
  }
  /** A broken connection has lost the lock, so another one takes it. */
  async function hold(): Promise<void> {
    if (connection) await connection.query('SELECT 1').catch(letGo)
    if (connection || name === undefined) return
    connection = await db.pool.connect()
    await connection.query(lock, [name])
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
