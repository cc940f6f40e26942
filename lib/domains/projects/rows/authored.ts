import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { coveredRows } from '../covered-rows.ts'
import { type AuthoredTable, writersOf } from '../legal-holds.ts'
import {
  authoredInventory,
  countDocumentsMadeFrom,
  countErasableRows,
  countRemainingRows,
  deletePointersOf,
  deleteRows,
  explainedRows,
  identitiesOfRows,
  plannedRows,
} from './repository.ts'
import { untilErased } from './retained-until.ts'

export interface RowPorts {
  /** Withdraws stored idempotent responses that contain the ids. */
  withdrawNaming(tx: Transaction, ids: readonly string[]): Promise<unknown>
}

/** Personal data source for authored rows and their dependent rows. Erases by id; verifies by author and by part. */
const authoredDataSource = (
  db: Database,
  { withdrawNaming }: RowPorts,
  table: AuthoredTable,
  described: Pick<DataSource, 'name' | 'what' | 'purpose' | 'tables'>,
): DataSource => {
  const source = table === 'messages' ? 'message' : 'document'
  return {
    ...described,
    store: 'postgresql',
    stage: 'content',
    kept: untilErased,
    inventory: async (subject) => holdingOf(await authoredInventory(db, writersOf(subject), table)),
    async plan(scope, tx, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return { items: [], held: {} }
      await preferIndexes(tx)
      return plannedOf(await plannedRows(tx, { ...covered.values, now }, covered.which))
    },
    async explain(scope, tx, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return { verdicts: [], isPartial: false }
      await preferIndexes(tx)
      const rows = await explainedRows(tx, { ...covered.values, now }, covered.which)
      const verdicts = rows.map(
        ({ id, hold, name, evidence }): PlannedRecord => ({
          ...{ store: 'postgresql', kind: source, id, name, found: 'row' },
          ...(hold === null
            ? { verdict: 'deleted', reason: 'source', evidence }
            : { verdict: 'kept', reason: 'held', evidence: [`hold:${hold}`] }),
        }),
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx) {
      const covered = coveredRows(scope, table)
      if (!covered) return 0
      await preferIndexes(tx)
      const deleted = await deleteRows(tx, { ...covered.values, items }, covered.which)
      await deletePointersOf(tx, { kind: source, sources: items })
      await withdrawNaming(tx, items)
      return deleted
    },
    residue(scope, items, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return Promise.resolve(0)
      return sumRemaining(db, async function* (on) {
        yield countErasableRows(on, { ...covered.values, now }, covered.which)
        for (const chunk of chunked(items)) {
          yield countRemainingRows(on, { items: chunk }, table)
          if (table === 'messages') yield countDocumentsMadeFrom(on, { messages: chunk, now })
        }
      })
    },
    // The ids are recorded as erased: requests for them report the erasure, and no writer can reuse them.
    identities: (items, tx) => identitiesOfRows(tx, { items }, table),
  }
}

/** Personal data source for messages with their edits, the rows of their attachments, and their provenance. */
export const messageDataSource = (db: Database, ports: RowPorts): DataSource =>
  authoredDataSource(db, ports, 'messages', {
    name: 'projects.messages',
    what: 'messages in projects, with their earlier texts, the names of their files, and pointers to derived data',
    purpose: 'providing conversations in the projects of which the subject is a member',
    tables: ['messages', 'message_edits', 'attachments', 'provenance'],
  })

/** Personal data source for documents and artifacts with their text chunks. Their bytes are in the object store. */
export const documentDataSource = (db: Database, ports: RowPorts): DataSource =>
  authoredDataSource(db, ports, 'documents', {
    name: 'projects.documents',
    what: 'documents and artifacts in projects, with their text chunks',
    purpose: 'providing documents in the projects of which the subject is a member',
    tables: ['documents', 'document_chunks'],
  })
