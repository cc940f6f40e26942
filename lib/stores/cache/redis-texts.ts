import type { CachePart, CacheType } from './cache.ts'

/** All strings of an answer at any depth, as Latin-1, in which each byte is one character, whatever the value. */
export function flat(answer: unknown): string[] {
  if (Array.isArray(answer)) return answer.flatMap(flat)
  if (Buffer.isBuffer(answer)) return [answer.toString('latin1')]
  return answer === null || answer === undefined ? [] : [Buffer.from(String(answer)).toString('latin1')]
}
export const bytes = (latin: string): Buffer => Buffer.from(latin, 'latin1')

/** The UTF-8 bytes of a text as Latin-1, for {@link flat}. */
export const asLatin = (text: string): string => Buffer.from(text).toString('latin1')

/** The prefix of a name that is encoded as base64, because it is not valid text or our database cannot store it as text. */
const coded = 'base64:'
export function nameFrom(latin: string): string {
  const buffer = bytes(latin)
  const text = buffer.toString()
  const isText = !text.includes('\u0000') && !text.startsWith(coded) && Buffer.from(text).equals(buffer)
  return isText ? text : coded + buffer.toString('base64')
}
export const bytesOfName = (name: string): Buffer =>
  name.startsWith(coded) ? Buffer.from(name.slice(coded.length), 'base64') : Buffer.from(name)

/** The id of the parts of a string, which has no fields. */
export const nothing = Buffer.alloc(0)

export const typeOf = (type: string): CacheType =>
  type === 'string' || type === 'hash' || type === 'list' || type === 'set' || type === 'zset' || type === 'stream'
    ? type
    : 'other'
export function pairs(texts: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let at = 0; at + 1 < texts.length; at += 2) found.push([texts[at] ?? '', texts[at + 1] ?? ''])
  return found
}
export const fieldsOf = (texts: readonly string[]): CachePart[] =>
  pairs(texts).map(([field, value]) => ({ id: bytes(field), texts: [bytes(value)] }))
export const itemsOf = (texts: readonly string[]): CachePart[] =>
  texts.map((text) => ({ id: bytes(text), texts: [bytes(text)] }))

/** `from`: the position of the first item. */
export const listItemsOf = (texts: readonly string[], from = 0): CachePart[] =>
  texts.map((text, n) => ({ id: bytes(text), texts: [bytes(text)], at: from + n }))

/** The parts of a value that is small enough for one read. */
export const partsOf = (type: string, texts: readonly string[]): CachePart[] =>
  type === 'string'
    ? texts.map((text) => ({ id: nothing, texts: [bytes(text)] }))
    : type === 'hash'
      ? fieldsOf(texts)
      : type === 'list'
        ? listItemsOf(texts)
        : itemsOf(texts)
