import type { AuditRecord, Context, Transaction } from './context.ts'
import type { Problem, ProblemCode } from './problem.ts'

/** The result for one record of an imported document. */
export interface ImportResult {
  /** The record's id in the document; null if it has none. */
  id: string | null
  status: 'stored' | 'known' | 'failed'
  /** Why the record failed. */
  code?: ProblemCode
  /** For a failed record, the reason in words; for a stored record, a note for its sender. */
  detail?: string
}
/** Who imports. The agent `author` becomes the owner of the records. */
export interface Importing {
  author: string
  organisationId: string
  ctx: Context
}
/** A validated record, ready to be stored. */
export interface Prepared<T> {
  id: string
  content: T
}
/** Imports the records of one part of a document. */
export interface Importer<T = unknown> {
  part: string
  /** Validates and sanitizes one record; pure. `bytes` is its size in the document. @throws Problem with the reason */
  prepare(record: unknown, importing: Importing, bytes: number): Prepared<T>
  /** Stores records with distinct ids. Returns a result for each, in order, and an audit entry for each stored record. */
  store(
    tx: Transaction,
    records: readonly Prepared<T>[],
    importing: Importing,
  ): Promise<{ results: ImportResult[]; entries: Pick<AuditRecord, 'resourceType' | 'resourceId' | 'details'>[] }>
  /** Counts records that `prepare` rejected because of their content, in the transaction that stores the records before them. */
  countRefused(tx: Transaction, refused: readonly Problem[], importing: Importing): Promise<void>
}
