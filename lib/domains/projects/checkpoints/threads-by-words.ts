import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import type { CheckpointStore } from '#lib/stores/checkpoints/checkpoints.ts'
import { livingAuthors } from '../words/living-authors.ts'
import { explainedRuns } from '../words/remaining-texts.ts'
import { projectsOf } from './thread-search.ts'
import type { SearchedWords } from './word-search.ts'

const threadsAtOnce = 200
/** Maximum size in bytes of the rows that one search reads, beginning with the latest. A complete reading reads all others. */
const maxRead = 256 * 1024 * 1024

interface SoughtThreads extends Pick<SearchedWords, 'going' | 'now' | 'within'> {
  words: ErasedWords
  /** The erasing projects. */
  projects: readonly string[]
  since: Date
  /** Threads that are known already. */
  without: ReadonlySet<string>
}

/**
 * Threads that nobody reported and that contain erased words: those of the erasing projects, and those that nobody owns because the
 * application named them itself. Words that a remaining author wrote do not count, of any project if nobody owns the thread.
 */
export async function threadsWithWords(
  store: Pick<CheckpointStore, 'writtenSince' | 'readThreads'>,
  { words, projects, since, going, now, within, without }: SoughtThreads,
  tx: Transaction,
): Promise<string[]> {
  if (words.isEmpty || projects.length === 0) return []
  const threads = (await store.writtenSince(since, tx)).filter((thread) => !without.has(thread))
  const living = livingAuthors({
    within,
    projects,
    now,
    going: going ?? new Set(),
    runsIn: (text) => words.runsIn(text),
  })
  const known = new Map<string, ReadonlySet<number>>()
  const explainedBy = async (project: string): Promise<ReadonlySet<number>> => {
    const runs = known.get(project) ?? (await within((one) => explainedRuns(one, project, words, now, going))).runs
    known.set(project, runs)
    return runs
  }
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
    for (const [thread, some] of matches) {
      const explained = new Set<number>()
      for (const project of new Set([...projects, ...(owners.get(thread) ?? [])]))
        for (const run of await explainedBy(project)) explained.add(run)
      if (!owners.has(thread))
        for (const { text, found: runs } of some) {
          const unknown = runs.filter(({ run }) => !explained.has(run))
          if (unknown.length > 0) for (const run of await living.explained(text, unknown)) explained.add(run)
        }
      if (some.some(({ found: runs }) => runs.some(({ run }) => !explained.has(run)))) found.push(thread)
    }
  }
  return found
}
