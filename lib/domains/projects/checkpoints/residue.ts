import type { Transaction } from '#lib/kernel/context.ts'
import { type ErasedWords, longestSearch } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import { requireConnectedStores } from '#lib/stores/registered-store.ts'
import { isNobody } from './erased-sources.ts'
import type { CheckpointsSourceDeps } from './erasing.ts'
import { parseItem } from './items.ts'
import { byThread, mayBeShared, memoriesSought, movedOf } from './items-by-thread.ts'
import { residueOfMemories } from './memories-by-words.ts'
import { erasedInSharedThreads } from './shared-threads.ts'
import { rememberedOf, storedSources, threadsElsewhere, threadWordSearches } from './stored-sources.ts'
import { together } from './thread-search.ts'
import { threadsWithWords } from './threads-by-words.ts'
import { fingerprintsOf } from './word-search.ts'

/** Counts the residue of a plan: ids and words in threads, whole threads, and items of the long-term store. */
export async function residueOfCheckpoints(
  { db, store, sources, whatIsMissing }: CheckpointsSourceDeps,
  scope: ErasureScope,
  items: readonly string[],
  now: Date,
  words: ErasedWords | undefined,
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
  const found = await db.transaction(
    async (tx) => ({
      rows: await storedSources(tx, [...ids]),
      present: wholes.length === 0 ? 0 : (await store.present(wholes, tx)).length,
      late: await threadsElsewhere(store, [...ids], part?.project ?? null, tx),
    }),
    { longest: longestSearch },
  )
  const wordsIn = await threadWordSearches({ words, rows: found.rows, threads: [...rest.keys()], scope, now }, (run) =>
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
  for (const { projects = [], since } of items.map(parseItem))
    if (since)
      await db.transaction(
        async (tx) => {
          const sought = {
            words,
            projects,
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
