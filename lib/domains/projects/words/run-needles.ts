import { endOfRun, tokenize } from './tokens.ts'

/** More narrow nothing. */
export const mostNeedles = 300
/** What PostgreSQL compares in every locale without regard to capitals. */
const isPlain = (word: string): boolean => /^[a-z0-9]{3,}$/.test(word)

/**
 * Words of which every run of the texts contains one, for a query that narrows a search. Undefined where there are too many, or where a run
 * has only words that a database may fold in another way: then everything has to be read.
 */
export function runNeedles(texts: readonly string[]): string[] | undefined {
  const needles = new Set<string>()
  for (const text of texts) {
    const tokens = tokenize(text)
    for (let from = 0; from < tokens.length; ) {
      const end = endOfRun(tokens, from)
      if (end === undefined && from > 0) break
      const window = tokens
        .slice(from, end)
        .map(({ word, start, end: until }, at) => ({ word, at, isWhole: word.length === until - start }))
        .filter(({ word, isWhole }) => isPlain(word) && isWhole)
      const longest = window.reduce<(typeof window)[number] | undefined>(
        (best, one) => (best && best.word.length > one.word.length ? best : one),
        undefined,
      )
      if (!longest) return undefined
      needles.add(longest.word)
      if (end === undefined) break
      from += longest.at + 1
    }
    if (needles.size > mostNeedles) return undefined
  }
  return [...needles]
}
