import { technical } from '#lib/text/json.ts'
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

/** Rounds after which words that remain in a cut text are given up. */
const mostRounds = 4

/**
 * Removes the spans that `spansOf` returns for a text, in whatever encoding they were found, and searches the result again. Null if nothing
 * that people wrote would remain, if a property name would have to be cut, or if words remain.
 */
export function cutStrings(text: string, spansOf: (one: string) => TextSpan[]): string | null {
  let rest = text
  for (let round = 0; round < mostRounds; round++) {
    const spans = spansOf(rest)
    if (spans.length === 0) return rest
    const cut = cutFrom(rest, spans)
    if (cut === null) return null
    rest = cut
  }
  return spansOf(rest).length === 0 ? rest : null
}
