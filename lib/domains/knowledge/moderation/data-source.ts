import { erasedSubjectOf, subjectActorsOf } from '#lib/domains/knowledge/erasure/subject.ts'
import { rejectionRetention } from '#lib/domains/knowledge/rules.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countRejectionsById, countRejectionsOf, rejectionIds, rejectionsHolding } from './repository.ts'

/** Counts of rejected contributions: agent, time and sanitizer stage. */
export const rejectionsDataSource = (db: Database): DataSource => ({
  name: 'knowledge.rejections',
  store: 'postgresql',
  stage: 'content',
  what: 'counts of contributions that were rejected because of their content',
  purpose: 'detecting repeated attempts to contribute harmful content',
  kept: '30 days',
  tables: ['content_rejections'],
  inventory: async (subject) =>
    holdingOf(await rejectionsHolding(db, { actors: subjectActorsOf(subject), retention: rejectionRetention })),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await rejectionIds(tx, { actors: subjectActorsOf(subject) })
    return { items: rows.map(({ id }) => id), held: {} }
  },
  async erase(scope, items, tx) {
    if (!erasedSubjectOf(scope)) return 0
    return (await tx.contentRejection.deleteMany({ where: { id: { in: [...items] } } })).count
  },
  /** Searches by agent and by id. */
  async residue(scope, items) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    return sumRemaining(db, async function* (on) {
      yield countRejectionsOf(on, { actors: subjectActorsOf(subject) })
      for (const ids of chunked(items)) yield countRejectionsById(on, { ids })
    })
  },
})
