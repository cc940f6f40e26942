import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type DataSource, erasedRows, type PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import {
  chunked,
  holdingOf,
  type PlannedRow,
  plannedOf,
  preferIndexes,
  sumRemaining,
} from '#lib/stores/postgres/personal-tables.ts'
import { type AuthoredTable, coveredRows, scopePart, scopeSubject, untilErased, writersOf } from '../legal-holds.ts'
import {
  countErasableParticipants,
  countParticipants,
  deleteParticipants,
  participantInventory,
  plannedParticipants,
} from '../participants/repository.ts'
import { isHostName } from '../rules.ts'
import {
  appointOwners,
  authoredInventory,
  closeProjects,
  conversationInventory,
  countConversations,
  countDocumentsMadeFrom,
  countErasableConversations,
  countErasableConversationsOfProject,
  countErasableMembers,
  countErasableProjects,
  countErasableReferences,
  countErasableRows,
  countMembers,
  countPointers,
  countRemainingRows,
  countRowsOfProject,
  deleteConversations,
  deleteMembers,
  deleteOutsidePointers,
  deletePointersOf,
  deleteProjects,
  deleteRows,
  explainedRows,
  identitiesOf,
  identitiesOfContainers,
  identitiesOfRows,
  type MemberScope,
  memberInventory,
  outsidePointerInventory,
  outsidePointers,
  plannedMembers,
  plannedProject,
  plannedProjects,
  plannedReferences,
  plannedRows,
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

/** Personal data source for authored rows and their dependent rows. Erases by id; verifies by author and by part. */
const authoredDataSource = (
  db: Database,
  table: AuthoredTable,
  described: Pick<DataSource, 'name' | 'what' | 'purpose' | 'tables'>,
): DataSource => {
  const source = table === 'messages' ? 'message' : 'document'
  return {
    ...described,
    store: 'postgresql',
    stage: 'content',
    kept: untilErased,
    inventory: async (subject) => holdingOf(await authoredInventory(db, writersOf(subject), table)),
    async plan(scope, tx, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return { items: [], held: {} }
      await preferIndexes(tx)
      return plannedOf(await plannedRows(tx, { ...covered.values, now }, covered.which))
    },
    async explain(scope, tx, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return { verdicts: [], isPartial: false }
      await preferIndexes(tx)
      const rows = await explainedRows(tx, { ...covered.values, now }, covered.which)
      const verdicts = rows.map(
        ({ id, hold, name, evidence }): PlannedRecord => ({
          store: 'postgresql',
          kind: source,
          id,
          name,
          found: 'row',
          ...(hold === null
            ? { verdict: 'deleted', reason: 'source', evidence }
            : { verdict: 'kept', reason: 'held', evidence: [`hold:${hold}`] }),
        }),
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx) {
      const covered = coveredRows(scope, table)
      if (!covered) return 0
      await preferIndexes(tx)
      const deleted = await deleteRows(tx, { ...covered.values, items }, covered.which)
      await deletePointersOf(tx, { kind: source, sources: items })
      await withdrawNaming(tx, items)
      return deleted
    },
    residue(scope, items, now) {
      const covered = coveredRows(scope, table)
      if (!covered) return Promise.resolve(0)
      return sumRemaining(db, async function* (on) {
        yield countErasableRows(on, { ...covered.values, now }, covered.which)
        for (const chunk of chunked(items)) {
          yield countRemainingRows(on, { items: chunk }, table)
          if (table === 'messages') yield countDocumentsMadeFrom(on, { messages: chunk, now })
        }
      })
    },
    // The ids are recorded as erased: requests for them report the erasure, and no writer can reuse them.
    identities: (items, tx) => identitiesOfRows(tx, { items }, table),
  }
}

/** Personal data source for messages with their edits, the rows of their attachments, and their provenance. */
export const messageDataSource = (db: Database): DataSource =>
  authoredDataSource(db, 'messages', {
    name: 'projects.messages',
    what: 'messages in projects, with their earlier texts, the names of their files, and pointers to derived data',
    purpose: 'providing conversations in the projects of which the subject is a member',
    tables: ['messages', 'message_edits', 'attachments', 'provenance'],
  })

/** Personal data source for documents and artifacts with their text chunks. Their bytes are in the object store. */
export const documentDataSource = (db: Database): DataSource =>
  authoredDataSource(db, 'documents', {
    name: 'projects.documents',
    what: 'documents and artifacts in projects, with their text chunks',
    purpose: 'providing documents in the projects of which the subject is a member',
    tables: ['documents', 'document_chunks'],
  })

/** The memberships that a scope covers: those of a subject, or of a whole project. */
function coveredMembers(scope: ErasureScope) {
  const subject = scopeSubject(scope)
  const part = scopePart(scope)
  if (!subject && part?.kind !== 'project') return undefined
  const which: MemberScope = subject ? 'subject' : 'project'
  const authors = subject ? writersOf(subject) : { kinds: [], ids: [] }
  return { which, values: { ...authors, project: part?.project ?? null } }
}

/** Personal data source for project members. If the last owner is erased, the member who joined first becomes owner. */
export const memberDataSource = (db: Database): DataSource => ({
  name: 'projects.members',
  store: 'postgresql',
  stage: 'content',
  what: 'memberships in projects, with their roles',
  purpose: 'limiting access to a project to its members',
  kept: untilErased,
  tables: ['project_members'],
  inventory: async (subject) => holdingOf(await memberInventory(db, writersOf(subject))),
  async plan(scope, tx, now) {
    const covered = coveredMembers(scope)
    if (!covered) return { items: [], held: {} }
    await preferIndexes(tx)
    return plannedOf(await plannedMembers(tx, { ...covered.values, now }, covered.which))
  },
  async erase(_scope, items, tx) {
    await preferIndexes(tx)
    const deleted = await deleteMembers(tx, { items })
    await appointOwners(tx, { projects: [...new Set(deleted.map(({ project_id }) => project_id))] })
    return deleted.length
  },
  residue(scope, items, now) {
    const covered = coveredMembers(scope)
    return sumRemaining(db, async function* (on) {
      if (covered) yield countErasableMembers(on, { ...covered.values, now }, covered.which)
      if (items.length > 0) yield countMembers(on, { items })
    })
  },
})

/** Outside pointers of the records that a scope covers, except those under legal hold. */
async function pointersOf(
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ id: string; ref: string; place: string }[]> {
  await preferIndexes(tx)
  const found = []
  for (const table of ['messages', 'documents'] as const) {
    const covered = coveredRows(scope, table)
    if (!covered) continue
    for (const one of await outsidePointers(tx, { ...covered.values, now }, covered.which)) found.push(one)
  }
  return found.sort((one, other) => (one.id < other.id ? -1 : 1))
}

const grounds = { ground: receiptText('grounds', 'outside') }
const maxSystems = 20
const systemPrefix = 'outside:'

/** Pointers by system. A place that is no host name is not recorded: the receipt outlives it and is not secret. */
function countsBySystem(pointers: readonly { place: string; n: number }[]): Record<string, number> {
  return Object.fromEntries(
    pointers.flatMap(({ place, n }) => (isHostName(place) ? [[systemPrefix + place, n] as const] : [])),
  )
}

/** A line for each of the systems with the most pointers, and one for all other pointers. */
function remainsOutside(count: number, results: Readonly<Record<string, number>> = {}) {
  const named = Object.entries(results)
    .filter(([name]) => name.startsWith(systemPrefix))
    .toSorted(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
    .slice(0, maxSystems)
    .map(([name, n]) => ({ system: name.slice(systemPrefix.length), count: n }))
  const others = count - named.reduce((sum, one) => sum + one.count, 0)
  return [
    ...named.map((values) => ({ what: receiptText('retained', 'outsideIn', values), ...grounds })),
    ...(others > 0 ? [{ what: receiptText('retained', 'outside', { count: others }), ...grounds }] : []),
  ]
}

/**
 * Personal data source for pointers to copies that this installation cannot reach, as reported by applications. They are deleted, and the
 * receipt reports their number by system. Runs before messages and documents, whose erasure deletes all their pointers.
 */
export const outsidePointerDataSource = (db: Database): DataSource => ({
  name: 'projects.outside',
  store: 'postgresql',
  stage: 'content',
  what: 'pointers to data derived from messages and documents in systems that this installation cannot reach',
  purpose: 'reporting where else data derived from a message or document may exist',
  kept: untilErased,
  tables: ['provenance'],
  inventory: async (subject) => holdingOf(await outsidePointerInventory(db, writersOf(subject))),
  // Records under legal hold are counted with their message or document.
  async plan(scope, tx, now) {
    const pointers = await pointersOf(scope, tx, now)
    const byPlace = Map.groupBy(pointers, ({ place }) => place)
    const results = countsBySystem([...byPlace].map(([place, { length: n }]) => ({ place, n })))
    return { items: pointers.map(({ id }) => id), held: {}, results }
  },
  async explain(scope, tx, now) {
    const verdicts = (await pointersOf(scope, tx, now)).map(
      ({ ref, place }): PlannedRecord => ({
        store: 'outside',
        kind: 'reference',
        id: ref,
        name: null,
        verdict: 'untouched',
        reason: 'outside',
        evidence: place === '' ? [] : [`place:${place}`],
        found: 'pointer',
      }),
    )
    return { verdicts, isPartial: false }
  },
  async erase(_scope, items, tx) {
    if (items.length === 0) return 0
    const deleted = await deleteOutsidePointers(tx, { items })
    const count = deleted.reduce((sum, { n }) => sum + n, 0)
    return { count, results: countsBySystem(deleted), mentions: [] }
  },
  residue: (_scope, items) =>
    sumRemaining(db, async function* (on) {
      for (const chunk of chunked(items)) yield countPointers(on, { items: chunk })
    }),
  leftBehind: remainsOutside,
})
