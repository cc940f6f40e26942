import { randomUUID } from 'node:crypto'
import type { StoreState } from '../store-state.ts'
import { type CacheStore, checkedTtl, longestTtl, ownPrefix } from './cache.ts'
import { errorNameOf, type RedisLink, redisLink } from './redis-link.ts'
import { type RedisScan, redisScan } from './redis-scan.ts'
import { asLatin, bytesOfName, nameFrom } from './redis-texts.ts'
import { matcherOf, searchStringsOf } from './search-strings.ts'

/** Removes a name from the indexes of its entry. */
const unindexFunction = `
local function unindex(name, prefix)
  if redis.call('TYPE', name).ok ~= 'hash' then return end
  local about = redis.call('HGET', name, 'about')
  if not about then return end
  local isRead, ids = pcall(cjson.decode, about)
  if not isRead or type(ids) ~= 'table' then return end
  for _, id in ipairs(ids) do redis.call('ZREM', prefix .. tostring(id), name) end
end`
/** KEYS: the name. ARGV: prefix of indexes, value, seconds, ids as JSON, ids. */
const setScript = `${unindexFunction}
local name, prefix, ttl = KEYS[1], ARGV[1], tonumber(ARGV[3])
unindex(name, prefix)
local now = tonumber(redis.call('TIME')[1])
redis.call('DEL', name)
for i = 5, #ARGV do
  local index = prefix .. ARGV[i]
  redis.call('ZREMRANGEBYSCORE', index, '-inf', now - 1)
  redis.call('ZADD', index, now + ttl, name)
  if redis.call('TTL', index) < ttl + 1 then redis.call('EXPIRE', index, ttl + 1) end
end
redis.call('HSET', name, 'value', ARGV[2], 'about', ARGV[4])
redis.call('EXPIRE', name, ttl)`
/** KEYS: names. ARGV: prefix of indexes, prefix of our entries. */
const dropScript = `${unindexFunction}
local gone = 0
for _, name in ipairs(KEYS) do
  if string.sub(name, 1, #ARGV[2]) == ARGV[2] then unindex(name, ARGV[1]) end
  gone = gone + redis.call('UNLINK', name)
end
return gone`
const contentFunction = `
local function content(name)
  if redis.call('TYPE', name).ok == 'string' then return redis.sha1hex(redis.call('GET', name)) end
  local saved = redis.call('DUMP', name)
  return saved and redis.sha1hex(saved) or ''
end`
/** KEYS: a name. Returns a hash of its content, or an empty string if it does not exist. */
const contentScript = `${contentFunction}
return content(KEYS[1])`
/** KEYS: a name. ARGV: prefix of indexes, prefix of our entries, the hash of the content to delete. Compares and deletes atomically. */
const dropUnchangedScript = `${unindexFunction}${contentFunction}
local name = KEYS[1]
if content(name) ~= ARGV[3] then return 0 end
if string.sub(name, 1, #ARGV[2]) == ARGV[2] then unindex(name, ARGV[1]) end
return redis.call('UNLINK', name)`
/** KEYS: an index. ARGV: `clean` removes names that no longer exist. Returns the others. */
const existingScript = `
local standing = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', name) == 1 then table.insert(standing, name)
  elseif ARGV[1] == 'clean' then redis.call('ZREM', KEYS[1], name) end
end
return standing`

/**
 * KEYS: the name. ARGV: type, id of the part, the value that was read, `cut` or `remove`, the new value, the position in a list or an empty
 * string, a unique value that marks an item while it is removed, the name of the field of a hash afterwards. Compares and changes atomically, so that a concurrent write is never lost. Returns 1 on success.
 */
const changeScript = `
local name, type, id, old, how, new = KEYS[1], ARGV[1], ARGV[2], ARGV[3], ARGV[4], ARGV[5]
if redis.call('TYPE', name).ok ~= type then return 0 end
local cuts = how == 'cut'
if type == 'string' then
  if redis.call('GET', name) ~= old then return 0 end
  if cuts then redis.call('SET', name, new, 'KEEPTTL') else redis.call('DEL', name) end
  return 1
elseif type == 'hash' then
  if redis.call('HGET', name, id) ~= old then return 0 end
  if not cuts then return redis.call('HDEL', name, id) end
  local ends = redis.pcall('HPEXPIRETIME', name, 'FIELDS', 1, id)
  local field, n = ARGV[8], 2
  if field ~= id then
    while redis.call('HEXISTS', name, field) == 1 do field, n = ARGV[8] .. ' ' .. n, n + 1 end
    redis.call('HDEL', name, id)
  end
  redis.call('HSET', name, field, new)
  if not ends.err and ends[1] and ends[1] > 0 then redis.call('HPEXPIREAT', name, ends[1], 'FIELDS', 1, field) end
  return 1
elseif type == 'list' then
  if ARGV[6] ~= '' then
    if redis.call('LINDEX', name, ARGV[6]) ~= id then return 0 end
    redis.call('LSET', name, ARGV[6], cuts and new or ARGV[7])
    if not cuts then redis.call('LREM', name, 1, ARGV[7]) end
    return 1
  end
  if not cuts then return redis.call('LREM', name, 0, id) > 0 and 1 or 0 end
  local done = 0
  for _, at in ipairs(redis.call('LPOS', name, id, 'COUNT', 0)) do redis.call('LSET', name, at, new); done = 1 end
  return done
elseif type == 'set' then
  local done = redis.call('SREM', name, id)
  if cuts and done == 1 then redis.call('SADD', name, new) end
  return done
elseif type == 'zset' then
  local score = redis.call('ZSCORE', name, id)
  if not score then return 0 end
  if cuts and not redis.call('ZSCORE', name, new) then redis.call('ZADD', name, score, new) end
  return redis.call('ZREM', name, id)
elseif type == 'stream' then
  if cuts then return 0 end
  local done = redis.call('XDEL', name, id)
  if redis.call('XLEN', name) == 0 and #redis.call('XINFO', 'GROUPS', name) == 0 then redis.call('DEL', name) end
  return done
end
return 0`

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
  for (const match of isSafe ? patterns : [undefined])
    for (const name of await entriesWhere(scan, matches, match)) found.push(name)
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
    async contentHash(name) {
      const [hash = ''] = await scan.send('EVAL', contentScript, '1', bytesOfName(name))
      return hash === '' ? undefined : hash
    },
    async dropUnchanged(name, hash) {
      const key = bytesOfName(name)
      const [done] = await scan.send('EVAL', dropUnchangedScript, '1', key, indexPrefix, ownPrefix, hash)
      return done === '1'
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
