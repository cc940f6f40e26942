import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { auditRows } from '#lib/domains/audit/log.ts'
import type { Expiring } from '#lib/kernel/data-source.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { uuidsInSql } from '#lib/kernel/ids.ts'
import { batchBounds, nextPace } from './pace.ts'
import type { RetainedVisibility } from './rules.ts'
import type { Deleted } from './sweeps.ts'

/** SQL expressions for the values that the deletion log needs. */
export interface SweptDeletionValues {
  uuids: string
  at: string
  requestedBy: string
  reason: string
  scope: string
  results: string
}
/** Returns SQL of a WITH query that writes one deletion entry for each row of the query `of`, which must have a column `id`. */
export type DeletionRows = (of: string, at: SweptDeletionValues) => string

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

const statementOf = (expiring: Expiring, deletionRows: DeletionRows): string => `WITH ${expiring.removal},
  ${auditRows('gone', { uuids: '$6', at: '$4', action: "'delete'", actorId: '$7', resourceType: '$8', ip: '$9', details: '$10' })},
  ${deletionRows('gone', { uuids: '$6', at: '$4', requestedBy: '$7', reason: "'retention'", scope: '$11', results: '$12' })}
  SELECT (SELECT count(*)::int FROM due) AS seen, (SELECT max(stored_at) FROM due) AS upto, (SELECT count(*)::int FROM gone) AS removed`

interface Done {
  seen: number
  upto: Date | null
  removed: number
}

/** Deletes one batch with its audit entries, its deletion entries and the sweep's counts in one transaction. */
async function batch(
  client: pg.ClientBase,
  statement: string,
  values: readonly unknown[],
  sweeping: Sweeping,
  visibility: RetainedVisibility,
): Promise<Done> {
  await client.query('BEGIN')
  try {
    // Waits for a hold that is being set. Records under a hold are not deleted.
    await client.query("SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))")
    const { rows } = await client.query<Done>({ text: statement, values: [...values] })
    const done = rows[0] ?? { seen: 0, upto: null, removed: 0 }
    const deleted = { ...sweeping.deleted, [visibility]: sweeping.deleted[visibility] + done.removed }
    if (done.removed > 0)
      await client.query('UPDATE retention_sweeps SET deleted = $2 WHERE id = $1', [sweeping.id, deleted])
    await client.query('COMMIT')
    sweeping.deleted = deleted
    return done
  } catch (error) {
    // A closed connection has already rolled back.
    await client.query('ROLLBACK').catch(() => undefined)
    throw error
  }
}

/**
 * Returns a function that measures the transactions per second of other connections. The database updates its count
 * about once a second.
 */
function othersAtWork(client: pg.ClientBase) {
  let before: { transactions: number; at: number } | undefined
  let rate = 0
  return async (own: number): Promise<number> => {
    const at = performance.now()
    if (before && at - before.at < 250) return rate
    const { rows } = await client.query<{ n: string }>(
      'SELECT xact_commit + xact_rollback AS n FROM pg_stat_database WHERE datname = current_database()',
    )
    const transactions = Number(rows[0]?.n ?? 0) - own
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
  const statement = statementOf(expiring, sweeping.deletionRows)
  const details = JSON.stringify({ sweep: sweeping.id })
  const results = JSON.stringify({ [expiring.name]: 1 })
  const others = othersAtWork(client)
  let from = new Date(0)
  let rows = batchBounds.most
  let own = 0
  let best = Number.POSITIVE_INFINITY
  for (let repeats = 0; ; ) {
    if (sweeping.signal?.aborted) return false
    const { requestedBy, ip } = sweeping
    const fixed = [uuidsInSql.value(), requestedBy, expiring.resourceType, ip, details, expiring.scope, results]
    const started = performance.now()
    try {
      const done = await batch(
        client,
        statement,
        [visibility, from, before, sweeping.now(), rows, ...fixed],
        sweeping,
        visibility,
      )
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
