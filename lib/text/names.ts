import { casesOf, languagesOf, withParticles, withProclitics } from './name-cases.ts'
import {
  commonWords,
  contracted,
  cyrillic,
  doubleSurnames,
  greek,
  inflections,
  isWestSlavic,
  patronymics,
  spelledOut,
  titles,
} from './name-data.ts'
import { foldWord, tokenize } from './words.ts'

/** The forms of a name as sequences of folded words, in which an apostrophe separates words. */
export interface NameForms {
  /** Forms that certainly name the person. */
  certain: string[][]
  /** Forms of ordinary words: they name the person only if each word has a capital. */
  capitalized: string[][]
  /** Forms that may name somebody else: single words, initials, cases. They are counted and not removed. */
  uncertain: string[][]
}

const maxVariants = 12
const maxForms = 1_200
const maxInflected = 400
const maxCases = 80

const wordsOf = (text: string): string[] => tokenize(text, { splits: true }).map(({ word }) => word)
const isOneScript = (text: string): boolean => wordsOf(text).some((word) => [...word].length > 1)

function romanized(word: string, tables: readonly Readonly<Record<string, string>>[]): string[] {
  return tables.map((letters) => {
    let rest = ''
    for (let at = 0; at < word.length; ) {
      const pair = letters[word.slice(at, at + 2)]
      if (pair !== undefined) {
        rest += pair
        at += 2
      } else {
        rest += letters[word[at] ?? ''] ?? word[at] ?? ''
        at++
      }
    }
    return rest
  })
}

/** The spellings of one part of a name, each as a sequence of words. */
function spellings(part: string): string[][] {
  const lower = part.normalize('NFC').toLowerCase()
  const written = new Set([part])
  let out = lower
  for (const [from, to] of spelledOut) out = out.replace(from, to)
  written.add(out)
  let back = lower
  for (const [from, to] of contracted) back = back.replace(from, to)
  written.add(back)
  const folded = foldWord(lower)
  if (/\p{Script=Cyrillic}/u.test(lower)) for (const one of romanized(lower, cyrillic)) written.add(one)
  if (/\p{Script=Greek}/u.test(folded)) for (const one of romanized(folded, greek)) written.add(one)
  const found = new Map<string, string[]>()
  for (const one of written) {
    const words = wordsOf(one)
    if (words.length === 0) continue
    found.set(words.join(' '), words)
    // `Anna-Lena` and `O'Brien` are also written as one word.
    if (words.length > 1 && isOneScript(one)) found.set(words.join(''), [words.join('')])
  }
  return [...found.values()].slice(0, maxVariants)
}

/** Every choice of one item of each list. */
function choices(lists: readonly (readonly string[][])[]): string[][] {
  let found: string[][] = [[]]
  for (const list of lists) {
    found = found.flatMap((before) => list.map((one) => [...before, ...one]))
    if (found.length > maxForms) found = found.slice(0, maxForms)
  }
  return found
}
const initialOf = (spelled: readonly string[][]): string[][] => {
  const initials = new Set(spelled.map((words) => [...(words[0] ?? '')][0] ?? ''))
  return [...initials].map((initial) => [initial])
}
/** The genitive of German, English and the Scandinavian languages. `'s` is a word of its own in a text. */
const withGenitives = (spelled: readonly string[][]): string[][] =>
  spelled.flatMap((words) => {
    const last = words.at(-1) ?? ''
    // `Anna Peters` is somebody else than `Anna Peter`.
    const isLatin = /^[a-z]{2,}$/.test(last) && !patronymics.has(last)
    return isLatin ? [words, [...words.slice(0, -1), `${last}s`], [...words.slice(0, -1), `${last}es`]] : [words]
  })
/** Both parts of a name in each case of the languages whose rules they follow. */
function declined(parts: readonly string[]): { certain: string[][]; uncertain: string[][] } {
  const folded = parts.map((part) => wordsOf(part))
  const [certain, uncertain]: [string[][], string[][]] = [[], []]
  const [first = '', last = ''] = [parts[0], parts.at(-1)]
  const ends = folded.map((words) => words.at(-1) ?? '')
  for (const language of languagesOf({ written: first, folded: ends[0] ?? '' }, { written: last }))
    for (const { words, isAmbiguous } of casesOf(language, ends)) {
      const whole = words.map((word, at) => [...(folded[at] ?? []).slice(0, -1), word])
      const to = isAmbiguous ? uncertain : certain
      to.push(whole.flat(), [...(whole.at(-1) ?? []), ...whole.slice(0, -1).flat()])
    }
  return { certain, uncertain }
}
/** Korean names have no space, and particles follow them; in other scripts, prepositions precede them. */
function joined(parts: readonly string[]): string[][] {
  const whole = parts.join('')
  if (/^\p{Script=Hangul}{2,4}$/u.test(whole.normalize('NFC'))) {
    const [family = '', given = ''] = parts.length === 2 ? parts : [whole.slice(0, 1), whole.slice(1)]
    return [
      ...withParticles(whole).map((one) => [foldWord(one)]),
      ...withParticles(given).map((one) => [foldWord(family), foldWord(one)]),
      ...withParticles(family).map((one) => [foldWord(given), foldWord(one)]),
    ]
  }
  if (parts.length === 1 && /^\p{Script=Han}{2,4}$/u.test(whole)) {
    const family = doubleSurnames.has(whole.slice(0, 2)) ? 2 : 1
    return [wordsOf(whole.slice(family) + whole.slice(0, family))]
  }
  const [first = '', ...rest] = parts.flatMap(wordsOf)
  return parts.length > 1 ? withProclitics(first).map((one) => [foldWord(one), ...rest]) : []
}
function inflected(part: string, spelled: readonly string[][]): string[][] {
  const found: string[][] = []
  for (const words of spelled)
    for (const { applies, drops, endings } of inflections) {
      const last = words.at(-1) ?? ''
      if (!applies.test(last) || (/^[a-z]/.test(last) && !isWestSlavic.test(part))) continue
      const stems = new Set([last, last.replace(drops, '')])
      for (const stem of stems)
        for (const ending of endings) found.push([...words.slice(0, -1), foldWord(stem + ending)])
    }
  return found.slice(0, maxCases)
}

const unique = (forms: readonly string[][], besides: readonly string[][] = []): string[][] => {
  const known = new Set(besides.map((words) => words.join(' ')))
  return forms.filter((words) => {
    const key = words.join(' ')
    if (key === '' || known.has(key)) return false
    known.add(key)
    return true
  })
}

/**
 * The forms in which people write a name: in both orders, with accents written in every usual way, romanized, with initials of middle
 * names, and in the genitive. An email address has one form.
 */
export function nameForms(name: string): NameForms {
  const exact = wordsOf(name)
  if (exact.length === 0) return { certain: [], capitalized: [], uncertain: [] }
  if (name.includes('@')) return { certain: [exact], capitalized: [], uncertain: [] }
  const parts = name.split(/[\s,;]+/u).filter((part) => wordsOf(part).length > 0 && !titles.has(wordsOf(part).join('')))
  if (parts.length < 2) {
    const only = parts[0] === undefined ? [] : spellings(parts[0])
    const certain = unique([exact, ...joined(parts)])
    return { certain, capitalized: [], uncertain: isOneScript(name) ? unique(only, certain) : [] }
  }
  const spelled = parts.map(spellings)
  const [first = [], last = []] = [spelled[0], spelled.at(-1)]
  const middle = spelled.slice(1, -1).map((one) => [...one, ...initialOf(one)])
  const cases = declined(parts)
  const certain = unique([
    exact,
    ...joined(parts),
    ...cases.certain.slice(0, maxInflected),
    ...choices([first, ...middle, withGenitives(last)]),
    ...choices([last, first, ...middle.slice(0, -1), ...middle.slice(-1)]),
    ...choices([last, withGenitives(first)]).filter(() => parts.length === 2),
    ...(parts.length > 2 ? choices([...middle, withGenitives(last), first]) : []),
  ]).slice(0, maxForms)
  const [firstPart = '', lastPart = ''] = [parts[0], parts.at(-1)]
  const uncertain = unique(
    [
      ...cases.uncertain,
      ...choices([first, last]),
      ...choices([last, first]),
      ...choices([initialOf(first), last]),
      ...choices([last, initialOf(first)]),
      ...first,
      ...inflected(firstPart, first),
      ...last,
      ...inflected(lastPart, last),
    ],
    certain,
  ).slice(0, maxForms)
  const isCommon = exact.every((word) => commonWords.has(word) || (word.length === 1 && /[a-z]/.test(word)))
  return isCommon ? { certain: [], capitalized: certain, uncertain } : { certain, capitalized: [], uncertain }
}

/**
 * Whether other names name the same person by a certain form: `Juergen Mueller`, `Müller, Jürgen` and `Dr. Jürgen Müller` have the name of
 * `Jürgen Müller`. A name of one word is only compared as a whole.
 */
export function sameName(name: string): (other: string) => boolean {
  const { certain, capitalized } = nameForms(name)
  const forms = new Set([...certain, ...capitalized].map((words) => words.join(' ')))
  const lengths = new Set([...forms].map((form) => form.split(' ').length))
  return (other) => {
    const words = wordsOf(other)
    if (forms.has(words.join(' '))) return true
    for (const length of lengths)
      for (let at = 0; length > 1 && at + length <= words.length; at++)
        if (forms.has(words.slice(at, at + length).join(' '))) return true
    return false
  }
}
