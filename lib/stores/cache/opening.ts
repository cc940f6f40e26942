import type { CacheStore } from './cache.ts'
import { memoryCache } from './memory.ts'
import { redisCache } from './redis.ts'

/** Opens Redis if a URL is given (`redis[s]://…`), otherwise a cache in memory. It connects on first use. */
export const openCache = (redisUrl: string | undefined): CacheStore =>
  redisUrl === undefined ? memoryCache() : redisCache(redisUrl)
