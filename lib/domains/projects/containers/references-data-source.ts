import type { DataSource } from '#lib/kernel/data-source.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { scopeSubject } from '../legal-holds.ts'
import {
  countErasableReferences,
  plannedReferences,
  referenceInventory,
  referenceKinds,
  renameReferences,
} from './repository.ts'
import { identitiesOf } from './whole-containers.ts'

/** A one-way pseudonym for a name of the erased subject in records of others. */
export type ProjectPseudonym = (value: string) => string

/**
 * Personal data source for references in records of others: who created or closes a project, created a conversation, added a member, wrote
 * on behalf of a participant, reported a pointer, or edited a message of an agent that now has another owner. The records remain, and a
 * one-way pseudonym replaces the name.
 */
export const projectReferencesDataSource = (
  db: Database,
  { pseudonymOf }: { pseudonymOf: ProjectPseudonym },
): DataSource => ({
  name: 'projects.references',
  store: 'postgresql',
  stage: 'content',
  what: 'references in projects of others (as creator, as the member who added another, as the reporter of derived data, or as editor of a message): replaced by a one-way pseudonym, and titles by the subject are cleared; the records remain',
  held: 'projects and conversations of others that name the subject as creator, as the member who added another, as the reporter of derived data, or as editor of a message',
  purpose: 'recording who did what in a project',
  kept: 'as long as the record that contains them',
  tables: [],
  inventory: async (subject) => holdingOf(await referenceInventory(db, identitiesOf(subject))),
  async plan(scope, tx, now) {
    const subject = scopeSubject(scope)
    if (!subject) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await plannedReferences(tx, { ...identitiesOf(subject), now }))
  },
  async erase(scope, items, tx) {
    const subject = scopeSubject(scope)
    if (!subject) return 0
    await preferIndexes(tx)
    const { actors: names } = identitiesOf(subject)
    // All names of a person get the same pseudonym.
    const pseudonyms = names.map((name) =>
      pseudonymOf(subject.account !== null && name === `user:${subject.account}` ? subject.account : name),
    )
    let changed = 0
    for (const kind of referenceKinds) changed += await renameReferences(tx, { items, names, pseudonyms }, kind)
    return changed
  },
  residue(scope, _items, now) {
    const subject = scopeSubject(scope)
    if (!subject) return Promise.resolve(0)
    return sumRemaining(db, async function* (on) {
      yield countErasableReferences(on, { ...identitiesOf(subject), now })
    })
  },
})
