import { joinsRight, joinsToPrevious } from './joining.ts'
import type { SanitizerFinding } from './sanitization-error.ts'
import { isRegisteredVariation } from './variations.ts'

/** Category Cf except visible marks (U+0600 and similar), the two separators, tag characters, variation selectors. */
const SUSPECT =
  /[[\p{Cf}\u2028\u2029\u{E0000}-\u{E007F}\p{Variation_Selector}]--[\u0600-\u0605\u06DD\u070F\u0890\u0891\u08E2\u{110BD}\u{110CD}]]/v
/** Possible emoji sequences with joiners, or flags of tag characters. */
const SEQUENCE =
  /[\p{Emoji}--[0-9#*]][\p{Emoji_Modifier}\uFE0F]?(?:\u200D[\p{Emoji}--[0-9#*]][\p{Emoji_Modifier}\uFE0F]?)+|\u{1F3F4}[\u{E0020}-\u{E007F}]+/v
const CANDIDATE = new RegExp(`${SEQUENCE.source}|${SUSPECT.source}`, 'v')
const RGI = /^\p{RGI_Emoji}$/v
const SELECTOR = /^\p{Variation_Selector}$/u
/** Maximum length of a sequence to check; the longest RGI sequence has 35 UTF-16 units. */
const LONGEST = 48

/**
 * Stage 3: returns the first invisible character that is not allowed in its context, or undefined. `strict` disables the allowances: joiners in
 * RGI emoji (UTS #51), joiners in words (UAX #31), direction marks, soft hyphens, U+200B, flags of tag characters.
 */
export function findInvisible(text: string, strict: boolean): SanitizerFinding | undefined {
  const pattern = new RegExp(strict ? SUSPECT : CANDIDATE, 'vg')
  for (const match of text.matchAll(pattern)) {
    const found = match[0]
    if (isSingle(found)) {
      if (!isAllowedAt(text, match.index, found, strict)) return { offset: match.index, rule: nameOf(found) }
      continue
    }
    const offset = SUSPECT.exec(found)?.index ?? -1
    if (offset < 0 || (offset > 0 && isRgi(found))) continue
    for (const inner of found.matchAll(new RegExp(SUSPECT, 'vg'))) {
      const at = match.index + inner.index
      if (!isAllowedAt(text, at, inner[0], strict)) return { offset: at, rule: nameOf(inner[0]) }
    }
  }
  return undefined
}

/** Whether a match is one suspect character, not a sequence. */
const isSingle = (found: string): boolean =>
  found.length === 1 || (found.length === 2 && !EMOJI.test(found) && found.codePointAt(0) !== found.charCodeAt(0))
const EMOJI = /\p{Emoji}/u

/** Maximum distance at which the text around a character matters. */
const CONTEXT = 33
const knownContexts = new Map<string, boolean>()

/** Texts repeat few contexts, and a look into the map is faster than the rules. */
function isAllowedAt(text: string, at: number, character: string, strict: boolean): boolean {
  if (strict) return isAllowed(text, at, character, true)
  const reach = SELECTOR.test(character) ? 2 : CONTEXT
  const start = Math.max(0, at - reach)
  const context = text.slice(start, at + character.length + reach)
  const key = String.fromCharCode(at - start) + context
  const known = knownContexts.get(key)
  if (known !== undefined) return known
  const allowed = isAllowed(context, at - start, character, false)
  if (knownContexts.size >= MOST_KNOWN) knownContexts.clear()
  knownContexts.set(key, allowed)
  return allowed
}

function isAllowed(text: string, at: number, character: string, strict: boolean): boolean {
  if (SELECTOR.test(character)) {
    const base = before(text, at)
    return isRegisteredVariation(base, character) && !SELECTOR.test(after(text, at + character.length))
  }
  if (strict) return false
  if (character === '\u200B')
    return isInScript(before(text, at), NO_SPACES) || isInScript(after(text, at + 1), NO_SPACES)
  if (DIRECTION.test(character)) return isBesideRightToLeft(text, at)
  if (character === '\u00AD') return isLetter(before(text, at)) && isLetter(after(text, at + 1))
  if (character === '\u200C')
    return (
      isBetweenJoining(text, at) ||
      isAfterVirama(text, at) ||
      isBeforeVirama(text, at) ||
      isInWord(text, at, ARABIC_WORD) ||
      isInWord(text, at, MALAYALAM_WORD)
    )
  return character === '\u200D' && (isAfterVirama(text, at) || isBeforeVirama(text, at) || isBesideJoining(text, at))
}

/** Scripts without spaces between words, in which U+200B marks possible line breaks. */
const NO_SPACES = /^[\p{Script=Khmer}\p{Script=Thai}\p{Script=Myanmar}\p{Script=Lao}]$/u
const isInScript = (character: string, script: RegExp): boolean => script.test(character)
const isLetter = (character: string): boolean => /^[\p{L}\p{M}]$/u.test(character)
/** LRM, RLM and ALM. */
const DIRECTION = /^[\u200E\u200F\u061C]$/
const RIGHT_TO_LEFT = /[\p{Script=Hebrew}\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}]/u
/** Maximum distance between a direction mark and right-to-left text: a number or a quoted word may be between them. */
const REACH = 32
const isBesideRightToLeft = (text: string, at: number): boolean =>
  !DIRECTION.test(after(text, at + 1)) &&
  (RIGHT_TO_LEFT.test(text.slice(Math.max(0, at - REACH), at)) ||
    RIGHT_TO_LEFT.test(text.slice(at + 1, at + 1 + REACH)))

/** A conjunct with the joiner before the virama, such as Bengali র‍্য: a letter, the joiner, a virama, a letter. */
function isBeforeVirama(text: string, at: number): boolean {
  const virama = after(text, at + 1)
  return (
    /^\p{L}$/u.test(before(text, at)) && VIRAMA.test(virama) && /^\p{L}$/u.test(after(text, at + 1 + virama.length))
  )
}

const knownSequences = new Map<string, boolean>()
/** Maximum cached sequences; texts use few. */
const MOST_KNOWN = 1024
function isRgi(sequence: string): boolean {
  const known = knownSequences.get(sequence)
  if (known !== undefined) return known
  const isOne = looksUpRgi(sequence)
  if (knownSequences.size < MOST_KNOWN) knownSequences.set(sequence, isOne)
  return isOne
}

/** Whether it is an RGI emoji, also without its U+FE0F, which many keyboards and services omit. */
function looksUpRgi(sequence: string): boolean {
  if (sequence.length > LONGEST) return false
  if (RGI.test(sequence)) return true
  const qualified = sequence
    .split('\u200D')
    .map((part) =>
      part.replace(/^(\p{Emoji})(?!\uFE0F)$/u, (emoji) =>
        /\p{Emoji_Presentation}/u.test(emoji) ? emoji : `${emoji}\uFE0F`,
      ),
    )
    .join('\u200D')
  return RGI.test(qualified)
}

/** UAX #31 A1: a left-joining letter, marks, ZWNJ, marks, a right-joining letter. */
function isBetweenJoining(text: string, at: number): boolean {
  return joinsToPrevious(neighbour(text, at, -1).character) && joinsRight(neighbour(text, at, 1).character)
}

/**
 * UAX #31 A2 and B: a letter, marks, a virama, marks, the joiner. Here no mark and no other invisible character may follow, which is stricter
 * than "no dependent vowel"; the end of the word may, because Malayalam writes it there.
 */
function isAfterVirama(text: string, at: number): boolean {
  const letter = neighbour(text, at, -1)
  return /^\p{L}$/u.test(letter.character) && VIRAMA.test(letter.passed) && !MARK_OR_FORMAT.test(after(text, at + 1))
}
const MARK_OR_FORMAT = /^[\p{M}\p{Cf}]$/u

type WordRules = { before: RegExp; after: RegExp }
/**
 * Persian, Kurdish and Urdu write U+200C also after letters that do not join (`کارها`), at the end of a word (`ه`), and between a Latin
 * word or number and a suffix (`APIها`).
 */
const ARABIC_WORD: WordRules = {
  before: /(?:[\p{Script=Arabic}\p{M}\u200C\u200D]{1,24}|[A-Za-z0-9)»"]{1,24})$/u,
  after: /^[\p{Script=Arabic}\p{M}\u200C\u200D]{0,24}/u,
}
/** Malayalam writes it after chillu letters and the anusvara. */
const MALAYALAM_WORD: WordRules = {
  before: /[\p{Script=Malayalam}\u200C\u200D]{1,24}$/u,
  after: /^[\p{Script=Malayalam}\u200C\u200D]{0,24}/u,
}
const FEWEST_LETTERS = 3
const MOST_JOINERS = 3
/** Whether the joiner is in or at the end of a word of the script that has at least three letters (two before its end) and few joiners. */
function isInWord(text: string, at: number, rules: WordRules): boolean {
  const head = rules.before.exec(text.slice(Math.max(0, at - CONTEXT), at))?.[0] ?? ''
  const tail = rules.after.exec(text.slice(at + 1, at + CONTEXT))?.[0] ?? ''
  if (head === '' || FORMAT.test(before(text, at)) || MARK_OR_FORMAT.test(after(text, at + 1))) return false
  if (tail === '' && (/^[A-Za-z0-9)»"]/.test(head) || /^\p{L}$/u.test(after(text, at + 1)))) return false
  const word = head + tail
  const letters = word.match(/[\p{L}\p{N}]/gu)?.length ?? 0
  return letters >= (tail === '' ? 2 : FEWEST_LETTERS) && (word.match(/[\u200C\u200D]/g)?.length ?? 0) < MOST_JOINERS
}
const FORMAT = /^\p{Cf}$/u

/** The joined form of a letter alone, as in the abbreviation ه‍ of Persian, and of the letter heh anywhere, as in Kurdish. */
function isBesideJoining(text: string, at: number): boolean {
  const [letter, next] = [before(text, at), after(text, at + 1)]
  if (MARK_OR_FORMAT.test(next)) return false
  if (letter === '\u0647' || letter === '\u06BE') return true
  return joinsToPrevious(letter) ? !/^\p{L}$/u.test(next) : !/^[\p{L}\p{Cf}]$/u.test(letter) && joinsRight(next)
}

/** Characters of combining class 9 (Unicode 17): viramas, which suppress a consonant's vowel. */
const VIRAMA =
  /[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D3B\u0D3C\u0D4D\u0DCA\u0E3A\u0EBA\u0F84\u1039\u103A\u1714\u1715\u1734\u17D2\u1A60\u1B44\u1BAA\u1BAB\u1BF2\u1BF3\u2D7F\uA806\uA82C\uA8C4\uA953\uA9C0\uAAF6\uABED\u{10A3F}\u{11046}\u{11070}\u{1107F}\u{110B9}\u{11133}\u{11134}\u{111C0}\u{11235}\u{112EA}\u{1134D}\u{113CE}\u{113CF}\u{113D0}\u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{1193D}\u{1193E}\u{119E0}\u{11A34}\u{11A47}\u{11A99}\u{11C3F}\u{11D44}\u{11D45}\u{11D97}\u{11F41}\u{11F42}]/u
/** Maximum marks on a letter beside a joiner. */
const MOST_MARKS = 16
const MARK = /^[\p{Mn}\p{Me}\p{Mc}]$/u

/** The nearest character that is not a mark, to the left (-1) or right (1), and the marks skipped. A joiner is not a mark. */
function neighbour(text: string, at: number, direction: -1 | 1): { character: string; passed: string } {
  let passed = ''
  let position = direction < 0 ? at : at + 1
  for (let marks = 0; ; marks += 1) {
    if (marks > MOST_MARKS) return { character: '', passed }
    const character = direction < 0 ? before(text, position) : after(text, position)
    if (character === '' || !MARK.test(character)) return { character, passed }
    passed += character
    position += direction * character.length
  }
}

function before(text: string, at: number): string {
  const isPair =
    at >= 2 && (text.charCodeAt(at - 1) & 0xfc00) === 0xdc00 && (text.charCodeAt(at - 2) & 0xfc00) === 0xd800
  return text.slice(isPair ? at - 2 : Math.max(at - 1, 0), at)
}

function after(text: string, at: number): string {
  const code = text.codePointAt(at)
  return code === undefined ? '' : String.fromCodePoint(code)
}

function nameOf(character: string): string {
  return `U+${(character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0')}`
}
