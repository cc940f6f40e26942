import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, erasedRows, type PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  holdingOf,
  type PlannedRow,
  plannedOf,
  preferIndexes,
  sumRemaining,
} from '#lib/stores/postgres/personal-tables.ts'
import { scopePart, scopeSubject, untilErased } from '../legal-holds.ts'
import {
  countErasableParticipants,
  countParticipants,
  deleteParticipants,
  participantInventory,
  plannedParticipants,
} from '../participants/repository.ts'
import {
  closeProjects,
  conversationInventory,
  countConversations,
  countErasableConversations,
  countErasableConversationsOfProject,
  countErasableProjects,
  countErasableReferences,
  countRowsOfProject,
  deleteConversations,
  deleteProjects,
  identitiesOf,
  identitiesOfContainers,
  plannedProject,
  plannedProjects,
  plannedReferences,
  projectInventory,
  referenceInventory,
  referenceKinds,
  renameReferences,
  wholeConversations,
  wholeProjects,
} from './repository.ts'

/**
 * Personal data source for projects. The row of a closed project remains for its receipt, without its name. A project in which only the
 * subject participates is deleted.
 */
export const projectDataSource = (db: Database): DataSource => ({
  name: 'projects.projects',
  store: 'postgresql',
  stage: 'content',
  what: 'projects without other members, with their names',
  purpose: 'providing projects of which the subject is a member',
  kept: untilErased,
  tables: ['projects'],
  inventory: async (subject) => holdingOf(await projectInventory(db, identitiesOf(subject))),
  async plan(scope, tx, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    await preferIndexes(tx)
    if (subject) return plannedOf(await plannedProjects(tx, { ...identitiesOf(subject), now }))
    return plannedOf(part?.kind === 'project' ? await plannedProject(tx, { id: part.id, now }) : [])
  },
  async erase(scope, items, tx, options) {
    await preferIndexes(tx)
    const isSubject = scopeSubject(scope) !== undefined
    const rows = isSubject
      ? await deleteProjects(tx, { items })
      : await closeProjects(tx, { items, now: options?.now ?? null })
    await withdrawNaming(
      tx,
      rows.map(({ id }) => id),
    )
    return erasedRows({ deleted: isSubject ? rows.length : 0, pseudonymized: isSubject ? 0 : rows.length })
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject) yield countErasableProjects(on, { ...identitiesOf(subject), now })
      else if (part?.kind === 'project' && items.length > 0) yield countRowsOfProject(on, { id: part.id })
    })
  },
  identities: (items, tx) => identitiesOfContainers(tx, { items }, 'project'),
})

const isOfParts = (scope: ErasureScope): boolean => {
  const kind = scopePart(scope)?.kind
  return kind === 'project' || kind === 'conversation'
}

/** Personal data source for conversations: of a project, of a conversation, or with messages only from the subject. */
export const conversationDataSource = (db: Database): DataSource => ({
  name: 'projects.conversations',
  store: 'postgresql',
  stage: 'content',
  what: 'conversations without messages of others, with their titles',
  purpose: 'providing conversations in the projects of which the subject is a member',
  kept: untilErased,
  tables: ['conversations'],
  inventory: async (subject) => holdingOf(await conversationInventory(db, identitiesOf(subject))),
  async plan(scope, tx, now) {
    if (!scopeSubject(scope) && !isOfParts(scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await wholeConversations(scope, tx, now))
  },
  async explain(scope, tx, now) {
    const rows = isOfParts(scope) ? await wholeConversations(scope, tx, now) : []
    const verdicts = rows.map(
      ({ id, hold }): PlannedRecord => ({
        store: 'postgresql',
        kind: 'conversation',
        id,
        name: null,
        found: 'row',
        ...(hold === null
          ? { verdict: 'deleted', reason: 'source', evidence: [] }
          : { verdict: 'kept', reason: 'held', evidence: [`hold:${hold}`] }),
      }),
    )
    return { verdicts, isPartial: false }
  },
  /** Keeps a conversation with new messages or with messages under legal hold. Verification finds it, and it is planned again. */
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const deleted = (await deleteConversations(tx, { items })).map(({ id }) => id)
    await withdrawNaming(tx, deleted)
    return deleted.length
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject) {
        yield countErasableConversations(on, { ...identitiesOf(subject), now })
        return
      }
      if (part?.kind === 'project') yield countErasableConversationsOfProject(on, { project: part.id, now })
      for (const chunk of chunked(items)) yield countConversations(on, { items: chunk })
    })
  },
  identities: (items, tx) => identitiesOfContainers(tx, { items }, 'conversation'),
})

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

async function planned(scope: ErasureScope, tx: Transaction, now: Date): Promise<PlannedRow[]> {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (part?.kind === 'project') return plannedParticipants(tx, { values: [part.id], now }, 'projects')
  if (!subject) return []
  const own = await plannedParticipants(tx, { values: subject.participants ?? [], now }, 'ids')
  // If a project is erased with its only member, all its participants are erased too.
  const projects = (await wholeProjects(scope, tx, now)).map(({ id }) => id)
  const others = projects.length === 0 ? [] : await plannedParticipants(tx, { values: projects, now }, 'projects')
  return [...new Map([...own, ...others].map((row) => [row.id, row])).values()]
}

/** Personal data source for participants: the ids, names and email addresses that applications reported. */
export const participantDataSource = (db: Database): DataSource => ({
  name: 'projects.participants',
  store: 'postgresql',
  stage: 'content',
  what: 'participations in projects: the application’s id of the person, with the name and email address that it reported',
  held: 'participations in projects that the subject claimed: the application’s id, name and email address of the person',
  purpose: 'recording on whose behalf an application wrote, so that the person can have it exported and erased',
  kept: untilErased,
  tables: ['project_participants'],
  inventory: async ({ participants: ids = [] }) => holdingOf(await participantInventory(db, { ids })),
  async plan(scope, tx, now) {
    await preferIndexes(tx)
    return plannedOf(await planned(scope, tx, now))
  },
  async erase(_scope, ids, tx) {
    await preferIndexes(tx)
    return deleteParticipants(tx, { ids })
  },
  residue(scope, items, now) {
    const subject = scopeSubject(scope)
    const part = scopePart(scope)
    return sumRemaining(db, async function* (on) {
      if (subject?.participants) yield countErasableParticipants(on, { values: subject.participants, now }, 'ids')
      // Search by account too, so that the check does not depend on the planned ids.
      if (subject && subject.account !== null)
        yield countErasableParticipants(on, { values: [subject.account], now }, 'accounts')
      if (part?.kind === 'project') yield countErasableParticipants(on, { values: [part.id], now }, 'projects')
      for (const ids of chunked(items)) yield countParticipants(on, { ids })
    })
  },
})
