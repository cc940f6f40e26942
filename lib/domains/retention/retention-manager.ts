import type pg from 'pg'
import type { Clock } from '#lib/kernel/clock.ts'
import type { PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import type { Expiring, Periods } from '#lib/kernel/expiring.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { removeAll, type Sweeping } from './batches.ts'
import {
  type DeletionRows,
  finishSweep,
  insertSweep,
  interruptOpenSweeps,
  interruptSweep,
  lockSweepStart,
  newestUnfinishedSweep,
  type SweepRow,
  sweepById,
  sweepLock,
} from './repository.ts'
import { checkedPeriods, dueBefore, retainedVisibilities, startGrace } from './rules.ts'
import { deletedOf, totalOf } from './sweeps.ts'

/** What a sweep needs: `app.stores`. */
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
    const swept = await this.carryOut(id, signal && { signal })
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
    await interruptOpenSweeps(tx, { now })
    const id = newId('swp')
    await insertSweep(tx, { id, trigger, requested_by: requestedBy, policy: this.#periods, now })
    return id
  }

  /**
   * Executes a started sweep, or the rest of a sweep whose process has died. Returns undefined when another process
   * executes it or it is finished. The signal ends it after the current batch; another process can then continue it.
   */
  async carryOut(
    id: string,
    { ip = '', signal }: { ip?: string; signal?: AbortSignal } = {},
  ): Promise<SweepRow | undefined> {
    const client = await this.#stores.db.pool.connect()
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
    await interruptSweep(db, { id, now: clock.now() }).catch(() => undefined)
  }
}
