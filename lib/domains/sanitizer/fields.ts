import { type JsonPathStep, SanitizationError } from './sanitization-error.ts'
import { type ChangedPosition, type Options, sanitize } from './sanitizer.ts'

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
