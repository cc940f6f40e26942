import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { alertAfter, longestRetry, retryStoreAfter } from './run-rules.ts'
import type { WaitingStore } from './subject-erasures.ts'

/** A store that an erasure needs does not answer, or it has data and is switched off. `cause` is the `unavailable` problem. */
class StoreUnavailable extends Error {
  readonly store: string

  constructor(store: string, cause: unknown) {
    super(`the store ${store} does not answer`, { cause })
    this.name = 'StoreUnavailable'
    this.store = store
  }
}

/** Runs `work`, which needs the store. Throws `StoreUnavailable` where `work` throws the problem `unavailable`. */
export async function needing<T>(store: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw Problem.is(error, 'unavailable') ? new StoreUnavailable(store, error) : error
  }
}

/** The store that an error is about; undefined where the error is a failure and no outage. `otherwise`: for a problem that names no store. */
export function unavailableStore(error: unknown, otherwise: string): string | undefined {
  if (error instanceof StoreUnavailable) return error.store
  return Problem.is(error, 'unavailable') ? otherwise : undefined
}

/** Records that the run waits for the store; returns after how many milliseconds to ask again. The run is locked. */
export async function recordWait(tx: Transaction, runId: string, store: string, now: Date): Promise<number> {
  const [row] = await queryWithin<{ tries: number }>(
    tx,
    'erasure-wait',
    `INSERT INTO erasure_waits (run_id, store, since, tried_at) VALUES ($1, $2, $3, $3)
     ON CONFLICT (run_id, store) DO UPDATE SET tries = erasure_waits.tries + 1, tried_at = excluded.tried_at RETURNING tries`,
    [runId, store, now],
  )
  return retryStoreAfter(row?.tries ?? 1)
}

/** How many runs ask an unavailable store. Each try may last until a time-out, and the workers have other jobs. */
const askingRuns = 3

/** Whether the run leaves it to the runs that have waited longer to ask the store, one of which found it unavailable a moment ago. */
export async function leavesAsking(tx: Transaction, runId: string, store: string | null, now: Date): Promise<boolean> {
  const found = await queryWithin(
    tx,
    'erasure-wait-behind',
    `SELECT 1 FROM erasure_waits w WHERE w.run_id = $1 AND ($2::text IS NULL OR w.store = $2)
       AND EXISTS (SELECT FROM erasure_waits o WHERE o.store = w.store AND o.run_id <> w.run_id AND o.tried_at > $3)
       AND (SELECT count(*) FROM (SELECT FROM erasure_waits o WHERE o.store = w.store AND (o.since, o.run_id) < (w.since, w.run_id) LIMIT $4) AS first) >= $4
     LIMIT 1`,
    [runId, store, new Date(now.getTime() - longestRetry), askingRuns],
  )
  return found.length > 0
}

/** These stores of the run answered again, or all of them. */
export const endWaits = (tx: Transaction, runId: string, stores?: readonly string[]): Promise<unknown> =>
  tx.erasureWait.deleteMany({ where: { runId, ...(stores && { store: { in: [...stores] } }) } })

/** Notifies admins of stores that runs have waited for longer than {@link alertAfter}: once for each run and store, whatever it retries. */
export const alertOfWaits = (
  db: Pick<Database, 'transaction'>,
  notify: (tx: Transaction, waiting: readonly WaitingStore[], now: Date) => Promise<void>,
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const rows = await queryWithin<{ store: string; since: Date }>(
      tx,
      'erasure-waits-alert',
      'UPDATE erasure_waits SET alerted_at = $1 WHERE alerted_at IS NULL AND since <= $2 RETURNING store, since',
      [now, new Date(now.getTime() - alertAfter)],
    )
    const stores = [...new Set(rows.map(({ store }) => store))].sort()
    if (stores.length === 0) return
    const waiting = stores.map((store) => {
      const times = rows.filter((row) => row.store === store).map(({ since }) => since.getTime())
      return { store, runs: times.length, since: new Date(Math.min(...times)) }
    })
    await notify(tx, waiting, now)
  })
