import { joinsRight, joinsToPrevious } from './joining.ts'
import type { SanitizerFinding } from './sanitization-error.ts'

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
 * Stage 3: returns the first invisible character that is not allowed in its context, or undefined. `strict` disables the three allowances:
 * joiners in RGI emoji (UTS #51), joiners in contexts A1, A2 and B of UAX #31, flags of tag characters.
 */
export function findInvisible(text: string, strict: boolean): SanitizerFinding | undefined {
  const pattern = new RegExp(strict ? SUSPECT : CANDIDATE, 'vg')
  for (const match of text.matchAll(pattern)) {
    const found = match[0]
    const offset = SUSPECT.exec(found)?.index ?? -1
    if (offset < 0) continue
    const isSequence = offset > 0
    if (isSequence && isRgi(found)) continue
    for (const inner of found.matchAll(new RegExp(SUSPECT, 'vg'))) {
      const at = match.index + inner.index
      if (!isAllowed(text, at, inner[0], strict)) return { offset: at, rule: nameOf(inner[0]) }
    }
  }
  return undefined
}

function isAllowed(text: string, at: number, character: string, strict: boolean): boolean {
  if (SELECTOR.test(character))
    return !SELECTOR.test(before(text, at)) && !SELECTOR.test(after(text, at + character.length))
  if (strict) return false
  if (character === '\u200B')
    return isInScript(before(text, at), NO_SPACES) || isInScript(after(text, at + 1), NO_SPACES)
  if (DIRECTION.test(character)) return isBesideRightToLeft(text, at)
  if (character === '\u00AD') return isLetter(before(text, at)) && isLetter(after(text, at + 1))
  if (character === '\u200C') return isBetweenJoining(text, at) || isAfterVirama(text, at, /^\p{L}$/u)
  return character === '\u200D' && (isAfterVirama(text, at, undefined) || isBeforeVirama(text, at))
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
 * UAX #31 A2 and B: a letter, marks, a virama, marks, the joiner; then for ZWNJ marks and a letter, for ZWJ anything but a dependent vowel.
 * Here no mark may follow a ZWJ, which is stricter than "no dependent vowel".
 */
function isAfterVirama(text: string, at: number, follows: RegExp | undefined): boolean {
  const letter = neighbour(text, at, -1)
  if (!/^\p{L}$/u.test(letter.character) || !VIRAMA.test(letter.passed)) return false
  return follows ? follows.test(neighbour(text, at, 1).character) : !/^\p{M}$/u.test(after(text, at + 1))
}

/** Characters of combining class 9 (Unicode 17): viramas, which suppress a consonant's vowel. */
const VIRAMA =
  /[\u094D\u09CD\u0A4D\u0ACD\u0B4D\u0BCD\u0C4D\u0CCD\u0D3B\u0D3C\u0D4D\u0DCA\u0E3A\u0EBA\u0F84\u1039\u103A\u1714\u1715\u1734\u17D2\u1A60\u1B44\u1BAA\u1BAB\u1BF2\u1BF3\u2D7F\uA806\uA82C\uA8C4\uA953\uA9C0\uAAF6\uABED\u{10A3F}\u{11046}\u{11070}\u{1107F}\u{110B9}\u{11133}\u{11134}\u{111C0}\u{11235}\u{112EA}\u{1134D}\u{113CE}\u{113CF}\u{113D0}\u{11442}\u{114C2}\u{115BF}\u{1163F}\u{116B6}\u{1172B}\u{11839}\u{1193D}\u{1193E}\u{119E0}\u{11A34}\u{11A47}\u{11A99}\u{11C3F}\u{11D44}\u{11D45}\u{11D97}\u{11F41}\u{11F42}]/u
const MARK = /^[\p{Mn}\p{Me}\p{Mc}]$/u

/** The nearest character that is not a mark, to the left (-1) or right (1), and the marks skipped. A joiner is not a mark. */
function neighbour(text: string, at: number, direction: -1 | 1): { character: string; passed: string } {
  let passed = ''
  let position = direction < 0 ? at : at + 1
  for (;;) {
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
