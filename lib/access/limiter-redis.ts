import { RateLimiterRedis } from 'rate-limiter-flexible'
import { connectRedis } from '#lib/stores/redis-connection.ts'
import { type Limiter, UNREACHABLE, WINDOW_SECONDS } from './limiter.ts'
import { type LimiterEvents, limiterPatience, withFallback } from './limiter-fallback.ts'

/** Returns the count and the instant at which the window ends (Redis 7, Valkey 7.2), which is the same for each request of the window. */
const COUNT = `
redis.call('set', KEYS[1], 0, 'EX', ARGV[2], 'NX')
return {redis.call('incrby', KEYS[1], ARGV[1]), redis.call('pexpiretime', KEYS[1])}`

async function connect(url: string, patience: number) {
  const connection = await connectRedis(url, { connectTimeout: patience * 0.9 }) // commands report errors
  const windows = new RateLimiterRedis({
    storeClient: connection.client,
    useRedisPackage: true,
    customIncrTtlLuaScript: COUNT,
    keyPrefix: 'kp:limit',
    points: UNREACHABLE,
    duration: WINDOW_SECONDS,
  })
  return { ...connection, windows }
}

/**
 * Limits that processes share through Redis 7 or Valkey 7.2 at `redis[s]://…`: one script call, one round trip. Redis deletes a window
 * when it ends. Its eviction policy should be `noeviction` or `volatile-ttl`, because an evicted window starts again from zero.
 */
export function redisLimiter(url: string, events?: LimiterEvents, patience = limiterPatience): Limiter {
  let link: ReturnType<typeof connect> | undefined
  function open(): ReturnType<typeof connect> {
    if (link) return link
    const opening = connect(url, patience)
    link = opening
    // The next request or probe looks for a primary again.
    opening.catch(() => {
      if (link === opening) link = undefined
    })
    return opening
  }
  async function current() {
    if ((await open()).isOver()) link = undefined
    const found = await open()
    await found.opened
    return found
  }
  return withFallback(
    {
      store: 'redis',
      async consume(key) {
        const { windows, refused } = await current()
        const found = await windows.consume(key).catch((error: unknown) => {
          if (error instanceof Error) refused(error.message.split(' ', 1)[0] ?? '')
          throw error
        })
        return { consumed: found.consumedPoints, resetAt: found.msBeforeNext } // the script's instant
      },
      async peek(key) {
        const { client, windows } = await current()
        const name = windows.getKey(key)
        const [count, resetAt] = await client.multi().get(name).pExpireTime(name).execTyped()
        return count === null ? undefined : { consumed: Number(count), resetAt }
      },
      reset() {
        link?.then(({ close }) => close()).catch(() => {})
        link = undefined
      },
      async close() {
        const open = link
        link = undefined
        ;(await open?.catch(() => undefined))?.close()
      },
    },
    events,
    patience,
  )
}
