import { randomUUID } from 'node:crypto'
import type { StoreState } from '../store-state.ts'
import { type CacheStore, checkedTtl, longestTtl, ownPrefix } from './cache.ts'
import { errorNameOf, type RedisLink, redisLink } from './redis-link.ts'
import { type RedisScan, redisScan } from './redis-scan.ts'
import { changeScript, dropScript, existingScript, setScript } from './redis-scripts.ts'
import { asLatin, bytesOfName, nameFrom } from './redis-texts.ts'
import { matcherOf, searchStringsOf } from './search-strings.ts'

/**
 * The prefix of indexes. An entry is a hash with its `value` and the ids that it is `about` (JSON), so that it can be found even after
 * Redis evicted the index. The index of an id is a sorted set of names, each with its expiry in seconds as the score; its TTL is that of
 * its longest entry.
 */
const indexPrefix = 'kp:about:'
/** The prefix of rate limit counters (lib/access), which are not entries. */
const limitPrefix = 'kp:limit'
/** The prefix of records of what an erasure did, by run: hashes of labels, without names and values. */
const notesPrefix = 'kp:erased:'
/** Up to this many patterns are sent to the server one after the other; for more, all names are read once. */
const fewPatterns = 4

/** Whether a name belongs to an entry, not to a rate limit counter or our bookkeeping. */
const isEntry = (name: string): boolean =>
  !name.startsWith(indexPrefix) && !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix)

/** Names in an index that exist. `clean` removes the others from it. */
const existingNames = (scan: RedisScan, index: string, how: 'read' | 'clean'): Promise<string[]> =>
  scan.send('EVAL', existingScript, '1', index, how)

/** Names of entries for which `isWanted` returns true, sorted. `match`: the server's filter, applied before ours. */
async function entriesWhere(scan: RedisScan, isWanted: (name: string) => boolean, match?: string): Promise<string[]> {
  const found = new Set<string>()
  for await (const page of scan.names(match))
    for (const name of page.map(nameFrom)) if (isEntry(name) && isWanted(name)) found.add(name)
  return [...found].sort()
}

/** Names of entries that match one of the patterns. */
async function entriesMatching(scan: RedisScan, patterns: readonly string[]): Promise<string[]> {
  const matches = matcherOf(patterns)
  const found: string[] = []
  // The server compares bytes, so patterns with `?` or non-ASCII characters are compared only here.
  const areAsked = patterns.length <= fewPatterns && patterns.every((one) => /^[ -~]*$/.test(one))
  const isSafe = areAsked && patterns.every((one) => !one.includes('?') && !/(^|[^\\])[[\]]/.test(one))
  for (const match of isSafe ? patterns : [undefined]) found.push(...(await entriesWhere(scan, matches, match)))
  return found
}

/** Names of entries whose name, value or index contains one of the strings, sorted. */
async function namesContaining(scan: RedisScan, strings: readonly string[]): Promise<string[]> {
  const searchStrings = searchStringsOf(strings.map(asLatin))
  const found = new Set<string>()
  if (searchStrings.isEmpty) return []
  for await (const page of scan.names()) {
    const names = page.filter((name) => !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix))
    const entries = names.filter((name) => !name.startsWith(indexPrefix))
    for (const name of await scan.holding(entries, searchStrings)) found.add(nameFrom(name))
    // An index counts if its id matches and a name in it exists. Existing entries are found themselves.
    for (const index of names.filter((name) => name.startsWith(indexPrefix))) {
      const existing = await existingNames(scan, nameFrom(index), 'clean')
      if (existing.length > 0 && searchStrings.occursIn(index)) found.add(nameFrom(index))
    }
  }
  return [...found].sort()
}

/**
 * KEYS: names. ARGV: the maximum TTL, `shorten` or `count`, prefixes. Returns how many keys have no TTL, how many a longer one, how many
 * of both have a prefix, and how many were shortened. EXPIRE with LT never lengthens a TTL.
 */
const LIFETIMES = `
local most = tonumber(ARGV[1])
local unlimited, long, prefixed, shortened = 0, 0, 0, 0
for _, name in ipairs(KEYS) do
  local ttl = redis.call('TTL', name)
  if ttl == -1 or ttl > most then
    if ttl == -1 then unlimited = unlimited + 1 else long = long + 1 end
    for at = 3, #ARGV do
      if string.sub(name, 1, #ARGV[at]) == ARGV[at] then
        prefixed = prefixed + 1
        if ARGV[2] == 'shorten' then shortened = shortened + redis.call('EXPIRE', name, most, 'LT') end
        break
      end
    end
  end
end
return {unlimited, long, prefixed, shortened}`

const redisLifetimes =
  (scan: RedisScan): CacheStore['lifetimes'] =>
  async ({ prefixes, shorten, max }) => {
    const sums = { examined: 0, unlimited: 0, tooLong: 0, prefixed: 0, shortened: 0 }
    const wanted = [String(longestTtl), shorten ? 'shorten' : 'count', ...prefixes]
    for await (const page of scan.names()) {
      if (sums.examined >= max) return { ...sums, isComplete: false }
      const names = page.map(nameFrom).filter(isEntry).map(bytesOfName)
      if (names.length === 0) continue
      const counts = await scan.send('EVAL', LIFETIMES, String(names.length), ...names, ...wanted)
      const [unlimited = 0, tooLong = 0, prefixed = 0, shortened = 0] = counts.map(Number)
      sums.examined += names.length
      sums.unlimited += unlimited
      sums.tooLong += tooLong
      sums.prefixed += prefixed
      sums.shortened += shortened
    }
    return { ...sums, isComplete: true }
  }

const notesDays = 30
const atOnce = 100
const readAtOnce = 64

/** Whether the server answers, and in how many milliseconds. */
async function stateOf(link: RedisLink): Promise<StoreState> {
  const began = performance.now()
  try {
    await link.ask((client) => client.ping())
    return { state: 'ok', latency: performance.now() - began }
  } catch (error) {
    const detail = /\(([\w ]+)\)\. No data/.exec(error instanceof Error ? error.message : '')?.[1] ?? errorNameOf(error)
    return { state: 'down', latency: performance.now() - began, detail }
  }
}

/** Records of what an erasure did. */
const redisNotes = (link: RedisLink, scan: RedisScan): Pick<CacheStore, 'note' | 'notes' | 'forgetNotes'> => ({
  async note(run, notes) {
    const fields = Object.entries(notes).flat()
    if (fields.length === 0) return
    await scan.send('HSET', notesPrefix + run, ...fields)
    await scan.send('EXPIRE', notesPrefix + run, String(notesDays * 86_400))
  },
  async notes(run) {
    const found = await link.ask((client) => client.hGetAll(notesPrefix + run))
    return { ...found }
  },
  async forgetNotes(run) {
    await scan.send('UNLINK', notesPrefix + run)
  },
})

/** Redis 7 or Valkey 7.2 at `redis[s]://…`: a single server or one with replicas, not a cluster. Connects on first use. */
export function redisCache(url: string): CacheStore {
  const link = redisLink(url)
  const scan = redisScan(link)
  return {
    provider: 'redis',
    state: () => stateOf(link),
    async get(key) {
      const found = await link.ask((client) => client.hGet(ownPrefix + key, 'value'))
      return found ?? undefined
    },
    async set(key, value, { ttl, about }) {
      const ids = [...new Set(about)]
      const seconds = String(checkedTtl(ttl))
      await link.ask((client) =>
        client.eval(setScript, {
          keys: [ownPrefix + key],
          arguments: [indexPrefix, value, seconds, JSON.stringify(ids), ...ids],
        }),
      )
    },
    async find({ patterns, about }) {
      const found = new Set(patterns.length === 0 ? [] : await entriesMatching(scan, patterns))
      for (const id of new Set(about))
        for (const name of await existingNames(scan, indexPrefix + id, 'read')) found.add(nameFrom(name))
      return [...found].sort()
    },
    names: (isWanted) => entriesWhere(scan, isWanted),
    async drop(names) {
      let deletedCount = 0
      for (let at = 0; at < names.length; at += atOnce) {
        const keys = names.slice(at, at + atOnce).map(bytesOfName)
        const [count = '0'] = await scan.send('EVAL', dropScript, String(keys.length), ...keys, indexPrefix, ownPrefix)
        deletedCount += Number(count)
      }
      return deletedCount
    },
    async forget(about) {
      for (let at = 0; at < about.length; at += atOnce)
        await scan.send('UNLINK', ...about.slice(at, at + atOnce).map((id) => indexPrefix + id))
    },
    search: (strings) => namesContaining(scan, strings),
    async read(visit, names) {
      if (names)
        return scan.read(
          names.map((name) => bytesOfName(name).toString('latin1')),
          visit,
        )
      for await (const page of scan.names()) await scan.read(page.filter(isEntry), visit)
    },
    page: (after, visit) => scan.page(after, isEntry, visit),
    async texts(visit) {
      for await (const page of scan.names()) {
        const left = page.filter(isEntry).values()
        await Promise.all(
          Array.from({ length: readAtOnce }, async () => {
            for (const latin of left) {
              let isFirst = true
              await scan.texts(latin, async (texts, type) => {
                await visit(nameFrom(latin), texts, { type, isFirst })
                isFirst = false
              })
            }
          }),
        )
      }
    },
    async change({ name, type }, { id, texts }, to, { at, field = id } = {}) {
      const part = [type, id, texts[0] ?? Buffer.alloc(0), to === null ? 'remove' : 'cut', to ?? '']
      const position = at === undefined ? '' : String(at)
      const more = [position, randomUUID(), field]
      const [done] = await scan.send('EVAL', changeScript, '1', bytesOfName(name), ...part, ...more)
      return done === '1'
    },
    async expires(name) {
      const [left = '-2'] = await scan.send('PTTL', bytesOfName(name))
      return Number(left) >= 0
    },
    lifetimes: redisLifetimes(scan),
    ...redisNotes(link, scan),
    confirm: () => link.confirm(),
    close: () => link.close(),
  }
}
