import type { Queryable } from '#lib/stores/postgres/statement.ts'
import type { SearchTarget } from './conditions.ts'
import { isStopWord, type Term } from './query.ts'
import { anyMatch, similarWords } from './repository.ts'

/** Maximum number of similar words that are tried. */
const mostTried = 3

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
  on: Queryable,
  target: SearchTarget,
  sought: readonly Term[],
): Promise<{ terms: Term[]; corrected: { from: string; to: string }[] }> {
  const terms: Term[] = []
  const corrected: { from: string; to: string }[] = []
  for (const term of sought) {
    if (await isShown(on, target, term.query)) {
      terms.push(term)
      continue
    }
    const [word = ''] = term.words
    const right = term.isPlain && forgiven(word) > 0 ? await nearest(on, target, word) : undefined
    if (right === undefined) continue
    terms.push({ ...term, query: `'${right}'`, words: [right], beside: [] })
    corrected.push({ from: term.typed, to: right })
  }
  return { terms, corrected }
}

async function nearest(on: Queryable, target: SearchTarget, word: string): Promise<string | undefined> {
  const { scopes } = target.values
  const lengths = { shortest: word.length - 3, longest: word.length + 3 }
  const similar = await similarWords(on, { word, scopes, ...lengths }, target.form)
  const near = similar
    .map((one) => ({ ...one, distance: distance(word, one.word) }))
    .filter((one) => one.distance <= forgiven(word) && !isStopWord(one.word))
    .sort((one, other) => one.distance - other.distance || other.units - one.units || (one.word < other.word ? -1 : 1))
  for (const one of near.slice(0, mostTried)) if (await isShown(on, target, `'${one.word}'`)) return one.word
  return undefined
}

const isShown = async (on: Queryable, { form, values }: SearchTarget, query: string): Promise<boolean> =>
  (await anyMatch(on, { ...values, query }, form)).length > 0
