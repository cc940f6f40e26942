import type { CacheStore } from './cache.ts'
import { memoryCache } from './memory.ts'
import { redisCache } from './redis.ts'

/** Redis where one is given (`redis[s]://…`), else inside this process. Nothing is connected before it is first used. */
export const openCache = (redisUrl: string | undefined): CacheStore =>
  redisUrl === undefined ? memoryCache() : redisCache(redisUrl)
