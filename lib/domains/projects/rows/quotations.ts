import { withdrawNaming } from '#lib/domains/idempotency/writes.ts'
import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasedRunMatch,
  type ErasedWords,
  type ItemId,
  longestSearch,
  type PlannedRecord,
  type ReadPage,
  type ReadPlace,
  tallyOf,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { CacheStore } from '#lib/stores/cache/cache.ts'
import { placeholder } from '#lib/stores/checkpoints/search-strings.ts'
import type { ObjectStore } from '#lib/stores/objects/objects.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { scopeSubject, untilErased } from '../legal-holds.ts'
import type { Sources } from '../provenance/sources.ts'
import { cutFrom } from '../words/derived-text.ts'
import { Fingerprints, mergeSpans } from '../words/fingerprints.ts'
import { remainingTexts } from '../words/remaining-texts.ts'
import { addNames, addNumbersOf, SourceWords } from '../words/run-words.ts'
import {
  changeableRecords,
  machineMessages,
  maxMachineMessages,
  maxQuoting,
  maxReportedPointers,
  type QuotingKind,
  quotingKinds,
  quotingRecords,
  quotingRecordsWithin,
  reportedPointers,
  type SearchedKind,
} from './repository.ts'

/** Where to search: a message of an assistant that was stored before the erased ones, and not changed since, cannot quote them. */
interface Searched {
  project: string
  since: Date
}
const searchedPrefix = 'within:'
const itemOf = ({ project, since }: Searched): string => `${searchedPrefix}${project}:${since.toISOString()}`
function searchedAmong(items: readonly string[]): Searched[] {
  return items.flatMap((item) => {
    if (!item.startsWith(searchedPrefix)) return []
    const at = item.indexOf(':', searchedPrefix.length)
    return [{ project: item.slice(searchedPrefix.length, at), since: new Date(item.slice(at + 1)) }]
  })
}

interface Quotation {
  id: string
  /** The content that was read. */
  before: string
  /** Undefined: it has no erased words. */
  content: string | undefined
  edits: { id: string; content: string }[]
  files: { id: string; name: string }[]
}
/** A reference outside: it loses the words. A key: the data under it is deleted, and the pointer when its store no longer has the key. */
type QuotingPointer = { id: string; change: { ref: string; place: string } } | (KeyPointer & { change?: undefined })
interface KeyPointer {
  id: string
  store: KeyStore
  ref: string
}
type KeyStore = 'cache' | 'objects'
const isKeyStore = (store: string): store is KeyStore => store === 'cache' || store === 'objects'
/** The stores of reported keys. */
interface KeyStores {
  cache: Pick<CacheStore, 'read'>
  objects: Pick<ObjectStore, 'versions'>
}

/**
 * Those of some keys that their store still has. If it does not answer, it may have all of them: a pointer is the only lead to a key, so it is
 * deleted only after its store confirmed that the key does not exist.
 */
async function storedKeys(
  { cache, objects }: KeyStores,
  store: KeyStore,
  keys: readonly string[],
): Promise<Set<string>> {
  const stored = new Set<string>()
  if (keys.length === 0) return stored
  try {
    if (store === 'cache')
      await cache.read(async ({ name }) => {
        stored.add(name)
      }, keys)
    else for (const key of keys) if ((await objects.versions(key)).length > 0) stored.add(key)
    return stored
  } catch (error) {
    if (Problem.is(error, 'unavailable')) return new Set(keys)
    throw error
  }
}

/** What an erasure looks for. */
interface Sought {
  words: ErasedWords
  now: Date
  /** Ids of records that a dry run treats as erased. */
  erasedIds: ReadonlySet<string>
}
const matchesOf = (words: ErasedWords, text: string): ErasedRunMatch[] => [
  ...words.runsIn(text),
  ...words.namesIn(text),
]
/** A text without the matches that `isErased` accepts. A name as the name of a property is cut from it alone. */
function without(words: ErasedWords, text: string, isErased: (match: ErasedRunMatch) => boolean = () => true): string {
  const spans = mergeSpans(matchesOf(words, text).filter(isErased))
  return cutFrom(text, spans, words.runsIn(text).filter(isErased)) ?? placeholder
}

type Cut = (text: string) => Promise<string | undefined>
/**
 * What cuts erased words in a project of erased texts, except those that remaining texts of its persons contain. They are read once, when the
 * first words are found. Its result is undefined for a text without erased words.
 */
function cutterWithin(tx: Transaction, project: string, { words, now, erasedIds }: Sought): Cut {
  const explained = memoize(async () => {
    const runs = new Set<number>()
    for await (const { isByPerson, texts } of remainingTexts(tx, project, now, erasedIds))
      if (isByPerson) for (const text of texts) for (const { run } of matchesOf(words, text)) runs.add(run)
    return runs
  })
  return async (text) => {
    const found = matchesOf(words, text)
    if (found.length === 0) return undefined
    const known = await explained()
    const isErased = ({ run }: ErasedRunMatch): boolean => !known.has(run)
    return found.some(isErased) ? without(words, text, isErased) : undefined
  }
}

type MessageRow = Awaited<ReturnType<typeof machineMessages>>[number]
async function quotationIn(row: MessageRow, cut: Cut): Promise<Quotation | undefined> {
  const { id, content, edits, contents, files, names } = row
  const found: Quotation = { id, before: content, content: await cut(content), edits: [], files: [] }
  for (const [n, edit] of edits.entries()) {
    const rest = await cut(contents[n] ?? '')
    if (rest !== undefined) found.edits.push({ id: edit, content: rest })
  }
  for (const [n, file] of files.entries()) {
    const rest = await cut(names[n] ?? '')
    if (rest !== undefined) found.files.push({ id: file, name: rest })
  }
  return found.content !== undefined || found.edits.length + found.files.length > 0 ? found : undefined
}

/** Messages of assistants in a project with erased words. Only reads. */
async function* quotationsIn(
  tx: Transaction,
  { project, since }: Searched,
  { now, erasedIds }: Sought,
  cut: Cut,
): AsyncGenerator<Quotation> {
  for (let after = ''; ; ) {
    const rows = await machineMessages(tx, { project, after, since, now })
    for (const row of rows) {
      const found = erasedIds.has(row.id) ? undefined : await quotationIn(row, cut)
      if (found) yield found
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < maxMachineMessages) return
    after = last.id
  }
}

const pointerPrefix = 'pointer:'
/**
 * Pointers of remaining messages and documents whose reference contains erased words, such as a key with a sentence of another author.
 * Only reads.
 */
async function* quotingPointers(
  tx: Transaction,
  { project, since }: Searched,
  { erasedIds }: Sought,
  cut: Cut,
): AsyncGenerator<QuotingPointer> {
  for (let after = ''; ; ) {
    const rows = await reportedPointers(tx, { project, after, since })
    for (const { id, source_id: source, store, ref, place } of rows) {
      if (erasedIds.has(source)) continue
      const isInPlace = (await cut(place)) !== undefined
      if (!isInPlace && (await cut(ref)) === undefined) continue
      // Two references may become equal, and one source has each only once.
      yield isKeyStore(store)
        ? { id, store, ref }
        : { id, change: { ref: `${placeholder} ${id}`, place: isInPlace ? '' : place } }
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < maxReportedPointers) return
    after = last.id
  }
}

/** What {@link quotationDataSource} changes in the searched projects. Only reads. */
async function found(
  tx: Transaction,
  searched: readonly Searched[],
  sought: Sought,
): Promise<{ quotations: Quotation[]; pointers: QuotingPointer[] }> {
  const quotations: Quotation[] = []
  const pointers: QuotingPointer[] = []
  if (!sought.words.isEmpty)
    for (const one of searched) {
      const cut = cutterWithin(tx, one.project, sought)
      for await (const quotation of quotationsIn(tx, one, sought, cut)) quotations.push(quotation)
      for await (const pointer of quotingPointers(tx, one, sought, cut)) pointers.push(pointer)
    }
  return { quotations, pointers }
}

/** The records in the searched projects whose texts still contain erased words that no person explains, of every kind that is searched. */
async function stillQuoting(
  tx: Transaction,
  searched: readonly Searched[],
  words: ErasedWords,
  now: Date,
): Promise<Record<SearchedKind, string[]>> {
  const quoting: Record<SearchedKind, string[]> = { messages: [], references: [] }
  for (const { project, since } of searched) {
    const cut = cutterWithin(tx, project, { words, now, erasedIds: new Set() })
    const isQuoting = async (texts: readonly string[]): Promise<boolean> => {
      for (const text of texts) if ((await cut(text)) !== undefined) return true
      return false
    }
    for (const kind of ['messages', 'references'] as const)
      for (let after = ''; ; ) {
        const rows = await quotingRecordsWithin(tx, { project, after, since, now }, kind)
        for (const { id, texts } of rows) if (await isQuoting(texts)) quoting[kind].push(id)
        const last = rows.at(-1)
        if (last === undefined || rows.length < maxQuoting[kind]) break
        after = last.id
      }
  }
  return quoting
}

const recordPrefix = 'quoting:'
const recordItem = (kind: QuotingKind, id: string): ItemId => `${recordPrefix}${kind}:${id}`
function recordsAmong(items: readonly string[]): Map<QuotingKind, string[]> {
  const records = new Map<QuotingKind, string[]>()
  for (const kind of quotingKinds) {
    const ids = items.flatMap((item) => {
      const prefix = recordItem(kind, '')
      return item.startsWith(prefix) ? [item.slice(prefix.length)] : []
    })
    if (ids.length > 0) records.set(kind, ids)
  }
  return records
}

/** Cuts words from the texts of one record. Returns whether it changed. */
async function cutRecord(
  tx: Transaction,
  { kind, id, words }: { kind: QuotingKind; id: string; words: ErasedWords },
  stores: KeyStores,
): Promise<boolean> {
  const cut = (text: string): string | undefined => {
    return matchesOf(words, text).length === 0 ? undefined : without(words, text)
  }
  let isChanged = false
  async function change(text: string | undefined, write: (rest: string) => Promise<unknown>): Promise<void> {
    const rest = text === undefined ? undefined : cut(text)
    if (rest === undefined) return
    await write(rest)
    isChanged = true
  }
  const where = { id }
  switch (kind) {
    case 'messages': {
      const row = await tx.message.findUnique({ where, include: { edits: true, attachments: true } })
      await change(row?.content, (content) => tx.message.update({ where, data: { content } }))
      for (const edit of row?.edits ?? [])
        await change(edit.content, (content) => tx.messageEdit.update({ where: { id: edit.id }, data: { content } }))
      for (const file of row?.attachments ?? [])
        await change(file.name, (name) => tx.attachment.update({ where: { id: file.id }, data: { name } }))
      break
    }
    case 'artifacts': {
      const row = await tx.document.findUnique({ where, include: { chunks: true } })
      await change(row?.name, (name) => tx.document.update({ where, data: { name } }))
      for (const { documentId, position, content: text } of row?.chunks ?? [])
        await change(text, (content) =>
          tx.documentChunk.update({ where: { documentId_position: { documentId, position } }, data: { content } }),
        )
      break
    }
    case 'titles': {
      const row = await tx.conversation.findUnique({ where })
      await change(row?.title, (title) => tx.conversation.update({ where, data: { title } }))
      break
    }
    case 'names': {
      const row = await tx.project.findUnique({ where })
      await change(row?.name, (name) => tx.project.update({ where, data: { name } }))
      break
    }
    case 'references': {
      const row = await tx.provenance.findUnique({ where })
      if (!row) break
      if (isKeyStore(row.store)) {
        if (cut(row.ref) === undefined || (await storedKeys(stores, row.store, [row.ref])).size > 0) break
        await tx.provenance.delete({ where })
        isChanged = true
        break
      }
      const place = cut(row.place) === undefined ? row.place : ''
      if (place === '' || cut(row.ref) !== undefined) {
        await tx.provenance.update({ where, data: { ref: `${placeholder} ${id}`, place } })
        isChanged = true
      }
      break
    }
  }
  return isChanged
}

/** Cuts the words that a complete reading found, from records that are not under legal hold. Returns the items of changed records. */
async function cutRecords(
  tx: Transaction,
  records: ReadonlyMap<QuotingKind, string[]>,
  words: ErasedWords,
  now: Date,
  stores: KeyStores,
): Promise<{ changed: string[]; messages: string[] }> {
  const [changed, messages]: [string[], string[]] = [[], []]
  for (const [kind, ids] of records)
    for (const { id } of await changeableRecords(tx, { ids, now }, kind)) {
      if (!(await cutRecord(tx, { kind, id, words }, stores))) continue
      changed.push(recordItem(kind, id))
      if (kind === 'messages') messages.push(id)
    }
  return { changed, messages }
}

/** A person may have written a title or a name that an agent chose first. */
const isTitle = (kind: QuotingKind): boolean => kind === 'titles' || kind === 'names'

/** Reads everything of the projects that no person wrote: all messages of assistants and tools, artifacts, titles and references. */
const quotationReader =
  (db: Database) =>
  async (cursor: string | null, visit: (place: ReadPlace) => Promise<void>, until?: string): Promise<ReadPage> => {
    const [name, after = ''] = cursor?.split(/:(.*)/s) ?? []
    const kind = quotingKinds.find((one) => one === name) ?? 'messages'
    const [lastKind, lastId] = until?.split(/:(.*)/s) ?? []
    const last = lastKind === kind && lastId ? lastId : null
    const rows = await db.transaction((tx) => quotingRecords(tx, { after, last }, kind))
    for (const { id, project, texts, at } of rows)
      await visit({
        id: `${kind}:${id}`,
        texts,
        writtenAt: async () => at,
        // Another project is not changed: its assistant may have said the same, and its members do not know of the erasure.
        itemsOf: async (projects) => (projects.includes(project) && !isTitle(kind) ? [recordItem(kind, id)] : []),
        isOfOthers: async (projects) => !projects.includes(project),
      })
    const end = rows.at(-1)
    if (end !== undefined && rows.length === maxQuoting[kind]) return { next: `${kind}:${end.id}`, unread: {} }
    if (last !== null) return { next: null, unread: {} }
    const following = quotingKinds[quotingKinds.indexOf(kind) + 1]
    return { next: following === undefined ? null : `${following}:`, unread: {} }
  }

/**
 * Personal data source for quotations in messages of assistants and tools, and in system prompts. Only people are authors: such a message
 * is derived data, so the erased words and names are cut from it and the rest remains. So are the references of pointers. A
 * complete reading searches every project, and artifacts and titles. It lists what it finds in other projects for an admin.
 */
export function quotationDataSource(db: Database, sources: Sources, stores: KeyStores): DataSource {
  /** The pointers to keys that their stores still have. */
  async function kept(pointers: readonly KeyPointer[]): Promise<Set<string>> {
    const ids = new Set<string>()
    for (const store of ['cache', 'objects'] as const) {
      const keys = pointers.filter((one) => one.store === store)
      const stored = await storedKeys(
        stores,
        store,
        keys.map(({ ref }) => ref),
      )
      for (const { id, ref } of keys) if (stored.has(ref)) ids.add(id)
    }
    return ids
  }
  /** The projects of a scope, the words of its texts, and the ids that count as erased. */
  async function gathered(scope: ErasureScope, tx: Transaction, now: Date) {
    const since = new Map<string, Date>()
    const fingerprints = new Fingerprints()
    const words = new SourceWords(fingerprints)
    const { account = null, participants = [] } = scopeSubject(scope) ?? {}
    const isPerson = account !== null || participants.length > 0
    const erasedIds = new Set<string>(participants)
    for await (const page of sources.of(scope, tx, now))
      for (const source of page) {
        const { id, project, createdAt } = source
        words.add(source)
        if (isPerson) for (const text of source.texts) addNumbersOf(fingerprints, text)
        erasedIds.add(id)
        const known = since.get(project)
        if (!known || createdAt < known) since.set(project, createdAt)
      }
    const searched = [...since].map(([project, at]): Searched => ({ project, since: at }))
    const all = words.all()
    addNames(all, await sources.names(scope, tx, new Set(since.keys())))
    return { searched, sought: { words: all, erasedIds, now } }
  }
  return {
    name: 'projects.quotations',
    store: 'postgresql',
    comparesWords: true,
    stage: 'content',
    what: 'words of the erased messages and documents in messages of assistants and tools, which quote them',
    purpose: 'providing conversations in the projects of which the subject is a member',
    kept: untilErased,
    tables: ['messages', 'message_edits', 'provenance'],
    inventory: async () => ({ count: 0, since: null, until: null }),
    async plan(scope, tx, now) {
      const { searched, sought } = await gathered(scope, tx, now)
      const { quotations, pointers } = await found(tx, searched, sought)
      const items = [...quotations.map(({ id }) => id).sort(), ...pointers.map(({ id }) => pointerPrefix + id).sort()]
      return { items, watched: searched.map(itemOf).sort(), held: {} }
    },
    async explain(scope, tx, now) {
      const { searched, sought } = await gathered(scope, tx, now)
      const { quotations } = await found(tx, searched, sought)
      const cut = {
        store: 'postgresql',
        kind: 'message',
        name: null,
        verdict: 'changed',
        reason: 'cut',
        found: 'text',
      } as const
      const verdicts = quotations
        .map(({ id }): PlannedRecord => ({ ...cut, id, evidence: [] }))
        .sort((one, other) => (one.id < other.id ? -1 : 1))
      return { verdicts, isPartial: false }
    },
    async erase(scope, items, tx, options): Promise<Erased> {
      const now = options?.now ?? new Date()
      const records = recordsAmong(items)
      if (records.size > 0) {
        const { changed, messages } = await cutRecords(tx, records, options?.words ?? noWords, now, stores)
        await withdrawNaming(tx, messages)
        return { count: changed.length, results: {}, tallies: { derivedCut: tallyOf(changed) }, mentions: [] }
      }
      const scoped = await gathered(scope, tx, now)
      const words = options?.words && !options.words.isEmpty ? options.words : scoped.sought.words
      const recorded = searchedAmong(items)
      const { quotations, pointers } = await found(tx, recorded.length > 0 ? recorded : scoped.searched, {
        ...scoped.sought,
        words,
      })
      const changed: string[] = []
      for (const { id, before, content, edits, files } of quotations) {
        if (content !== undefined) {
          const { count } = await tx.message.updateMany({ where: { id, content: before }, data: { content } })
          if (count === 0) throw new Problem('unavailable', 'A message was changed meanwhile. The erasure is repeated.')
        }
        for (const edit of edits)
          await tx.messageEdit.update({ where: { id: edit.id }, data: { content: edit.content } })
        for (const file of files) await tx.attachment.update({ where: { id: file.id }, data: { name: file.name } })
        changed.push(id)
      }
      const left = await kept(pointers.filter((one) => one.change === undefined))
      for (const { id, change } of pointers)
        if (change) await tx.provenance.update({ where: { id }, data: change })
        else if (!left.has(id)) await tx.provenance.delete({ where: { id } })
      await withdrawNaming(tx, changed)
      const asked = items.filter(
        (item) => !(item.startsWith(pointerPrefix) && left.has(item.slice(pointerPrefix.length))),
      ).length
      return {
        count: Math.max(changed.length + pointers.length - left.size, asked - recorded.length),
        results: {},
        tallies: { derivedCut: tallyOf(changed) },
        mentions: [...left].map((id) => ({
          store: 'postgresql',
          kind: 'reference',
          id,
          field: 'ref',
          isRedacted: false,
        })),
      }
    },
    async residue(_scope, items, now, words) {
      if (!words || words.isEmpty) return 0
      const { messages, references } = await db.transaction(
        (tx) => stillQuoting(tx, searchedAmong(items), words, now),
        {
          longest: longestSearch,
        },
      )
      const pointers = await db.prisma.provenance.findMany({ where: { id: { in: references } } })
      const keys = pointers.flatMap(({ id, store, ref }) => (isKeyStore(store) ? [{ id, store, ref }] : []))
      return messages.length + references.length - (await kept(keys)).size
    },
    read: quotationReader(db),
  }
}
const noWords: ErasedWords = { isEmpty: true, runsIn: () => [], namesIn: () => [] }
