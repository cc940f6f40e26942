import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { alertAfter, longestRetry, retryStoreAfter } from '../runs/run-rules.ts'
import type { RunFingerprints, WaitingStore } from './dependencies.ts'
import { markAlertedWaits, upsertRefusal, upsertWait, waitBehindOthers } from './repository.ts'

/** A store that an erasure needs does not answer, or has data and is switched off. `cause` is the problem `unavailable`. */
class StoreUnavailable extends Error {
  readonly store: string

  constructor(store: string, cause: unknown) {
    super(`the store ${store} does not answer`, { cause })
    this.name = 'StoreUnavailable'
    this.store = store
  }
}

/** A store that an erasure needs answers, but rejects requests. `cause` is the problem `unavailable` with the refusal. */
class StoreRefused extends Error {
  readonly store: string

  constructor(store: string, cause: unknown) {
    super(`the store ${store} rejects requests`, { cause })
    this.name = 'StoreRefused'
    this.store = store
  }
}
const isRefusal = (error: unknown): boolean => storeRefusalOf(error) !== undefined
const isOutage = (error: unknown): boolean => Problem.is(error, 'unavailable') && !isRefusal(error)

/**
 * Runs `work`, which needs the store.
 * @throws StoreRefused when the store rejects requests until an operator intervenes
 * @throws StoreUnavailable when `work` throws the problem `unavailable`
 */
export async function withStore<T>(store: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work()
  } catch (error) {
    throw isOutage(error)
      ? new StoreUnavailable(store, error)
      : isRefusal(error)
        ? new StoreRefused(store, error)
        : error
  }
}

/**
 * Returns the unavailable store that caused the error; undefined for other failures. `otherwise`: the store for a
 * problem that names none.
 */
export function unavailableStore(error: unknown, otherwise: string): string | undefined {
  if (error instanceof StoreUnavailable) return error.store
  return isOutage(error) ? otherwise : undefined
}
/**
 * Returns the refusal and its store if a store rejects requests until somebody acts; undefined for an outage and other
 * failures.
 */
export function refusalBy(error: unknown, otherwise: string): { store: string; refusal: StoreRefusal } | undefined {
  const cause = error instanceof StoreRefused ? error.cause : error
  const refusal = storeRefusalOf(cause)
  return refusal && { store: error instanceof StoreRefused ? error.store : otherwise, refusal }
}
/** Returns the problem that a store reported, or the error itself if no store caused it. */
export const storeProblem = (error: unknown): unknown =>
  error instanceof StoreRefused || error instanceof StoreUnavailable ? error.cause : error
/** Returns the fault code that a step or run records. A thread id that a store reports follows after a colon. */
export function faultOf(error: unknown): string {
  const cause = storeProblem(error)
  const refusal = storeRefusalOf(cause)
  if (refusal !== undefined) return `store_refuses:${refusal}`
  if (!Problem.is(cause)) return 'internal'
  const { thread } = cause.extensions
  return typeof thread === 'string' ? `${cause.code}:${thread}` : cause.code
}

/**
 * Records that a store rejects the requests of a locked run, so that admins are notified; ends the wait for it. The
 * step counts the failed attempt.
 */
export async function recordRefusal(
  tx: Transaction,
  runId: string,
  { store, refusal }: { store: string; refusal: StoreRefusal },
  now: Date,
): Promise<void> {
  await upsertRefusal(tx, { runId, store, now, refusal })
}

/** Records that a locked run waits for the store. Returns the milliseconds until the next try. */
export async function recordWait(tx: Transaction, runId: string, store: string, now: Date): Promise<number> {
  const [row] = await upsertWait(tx, { runId, store, now })
  return retryStoreAfter(row?.tries ?? 1)
}

/** Number of runs that try an unavailable store. A try may last until a time-out, and the workers have other jobs. */
const askingRuns = 3

/**
 * Returns true when the run should not try the store now: enough runs that have waited longer try it, and it was
 * recently unavailable.
 */
export async function isStillWaiting(
  tx: Transaction,
  runId: string,
  store: string | null,
  now: Date,
): Promise<boolean> {
  const triedAfter = new Date(now.getTime() - longestRetry)
  const records = await waitBehindOthers(tx, { runId, store, triedAfter, max: askingRuns })
  return records.length > 0
}

/** Deletes the waits of the run for these stores, or all waits, because the stores answer again. */
export const endWaits = (tx: Transaction, runId: string, stores?: readonly string[]): Promise<unknown> =>
  tx.erasureWait.deleteMany({ where: { runId, ...(stores && { store: { in: [...stores] } }) } })

/** Notifies admins about stores for which runs have waited longer than {@link alertAfter}: once per run and store. */
export const alertOfWaits = (
  db: Pick<Database, 'transaction'>,
  notify: (tx: Transaction, waiting: readonly WaitingStore[], now: Date) => Promise<void>,
  now: Date,
): Promise<void> =>
  db.transaction(async (tx) => {
    const rows = await markAlertedWaits(tx, { now, before: new Date(now.getTime() - alertAfter) })
    const stores = [...new Set(rows.map(({ store }) => store))].sort()
    if (stores.length === 0) return
    const waiting = stores.map((store) => {
      const ofStore = rows.filter((row) => row.store === store)
      const times = ofStore.map(({ since }) => since.getTime())
      const refusal = ofStore.find((row) => row.refusal !== null)?.refusal ?? null
      return { store, runs: times.length, since: new Date(Math.min(...times)), refusal }
    })
    await notify(tx, waiting, now)
  })

/**
 * Deletes the words of a run that is over, unless its second search or a complete reading still needs them. A run without words waits for
 * no reading.
 */
export async function forgetReadWords(
  tx: Transaction,
  runId: string,
  { words }: { words: Pick<RunFingerprints, 'forget' | 'stored'> },
): Promise<void> {
  const run = await tx.erasureRun.findUnique({
    where: { id: runId },
    select: { state: true, recheckAt: true, readAt: true },
  })
  if (run?.state !== 'done' || run.recheckAt !== null) return
  if (run.readAt === null && (await words.stored(tx, [runId])).length > 0) return
  await words.forget(tx, runId)
  await tx.erasureRun.update({ where: { id: runId }, data: { projects: [] } })
}

/** Runs that are over and wait for a complete reading, oldest first. `receipts`: only those of these receipts. */
export const runsToRead = async (tx: Transaction, words: Pick<RunFingerprints, 'runs'>, receipts?: readonly string[]) =>
  tx.erasureRun.findMany({
    where: {
      id: { in: await words.runs(tx) },
      state: 'done',
      readAt: null,
      ...(receipts && { receiptId: { in: [...receipts] } }),
    },
    orderBy: [{ finishedAt: 'asc' }, { id: 'asc' }],
    select: { id: true, receiptId: true },
  })
