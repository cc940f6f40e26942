/** LIKE patterns that find a text in lower-case names. A short text is only sought at the beginning of words, which an index can find. */
export interface NamePatterns {
  one: string
  other: string
  /** A LIKE pattern for names that begin with the text. They are listed first. */
  start: string
}
/** The number of matches among which those that begin with the text come first. */
export const maxNamesCompared = 200

/** The shortest text that a trigram index finds anywhere in a name. */
const trigram = 3

/** Returns the patterns for a text as typed. */
export function namePatterns(typed: string): NamePatterns {
  const text = typed
    .trim()
    .toLowerCase()
    .replace(/[\\%_]/g, '\\$&')
  const start = `${text}%`
  return [...text].length < trigram
    ? { one: start, other: `% ${text}%`, start }
    : { one: `%${text}%`, other: `%${text}%`, start }
}
