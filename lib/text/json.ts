import { Path, type StringColumns } from './columns.ts'
import type { LayerBuilder } from './layer.ts'

/** Properties whose values describe a message and contain no words of a person. */
export const technical =
  /^(?:role|type|kind|ids?|model|created|timestamp|time|date|lang|language|format|version|status|[A-Za-z_-]*(?:[_-](?:id|at|reason)|[a-z](?:Id|At)))$/
/** Properties that name the speaker of a message, as a label before a line does. */
export const speaker = /^(?:speaker|author|sender|from|user|who|actor|participant)$/

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
    if (first < 0 || last <= first || (first === from && last === to - 1)) continue
    const part = text.slice(first, last + 1)
    // `[1]` in a text is a note.
    if (part.includes('"') && parses(part)) return { start: first, end: last + 1 }
  }
  return undefined
}

/** What a string of JSON cannot contain: escapes of other languages, and codes of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const foreign = /\u001b|\\[^"\\/bfnrtu\s]/

/**
 * The JSON values in a part of a text: one value, after and before other text, or one in each of several lines. `isAround`: whether another
 * encoding may be around the lines, so that only some of them are JSON already.
 */
export function jsonValuesIn(
  whole: string,
  start: number,
  end: number,
  isAround: (text: string, isForeign: boolean) => boolean,
): { start: number; end: number }[] {
  const text = whole.slice(start, end)
  const only = valueIn(text)
  if (only) return [{ start: start + only.start, end: start + only.end }]
  const found: { start: number; end: number }[] = []
  if (!text.includes('\n') || !text.includes('"')) return found
  let from = 0
  let isForeign = false
  for (const line of text.split('\n')) {
    const inLine = line.includes('"') ? (stringIn(line) ?? valueIn(line)) : undefined
    // A string alone in its line may be a part of a longer one.
    const value = inLine && !/^\s*"/.test(line) ? inLine : undefined
    if (value) found.push({ start: start + from + value.start, end: start + from + value.end })
    else isForeign ||= line.includes('"') && foreign.test(line)
    from += line.length + 1
  }
  return found.length > 0 && isAround(text, isForeign) ? [] : found
}

/** A string after the name of its part, as protocols of streams write it: `0:"fe"`. */
const partOfStream = /^(?:data:\s*)?[\w-]{0,20}:[ \t]*(?=")/
function stringIn(line: string): { start: number; end: number } | undefined {
  const [lead] = partOfStream.exec(line) ?? []
  if (lead === undefined) return undefined
  const end = line.lastIndexOf('"') + 1
  return end > lead.length + 1 && parses(line.slice(lead.length, end)) ? { start: lead.length, end } : undefined
}

const escapes: Readonly<Record<string, string>> = { b: ' ', f: ' ', n: '\n', r: '\r', t: '\t' }

/** Decodes the characters of a string literal, without its quotes. */
export function decodeLiteral(layer: LayerBuilder, start: number, end: number): void {
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
 * text, so that the words of adjacent strings are adjacent. `isItem`: the value is one of several.
 */
export function decodeJson(
  layer: LayerBuilder,
  start: number,
  end: number,
  columns: StringColumns,
  isItem: boolean,
): void {
  const text = layer.base
  const path = new Path(isItem)
  let property = ''
  let isSpoken = true
  let from = start
  for (let at = start; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 34) {
      const close = endOfLiteral(text, at)
      let after = close + 1
      while (after < end && text.charCodeAt(after) <= 32) after++
      layer.markup(from, at + 1, '\n')
      if (text.charCodeAt(after) === 58) {
        property = text.slice(at + 1, close)
        isSpoken = !technical.test(property) && !speaker.test(property)
        layer.tail(at + 1, close, 'key')
      } else if (isSpoken) {
        const first = layer.length
        decodeLiteral(layer, at + 1, close)
        layer.region(first, layer.length)
        path.add(columns, property, at + 1, close)
      } else layer.tail(at + 1, close, 'same')
      from = close
      at = close
    } else if (unit >= 45 && unit <= 57) {
      // A number counts as a word.
      let to = at + 1
      while (to < end && isOfNumber(text.charCodeAt(to))) to++
      layer.markup(from, at, '\n')
      layer.copy(at, to)
      path.number(property, text.slice(at, to))
      columns.skip()
      from = to
      at = to - 1
    } else if (unit === 123 || unit === 91) path.open(unit === 123, property)
    else if (unit === 125 || unit === 93) path.close()
    else if (unit === 44) path.next()
  }
  path.finish(columns)
  layer.markup(from, end, '\n')
}
const isOfNumber = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) || unit === 43 || unit === 45 || unit === 46 || (unit | 32) === 101
