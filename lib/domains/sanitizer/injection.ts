import { fold, unfold } from './homoglyphs.ts'
import type { Finding } from './sanitization-error.ts'

/** Between words: white space, line breaks, and the marks of emphasis, quotes and quoted lines. */
const GAP = '[\\s*`"\'>]+'
const FILL = `(?:(?:all|any|each|every|the|your|my|our|these|those|this|that|its|of|to|entire|whole|and|about|everything|anything|completely)${GAP}){0,8}`
const PRIOR = '(?:previous|prior|above|earlier|preceding|former|foregoing|past|aforementioned)'
const KIND = `(?:(?:and|or|system|user|developer|safety|security|given|stated|assistant|ai|model|original|initial|${PRIOR})${GAP}){0,3}`
const ORDERS =
  '(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|guidance|contexts?|orders|constraints?|conversations?|programming|training)'
const SAID = `(?:(?:that|which|you|i|we|were|was|have|had|has|been|are|is|gave|given|received|stated|told|said|written|provided)${GAP}){0,8}`
const BEFORE = '(?:above|before|earlier|previously|prior|preceding|so far)'

const TAKE_BACK = new RegExp(
  `(?<![\\p{L}\\p{N}_-])(?:ignore|forget|disregard|override|overrule|bypass|neglect|(?:do not|don't|stop|no longer|never)${GAP}(?:follow|obey))${GAP}`,
  'gu',
)
const WHAT_WAS_SAID = new RegExp(
  [
    `${FILL}${PRIOR}${GAP}${KIND}${ORDERS}\\b`,
    `${FILL}your${GAP}${KIND}${ORDERS}\\b`,
    `${FILL}${KIND}${ORDERS}${GAP}${SAID}${BEFORE}\\b`,
    `(?:everything|anything)${GAP}${SAID}${BEFORE}\\b`,
  ].join('|'),
  'y',
)

const RULES: readonly { rule: string; pattern: RegExp }[] = [
  { rule: 'role-change', pattern: new RegExp(`(?<![\\p{L}\\p{N}_-])you${GAP}are${GAP}now(?![\\p{L}\\p{N}_-])`, 'u') },
  // A role only at the start of a line or right after a quote or bracket: "file system: ext4" is prose.
  { rule: 'system-role', pattern: /^[^\S\n\r]*system[^\S\n\r]*:|(?<=["'([{<\u300A-\u3011])system[^\S\n\r]*:/m },
  { rule: 'system-heading', pattern: /^[ \t>]*#{1,6}[ \t]*system[ \t]*:|#{3,6}[ \t]*system[ \t]*:/m },
  { rule: 'inst-marker', pattern: /\[\s{0,8}(?:\/\s{0,8})?inst\s{0,8}\]/ },
  { rule: 'sys-marker', pattern: /<<\s{0,8}(?:\/\s{0,8})?sys\s{0,8}>>/ },
  {
    rule: 'chat-token',
    pattern:
      /<\|\s{0,8}(?:\/\s{0,8})?(?:im_(?:start|end|sep)|system|user|assistant|tool|eot_id|eom_id|(?:start|end)_header_id)\s{0,8}\|>|<\|[a-z0-9_]{2,40}\|>/,
  },
]

/** Some piece of every rule: what has none of these needs no closer look, and ordinary text has none. */
const SUSPECT =
  /ignore|forget|disregard|overr(?:ide|ule)|bypass|neglect|follow|obey|are[\s*`"'>]+now|system[^\S\n\r]*:|\[\s{0,8}(?:\/\s{0,8})?inst|<<|<\|/

/**
 * Stage 5: the first sign of prompt injection, or undefined. Reads a folded copy (case, look-alikes, full-width and
 * mathematical letters, marks); all repetitions are bounded or separated by what cannot repeat, so the time is linear.
 */
export function findInjection(text: string): Finding | undefined {
  const copy = fold(text)
  if (!SUSPECT.test(copy)) return undefined
  const found = RULES.flatMap(({ rule, pattern }) => {
    const offset = copy.search(pattern)
    return offset < 0 ? [] : [{ offset, rule }]
  })
  for (const verb of copy.matchAll(TAKE_BACK)) {
    WHAT_WAS_SAID.lastIndex = verb.index + verb[0].length
    if (!WHAT_WAS_SAID.test(copy)) continue
    found.push({ offset: verb.index, rule: 'instruction-override' })
    break
  }
  const first = found.sort((one, other) => one.offset - other.offset)[0]
  return first && { offset: unfold(text, first.offset), rule: first.rule }
}
