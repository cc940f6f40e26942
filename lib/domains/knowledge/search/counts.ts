import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { SearchTarget } from './conditions.ts'
import type { Term } from './query.ts'
import { wordCounts } from './repository.ts'

/** Key of a scope's total number of rows. */
const allRows = ''

/** Estimated word frequencies for this reader, as last counted by a job; never shown. */
export interface WordCounts {
  /** Number of rows in all its scopes. */
  rows: number
  /** Upper bound of rows with the term; 0 if no job has counted it. */
  of(term: Term): number
  /** Share of rows with the term. */
  share(term: Term): number
  /** Relevance of the term: rarer terms weigh more. */
  weight(term: Term): number
}

export async function wordCountsOf(
  on: Queryable,
  { form, values: { scopes } }: SearchTarget,
  terms: readonly Term[],
): Promise<WordCounts> {
  const words = [allRows, ...new Set(terms.flatMap((term) => term.words))]
  const counted = await wordCounts(on, { words, scopes }, form)
  const known = new Map(counted.map(({ word, units }) => [word, units]))
  // Rounded to two digits, because hidden rows are included and no score may reveal them.
  const rows = Math.max(Number((known.get(allRows) ?? 0).toPrecision(2)), 1)
  const of = (term: Term) => Math.min(...term.words.map((word) => known.get(word) ?? 0))
  return {
    rows,
    of,
    share: (term) => Math.min(of(term) / rows, 1),
    weight: (term) => Math.log(1 + rows / (of(term) + 1)) + 0.1,
  }
}
