import type { DataHolder } from '#lib/kernel/holder.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { byIndex, chunked, countLeft, holding } from '#lib/stores/postgres/held-rows.ts'
import { rejectionsKept } from './rules.ts'
import { doersOf, subjectOf } from './subject.ts'

/** Counts of rejected contributions: agent, time and sanitizer stage. */
export const rejectionsHolder = (db: Database): DataHolder => ({
  name: 'knowledge.rejections',
  store: 'postgresql',
  stage: 'content',
  what: 'counts of contributions that were refused for their content',
  purpose: 'noticing who tries again and again to bring in what is harmful',
  kept: '30 days',
  tables: ['content_rejections'],
  inventory: (subject) =>
    holding(
      db,
      'rejections-held',
      `SELECT count(*)::int AS n, min(at) AS since, max(at) + $2::float8 * interval '1 ms' AS until
       FROM content_rejections WHERE agent_id = ANY($1::text[])`,
      [doersOf(subject), rejectionsKept],
    ),
  async plan(scope, tx) {
    const subject = subjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await byIndex(tx)
    const text = 'SELECT id FROM content_rejections WHERE agent_id = ANY($1::text[]) ORDER BY id'
    const rows = await queryWithin<{ id: string }>(tx, 'plan-rejections', text, [doersOf(subject)])
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(scope, items, tx) {
    if (!subjectOf(scope)) return 0
    return (await tx.contentRejection.deleteMany({ where: { id: { in: [...items] } } })).count
  },
  /** Searches by agent and by id. */
  residue(scope, items) {
    const subject = subjectOf(scope)
    if (!subject) return Promise.resolve(0)
    return countLeft(db, async (ask) => {
      await ask('SELECT count(*)::int AS n FROM content_rejections WHERE agent_id = ANY($1::text[])', [
        doersOf(subject),
      ])
      for (const ids of chunked(items))
        await ask('SELECT count(*)::int AS n FROM content_rejections WHERE id = ANY($1::text[])', [ids])
    })
  },
})
