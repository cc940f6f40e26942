import type { Transaction } from '#lib/kernel/context.ts'
import type { DataHolder, Scope, Verdict } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding } from '#lib/stores/postgres/held-rows.ts'
import { type Authored, covered, partOf, plannedSql, writersOf } from '../held.ts'
import { untilErased } from './kept-until.ts'

const sources = { messages: 'message', documents: 'document' } as const satisfies Record<Authored, string>

/** Outside pointers of the records that a scope covers, except those under legal hold. */
async function pointersOf(
  scope: Scope,
  tx: Transaction,
  now: Date,
): Promise<{ id: string; ref: string; place: string }[]> {
  await byIndex(tx)
  const found = []
  for (const kind of ['messages', 'documents'] as const) {
    const which = covered(scope, kind)
    if (!which) continue
    found.push(
      ...(await queryWithin<{ id: string; ref: string; place: string }>(
        tx,
        `outside-${partOf(scope)?.kind ?? 'subject'}-${kind}`,
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
export const outsidePointerHolder = (db: Database): DataHolder => ({
  name: 'projects.outside',
  store: 'postgresql',
  stage: 'content',
  what: 'pointers to what came of messages and documents in places that this installation cannot reach',
  purpose: 'telling where else something of a message or document may stand',
  kept: untilErased,
  tables: ['provenance'],
  inventory(subject) {
    const { kinds, ids } = writersOf(subject)
    const written = (table: Authored) => `SELECT v.id, v.at FROM unnest($1::text[], $2::text[]) AS w(kind, id)
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
      ({ ref, place }): Verdict => ({
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
    countLeft(db, async (ask) => {
      for (const chunk of chunked(items))
        await ask(`SELECT count(*)::int AS n FROM provenance WHERE id = ANY($1::text[])`, [chunk])
    }),
  leftBehind: (count) => ({
    what: `what ${count === 1 ? 'one pointer' : `${count} pointers`} of applications named elsewhere: it stands where this installation reaches nothing, and whoever runs that place has to erase it`,
    ground: 'not held by this installation',
  }),
})
