import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import type { CacheEntry, CachePart, CacheType } from './cache.ts'
import type { Needles } from './needles.ts'
import type { RedisLink } from './redis-link.ts'

/** Bytes of a string value per read. */
const piece = 1024 * 1024
const members = 500
const namesAtOnce = 1000
const valuesAtOnce = 16
/** A database with more keys is not searched: the result would not reflect one point in time. */
const mostKeys = 5_000_000

/**
 * KEYS: names. ARGV: bytes of a string, members of any other type. Returns whether each value is complete, and the value if it is small
 * enough for one read; otherwise it is read in pieces.
 */
const PEEK = `
local found = {}
for i, name in ipairs(KEYS) do
  local type = redis.call('TYPE', name).ok
  local said = {}
  local isWhole = true
  if type == 'string' then
    local text = redis.call('GETRANGE', name, 0, ARGV[1] - 1)
    isWhole = #text < tonumber(ARGV[1])
    if isWhole then said = {text} end
  elseif type == 'hash' and redis.call('HLEN', name) <= tonumber(ARGV[2]) then said = redis.call('HGETALL', name)
  elseif type == 'list' and redis.call('LLEN', name) <= tonumber(ARGV[2]) then said = redis.call('LRANGE', name, 0, -1)
  elseif type == 'set' and redis.call('SCARD', name) <= tonumber(ARGV[2]) then said = redis.call('SMEMBERS', name)
  elseif type == 'zset' and redis.call('ZCARD', name) <= tonumber(ARGV[2]) then said = redis.call('ZRANGE', name, 0, -1)
  elseif type ~= 'none' then isWhole = false end
  found[i] = {isWhole and 1 or 0, said}
end
return found`
/** KEYS: names. Like PEEK, with the type of each. */
const READ = PEEK.replace('found[i] = {isWhole and 1 or 0, said}', 'found[i] = {type, isWhole and 1 or 0, said}')
const peekBytes = 64 * 1024
const peekMembers = 64
const peeked = 100

/** Bulk strings, whose first byte in Redis's protocol is `$`, are returned as bytes. Importing the client for its name would load it at start. */
const raw = { typeMapping: { ['$'.charCodeAt(0)]: Buffer } }

/** All strings of an answer at any depth, as Latin-1, in which each byte is one character, whatever the value. */
function flat(answer: unknown): string[] {
  if (Array.isArray(answer)) return answer.flatMap(flat)
  if (Buffer.isBuffer(answer)) return [answer.toString('latin1')]
  return answer === null || answer === undefined ? [] : [Buffer.from(String(answer)).toString('latin1')]
}
const bytes = (latin: string): Buffer => Buffer.from(latin, 'latin1')

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

/** A string with more bytes is read in pieces. */
const longestString = 4 * 1024 * 1024
/** The overlap of adjacent pieces of a long string, in bytes. */
const pieceOverlap = 64 * 1024
const nothing = Buffer.alloc(0)

const typeOf = (type: string): CacheType =>
  type === 'string' || type === 'hash' || type === 'list' || type === 'set' || type === 'zset' || type === 'stream'
    ? type
    : 'other'
function pairs(texts: readonly string[]): [string, string][] {
  const found: [string, string][] = []
  for (let at = 0; at + 1 < texts.length; at += 2) found.push([texts[at] ?? '', texts[at + 1] ?? ''])
  return found
}
const fieldsOf = (texts: readonly string[]): CachePart[] =>
  pairs(texts).map(([field, value]) => ({ id: bytes(field), texts: [bytes(value)] }))
const itemsOf = (texts: readonly string[]): CachePart[] =>
  texts.map((text) => ({ id: bytes(text), texts: [bytes(text)] }))

export function redisScan({ ask }: Pick<RedisLink, 'ask'>) {
  const send = (...command: (string | Buffer)[]): Promise<string[]> =>
    ask(async (client) => flat(await client.sendCommand(command, raw)))

  /** All names (Latin-1) in pages; a name may occur twice. */
  async function* names(match?: string): AsyncGenerator<string[]> {
    let [cursor, seen] = ['0', 0]
    do {
      const filter = match === undefined ? [] : ['MATCH', match]
      const [next = '0', ...found] = await send('SCAN', cursor, ...filter, 'COUNT', String(namesAtOnce))
      seen += found.length
      if (seen > mostKeys)
        throw unusableStore('too_large', {
          detail: `The cache (Redis) has more than ${mostKeys} keys and cannot be searched.`,
        })
      yield found
      cursor = next
    } while (cursor !== '0')
  }

  async function* stringPieces(key: Buffer, overlap: number): AsyncGenerator<string[]> {
    const step = Math.max(piece, 2 * overlap)
    for (let at = 0; ; at += step - overlap) {
      const found = await send('GETRANGE', key, String(at), String(at + step - 1))
      yield found
      if ((found[0] ?? '').length < step) return
    }
  }
  async function* scanned(command: string, key: Buffer): AsyncGenerator<string[]> {
    let cursor = '0'
    do {
      const [next = '0', ...found] = await send(command, key, cursor, 'COUNT', String(members))
      yield found
      cursor = next
    } while (cursor !== '0')
  }
  async function* listed(key: Buffer): AsyncGenerator<string[]> {
    for (let at = 0; ; at += members) {
      const found = await send('LRANGE', key, String(at), String(at + members - 1))
      yield found
      if (found.length < members) return
    }
  }
  async function* streamed(key: Buffer): AsyncGenerator<string[]> {
    let from = '-'
    for (;;) {
      const answer: unknown = await ask((client) =>
        client.sendCommand(['XRANGE', key, from, '+', 'COUNT', String(members)], raw),
      )
      yield flat(answer)
      const last: unknown = Array.isArray(answer) && answer.length === members ? answer.at(-1) : undefined
      if (last === undefined) return
      from = `(${flat(last)[0] ?? ''}`
    }
  }
  /** The contents of a key in pieces, as far as they can be read. For unknown types, the bytes in which Redis saves them. */
  async function* values(key: Buffer, overlap: number): AsyncGenerator<string[]> {
    const [type] = await send('TYPE', key)
    if (type === 'string') yield* stringPieces(key, overlap)
    else if (type === 'hash') yield* scanned('HSCAN', key)
    else if (type === 'set') yield* scanned('SSCAN', key)
    else if (type === 'zset') yield* scanned('ZSCAN', key)
    else if (type === 'list') yield* listed(key)
    else if (type === 'stream') yield* streamed(key)
    else if (type === 'ReJSON-RL') yield await send('JSON.GET', key)
    else if (type !== 'none') yield await send('DUMP', key)
  }
  /** Searches a value that was too large for one read, in pieces. */
  async function holds(latin: string, needles: Needles): Promise<boolean> {
    try {
      for await (const texts of values(bytes(latin), needles.longest)) if (texts.some(needles.standIn)) return true
    } catch (error) {
      // A value of another type replaced it in the meantime, so it is read again.
      if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
      return holds(latin, needles)
    }
    return false
  }

  /** The parts of an entry that is too large to be read together with others. */
  async function* portions(latin: string, type: string): AsyncGenerator<Pick<CacheEntry, 'parts' | 'isWhole'>> {
    const key = bytes(latin)
    const whole = (parts: CachePart[]) => ({ parts, isWhole: true })
    if (type === 'string') {
      const [length = '0'] = await send('STRLEN', key)
      const isWhole = Number(length) <= longestString
      if (isWhole) yield whole((await send('GET', key)).map((text) => ({ id: nothing, texts: [bytes(text)] })))
      else
        for await (const texts of stringPieces(key, pieceOverlap))
          yield { parts: [{ id: nothing, texts: texts.map(bytes) }], isWhole: false }
    } else if (type === 'hash') for await (const texts of scanned('HSCAN', key)) yield whole(fieldsOf(texts))
    else if (type === 'list') for await (const texts of listed(key)) yield whole(itemsOf(texts))
    else if (type === 'set') for await (const texts of scanned('SSCAN', key)) yield whole(itemsOf(texts))
    else if (type === 'zset')
      for await (const texts of scanned('ZSCAN', key)) yield whole(itemsOf(pairs(texts).map(([member]) => member)))
    else if (type === 'stream') yield* streamPortions(key)
    else
      for await (const texts of values(key, 0))
        yield { parts: [{ id: nothing, texts: texts.map(bytes) }], isWhole: false }
  }
  async function* streamPortions(key: Buffer): AsyncGenerator<Pick<CacheEntry, 'parts' | 'isWhole'>> {
    for (let from = '-'; ; ) {
      const answer: unknown = await ask((client) =>
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
  async function readOne(latin: string, type: string, visit: (entry: CacheEntry) => Promise<void>): Promise<void> {
    try {
      for await (const portion of portions(latin, type))
        if (portion.parts.length > 0) await visit({ name: nameFrom(latin), type: typeOf(type), ...portion })
    } catch (error) {
      // A value of another type replaced it in the meantime.
      if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
      const [now = 'none'] = await send('TYPE', bytes(latin))
      if (now !== 'none' && now !== type) await readOne(latin, now, visit)
    }
  }

  return {
    names,
    send,
    /** Reads entries by their names (Latin-1); many small ones in one call. */
    async read(found: readonly string[], visit: (entry: CacheEntry) => Promise<void>): Promise<void> {
      for (let at = 0; at < found.length; at += peeked) {
        const some = found.slice(at, at + peeked)
        const answer: unknown = await ask((client) =>
          client.sendCommand(
            ['EVAL', READ, String(some.length), ...some.map(bytes), String(peekBytes), String(peekMembers)],
            raw,
          ),
        )
        if (!Array.isArray(answer)) throw new Error('EVAL returned no list')
        for (const [n, latin] of some.entries()) {
          const [type = 'none', isWhole, ...texts] = flat(answer[n])
          if (type === 'none') continue
          if (isWhole !== '1') await readOne(latin, type, visit)
          else {
            const parts =
              type === 'string'
                ? texts.map((text) => ({ id: nothing, texts: [bytes(text)] }))
                : type === 'hash'
                  ? fieldsOf(texts)
                  : itemsOf(texts)
            if (parts.length > 0) await visit({ name: nameFrom(latin), type: typeOf(type), parts, isWhole: true })
          }
        }
      }
    },
    /** Reads all texts of an entry by its name (Latin-1), without scripts. */
    async texts(latin: string, visit: (texts: readonly Buffer[]) => Promise<void>): Promise<void> {
      try {
        for await (const texts of values(bytes(latin), pieceOverlap)) await visit(texts.map(bytes))
      } catch (error) {
        if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
        for await (const texts of values(bytes(latin), pieceOverlap)) await visit(texts.map(bytes))
      }
    },
    /** Those of the names (Latin-1) that contain one of the needles (Latin-1), or whose values do. */
    async holding(found: readonly string[], needles: Needles): Promise<string[]> {
      const hits = found.filter(needles.standIn)
      const others = found.filter((name) => !needles.standIn(name))
      const large: string[] = []
      for (let at = 0; at < others.length; at += peeked) {
        const some = others.slice(at, at + peeked)
        const answer: unknown = await ask((client) =>
          client.sendCommand(
            ['EVAL', PEEK, String(some.length), ...some.map(bytes), String(peekBytes), String(peekMembers)],
            raw,
          ),
        )
        if (!Array.isArray(answer)) throw new Error('EVAL gave no list')
        for (const [n, name] of some.entries()) {
          const [isWhole, ...texts] = flat(answer[n])
          if (isWhole !== '1') large.push(name)
          else if (texts.some(needles.standIn)) hits.push(name)
        }
      }
      const left = large.values()
      await Promise.all(
        Array.from({ length: Math.min(valuesAtOnce, large.length) }, async () => {
          for (const one of left) if (await holds(one, needles)) hits.push(one)
        }),
      )
      return hits
    },
  }
}
export type RedisScan = ReturnType<typeof redisScan>
