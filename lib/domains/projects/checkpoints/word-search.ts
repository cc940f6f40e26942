import { memoize } from '#lib/kernel/concurrency.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import type { CheckpointStore, Remembered, TextSearch } from '#lib/stores/checkpoints/checkpoints.ts'
import { erasersOf, placeRule, placesNaming } from '../values/place-owners.ts'
import { Fingerprints, withoutFileWords } from '../words/fingerprints.ts'
import { type LivingAuthorsOptions, livingAuthors } from '../words/living-authors.ts'
import { explainedRuns } from '../words/remaining-texts.ts'
import { existingSources, remainingMessages } from './repository.ts'
import { isSure, projectsOf, remembered } from './thread-search.ts'

interface SearchedWords {
  words: readonly ErasedWords[]
  projects: readonly string[]
  /** Ids that count as erased, for a dry run. */
  erasedIds?: ReadonlySet<string>
  now: Date
  /** The texts that living authors of other projects wrote explain words too: for a thread that nobody owns. */
  isUnowned?: boolean
  onUncompared?: LivingAuthorsOptions['onUncompared']
  /** Runs a function in the transaction that reads the texts of remaining authors. */
  within<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
}

export const fingerprintsOf = (texts: readonly string[]): Fingerprints => {
  const found = new Fingerprints()
  for (const text of texts) found.add(text)
  return found
}

/** Searches the values of checkpoints for erased words. Undefined if there are none. */
export function wordSearch(searched: SearchedWords): TextSearch | undefined {
  const words = searched.words.filter(({ isEmpty }) => !isEmpty)
  return words.length === 0 ? undefined : searchOf({ ...searched, words })
}

/** Names of an erased person count as runs of any length. `onName` is called with the run of each found name. */
const withNames = (words: ErasedWords, onName: (run: number) => void = () => {}): ErasedWords => ({
  isEmpty: words.isEmpty,
  namesIn: (text) => words.namesIn(text),
  runsIn(text) {
    const names = words.namesIn(text)
    for (const { run } of names) onName(run)
    return [...words.runsIn(text), ...names]
  },
})

/** Texts with words whose other authors are sought. The words of further texts count as erased. */
const maxSeen = 10_000

function searchOf(searched: SearchedWords): TextSearch {
  const { projects, erasedIds, now, within, isUnowned = false, onUncompared } = searched
  const names = new Set<number>()
  const words = searched.words.map((one) => withNames(one, (run) => names.add(run)))
  const runsIn = (text: string): ErasedRunMatch[] => words.flatMap((one) => one.runsIn(text))
  const seen = new Map<string, ErasedRunMatch[]>()
  const living = livingAuthors({ within, projects, now, erasedIds: erasedIds ?? new Set(), runsIn, onUncompared })
  const ofProjects = memoize(() =>
    within(async (tx) => {
      const runs = new Set<number>()
      for (const project of projects)
        for (const one of words)
          for (const run of (await explainedRuns(tx, project, one, now, erasedIds)).runs) runs.add(run)
      return runs
    }),
  )
  const search: TextSearch = {
    runsIn(text) {
      const found = runsIn(text)
      if (isUnowned && found.length > 0 && seen.size < maxSeen) seen.set(text, found)
      return found
    },
    isName: (run) => names.has(run),
    including: (texts) =>
      texts.length === 0 ? search : searchOf({ ...searched, words: [...searched.words, fingerprintsOf(texts)] }),
    async explained() {
      const known = await ofProjects()
      const runs = new Set(known)
      for (const [text, found] of seen) {
        // Where the words of files do not count, they are not sought.
        const unknown = found.filter(({ run, isOfFile }) => !isOfFile && !runs.has(run))
        if (unknown.length > 0) for (const run of await living.explained(text, unknown)) runs.add(run)
      }
      return runs
    },
    remaining: (ids) =>
      within(async (tx) => {
        if (ids.length === 0) return new Set<string>()
        const stored = [...ids, ...projects.flatMap((project) => ids.map((id) => scopedId(project, id)))]
        const rows = await remainingMessages(tx, { projects, ids: stored, now })
        return new Set(rows.flatMap(({ id }) => (erasedIds?.has(id) ? [] : [shownId(id)])))
      }),
  }
  return search
}

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
  onUncompared?: LivingAuthorsOptions['onUncompared']
}
/** Creates a word search for each thread, or for the long-term store (null), with the projects whose remaining texts explain the words. */
export async function threadWordSearches(
  { words, rows, threads, scope, projects: further = [], now, onUncompared }: WordsAt,
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
  const unowned = threads.filter((thread): thread is string => thread !== null && !theirs.has(thread))
  // The names of threads decide only about the words of files.
  const mayHaveFiles = known.some(({ hasFiles }) => hasFiles !== false)
  const named = mayHaveFiles ? await within((tx) => placesNaming(tx, unowned, own)) : new Set<string>()
  const made = new Map<string, TextSearch | undefined>()
  return (thread: string | null): { words?: TextSearch; keepsDerived?: boolean } => {
    const owners = thread === null ? undefined : theirs.get(thread)
    const isUnowned = thread !== null && owners === undefined
    const keepsDerived = owners?.isDisjointFrom(new Set(own)) === true
    const projects = [...new Set([...own, ...(owners ?? [])])].sort()
    const key = JSON.stringify([projects, keepsDerived, isUnowned ? thread : null])
    const counted = keepsDerived || (isUnowned && !named.has(thread)) ? known.map(withoutFileWords) : known
    if (!made.has(key)) made.set(key, wordSearch({ words: counted, projects, now, within, isUnowned, onUncompared }))
    const search = made.get(key)
    return { ...(search && { words: search }), ...(keepsDerived && { keepsDerived }) }
  }
}

/** Threads that contain generated ids and belong to the project, or to nobody if the organization may claim them. */
export async function threadsElsewhere(
  store: Pick<CheckpointStore, 'naming'>,
  ids: readonly string[],
  { project, mayErase }: { project: string | null; mayErase(thread: string): Promise<boolean> },
  tx: Transaction,
): Promise<{ thread: string; id: string }[]> {
  const sure = ids.filter(isSure)
  if (sure.length === 0) return []
  const named = await store.naming(sure, tx)
  const projects = await projectsOf(tx, [...new Set(named.map(({ thread }) => thread))])
  const found: typeof named = []
  for (const one of named) {
    const theirs = projects.get(one.thread)
    if (theirs ? project !== null && theirs.has(project) : await mayErase(one.thread)) found.push(one)
  }
  return found
}

const threadsAtOnce = 200
/** Maximum size in bytes of the rows that one search reads, beginning with the latest. A complete reading reads all others. */
const maxRead = 256 * 1024 * 1024

interface SoughtThreads extends Pick<SearchedWords, 'erasedIds' | 'now' | 'within' | 'onUncompared'> {
  words: ErasedWords
  /** The erasing projects. */
  projects: readonly string[]
  /** The organizations that the projects had when the erasure was planned. */
  organisations?: readonly string[]
  since: Date
  /** Threads that are known already. */
  without: ReadonlySet<string>
}

/**
 * Threads that nobody reported and that contain erased words or names: those of the erasing projects, and those that nobody owns because the
 * application named them itself, if the organization may claim them. Words that a remaining author wrote do not count, of any project if nobody owns the thread.
 */
export async function threadsWithWords(
  store: Pick<CheckpointStore, 'writtenSince' | 'readThreads'>,
  { words: sought, projects, organisations = [], since, erasedIds, now, within, without, onUncompared }: SoughtThreads,
  tx: Transaction,
): Promise<string[]> {
  const words = withNames(sought)
  if (words.isEmpty || projects.length === 0) return []
  const threads = (await store.writtenSince(since, tx)).filter((thread) => !without.has(thread))
  const living = livingAuthors({
    within,
    projects,
    now,
    erasedIds: erasedIds ?? new Set(),
    runsIn: (text) => words.runsIn(text),
    onUncompared,
  })
  const known = new Map<string, ReadonlySet<number>>()
  const explainedBy = async (project: string): Promise<ReadonlySet<number>> => {
    const runs = known.get(project) ?? (await within((one) => explainedRuns(one, project, words, now, erasedIds))).runs
    known.set(project, runs)
    return runs
  }
  const { mayErase } = placeRule(within, await erasersOf(tx, projects, [], organisations))
  const found: string[] = []
  let bytes = 0
  for (let at = 0; at < threads.length && bytes < maxRead; at += threadsAtOnce) {
    const page = threads.slice(at, at + threadsAtOnce)
    const owners = await within((one) => projectsOf(one, page))
    const own = page.filter((thread) => [...(owners.get(thread) ?? projects)].some((one) => projects.includes(one)))
    if (own.length === 0) continue
    const matches = new Map<string, { text: string; found: ErasedRunMatch[] }[]>()
    bytes += await store.readThreads(
      own,
      (thread, texts) => {
        for (const text of texts) {
          const runs = words.runsIn(text)
          if (runs.length > 0) matches.set(thread, [...(matches.get(thread) ?? []), { text, found: runs }])
        }
      },
      tx,
    )
    const ofFiles = [...matches].flatMap(([thread, some]) =>
      !owners.has(thread) && some.some(({ found: runs }) => runs.some(({ isOfFile }) => isOfFile)) ? [thread] : [],
    )
    const named = ofFiles.length > 0 ? await within((one) => placesNaming(one, ofFiles, projects)) : new Set<string>()
    for (const [thread, some] of matches) {
      const explained = new Set<number>()
      for (const project of new Set([...projects, ...(owners.get(thread) ?? [])]))
        for (const run of await explainedBy(project)) explained.add(run)
      if (!owners.has(thread)) {
        const isNamed = named.has(thread)
        for (const { text, found: runs } of some) {
          const unknown = runs.filter(({ run, isOfFile }) => !(isOfFile && isNamed) && !explained.has(run))
          if (unknown.length > 0) for (const run of await living.explained(text, unknown)) explained.add(run)
        }
      }
      if (!some.some(({ found: runs }) => runs.some(({ run }) => !explained.has(run)))) continue
      if (owners.has(thread) || (await mayErase(thread))) found.push(thread)
    }
  }
  return found
}
