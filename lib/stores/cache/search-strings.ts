/** Shorter strings match only as separate words: the id `message-10` must not match in `message-101`. */
const unmistakable = 20
/** Up to this many strings are searched one after the other; more are grouped by their first characters. */
const few = 16
const head = 4
const isWordly = (character: string | undefined): boolean => character !== undefined && /^[A-Za-z0-9]$/.test(character)

const isWhole = (text: string, at: number, length: number, asWords: boolean): boolean =>
  !asWords || length >= unmistakable || !(isWordly(text[at - 1]) || isWordly(text[at + length]))

function occursAsWhole(text: string, searchString: string, asWords: boolean): boolean {
  for (let at = text.indexOf(searchString); at >= 0; at = text.indexOf(searchString, at + 1))
    if (isWhole(text, at, searchString.length, asWords)) return true
  return false
}

/** Strings by their lengths. */
type Lengths = ReadonlyMap<number, ReadonlySet<string>>

function startsAt(text: string, at: number, lengths: Lengths, asWords: boolean): boolean {
  for (const [length, set] of lengths)
    if (set.has(text.slice(at, at + length)) && isWhole(text, at, length, asWords)) return true
  return false
}
function startsAnywhere(text: string, begins: string, lengths: Lengths, asWords: boolean): boolean {
  for (let at = text.indexOf(begins); at >= 0; at = text.indexOf(begins, at + 1))
    if (startsAt(text, at, lengths, asWords)) return true
  return false
}

export interface SearchStrings {
  isEmpty: boolean
  /** The length of the longest string, in characters. */
  longest: number
  /** Whether the text contains one of the strings. */
  occursIn(text: string): boolean
}

/** Like {@link searchStringsOf}, but also matches inside words. */
const piecesOf = (strings: readonly string[]): SearchStrings => searchStringsOf(strings, { asWords: false })

/** A search for many strings in many texts; ten thousand strings cost about as much as a few. Empty strings are ignored. */
export function searchStringsOf(strings: readonly string[], { asWords } = { asWords: true }): SearchStrings {
  const wanted = [...new Set(strings)].filter((one) => one !== '')
  const longest = wanted.reduce((most, { length }) => Math.max(most, length), 0)
  const isEmpty = wanted.length === 0
  const single = wanted.length <= few ? wanted : wanted.filter((one) => one.length < head)
  const grouped = new Map<string, Map<number, Set<string>>>()
  for (const one of wanted.length <= few ? [] : wanted.filter((other) => other.length >= head)) {
    const lengths = grouped.get(one.slice(0, head)) ?? new Map<number, Set<string>>()
    lengths.set(one.length, (lengths.get(one.length) ?? new Set()).add(one))
    grouped.set(one.slice(0, head), lengths)
  }
  return {
    isEmpty,
    longest,
    occursIn(text) {
      if (single.some((one) => occursAsWhole(text, one, asWords))) return true
      // Ids of one kind have the same beginning, so only a few positions are examined.
      if (grouped.size <= few)
        return [...grouped].some(([begins, lengths]) => startsAnywhere(text, begins, lengths, asWords))
      for (let at = 0; at + head <= text.length; at++) {
        const lengths = grouped.get(text.slice(at, at + head))
        if (lengths && startsAt(text, at, lengths, asWords)) return true
      }
      return false
    },
  }
}

/** A pattern that matches only this text, for {@link matcherOf} and for Redis. */
export const literally = (text: string): string => text.replace(/[\\*?[\]]/g, '\\$&')

const containing = /^\*((?:[^*?\\]|\\[\s\S])+)\*$/

/** Returns whether a name matches one of the patterns: `*` any characters, `?` one character, `\` before literal characters. */
export function matcherOf(patterns: readonly string[]): (name: string) => boolean {
  // Most patterns are `*<text>*`, and there may be thousands of them.
  const contained = patterns.map((pattern) => containing.exec(pattern)?.[1])
  const pieces = piecesOf(contained.flatMap((text) => (text === undefined ? [] : [text.replace(/\\([\s\S])/g, '$1')])))
  const forms = patterns
    .filter((_, n) => contained[n] === undefined)
    .map((pattern) => {
      const parts = pattern.matchAll(/\\([\s\S])|([\s\S])/gu)
      const source = [...parts].map(([, escaped, character = '']) => {
        if (escaped !== undefined) return RegExp.escape(escaped)
        if (character === '*') return '[\\s\\S]*'
        return character === '?' ? '[\\s\\S]' : RegExp.escape(character)
      })
      // Adjacent stars are merged: each additional one would only multiply the ways to match.
      return new RegExp(`^${source.join('').replace(/(\[\\s\\S\]\*)+/g, '[\\s\\S]*')}$`, 'u')
    })
  return (name) => pieces.occursIn(name) || forms.some((form) => form.test(name))
}
