import { withoutSigns } from './disguises.ts'
import type { Range } from './markdown-lines.ts'
import { type OverrideWords, overrideWords } from './override-words.ts'

const GAP = '[\\s*`"\'>,:]{1,8}'
const within = '[\\s*`"\'「」『』“”，,]{0,3}'

/** Accents, invisible characters, Arabic vowel signs and the tatweel. */
const ACCENTS = /[\u0300-\u036f\u064b-\u065f\u0670\u0640\p{Cf}]/gu
const NOT_ASCII = /[^\0-\x7f]/
/** Lower case without accents, invisible characters and full-width forms: people omit accents. */
const plain = (text: string): string =>
  NOT_ASCII.test(text) ? text.toLowerCase().normalize('NFKD').replace(ACCENTS, '') : text.toLowerCase()
function placeOf(text: string, offset: number): number {
  if (!NOT_ASCII.test(text)) return offset
  let position = 0
  let copied = 0
  for (const character of text) {
    copied += plain(character).length
    if (copied > offset) return position
    position += character.length
  }
  return position
}

/** Alternatives as a pattern: white space within a phrase may be of any form. */
const anyOf = (words: string): string => `(?:${plain(words).replaceAll(' ', '\\s{1,8}')})`

function patternOf({ verbs, prior, orders, fill, verbsLast, split, verbLast, joined }: OverrideWords): string {
  const [verb, before, order, other] = [anyOf(verbs), anyOf(prior), anyOf(orders), anyOf(fill)]
  const gap = joined ? within : GAP
  const some = (most: number) => `(?:${other}${gap}){0,${most}}`
  const told = `(?:${before}${gap}${some(5)}${order}|${order}${gap}${some(6)}${before})`
  const inWord = joined ? '' : '(?<![\\p{L}\\p{N}_-])'
  const endWord = joined ? '' : '(?![\\p{L}\\p{N}_-])'
  if (verbLast) return `${inWord}${told}${gap}${some(6)}${verb}`
  const patterns = [`${inWord}${verb}${gap}${some(6)}${told}${endWord}`]
  if (verbsLast) patterns.push(`${inWord}${told}${gap}${some(6)}${anyOf(verbsLast)}${endWord}`)
  if (split) {
    const first = anyOf(split.verbs)
    patterns.push(`${inWord}${first}${gap}${some(6)}${told}${gap}${some(2)}${anyOf(split.parts)}${endWord}`)
  }
  return patterns.join('|')
}

/** Words for "instructions": without one of these the pattern cannot match. */
const signOf = ({ orders, joined }: OverrideWords): string =>
  joined ? anyOf(orders) : `(?<![\\p{L}\\p{N}_])${anyOf(orders)}(?![\\p{L}\\p{N}_])`
const isLatin = ({ verbs }: OverrideWords): boolean => /^[a-z]/.test(plain(verbs))

const latin = overrideWords.filter(isLatin)
/** Patterns with the words without which they cannot match. The languages in Latin letters share one pass. */
const GROUPS: readonly { sign: RegExp; patterns: readonly RegExp[]; isLatin: boolean }[] = [
  {
    sign: new RegExp(`\\b(?:${latin.map(({ orders }) => anyOf(orders)).join('|')})\\b`, 'g'),
    patterns: latin.map((words) => new RegExp(patternOf(words), 'gu')),
    isLatin: true,
  },
  ...overrideWords
    .filter((words) => !isLatin(words))
    .map((words) => ({
      sign: new RegExp(signOf(words), 'gu'),
      patterns: [new RegExp(patternOf(words), 'gu')],
      isLatin: false,
    })),
]
/** Maximum distance between the words for "instructions" and both ends of an order. */
const REACH = 160

/** A copy of the text for comparison, and the orders found in it. */
export type Overrides = { copy: string; found: { start: number; end: number }[]; placeOf: (offset: number) => number }

/** Finds orders to ignore previous instructions in languages other than English. */
export function findOverrides(text: string): Overrides {
  const copy = plain(text)
  const found: Overrides['found'] = []
  const isAscii = !NOT_ASCII.test(copy)
  for (const { sign, patterns, isLatin } of GROUPS) {
    if (isAscii && !isLatin) break
    for (const { start, end } of windowsAround(copy, sign)) {
      const window = copy.slice(start, end)
      const signless = withoutSigns(window)
      for (const variant of signless === window ? [window] : [window, signless])
        for (const pattern of patterns)
          for (const { 0: order, index } of variant.matchAll(pattern))
            found.push({ start: start + index, end: start + index + order.length })
    }
  }
  return { copy, found, placeOf: (offset) => placeOf(text, offset) }
}

function windowsAround(copy: string, sign: RegExp): Range[] {
  const windows: Range[] = []
  for (const { index } of copy.matchAll(sign)) {
    const last = windows.at(-1)
    if (last && index - REACH <= last.end) last.end = index + REACH
    else windows.push({ start: Math.max(0, index - REACH), end: index + REACH })
  }
  return windows
}
