/** LIKE patterns that find a text in lower-case names. A short text is only sought at the beginning of words, which an index can find. */
export interface NamePatterns {
  one: string
  other: string
}

/** The shortest text that a trigram index finds anywhere in a name. */
const trigram = 3

/** Returns the patterns for a text as typed. */
export function namePatterns(typed: string): NamePatterns {
  const text = typed
    .trim()
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')
  return [...text].length < trigram
    ? { one: `${text}%`, other: `% ${text}%` }
    : { one: `%${text}%`, other: `%${text}%` }
}
