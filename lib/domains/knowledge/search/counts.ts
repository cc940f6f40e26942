import type { Ask } from '#lib/stores/postgres/snapshot.ts'
import { conditions, type Reader, withinScopes } from './conditions.ts'
import type { Term } from './query.ts'

/** The word under which a scope's number of rows is kept. */
const allRows = ''

/** How common words are for this reader, as a job last counted them: estimates, from which nothing is shown. */
export interface WordCounts {
  /** Rows in all its scopes. */
  rows: number
  /** Rows with the term at most; 0 when no job has seen it. */
  of(term: Term): number
  /** The share of rows with the term. */
  share(term: Term): number
  /** What the term says of a row: more, the rarer it is. */
  weight(term: Term): number
}

export async function countsOf(ask: Ask, reader: Reader, terms: readonly Term[]): Promise<WordCounts> {
  const list = conditions()
  const words = [allRows, ...new Set(terms.flatMap((term) => term.words))]
  const counted = await ask<{ word: string; units: number }>(
    `SELECT word, sum(units)::int AS units FROM search_words
     WHERE word = ANY(${list.value(words)}::text[]) AND ${withinScopes(reader, 'scope', list)} GROUP BY word`,
    list.values,
  )
  const known = new Map(counted.map(({ word, units }) => [word, units]))
  // Two digits: what is held back is counted here too, and no score may tell of it.
  const rows = Math.max(Number((known.get(allRows) ?? 0).toPrecision(2)), 1)
  const of = (term: Term) => Math.min(...term.words.map((word) => known.get(word) ?? 0))
  return {
    rows,
    of,
    share: (term) => Math.min(of(term) / rows, 1),
    weight: (term) => Math.log(1 + rows / (of(term) + 1)) + 0.1,
  }
}
