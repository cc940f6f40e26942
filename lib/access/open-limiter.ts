import type { Env } from '#lib/config/env.ts'
import { type Limiter, memoryLimiter } from './limiter.ts'
import type { LimiterEvents } from './limiter-fallback.ts'
import { limitsPool, postgresLimiter } from './limiter-postgres.ts'
import { redisLimiter } from './limiter-redis.ts'

type Settings = Pick<Env, 'KP_LIMITS' | 'KP_REDIS_URL' | 'DATABASE_URL' | 'DATABASE_DIRECT_URL'>

function open(store: Limiter['store'], env: Settings, events: LimiterEvents, patience: number | undefined): Limiter {
  if (store === 'redis' && env.KP_REDIS_URL) return redisLimiter(env.KP_REDIS_URL, events, patience)
  if (store === 'postgres' && env.DATABASE_URL) {
    const isPooled = env.DATABASE_DIRECT_URL !== undefined && env.DATABASE_DIRECT_URL !== env.DATABASE_URL
    const pool = limitsPool(env.DATABASE_URL, { isPooled, ...(patience !== undefined && { patience }) })
    const limiter = postgresLimiter(pool, events, patience)
    return {
      ...limiter,
      get degraded() {
        return limiter.degraded
      },
      close: () => limiter.close().then(() => pool.end()),
    }
  }
  return memoryLimiter()
}

/**
 * The limiter for these settings, opened on first use. Redis if it is configured; memory if the supervisor knows that this is the only
 * process (KP_LIMITS=memory); otherwise PostgreSQL, because there may be other replicas.
 */
export function openLimiter(env: Settings, events: LimiterEvents, patience?: number): Limiter {
  const store = env.KP_LIMITS !== 'auto' ? env.KP_LIMITS : env.KP_REDIS_URL ? 'redis' : 'postgres'
  let opened: Limiter | undefined
  const limiter = (): Limiter => {
    opened ??= open(store, env, events, patience)
    return opened
  }
  return {
    store,
    consume: (key, limit) => limiter().consume(key, limit),
    peek: (key, limit) => limiter().peek(key, limit),
    get degraded() {
      return opened?.degraded ?? false
    },
    close: async () => opened?.close(),
  }
}
