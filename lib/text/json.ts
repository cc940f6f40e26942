import type { StringColumns } from './columns.ts'
import type { LayerBuilder, Span } from './layer.ts'
import { textOfList, textOfRecord } from './listed-bytes.ts'

/** Properties whose values describe a message and contain no words of a person. */
export const technical =
  /^(?:role|type|kind|ids?|model|created|timestamp|time|date|lang|language|format|version|status|[A-Za-z_-]*(?:[_-](?:id|at|reason)|[a-z](?:Id|At)))$/
/** Properties that name the speaker of a message, as a label before a line does. */
export const speaker = /^(?:speaker|author|sender|from|user|who|actor|participant)$/

const isBlank = (unit: number): boolean => unit === 32 || unit === 10 || unit === 13 || unit === 9
const isDigit = (unit: number): boolean => unit >= 48 && unit <= 57
const isHex = (unit: number): boolean => isDigit(unit) || ((unit | 32) >= 97 && (unit | 32) <= 102)
const number = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?/y

/** The end of a string that begins at an offset, after its quotation mark; -1 if it is not valid. `isDivided`: it may contain line breaks. */
function afterString(text: string, start: number, end: number, isDivided: boolean): number {
  for (let at = start + 1; at < end; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 34) return at + 1
    if (unit < 32 && !(isDivided && isBlank(unit))) return -1
    if (unit !== 92) continue
    const next = text.charCodeAt(++at)
    if (next === 117) {
      for (let digit = at + 1; digit <= at + 4; digit++) if (!isHex(text.charCodeAt(digit))) return -1
      at += 4
    } else if (!'"\\/bfnrt'.includes(text[at] ?? ' ')) return -1
  }
  return -1
}

/**
 * The exclusive end of the valid value of JSON that begins at an offset; -1 if there is none. `JSON.parse` would throw for most texts, which
 * costs a hundred times more.
 */
export function endOfJson(text: string, start: number, end: number, isDivided = false): number {
  const isRecord: boolean[] = []
  /** Whether a value, the name of a property, or what follows a value is expected. */
  let [expects, mayClose]: ['value' | 'key' | 'next', boolean] = ['value', false]
  for (let at = start; at < end; ) {
    const unit = text.charCodeAt(at)
    if (expects === 'next' && isRecord.length === 0) return at
    if (isBlank(unit)) {
      at++
      continue
    }
    if (unit === 125 || unit === 93) {
      if ((expects !== 'next' && !mayClose) || isRecord.pop() !== (unit === 125)) return -1
      ;[expects, mayClose] = ['next', false]
      at++
      continue
    }
    if (expects === 'next') {
      const inRecord = isRecord.at(-1)
      if (unit !== 44 || inRecord === undefined) return -1
      ;[expects, mayClose] = [inRecord ? 'key' : 'value', false]
      at++
      continue
    }
    if (unit === 34) {
      at = afterString(text, at, end, isDivided)
      if (at < 0) return -1
      if (expects === 'key') {
        while (isBlank(text.charCodeAt(at))) at++
        if (text.charCodeAt(at++) !== 58) return -1
      }
      ;[expects, mayClose] = [expects === 'key' ? 'value' : 'next', false]
      continue
    }
    if (expects === 'key') return -1
    if (unit === 123 || unit === 91) {
      isRecord.push(unit === 123)
      ;[expects, mayClose] = [unit === 123 ? 'key' : 'value', true]
      at++
      continue
    }
    const word = unit === 116 ? 'true' : unit === 102 ? 'false' : unit === 110 ? 'null' : undefined
    if (word === undefined) {
      number.lastIndex = at
      if (!number.test(text)) return -1
      at = number.lastIndex
    } else if (text.startsWith(word, at)) at += word.length
    else return -1
    ;[expects, mayClose] = ['next', false]
  }
  return expects === 'next' && isRecord.length === 0 ? end : -1
}
const isOpening = (unit: number): boolean => unit === 123 || unit === 91 || unit === 34

/** The range of a JSON object, list or string in a text, after and before other text. */
function valueIn(text: string, isDivided = false): Span | undefined {
  let [from, to] = [0, text.length]
  while (from < to && text.charCodeAt(from) <= 32) from++
  while (to > from && text.charCodeAt(to - 1) <= 32) to--
  if (to - from < 2) return undefined
  if (text.charCodeAt(from) !== 34 && !text.includes('}') && !text.includes(']')) return undefined
  if (isOpening(text.charCodeAt(from)) && endOfJson(text, from, to, isDivided) === to) return { start: from, end: to }
  for (const [opening, closing] of ['{}', '[]']) {
    const first = text.indexOf(opening ?? '', from)
    const last = text.lastIndexOf(closing ?? '', to - 1)
    if (first < 0 || last <= first || (first === from && last === to - 1)) continue
    // `[1]` in a text is a note.
    const quote = text.indexOf('"', first)
    if (quote < 0 || quote > last) continue
    const after = endOfJson(text, first, to, isDivided)
    // What follows may close other brackets.
    if (after > quote && (after === last + 1 || !text.slice(after, to).includes('"')))
      return { start: first, end: after }
  }
  return undefined
}

/** What a string of JSON cannot contain: escapes of other languages, and codes of terminals. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: terminals are controlled by them
const foreign = /\u001b|\\[^"\\/bfnrtu\s]|\\u(?![0-9a-fA-F]{4})/

/**
 * The JSON values in a part of a text: one value, after and before other text, or one in each of several lines. `isAround`: whether another
 * encoding may be around the lines, so that only some of them are JSON already: then the result is undefined.
 */
export function jsonValuesIn(
  whole: string,
  start: number,
  end: number,
  isAround: (text: string, isForeign: boolean) => boolean,
): Span[] | undefined {
  const text = whole.slice(start, end)
  const only = valueIn(text)
  if (only) return [{ start: start + only.start, end: start + only.end }]
  const found: Span[] = []
  if (!text.includes('\n') || !text.includes('"')) return found
  let isForeign = false
  for (let from = 0; from <= text.length; ) {
    const [lineEnd, isOpen] = endOfLine(text, from)
    let next = lineEnd
    let value = valueOfLine(text, from, lineEnd)
    if (!value && isOpen) {
      // An encoding around the lines may have divided a string.
      const divided = endOfDivided(text, lineEnd)
      value = divided === undefined ? undefined : valueOfLine(text, from, divided, true)
      if (value && divided !== undefined) next = divided
    }
    if (value) found.push({ start: start + value.start, end: start + value.end })
    else isForeign ||= foreign.test(text.slice(from, lineEnd)) && text.slice(from, lineEnd).includes('"')
    from = next + 1
  }
  return found.length > 0 && isAround(text, isForeign) ? undefined : found
}
/** The end of a line, and whether it ends inside a string. */
function endOfLine(text: string, start: number): [end: number, isOpen: boolean] {
  let isOpen = false
  for (let at = start; at < text.length; at++) {
    const unit = text.charCodeAt(at)
    if (unit === 10) return [at, isOpen]
    if (unit === 34) isOpen = !isOpen
    else if (unit === 92 && text.charCodeAt(at + 1) !== 10) at++
  }
  return [text.length, isOpen]
}
/** Longer strings that are divided by line breaks are not read together. In lines, and in characters. */
const mostLines = 16
const longestDivided = 8_192
/** The end of the line in which a string ends that a line break divided at an offset. */
function endOfDivided(text: string, start: number): number | undefined {
  let end = start
  let isInside = true
  for (let line = 0; isInside; line++) {
    if (line === mostLines || end >= text.length || end - start > longestDivided) return undefined
    const [to, changes] = endOfLine(text, end + 1)
    isInside = changes ? !isInside : isInside
    end = to
  }
  return end
}

/** A string alone in its line may be a part of a longer one. */
function valueOfLine(text: string, start: number, end: number, isDivided = false): Span | undefined {
  const line = text.slice(start, end)
  if (!line.includes('"') || /^\s*"/.test(line)) return undefined
  const value = stringIn(line, isDivided) ?? valueIn(line, isDivided)
  return value && { start: start + value.start, end: start + value.end }
}
/** A string after the name of its part, as protocols of streams write it: `0:"fe"`. */
const partOfStream = /^(?:data:\s*)?[\w-]{0,20}:[ \t]*(?=")/
function stringIn(line: string, isDivided: boolean): Span | undefined {
  const start = partOfStream.exec(line)?.[0].length
  if (start === undefined) return undefined
  const end = line.lastIndexOf('"') + 1
  return end > start + 1 && afterString(line, start, end, isDivided) === end ? { start, end } : undefined
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
  const path = columns.begin(isItem)
  /** Whether a property contains words of a person. Records have the same properties. */
  const spoken = new Map<string, boolean>()
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
        property = nameOf(text.slice(at + 1, close))
        const known = spoken.get(property)
        isSpoken = known ?? !(technical.test(property) || speaker.test(property))
        if (known === undefined) spoken.set(property, isSpoken)
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
    } else if (unit === 123 || unit === 91) {
      const bytes = unit === 91 ? textOfList(text, at, end) : textOfRecord(text, at, end)
      if (bytes) {
        layer.markup(from, at, '\n')
        layer.coded(at, bytes.end, bytes.text, bytes.encode)
        columns.skip()
        from = bytes.end
        at = from - 1
      } else path.open(unit === 123, property)
    } else if (unit === 125 || unit === 93) path.close()
    else if (unit === 44) path.next()
  }
  path.finish(columns)
  layer.markup(from, end, '\n')
}
/** A line break, with the signs of quoted-printable and the tags of HTML that may surround it. */
const breakInName = /=?(?:<\/?\w{1,10}>)?\r?\n\s{0,16}(?:<\w{1,10}>)?/g
/** The name of a property. An encoding around the JSON may break its line at another letter in each record. */
const nameOf = (name: string): string =>
  name.length < 100 && name.includes('\n') ? name.replace(breakInName, '') : name
const isOfNumber = (unit: number): boolean =>
  (unit >= 48 && unit <= 57) || unit === 43 || unit === 45 || unit === 46 || (unit | 32) === 101
