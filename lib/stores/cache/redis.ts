import { type CacheStore, checkedTtl, ownPrefix } from './cache.ts'
import { needlesOf } from './needles.ts'
import { matcherOf } from './patterns.ts'
import { redisLifetimes } from './redis-lifetimes.ts'
import { errorNameOf, redisLink } from './redis-link.ts'
import { redisScan } from './redis-scan.ts'
import { asLatin, bytesOfName, nameFrom } from './redis-texts.ts'

/**
 * The prefix of indexes. An entry is a hash with its `value` and the ids that it is `about` (JSON), so that it can be found even after
 * Redis evicted the index. The index of an id is a sorted set of names, each with its expiry in seconds as the score; its TTL is that of
 * its longest entry.
 */
const indexPrefix = 'kp:about:'
/** The prefix of rate limit counters (lib/access), which are not entries. */
const limitPrefix = 'kp:limit'

/** Removes a name from the indexes of its entry. */
const UNINDEX = `
local function unindex(name, prefix)
  if redis.call('TYPE', name).ok ~= 'hash' then return end
  local about = redis.call('HGET', name, 'about')
  if not about then return end
  local isRead, ids = pcall(cjson.decode, about)
  if not isRead or type(ids) ~= 'table' then return end
  for _, id in ipairs(ids) do redis.call('ZREM', prefix .. tostring(id), name) end
end`
/** KEYS: the name. ARGV: prefix of indexes, value, seconds, ids as JSON, ids. */
const SET = `${UNINDEX}
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
const DROP = `${UNINDEX}
local gone = 0
for _, name in ipairs(KEYS) do
  if string.sub(name, 1, #ARGV[2]) == ARGV[2] then unindex(name, ARGV[1]) end
  gone = gone + redis.call('UNLINK', name)
end
return gone`
/** KEYS: an index. Removes names that no longer exist, and returns the others. */
const STANDING = `
local standing = {}
for _, name in ipairs(redis.call('ZRANGE', KEYS[1], 0, -1)) do
  if redis.call('EXISTS', name) == 1 then table.insert(standing, name) else redis.call('ZREM', KEYS[1], name) end
end
return standing`

/** The prefix of records of what an erasure did, by run: hashes of labels, without names and values. */
const notesPrefix = 'kp:erased:'
const notesDays = 30
/**
 * KEYS: the name. ARGV: type, id of the part, the value that was read, `cut` or `remove`, the new value. Compares and changes
 * atomically, so that a concurrent write is never lost. Returns 1 on success.
 */
const CHANGE = `
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
  redis.call('HSET', name, id, new)
  if not ends.err and ends[1] and ends[1] > 0 then redis.call('HPEXPIREAT', name, ends[1], 'FIELDS', 1, id) end
  return 1
elseif type == 'list' then
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

const atOnce = 100
const readAtOnce = 64
/** Up to this many patterns are sent to the server one after the other; for more, all names are read once. */
const fewPatterns = 4

/** Redis 7 or Valkey 7.2 at `redis[s]://…`: a single server or one with replicas, not a cluster. Connects on first use. */
export function redisCache(url: string): CacheStore {
  const link = redisLink(url)
  const scan = redisScan(link)
  const isEntry = (name: string): boolean =>
    !name.startsWith(indexPrefix) && !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix)

  async function standing(index: string): Promise<string[]> {
    return scan.send('EVAL', STANDING, '1', index)
  }
  /** `match`: the server's filter, applied before ours. */
  async function entries(isWanted: (name: string) => boolean, match?: string): Promise<string[]> {
    const found = new Set<string>()
    for await (const page of scan.names(match))
      for (const name of page.map(nameFrom)) if (isEntry(name) && isWanted(name)) found.add(name)
    return [...found].sort()
  }
  async function matching(patterns: readonly string[]): Promise<string[]> {
    const matches = matcherOf(patterns)
    const found: string[] = []
    // The server compares bytes, so patterns with `?` or non-ASCII characters are compared only here.
    const areAsked = patterns.length <= fewPatterns && patterns.every((one) => /^[ -~]*$/.test(one))
    const isSafe = areAsked && patterns.every((one) => !one.includes('?') && !/(^|[^\\])[[\]]/.test(one))
    for (const match of isSafe ? patterns : [undefined]) found.push(...(await entries(matches, match)))
    return found
  }

  return {
    provider: 'redis',
    async state() {
      const began = performance.now()
      try {
        await link.ask((client) => client.ping())
        return { state: 'ok', latency: performance.now() - began }
      } catch (error) {
        const detail =
          /\(([\w ]+)\)\. No data/.exec(error instanceof Error ? error.message : '')?.[1] ?? errorNameOf(error)
        return { state: 'down', latency: performance.now() - began, detail }
      }
    },
    async get(key) {
      const found = await link.ask((client) => client.hGet(ownPrefix + key, 'value'))
      return found ?? undefined
    },
    async set(key, value, { ttl, about }) {
      const ids = [...new Set(about)]
      const seconds = String(checkedTtl(ttl))
      await link.ask((client) =>
        client.eval(SET, {
          keys: [ownPrefix + key],
          arguments: [indexPrefix, value, seconds, JSON.stringify(ids), ...ids],
        }),
      )
    },
    async find({ patterns, about }) {
      const found = new Set(patterns.length === 0 ? [] : await matching(patterns))
      for (const id of new Set(about)) for (const name of await standing(indexPrefix + id)) found.add(nameFrom(name))
      return [...found].sort()
    },
    names: (isWanted) => entries(isWanted),
    async drop(names) {
      let gone = 0
      for (let at = 0; at < names.length; at += atOnce) {
        const keys = names.slice(at, at + atOnce).map(bytesOfName)
        const [count = '0'] = await scan.send('EVAL', DROP, String(keys.length), ...keys, indexPrefix, ownPrefix)
        gone += Number(count)
      }
      return gone
    },
    async forget(about) {
      for (let at = 0; at < about.length; at += atOnce)
        await scan.send('UNLINK', ...about.slice(at, at + atOnce).map((id) => indexPrefix + id))
    },
    async search(strings) {
      const needles = needlesOf(strings.map(asLatin))
      const found = new Set<string>()
      if (needles.isEmpty) return []
      for await (const page of scan.names()) {
        const names = page.filter((name) => !name.startsWith(limitPrefix) && !name.startsWith(notesPrefix))
        const entries = names.filter((name) => !name.startsWith(indexPrefix))
        for (const name of await scan.holding(entries, needles)) found.add(nameFrom(name))
        // An index counts if its id matches. Names in it that no longer exist are removed; existing entries are found themselves.
        for (const index of names.filter((name) => name.startsWith(indexPrefix))) {
          if (needles.standIn(index)) found.add(nameFrom(index))
          else await standing(nameFrom(index))
        }
      }
      return [...found].sort()
    },
    async read(visit, names) {
      if (names)
        return scan.read(
          names.map((name) => bytesOfName(name).toString('latin1')),
          visit,
        )
      for await (const page of scan.names()) await scan.read(page.filter(isEntry), visit)
    },
    async texts(visit) {
      for await (const page of scan.names()) {
        const left = page.filter(isEntry).values()
        await Promise.all(
          Array.from({ length: readAtOnce }, async () => {
            for (const latin of left) await scan.texts(latin, (texts) => visit(nameFrom(latin), texts))
          }),
        )
      }
    },
    async change({ name, type }, { id, texts }, to) {
      const old = texts[0] ?? Buffer.alloc(0)
      const how = to === null ? 'remove' : 'cut'
      const [done] = await scan.send('EVAL', CHANGE, '1', bytesOfName(name), type, id, old, how, to ?? '')
      return done === '1'
    },
    lifetimes: redisLifetimes(scan, isEntry),
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
    close: () => link.close(),
  }
}
