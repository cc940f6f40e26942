import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedRunMatch, ErasedWords, PlannedRecord } from '#lib/kernel/data-source.ts'
import { type Erased, tallyOf } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { placeholder } from '#lib/stores/checkpoints/search-strings.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, plannedOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-tables.ts'
import { type AuthoredTable, coveredRows, scopePart, scopeSubject, untilErased, writersOf } from '../legal-holds.ts'
import type { Sources } from '../provenance/sources.ts'
import { isHostName } from '../rules.ts'
import { cutFrom } from '../words/derived-text.ts'
import { mergeSpans } from '../words/fingerprints.ts'
import { remainingTexts } from '../words/remaining-texts.ts'
import { addNames, SourceWords } from '../words/run-words.ts'
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
  machineMessages,
  maxMachineMessages,
  maxReportedPointers,
  memberInventory,
  outsidePointerInventory,
  outsidePointers,
  plannedMembers,
  plannedRows,
  reportedPointers,
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

/** Where to search: an older message of an assistant cannot quote the erased ones. */
interface Searched {
  project: string
  since: Date
}
const within = 'within:'
const itemOf = ({ project, since }: Searched): string => `${within}${project}:${since.toISOString()}`
function searchedAmong(items: readonly string[]): Searched[] {
  return items.flatMap((item) => {
    if (!item.startsWith(within)) return []
    const at = item.indexOf(':', within.length)
    return [{ project: item.slice(within.length, at), since: new Date(item.slice(at + 1)) }]
  })
}

interface Quotation {
  id: string
  /** Undefined: it has no erased words. */
  content: string | undefined
  edits: { id: string; content: string }[]
}

/** What cuts the words of erased texts that no remaining text of a person explains. Its result is undefined for a text without them. */
function cutterOf(
  tx: Transaction,
  project: string,
  words: ErasedWords,
  now: Date,
  erasedIds: ReadonlySet<string>,
): (text: string) => Promise<string | undefined> {
  const matches = (text: string): ErasedRunMatch[] => [...words.runsIn(text), ...words.namesIn(text)]
  const explained = memoize(async () => {
    const runs = new Set<number>()
    for await (const { isByPerson, texts } of remainingTexts(tx, project, now, erasedIds))
      if (isByPerson) for (const text of texts) for (const { run } of matches(text)) runs.add(run)
    return runs
  })
  return async (text) => {
    const found = matches(text)
    if (found.length === 0) return undefined
    const known = await explained()
    const erased = found.filter(({ run }) => !known.has(run))
    return erased.length === 0 ? undefined : (cutFrom(text, mergeSpans(erased)) ?? placeholder)
  }
}

/** Messages of assistants with erased words. Only reads. */
async function* quotationsIn(
  tx: Transaction,
  { project, since }: Searched,
  words: ErasedWords,
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
): AsyncGenerator<Quotation> {
  if (words.isEmpty) return
  const cut = cutterOf(tx, project, words, now, erasedIds)
  for (let after = ''; ; ) {
    const rows = await machineMessages(tx, { project, after, since, now })
    for (const { id, content, edits, contents } of rows) {
      if (erasedIds.has(id)) continue
      const found: Quotation = { id, content: await cut(content), edits: [] }
      for (const [n, edit] of edits.entries()) {
        const rest = await cut(contents[n] ?? '')
        if (rest !== undefined) found.edits.push({ id: edit, content: rest })
      }
      if (found.content !== undefined || found.edits.length > 0) yield found
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < maxMachineMessages) return
    after = last.id
  }
}

const pointerPrefix = 'pointer:'
/**
 * Pointers of remaining messages and documents whose reference contains erased words, such as a key with a sentence of another author. The
 * data under such a key is deleted, and the pointer with it. An outside reference loses the words; its system remains. Only reads.
 */
async function* quotingPointers(
  tx: Transaction,
  { project, since }: Searched,
  words: ErasedWords,
  now: Date,
  erasedIds: ReadonlySet<string> = new Set(),
): AsyncGenerator<{ id: string; change?: { ref: string; place: string } }> {
  if (words.isEmpty) return
  const cut = cutterOf(tx, project, words, now, erasedIds)
  for (let after = ''; ; ) {
    const rows = await reportedPointers(tx, { project, after, since })
    for (const { id, source_id: source, store, ref, place } of rows) {
      if (erasedIds.has(source)) continue
      const isInPlace = (await cut(place)) !== undefined
      if (!isInPlace && (await cut(ref)) === undefined) continue
      // Two references may become equal, and one source has each only once.
      yield store === 'outside'
        ? { id, change: { ref: `${placeholder} ${id}`, place: isInPlace ? '' : place } }
        : { id }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < maxReportedPointers) return
    after = last.id
  }
}

/**
 * Personal data source for quotations in messages of assistants and tools, and in system prompts. Only people are authors: such a message
 * is derived data, so the erased words and names are cut from it and the rest remains. So are the
 * references of pointers.
 */
export function quotationDataSource(db: Database, sources: Sources): DataSource {
  /** The projects of a scope, the words of its texts, and the ids that count as erased. */
  async function gathered(scope: ErasureScope, tx: Transaction, now: Date) {
    const since = new Map<string, Date>()
    const words = new SourceWords()
    const erasedIds = new Set<string>()
    for await (const page of sources.of(scope, tx, now))
      for (const source of page) {
        const { id, project, createdAt } = source
        words.add(source)
        erasedIds.add(id)
        const known = since.get(project)
        if (!known || createdAt < known) since.set(project, createdAt)
      }
    const searched = [...since].map(([project, at]): Searched => ({ project, since: at }))
    const all = words.all()
    addNames(all, await sources.names(scope, tx, new Set(since.keys())))
    return { searched, words: all, erasedIds }
  }
  async function planned(scope: ErasureScope, tx: Transaction, now: Date) {
    const { searched, words, erasedIds } = await gathered(scope, tx, now)
    const ids: string[] = []
    const pointers: string[] = []
    for (const one of searched) {
      for await (const { id } of quotationsIn(tx, one, words, now, erasedIds)) ids.push(id)
      for await (const { id } of quotingPointers(tx, one, words, now, erasedIds)) pointers.push(pointerPrefix + id)
    }
    return { ids: ids.sort(), pointers: pointers.sort(), searched }
  }
  return {
    name: 'projects.quotations',
    store: 'postgresql',
    stage: 'content',
    what: 'words of the erased messages and documents in messages of assistants and tools, which quote them',
    purpose: 'providing conversations in the projects of which the subject is a member',
    kept: untilErased,
    tables: ['messages', 'message_edits', 'provenance'],
    inventory: async () => ({ count: 0, since: null, until: null }),
    async plan(scope, tx, now) {
      const { ids, pointers, searched } = await planned(scope, tx, now)
      return { items: [...ids, ...pointers], watched: searched.map(itemOf).sort(), held: {} }
    },
    async explain(scope, tx, now) {
      const { ids } = await planned(scope, tx, now)
      const verdicts = ids.map(
        (id): PlannedRecord => ({
          store: 'postgresql',
          kind: 'message',
          id,
          name: null,
          verdict: 'changed',
          reason: 'cut',
          evidence: [],
          found: 'text',
        }),
      )
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx, options): Promise<Erased> {
      const now = options?.now ?? new Date()
      const scoped = await gathered(scope, tx, now)
      const words = options?.words && !options.words.isEmpty ? options.words : scoped.words
      const recorded = searchedAmong(items)
      const [changed, pointers]: [string[], string[]] = [[], []]
      for (const one of recorded.length > 0 ? recorded : scoped.searched) {
        for await (const { id, content, edits } of quotationsIn(tx, one, words, now, scoped.erasedIds)) {
          if (content !== undefined) await tx.message.update({ where: { id }, data: { content } })
          for (const edit of edits)
            await tx.messageEdit.update({ where: { id: edit.id }, data: { content: edit.content } })
          changed.push(id)
        }
        for await (const { id, change } of quotingPointers(tx, one, words, now, scoped.erasedIds)) {
          if (change) await tx.provenance.update({ where: { id }, data: change })
          else await tx.provenance.delete({ where: { id } })
          pointers.push(id)
        }
      }
      await withdrawNaming(tx, changed)
      const asked = items.filter((item) => !item.startsWith(within)).length
      return {
        count: Math.max(changed.length + pointers.length, asked),
        results: {},
        tallies: { derivedCut: tallyOf(changed) },
        mentions: [],
      }
    },
    async residue(_scope, items, now, words) {
      if (!words || words.isEmpty) return 0
      let count = 0
      for (const one of searchedAmong(items))
        count += await db.transaction(async (tx) => {
          const quotations = await Array.fromAsync(quotationsIn(tx, one, words, now))
          return quotations.length + (await Array.fromAsync(quotingPointers(tx, one, words, now))).length
        })
      return count
    },
  }
}
