import { SanitizationError, type Step } from './sanitization-error.ts'
import { type ChangedPlace, type Options, sanitize } from './sanitizer.ts'

/** What stages 1, 2 and 4 changed in one field. */
export type Change = {
  path: Step[]
  comments: number
  tags: number
  normalized: boolean
  /** Where in the text as it was handed in. */
  places: ChangedPlace[]
}
/** A field with Base64 whose text would be refused. */
export type Encoded = { path: Step[]; place: number }

/** Recorded arguments of tools: commands and data that an agent replays. Their text is kept as it is. */
const ARGUMENTS: ReadonlySet<Step> = new Set(['input', 'query_template', 'input_template'])

/** Objects and arrays within each other, the outermost counted. */
export const DEPTH_LIMIT = 100

const BRAND = Symbol.for('knowledgepulse.DepthError')

/** A JSON value is nested deeper than `limit`. Nothing was changed and nothing is to be stored. */
export class DepthError extends Error {
  override readonly name = 'DepthError'
  readonly [BRAND] = true
  readonly limit = DEPTH_LIMIT

  constructor() {
    super(`The value is nested deeper than ${DEPTH_LIMIT} objects and arrays. Nothing was stored; send it flatter.`)
  }

  /** Recognises the error even when this module was loaded twice in one process. */
  static is(error: unknown): error is DepthError {
    return typeof error === 'object' && error !== null && BRAND in error
  }
}

/**
 * Sanitizes every string of a JSON value as prose, recorded arguments of tools as code. A value in which nothing changes is returned itself, not a copy.
 * The name of a key is never changed: one that would be, or would be refused, is refused.
 *
 * @throws SanitizationError with the `path` of the field; DepthError beyond `DEPTH_LIMIT`
 */
export function sanitizeFields(
  value: unknown,
  options: Options = {},
): { value: unknown; changes: Change[]; encoded: Encoded[] } {
  const changes: Change[] = []
  const encodings: Encoded[] = []
  const path: Step[] = []

  const clean = (text: string, isKey: boolean) => {
    try {
      return sanitize(text, !isKey && path.some((step) => ARGUMENTS.has(step)) ? 'code' : 'plain', options)
    } catch (error) {
      throw SanitizationError.is(error) ? error.within([...path], isKey) : error
    }
  }

  const visit = (node: unknown): unknown => {
    if (typeof node === 'string') {
      const { text, removed, normalized, places, encoded } = clean(node, false)
      if (text !== node) changes.push({ path: [...path], ...removed, normalized, places })
      for (const place of encoded) encodings.push({ path: [...path], place })
      return text
    }
    if (typeof node !== 'object' || node === null) return node
    if (path.length >= DEPTH_LIMIT) throw new DepthError()
    return Array.isArray(node) ? visitArray(node) : visitObject(node)
  }

  const visitStep = (step: Step, child: unknown): unknown => {
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

  return { value: visit(value), changes, encoded: encodings }
}

function changedKey({ removed }: { removed: { comments: number; tags: number } }): SanitizationError {
  const stage = removed.comments > 0 ? 'html-comment' : removed.tags > 0 ? 'html-tag' : 'nfc'
  return new SanitizationError({ stage, rule: 'key-would-change', place: 0, line: 1, column: 1 })
}
