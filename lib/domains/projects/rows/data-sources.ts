import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { type AuthoredTable, coveredRows, scopePart, scopeSubject, untilErased, writersOf } from '../legal-holds.ts'
import { isHostName } from '../rules.ts'
import {
  appointOwners,
  authoredInventory,
  countDocumentsMadeFrom,
  countErasableMembers,
  countErasableRows,
  countMembers,
  countPointers,
  countRemainingRows,
  deleteMembers,
  deleteOutsidePointers,
  deletePointersOf,
  deleteRows,
  explainedRows,
  identitiesOfRows,
  type MemberScope,
  memberInventory,
  outsidePointerInventory,
  outsidePointers,
  plannedMembers,
  plannedRows,
} from './repository.ts'

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
    if (covered) found.push(...(await outsidePointers(tx, { ...covered.values, now }, covered.which)))
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
