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
export const setScript = `${unindexFunction}
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
export const dropScript = `${unindexFunction}
local gone = 0
for _, name in ipairs(KEYS) do
  if string.sub(name, 1, #ARGV[2]) == ARGV[2] then unindex(name, ARGV[1]) end
  gone = gone + redis.call('UNLINK', name)
end
return gone`
/** KEYS: an index. ARGV: `clean` removes names that no longer exist. Returns the others. */
export const existingScript = `
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
export const changeScript = `
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
