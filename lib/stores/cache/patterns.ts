import { piecesOf } from './search-strings.ts'

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
