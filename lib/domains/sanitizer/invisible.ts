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

/** Base characters by their selectors of StandardizedVariants.txt (Unicode 17), as ranges of code points. */
const STANDARDIZED: readonly { selectors: string; bases: string }[] = [
  {
    selectors: 'FE00',
    bases: `30 2205 2229-222A 2268-2269 2272-2273 228A-228B 2293-2295 2297 229C 22DA-22DB 2A3C-2A3D 2A9D-2A9E 2AAC-2AAD 2ACB-2ACC FF10
1000 1002 1004 1010-1011 1015 1019-101A 101C-101D 1022 1031 1075 1078 107A 1080 AA60-AA66 AA6B-AA6C AA6F AA7A A856 A85C A85E-A860
A868 10AC5-10AC6 10AD6-10AD7 10AE1`,
  },
  {
    selectors: 'FE00-FE01',
    bases: `2018-2019 201C-201D 3001-3002 FF01 FF0C FF0E FF1A-FF1B FF1F 210B 2110 2112 211B 212C 2130-2131 2133 1D49C 1D49E-1D49F
1D4A2 1D4A5-1D4A6 1D4A9-1D4AC 1D4AE-1D4B5`,
  },
  { selectors: 'FE00-FE06', bases: '13000-1342F 13460-143FA' },
  { selectors: '180B-180D 180F', bases: '1820-1878 1880-18AA' },
]

const points = (ranges: string): string =>
  ranges
    .trim()
    .split(/\s+/)
    .map((range) =>
      range
        .split('-')
        .map((hex) => `\\u{${hex}}`)
        .join('-'),
    )
    .join('')
const oneOf = (ranges: string): string => `[${points(ranges)}]`

/** A base and its selector. */
const REGISTERED = new RegExp(
  `^(?:${[
    ...STANDARDIZED.map(({ selectors, bases }) => `${oneOf(bases)}${oneOf(selectors)}`),
    // The text and emoji presentations of emoji-variation-sequences.txt.
    '\\p{Emoji}[\\uFE0E\\uFE0F]',
    // Compatibility ideographs, and the ideographic variation database, in which no ideograph has more than 32 forms.
    '\\p{Unified_Ideograph}[\\uFE00-\\uFE02\\u{E0100}-\\u{E011F}]',
  ].join('|')})$`,
  'u',
)

/** Whether a variation selector after this character is registered. Any other one is invisible and could carry hidden data. */
const isRegisteredVariation = (base: string, selector: string): boolean => REGISTERED.test(base + selector)

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

/** Letters by Joining_Type (ArabicShaping.txt, Unicode 14). Later versions add few letters; a ZWNJ next to those is rejected. */
const DUAL = `620 626 628 62A-62E 633-63F 641-647 649-64A 66E-66F 678-687 69A-6BF 6C1-6C2 6CC 6CE 6D0-6D1 6FA-6FC 6FF
712-714 71A-71D 71F-727 729 72B 72D-72E 74E-758 75C-76A 76D-770 772 775-777 77A-77F 7CA-7EA 841-845 848 84A-853 855 860
862-865 868 886 889-88D 8A0-8A9 8AF-8B0 8B3-8B8 8BA-8C8 1807 1820-1878 1887-18A8 18AA A840-A871 10AC0-10AC4 10AD3-10AD6
10AD8-10ADC 10ADE-10AE0 10AEB-10AEE 10B80 10B82 10B86-10B88 10B8A-10B8B 10B8D 10B90 10BAD-10BAE 10D01-10D21 10D23
10F30-10F32 10F34-10F44 10F51-10F53 10F70-10F73 10F76-10F81 10FB0 10FB2-10FB3 10FB8 10FBB-10FBC 10FBE-10FBF 10FC1 10FC4
10FCA 1E900-1E943`
const LEFT = 'A872 10ACD 10AD7 10D00 10FCB'
const RIGHT = `622-625 627 629 62F-632 648 671-673 675-677 688-699 6C0 6C3-6CB 6CD 6CF 6D2-6D3 6D5 6EE-6EF 710 715-719 71E
728 72A 72C 72F 74D 759-75B 76B-76C 771 773-774 778-779 840 846-847 849 854 856-858 867 869-86A 870-882 88E 8AA-8AC 8AE
8B1-8B2 8B9 10AC5 10AC7 10AC9-10ACA 10ACE-10AD2 10ADD 10AE1 10AE4 10AEF 10B81 10B83-10B85 10B89 10B8C 10B8E-10B8F 10B91
10BA9-10BAC 10D22 10F33 10F54 10F74-10F75 10FB4-10FB6 10FB9-10FBA 10FBD 10FC2-10FC3 10FC9`

function matcher(ranges: string): RegExp {
  const codePoint = (hex: string) => `\\u{${hex}}`
  const parts = ranges.split(/\s+/).map((range) => range.split('-').map(codePoint).join('-'))
  return new RegExp(`^[${parts.join('')}]$`, 'u')
}

const JOINS_LEFT = matcher(`${DUAL} ${LEFT}`)
const JOINS_RIGHT = matcher(`${DUAL} ${RIGHT}`)

/** Whether a letter connects to the next one (UAX #31: Joining_Type Dual or Left). */
const joinsToPrevious = (letter: string): boolean => JOINS_LEFT.test(letter)

/** Whether a letter connects to the previous one (UAX #31: Joining_Type Dual or Right). */
const joinsRight = (letter: string): boolean => JOINS_RIGHT.test(letter)

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
