import { type AuthoredTable, covered, plannedSql, scopePart, writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureScope, PlannedRecord } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { chunked, countRemaining, holding, preferIndexes } from '#lib/stores/postgres/legal-hold-rows.ts'
import { untilErased } from './retained-until.ts'

const sources = { messages: 'message', documents: 'document' } as const satisfies Record<AuthoredTable, string>

/** Outside pointers of the records that a scope covers, except those under legal hold. */
async function pointersOf(
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ id: string; ref: string; place: string }[]> {
  await preferIndexes(tx)
  const found = []
  for (const kind of ['messages', 'documents'] as const) {
    const which = covered(scope, kind)
    if (!which) continue
    found.push(
      ...(await queryWithin<{ id: string; ref: string; place: string }>(
        tx,
        `outside-${scopePart(scope)?.kind ?? 'subject'}-${kind}`,
        `SELECT v.id, v.ref, v.place FROM (${plannedSql(kind, which.where)}) AS f JOIN provenance v ON v.source_id = f.id
         WHERE f.hold IS NULL AND v.source_kind = '${sources[kind]}' AND v.store = 'outside'`,
        [...which.values, now],
      )),
    )
  }
  return found.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/**
 * Personal data source for pointers to copies that this installation cannot reach, as reported by applications. They are deleted, and the
 * receipt reports their number. Runs before messages and documents, whose erasure deletes all their pointers.
 */
export const outsidePointerDataSource = (db: Database): DataSource => ({
  name: 'projects.outside',
  store: 'postgresql',
  stage: 'content',
  what: 'pointers to what came of messages and documents in places that this installation cannot reach',
  purpose: 'telling where else something of a message or document may stand',
  kept: untilErased,
  tables: ['provenance'],
  inventory(subject) {
    const { kinds, ids } = writersOf(subject)
    const written = (table: AuthoredTable) => `SELECT v.id, v.at FROM unnest($1::text[], $2::text[]) AS w(kind, id)
      JOIN ${table} x ON x.author_kind = w.kind AND x.author_id = w.id
      JOIN provenance v ON v.source_id = x.id AND v.source_kind = '${sources[table]}' AND v.store = 'outside'`
    return holding(
      db,
      'outside-held',
      `SELECT count(*)::int AS n, min(at) AS since FROM (${written('messages')} UNION ALL ${written('documents')}) AS f`,
      [kinds, ids],
    )
  },
  // Records under legal hold are counted with their message or document.
  plan: async (scope, tx, now) => ({ items: (await pointersOf(scope, tx, now)).map(({ id }) => id), held: {} }),
  async explain(scope, tx, now) {
    const verdicts = (await pointersOf(scope, tx, now)).map(
      ({ ref, place }): PlannedRecord => ({
        ...{ store: 'outside', kind: 'reference', id: ref, name: null, verdict: 'untouched', reason: 'outside' },
        ...{ evidence: place === '' ? [] : [`place:${place}`], found: 'pointer' },
      }),
    )
    return { verdicts, isPartial: false }
  },
  async erase(_scope, items, tx) {
    const gone = await queryWithin(
      tx,
      'erase-outside',
      `DELETE FROM provenance WHERE id = ANY($1::text[]) AND store = 'outside' RETURNING id`,
      [items],
    )
    return gone.length
  },
  residue: (_scope, items) =>
    countRemaining(db, async (ask) => {
      for (const chunk of chunked(items))
        await ask(`SELECT count(*)::int AS n FROM provenance WHERE id = ANY($1::text[])`, [chunk])
    }),
  leftBehind: (count) => ({
    what: `what ${count === 1 ? 'one pointer' : `${count} pointers`} of applications named elsewhere: it stands where this installation reaches nothing, and whoever runs that place has to erase it`,
    ground: 'not held by this installation',
  }),
})
