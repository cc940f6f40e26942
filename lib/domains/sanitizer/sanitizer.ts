import { invalid, Problem } from '#lib/kernel/problem.ts'
import type { Removal } from './gaps.ts'
import { findInjections } from './injection.ts'
import { findInvisible } from './invisible.ts'
import { disarm, type StrippedMarkup, stripMarkup } from './markup.ts'
import {
  type JsonPathStep,
  SanitizationError,
  type SanitizerFinding,
  type SanitizerStage,
  sanitizationRefusal,
} from './sanitization-error.ts'
import type { TextKind } from './tags.ts'

type Options = { strict?: boolean }
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

/** Maps an offset in a changed text to the original text. Costs nothing until it is called. */
class Trail {
  readonly #steps: ((offset: number) => number)[] = []

  cut(cuts: readonly Removal[]): void {
    this.#steps.push((offset) => beforeCuts(cuts, offset))
  }

  composed(before: string): void {
    this.#steps.push((offset) => beforeComposing(before, offset))
  }

  back(offset: number): number {
    return this.#steps.reduceRight((position, step) => step(position), offset)
  }
}

function beforeCuts(cuts: readonly Removal[], offset: number): number {
  let position = offset
  for (const cut of cuts) {
    if (cut.start > position) break
    const { length } = cut.fill ?? ''
    if (position < cut.start + length) return cut.start
    position += cut.end - cut.start - length
  }
  return position
}

/**
 * NFC never joins a character with a following ASCII character, so the pieces between ASCII runs compose independently. Within a piece the
 * offset is exact before the first and after the last changed character.
 */
function beforeComposing(before: string, offset: number): number {
  let start = 0
  let composedStart = 0
  for (const [piece] of before.matchAll(/[\0-\x7f]*[^\0-\x7f]*/g)) {
    const composed = piece.normalize('NFC')
    if (offset < composedStart + composed.length) return start + within(piece, composed, offset - composedStart)
    start += piece.length
    composedStart += composed.length
  }
  return start
}

function within(piece: string, composed: string, offset: number): number {
  let same = 0
  while (same < offset && piece[same] === composed[same]) same += 1
  if (same === offset) return offset
  const fromEnd = composed.length - offset
  return piece.slice(-fromEnd) === composed.slice(-fromEnd) ? piece.length - fromEnd : same
}

/** Lines that only source code has: imports, exports and declarations of packages and types. */
const DECLARATION =
  /^[ \t]*(?:import[ \t]+(?:type[ \t]+)?(?:[\w*{$][^'"\n]{0,400}[ \t}]from[ \t]*)?['"][^'"\n]+['"];?[ \t]*$|\}[ \t]*from[ \t]*['"][^'"\n]+['"];?[ \t]*$|export[ \t]+(?:default|declare|const|let|var|function|class|type|interface|async|abstract|enum|namespace|\{|\*)|(?:declare[ \t]+)?(?:module|namespace|global)[ \t]+['"\w.]+[ \t]*\{|(?:const|let|var)[ \t]+[\w${][^=\n]{0,200}=[ \t]*(?:await[ \t]+)?(?:require|import)\(|module\.exports\b|package[ \t]+[\w.]+;|import[ \t]+(?:static[ \t]+)?[\w.]+(?:\.\*)?;|using[ \t]+[\w.]+;|#include[ \t]*[<"]|(?:public|private|protected|final|abstract|static|sealed)[ \t]+(?:[\w<>[\],?]+[ \t]+){0,4}(?:class|interface|enum|record)[ \t]+\w|from[ \t]+[\w.]+[ \t]+import[ \t]|<\?php\b)/m
/** The blocks of a component file, each tag at the margin and alone on its line, so that prose cannot contain them by chance. */
const BLOCKS = /^<(template|script|style)(?:[ \t][^<>\n]*)?>[ \t]*\r?\n/gm

/** A line of prose: words and their punctuation, without any sign of code. */
const SENTENCE = /^[\p{L}"'(*-][\p{L}\p{N}\p{M}\s'’"“”(),:.!?*–—-]*$/u
const COMMENT = /^(?:\/\/|\/\*|\*|#|--|<!--|\{\/\*)/
const CODE_END = /(?:[{};,([<>=|&:]|=>|\)|["'`])$/

const FEWEST_LINES = 3
const MOST_PROSE = 0.34

/**
 * Whether a text is a source file that was pasted where prose is expected. It is then code like the text of a fence: it keeps its markup,
 * and every view escapes it. A single line, or prose with a few lines of code, is none.
 */
export function isSourceText(text: string): boolean {
  return isComponent(text) || (DECLARATION.test(text) && isMainlyCode(text))
}

function isMainlyCode(text: string): boolean {
  let lines = 0
  let code = 0
  let prose = 0
  for (const raw of text.split('\n')) {
    const line = raw.trim()
    if (line === '' || COMMENT.test(line)) continue
    lines += 1
    if (CODE_END.test(line)) code += 1
    else if (line.includes(' ') && SENTENCE.test(line)) prose += 1
  }
  return lines >= FEWEST_LINES && code >= lines * 0.4 && prose <= lines * MOST_PROSE
}

/** A component file of Vue or Svelte: nothing but comments is outside of its blocks. */
function isComponent(text: string): boolean {
  if (!text.includes('\n</script>') && !text.includes('\n</template>')) return false
  let position = 0
  let blocks = 0
  BLOCKS.lastIndex = 0
  for (let match = BLOCKS.exec(text); match; match = BLOCKS.exec(text)) {
    if (!isOnlyComments(text.slice(position, match.index))) return false
    const closing = `\n</${match[1] ?? ''}>`
    const end = text.indexOf(closing, match.index)
    if (end < 0) return false
    position = end + closing.length
    BLOCKS.lastIndex = position
    blocks += 1
  }
  return blocks >= 2 && isOnlyComments(text.slice(position))
}

const isOnlyComments = (text: string): boolean => {
  const rest = text.trim()
  return rest === '' || (rest.startsWith('<!--') && rest.indexOf('-->') === rest.length - 3)
}

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
      const stripped = round < SETTLED_AFTER ? stripMarkup(current, kind, isStrict) : disarm(untouched(current, kind))
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
  const { refused, quoted, encoded } = findInjections(current, kind)
  refuse('injection', refused)
  return {
    text: current,
    removed,
    normalized,
    places: positions,
    encoded: encoded.map((offset) => trail.back(offset)),
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

const untouched = (text: string, kind: TextKind): StrippedMarkup => ({ text, rounds: [], comments: 0, tags: 0, kind })

/** Finds text that cannot be composed: half of a surrogate pair, or too many marks on one letter. */
function findUncomposable(text: string): SanitizerFinding | undefined {
  // Match whole runs: searching for 31 marks at every mark would cost 31 times as much.
  for (const { 0: run, index } of text.matchAll(MARKS))
    if (run.length > MOST_MARKS && [...run].length > MOST_MARKS) return { offset: index, rule: 'combining-marks' }
  if (text.isWellFormed()) return undefined
  return { offset: text.search(LONE_SURROGATE), rule: 'lone-surrogate' }
}

/**
 * Sanitizes a person's text as plain text. `retained` is a sentence about the outcome for the error message.
 * @throws {Problem} `content_rejected` with stage, field and position; `invalid` if nothing remains
 */
export function plainTextPhrases(
  text: string,
  field: string,
  strict: boolean,
  retained = 'Nothing was changed.',
): string {
  try {
    const words = sanitize(text, 'plain', { strict }).text.trim()
    if (words === '') throw invalid([field], 'is empty after markup is removed')
    return words
  } catch (error) {
    if (!SanitizationError.is(error)) throw error
    const { stage, rule, place } = error
    throw new Problem('content_rejected', {
      detail: `The text was rejected at the stage "${stage}" (${rule}). ${retained}`,
      issues: [{ path: [field], message: `${rule} at character ${place}` }],
      extensions: { stage, field, place },
    })
  }
}

/** Changes by stages 1, 2 and 4 in one field. */
export type FieldChange = {
  path: JsonPathStep[]
  comments: number
  tags: number
  normalized: boolean
  /** Positions in the original text. */
  places: ChangedPosition[]
}
/** A position in a field. */
export type FieldPlace = { path: JsonPathStep[]; place: number }

/** Recorded tool arguments: commands and data that an agent replays, so their text stays unchanged. */
const ARGUMENTS: ReadonlySet<JsonPathStep> = new Set(['input', 'query_template', 'input_template'])

/** Maximum nesting of objects and arrays, including the outermost. */
export const DEPTH_LIMIT = 100

const BRAND = Symbol.for('knowledgepulse.DepthError')

/** A JSON value is nested deeper than `limit`. Nothing was changed and nothing may be stored. */
export class DepthError extends Error {
  override readonly name = 'DepthError'
  readonly [BRAND] = true
  readonly limit = DEPTH_LIMIT

  constructor() {
    super(
      `The value is nested deeper than ${DEPTH_LIMIT} objects and arrays. Nothing was stored. Send it with less nesting.`,
    )
  }

  /** Recognizes the error even if this module was loaded twice in one process. */
  static is(error: unknown): error is DepthError {
    return typeof error === 'object' && error !== null && BRAND in error
  }
}

/**
 * Sanitizes every string of a JSON value as prose, and recorded tool arguments as code. Returns the same value, not a copy, if nothing
 * changes. Keys are never changed: a key that would be changed or rejected is rejected.
 * @throws {SanitizationError} with the `path` of the field
 * @throws {DepthError} beyond `DEPTH_LIMIT`
 */
export function sanitizeFields(
  value: unknown,
  options: Options = {},
): { value: unknown; changes: FieldChange[]; encoded: FieldPlace[]; quoted: FieldPlace[] } {
  const changes: FieldChange[] = []
  const encodings: FieldPlace[] = []
  const quotations: FieldPlace[] = []
  const path: JsonPathStep[] = []

  const clean = (text: string, isKey: boolean) => {
    try {
      return sanitize(text, !isKey && path.some((step) => ARGUMENTS.has(step)) ? 'code' : 'plain', options)
    } catch (error) {
      throw SanitizationError.is(error) ? error.within([...path], isKey) : error
    }
  }

  const visit = (node: unknown): unknown => {
    if (typeof node === 'string') {
      const { text, removed, normalized, places: positions, encoded, quoted } = clean(node, false)
      if (text !== node) changes.push({ path: [...path], ...removed, normalized, places: positions })
      for (const place of encoded) encodings.push({ path: [...path], place })
      for (const place of quoted) quotations.push({ path: [...path], place })
      return text
    }
    if (typeof node !== 'object' || node === null) return node
    if (path.length >= DEPTH_LIMIT) throw new DepthError()
    return Array.isArray(node) ? visitArray(node) : visitObject(node)
  }

  const visitStep = (step: JsonPathStep, child: unknown): unknown => {
    path.push(step)
    const visited = visit(child)
    path.pop()
    return visited
  }

  const visitArray = (items: readonly unknown[]): readonly unknown[] => {
    const visited = items.map((item, index) => visitStep(index, item))
    return visited.every((item, index) => Object.is(item, items[index])) ? items : visited
  }

  const visitObject = (object: object): object => {
    let isSame = true
    const visited = Object.entries(object).map(([key, child]): [string, unknown] => {
      const name = clean(key, true)
      if (name.text !== key) throw changedKey(name).within([...path], true)
      const after = visitStep(key, child)
      isSame &&= Object.is(after, child)
      return [key, after]
    })
    return isSame ? object : Object.fromEntries(visited)
  }

  return { value: visit(value), changes, encoded: encodings, quoted: quotations }
}

function changedKey({ removed }: { removed: { comments: number; tags: number } }): SanitizationError {
  const stage = removed.comments > 0 ? 'html-comment' : removed.tags > 0 ? 'html-tag' : 'nfc'
  return new SanitizationError({ stage, rule: 'key-would-change', place: 0, line: 1, column: 1 })
}
