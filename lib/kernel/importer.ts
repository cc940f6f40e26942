import type { AuditRecord, Context, Transaction } from './context.ts'
import type { Problem, ProblemCode } from './problem.ts'

/** What became of one record of an imported document. */
export interface ImportResult {
  /** As the document names it; null where it names none. */
  id: string | null
  status: 'stored' | 'known' | 'failed'
  /** Of a failed one: why. */
  code?: ProblemCode
  /** Of a failed one: why, in words; of a stored one: what its sender should know. */
  detail?: string
}
/** Who imports: what comes becomes this agent's. */
export interface Importing {
  author: string
  organisationId: string
  ctx: Context
}
/** A record that may be stored. */
export interface Prepared<T> {
  id: string
  content: T
}
/** What takes the records of one part of an imported document. */
export interface Importer<T = unknown> {
  part: string
  /** Checks and sanitizes one record, of so many bytes as it came; pure. Throws a problem that says why not. */
  prepare(record: unknown, importing: Importing, bytes: number): Prepared<T>
  /** Stores records whose ids are distinct: a result for each in their order, and an audit entry for each that was stored. */
  store(
    tx: Transaction,
    records: readonly Prepared<T>[],
    importing: Importing,
  ): Promise<{ results: ImportResult[]; entries: Pick<AuditRecord, 'resourceType' | 'resourceId' | 'details'>[] }>
  /** Counts records that `prepare` refused for their content, with the transaction that stores what came before them. */
  countRefused(tx: Transaction, refused: readonly Problem[], importing: Importing): Promise<void>
}
