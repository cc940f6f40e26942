import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'
import type { PoolClient } from 'pg'
import type { Database } from '#lib/stores/postgres/database.ts'

/** How often somebody looks, and how long a job is left with whoever took it, in milliseconds of system time. */
const every = 10_000
const settled = 5_000

const lock = `SELECT pg_advisory_lock(hashtext('graphile_worker'), hashtext(name)) FROM unnest($1::text[]) AS w(name)`
const free = `SELECT graphile_worker.force_unlock_workers(array_agg(name)) AS done, count(*)::int AS n
  FROM (SELECT DISTINCT locked_by AS name FROM graphile_worker.jobs
    WHERE locked_by IS NOT NULL AND locked_at <= now() - $1::float8 * interval '1 ms') AS w
  WHERE pg_try_advisory_xact_lock(hashtext('graphile_worker'), hashtext(name))`

/**
 * Frees the jobs of workers whose process is gone; the queue by itself would leave them for four hours. Returns how many workers that
 * were. A job that is freed while it is still being done is done twice, which every job stands.
 */
export async function freeAbandoned(db: Pick<Database, 'query'>, patience = settled): Promise<number> {
  const [row] = await db.query<{ n: number }>('jobs-free-abandoned', free, [patience])
  return row?.n ?? 0
}

/**
 * Every worker of this process holds a lock of the database by its name, on one connection. The lock goes with the process, however that
 * ends, and whoever gets it knows that the worker is gone. Give `events` to the queue.
 */
export function watchForAbandoned(db: Pick<Database, 'pool' | 'query'>, onFault: (error: unknown) => void) {
  const names = new Set<string>()
  let connection: PoolClient | undefined
  let working: Promise<void> = Promise.resolve()

  function letGo(): void {
    connection?.release(true)
    connection = undefined
  }
  /** One after the other: a connection that broke has lost the locks of all names. */
  async function hold(fresh: readonly string[]): Promise<void> {
    try {
      if (connection) {
        await connection.query(lock, [fresh])
        return
      }
      connection = await db.pool.connect()
      await connection.query(lock, [[...names]])
    } catch (error) {
      letGo()
      onFault(error)
    }
  }
  const look = () => {
    working = working.then(() => hold([])).then(() => freeAbandoned(db).then(() => {}, onFault))
  }
  const events: WorkerEvents = new EventEmitter()
  events.on('worker:create', ({ worker: { workerId } }) => {
    names.add(workerId)
    working = working.then(() => hold([workerId]))
  })
  const timer = setInterval(look, every)
  return {
    events,
    look,
    async stop(): Promise<void> {
      clearInterval(timer)
      await working
      letGo()
    },
  }
}
