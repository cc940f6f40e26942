import { eachWord } from './words.ts'

/** Weights of PostgreSQL's text search: A for names and objectives, B for tools and domains, C for summaries, D for the rest. */
export interface WeightedText {
  weight: 'A' | 'B' | 'C' | 'D'
  text: string
}

/** Limits of a `tsvector` (PostgreSQL, "Limitations" of text search): positions up to 16,383; 1 MB of words and positions together. */
const lastPosition = 16_383
const maxBytes = 900_000
/** Maximum distinct words of one text, which bounds its size in the index. */
export const maxIndexedWords = 6_000
/** Maximum positions stored per word; more do not improve ranking. */
const maxPlaces = 16
const weights = ['A', 'B', 'C', 'D'] as const
const marks = ['A', 'B', 'C', ''] as const

/** Returns a `tsvector` in text form. Words beyond its limits or {@link maxIndexedWords} are omitted; texts with high weights are added first. */
export function searchVector(texts: readonly WeightedText[]): string {
  /** For each word its positions times 4, plus the index of their weight. */
  const places = new Map<string, number[]>()
  let position = 0
  let bytes = 0
  for (const [number, weight] of weights.entries())
    for (const one of texts) {
      if (one.weight !== weight) continue
      // Leave a gap, so that words of different texts are never adjacent.
      position = Math.min(position + 1, lastPosition)
      eachWord(one.text, (word, _start, _end, step) => {
        position = Math.min(position + step, lastPosition)
        const known = places.get(word)
        if (known === undefined) {
          // At most three bytes per UTF-16 unit, plus the overhead per word.
          bytes += word.length * 3 + 8
          if (bytes < maxBytes && places.size < maxIndexedWords) places.set(word, [position * 4 + number])
        } else if (known.length < maxPlaces && position < lastPosition) {
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
