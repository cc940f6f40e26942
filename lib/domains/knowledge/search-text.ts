import type { Unit } from './unit.ts'

/** Weights of PostgreSQL's text search: A for names and objectives, B for tools and domains, D for the rest. */
export interface WeightedText {
  weight: 'A' | 'B' | 'C' | 'D'
  text: string
}

/** Words of a text, as they are searched for. */
const wordsOf = (text: string): string[] =>
  text
    .normalize('NFKC')
    .toLowerCase()
    .match(/[\p{L}\p{N}]+/gu) ?? []

/** A `tsvector` in its text form: every word once, with its best weight. */
export function searchVector(texts: readonly WeightedText[]): string {
  const weights = new Map<string, string>()
  for (const { weight, text } of texts)
    for (const word of wordsOf(text)) {
      const known = weights.get(word)
      if (known === undefined || weight < known) weights.set(word, weight)
    }
  let position = 0
  return [...weights].map(([word, weight]) => `'${word}':${Math.min(++position, 16_383)}${weight}`).join(' ')
}

/** All text of a unit that can be searched. */
export function textsOf(unit: Unit): WeightedText[] {
  const texts: WeightedText[] = []
  const collect = (value: unknown): void => {
    if (typeof value === 'string') texts.push({ weight: 'D', text: value })
    else if (Array.isArray(value)) for (const item of value) collect(item)
    else if (typeof value === 'object' && value !== null) for (const item of Object.values(value)) collect(item)
  }
  collect(unit)
  return texts
}
