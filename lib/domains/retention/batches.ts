import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Expiring } from '#lib/kernel/expiring.ts'
import { uuidsInSql } from '#lib/kernel/ids.ts'
import { batchBounds, nextPace } from './pace.ts'
import {
  countTransactions,
  type DeletionRows,
  deleteExpiredBatch,
  lockHoldsForSweep,
  storeDeletedCounts,
} from './repository.ts'
import type { RetainedVisibility } from './rules.ts'
import type { Deleted } from './sweeps.ts'

/** The state that all batches of a sweep share. */
export interface Sweeping {
  id: string
  requestedBy: string
  ip: string
  /** The current time, read for each batch. */
  now(): Date
  deletionRows: DeletionRows
  /** Ends the sweep between two batches. */
  signal: AbortSignal | undefined
  /** Numbers of deleted records so far; each batch adds to them. */
  deleted: Deleted
}

/**
 * deadlock_detected, serialization_failure, lock_not_available, query_canceled: the batch was rolled back and can be
 * repeated.
 */
const worthRepeating = new Set(['40P01', '40001', '55P03', '57014'])
const mostRepeats = 5

/** Deletes one batch with its audit entries, its deletion entries and the sweep's counts in one transaction. */
async function deleteBatch(
  client: pg.ClientBase,
  { removal, resourceType, scope, name }: Expiring,
  range: { visibility: RetainedVisibility; from: Date; before: Date; limit: number },
  sweeping: Sweeping,
) {
  const { id, requestedBy, ip, deletionRows } = sweeping
  const values = {
    ...{
      ...range,
      now: sweeping.now(),
      uuids: uuidsInSql.value(),
      actor: requestedBy,
      resource_type: resourceType,
      ip,
    },
    ...{ details: { sweep: id }, scope, results: { [name]: 1 } },
  }
  await client.query('BEGIN')
  try {
    // Records under a hold are not deleted.
    await lockHoldsForSweep(client, {})
    const [done = { seen: 0, upto: null, removed: 0 }] = await deleteExpiredBatch(client, values, {
      ...{ removal, deletionRows },
    })
    const { visibility } = range
    const deleted = { ...sweeping.deleted, [visibility]: sweeping.deleted[visibility] + done.removed }
    if (done.removed > 0) await storeDeletedCounts(client, { id, deleted })
    await client.query('COMMIT')
    sweeping.deleted = deleted
    return done
  } catch (error) {
    // A closed connection has already rolled back.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/** Returns a function that measures the transactions per second of other connections. */
function othersAtWork(client: pg.ClientBase) {
  let before: { transactions: number; at: number } | undefined
  let rate = 0
  return async (own: number): Promise<number> => {
    const at = performance.now()
    if (before && at - before.at < 250) return rate
    const [counted] = await countTransactions(client, {})
    const transactions = (counted?.n ?? 0) - own
    if (before) rate = Math.max(0, ((transactions - before.transactions) / (at - before.at)) * 1000)
    before = { transactions, at }
    return rate
  }
}

/** Deletes the records that were stored until `before`, oldest first. Returns false when the signal ended it early. */
export async function removeAll(
  client: pg.ClientBase,
  expiring: Expiring,
  { visibility, before }: { visibility: RetainedVisibility; before: Date },
  sweeping: Sweeping,
): Promise<boolean> {
  const others = othersAtWork(client)
  let from = new Date(0)
  let rows = batchBounds.most
  let own = 0
  let best = Number.POSITIVE_INFINITY
  for (let repeats = 0; ; ) {
    if (sweeping.signal?.aborted) return false
    const started = performance.now()
    try {
      const done = await deleteBatch(client, expiring, { visibility, from, before, limit: rows }, sweeping)
      repeats = 0
      if (done.seen < rows || done.upto === null) return true
      from = done.upto
    } catch (error) {
      if (!worthRepeating.has(errorCode(error) ?? '') || ++repeats > mostRepeats) throw error
      rows = Math.max(1, rows >> 1)
      continue
    }
    own += 2
    const took = performance.now() - started
    best = Math.min(best, took / rows)
    const pace = nextPace({ rows, took }, best, await others(own))
    rows = pace.rows
    if (pace.pause > 0) await delay(pace.pause)
  }
}
