import { findEncoded } from './encoded.ts'
import { findInjections } from './injection.ts'
import { findInvisible } from './invisible.ts'
import { disarm, type StrippedMarkup, stripMarkup } from './markup.ts'
import { Trail } from './positions.ts'
import { type SanitizerFinding, type SanitizerStage, sanitizationRefusal } from './sanitization-error.ts'
import { isSourceText } from './source-text.ts'
import type { TextKind } from './tags.ts'

export type Options = { strict?: boolean }
/** The kind of change and its position in the original text. */
export type ChangedPosition = { what: 'comment' | 'tag' | 'normalized' | 'byte-order-mark'; place: number }
export type Sanitized = {
  text: string
  removed: { comments: number; tags: number }
  normalized: boolean
  /** Up to {@link MOST_PLACES} changed positions, in no particular order. */
  places: ChangedPosition[]
  /** Offsets of Base64 whose text would be rejected. It is kept; the contributor is warned. */
  encoded: number[]
  /** Offsets of quotations or descriptions of an injection, and of doubtful words. They are kept; the contributor is warned. */
  quoted: number[]
}
/** Maximum positions reported per text. */
const MOST_PLACES = 20

const NOT_ASCII = /[^\0-\x7f]/
/** Normalizing long runs of marks takes quadratic time; no language stacks thirty (UAX #15, 13). */
const MOST_MARKS = 30
const MARKS = /\p{M}+/gu
const LONE_SURROGATE = /[\uD800-\uDFFF]/u
const SETTLED_AFTER = 4

/**
 * Makes a text safe to store and to show to people and models, in this order: (1) removes HTML comments, (2) removes HTML tags, both to a
 * fixed point and outside of code (closed fences, inline code, texts of the kind `code`); (3) rejects invisible characters; (4) composes to
 * NFC; (5) rejects prompt injection. If composing creates new markup, stages 1 and 2 run again, so sanitizing the result again does not
 * change it. Pure, stateless, linear in the length of the text.
 * @param options `strict` also rejects invisible characters that are legitimate in context, and sanitizes code
 * @throws {SanitizationError} with the position in `text`, without any content
 */
export function sanitize(text: string, kind: TextKind, options: Options = {}): Sanitized {
  const trail = new Trail()
  const removed = { comments: 0, tags: 0 }
  const positions: ChangedPosition[] = []
  const isStrict = options.strict ?? false
  const isCode = (current: string) => !isStrict && (kind === 'code' || (kind === 'plain' && isSourceText(current)))
  const refuse = (stage: SanitizerStage, finding: SanitizerFinding | undefined) => {
    if (finding) throw sanitizationRefusal(text, stage, finding.rule, trail.back(finding.offset))
  }
  const note = (what: ChangedPosition['what'], offset: number) => {
    if (positions.length < MOST_PLACES) positions.push({ what, place: trail.back(offset) })
  }

  let current = text
  let normalized = false
  // Editors insert it at the beginning. Anywhere else stage 3 rejects it.
  if (current.startsWith('\uFEFF')) {
    note('byte-order-mark', 0)
    trail.cut([{ start: 0, end: 1 }])
    current = current.slice(1)
  }
  for (let round = 0; ; round += 1) {
    if (current.includes('<') && !isCode(current)) {
      const stripped = round < SETTLED_AFTER ? stripMarkup(current, kind, isStrict) : disarm(untouched(current))
      for (const cuts of stripped.rounds) {
        for (const { start, what = 'tag' } of cuts.slice(0, MOST_PLACES)) note(what, start)
        trail.cut(cuts)
      }
      removed.comments += stripped.comments
      removed.tags += stripped.tags
      current = stripped.text
    }
    if (!NOT_ASCII.test(current)) break
    refuse('invisible', findInvisible(current, isStrict))
    refuse('nfc', findUncomposable(current))
    const composed = current.normalize('NFC')
    if (composed === current) break
    note('normalized', firstDifference(current, composed))
    trail.composed(current)
    normalized = true
    current = composed
  }
  const { refused, quoted } = findInjections(current, kind)
  refuse('injection', refused)
  const encoded = findEncoded(current).map((offset) => trail.back(offset))
  return {
    text: current,
    removed,
    normalized,
    places: positions,
    encoded,
    quoted: quoted.map((offset) => trail.back(offset)),
  }
}

function firstDifference(one: string, other: string): number {
  let at = 0
  while (one[at] === other[at] && at < one.length) at += 1
  return at
}

/** `sanitize` for SKILL.md and the other Markdown files of a skill. */
export const sanitizeSkillMd = (text: string, options: Options = {}): Sanitized => sanitize(text, 'markdown', options)

const untouched = (text: string): StrippedMarkup => ({ text, rounds: [], comments: 0, tags: 0 })

/** Finds text that cannot be composed: half of a surrogate pair, or too many marks on one letter. */
function findUncomposable(text: string): SanitizerFinding | undefined {
  // Match whole runs: searching for 31 marks at every mark would cost 31 times as much.
  for (const { 0: run, index } of text.matchAll(MARKS))
    if (run.length > MOST_MARKS && [...run].length > MOST_MARKS) return { offset: index, rule: 'combining-marks' }
  if (text.isWellFormed()) return undefined
  return { offset: text.search(LONE_SURROGATE), rule: 'lone-surrogate' }
}
