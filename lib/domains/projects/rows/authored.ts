import { type AuthoredTable, covered, plannedSql, scopePart, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, PlannedRecord } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  countRemaining,
  holding,
  type PlannedRow,
  plannedOf,
  preferIndexes,
} from '#lib/stores/postgres/legal-hold-rows.ts'
import { untilErased } from './retained-until.ts'

export interface RowPorts {
  /** Withdraws stored idempotent responses that contain the ids. */
  withdrawNaming(tx: Transaction, ids: readonly string[]): Promise<unknown>
}
interface Kind {
  table: AuthoredTable
  source: 'message' | 'document'
  /** Tables whose rows are deleted with it by a foreign key. */
  within: readonly string[]
  /** SQL: counts, for the ids in `$1`, rows that a foreign key should have deleted. */
  leftById: string
  /** SQL: counts documents made from the ids in `$1` that should have been deleted too, except those under legal hold at `$3`. */
  leftMade?: string
  /** SQL: `called` is the display name of row `x`. `evidence`: an array of `<what>:<count>` for the data deleted with it. */
  called: string
  evidence: string
}

/** Personal data source for authored rows and their dependent rows. Erases by id; verifies by author and by part. */
const authoredHolder = (
  db: Database,
  { withdrawNaming }: RowPorts,
  { table, source, within, leftById, leftMade, called, evidence }: Kind,
  words: Pick<DataSource, 'name' | 'what' | 'purpose'>,
): DataSource => {
  const nameOf = (scope: ErasureScope) => scopePart(scope)?.kind ?? 'subject'
  return {
    ...words,
    store: 'postgresql',
    stage: 'content',
    kept: untilErased,
    tables: [table, ...within],
    inventory: (subject) => {
      const { kinds, ids } = writersOf(subject)
      return holding(
        db,
        `${table}-held`,
        `SELECT count(*)::int AS n, min(x.created_at) AS since FROM unnest($1::text[], $2::text[]) AS w(kind, id)
         JOIN ${table} x ON x.author_kind = w.kind AND x.author_id = w.id`,
        [kinds, ids],
      )
    },
    async plan(scope, tx, now) {
      const which = covered(scope, table)
      if (!which) return { items: [], held: {} }
      await preferIndexes(tx)
      return plannedOf(
        await queryWithin<PlannedRow>(tx, `plan-${table}-${nameOf(scope)}`, plannedSql(table, which.where), [
          ...which.values,
          now,
        ]),
      )
    },
    async explain(scope, tx, now) {
      const which = covered(scope, table)
      if (!which) return { verdicts: [], isPartial: false }
      await preferIndexes(tx)
      const rows = await queryWithin<PlannedRow & { name: string | null; evidence: string[] }>(
        tx,
        `explain-${table}-${nameOf(scope)}`,
        `SELECT f.id, f.hold, ${called} AS name, ${evidence} AS evidence
         FROM (${plannedSql(table, which.where)}) AS f JOIN ${table} x ON x.id = f.id ORDER BY f.id`,
        [...which.values, now],
      )
      const verdicts = rows.map(
        ({ id, hold, name, evidence }): PlannedRecord => ({
          store: 'postgresql',
          kind: source,
          id,
          name,
          verdict: hold === null ? 'deleted' : 'kept',
          reason: hold === null ? 'source' : 'held',
          evidence: hold === null ? evidence : [`hold:${hold}`],
          found: 'row',
        }),
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx) {
      const which = covered(scope, table)
      if (!which) return 0
      await preferIndexes(tx)
      const gone = await queryWithin<{ id: string }>(
        tx,
        `erase-${table}-${nameOf(scope)}`,
        `DELETE FROM ${table} x WHERE x.id = ANY($3::text[]) AND ${which.where} RETURNING x.id`,
        [...which.values, items],
      )
      await queryWithin(
        tx,
        `erase-provenance-${source}`,
        `DELETE FROM provenance WHERE source_kind = '${source}' AND source_id = ANY($1::text[])`,
        [items],
      )
      await withdrawNaming(tx, items)
      return gone.length
    },
    residue(scope, items, now) {
      const which = covered(scope, table)
      if (!which) return Promise.resolve(0)
      return countRemaining(db, async (ask) => {
        await ask(`SELECT count(*)::int AS n FROM (${plannedSql(table, which.where)}) AS f WHERE hold IS NULL`, [
          ...which.values,
          now,
        ])
        for (const chunk of chunked(items)) {
          await ask(leftById, [chunk])
          if (leftMade !== undefined) await ask(leftMade, [chunk, table, now])
        }
      })
    },
    // The ids are recorded as erased: requests for them report the erasure, and no writer can reuse them.
    identities: (items, tx) =>
      queryWithin(
        tx,
        `${table}-identities`,
        `SELECT id, false AS "wasPublic" FROM ${table} WHERE id = ANY($1::text[])`,
        [items],
      ),
  }
}

const madeFrom = plannedSql('documents', `x.made_from = ANY($1::text[]) AND $2::text IS NOT NULL`)

/** Personal data source for messages with their edits, the rows of their attachments, and their provenance. */
export const messageDataSource = (db: Database, ports: RowPorts): DataSource =>
  authoredHolder(
    db,
    ports,
    {
      table: 'messages',
      source: 'message',
      within: ['message_edits', 'attachments', 'provenance'],
      leftById: `SELECT ((SELECT count(*) FROM messages WHERE id = ANY($1::text[])) + (SELECT count(*) FROM message_edits WHERE message_id = ANY($1::text[]))
        + (SELECT count(*) FROM attachments WHERE message_id = ANY($1::text[])) + (SELECT count(*) FROM provenance WHERE source_id = ANY($1::text[])))::int AS n`,
      leftMade: `SELECT count(*)::int AS n FROM (${madeFrom}) AS f WHERE hold IS NULL`,
      called: 'NULL::text',
      evidence: `ARRAY['edits:' || (SELECT count(*) FROM message_edits e WHERE e.message_id = x.id),
        'attachments:' || (SELECT count(*) FROM attachments a WHERE a.message_id = x.id),
        'pointers:' || (SELECT count(*) FROM provenance v WHERE v.source_id = x.id)]`,
    },
    {
      name: 'projects.messages',
      what: 'messages in projects, with what they said before, their files’ names, and pointers to what came of them',
      purpose: 'the conversations of the projects that the subject takes part in',
    },
  )

/** Personal data source for documents and artifacts with their text chunks. Their bytes are in the object store. */
export const documentDataSource = (db: Database, ports: RowPorts): DataSource =>
  authoredHolder(
    db,
    ports,
    {
      table: 'documents',
      source: 'document',
      within: ['document_chunks'],
      leftById: `SELECT ((SELECT count(*) FROM documents WHERE id = ANY($1::text[])) + (SELECT count(*) FROM document_chunks WHERE document_id = ANY($1::text[]))
        + (SELECT count(*) FROM provenance WHERE source_id = ANY($1::text[])))::int AS n`,
      called: 'x.name',
      evidence: `ARRAY['chunks:' || (SELECT count(*) FROM document_chunks k WHERE k.document_id = x.id),
        'pointers:' || (SELECT count(*) FROM provenance v WHERE v.source_id = x.id)]`,
    },
    {
      name: 'projects.documents',
      what: 'documents and artifacts in projects, with the pieces of their text',
      purpose: 'the documents of the projects that the subject takes part in',
    },
  )
