import type { SnapshotQuery } from '#lib/stores/postgres/snapshot.ts'
import { type Conditions, conditions, type SearchReader, shownTo, type Table, withinScopes } from './conditions.ts'
import { isStopWord, type Query, type Term } from './query.ts'

/** Maximum number of similar words read, and of these how many are tried. */
const [mostSimilar, mostTried] = [400, 3]

interface SearchOrder {
  table: Table
  reader: SearchReader
  query: Query
  filter(list: Conditions): void
}

/** Damerau–Levenshtein distance: letters omitted, added, replaced, or swapped with their neighbour. */
export function distance(one: string, other: string): number {
  const rows: number[][] = [Array.from({ length: other.length + 1 }, (_, at) => at)]
  for (let i = 1; i <= one.length; i++) {
    const row = [i]
    for (let j = 1; j <= other.length; j++) {
      const isSame = one[i - 1] === other[j - 1]
      let least = Math.min(
        (rows[i - 1]?.[j] ?? 0) + 1,
        (row[j - 1] ?? 0) + 1,
        (rows[i - 1]?.[j - 1] ?? 0) + (isSame ? 0 : 1),
      )
      if (i > 1 && j > 1 && one[i - 1] === other[j - 2] && one[i - 2] === other[j - 1])
        least = Math.min(least, (rows[i - 2]?.[j - 2] ?? 0) + 1)
      row.push(least)
    }
    rows.push(row)
  }
  return rows[one.length]?.[other.length] ?? 0
}

/** Number of typing errors tolerated in a word, by its length. */
const forgiven = (word: string): number => (word.length < 3 ? 0 : word.length < 8 ? 1 : word.length < 12 ? 2 : 3)

/**
 * Replaces words without matches visible to the reader by the nearest word that has one, and drops words without any. The word table is not
 * trusted: a word is only used if a row visible to this reader contains it now, so corrections never reveal other readers' data.
 */
export async function correct(
  ask: SnapshotQuery,
  asked: SearchOrder,
): Promise<{ terms: Term[]; corrected: { from: string; to: string }[] }> {
  const terms: Term[] = []
  const corrected: { from: string; to: string }[] = []
  for (const term of asked.query.terms) {
    if (await isShown(ask, asked, term.query)) {
      terms.push(term)
      continue
    }
    const [word = ''] = term.words
    const right = term.isPlain && forgiven(word) > 0 ? await nearest(ask, asked, word) : undefined
    if (right === undefined) continue
    terms.push({ ...term, query: `'${right}'`, words: [right], beside: [] })
    corrected.push({ from: term.typed, to: right })
  }
  return { terms, corrected }
}

async function nearest(ask: SnapshotQuery, asked: SearchOrder, word: string): Promise<string | undefined> {
  const list = conditions()
  const given = list.value(word)
  const similar = await ask<{ word: string; units: number }>(
    `SELECT word, sum(units)::int AS units FROM search_words
     WHERE word % ${given} AND char_length(word) BETWEEN ${word.length - 3} AND ${word.length + 3} AND ${withinScopes(asked.reader, 'scope', list)}
     GROUP BY word ORDER BY similarity(word, ${given}) DESC LIMIT ${mostSimilar}`,
    list.values,
  )
  const near = similar
    .map((one) => ({ ...one, distance: distance(word, one.word) }))
    .filter((one) => one.distance <= forgiven(word) && !isStopWord(one.word))
    .sort((one, other) => one.distance - other.distance || other.units - one.units || (one.word < other.word ? -1 : 1))
  for (const one of near.slice(0, mostTried)) if (await isShown(ask, asked, `'${one.word}'`)) return one.word
  return undefined
}

async function isShown(ask: SnapshotQuery, { table, reader, filter }: SearchOrder, wanted: string): Promise<boolean> {
  const list = conditions()
  const query = list.value(wanted)
  list.parts.push(withinScopes(reader, 'u.scope', list), shownTo(reader, list))
  filter(list)
  const rows = await ask(
    `SELECT 1 FROM ${table} u WHERE u.search @@ ${query}::tsquery AND ${list.parts.join(' AND ')} LIMIT 1`,
    list.values,
  )
  return rows.length > 0
}
