import { Problem } from '#lib/kernel/problem.ts'
import type { CacheEntry, CachePart, CacheType } from './cache.ts'
import { byName } from './names-in-order.ts'
import type { RedisLink } from './redis-link.ts'
import { bytes, fieldsOf, flat, itemsOf, listItemsOf, nothing, pairs, typeOf } from './redis-texts.ts'
import type { SearchStrings } from './search-strings.ts'

export type Link = Pick<RedisLink, 'ask' | 'check' | 'confirm'>

/** Bytes of a string value per read. */
const piece = 1024 * 1024
const members = 500
/** A string with more bytes is read in pieces. */
const longestString = 4 * 1024 * 1024
/** The overlap of adjacent pieces of a long string, in bytes. */
export const pieceOverlap = 64 * 1024

/** Bulk strings (type byte `/**  in Redis's protocol) are returned as bytes. The constant is not imported from the client, because the import would load the client at the start. */
export const raw = { typeMapping: { ['$'.charCodeAt(0)]: Buffer } }

export const send = ({ ask }: Link, ...command: (string | Buffer)[]): Promise<string[]> =>
  ask(async (client) => flat(await client.sendCommand(command, raw)))

async function* stringPieces(link: Link, key: Buffer, overlap: number): AsyncGenerator<string[]> {
  const step = Math.max(piece, 2 * overlap)
  for (let at = 0; ; at += step - overlap) {
    const found = await send(link, 'GETRANGE', key, String(at), String(at + step - 1))
    yield found
    if ((found[0] ?? '').length < step) return
  }
}

async function* scanned(link: Link, command: string, key: Buffer): AsyncGenerator<string[]> {
  let cursor = '0'
  do {
    const [next = '0', ...found] = await send(link, command, key, cursor, 'COUNT', String(members))
    yield found
    cursor = next
  } while (cursor !== '0')
}

/** Up to this many fields and characters of a hash are sorted before they are read. */
const maxSorted = 20_000
const maxSortedLength = 8 * 1024 * 1024
/**
 * The names and values of a hash, alternating. A small hash has the order in which it was written. A large one has none, so its fields are read in
 * the order of their names: words may be split over numbered fields.
 */
async function* hashed(link: Link, key: Buffer): AsyncGenerator<string[]> {
  const gathered = new Map<string, string>()
  const texts = () => [...gathered].flat()
  let [length, replies] = [0, 0]
  for await (const found of scanned(link, 'HSCAN', key)) {
    replies++
    if (length > maxSortedLength || gathered.size > maxSorted) {
      yield found
      continue
    }
    for (const [name, value] of pairs(found)) {
      gathered.set(name, value ?? '')
      length += name.length + (value ?? '').length
    }
    if (length > maxSortedLength || gathered.size > maxSorted) yield texts()
  }
  if (length > maxSortedLength || gathered.size > maxSorted) return
  if (replies === 1) yield texts()
  else {
    const sorted = [...gathered].sort(([one], [other]) => byName(one, other))
    for (let at = 0; at < sorted.length; at += members) yield sorted.slice(at, at + members).flat()
  }
}

async function* listed(link: Link, key: Buffer): AsyncGenerator<string[]> {
  for (let at = 0; ; at += members) {
    const found = await send(link, 'LRANGE', key, String(at), String(at + members - 1))
    yield found
    if (found.length < members) return
  }
}

async function* streamed(link: Link, key: Buffer): AsyncGenerator<string[]> {
  let from = '-'
  for (;;) {
    const answer: unknown = await link.ask((client) =>
      client.sendCommand(['XRANGE', key, from, '+', 'COUNT', String(members)], raw),
    )
    yield flat(answer)
    const last: unknown = Array.isArray(answer) && answer.length === members ? answer.at(-1) : undefined
    if (last === undefined) return
    from = `(${flat(last)[0] ?? ''}`
  }
}

const piecesOf = (link: Link, type: CacheType, key: Buffer, overlap: number): AsyncIterable<string[]> => {
  if (type === 'string') return stringPieces(link, key, overlap)
  if (type === 'hash') return hashed(link, key)
  if (type === 'set') return scanned(link, 'SSCAN', key)
  if (type === 'zset') return scanned(link, 'ZSCAN', key)
  return type === 'list' ? listed(link, key) : streamed(link, key)
}
/** The contents of a key in pieces, as far as they can be read. For unknown types, the bytes in which Redis saves them. */
export async function* values(
  link: Link,
  key: Buffer,
  overlap: number,
): AsyncGenerator<{ texts: string[]; type: CacheType }> {
  const [name = 'none'] = await send(link, 'TYPE', key)
  const type = typeOf(name)
  if (type !== 'other') for await (const texts of piecesOf(link, type, key, overlap)) yield { texts, type }
  else if (name === 'ReJSON-RL') yield { texts: await send(link, 'JSON.GET', key), type }
  else if (name !== 'none') yield { texts: await send(link, 'DUMP', key), type }
}

/** Searches a value that was too large for one read, in pieces. */
export async function holds(link: Link, latin: string, searchStrings: SearchStrings): Promise<boolean> {
  try {
    for await (const { texts } of values(link, bytes(latin), searchStrings.longest))
      if (texts.some(searchStrings.occursIn)) return true
  } catch (error) {
    // A value of another type replaced it in the meantime, so it is read again.
    if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
    return holds(link, latin, searchStrings)
  }
  return false
}

/** The parts of an entry that is too large to be read together with others. */
export async function* portions(
  link: Link,
  latin: string,
  type: string,
): AsyncGenerator<Pick<CacheEntry, 'parts' | 'isWhole'>> {
  const key = bytes(latin)
  const whole = (parts: CachePart[]) => ({ parts, isWhole: true })
  if (type === 'string') {
    const [length = '0'] = await send(link, 'STRLEN', key)
    const isWhole = Number(length) <= longestString
    if (isWhole) yield whole((await send(link, 'GET', key)).map((text) => ({ id: nothing, texts: [bytes(text)] })))
    else
      for await (const texts of stringPieces(link, key, pieceOverlap))
        yield { parts: [{ id: nothing, texts: texts.map(bytes) }], isWhole: false }
  } else if (type === 'hash') for await (const texts of hashed(link, key)) yield whole(fieldsOf(texts))
  else if (type === 'list') {
    let from = 0
    for await (const texts of listed(link, key)) {
      yield whole(listItemsOf(texts, from))
      from += texts.length
    }
  } else if (type === 'set') for await (const texts of scanned(link, 'SSCAN', key)) yield whole(itemsOf(texts))
  else if (type === 'zset')
    for await (const texts of scanned(link, 'ZSCAN', key)) yield whole(itemsOf(pairs(texts).map(([member]) => member)))
  else if (type === 'stream') yield* streamPortions(link, key)
  else
    for await (const { texts } of values(link, key, 0))
      yield { parts: [{ id: nothing, texts: texts.map(bytes) }], isWhole: false }
}

async function* streamPortions(link: Link, key: Buffer): AsyncGenerator<Pick<CacheEntry, 'parts' | 'isWhole'>> {
  for (let from = '-'; ; ) {
    const answer: unknown = await link.ask((client) =>
      client.sendCommand(['XRANGE', key, from, '+', 'COUNT', String(members)], raw),
    )
    const entries = Array.isArray(answer) ? answer.map((one: unknown) => flat(one)) : []
    yield {
      parts: entries.map(([id = '', ...texts]) => ({ id: bytes(id), texts: texts.map(bytes) })),
      isWhole: true,
    }
    const last = entries.at(-1)?.[0]
    if (last === undefined || entries.length < members) return
    from = `(${last}`
  }
}
