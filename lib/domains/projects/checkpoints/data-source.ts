import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import { runNeedles } from '#lib/domains/projects/words/run-needles.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasedWords,
  type ErasureScope,
  longestSearch,
  type Mention,
  type PlannedRecord,
  type ProjectPart,
} from '#lib/kernel/data-source.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, Remembered, Rewritten, TextSearch } from '#lib/stores/checkpoints/checkpoints.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { MissingStoreData } from '#lib/stores/registered-store.ts'
import { itemsOfThread, movedThread, parseItem, undecidedThread } from './items.ts'
import { erasersOf, memoriesWithWords, memoryLabel } from './memories-by-words.ts'
import { mayClaimAny } from './memory-owners.ts'
import { planning, type ThreadPlan } from './planning.ts'
import { existingSources, threadsOfSubject } from './repository.ts'
import { isSure, projectsOf, remembered, together } from './thread-search.ts'
import { fingerprintsOf, type SearchedWords, wordSearch } from './word-search.ts'

const checkpointsHolderName = 'checkpoints.messages'
/** Its step waits for the decision about threads that cannot be rewritten. All other steps continue. */
export const threadsDataSourceName = 'checkpoints.threads'

export interface CheckpointsSourceDeps {
  db: Database
  store: CheckpointStore
  sources: Sources
  whatIsMissing: MissingStoreData
  /** Moves a thread that cannot be rewritten to the step that waits for a decision. */
  moveItems(
    tx: Transaction,
    which: Record<'runId' | 'from' | 'to' | 'prefix' | 'marker' | 'item', string>,
  ): Promise<void>
}
const isAbout = (scope: ErasureScope): boolean => 'part' in scope || 'subject' in scope
/** A repeated search after the run: the subject is no longer stored, so nothing can be planned. */
const isNobody = (scope: ErasureScope): boolean => 'subject' in scope && writersOf(scope.subject).ids.length === 0

type StoredThreads = Awaited<ReturnType<typeof existingSources>>[number]
const standing = async (tx: Transaction, sources: readonly string[]): Promise<Map<string, StoredThreads>> =>
  sources.length === 0 ? new Map() : new Map((await existingSources(tx, { sources })).map((row) => [row.id, row]))
/** How to find a source in the long-term store. Without its row, only a generated id identifies it. */
const rememberedOf = (id: string, row: StoredThreads | undefined): Remembered =>
  row
    ? remembered({ kind: 'message', pointers: [], ...row })
    : { sure: [id].filter(isSure), ids: [], texts: [], ties: [] }

interface OfThread {
  isWhole: boolean
  /** Delete the whole thread even if others share it. */
  isDecided: boolean
  ids: Set<string>
  sources: Set<string>
}
/** Threads that were moved to the step that waits for a decision. */
const movedOf = (items: readonly string[]): Set<string> =>
  new Set(items.map(parseItem).flatMap(({ thread, mark }) => (thread !== null && mark === 'moved' ? [thread] : [])))
/** Items grouped by thread and sorted; null is the long-term store. */
function byThread(items: readonly string[]) {
  const threads = new Map<string | null, OfThread>()
  const moved = movedOf(items)
  for (const { thread, message, source, isDecided } of items.map(parseItem)) {
    if (thread !== null && moved.has(thread)) continue
    const known = threads.get(thread) ?? { isWhole: false, isDecided: false, ids: new Set(), sources: new Set() }
    known.isDecided ||= isDecided
    threads.set(thread, known)
    if (message === null) known.isWhole = true
    else known.ids.add(message)
    if (source !== null) known.ids.add(source)
    if (source !== null) known.sources.add(source)
  }
  return [...threads].sort(([a], [b]) => ((a ?? '') < (b ?? '') ? -1 : 1))
}

/** Ids reported by provenance that are not ids of our rows. Under these ids, only text that matches the subject's text counts as erased. */
const reportedAmong = (ids: Iterable<string>, rows: ReadonlyMap<string, StoredThreads>): Set<string> => {
  const own = new Set([...rows.keys()].flatMap((id) => [id, shownId(id)]))
  return new Set([...ids].filter((id) => !own.has(id) && !isSure(id)))
}

interface WordsAt {
  /** The words of the whole run; undefined: use the texts that are still stored. */
  words: ErasedWords | undefined
  rows: ReadonlyMap<string, StoredThreads>
  threads: readonly (string | null)[]
  scope: ErasureScope
  now: Date
}
/** Creates a word search for each thread, or for the long-term store (null), with the projects whose remaining texts explain the words. */
async function searches({ words, rows, threads, scope, now }: WordsAt, within: SearchedWords['within']) {
  const known = [words ?? fingerprintsOf([...rows.values()].flatMap(({ texts }) => texts))]
  const own = [...('part' in scope ? [scope.part.project] : []), ...[...rows.values()].map(({ project }) => project)]
  const theirs = await within((tx) =>
    projectsOf(
      tx,
      threads.filter((thread) => thread !== null),
    ),
  )
  const made = new Map<string, TextSearch | undefined>()
  return (thread: string | null): { words?: TextSearch } => {
    const projects = [...new Set([...own, ...(thread === null ? [] : (theirs.get(thread) ?? []))])].sort()
    const key = JSON.stringify(projects)
    if (!made.has(key)) made.set(key, wordSearch({ words: known, projects, now, within }))
    const search = made.get(key)
    return search ? { words: search } : {}
  }
}

/** What to search for in the long-term store: the projects of the erased words, and the ids that identify items of these projects. */
function memoriesSought(
  items: readonly string[],
  part: ProjectPart | undefined,
): { projects: string[]; ids: Set<string> } {
  const parsed = items.map(parseItem)
  const projects = [...new Set(parsed.flatMap((one) => one.projects ?? []))]
  const conversation = part?.conversation ?? null
  const ids = new Set([
    ...(conversation === null ? [] : [conversation, shownId(conversation)]),
    ...parsed.flatMap(({ thread, message, source }) => [thread, message, source].filter((one) => one !== null)),
  ])
  return { projects, ids }
}

/** Threads to delete completely unless remaining records share them. */
const mayBeShared = (threads: ReturnType<typeof byThread>): string[] =>
  threads.flatMap(([thread, { isWhole, isDecided }]) => (thread !== null && isWhole && !isDecided ? [thread] : []))

const verdictOf = ({ thread, isWhole, isShared, isUnreadable, messages, found }: ThreadPlan): PlannedRecord => ({
  store: 'checkpoints',
  kind: thread === null ? 'memory' : 'thread',
  id: thread ?? 'store',
  name: null,
  verdict: isWhole || thread === null ? 'deleted' : isShared || isUnreadable ? 'kept' : 'changed',
  reason: isUnreadable ? 'unreadable' : isShared ? 'shared' : isWhole ? 'whole' : 'source',
  evidence: messages > 0 ? [`${thread === null ? 'items' : 'messages'}:${messages}`] : [],
  found: found.join(', ') || 'thread',
})

/**
 * Personal data source for messages in LangGraph: in every checkpoint of their threads and in the long-term store. Counts messages and
 * whole threads. Tool calls and their results are erased with the messages.
 */
export function checkpointsDataSource({
  db,
  store,
  sources,
  whatIsMissing,
  moveItems,
}: CheckpointsSourceDeps): DataSource {
  const { planned, shared } = planning({ store, sources })
  /** Plans as {@link planning} does. If the store does not answer, plans from pointers and conversations. */
  async function planOf(
    scope: ErasureScope,
    tx: Transaction,
    now: Date,
  ): Promise<{ threads: ThreadPlan[]; isAway: boolean }> {
    try {
      return { threads: await Array.fromAsync(planned(scope, tx, now, false)), isAway: false }
    } catch (error) {
      if (!Problem.is(error, 'unavailable')) throw error
      return { threads: await Array.fromAsync(planned(scope, tx, now, true)), isAway: true }
    }
  }
  /** Threads that contain generated ids and belong to no conversation or to the project. */
  async function elsewhere(ids: readonly string[], project: string | null, tx: Transaction) {
    const sure = ids.filter(isSure)
    if (sure.length === 0) return []
    const named = await store.naming(sure, tx)
    const projects = await projectsOf(tx, [...new Set(named.map(({ thread }) => thread))])
    return named.filter(({ thread }) => {
      const theirs = projects.get(thread)
      return !theirs || (project !== null && theirs.has(project))
    })
  }
  /** Search words from the texts of a part. Undefined for a person, whose names are only known as fingerprints. */
  async function needlesOf(scope: ErasureScope, tx: Transaction, now: Date): Promise<string[] | undefined> {
    if (!('part' in scope)) return undefined
    const texts: string[] = []
    for await (const batch of sources.of(scope, tx, now)) for (const source of batch) texts.push(...source.texts)
    return texts.length === 0 ? undefined : runNeedles(texts)
  }
  /** Erases items of the long-term store that contain erased words, whatever ids they name. */
  async function eraseMemories(
    sought: { words: readonly ErasedWords[]; needles: string[] | undefined; projects: string[]; ids: Set<string> },
    tx: Transaction,
    now: Date,
  ) {
    const done = { cut: [] as string[], deleted: [] as string[], left: [] as string[], outside: [] as string[] }
    const erasers = await erasersOf(tx, sought.projects, sought.ids)
    for await (const { changes, left } of memoriesWithWords(
      store,
      { ...sought, erasers, now, within: (run) => run(tx) },
      tx,
    )) {
      done.left.push(...left.map(memoryLabel))
      for (const { memory, value } of await store.changeMemories(changes, tx))
        done[value === null ? 'deleted' : 'cut'].push(memoryLabel(memory))
    }
    if (!(await mayClaimAny(tx, erasers.organisations)) && (await store.memoryPage({}, tx)).next)
      done.outside.push('outside')
    return done
  }
  /** Reads every item and compares fingerprints, so it does not depend on the narrowed search that erasing uses. */
  async function residueOfMemories(
    { projects, ids }: { projects: string[]; ids: Set<string> },
    words: ErasedWords,
    now: Date,
  ): Promise<number> {
    if (projects.length === 0) return 0
    const within = <T>(run: (tx: Transaction) => Promise<T>) => db.transaction(run, { longest: longestSearch })
    const erasers = await within((tx) => erasersOf(tx, projects, ids))
    let count = 0
    for await (const { changes } of memoriesWithWords(store, { words: [words], erasers, now, within }))
      count += changes.length
    return count
  }
  const refuseIfMissing = async (tx?: Transaction): Promise<void> => {
    if ((await whatIsMissing(tx)).length > 0)
      throw new Problem(
        'unavailable',
        'A checkpoint store that kept data is switched off: what it holds of this is not erased. Connect it again, or retire it.',
      )
  }
  return {
    name: checkpointsHolderName,
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
      return { count: dates.length, since: dates.length > 0 ? new Date(Math.min(...dates)) : null, until: null }
    },
    async plan(scope, tx, now) {
      if (!isAbout(scope) || isNobody(scope)) return { items: [], held: {} }
      const { threads: plans } = await planOf(scope, tx, now)
      if ((await whatIsMissing(tx)).length > 0) plans.push(...(await Array.fromAsync(planned(scope, tx, now, true))))
      const items = new Set(plans.flatMap((one) => one.items))
      const watched = new Set(plans.flatMap((one) => one.watched)).difference(items)
      return { items: [...items].sort(), watched: [...watched].sort(), held: await sources.held(scope, tx, now) }
    },
    async explain(scope, tx, now) {
      if (!isAbout(scope)) return { verdicts: [], isPartial: false }
      const verdicts = new Map<string, PlannedRecord>()
      const { threads, isAway } = await planOf(scope, tx, now)
      for (const thread of threads) {
        if (thread.items.length === 0 && !thread.isShared) continue
        const verdict = verdictOf(thread)
        const known = verdicts.get(verdict.id)
        // A shared thread is kept. A decision about its erased messages takes precedence.
        if (!known || known.verdict === 'kept') verdicts.set(verdict.id, verdict)
      }
      return { verdicts: [...verdicts.values()], isPartial: isAway || (await whatIsMissing(tx)).length > 0 }
    },
    async erase(scope, items, tx, options): Promise<number | Erased> {
      if (!isAbout(scope) || items.length === 0) return 0
      await refuseIfMissing(tx)
      const threads = byThread(items)
      const ids = [...new Set(threads.flatMap(([, { sources: of }]) => [...of]))]
      const rows = await standing(tx, ids)
      const part = 'part' in scope ? scope.part : undefined
      // Planning searched all threads while the rows existed. A repeated erasure searches for late writes.
      const late = await elsewhere(
        ids.filter((id) => !rows.has(id)),
        part?.project ?? null,
        tx,
      )
      const named = threads.filter(([thread]) => thread !== null).length
      const elsewhereMoved = movedOf(items)
      for (const { thread, id } of late) {
        if (elsewhereMoved.has(thread)) continue
        const known = threads.find(([one]) => one === thread)?.[1]
        if (known) known.ids.add(id)
        else threads.push([thread, { isWhole: false, isDecided: false, ids: new Set([id]), sources: new Set([id]) }])
      }
      let gone = 0
      const now = options?.now ?? new Date()
      const threadNames = threads.map(([thread]) => thread)
      const wordsIn = await searches({ words: options?.words, rows, threads: threadNames, scope, now }, (run) =>
        run(tx),
      )
      const rewritten = new Map<string, Rewritten>()
      const runId = options?.key.split(':')[0] ?? ''
      const moved = new Set<string>()
      const unreadable: string[] = []
      const rewrite = async (thread: string, wanted: { ids: readonly string[]; texts: readonly string[] }) => {
        const reported = reportedAmong(wanted.ids, rows)
        let made: Rewritten
        try {
          made = await store.rewrite(thread, { ...wanted, reported, ...wordsIn(thread) }, tx)
        } catch (error) {
          if (!Problem.is(error, 'conflict') || runId === '') throw error
          // The receipt is already signed, so no step can wait for a decision. The search reports the thread.
          if (isNobody(scope)) {
            unreadable.push(thread)
            return { messages: 0, rows: 0 }
          }
          moved.add(thread)
          await moveItems(tx, {
            ...{ runId, from: checkpointsHolderName, to: threadsDataSourceName, prefix: itemsOfThread(thread) },
            ...{ marker: movedThread(thread), item: undecidedThread(thread) },
          })
          return { messages: 0, rows: 0 }
        }
        if (made.wording.length > 0) await options?.addWords?.(made.wording)
        rewritten.set(thread, made)
        return made
      }
      for (const one of together(ids.map((id) => rememberedOf(id, rows.get(id)))))
        gone += await store.forget({ ...one, ...wordsIn(null) }, tx)
      const theirs = await shared(scope, mayBeShared(threads), tx, now)
      for (const [thread, { isWhole, ids: wanted, sources: of }] of threads) {
        if (thread === null) continue
        const inThread = theirs.get(thread)
        if (inThread) {
          if (inThread.ids.length > 0) gone += Math.min((await rewrite(thread, inThread)).messages, 1)
          continue
        }
        if (isWhole) {
          if ((await store.drop(thread, tx)) > 0) gone++
          continue
        }
        const texts = [...of].flatMap((id) => rows.get(id)?.texts ?? [])
        const made = await rewrite(thread, { ids: [...wanted], texts })
        gone += Math.max(made.messages, Math.min(made.rows, 1))
      }
      const sought = memoriesSought(items, part)
      const wordings = [...rewritten.values()].flatMap(({ wording }) => wording)
      const texts = [...rows.values()].flatMap((row) => row.texts)
      const byWords = await eraseMemories(
        {
          ...sought,
          words: [options?.words ?? fingerprintsOf(texts), fingerprintsOf(wordings)],
          // After a residue was found, read everything: the narrowed search may have missed it.
          needles: (options?.round ?? 0) > 0 || wordings.length > 0 ? undefined : await needlesOf(scope, tx, now),
        },
        tx,
        now,
      )
      gone += byWords.cut.length + byWords.deleted.length
      const tally = (met: string[]) => ({ met, gone: [] })
      // Count planned items, so that a page repeated after a crash has the same count. A repeated search has no plan and counts matches.
      const count = isNobody(scope) ? gone : items.length
      const ours = items
        .map(parseItem)
        .filter(({ thread, mark }) => mark !== 'moved' && (thread === null || !moved.has(thread)))
      const messages = ours.filter(({ thread, message }) => thread !== null && message !== null)
      return {
        count: count - (isNobody(scope) ? 0 : items.length - ours.length),
        retained: items.length - ours.length,
        ...(unreadable.length > 0 && { unreadable }),
        results:
          gone === 0 && (isNobody(scope) || options?.isWatched)
            ? {}
            : isNobody(scope)
              ? { messages: gone }
              : { threads: named - moved.size, messages: messages.length },
        mentions: [...rewritten].flatMap(([, { mentions }]) =>
          mentions.map(
            (id): Mention => ({ store: 'checkpoints', kind: 'message', id, field: 'content', isRedacted: false }),
          ),
        ),
        tallies: {
          derivedCut: tally(byWords.cut),
          derivedDeleted: tally(byWords.deleted),
          memoriesLeft: tally(byWords.left),
          memoriesOutside: tally(byWords.outside),
          threadsNotSearched: {
            met: [...rewritten].flatMap(([thread, { notSearched }]) => (notSearched > 0 ? [thread] : [])),
            gone: [],
          },
        },
      }
    },
    countsAs: (item) => (parseItem(item).mark === 'moved' ? 'nothing' : 'erased'),
    notSearched: ({ threadsNotSearched = 0, memoriesLeft = 0, memoriesOutside = 0 }) => [
      ...(threadsNotSearched > 0
        ? [
            {
              what: 'threads with encrypted or binary values, embeddings or unknown extensions',
              count: threadsNotSearched,
            },
          ]
        : []),
      ...(memoriesLeft > 0
        ? [
            {
              what: 'unchanged items of the long-term store with the erased words that belong, or may belong, to another project of the organization',
              count: memoriesLeft,
            },
          ]
        : []),
      // Other organizations own these items, so nobody reads whether they contain the words.
      ...(memoriesOutside > 0
        ? [
            {
              what: 'items of the long-term store without an id of the project, outside the namespaces of its organization',
              count: null,
            },
          ]
        : []),
    ],
    async late(scope, tx, now) {
      const plans = await Array.fromAsync(planned(scope, tx, now, false))
      return [...new Set(plans.flatMap((one) => one.items))].sort()
    },
    async reused(items, tx) {
      const wholes = items.filter((item) => parseItem(item).thread !== null && parseItem(item).message === null)
      const threads = wholes.map((item) => parseItem(item).thread ?? '')
      const theirs = await projectsOf(tx, threads)
      return wholes.filter((item) => theirs.has(parseItem(item).thread ?? ''))
    },
    async residue(scope, items, now, words) {
      const part = 'part' in scope ? scope.part : undefined
      const message = part?.kind === 'message' ? part : undefined
      if (items.length === 0 && !message) return 0
      if (items.length > 0) await refuseIfMissing()
      const rest = new Map<string, Set<string>>()
      const threads = byThread(items)
      const ids = new Set([...(message ? [message.id] : []), ...threads.flatMap(([, { sources: of }]) => [...of])])
      const moved = movedOf(items)
      const ownThread = shownId(message?.conversation ?? '')
      if (message && !moved.has(ownThread)) rest.set(ownThread, new Set([message.id, shownId(message.id)]))
      const theirs = await db.transaction((tx) => shared(scope, mayBeShared(threads), tx, now))
      const wholes: string[] = []
      for (const [thread, { isWhole, ids: wanted }] of threads) {
        if (thread === null) continue
        if (isWhole && !theirs.has(thread)) wholes.push(thread)
        // A thread that is now shared: search it for every erased id.
        else rest.set(thread, (isWhole ? ids : wanted).union(rest.get(thread) ?? new Set()))
      }
      const found = await db.transaction(
        async (tx) => ({
          rows: await standing(tx, [...ids]),
          present: wholes.length === 0 ? 0 : (await store.present(wholes, tx)).length,
          late: await elsewhere([...ids], part?.project ?? null, tx),
        }),
        { longest: longestSearch },
      )
      const wordsIn = await searches({ words, rows: found.rows, threads: [...rest.keys()], scope, now }, (run) =>
        db.transaction(run),
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
        })),
      )
      const sought = memoriesSought(items, part)
      const memoriesLeft = await residueOfMemories(
        sought,
        words ?? fingerprintsOf([...found.rows.values()].flatMap(({ texts }) => texts)),
        now,
      )
      const elsewhereAlone = found.late.filter(
        ({ thread }) => !rest.has(thread) && !wholes.includes(thread) && !moved.has(thread),
      )
      return left + found.present + elsewhereAlone.length + memoriesLeft
    },
  }
}
