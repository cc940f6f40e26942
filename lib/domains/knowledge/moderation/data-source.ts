import { erasedSubjectOf, subjectActorsOf } from '#lib/domains/knowledge/erasure/subject.ts'
import { rejectionRetention } from '#lib/domains/knowledge/rules.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import { type Database, queryWithin } from '#lib/stores/postgres/database.ts'
import { chunked, countRemaining, holding, preferIndexes } from '#lib/stores/postgres/legal-hold-rows.ts'

/** Counts of rejected contributions: agent, time and sanitizer stage. */
export const rejectionsDataSource = (db: Database): DataSource => ({
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
      [subjectActorsOf(subject), rejectionRetention],
    ),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const text = 'SELECT id FROM content_rejections WHERE agent_id = ANY($1::text[]) ORDER BY id'
    const rows = await queryWithin<{ id: string }>(tx, 'plan-rejections', text, [subjectActorsOf(subject)])
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(scope, items, tx) {
    if (!erasedSubjectOf(scope)) return 0
    return (await tx.contentRejection.deleteMany({ where: { id: { in: [...items] } } })).count
  },
  /** Searches by agent and by id. */
  residue(scope, items) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return Promise.resolve(0)
    return countRemaining(db, async (ask) => {
      await ask('SELECT count(*)::int AS n FROM content_rejections WHERE agent_id = ANY($1::text[])', [
        subjectActorsOf(subject),
      ])
      for (const ids of chunked(items))
        await ask('SELECT count(*)::int AS n FROM content_rejections WHERE id = ANY($1::text[])', [ids])
    })
  },
})
