import type { KnowledgeDeps } from '#lib/domains/knowledge/units/stored-unit.ts'
import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { bearersOf } from './reference-meaning.ts'
import { type Renamings, renameSkills, renameUnits } from './renaming.ts'
import { countReferencesInDocuments, countReferringRecords, referencesHolding, referringRecords } from './repository.ts'
import { erasedSubjectOf } from './subject.ts'
import type { AuthorPseudonym } from './suppression.ts'

/** Name of this data source in the ledger. */
export const referencesSource = 'knowledge.references'

/**
 * References to the subject in others' units, SOPs and skills: attribution, `validated_by`, authors and approvers of versions. The records
 * belong to others and remain, with their scores; a one-way pseudonym replaces the name. An item is the id of such a record. Records that
 * only contain an equal name are neither changed nor counted; an admin decides about them.
 */
export const referencesDataSource = (
  db: Database,
  { withdrawAnswers, pseudonymOf }: Pick<KnowledgeDeps, 'withdrawAnswers'> & { pseudonymOf: AuthorPseudonym },
): DataSource => {
  const renaming = (subject: Subject): Renamings => {
    const { account } = subject
    const bearers = bearersOf(subject)
    // A person has one pseudonym for every form of their name in records.
    const of = (name: string) => pseudonymOf(account !== null && name === `user:${account}` ? account : name)
    const among = (names: readonly string[]) => {
      const some = new Set(names)
      return (name: string) => (some.has(name) ? of(name) : name)
    }
    return { bearers, written: among, recorded: among(bearers.names) }
  }
  return {
    name: referencesSource,
    store: 'postgresql',
    stage: 'content',
    what: 'references in units, SOPs and skills of others: replaced by a one-way pseudonym; the records remain',
    held: 'units, SOPs and skills of others that name the subject as expert, first author, validator or approver',
    purpose: 'recording the source of knowledge, and who validated it',
    kept: 'as long as the record that contains them',
    tables: [],
    inventory: async (subject, now) =>
      holdingOf(await referencesHolding(db, { ...bearersOf(subject), agents: subject.agents, now })),
    async plan(scope, tx, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return { items: [], held: {} }
      await preferIndexes(tx)
      const values = { ...bearersOf(subject), agents: subject.agents, now }
      const units = await referringRecords(tx, values, 'unit')
      return plannedOf([...units, ...(await referringRecords(tx, values, 'skill'))])
    },
    async erase(scope, items, tx) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return 0
      await preferIndexes(tx)
      const to = renaming(subject)
      const isSkill = (id: string) => id.startsWith('kp:skill:')
      const units = await renameUnits(
        tx,
        items.filter((id) => !isSkill(id)),
        to,
      )
      const skills = await renameSkills(tx, items.filter(isSkill), to)
      await withdrawAnswers(tx, ...items)
      return units + skills
    },
    /** Searches the name indexes, and the documents that should have changed. */
    async residue(scope, items, now) {
      const subject = erasedSubjectOf(scope)
      if (!subject) return 0
      const bearers = bearersOf(subject)
      const values = { ...bearers, agents: subject.agents, now }
      return sumRemaining(db, async function* (on) {
        yield countReferringRecords(on, values, 'unit')
        yield countReferringRecords(on, values, 'skill')
        for (const records of chunked(items)) yield countReferencesInDocuments(on, { ...bearers, records })
      })
    },
  }
}
