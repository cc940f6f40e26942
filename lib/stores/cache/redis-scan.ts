import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import type { CacheEntry, CachePart, CacheType } from './cache.ts'
import { byName } from './names-in-order.ts'
import type { RedisLink } from './redis-link.ts'
import {
  bytes,
  fieldsOf,
  flat,
  itemsOf,
  listItemsOf,
  nameFrom,
  nothing,
  pairs,
  partsOf,
  typeOf,
} from './redis-texts.ts'
import type { SearchStrings } from './search-strings.ts'

type Link = Pick<RedisLink, 'ask' | 'check' | 'confirm'>

/** Bytes of a string value per read. */
const piece = 1024 * 1024
const members = 500
/** A string with more bytes is read in pieces. */
const longestString = 4 * 1024 * 1024
/** The overlap of adjacent pieces of a long string, in bytes. */
const pieceOverlap = 64 * 1024

/** Bulk strings (type byte `/**  in Redis's protocol) are returned as bytes. The constant is not imported from the client, because the import would load the client at the start. */
const raw = { typeMapping: { ['$'.charCodeAt(0)]: Buffer } }

const send = ({ ask }: Link, ...command: (string | Buffer)[]): Promise<string[]> =>
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
async function* values(link: Link, key: Buffer, overlap: number): AsyncGenerator<{ texts: string[]; type: CacheType }> {
  const [name = 'none'] = await send(link, 'TYPE', key)
  const type = typeOf(name)
  if (type !== 'other') for await (const texts of piecesOf(link, type, key, overlap)) yield { texts, type }
  else if (name === 'ReJSON-RL') yield { texts: await send(link, 'JSON.GET', key), type }
  else if (name !== 'none') yield { texts: await send(link, 'DUMP', key), type }
}

/** Searches a value that was too large for one read, in pieces. */
async function holds(link: Link, latin: string, searchStrings: SearchStrings): Promise<boolean> {
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
async function* portions(
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

const namesAtOnce = 1000
const valuesAtOnce = 16
/** A database with more keys is not searched: the result would not reflect one point in time. */
const maxKeys = 5_000_000

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

/** The id of the server process. It changes with a restart and a failover. */
async function processOf(link: Link): Promise<string> {
  const [about = ''] = await send(link, 'INFO', 'server')
  return /^run_id:(\w+)/m.exec(about)?.[1] ?? ''
}

/**
 * All names (Latin-1) in pages; a name may occur twice.
 *
 * @throws `unavailable` if the server was restarted or another one took over: the cursor has no meaning there, so names may be missing
 */
async function* names(link: Link, match?: string): AsyncGenerator<string[]> {
  let [cursor, seen] = ['0', 0]
  const server = await processOf(link)
  do {
    const filter = match === undefined ? [] : ['MATCH', match]
    const [next = '0', ...found] = await send(link, 'SCAN', cursor, ...filter, 'COUNT', String(namesAtOnce))
    seen += found.length
    if (seen > maxKeys)
      throw unusableStore('too_large', {
        detail: `The cache (Redis) has more than ${maxKeys} keys, so it cannot be searched. Remove keys, or use a separate database for this application.`,
      })
    yield found
    cursor = next
  } while (cursor !== '0')
  if ((await processOf(link)) !== server)
    throw new Problem('unavailable', 'The cache (Redis) was restarted during a search. The search is repeated later.')
  await link.check()
}

async function readOne(
  link: Link,
  latin: string,
  type: string,
  visit: (entry: CacheEntry) => Promise<void>,
): Promise<void> {
  try {
    for await (const portion of portions(link, latin, type))
      if (portion.parts.length > 0) await visit({ name: nameFrom(latin), type: typeOf(type), ...portion })
  } catch (error) {
    // A value of another type replaced it in the meantime.
    if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
    const [now = 'none'] = await send(link, 'TYPE', bytes(latin))
    if (now !== 'none' && now !== type) await readOne(link, latin, now, visit)
  }
}

/** Runs {@link PEEK} or {@link READ} for the names (Latin-1). */
async function evaluate({ ask }: Link, script: string, names: readonly string[]): Promise<unknown[]> {
  const answer: unknown = await ask((client) =>
    client.sendCommand(
      ['EVAL', script, String(names.length), ...names.map(bytes), String(peekBytes), String(peekMembers)],
      raw,
    ),
  )
  if (!Array.isArray(answer)) throw new Error('EVAL returned no list')
  return answer
}

/** Reads entries by their names (Latin-1); many small ones in one call. */
async function readEntries(
  link: Link,
  found: readonly string[],
  visit: (entry: CacheEntry) => Promise<void>,
): Promise<void> {
  for (let at = 0; at < found.length; at += peeked) {
    const some = found.slice(at, at + peeked)
    const answer = await evaluate(link, READ, some)
    for (const [n, latin] of some.entries()) {
      const [type = 'none', isWhole, ...texts] = flat(answer[n])
      if (type === 'none') continue
      if (isWhole !== '1') await readOne(link, latin, type, visit)
      else {
        const parts = partsOf(type, texts)
        if (parts.length > 0) await visit({ name: nameFrom(latin), type: typeOf(type), parts, isWhole: true })
      }
    }
  }
}

type TextsVisitor = (texts: readonly Buffer[], type: CacheType) => Promise<void>
/** Reads all texts of an entry by its name (Latin-1), without scripts. */
async function readTexts(link: Link, latin: string, visit: TextsVisitor): Promise<void> {
  const read = async () => {
    for await (const { texts, type } of values(link, bytes(latin), pieceOverlap)) await visit(texts.map(bytes), type)
  }
  try {
    await read()
  } catch (error) {
    if (!Problem.is(error) || !error.detail?.includes('WRONGTYPE')) throw error
    await read()
  }
}

/** Those of the names (Latin-1) that contain one of the needles (Latin-1), or whose values do. */
async function namesHolding(link: Link, found: readonly string[], searchStrings: SearchStrings): Promise<string[]> {
  const hits = found.filter(searchStrings.occursIn)
  const others = found.filter((name) => !searchStrings.occursIn(name))
  const large: string[] = []
  for (let at = 0; at < others.length; at += peeked) {
    const some = others.slice(at, at + peeked)
    const answer = await evaluate(link, PEEK, some)
    for (const [n, name] of some.entries()) {
      const [isWhole, ...texts] = flat(answer[n])
      if (isWhole !== '1') large.push(name)
      else if (texts.some(searchStrings.occursIn)) hits.push(name)
    }
  }
  const left = large.values()
  await Promise.all(
    Array.from({ length: Math.min(valuesAtOnce, large.length) }, async () => {
      for (const one of left) if (await holds(link, one, searchStrings)) hits.push(one)
    }),
  )
  return hits
}

/** The names that one page of a complete reading contains, about. */
const namesPerPage = 250

/**
 * Reads a page of all entries. A cursor of SCAN is valid only in the server process that returned it: after a restart or a failover, the
 * reading begins again.
 */
async function readPage(
  link: Link,
  after: string | null,
  isWanted: (latin: string) => boolean,
  visit: (entry: CacheEntry) => Promise<void>,
): Promise<string | null> {
  const server = await processOf(link)
  const [known, at = '0'] = (after ?? '').split(' ')
  const [next = '0', ...found] = await send(link, 'SCAN', known === server ? at : '0', 'COUNT', String(namesPerPage))
  await readEntries(link, found.filter(isWanted), visit)
  if (next !== '0') return `${server} ${next}`
  await link.check()
  return null
}

/** Reads and searches all keys of a database. Names are Latin-1. */
export const redisScan = (link: Link) => ({
  names: (match?: string) => names(link, match),
  page: (after: string | null, isWanted: (latin: string) => boolean, visit: (entry: CacheEntry) => Promise<void>) =>
    readPage(link, after, isWanted, visit),
  send: (...command: (string | Buffer)[]) => send(link, ...command),
  read: (found: readonly string[], visit: (entry: CacheEntry) => Promise<void>) => readEntries(link, found, visit),
  texts: (latin: string, visit: TextsVisitor) => readTexts(link, latin, visit),
  holding: (found: readonly string[], searchStrings: SearchStrings) => namesHolding(link, found, searchStrings),
})
export type RedisScan = ReturnType<typeof redisScan>
