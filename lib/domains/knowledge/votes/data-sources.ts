import { erasedSubjectOf, subjectActorsOf } from '#lib/domains/knowledge/erasure/subject.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countFeedback, eraseFeedback, type FeedbackKind, feedbackHolding, unitsWithFeedback } from './repository.ts'

const keysOf = ({ account }: Subject): string[] => (account === null ? [] : [`user:${account}`])

/**
 * Votes and reports of agents about others' units. Erasure deletes the rows. The units' sums and quarantine stay: they are others' scores
 * and are not recomputed from the rows.
 */
const feedbackDataSource = (
  db: Database,
  kind: FeedbackKind,
  described: Pick<DataSource, 'name' | 'what' | 'held' | 'purpose' | 'kept' | 'tables'>,
): DataSource => ({
  ...described,
  store: 'postgresql',
  stage: 'content',
  inventory: async (subject) => holdingOf(await feedbackHolding(db, { actors: subjectActorsOf(subject) }, kind)),
  async plan(scope, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await unitsWithFeedback(tx, { actors: subjectActorsOf(subject), keys: keysOf(subject) }, kind)
    return { items: rows.map(({ id }) => id).sort(), held: {} }
  },
  async erase(scope, units, tx) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    return eraseFeedback(tx, { actors: subjectActorsOf(subject), keys: keysOf(subject), units }, kind)
  },
  async residue(scope) {
    const subject = erasedSubjectOf(scope)
    if (!subject) return 0
    const actors = subjectActorsOf(subject)
    return sumRemaining(db, async function* (on) {
      yield countFeedback(on, { actors, keys: [...actors, ...keysOf(subject)] }, kind)
    })
  },
})

/** Votes and reports of a subject; items are unit ids. */
export const voteDataSources = (db: Database): DataSource[] => [
  feedbackDataSource(db, 'vote', {
    name: 'knowledge.votes',
    tables: ['unit_votes'],
    what: 'votes on units of others, with their comments; the units keep their scores',
    held: 'votes on units of others, with their comments',
    purpose: 'assessing the quality of shared knowledge',
    kept: 'as long as the unit, or until they are erased',
  }),
  feedbackDataSource(db, 'report', {
    name: 'knowledge.reports',
    tables: ['unit_reports'],
    what: 'reports of others’ units, with their reasons',
    held: 'reports of others’ units, with their reasons',
    purpose: 'removing harmful content',
    kept: 'as long as the unit, or until they are erased',
  }),
]
