import type { AuditRecord, Transaction } from '#lib/kernel/context.ts'
import type { RunState } from '#lib/kernel/erasure-run.ts'
import type { RecordScope, Subject } from '#lib/kernel/erasure-scope.ts'
import type { RecordErasures } from '../engine/in-request.ts'
import type { EngineDeps } from '../engine/subject-erasures.ts'
import type { SuppressionKeys } from '../suppression/suppressions.ts'
import type { ReinstatementDeps } from './reinstatement.ts'
import type { UnconfirmedErasure } from './restored-stores.ts'

export interface Replay {
  /** Number of erasures that the ledger lists as executed. */
  committed: number
  /** Units and skills that had come back and were erased again. */
  erased: number
  /** People and agents with data that had come back and was erased again. */
  subjects: number
  /** Parts of projects that had come back and were erased again. */
  parts: number
  /** Erasures for which only a connected store had data again; that data was erased. */
  stores: number
  /** Receipts that the restored database lacked and that were restored with their erased ids. */
  reinstated: number
  /**
   * Receipts and suppression keys of the database that the ledger lacks. More than 0 means that this ledger is
   * outdated, so erased data may have come back.
   */
  unknown: number
  /**
   * If lines are damaged: erasures that were started and whose end is neither in the ledger nor in the database. A
   * damaged line may have recorded it.
   */
  uncertain: number
  /** Number of ledger lines with a wrong checksum: cut short by a crash, or changed. */
  damaged: number
  /** Suppression keys that the restored database lacked. */
  keys: number
  /** Receipt ids of the repeated erasures. */
  receipts: string[]
  /** Not erased again, because the restored database lacks legal holds that covered data then. Set these holds again first. */
  refused: { receipt: string; holds: string[] }[]
  /** Runs that have not finished; the worker continues them. */
  unfinished: { receipt: string; run: string; state: RunState }[]
  /** Erasures for which a store did not answer or still has data. Repeat the replay; their receipts are not restored yet. */
  unsearched: UnconfirmedErasure[]
}

export interface ReplayDeps extends ReinstatementDeps {
  holds: EngineDeps['holds']
  words: EngineDeps['words']
  parts: Pick<EngineDeps['parts'], 'raiseFence' | 'restored'>
  /** Returns the locked unit or skill if it exists now and existed at that time. */
  restored(
    tx: Transaction,
    scope: RecordScope,
    at: Date,
  ): Promise<{ formerOwner: string; wasPublic: boolean } | undefined>
  records: Pick<RecordErasures, 'begin' | 'finish'>
  /** Executes a run to its end in this process. */
  complete(runId: string): Promise<RunState>
  keys: Pick<SuppressionKeys, 'restore'>
  /** Hides the subject's content until the run that erases it again is done. */
  restrict(tx: Transaction, subject: Subject, now: Date): Promise<unknown>
  /** Stores which erasures of the ledger were begun again and are not finished. Their data is locked. */
  storeRepeated(tx: Transaction, receipts: readonly string[], now: Date): Promise<void>
  audit(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /** When an admin last stated that a ledger is lost; null if never. A newer ledger contains nothing from before. */
  ledgerLostAt(tx: Transaction): Promise<Date | null>
}
