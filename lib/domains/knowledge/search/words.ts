import { stemmer } from 'stemmer'

/**
 * The one way in which text becomes words: for the index, for queries, for snippets and for the table of words. Pure and linear.
 *
 * - Upper and lower case, diacritics and compatibility forms (NFKC) are one; English endings go (Porter).
 * - `readFile`, `read_file`, `HTTPServer` are found by their parts and whole (`readfile`).
 * - Chinese and Japanese, which write no spaces, give every character and every pair of neighbours: whatever a dictionary thinks of
 *   the text, a word of it is found. Thai, Lao, Khmer and Burmese give the words of `Intl.Segmenter`.
 */

/**
 * One word: `step` is 0 where it shares the place of the word before it (a whole beside its parts, a pair beside its first character).
 * `start` and `end` are UTF-16 offsets into the text.
 */
export type Visit = (word: string, start: number, end: number, step: 0 | 1) => void

/** Longer words are cut: a `tsvector` takes 2 KB, and nobody searches for more. */
export const longestWord = 64
/** Longer runs are data (base64, hashes), no identifiers to be taken apart. */
const longestIdentifier = 80
const mostParts = 12

const [none, lower, upper, digit, underscore] = [0, 1, 2, 4, 8]
const classes = Uint8Array.from({ length: 128 }, (_, code) => {
  const character = String.fromCharCode(code)
  if (character >= 'a' && character <= 'z') return lower
  if (character >= 'A' && character <= 'Z') return upper
  if (character >= '0' && character <= '9') return digit
  return character === '_' ? underscore : none
})

/** What was looked up last: words repeat, and their stems cost more than the rest together. Full, it starts anew. */
const known = new Map<string, readonly string[]>()
const mostKnown = 1 << 15

const stemmed = (word: string): string => (word.length <= 30 && /^[a-z]{3,}$/.test(word) ? stemmer(word) : word)
const cut = (word: string): string => (word.length <= longestWord ? word : word.slice(0, longestWord).toWellFormed())

/** The words of one run of ASCII letters, digits and `_`: its parts, and the whole last where there are several. */
function taken(run: string): readonly string[] {
  if (run.length > longestIdentifier) return [cut(run.replaceAll('_', '').toLowerCase() || run)]
  const parts = run.match(/[A-Z]+(?![a-z])[0-9]*|[A-Z]?[a-z0-9]+|[A-Z]/g) ?? []
  if (parts.length <= 1) return parts.map((part) => stemmed(part.toLowerCase()))
  const whole = stemmed(cut(parts.join('').toLowerCase()))
  return [...parts.slice(0, mostParts).map((part) => stemmed(part.toLowerCase())), whole]
}

function identifier(run: string, start: number, end: number, visit: Visit): void {
  let words = known.get(run)
  if (words === undefined) {
    words = taken(run)
    if (run.length <= longestIdentifier) {
      if (known.size >= mostKnown) known.clear()
      // A copy: a slice would keep the whole text that it was cut from.
      known.set(Buffer.from(run, 'latin1').toString('latin1'), words)
    }
  }
  const last = words.length - 1
  if (last === 0) visit(words[0] ?? '', start, end, 1)
  else for (let at = 0; at <= last; at++) visit(words[at] ?? '', start, end, at === last ? 0 : 1)
}

const spelled: Record<string, string> = { ß: 'ss', ẞ: 'SS', æ: 'ae', Æ: 'AE', œ: 'oe', Œ: 'OE', ø: 'o', Ø: 'O', đ: 'd', Đ: 'D', ł: 'l', Ł: 'L', ı: 'i', ς: 'σ' } // biome-ignore format: a table
const folded = (text: string): string =>
  text
    .normalize('NFKD')
    .replace(/[\u0300-\u036f]/g, '')
    .replace(/[ßẞæÆœŒøØđĐłŁıς]/g, (letter) => spelled[letter] ?? letter)
    .normalize('NFC')

const runs = /[\p{L}\p{M}\p{N}_]+/gu
const scripts =
  /(?<pairs>[\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}]+)|(?<segments>[\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]+)|(?<rest>(?:(?![\p{scx=Han}\p{scx=Hiragana}\p{scx=Katakana}\p{sc=Thai}\p{sc=Lao}\p{sc=Khmer}\p{sc=Myanmar}]).)+)/gsu
const segmenter = new Intl.Segmenter('th', { granularity: 'word' })

const inWords = /^[\p{L}\p{M}\p{N}_]+$/u

function pairs(text: string, start: number, visit: Visit): void {
  const whole = text.normalize('NFKC')
  const isSame = whole.length === text.length
  let before: { character: string; start: number; end: number } | undefined
  let at = 0
  for (const character of whole) {
    // A compatibility form may hold more than it shows: ㈠ is (一).
    if (!inWords.test(character)) {
      before = undefined
      at += character.length
      continue
    }
    const from = isSame ? start + at : start
    const to = isSame ? from + character.length : start + text.length
    if (before) visit(before.character + character, before.start, to, 0)
    visit(character, from, to, 1)
    before = { character, start: from, end: to }
    at += character.length
  }
}

/** A stretch that is not ASCII alone. */
function foreign(text: string, start: number, end: number, visit: Visit): void {
  for (const run of text.slice(start, end).matchAll(runs))
    for (const piece of run[0].matchAll(scripts)) {
      const from = start + run.index + piece.index
      const to = from + piece[0].length
      if (piece.groups?.pairs !== undefined) pairs(piece[0], from, visit)
      else if (piece.groups?.segments !== undefined)
        for (const { segment, index } of segmenter.segment(piece[0])) {
          const word = segment.normalize('NFKC')
          if (inWords.test(word)) visit(cut(word), from + index, from + index + segment.length, 1)
        }
      else
        for (const [word] of folded(piece[0]).matchAll(runs))
          if (/^[\w]+$/.test(word)) identifier(word, from, to, visit)
          else for (const part of word.toLowerCase().split('_')) if (part !== '') visit(cut(part), from, to, 1)
    }
}

/** Dashes, quotes, dots and spaces of typography; not the joiners that stand within words. */
const isPunctuation = (code: number): boolean =>
  (code >= 0x2000 && code <= 0x206f && code !== 0x200c && code !== 0x200d) || (code >= 0x3000 && code <= 0x3004) || code === 0xa0 || code === 0xfeff // biome-ignore format: a table

/** Calls `visit` for every word of the text, in the order of the text. */
export function eachWord(text: string, visit: Visit): void {
  const end = text.length
  let at = 0
  while (at < end) {
    const start = at
    let code = text.charCodeAt(at)
    while (code < 128 && classes[code] !== none) code = ++at < end ? text.charCodeAt(at) : 0
    if (at >= end || code < 128 || isPunctuation(code)) {
      if (at > start) identifier(text.slice(start, at), start, at, visit)
      at++
      continue
    }
    do code = ++at < end ? text.charCodeAt(at) : 0
    while (code >= 128 ? !isPunctuation(code) : classes[code] !== none)
    foreign(text, start, at, visit)
  }
}

/** The distinct words of a text. */
export function wordsOf(text: string): string[] {
  const words = new Set<string>()
  eachWord(text, (word) => words.add(word))
  return [...words]
}
