import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type ErasedWords,
  type ItemId,
  longestSearch,
  type PlannedRecord,
  type ReadPage,
  type ReadPlace,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope, ProjectPart } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, FoundInThread, Remembered } from '#lib/stores/checkpoints/checkpoints.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { writersOf } from '../legal-holds.ts'
import type { Source, Sources } from '../provenance/sources.ts'
import { hiddenRecords } from '../values/hidden-records.ts'
import { erasersOf, placeRule } from '../values/place-owners.ts'
import { generatedIn, namesIn } from '../values/readable.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { addNames, SourceSpan, SourceWords } from '../words/run-words.ts'
import {
  type CheckpointsSourceDeps,
  checkpointsDataSourceName,
  conversationsOf,
  eraseCheckpoints,
  erasedInSharedThreads,
  erasedSources,
  isAbout,
  isNobody,
  threadsOfOthers,
} from './erasing.ts'
import {
  anyMessage,
  byThread,
  mayBeShared,
  memoriesItem,
  memoriesSought,
  memoryItem,
  messageItem,
  movedOf,
  parseItem,
  wholeThread,
} from './items.ts'
import { isMemoryOfOthers, memoriesWithWords, memoryLabel, memoryText, residueOfMemories } from './memories-by-words.ts'
import { claimsTo, organisationsOfProjects, threadsOfSubject } from './repository.ts'
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
import {
  fingerprintsOf,
  rememberedOf,
  storedSources,
  threadsElsewhere,
  threadsWithWords,
  threadWordSearches,
  wordSearch,
} from './word-search.ts'

/** The plan for one thread, and how its contents were found. */
interface ThreadPlan {
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
  /** Only words, or an id in a text, lead to the thread. Nothing of the project names it, so it may be of others. */
  isUnnamed?: true
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
    const isFound = [...idsOf(source), ...soughtTextsOf(source)].some((what) => found.standing.has(what))
    if (isFound) ways.add('text')
    // An unreadable thread may contain the source. The step tries to rewrite it and reports the failure.
    if (isFound || found.isUnreadable) items.add(messageItem(thread, shownId(source.id), source.id))
  }
  const [first] = sources
  if (found.hasWords && items.size === 0 && first) {
    ways.add('text')
    items.add(messageItem(thread, shownId(first.id), first.id))
  }
  return { items, ways }
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

/** Ids in the name of an item that make it an item of the source. */
const idsTiedTo = ({ id, conversation, threads }: ThreadSearch): string[] => [
  id,
  ...(conversation === null ? [] : [conversation, shownId(conversation)]),
  ...threads,
]

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
  const own = await erasersOf(tx, [...new Set(batch.map(({ project }) => project))], batch.flatMap(idsTiedTo))
  const { mayErase } = placeRule((run) => run(tx), own)
  const searched = new Map<string, Set<ThreadSearch>>()
  for (const { source, threads } of named)
    for (const thread of threads) {
      const theirs = projects.get(thread)
      if (theirs && !theirs.has(source.project)) continue
      // Only an id in the thread leads to it.
      if (!theirs && !threadsOf(source).includes(thread) && !(await mayErase(thread))) continue
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
  { tx, erasedSourceIds, now }: { tx: Transaction; erasedSourceIds: ReadonlySet<string>; now: Date },
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
    const words = wordSearch({
      words: [fingerprintsOf(texts)],
      projects,
      erasedIds: erasedSourceIds,
      now,
      within: (run) => run(tx),
    })
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
      // A message with an id of ours was written by an application that knows the project. Anybody can put the id into a text.
      ...(![...ways].some((way) => way === 'thread' || way === 'pointer') &&
        !own.some((source) => isNamedBy(source, thread)) && { isUnnamed: true as const }),
    }
  }
}
const generated = /^(?:prj|conv|msg|doc)_[0-9A-Za-z]{22}$/
const isGeneratedIn = (thread: string, id: string): boolean => generated.test(id) && thread.includes(id)
/** Whether the project lists the thread, or the name of the thread contains one of its ids. */
const isNamedBy = (source: ThreadSearch, thread: string): boolean =>
  threadsOf(source).includes(thread) ||
  [source.project, source.conversation ?? '', source.id].some((id) => isGeneratedIn(thread, id))

/** Plans for the items of the long-term store that name the sources. */
async function* memoriesOfBatch(
  store: CheckpointStore,
  batch: readonly ThreadSearch[],
  tx: Transaction,
): AsyncGenerator<ThreadPlan> {
  const projects = [...new Set(batch.map(({ project }) => project))]
  const erasers = await erasersOf(tx, projects, batch.flatMap(idsTiedTo))
  const rule = placeRule((run) => run(tx), erasers)
  const mayErase: Remembered['mayErase'] = ({ namespace, key }) => rule.mayErase(namespace, key)
  const memories = batch.map(remembered)
  const ties = [...new Set(memories.flatMap((one) => one.ties))]
  // One search for the whole batch, because each search reads the whole store and most find nothing.
  const [all] = together(memories.map((one) => ({ ...one, ties })))
  const isAny = all !== undefined && (await store.memories({ ...all, mayErase }, tx)) > 0
  for (const source of batch) {
    const held = isAny ? await store.memories({ ...remembered(source), mayErase }, tx) : 0
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
function scopeTerms(erasedSourceIds: ReadonlySet<string>) {
  const found = new Fingerprints()
  const words = new SourceWords(found)
  const ids = new Set(erasedSourceIds)
  const projects = new Set<string>()
  const span = new SourceSpan()
  const add = (batch: readonly Source[]) => {
    for (const source of batch) {
      const { project, conversation, threads } = source
      words.add(source)
      span.add(source)
      projects.add(project)
      for (const id of [...(conversation === null ? [] : [conversation]), ...threads]) ids.add(id)
    }
  }
  /** Call it after the last source. */
  const addNamesOf = async (sources: Sources, scope: ErasureScope, tx: Transaction) =>
    addNames(found, await sources.names(scope, tx, projects))
  return { words: () => words.all(), ids, projects, add, addNamesOf, since: () => span.since }
}

/** Items of the long-term store that name no id of the scope but contain its words. One search for the whole scope. */
async function* memoriesByWords(
  store: CheckpointStore,
  terms: ReturnType<typeof scopeTerms>,
  tx: Transaction,
  now: Date,
  { erasedSourceIds, isAway }: { erasedSourceIds: ReadonlySet<string>; isAway: boolean },
): AsyncGenerator<ThreadPlan> {
  const { ids, projects } = terms
  const words = terms.words()
  if (words.isEmpty && projects.size === 0) return
  const erasers = await erasersOf(tx, [...projects], ids)
  const item = memoriesItem([...projects, ...erasers.organisations], terms.since())
  let count = 0
  if (!isAway) {
    const within = <T>(run: Within<T>) => run(tx)
    const sought = { words: [words], erasers, erasedIds: erasedSourceIds, now, within }
    for await (const { changes } of memoriesWithWords(store, sought, tx)) count += changes.length
  }
  if (count > 0) yield { ...nothing, thread: null, items: [item], messages: count, found: ['text'] }
  else yield { ...nothing, thread: null, watched: [item] }
}

/**
 * Plans the erasure of a scope in the checkpoints, by thread. A thread may occur several times. `isAway`: the store does not answer.
 */
async function* plannedThreads(
  {
    store,
    sources,
  }: {
    store: CheckpointStore
    sources: Sources
  },
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  isAway: boolean,
): AsyncGenerator<ThreadPlan> {
  const part = partOf(scope)
  const erasedSourceIds = await sources.ids(scope, tx, now)
  const whole = await sources.whole(scope, tx, now)
  const named = [...new Set(whole.flatMap(({ threads }) => threads))]
  const shared = await threadsOfOthers(
    tx,
    named,
    { conversations: conversationsOf(whole), sources: async () => erasedSourceIds },
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
  const terms = scopeTerms(erasedSourceIds)
  if (isAway) {
    for await (const batch of erasedSources(sources, scope, tx, now, erasedSourceIds)) {
      terms.add(batch)
      yield* unasked(batch, wholes, tx)
    }
    await terms.addNamesOf(sources, scope, tx)
    yield* memoriesByWords(store, terms, tx, now, { erasedSourceIds, isAway })
    return
  }
  const planned = new Set([...wholes, ...shared])
  const byId = await threadsById(store, [...erasedSourceIds], tx)
  for await (const batch of erasedSources(sources, scope, tx, now, erasedSourceIds)) {
    terms.add(batch)
    for await (const plan of threadsOfBatch(store, batch, wholes, byId, { tx, erasedSourceIds, now })) {
      if (plan.thread !== null && plan.items.length > 0) planned.add(plan.thread)
      yield plan
    }
    yield* memoriesOfBatch(store, batch, tx)
  }
  await terms.addNamesOf(sources, scope, tx)
  yield* memoriesByWords(store, terms, tx, now, { erasedSourceIds, isAway })
  const since = terms.since()
  if (since) {
    const projects = [...terms.projects]
    const within = <T>(run: Within<T>) => run(tx)
    const sought = { words: terms.words(), projects, since, erasedIds: erasedSourceIds, now, within, without: planned }
    for (const thread of await threadsWithWords(store, sought, tx))
      yield {
        ...nothing,
        thread,
        items: [messageItem(thread, anyMessage, null)],
        messages: 1,
        found: ['text'],
        ...(![...projects, ...terms.ids].some((id) => isGeneratedIn(thread, id)) && { isUnnamed: true as const }),
      }
  }
  if (erasedSourceIds.size > 0 || part?.kind !== 'message') return
  // The message's row no longer exists. Find late writes by its id and in its conversation's thread.
  const deleted: ThreadSearch = {
    ...part,
    kind: 'message',
    threads: part.conversation === null ? [] : [shownId(part.conversation)],
    texts: [],
    pointers: [],
  }
  yield* threadsOfBatch(store, [deleted], wholes, await threadsById(store, [part.id], tx), { tx, erasedSourceIds, now })
  yield* memoriesOfBatch(store, [deleted], tx)
}

const decisionOf = ({ thread, isWhole, isShared, isUnreadable, messages, found }: ThreadPlan): PlannedRecord => ({
  store: 'checkpoints',
  kind: thread === null ? 'memory' : 'thread',
  id: thread ?? 'store',
  name: null,
  verdict: isWhole || thread === null ? 'deleted' : isShared || isUnreadable ? 'kept' : 'changed',
  reason: isUnreadable ? 'unreadable' : isShared ? 'shared' : isWhole ? 'whole' : 'source',
  evidence: messages > 0 ? [`${thread === null ? 'items' : 'messages'}:${messages}`] : [],
  found: found.join(', ') || 'thread',
})

/** Plans as {@link plannedThreads} does. If the store does not answer, plans from pointers and conversations. */
async function planOf(
  deps: CheckpointsSourceDeps,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ threads: ThreadPlan[]; isAway: boolean }> {
  try {
    return { threads: await Array.fromAsync(plannedThreads(deps, scope, tx, now, false)), isAway: false }
  } catch (error) {
    if (!Problem.is(error, 'unavailable')) throw error
    return { threads: await Array.fromAsync(plannedThreads(deps, scope, tx, now, true)), isAway: true }
  }
}

/** `erased`: ids in the name that the erasure deleted. An organization that is no longer known claims nothing of another one. */
async function mayClaimThread(
  thread: string,
  projects: readonly string[],
  tx: Transaction,
  erased: readonly string[] = [],
): Promise<boolean> {
  const own = await erasersOf(tx, projects, erased)
  if (own.organisations.length === 0 && erased.length > 0) {
    const claimed = await claimsTo(tx, { organisations: [], names: namesIn(thread) })
    if (claimed.some(({ is_inside }) => is_inside)) return false
  }
  return placeRule((run) => run(tx), own).mayErase(thread)
}

/**
 * The item of a thread, unless another organization owns the thread. The application may have named it itself: then nobody owns it, and the
 * organization must be able to claim it.
 */
async function itemsOfThread(
  thread: string,
  projects: readonly string[],
  tx: Transaction,
  erasedAmong: Parameters<ReadPlace['itemsOf']>[2],
): Promise<ItemId[]> {
  const owners = [...((await projectsOf(tx, [thread])).get(thread) ?? [])]
  if (owners.length === 0) {
    const erased = (await erasedAmong?.(generatedIn(thread))) ?? []
    if (!(await mayClaimThread(thread, projects, tx, erased))) return []
  }
  if (owners.length > 0 && !owners.some((one) => projects.includes(one))) {
    const own = (await organisationsOfProjects(tx, { projects })).map(({ organisation }) => organisation)
    const theirs = await organisationsOfProjects(tx, { projects: owners })
    if (!theirs.some(({ organisation }) => own.includes(organisation))) return []
  }
  return [messageItem(thread, anyMessage, null)]
}

/** Reads all rows of LangGraph's tables, of any owner. */
const checkpointReader =
  ({ store, whatIsMissing }: { store: CheckpointStore; whatIsMissing: MissingStoreData }) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>, until?: string): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const { rows, memories, unread, next } = await store.readPage(after, until)
    for (const { thread, texts, isUnread, writtenAt, lastWrittenAt } of rows)
      await visit({
        id: `thread:${thread}`,
        texts,
        isUnread,
        writtenAt,
        lastWrittenAt,
        itemsOf: (projects, tx, erasedAmong) => itemsOfThread(thread, projects, tx, erasedAmong),
        async isOfOthers(projects, tx) {
          const owners = (await projectsOf(tx, [thread])).get(thread)
          return owners ? owners.isDisjointFrom(new Set(projects)) : !(await mayClaimThread(thread, projects, tx))
        },
      })
    for (const memory of memories)
      await visit({
        id: `memory:${memoryLabel(memory)}`,
        texts: [memoryText(memory)],
        writtenAt: async () => memory.writtenAt,
        itemsOf: async (projects) => [memoriesItem(projects)],
        itemsOfNames: async (projects) => [memoryItem(projects, memoryLabel(memory))],
        isOfOthers: (projects, tx) => isMemoryOfOthers(memory, projects, tx),
      })
    return { next, unread }
  }

/** Counts the residue of a plan: ids and words in threads, whole threads, and items of the long-term store. */
async function residueOfCheckpoints(
  { db, store, sources, whatIsMissing }: CheckpointsSourceDeps,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords | undefined,
  further: readonly string[] = [],
): Promise<number> {
  const part = 'part' in scope ? scope.part : undefined
  const message = part?.kind === 'message' ? part : undefined
  if (items.length === 0 && !message) return 0
  if (items.length > 0) await requireConnectedStores(whatIsMissing)
  const rest = new Map<string, Set<string>>()
  const threads = byThread(items)
  const ids = new Set([...(message ? [message.id] : []), ...threads.flatMap(([, { sources: of }]) => [...of])])
  const moved = movedOf(items)
  const ownThread = shownId(message?.conversation ?? '')
  if (message && !moved.has(ownThread)) rest.set(ownThread, new Set([message.id, shownId(message.id)]))
  const theirs = await db.transaction((tx) => erasedInSharedThreads(sources, scope, mayBeShared(threads), tx, now))
  const wholes: string[] = []
  for (const [thread, { isWhole, ids: wanted }] of threads) {
    if (thread === null) continue
    if (isWhole && !theirs.has(thread)) wholes.push(thread)
    // A thread that is now shared: search it for every erased id.
    else rest.set(thread, (isWhole ? ids : wanted).union(rest.get(thread) ?? new Set()))
  }
  const sought = memoriesSought(items, part)
  // Without its project, the erased person's own name would count as the name of a person in another project.
  const projects = [...new Set([...sought.projects, ...further])]
  const ofPart = part ? [part.project, ...projects] : projects
  const erasers = await db.transaction((tx) => erasersOf(tx, ofPart, sought.ids, sought.organisations))
  const { mayErase } = placeRule((run) => db.transaction(run), erasers)
  const found = await db.transaction(
    async (tx) => ({
      rows: await storedSources(tx, [...ids]),
      present: wholes.length === 0 ? 0 : (await store.present(wholes, tx)).length,
      late: await threadsElsewhere(
        store,
        [...ids],
        { project: part?.project ?? null, mayErase: placeRule((run) => run(tx), erasers).mayErase },
        tx,
      ),
    }),
    { longest: longestSearch },
  )
  const wordsIn = await threadWordSearches(
    { words, rows: found.rows, threads: [...rest.keys()], scope, projects, now },
    (run) => db.transaction(run),
  )
  const left = await store.residue(
    [...rest].map(([thread, wanted]) => ({
      thread,
      ids: [...wanted],
      texts: [...wanted].flatMap((id) => found.rows.get(id)?.texts ?? []),
      ...wordsIn(thread),
    })),
    together([...ids].map((id) => rememberedOf(id, found.rows.get(id)))).map((one) => ({
      ...one,
      ...wordsIn(null),
      mayErase: ({ namespace, key }) => mayErase(namespace, key),
    })),
  )
  const memoriesLeft = await residueOfMemories(
    { db, store },
    sought,
    words ?? fingerprintsOf([...found.rows.values()].flatMap(({ texts }) => texts)),
    now,
  )
  const lateThreads = isNobody(scope)
    ? await lateByWords({ db, store }, items, words, { without: new Set([...rest.keys(), ...wholes, ...moved]), now })
    : 0
  const elsewhereAlone = found.late.filter(
    ({ thread }) => !rest.has(thread) && !wholes.includes(thread) && !moved.has(thread),
  )
  return left + found.present + elsewhereAlone.length + memoriesLeft + lateThreads
}

/** Counts threads that nobody reported and that were written with erased words after the run. */
async function lateByWords(
  { db, store }: Pick<CheckpointsSourceDeps, 'db' | 'store'>,
  items: readonly string[],
  words: ErasedWords | undefined,
  { without, now }: { without: ReadonlySet<string>; now: Date },
): Promise<number> {
  if (!words) return 0
  const found = new Set<string>()
  for (const { projects = [], organisations = [], since } of items.map(parseItem))
    if (since)
      await db.transaction(
        async (tx) => {
          const sought = {
            words,
            projects,
            organisations,
            since,
            now,
            within: <T>(run: (tx: Transaction) => Promise<T>) => run(tx),
            without,
          }
          for (const thread of await threadsWithWords(store, sought, tx)) found.add(thread)
        },
        { longest: longestSearch },
      )
  return found.size
}

/**
 * Personal data source for messages in LangGraph: in every checkpoint of their threads and in the long-term store. Counts messages and
 * whole threads. Tool calls and their results are erased with the messages.
 */
export function checkpointsDataSource(deps: CheckpointsSourceDeps): DataSource {
  const { db, store, sources, whatIsMissing } = deps
  return {
    name: checkpointsDataSourceName,
    store: 'checkpoints',
    isShared: true,
    pageSize: 100,
    stage: 'derived',
    what: 'messages in LangGraph checkpoints and in its long-term store, with their tool calls',
    held: 'LangGraph threads of the conversations that you wrote in',
    purpose: 'letting an application resume a conversation',
    kept: 'as long as the messages of the thread',
    tables: ['langgraph.checkpoints', 'langgraph.checkpoint_blobs', 'langgraph.checkpoint_writes', 'langgraph.store'],
    async inventory(subject) {
      const named = await threadsOfSubject(db, writersOf(subject))
      if (named.length === 0) return { count: 0, since: null, until: null }
      const threads = named.map(({ thread }) => thread)
      // If the store does not answer, assume that all named threads exist.
      const there = await db
        .transaction((tx) => store.present(threads, tx))
        .catch((error: unknown) => {
          if (Problem.is(error, 'unavailable')) return threads
          throw error
        })
      const dates = named.filter(({ thread }) => there.includes(thread)).map(({ since }) => since.getTime())
      return {
        count: dates.length,
        since: dates.length > 0 ? new Date(dates.reduce((one, other) => Math.min(one, other))) : null,
        until: null,
      }
    },
    async plan(scope, tx, now) {
      if (!isAbout(scope) || isNobody(scope)) return { items: [], held: {} }
      const { threads: plans } = await planOf(deps, scope, tx, now)
      if ((await whatIsMissing(tx)).length > 0)
        for await (const one of plannedThreads(deps, scope, tx, now, true)) plans.push(one)
      const items = new Set(plans.flatMap((one) => one.items))
      const watched = new Set(plans.flatMap((one) => one.watched)).difference(items)
      return { items: [...items].sort(), watched: [...watched].sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      if (!isAbout(scope)) return { verdicts: [], isPartial: false }
      const decisions = new Map<string, PlannedRecord>()
      const { threads, isAway } = await planOf(deps, scope, tx, now)
      const named = new Set(threads.flatMap(({ thread, isUnnamed }) => (isUnnamed ? [] : [thread])))
      const hidden = new Map<string, PlannedRecord>()
      for (const thread of threads) {
        if (thread.items.length === 0 && !thread.isShared) continue
        const decision = decisionOf(thread)
        if (!named.has(thread.thread)) {
          hidden.set(decision.id, decision)
          continue
        }
        const known = decisions.get(decision.id)
        // A shared thread is kept. A decision about its erased messages takes precedence.
        if (!known || known.verdict === 'kept') decisions.set(decision.id, decision)
      }
      const unnamed = hiddenRecords('checkpoints', 'thread')
      for (const one of hidden.values()) unnamed.add(one)
      return {
        verdicts: [...decisions.values(), ...unnamed.records()],
        isPartial: isAway || (await whatIsMissing(tx)).length > 0,
      }
    },
    erase: (scope, items, tx, options) => eraseCheckpoints(deps, scope, items, tx, options),
    countsAs: (item) => (parseItem(item).mark === 'moved' ? 'nothing' : 'erased'),
    notSearched: ({
      threadsNotSearched = 0,
      memoriesLeft = 0,
      memoriesReadOnly = 0,
      memoriesOutside = 0,
      placesOwned = 0,
      wordsUncompared = 0,
    }) => [
      ...(wordsUncompared > 0 ? [{ what: receiptText('notSearched', 'wordsUncompared'), count: null }] : []),
      ...(placesOwned > 0 ? [{ what: receiptText('notSearched', 'idsOfOthers'), count: placesOwned }] : []),
      ...(threadsNotSearched > 0
        ? [
            {
              what: receiptText('notSearched', 'threads'),
              count: threadsNotSearched,
            },
          ]
        : []),
      ...(memoriesLeft > 0
        ? [
            {
              what: receiptText('notSearched', 'otherProjects'),
              count: memoriesLeft,
            },
          ]
        : []),
      ...(memoriesReadOnly > 0 ? [{ what: receiptText('notSearched', 'readOnlyItems'), count: memoriesReadOnly }] : []),
      // Other organizations own these items, so nobody reads whether they contain the words.
      ...(memoriesOutside > 0
        ? [
            {
              what: receiptText('notSearched', 'outsideItems'),
              count: null,
            },
          ]
        : []),
    ],
    async late(scope, tx, now) {
      const plans = await Array.fromAsync(plannedThreads(deps, scope, tx, now, false))
      return [...new Set(plans.flatMap((one) => one.items))].sort()
    },
    async reused(items, tx) {
      const wholes = items.filter((item) => parseItem(item).thread !== null && parseItem(item).message === null)
      const threads = wholes.map((item) => parseItem(item).thread ?? '')
      const theirs = await projectsOf(tx, threads)
      return wholes.filter((item) => theirs.has(parseItem(item).thread ?? ''))
    },
    residue: (scope, items, now, words, projects) => residueOfCheckpoints(deps, scope, items, now, words, projects),
    read: checkpointReader(deps),
  }
}
