/** Stage that rejected the text: the sanitizer's five, and `secret` for a private key or seed phrase in otherwise clean text. */
export type SanitizerStage = 'html-comment' | 'html-tag' | 'invisible' | 'nfc' | 'injection' | 'secret'

/** One step into a JSON value: a key of an object or an index of an array. */
export type JsonPathStep = string | number

/** Result of a check: an offset in the text it received, and the rule or character, e.g. `U+200B`. */
export type SanitizerFinding = { offset: number; rule: string }

const BRAND = Symbol.for('knowledgepulse.SanitizationError')

/**
 * The content sanitizer rejected a text. Nothing was changed and nothing may be stored. No field and no message contains content; keys in
 * `path` passed the sanitizer themselves.
 * - `stage`: the stage that rejected it; for an object's key also a stage that would have changed it
 * - `rule`: the rule (`instruction-override`) or the character (`U+200B`)
 * - `place`: UTF-16 offset in the **original** text; `line` and `column` start at 1, the column in UTF-16 units
 * - `path`: position of the text in a JSON value (empty for a plain text); `key` means that the finding is in the name of a key of the
 * object at `path`, which is not repeated here
 */
export class SanitizationError extends Error {
  override readonly name = 'SanitizationError'
  readonly [BRAND] = true
  readonly stage: SanitizerStage
  readonly rule: string
  readonly place: number
  readonly line: number
  readonly column: number
  readonly path: readonly JsonPathStep[]
  readonly key: boolean

  constructor(at: {
    stage: SanitizerStage
    rule: string
    place: number
    line: number
    column: number
    path?: readonly JsonPathStep[]
    key?: boolean
  }) {
    super(`The text was rejected at the stage "${at.stage}" (${at.rule}), line ${at.line}, column ${at.column}.`)
    this.stage = at.stage
    this.rule = at.rule
    this.place = at.place
    this.line = at.line
    this.column = at.column
    this.path = at.path ?? []
    this.key = at.key ?? false
  }

  /** The field as a JSON pointer (RFC 6901): `/steps/3/content`; empty for the whole value. */
  get field(): string {
    return this.path.map((step) => `/${String(step).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
  }

  /** The same error for a position inside a JSON value. */
  within(path: readonly JsonPathStep[], key = false): SanitizationError {
    return new SanitizationError({ ...this.at(), path, key })
  }

  private at() {
    return { stage: this.stage, rule: this.rule, place: this.place, line: this.line, column: this.column }
  }

  /** Recognizes the error even if this module was loaded twice in one process. */
  static is(error: unknown): error is SanitizationError {
    return typeof error === 'object' && error !== null && BRAND in error
  }
}

/** Creates the error for a finding at `place` in `input`. */
export function sanitizationRefusal(
  input: string,
  stage: SanitizerStage,
  rule: string,
  place: number,
): SanitizationError {
  const before = input.slice(0, place)
  const lines = before.split(/\r\n?|\n/)
  return new SanitizationError({ stage, rule, place, line: lines.length, column: (lines.at(-1) ?? '').length + 1 })
}
