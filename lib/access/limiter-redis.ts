import { RateLimiterRedis } from 'rate-limiter-flexible'
import { type Limiter, UNREACHABLE, WINDOW_SECONDS } from './limiter.ts'
import { type LimiterEvents, limiterPatience, withFallback } from './limiter-fallback.ts'

/** Returns the count and the instant at which the window ends (Redis 7, Valkey 7.2), which is the same for each request of the window. */
const COUNT = `
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pexpiretime', KEYS[1])}`

/** Loads the client at the first use: most installations have no Redis. */
async function connect(url: string, patience: number) {
  const { createClient } = await import('@redis/client')
  const client = createClient({
    url,
    disableOfflineQueue: true, // without a connection a command fails immediately instead of waiting for one
    socket: { connectTimeout: patience * 0.9, reconnectStrategy: (retries) => Math.min(50 * 2 ** retries, 1000) },
  })
  client.on('error', () => {}) // commands report the error
  const opened = client.connect()
  opened.catch(() => {}) // rejects if it is closed before it is connected
  const windows = new RateLimiterRedis({
    storeClient: client,
    useRedisPackage: true,
    customIncrTtlLuaScript: COUNT,
    keyPrefix: 'kp:limit',
    points: UNREACHABLE,
    duration: WINDOW_SECONDS,
  })
  return { client, opened, windows }
}

/**
 * Limits that processes share through Redis 7 or Valkey 7.2 at `redis[s]://…`: one script call, one round trip. Redis deletes a window
 * when it ends. Its eviction policy should be `noeviction` or `volatile-ttl`, because an evicted window starts again from zero.
 */
export function redisLimiter(url: string, events?: LimiterEvents, patience = limiterPatience): Limiter {
  let link = connect(url, patience)
  return withFallback(
    {
      store: 'redis',
      async consume(key) {
        const { opened, windows } = await link
        await opened
        const found = await windows.consume(key)
        return { consumed: found.consumedPoints, resetAt: found.msBeforeNext } // the script's instant
      },
      async peek(key) {
        const { client, opened, windows } = await link
        await opened
        const name = windows.getKey(key)
        const [count, resetAt] = await client.multi().get(name).pExpireTime(name).execTyped()
        return count === null ? undefined : { consumed: Number(count), resetAt }
      },
      reset() {
        void link.then(({ client }) => client.destroy())
        link = connect(url, patience)
      },
      async close() {
        const { client } = await link
        client.destroy()
      },
    },
    events,
    patience,
  )
}
