import { eachWord } from './words.ts'

/** Weights of PostgreSQL's text search: A for names and objectives, B for tools and domains, C for summaries, D for the rest. */
export interface WeightedText {
  weight: 'A' | 'B' | 'C' | 'D'
  text: string
}

/** What a `tsvector` can hold (PostgreSQL, "Limitations" of text search): positions to 16,383; 1 MB of words and positions together. */
const lastPosition = 16_383
const mostBytes = 900_000
/** Distinct words of one text, so that no text costs the index what a thousand others do. */
export const mostWords = 6_000
/** Places kept of one word: more say nothing more of how much a text is about it. */
const mostPlaces = 16
const weights = ['A', 'B', 'C', 'D'] as const
const marks = ['A', 'B', 'C', ''] as const

/**
 * A `tsvector` in its text form. Words that no longer fit into one are left out, and those beyond {@link mostWords}; weighty texts
 * come first, so that theirs are in it.
 */
export function searchVector(texts: readonly WeightedText[]): string {
  /** Of each word its places, times 4, plus the number of their weight. */
  const places = new Map<string, number[]>()
  let position = 0
  let bytes = 0
  for (const [number, weight] of weights.entries())
    for (const one of texts) {
      if (one.weight !== weight) continue
      // No two texts are neighbours.
      position = Math.min(position + 1, lastPosition)
      eachWord(one.text, (word, _start, _end, step) => {
        position = Math.min(position + step, lastPosition)
        const known = places.get(word)
        if (known === undefined) {
          // At most three bytes for each UTF-16 unit, and what stands beside each word.
          bytes += word.length * 3 + 8
          if (bytes < mostBytes && places.size < mostWords) places.set(word, [position * 4 + number])
        } else if (known.length < mostPlaces && position < lastPosition) {
          bytes += 2
          known.push(position * 4 + number)
        }
      })
    }
  let vector = ''
  for (const [word, list] of places) {
    vector += `${word}:`
    for (let at = 0; at < list.length; at++) {
      const place = list[at] ?? 0
      vector += `${at > 0 ? ',' : ''}${place >> 2}${marks[place & 3]}`
    }
    vector += ' '
  }
  return vector
}
