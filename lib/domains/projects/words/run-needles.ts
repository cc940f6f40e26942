import { endOfRun, tokenize } from '#lib/text/words.ts'

/** Maximum number of words in a query: a longer query does not narrow a search. */
export const mostNeedles = 300
/** Whether PostgreSQL compares the word without regard to case in the same way in every locale. */
const isPlain = (word: string): boolean => /^[a-z0-9]{3,}$/.test(word)

/**
 * Words such that every run of the texts contains at least one of them, for a query that narrows a search. Undefined if there are too many,
 * or if all words of a run may be folded differently by a database: then everything must be read.
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
        .map(({ word, start, end: until }, at) => ({
          word,
          at,
          isWhole: word === text.slice(start, until).toLowerCase(),
        }))
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
