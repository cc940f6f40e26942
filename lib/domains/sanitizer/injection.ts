import { decodeEntities } from './entities.ts'
import { fold, unfold } from './homoglyphs.ts'
import { findOverride } from './overrides.ts'
import type { SanitizerFinding } from './sanitization-error.ts'

/** Between words: white space, line breaks, emphasis, quotes and quotation prefixes. */
const GAP = '[\\s*`"\'>]+'
const FILL = `(?:(?:all|any|each|every|the|your|my|our|these|those|this|that|its|of|to|entire|whole|and|about|everything|anything|completely)${GAP}){0,8}`
const PRIOR = '(?:previous|prior|above|earlier|preceding|former|foregoing|past|aforementioned)'
const KIND = `(?:(?:and|or|following|subsequent|next|other|current|existing|further|these|those|system|user|developer|safety|security|given|stated|assistant|ai|model|original|initial|${PRIOR})${GAP}){0,3}`
const ORDERS =
  '(?:instructions?|prompts?|rules?|directions?|directives?|guidelines?|guidance|contexts?|orders|constraints?|conversations?|programming|training)'
const SAID = `(?:(?:that|which|you|i|we|they|were|was|have|had|has|been|are|is|got|get|gotten|just|ever|already|read|seen|heard|learned|gave|given|received|stated|told|said|written|provided|instructed|all|up)${GAP}){0,8}`
const BEFORE = '(?:above|before|earlier|previously|prior|preceding|so far|until now|till now|up to now|beforehand)'
const COMMANDS = '(?:instructions?|prompts?|directions?|directives?|commands?|orders)'
/** Guides contain "ignore these instructions if …"; a command ends there or continues with another one. */
const ALL_OF_IT = `(?:(?:all|every(?:thing)?)${GAP}(?:of${GAP})?(?:(?:the|these|those|this|that|your|my|our|its)${GAP})?|(?:these|those)${GAP})${KIND}${COMMANDS}(?=[.!;,:]|\\s*$|\\s*\\n|${GAP}(?:and|then|you|now|but|i|we|instead)\\b)`

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
    ALL_OF_IT,
  ].join('|'),
  'y',
)

const CODE_VALUE =
  '[^\\S\\n\\r]*(?:["\'`\\[{|&*$\\d<>!@/\\\\]|-\\d|(?:true|false|null|none|undefined|yes|no|on|off)\\b|[\\w.$]+[(\\[{.=,;](?!\\s)|[\\w$]+[,;][^\\S\\n\\r]*(?:\\n|$)|\\r?\\n[^\\S\\n\\r]+(?:-[^\\S\\n\\r]|["\'\\w][\\w"\' .-]{0,60}:))'
const RULES: readonly { rule: string; pattern: RegExp }[] = [
  { rule: 'role-change', pattern: new RegExp(`(?<![\\p{L}\\p{N}_-])you${GAP}are${GAP}now(?![\\p{L}\\p{N}_-])`, 'u') },
  // A role only at the start of a line or after a quote or bracket: "file system: ext4" is prose. A space or the end of the line must
  // follow, and no value in code: `system: "…"`, `system: true`, `system:` before an indented key.
  {
    rule: 'system-role',
    pattern: new RegExp(
      `(?:^[^\\S\\n\\r\u2028\u2029]*|(?<=["'([{<\u300A-\u3011]))system[^\\S\\n\\r]*:(?=\\s|$)(?!${CODE_VALUE})`,
      'm',
    ),
  },
  { rule: 'system-heading', pattern: /^[ \t>]*#{1,6}[ \t]*system[ \t]*:|#{3,6}[ \t]*system[ \t]*:/m },
  { rule: 'inst-marker', pattern: /\[\s{0,8}(?:\/\s{0,8})?inst\s{0,8}\]/ },
  { rule: 'sys-marker', pattern: /<<\s{0,8}(?:\/\s{0,8})?sys\s{0,8}>>/ },
  {
    rule: 'chat-token',
    pattern:
      /<\|\s{0,8}(?:\/\s{0,8})?(?:im_(?:start|end|sep)|system|user|assistant|tool|eot_id|eom_id|(?:start|end)_header_id)\s{0,8}\|>|<\|[a-z0-9_]{2,40}\|>/,
  },
]

/** A part of every rule. Ordinary text contains none of these and needs no further check. */
const SUSPECT =
  /ignore|forget|disregard|overr(?:ide|ule)|bypass|neglect|follow|obey|are[\s*`"'>]+now|system[^\S\n\r]*:|\[\s{0,8}(?:\/\s{0,8})?inst|<<|<\|/

/** Tags within words are read as gaps, because tags in code are kept. */
const TAG = /<\/?[a-z][^<>]{0,200}>/g
const blank = (found: string): string => ' '.repeat(found.length)

/**
 * Stage 5: returns the first sign of prompt injection, or undefined. Reads a folded copy (case, look-alikes, full-width and mathematical
 * letters, marks, character references). All repetitions are bounded or cannot overlap, so the time is linear.
 */
export function findInjection(text: string): SanitizerFinding | undefined {
  const first = findIn(text)
  const decoded = decodeEntities(text)
  if (first !== undefined || decoded === undefined) return first
  const second = findIn(decoded.copy)
  return second && { ...second, offset: decoded.back(second.offset) }
}

function findIn(text: string): SanitizerFinding | undefined {
  const copy = fold(text)
  const findings: SanitizerFinding[] = []
  if (SUSPECT.test(copy)) {
    for (const { rule, pattern } of RULES) {
      const offset = copy.search(pattern)
      if (offset >= 0) findings.push({ offset, rule })
    }
    for (const plain of copy.search(TAG) >= 0 ? [copy, copy.replace(TAG, blank)] : [copy]) {
      const offset = overrideIn(plain)
      if (offset >= 0) findings.push({ offset, rule: 'instruction-override' })
    }
  }
  const placed = findings.map(({ offset, rule }) => ({ offset: unfold(text, offset), rule }))
  const other = findOverride(text)
  if (other >= 0) placed.push({ offset: other, rule: 'instruction-override' })
  return placed.sort((one, another) => one.offset - another.offset)[0]
}

function overrideIn(copy: string): number {
  for (const verb of copy.matchAll(TAKE_BACK)) {
    WHAT_WAS_SAID.lastIndex = verb.index + verb[0].length
    if (WHAT_WAS_SAID.test(copy)) return verb.index
  }
  return -1
}
