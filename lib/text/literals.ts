import type { StringColumns } from './columns.ts'
import { speaker, technical } from './json.ts'
import type { LayerBuilder } from './layer.ts'

/** A part of a literal of a programming language. */
interface Token {
  kind: 'string' | 'name' | 'open' | 'close' | 'comma' | 'key'
  start: number
  end: number
  /** The text of a name, or the key before a value. */
  text: string
}
const name = /[A-Za-z_$][\w.$]{0,200}/y
const number = /[-+]?(?:\d[\d_.]*(?:[eE][-+]?\d+)?|\.\d+)[jlL]?/y
const object = /<[^<>\n]{1,300}>/y
const prefix = /^[bBfFrRuU]{1,2}$/
const constants = new Set(['None', 'True', 'False', 'null', 'true', 'false', 'undefined', 'nil', 'NULL', 'nan', 'inf'])
const closers: Readonly<Record<string, string>> = { '(': ')', '[': ']', '{': '}' }

/** The end of a string in quotes, and of its quotes. */
function endOfString(text: string, at: number, end: number): { from: number; to: number; after: number } | undefined {
  const quote = text[at] ?? ''
  const width = text.startsWith(quote.repeat(3), at) ? 3 : 1
  for (let to = at + width; to < end; to++) {
    const unit = text.charCodeAt(to)
    if (unit === 92) to++
    else if (width === 1 && unit === 10 && quote === "'") return undefined
    else if (text[to] === quote && (width === 1 || text.startsWith(quote.repeat(3), to)))
      return { from: at + width, to, after: to + width }
  }
  return undefined
}

/** What is known of the brackets of a text. */
interface Reading {
  /** Brackets that begin no literal. */
  readonly failed: Set<number>
  /** The characters that may still be read. */
  left: number
}
interface Literal {
  tokens: Token[]
  hasString: boolean
}

/**
 * The tokens of a tuple, a list, a record or the arguments of a call that begins at an offset, as Python, Ruby and JavaScript write them.
 * Undefined if anything in it is no literal: then none of the brackets that are still open begins one.
 */
function literalAt(text: string, start: number, end: number, reading: Reading): Literal | undefined {
  const tokens: Token[] = []
  const open: { at: number; closer: string }[] = []
  let isExpected = true
  let hasString = false
  let at = start
  const fail = (): undefined => {
    for (const one of open) reading.failed.add(one.at)
    reading.left -= at - start + 1
  }
  const exec = (pattern: RegExp): string | undefined => {
    pattern.lastIndex = at
    return pattern.exec(text)?.[0]
  }
  while (at < end && at - start < reading.left) {
    const sign = text[at] ?? ''
    // A form writes a plus sign for a space, and a program between the parts of a string.
    if (text.charCodeAt(at) <= 32 || sign === '\u00a0' || sign === '+') {
      at++
      continue
    }
    const last = tokens.at(-1)
    if (sign === "'" || sign === '"') {
      const isPrefixed = last?.kind === 'name' && last.end === at && prefix.test(last.text)
      if (!isExpected && !isPrefixed && last?.kind !== 'string') return fail()
      const found = endOfString(text, at, end)
      if (!found) return fail()
      if (isPrefixed) tokens.pop()
      tokens.push({ kind: 'string', start: found.from, end: found.to, text: '' })
      hasString = true
      isExpected = false
      at = found.after
      continue
    }
    if (sign === '(' || sign === '[' || sign === '{') {
      if ((!isExpected && last?.kind !== 'name') || reading.failed.has(at)) return fail()
      open.push({ at, closer: closers[sign] ?? '' })
      tokens.push({ kind: 'open', start: at, end: at + 1, text: sign })
      isExpected = true
      at++
      continue
    }
    if (sign === ')' || sign === ']' || sign === '}') {
      if (open.at(-1)?.closer !== sign) return fail()
      open.pop()
      tokens.push({ kind: 'close', start: at, end: at + 1, text: sign })
      isExpected = false
      at++
      if (open.length > 0) continue
      reading.left -= at - start
      return { tokens, hasString }
    }
    if (sign === ',') {
      if (isExpected && last?.kind === 'comma') return fail()
      tokens.push({ kind: 'comma', start: at, end: at + 1, text: ',' })
      isExpected = true
      at++
      continue
    }
    if (sign === ':' || sign === '=') {
      if (!last || (last.kind !== 'name' && last.kind !== 'string')) return fail()
      if (last.kind === 'string') last.text = text.slice(last.start, last.end)
      last.kind = 'key'
      isExpected = true
      at += text.startsWith('=>', at) ? 2 : 1
      continue
    }
    if (!isExpected) return fail()
    const word = exec(name)
    const found = word ?? exec(number) ?? exec(object)
    if (found === undefined) return fail()
    if (word === undefined || !constants.has(word))
      tokens.push({ kind: 'name', start: at, end: at + found.length, text: word ?? '' })
    else tokens.push({ kind: 'name', start: at, end: at, text: '' })
    isExpected = false
    at += found.length
  }
  return fail()
}

export interface LiteralValue {
  start: number
  end: number
  tokens: readonly Token[]
}
const mayBeLiteral = /[([{,=:][\s+]*[bBfFrRuU]{0,2}['"]/

/** Whether the string after a bracket may be one of a literal, by what follows it. A text without literals has thousands of brackets. */
function mayBegin(text: string, at: number, end: number): boolean {
  const quote = text[at + 1] ?? ''
  if ((quote !== '"' && quote !== "'") || text[at + 2] === quote) return true
  const close = text.indexOf(quote, at + 2)
  if (close < 0 || close >= end) return false
  if (text.charCodeAt(close - 1) === 92) return true
  let after = close + 1
  while (after < end && (text.charCodeAt(after) <= 32 || text[after] === '\u00a0')) after++
  return after < end && afterString.includes(text[after] ?? ' ')
}
const afterString = `,:=)]}+'"`

/** How often a character is read, on average, until the rest of a text is left alone. */
const maxReadings = 12

export const hasLiteral = (text: string, start: number, end: number): boolean =>
  mayBeLiteral.test(text.slice(start, end))

/** The literals of programming languages in a part of a text. JSON is none of them. */
export function literalsIn(text: string, start: number, end: number): LiteralValue[] {
  const found: LiteralValue[] = []
  // Brackets inside strings can be read several times.
  const reading: Reading = { failed: new Set(), left: maxReadings * (end - start) }
  for (let at = start; at < end && reading.left > 0; at++) {
    const unit = text.charCodeAt(at)
    if ((unit !== 40 && unit !== 91 && unit !== 123) || reading.failed.has(at) || !mayBegin(text, at, end)) continue
    const literal = literalAt(text, at, end, reading)
    const last = literal?.tokens.at(-1)
    if (!literal || !last) continue
    if (literal.hasString) found.push({ start: at, end: last.end, tokens: literal.tokens })
    at = last.end - 1
  }
  return found
}

/** Reads a literal as {@link decodeJson} reads JSON. The escapes in its strings are left to the next layer. */
export function decodeLiteralValue(
  layer: LayerBuilder,
  { start, end, tokens }: LiteralValue,
  columns: StringColumns,
  isItem: boolean,
): void {
  const path = columns.begin(isItem)
  let [property, from] = ['', start]
  const take = (token: Token): void => {
    layer.markup(from, token.start, '\n')
    from = token.end
  }
  for (const [at, token] of tokens.entries()) {
    if (token.kind === 'open') {
      const isRecord = token.text === '{' || tokens[at + 1]?.kind === 'key'
      path.open(isRecord, property, token.text === '(' && at > 0)
      property = ''
    } else if (token.kind === 'close') path.close()
    else if (token.kind === 'comma') {
      path.next()
      property = ''
    } else if (token.kind === 'key') {
      property = token.text
      take(token)
      layer.tail(token.start, token.end, 'key')
    } else if (technical.test(property) || speaker.test(property)) {
      take(token)
      layer.tail(token.start, token.end, 'same')
    } else if (token.end > token.start) {
      // A string continues the one before it, if nothing is between them.
      const isContinued = token.kind === 'string' && tokens[at - 1]?.kind === 'string'
      layer.markup(from, token.start, isContinued ? '' : '\n')
      from = token.end
      const first = layer.length
      layer.copy(token.start, token.end)
      if (!isContinued && tokens[at + 1]?.kind !== 'string') layer.region(first, layer.length)
      if (token.kind === 'string') path.add(columns, property, token.start, token.end)
      else {
        path.number(property, layer.base.slice(token.start, token.end))
        columns.skip()
      }
    }
  }
  path.finish(columns)
  layer.markup(from, end, '\n')
}
