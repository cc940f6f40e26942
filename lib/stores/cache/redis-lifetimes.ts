import { type CacheStore, longestTtl } from './cache.ts'
import { isEntry } from './redis-names.ts'
import type { RedisScan } from './redis-scan.ts'
import { bytesOfName, nameFrom } from './redis-texts.ts'

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

export const redisLifetimes =
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
