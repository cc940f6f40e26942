import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, Remembered, TextSearch } from '#lib/stores/checkpoints/checkpoints.ts'
import { existingSources } from './repository.ts'
import { isSure, projectsOf, remembered } from './thread-search.ts'
import { fingerprintsOf, type SearchedWords, wordSearch } from './word-search.ts'

/** A message or document whose row still exists. */
export type StoredSource = Awaited<ReturnType<typeof existingSources>>[number]
/** Those of the sources whose rows still exist, by id. */
export const storedSources = async (tx: Transaction, sources: readonly string[]): Promise<Map<string, StoredSource>> =>
  sources.length === 0 ? new Map() : new Map((await existingSources(tx, { sources })).map((row) => [row.id, row]))
/** How to find a source in the long-term store. Without its row, only a generated id identifies it. */
export const rememberedOf = (id: string, row: StoredSource | undefined): Remembered =>
  row
    ? remembered({ kind: 'message', pointers: [], ...row })
    : { sure: [id].filter(isSure), ids: [], texts: [], ties: [] }

/** Ids reported by provenance that are not ids of our rows. Under these ids, only text that matches the subject's text counts as erased. */
export const reportedAmong = (ids: Iterable<string>, rows: ReadonlyMap<string, StoredSource>): Set<string> => {
  const own = new Set([...rows.keys()].flatMap((id) => [id, shownId(id)]))
  return new Set([...ids].filter((id) => !own.has(id) && !isSure(id)))
}

interface WordsAt {
  /** The words of the whole run; undefined: use the texts that are still stored. */
  words: ErasedWords | undefined
  rows: ReadonlyMap<string, StoredSource>
  threads: readonly (string | null)[]
  scope: ErasureScope
  /** Further projects whose remaining texts explain the words. */
  projects?: readonly string[]
  now: Date
}
/** Creates a word search for each thread, or for the long-term store (null), with the projects whose remaining texts explain the words. */
export async function threadWordSearches(
  { words, rows, threads, scope, projects: further = [], now }: WordsAt,
  within: SearchedWords['within'],
) {
  const known = [words ?? fingerprintsOf([...rows.values()].flatMap(({ texts }) => texts))]
  const own = [
    ...('part' in scope ? [scope.part.project] : []),
    ...[...rows.values()].map(({ project }) => project),
    ...further,
  ]
  const theirs = await within((tx) =>
    projectsOf(
      tx,
      threads.filter((thread) => thread !== null),
    ),
  )
  const made = new Map<string, TextSearch | undefined>()
  return (thread: string | null): { words?: TextSearch } => {
    const isUnowned = thread !== null && !theirs.has(thread)
    const projects = [...new Set([...own, ...(thread === null ? [] : (theirs.get(thread) ?? []))])].sort()
    const key = JSON.stringify([projects, isUnowned ? thread : null])
    if (!made.has(key)) made.set(key, wordSearch({ words: known, projects, now, within, isUnowned }))
    const search = made.get(key)
    return search ? { words: search } : {}
  }
}

/** Threads that contain generated ids and belong to no conversation or to the project. */
export async function threadsElsewhere(
  store: Pick<CheckpointStore, 'naming'>,
  ids: readonly string[],
  project: string | null,
  tx: Transaction,
) {
  const sure = ids.filter(isSure)
  if (sure.length === 0) return []
  const named = await store.naming(sure, tx)
  const projects = await projectsOf(tx, [...new Set(named.map(({ thread }) => thread))])
  return named.filter(({ thread }) => {
    const theirs = projects.get(thread)
    return !theirs || (project !== null && theirs.has(project))
  })
}
