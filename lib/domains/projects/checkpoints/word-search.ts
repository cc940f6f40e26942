import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import type { TextSearch } from '#lib/stores/checkpoints/checkpoints.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { livingAuthors } from '../words/living-authors.ts'
import { explainedRuns } from '../words/remaining-texts.ts'
import { remainingMessages } from './repository.ts'

export interface SearchedWords {
  words: readonly ErasedWords[]
  projects: readonly string[]
  /** Ids that count as erased, for a dry run. */
  going?: ReadonlySet<string>
  now: Date
  /** The texts that living authors of other projects wrote explain words too: for a thread that nobody owns. */
  isUnowned?: boolean
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

/** Names of an erased person count as runs of any length. */
const withNames = (words: ErasedWords): ErasedWords => ({
  isEmpty: words.isEmpty,
  namesIn: (text) => words.namesIn(text),
  runsIn: (text) => [...words.runsIn(text), ...words.namesIn(text)],
})

/** Texts with words whose other authors are sought. The words of further texts count as erased. */
const mostSeen = 10_000

function searchOf(searched: SearchedWords): TextSearch {
  const { projects, going, now, within, isUnowned = false } = searched
  const words = searched.words.map(withNames)
  const runsIn = (text: string): ErasedRunMatch[] => words.flatMap((one) => one.runsIn(text))
  const seen = new Map<string, ErasedRunMatch[]>()
  const living = livingAuthors({ within, projects, now, going: going ?? new Set(), runsIn })
  const ofProjects = memoize(() =>
    within(async (tx) => {
      const runs = new Set<number>()
      for (const project of projects)
        for (const one of words)
          for (const run of (await explainedRuns(tx, project, one, now, going)).runs) runs.add(run)
      return runs
    }),
  )
  const search: TextSearch = {
    runsIn(text) {
      const found = runsIn(text)
      if (isUnowned && found.length > 0 && seen.size < mostSeen) seen.set(text, found)
      return found
    },
    including: (texts) =>
      texts.length === 0 ? search : searchOf({ ...searched, words: [...searched.words, fingerprintsOf(texts)] }),
    async explained() {
      const known = await ofProjects()
      const runs = new Set(known)
      for (const [text, found] of seen) {
        const unknown = found.filter(({ run }) => !runs.has(run))
        if (unknown.length > 0) for (const run of await living.explained(text, unknown)) runs.add(run)
      }
      return runs
    },
    remaining: (ids) =>
      within(async (tx) => {
        if (ids.length === 0) return new Set<string>()
        const stored = [...ids, ...projects.flatMap((project) => ids.map((id) => scopedId(project, id)))]
        const rows = await remainingMessages(tx, { projects, ids: stored, now })
        return new Set(rows.flatMap(({ id }) => (going?.has(id) ? [] : [shownId(id)])))
      }),
  }
  return search
}
