import { cutFrom } from '../words/derived-text.ts'
import type { TextSpan } from '../words/fingerprints.ts'

/** A string in a JSON text, decoded. */
interface Leaf {
  text: string
  /** Offset of the literal in the JSON text, including its quotes. */
  start: number
  end: number
  isKey: boolean
  /** The property that has this value. */
  property: string
}
/** Properties whose values describe a message and contain no words of a person. */
const technical =
  /^(?:role|type|kind|ids?|model|created|timestamp|time|date|lang|language|format|version|status|[A-Za-z_-]*(?:[_-](?:id|at|reason)|[a-z](?:Id|At)))$/
const deepest = 3

/** Whether a text is one JSON value or NDJSON. */
export function isJson(text: string): boolean {
  if (!/^\s*[[{"]/.test(text)) return false
  const parses = (one: string) => {
    try {
      JSON.parse(one)
      return true
    } catch {
      return false
    }
  }
  return parses(text) || text.split('\n').every((line) => line.trim() === '' || parses(line))
}

function leavesOf(text: string): Leaf[] {
  const leaves: Leaf[] = []
  let property = ''
  for (const { index, 0: literal } of text.matchAll(/"(?:[^"\\]|\\.)*"/g)) {
    const end = index + literal.length
    const isKey = /^\s*:/.test(text.slice(end, end + 64))
    const decoded = String(JSON.parse(literal))
    if (isKey) property = decoded
    leaves.push({ text: decoded, start: index, end, isKey, property: isKey ? '' : property })
  }
  return leaves
}

/** The decoded strings of a JSON text, including strings nested in JSON strings. For plain text, the text. */
export function stringsOf(text: string, depth = 0): { text: string; isKey: boolean; isTechnical: boolean }[] {
  if (depth >= deepest || !isJson(text)) return [{ text, isKey: false, isTechnical: false }]
  return leavesOf(text).flatMap(({ text: one, isKey, property }) =>
    isKey
      ? [{ text: one, isKey, isTechnical: true }]
      : stringsOf(one, depth + 1).map((inner) => ({
          ...inner,
          isTechnical: inner.isTechnical || technical.test(property),
        })),
  )
}

/**
 * Removes the spans that `spansOf` returns for each string of a text. The rest remains unchanged. Null if a plain text would be empty, or
 * if a property name would have to be cut.
 */
export function cutStrings(text: string, spansOf: (one: string) => TextSpan[], depth = 0): string | null {
  if (depth >= deepest || !isJson(text)) {
    const spans = spansOf(text)
    return spans.length === 0 ? text : cutFrom(text, spans)
  }
  let rest = ''
  let from = 0
  for (const { text: one, start, end, isKey } of leavesOf(text)) {
    if (isKey) {
      if (spansOf(one).length > 0) return null
      continue
    }
    const cut = cutStrings(one, spansOf, depth + 1) ?? ''
    if (cut === one) continue
    rest += text.slice(from, start) + JSON.stringify(cut)
    from = end
  }
  return rest + text.slice(from)
}
