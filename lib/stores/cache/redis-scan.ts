import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import type { CacheEntry, CacheType } from './cache.ts'
import { bytes, flat, nameFrom, partsOf, typeOf } from './redis-texts.ts'
import { holds, type Link, pieceOverlap, portions, raw, send, values } from './redis-values.ts'
import type { SearchStrings } from './search-strings.ts'

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
