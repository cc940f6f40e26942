import type { Source, Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope, ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, FoundInThread } from '#lib/stores/checkpoints/checkpoints.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { conversationsOf, erasedSources } from './erased-sources.ts'
import { anyMessage, memoriesItem, messageItem, wholeThread } from './items.ts'
import { erasersOf, memoriesWithWords } from './memories-by-words.ts'
import { threadsOfOthers } from './shared-threads.ts'
import {
  idsOf,
  isSure,
  projectsOf,
  remembered,
  reportedOf,
  soughtTextsOf,
  type ThreadSearch,
  threadsOf,
  together,
} from './thread-search.ts'
import { firstSearched, threadsWithWords } from './threads-by-words.ts'
import { fingerprintsOf, wordSearch } from './word-search.ts'

/** The plan for one thread, and how its contents were found. */
export interface ThreadPlan {
  /** Null: the long-term store. */
  thread: string | null
  items: string[]
  /** Items to search for later: they do not exist yet. */
  watched: string[]
  isWhole: boolean
  /** The scope covers the whole thread, but remaining records share it. */
  isShared: boolean
  isUnreadable: boolean
  messages: number
  /** How messages were found: pointer, thread, text, tools. */
  found: string[]
}
const partOf = (scope: ErasureScope): ProjectPart | undefined => ('part' in scope ? scope.part : undefined)

/** Converts the messages found in a thread to items with their sources. */
function itemsFound(
  thread: string,
  found: FoundInThread,
  sources: readonly ThreadSearch[],
): { items: Set<string>; ways: Set<string> } {
  const items = new Set<string>()
  const ways = new Set<string>()
  const covered = new Set<ThreadSearch>()
  for (const { id, found: how, text } of found.messages) {
    const source = sources.find((one) =>
      how === 'id' ? id !== null && idsOf(one).includes(id) : text !== null && soughtTextsOf(one).has(text),
    )
    if (source) covered.add(source)
    if (id !== null || source)
      items.add(messageItem(thread, id ?? (source ? shownId(source.id) : ''), source?.id ?? null))
    ways.add(how !== 'id' ? how : source && id === shownId(source.id) ? 'thread' : 'pointer')
  }
  for (const source of sources) {
    if (covered.has(source)) continue
    const stands = [...idsOf(source), ...soughtTextsOf(source)].some((what) => found.standing.has(what))
    if (stands) ways.add('text')
    // An unreadable thread may contain the source. The step tries to rewrite it and reports the failure.
    if (stands || found.isUnreadable) items.add(messageItem(thread, shownId(source.id), source.id))
  }
  const [first] = sources
  if (found.hasWords && items.size === 0 && first) {
    ways.add('text')
    items.add(messageItem(thread, shownId(first.id), first.id))
  }
  return { items, ways }
}

export interface ThreadPlanningDeps {
  store: CheckpointStore
  sources: Sources
}

type Within<T> = (tx: Transaction) => Promise<T>
const nothing = { items: [], watched: [], isWhole: false, isShared: false, isUnreadable: false, messages: 0, found: [] }

/** The threads that contain generated ids. Searches for all ids at once, because each search reads all checkpoints. */
async function threadsById(
  store: CheckpointStore,
  ids: readonly string[],
  tx: Transaction,
): Promise<Map<string, string[]>> {
  const threads = new Map<string, string[]>()
  const sure = ids.filter(isSure)
  if (sure.length === 0) return threads
  for (const { thread, id } of await store.naming(sure, tx)) threads.set(id, [...(threads.get(id) ?? []), thread])
  return threads
}

/** The threads to search for each source. Threads of other projects are never searched, even if pointers name them. */
async function threadsToSearch(
  batch: readonly ThreadSearch[],
  byId: ReadonlyMap<string, readonly string[]>,
  tx: Transaction,
): Promise<Map<string, Set<ThreadSearch>>> {
  const named = batch.map((source) => ({
    source,
    threads: new Set([...threadsOf(source), ...(byId.get(source.id) ?? [])]),
  }))
  const projects = await projectsOf(tx, [...new Set(named.flatMap(({ threads }) => [...threads]))])
  const searched = new Map<string, Set<ThreadSearch>>()
  for (const { source, threads } of named)
    for (const thread of threads) {
      const theirs = projects.get(thread)
      if (theirs && !theirs.has(source.project)) continue
      searched.set(thread, (searched.get(thread) ?? new Set()).add(source))
    }
  return searched
}

/** Plans for the threads in which sources may occur. */
async function* threadsOfBatch(
  store: CheckpointStore,
  batch: readonly ThreadSearch[],
  wholes: ReadonlySet<string>,
  byId: ReadonlyMap<string, readonly string[]>,
  { tx, goes, now }: { tx: Transaction; goes: ReadonlySet<string>; now: Date },
): AsyncGenerator<ThreadPlan> {
  const searched = await threadsToSearch(batch, byId, tx)
  const threads = [...searched.keys()].filter((thread) => !wholes.has(thread)).sort()
  const present = new Set(threads.length === 0 ? [] : await store.present(threads, tx))
  for (const thread of threads) {
    const own = [...(searched.get(thread) ?? [])]
    const watched = own.flatMap((source) => idsOf(source).map((id) => messageItem(thread, id, source.id)))
    if (!present.has(thread)) {
      yield { ...nothing, thread, watched }
      continue
    }
    const texts = own.flatMap((source) => source.texts)
    const projects = [...new Set(own.map(({ project }) => project))]
    const words = wordSearch({ words: [fingerprintsOf(texts)], projects, going: goes, now, within: (run) => run(tx) })
    const found = await store.find(
      thread,
      { ids: own.flatMap(idsOf), texts, reported: reportedOf(own), ...(words && { words }) },
      tx,
    )
    const { items, ways } = itemsFound(thread, found, own)
    const { messages, isUnreadable } = found
    yield {
      ...nothing,
      thread,
      items: [...items],
      watched,
      isUnreadable,
      messages: messages.length,
      found: [...ways].sort(),
    }
  }
}

/** Plans for the items of the long-term store that name the sources. */
async function* memoriesOfBatch(
  store: CheckpointStore,
  batch: readonly ThreadSearch[],
  tx: Transaction,
): AsyncGenerator<ThreadPlan> {
  const memories = batch.map(remembered)
  const ties = [...new Set(memories.flatMap((one) => one.ties))]
  // One search for the whole batch, because each search reads the whole store and most find nothing.
  const [all] = together(memories.map((one) => ({ ...one, ties })))
  const isAny = all !== undefined && (await store.memories(all, tx)) > 0
  for (const source of batch) {
    const held = isAny ? await store.memories(remembered(source), tx) : 0
    const item = messageItem(null, source.id, null)
    if (held > 0) yield { ...nothing, thread: null, items: [item], messages: held, found: ['text'] }
    else yield { ...nothing, thread: null, watched: [item] }
  }
}

/** Plans from pointers and conversations when the store does not answer. Assumes that everything they name exists. */
async function* unasked(
  batch: readonly ThreadSearch[],
  wholes: ReadonlySet<string>,
  tx: Transaction,
): AsyncGenerator<ThreadPlan> {
  for (const [thread, own] of await threadsToSearch(batch, new Map(), tx))
    if (!wholes.has(thread))
      for (const source of own)
        for (const id of idsOf(source))
          yield {
            ...nothing,
            thread,
            items: [messageItem(thread, id, source.id)],
            messages: 1,
            found: ['pointer'],
          }
  for (const { id } of batch) yield { ...nothing, thread: null, watched: [messageItem(null, id, null)] }
}

/** The words and ids of a scope, added while its sources are read. */
function scopeTerms(goes: ReadonlySet<string>) {
  const words = new Fingerprints()
  const ids = new Set(goes)
  const projects = new Set<string>()
  let first: Date | undefined
  const add = (batch: readonly Source[]) => {
    for (const { project, conversation, threads, texts, createdAt } of batch) {
      if (!first || createdAt < first) first = createdAt
      projects.add(project)
      for (const id of [...(conversation === null ? [] : [conversation]), ...threads]) ids.add(id)
      for (const text of texts) words.add(text)
    }
  }
  return { words, ids, projects, add, since: () => first && firstSearched(first) }
}

/** Items of the long-term store that name no id of the scope but contain its words. One search for the whole scope. */
async function* memoriesByWords(
  store: CheckpointStore,
  terms: ReturnType<typeof scopeTerms>,
  tx: Transaction,
  now: Date,
  { goes, isAway }: { goes: ReadonlySet<string>; isAway: boolean },
): AsyncGenerator<ThreadPlan> {
  const { words, ids, projects } = terms
  if (words.isEmpty && projects.size === 0) return
  const item = memoriesItem([...projects], terms.since())
  let count = 0
  if (!isAway) {
    const erasers = await erasersOf(tx, [...projects], ids)
    const within = <T>(run: Within<T>) => run(tx)
    const sought = { words: [words], erasers, going: goes, now, within }
    for await (const { changes } of memoriesWithWords(store, sought, tx)) count += changes.length
  }
  if (count > 0) yield { ...nothing, thread: null, items: [item], messages: count, found: ['text'] }
  else yield { ...nothing, thread: null, watched: [item] }
}

/**
 * Plans the erasure of a scope in the checkpoints, by thread. A thread may occur several times. `isAway`: the store does not answer.
 */
export async function* plannedThreads(
  { store, sources }: ThreadPlanningDeps,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  isAway: boolean,
): AsyncGenerator<ThreadPlan> {
  const part = partOf(scope)
  const goes = await sources.ids(scope, tx, now)
  const whole = await sources.whole(scope, tx, now)
  const named = [...new Set(whole.flatMap(({ threads }) => threads))]
  const shared = await threadsOfOthers(
    tx,
    named,
    { conversations: conversationsOf(whole), sources: async () => goes },
    now,
  )
  const wholes = new Set(named.filter((thread) => !shared.has(thread)))
  const there = new Set(isAway || wholes.size === 0 ? wholes : await store.present([...wholes], tx))
  for (const thread of [...wholes].sort()) {
    const item = wholeThread(thread)
    if (there.has(thread)) yield { ...nothing, thread, items: [item], isWhole: true, found: ['thread'] }
    else yield { ...nothing, thread, watched: [item], isWhole: true }
  }
  for (const thread of [...shared].sort()) yield { ...nothing, thread, isShared: true, found: ['thread'] }
  const terms = scopeTerms(goes)
  if (isAway) {
    for await (const batch of erasedSources(sources, scope, tx, now, goes)) {
      terms.add(batch)
      yield* unasked(batch, wholes, tx)
    }
    yield* memoriesByWords(store, terms, tx, now, { goes, isAway })
    return
  }
  const planned = new Set([...wholes, ...shared])
  const byId = await threadsById(store, [...goes], tx)
  for await (const batch of erasedSources(sources, scope, tx, now, goes)) {
    terms.add(batch)
    for await (const plan of threadsOfBatch(store, batch, wholes, byId, { tx, goes, now })) {
      if (plan.thread !== null && plan.items.length > 0) planned.add(plan.thread)
      yield plan
    }
    yield* memoriesOfBatch(store, batch, tx)
  }
  yield* memoriesByWords(store, terms, tx, now, { goes, isAway })
  const since = terms.since()
  if (since) {
    const projects = [...terms.projects]
    const within = <T>(run: Within<T>) => run(tx)
    const sought = { words: terms.words, projects, since, going: goes, now, within, without: planned }
    for (const thread of await threadsWithWords(store, sought, tx))
      yield { ...nothing, thread, items: [messageItem(thread, anyMessage, null)], messages: 1, found: ['text'] }
  }
  if (goes.size > 0 || part?.kind !== 'message') return
  // The message's row no longer exists. Find late writes by its id and in its conversation's thread.
  const gone: ThreadSearch = {
    ...part,
    kind: 'message',
    threads: part.conversation === null ? [] : [shownId(part.conversation)],
    texts: [],
    pointers: [],
  }
  yield* threadsOfBatch(store, [gone], wholes, await threadsById(store, [part.id], tx), { tx, goes, now })
  yield* memoriesOfBatch(store, [gone], tx)
}
