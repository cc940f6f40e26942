import { moveItems } from '#lib/domains/erasure/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { type Erased, type ErasureOptions, type Mention, tallyOf } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, Rewritten } from '#lib/stores/checkpoints/checkpoints.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { writersOf } from '../legal-holds.ts'
import { othersOf } from '../provenance/pointers.ts'
import type { Source, Sources, WholeContainer } from '../provenance/sources.ts'
import { erasersOf, placeRule } from '../values/place-owners.ts'
import {
  byThread,
  type ItemsOfThread,
  itemsOfThread,
  mayBeShared,
  memoriesSought,
  movedOf,
  movedThread,
  parseItem,
  undecidedThread,
} from './items.ts'
import { eraseMemories } from './memories-by-words.ts'
import { lockConversationsOf, sourcesOfThreads, threadsListedElsewhere } from './repository.ts'
import { idsOf, refsOf, threadsOf, together } from './thread-search.ts'
import {
  fingerprintsOf,
  rememberedOf,
  reportedAmong,
  type StoredSource,
  storedSources,
  threadsElsewhere,
  threadsWithWords,
  threadWordSearches,
} from './word-search.ts'

export const checkpointsDataSourceName = 'checkpoints.messages'
/** Its step waits for the decision about threads that cannot be rewritten. All other steps continue. */
export const threadsDataSourceName = 'checkpoints.threads'

export interface CheckpointsSourceDeps {
  db: Database
  store: CheckpointStore
  sources: Sources
  whatIsMissing: MissingStoreData
}
type Rows = ReadonlyMap<string, StoredSource>
interface ThreadTerms {
  ids: readonly string[]
  texts: readonly string[]
}

/** Whether messages can be within the scope. */
export const isAbout = (scope: ErasureScope): boolean => 'part' in scope || 'subject' in scope
/** A repeated search after the run: the subject is no longer stored, so nothing can be planned. */
export const isNobody = (scope: ErasureScope): boolean =>
  'subject' in scope && writersOf(scope.subject).ids.length === 0

/** The sources of a scope, without pointers to messages of remaining sources: a false pointer must not erase messages of others. */
export async function* erasedSources(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  erasedSourceIds: ReadonlySet<string>,
): AsyncGenerator<Source[]> {
  for await (const batch of sources.of(scope, tx, now)) {
    const others = new Map<string, Set<string>>()
    for (const [project, own] of Map.groupBy(batch, (source) => source.project))
      others.set(project, await othersOf(tx, 'checkpoints', own.flatMap(refsOf), erasedSourceIds, now, project))
    yield batch.map((source) => ({
      ...source,
      pointers: source.pointers.filter(
        ({ store: of, ref }) =>
          of !== 'checkpoints' || ref === shownId(source.id) || !others.get(source.project)?.has(ref),
      ),
    }))
  }
}

export const conversationsOf = (wholes: readonly WholeContainer[]) =>
  wholes.flatMap(({ conversations }) => conversations)

/**
 * Of these threads, those shared with remaining records: a conversation that lists the thread, or a message or document with a pointer to
 * it. In a shared thread, only erased messages are removed. `conversations` and `sources` are being erased. Of two concurrent erasures, at
 * least one sees the other's mark or fence, so a thread that both erase does not remain.
 */
export async function threadsOfOthers(
  tx: Transaction,
  threads: readonly string[],
  erasedIds: { conversations: readonly string[]; sources(): Promise<ReadonlySet<string>> },
  now: Date,
): Promise<Set<string>> {
  if (threads.length === 0) return new Set()
  const listed = await threadsListedElsewhere(tx, { threads, conversations: erasedIds.conversations, now })
  const pointed = await sourcesOfThreads(tx, { threads, now })
  const erasedSourceIds = pointed.length === 0 ? new Set() : await erasedIds.sources()
  return new Set([
    ...listed.map(({ thread }) => thread),
    ...pointed.flatMap(({ thread, source }) => (erasedSourceIds.has(source) ? [] : [thread])),
  ])
}

/** Content of the scope in a thread that was planned for complete deletion but is shared with remaining records. */
interface InThread {
  ids: string[]
  texts: string[]
}

/**
 * Of threads planned for complete deletion, those that remaining records now share, with the content of the scope in them. Locks their
 * conversations, so that no message is added until the transaction ends.
 */
export async function erasedInSharedThreads(
  sources: Sources,
  scope: ErasureScope,
  threads: readonly string[],
  tx: Transaction,
  now: Date,
): Promise<Map<string, InThread>> {
  if (threads.length === 0) return new Map()
  await lockConversationsOf(tx, { threads })
  const conversations = conversationsOf(await sources.whole(scope, tx, now))
  const ids = () => sources.ids(scope, tx, now)
  const remaining = await threadsOfOthers(tx, threads, { conversations, sources: ids }, now)
  const found = new Map([...remaining].map((thread): [string, InThread] => [thread, { ids: [], texts: [] }]))
  if (remaining.size === 0) return found
  for await (const batch of erasedSources(sources, scope, tx, now, await ids()))
    for (const source of batch)
      for (const thread of threadsOf(source)) {
        found.get(thread)?.ids.push(...idsOf(source))
        found.get(thread)?.texts.push(...source.texts)
      }
  return found
}

/** Rewrites threads, and moves those that cannot be rewritten to the step that waits for a decision. */
function threadRewriter(
  { store }: CheckpointsSourceDeps,
  scope: ErasureScope,
  { rows, wordsIn }: { rows: Rows; wordsIn: Awaited<ReturnType<typeof threadWordSearches>> },
  tx: Transaction,
  options: ErasureOptions | undefined,
) {
  const rewritten = new Map<string, Rewritten>()
  const moved = new Set<string>()
  const unreadable: string[] = []
  const runId = options?.key.split(':')[0] ?? ''
  async function rewrite(thread: string, wanted: ThreadTerms): Promise<Pick<Rewritten, 'messages' | 'rows'>> {
    const reported = reportedAmong(wanted.ids, rows)
    let made: Rewritten
    try {
      made = await store.rewrite(thread, { ...wanted, reported, ...wordsIn(thread) }, tx)
    } catch (error) {
      if (!Problem.is(error, 'conflict') || runId === '') throw error
      // The receipt is already signed, so no step can wait for a decision. The search reports the thread.
      if (isNobody(scope)) unreadable.push(thread)
      else {
        moved.add(thread)
        await moveItems(tx, {
          runId,
          from: checkpointsDataSourceName,
          to: threadsDataSourceName,
          prefix: itemsOfThread(thread),
          marker: movedThread(thread),
          item: undecidedThread(thread),
        })
      }
      return { messages: 0, rows: 0 }
    }
    if (made.removedTexts.length > 0) await options?.addWords?.(made.removedTexts)
    rewritten.set(thread, made)
    return made
  }
  return { rewrite, rewritten, moved, unreadable }
}

/** Adds threads with late writes. Planning searched all threads while the rows existed, and a repeated erasure searches again. */
async function addLateThreads(
  store: CheckpointStore,
  threads: [string | null, ItemsOfThread][],
  {
    ids,
    moved,
    ...whose
  }: { ids: readonly string[]; moved: ReadonlySet<string> } & Parameters<typeof threadsElsewhere>[2],
  tx: Transaction,
): Promise<void> {
  for (const { thread, id } of await threadsElsewhere(store, ids, whose, tx)) {
    if (moved.has(thread)) continue
    const known = threads.find(([one]) => one === thread)?.[1]
    if (known) known.ids.add(id)
    else threads.push([thread, { isWhole: false, isDecided: false, ids: new Set([id]), sources: new Set([id]) }])
  }
}

/** Deletes whole threads and rewrites the others. Returns the number of erased messages and threads. */
async function eraseThreads(
  { store, sources }: CheckpointsSourceDeps,
  scope: ErasureScope,
  threads: readonly [string | null, ItemsOfThread][],
  { rows, rewrite }: { rows: Rows; rewrite: ReturnType<typeof threadRewriter>['rewrite'] },
  tx: Transaction,
  now: Date,
): Promise<number> {
  let count = 0
  const shared = await erasedInSharedThreads(sources, scope, mayBeShared(threads), tx, now)
  for (const [thread, { isWhole, ids, sources: ofThread }] of threads) {
    if (thread === null) continue
    const inThread = shared.get(thread)
    if (inThread) {
      if (inThread.ids.length > 0) count += Math.min((await rewrite(thread, inThread)).messages, 1)
    } else if (isWhole) count += Math.min(await store.drop(thread, tx), 1)
    else {
      const texts = [...ofThread].flatMap((id) => rows.get(id)?.texts ?? [])
      const made = await rewrite(thread, { ids: [...ids], texts })
      count += Math.max(made.messages, Math.min(made.rows, 1))
    }
  }
  return count
}

/** Adds late writes in threads that nobody reported: the words of the run find them after its rows are deleted. */
async function addThreadsByWords(
  store: CheckpointStore,
  threads: [string | null, ItemsOfThread][],
  items: readonly string[],
  { options, onUncompared }: { options: ErasureOptions | undefined; onUncompared: () => void },
  tx: Transaction,
): Promise<void> {
  if (!options?.words) return
  const { words, now } = options
  const without = new Set([...threads.flatMap(([thread]) => thread ?? []), ...movedOf(items)])
  for (const { projects = [], organisations = [], since } of items.map(parseItem))
    if (since)
      for (const thread of await threadsWithWords(
        store,
        { words, projects, organisations, since, now, within: (run) => run(tx), without, onUncompared },
        tx,
      ))
        threads.push([thread, { isWhole: false, isDecided: false, ids: new Set(), sources: new Set() }])
}

/** Erases the items of a page, late writes that name the same sources, and items of the long-term store with the erased words. */
export async function eraseCheckpoints(
  deps: CheckpointsSourceDeps,
  scope: ErasureScope,
  items: readonly string[],
  tx: Transaction,
  options: ErasureOptions | undefined,
): Promise<number | Erased> {
  if (!isAbout(scope) || items.length === 0) return 0
  const { store } = deps
  await requireConnectedStores(deps.whatIsMissing, tx)
  const now = options?.now ?? new Date()
  const part = 'part' in scope ? scope.part : undefined
  const threads = byThread(items)
  const named = threads.filter(([thread]) => thread !== null).length
  const ids = [...new Set(threads.flatMap(([, { sources: of }]) => [...of]))]
  const rows = await storedSources(tx, ids)
  const missing = ids.filter((id) => !rows.has(id))
  const sought = memoriesSought(items, part)
  const projects = [
    ...(part ? [part.project] : []),
    ...sought.projects,
    ...[...rows.values()].map(({ project }) => project),
    ...(options?.projects ?? []),
  ]
  const owned = memoriesSought([...items, ...((await options?.all?.()) ?? [])], part)
  const erasers = await erasersOf(tx, [...projects, ...owned.projects], owned.ids, owned.organisations)
  const { mayErase, outside } = placeRule((run) => run(tx), erasers)
  let isUncompared = false
  const onUncompared = () => {
    isUncompared = true
  }
  const project = part?.project ?? null
  await addLateThreads(store, threads, { ids: missing, project, mayErase, moved: movedOf(items) }, tx)
  if (isNobody(scope)) await addThreadsByWords(store, threads, items, { options, onUncompared }, tx)
  const threadNames = threads.map(([thread]) => thread)
  const wordsIn = await threadWordSearches(
    { words: options?.words, rows, threads: threadNames, scope, projects: options?.projects ?? [], now, onUncompared },
    (run) => run(tx),
  )
  const rewriter = threadRewriter(deps, scope, { rows, wordsIn }, tx, options)
  const remembered = together(ids.map((id) => rememberedOf(id, rows.get(id))))
  let erased = await store.forget(
    remembered.map((one) => ({
      ...one,
      ...wordsIn(null),
      mayErase: ({ namespace, key }) => mayErase(namespace, key),
    })),
    tx,
  )
  erased += await eraseThreads(deps, scope, threads, { rows, rewrite: rewriter.rewrite }, tx, now)
  const versions = [...rewriter.rewritten.values()].flatMap(({ removedTexts }) => removedTexts)
  const texts = [...rows.values()].flatMap((row) => row.texts)
  const byWords = await eraseMemories(
    store,
    {
      ...sought,
      words: [options?.words ?? fingerprintsOf(texts), fingerprintsOf(versions)],
      onUncompared,
    },
    tx,
    now,
  )
  erased += byWords.cut.length + byWords.deleted.length
  const counts = countsOf(items, { erased, named, moved: rewriter.moved }, scope, options)
  return { ...counts, ...reportOf(rewriter, byWords, { outside, isUncompared }) }
}

/** Counts planned items, so that a page repeated after a crash has the same count. A repeated search has no plan and counts matches. */
function countsOf(
  items: readonly string[],
  { erased, named, moved }: { erased: number; named: number; moved: ReadonlySet<string> },
  scope: ErasureScope,
  options: ErasureOptions | undefined,
): Pick<Erased, 'count' | 'retained' | 'results'> {
  const ours = items
    .map(parseItem)
    .filter(({ thread, mark }) => mark !== 'moved' && (thread === null || !moved.has(thread)))
  const retained = items.length - ours.length
  if (isNobody(scope)) return { count: erased, retained, results: erased === 0 ? {} : { messages: erased } }
  const messages = ours.filter(({ thread, message }) => thread !== null && message !== null).length
  const isUncounted = erased === 0 && options?.isWatched === true
  return { count: ours.length, retained, results: isUncounted ? {} : { threads: named - moved.size, messages } }
}

const reportOf = (
  { rewritten, unreadable }: Pick<ReturnType<typeof threadRewriter>, 'rewritten' | 'unreadable'>,
  byWords: Awaited<ReturnType<typeof eraseMemories>>,
  { outside, isUncompared }: { outside: ReadonlySet<string>; isUncompared: boolean },
): Pick<Erased, 'unreadable' | 'mentions' | 'tallies'> => ({
  ...(unreadable.length > 0 && { unreadable }),
  mentions: [...rewritten.values()].flatMap(({ mentions }) =>
    mentions.map((id): Mention => ({ store: 'checkpoints', kind: 'message', id, field: 'content', isRedacted: false })),
  ),
  tallies: {
    derivedCut: tallyOf(byWords.cut),
    derivedDeleted: tallyOf(byWords.deleted),
    memoriesLeft: tallyOf(byWords.left),
    memoriesReadOnly: tallyOf(byWords.readOnly),
    memoriesOutside: tallyOf(byWords.outside),
    placesOwned: tallyOf(outside),
    wordsUncompared: tallyOf(isUncompared ? ['words'] : []),
    threadsNotSearched: tallyOf(
      [...rewritten].flatMap(([thread, { notSearched }]) => (notSearched > 0 ? [thread] : [])),
    ),
  },
})
