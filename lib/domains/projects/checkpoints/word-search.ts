import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasedRunMatch, ErasedWords } from '#lib/kernel/data-source.ts'
import { memoize } from '#lib/kernel/memoize.ts'
import { scopedId, shownId } from '#lib/kernel/scoped-ids.ts'
import type { TextSearch } from '#lib/stores/checkpoints/checkpoints.ts'
import { Fingerprints } from '../words/fingerprints.ts'
import { explainedRuns } from '../words/remaining-texts.ts'
import { remainingMessages } from './repository.ts'

export interface SearchedWords {
  words: readonly ErasedWords[]
  projects: readonly string[]
  /** Ids that count as erased, for a dry run. */
  going?: ReadonlySet<string>
  now: Date
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

function searchOf(searched: SearchedWords): TextSearch {
  const { projects, going, now, within } = searched
  const words = searched.words.map(withNames)
  const explained = memoize(() =>
    within(async (tx) => {
      const runs = new Set<number>()
      for (const project of projects)
        for (const one of words)
          for (const run of (await explainedRuns(tx, project, one, now, going)).runs) runs.add(run)
      return runs
    }),
  )
  const search: TextSearch = {
    runsIn: (text): ErasedRunMatch[] => words.flatMap((one) => one.runsIn(text)),
    including: (texts) =>
      texts.length === 0 ? search : searchOf({ ...searched, words: [...searched.words, fingerprintsOf(texts)] }),
    explained,
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
