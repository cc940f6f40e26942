import type { LayerBuilder } from './layer.ts'

/** Properties whose values describe a message and contain no words of a person. */
export const technical =
  /^(?:role|type|kind|ids?|model|created|timestamp|time|date|lang|language|format|version|status|[A-Za-z_-]*(?:[_-](?:id|at|reason)|[a-z](?:Id|At)))$/
/** Properties that name the speaker of a message, as a label before a line does. */
const speaker = /^(?:speaker|author|sender|from|user|who|actor|participant)$/

const parses = (text: string): boolean => {
  try {
    JSON.parse(text)
    return true
  } catch {
    return false
  }
}
const isOpening = (unit: number): boolean => unit === 123 || unit === 91 || unit === 34

/** The range of a JSON object, list or string in a text, after and before other text. */
function valueIn(text: string): { start: number; end: number } | undefined {
  let [from, to] = [0, text.length]
  while (from < to && text.charCodeAt(from) <= 32) from++
  while (to > from && text.charCodeAt(to - 1) <= 32) to--
  if (to - from < 2) return undefined
  if (isOpening(text.charCodeAt(from)) && parses(text.slice(from, to))) return { start: from, end: to }
  for (const [opening, closing] of ['{}', '[]']) {
    const first = text.indexOf(opening ?? '', from)
    const last = text.lastIndexOf(closing ?? '', to - 1)
    if (first >= 0 && last > first && (first > from || last < to - 1) && parses(text.slice(first, last + 1)))
      return { start: first, end: last + 1 }
  }
  return undefined
}

/** The JSON values in a part of a text: one value, after and before other text, or one in each of several lines. */
export function jsonValuesIn(whole: string, start: number, end: number): { start: number; end: number }[] {
  const text = whole.slice(start, end)
  const only = valueIn(text)
  if (only) return [{ start: start + only.start, end: start + only.end }]
  const found: { start: number; end: number }[] = []
  if (!text.includes('\n')) return found
  let from = 0
  for (const line of text.split('\n')) {
    const value = line.includes('"') ? valueIn(line) : undefined
    if (value) found.push({ start: start + from + value.start, end: start + from + value.end })
    from += line.length + 1
  }
  return found
}

const escapes: Readonly<Record<string, string>> = { b: ' ', f: ' ', n: '\n', r: '\r', t: '\t' }

/** Decodes the characters of a string literal, without its quotes. */
function decodeLiteral(layer: LayerBuilder, start: number, end: number): void {
  const text = layer.base
  let from = start
  for (let at = start; at < end; at++) {
    if (text.charCodeAt(at) !== 92) continue
    layer.copy(from, at)
    const letter = text[at + 1] ?? ''
    from = at + (letter === 'u' ? 6 : 2)
    const code = letter === 'u' ? Number.parseInt(text.slice(at + 2, at + 6), 16) : 0
    layer.unit(at, from, letter === 'u' ? String.fromCharCode(code) : (escapes[letter] ?? letter))
    at = from - 1
  }
  layer.copy(from, end)
}

function endOfLiteral(text: string, start: number): number {
  for (let at = start + 1; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 92) at++
    else if (unit === 34) return at
  }
  return text.length
}

/**
 * Decodes a valid JSON value. Its strings follow each other in lines; keys and values that are not words of a person come after the whole
 * text, so that the words of adjacent strings are adjacent.
 */
export function decodeJson(layer: LayerBuilder, start: number, end: number): void {
  const text = layer.base
  let property = ''
  let from = start
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 58 || (unit > 32 && unit !== 34 && unit !== 44 && !(unit >= 45 && unit <= 57))) continue
    if (unit >= 45 && unit <= 57) {
      // A number counts as a word.
      let to = at + 1
      while (to < end && /[-+.eE0-9]/.test(text[to] ?? '')) to++
      layer.markup(from, at, '\n')
      layer.copy(at, to)
      from = to
      at = to - 1
      continue
    }
    if (unit !== 34) continue
    const close = endOfLiteral(text, at)
    let after = close + 1
    while (after < end && text.charCodeAt(after) <= 32) after++
    const isKey = text.charCodeAt(after) === 58
    layer.markup(from, at + 1, '\n')
    if (isKey) {
      property = text.slice(at + 1, close)
      layer.tail(at + 1, close, 'key')
    } else if (technical.test(property) || speaker.test(property)) layer.tail(at + 1, close, 'same')
    else {
      const first = layer.length
      decodeLiteral(layer, at + 1, close)
      layer.region(first, layer.length)
    }
    from = close
    at = close
  }
  layer.markup(from, end, '\n')
}
