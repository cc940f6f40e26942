import { EventEmitter } from 'node:events'
import type { WorkerEvents } from 'graphile-worker'
import type { PoolClient } from 'pg'
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
export function watchForAbandoned(db: Database, onFault: (error: unknown) => void) {
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
