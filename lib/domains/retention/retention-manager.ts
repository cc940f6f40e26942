import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import { z } from 'zod'
import type { Clock, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { Expiring, Periods } from '#lib/kernel/expiring.ts'
import { newId, uuidsInSql } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { SweepView } from './contract.ts'
import {
  countTransactions,
  type DeletionRows,
  deleteExpiredBatch,
  finishSweep,
  insertSweep,
  lockHoldsForSweep,
  lockSweepStart,
  newestUnfinishedSweep,
  type SweepRow,
  storeDeletedCounts,
  sweepById,
  sweepLock,
} from './repository.ts'
import {
  checkedPeriods,
  dueBefore,
  type RetainedVisibility,
  retainedVisibilities,
  startGrace,
  sweepStateOf,
} from './rules.ts'

/** The stores that a sweep deletes from: `app.stores`. */
export interface RetentionStores {
  db: Database
  clock: Clock
  /** The records of all domains that have a retention period. */
  expiring: readonly Expiring[]
  deletionRows: DeletionRows
  audit: PipelinePorts['auditWithin']
}
/** Days since we stored the record; null: unlimited. */
export interface RetentionPeriods {
  networkDays: number | null
  orgDays: number | null
  privateDays: number | null
}
export interface SweepOrder {
  trigger: SweepRow['trigger']
  /** The requester as named in the audit log. */
  requestedBy: string
  now: Date
}

const active = (id: string | undefined): Problem =>
  new Problem('conflict', {
    detail:
      'Another retention sweep is running, and only one can run at a time. Wait until it finishes, then try again.',
    ...(id !== undefined && {
      extensions: { sweep_id: id },
      headers: { Link: `</v1/retention/sweeps/${id}>; rel="related"` },
    }),
  })

const Deleted = z.object({
  network: z.number().default(0),
  org: z.number().default(0),
  private: z.number().default(0),
})
type Deleted = z.output<typeof Deleted>
const Policy = z.object({
  network: z.number().nullable(),
  org: z.number().nullable(),
  private: z.number().nullable(),
})

export const deletedOf = (row: SweepRow): Deleted => Deleted.parse(row.deleted)
export const policyIn = (row: SweepRow): Periods => Policy.parse(row.policy)
export const totalOf = ({ network, org, private: own }: Deleted): number => network + org + own

export function presented(row: SweepRow): z.input<typeof SweepView> {
  const deleted = deletedOf(row)
  return {
    id: row.id,
    state: sweepStateOf({ finishedAt: row.finished_at, interrupted: row.interrupted }),
    trigger: row.trigger,
    requested_by: row.requested_by,
    policy: policyIn(row),
    started_at: row.started_at,
    finished_at: row.finished_at,
    deleted: { ...deleted, total: totalOf(deleted) },
    held: row.held,
  }
}

/** The state that all batches of a sweep share. */
interface Sweeping {
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
const maxRepeats = 5

/** Deletes one batch with its audit entries, its deletion entries and the sweep's counts in one transaction. */
async function deleteBatch(
  client: pg.ClientBase,
  { removal, resourceType, scope, name }: Expiring,
  range: { visibility: RetainedVisibility; from: Date; before: Date; limit: number },
  sweeping: Sweeping,
) {
  const { id, requestedBy, ip, deletionRows } = sweeping
  const values = {
    ...range,
    now: sweeping.now(),
    uuids: uuidsInSql.value(),
    actor: requestedBy,
    resource_type: resourceType,
    ip,
    details: { sweep: id },
    scope,
    results: { [name]: 1 },
  }
  await client.query('BEGIN')
  try {
    // Records under a hold are not deleted.
    await lockHoldsForSweep(client, {})
    const [done = { seen: 0, upto: null, removed: 0 }] = await deleteExpiredBatch(client, values, {
      removal,
      deletionRows,
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

/** Paces the batches of a sweep so that it does not slow down other work. Pure functions; times in milliseconds. */

/** Minimum and maximum number of rows in a batch. */
export const batchBounds = { least: 250, max: 5_000 }
/** Target duration of a batch. Commits of others may wait about this long for the disk or processor. */
const batchTime = { alone: 500, amongOthers: 60 }
/** Transactions per second of others from which the database counts as busy. */
const busyFrom = 50
/**
 * Pause after a batch while the database is busy, as a share of the batch's duration; grows with the square of the
 * slowdown per row.
 */
const pauseShare = { least: 0.35, slowed: 0.4 }
/** Maximum slowdown that counts: rows that take three times the best time. */
const slowest = 2

interface Batch {
  rows: number
  took: number
}
interface SweepPace {
  /** Number of rows in the next batch. */
  rows: number
  /** Milliseconds to wait before it. */
  pause: number
}

/** Returns the next batch size and pause. `best` is the least time per row so far. */
export function nextPace({ rows, took }: Batch, best: number, othersPerSecond: number): SweepPace {
  const isBusy = othersPerSecond >= busyFrom
  const targetTime = isBusy ? batchTime.amongOthers : batchTime.alone
  // At least half and at most twice as many rows, because a single slow commit says little.
  const scale = Math.min(2, Math.max(0.5, targetTime / Math.max(took, 1)))
  // Rows that take longer than the best time compete with other work.
  const slowness = Math.min(slowest, Math.max(0, took / rows / Math.max(best, 0.001) - 1))
  const share = pauseShare.least + pauseShare.slowed * slowness ** 2
  return {
    rows: Math.round(Math.min(batchBounds.max, Math.max(batchBounds.least, rows * scale))),
    pause: isBusy ? Math.round(took * share) : 0,
  }
}

/** Deletes the records that were stored until `before`, oldest first. Returns false when the signal ended it early. */
async function removeAll(
  client: pg.ClientBase,
  expiring: Expiring,
  { visibility, before }: { visibility: RetainedVisibility; before: Date },
  sweeping: Sweeping,
): Promise<boolean> {
  const others = othersAtWork(client)
  let from = new Date(0)
  let rows = batchBounds.max
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
      if (!worthRepeating.has(errorCode(error) ?? '') || ++repeats > maxRepeats) throw error
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

/**
 * Deletes expired units and skills. `new RetentionManager(app.stores, { networkDays: null, orgDays: 730, privateDays:
 * 365 }).runSweep()` returns the number of deleted units and skills: those that had expired when the sweep began and
 * are not under a legal hold.
 * Each batch is one transaction with its audit entries, deletion entries (reason `retention`) and the sweep's counts.
 * Only one sweep runs at a time, across machines.
 * @throws RangeError for an invalid period
 */
export class RetentionManager {
  readonly #stores: RetentionStores
  readonly #periods: Periods

  constructor(stores: RetentionStores, { networkDays, orgDays, privateDays }: RetentionPeriods) {
    this.#stores = stores
    this.#periods = checkedPeriods({ network: networkDays, org: orgDays, private: privateDays })
  }

  /**
   * Runs a whole sweep and returns the number of deleted records.
   * @throws Problem `conflict` with the sweep's id while another one runs
   */
  async runSweep(
    order: Omit<SweepOrder, 'now'> = { trigger: 'code', requestedBy: 'system:retention.sweep' },
    signal?: AbortSignal,
  ): Promise<number> {
    const { db, clock, audit } = this.#stores
    const now = clock.now()
    const id = await db.transaction(async (tx) => {
      const begun = await this.begin(tx, { ...order, now })
      await audit(tx, {
        action: 'create',
        actorId: order.requestedBy,
        resourceType: 'retention-sweep',
        resourceId: begun,
        at: now,
        ip: '',
        details: { trigger: order.trigger },
      })
      return begun
    })
    const swept = await this.executeSweep(id, signal && { signal })
    return swept ? totalOf(deletedOf(swept)) : 0
  }

  /**
   * Stores the start of a sweep, and closes one whose process has died.
   * @throws Problem `conflict` while another one runs
   */
  async begin(tx: Transaction, { trigger, requestedBy, now }: SweepOrder): Promise<string> {
    await lockSweepStart(tx, {})
    const [open] = await newestUnfinishedSweep(tx, { since: new Date(0) })
    // The process that started it has not locked it yet, and must find the lock free.
    if (open && open.started_at.getTime() > now.getTime() - startGrace) throw active(open.id)
    const [lock] = await sweepLock(tx, {}, 'transaction')
    if (!lock?.done) throw active(open?.id)
    // Without a lock, an open sweep has no process any more.
    await tx.retentionSweep.updateMany({ where: { finishedAt: null }, data: { finishedAt: now, interrupted: true } })
    const id = newId('swp')
    await insertSweep(tx, { id, trigger, requested_by: requestedBy, policy: this.#periods, now })
    return id
  }

  /**
   * Executes a started sweep, or the rest of a sweep whose process has died. Returns undefined when another process
   * executes it or it is finished. The signal ends it after the current batch; another process can then continue it.
   */
  async executeSweep(
    id: string,
    { ip = '', signal }: { ip?: string; signal?: AbortSignal } = {},
  ): Promise<SweepRow | undefined> {
    const client = await this.#stores.db.session()
    // The lock belongs to the session: it ends with the connection, and so does the current batch.
    let isIntact = false
    try {
      const [lock] = await sweepLock(client, {}, 'connection')
      if (!lock?.done) {
        isIntact = true
        return undefined
      }
      const swept = await this.#sweep(client, id, ip, signal)
      await sweepLock(client, {}, 'release')
      isIntact = true
      return swept
    } catch (error) {
      await this.#close(id)
      throw error
    } finally {
      client.release(!isIntact)
    }
  }

  async #sweep(client: pg.ClientBase, id: string, ip: string, signal?: AbortSignal): Promise<SweepRow | undefined> {
    const { db, clock, expiring, deletionRows } = this.#stores
    const [begun] = await sweepById(client, { id })
    if (!begun || begun.finished_at !== null) return undefined
    const sweeping: Sweeping = {
      id,
      requestedBy: begun.requested_by,
      ip,
      now: () => clock.now(),
      deletionRows,
      signal,
      deleted: deletedOf(begun),
    }
    for (const one of expiring)
      for (const visibility of retainedVisibilities) {
        const before = dueBefore(this.#periods[visibility], begun.started_at)
        if (before && !(await removeAll(client, one, { visibility, before }, sweeping)))
          return { ...begun, deleted: sweeping.deleted }
      }
    let held = 0
    for (const one of expiring) held += await one.held(this.#periods, begun.started_at)
    const [row] = await finishSweep(db, { id, now: clock.now(), held })
    return row
  }

  /** Closes a failed sweep. If the database does not answer, the next sweep closes it. */
  async #close(id: string): Promise<void> {
    const { db, clock } = this.#stores
    const interruption = { where: { id, finishedAt: null }, data: { finishedAt: clock.now(), interrupted: true } }
    await db.prisma.retentionSweep.updateMany(interruption).catch(() => undefined)
  }
}
