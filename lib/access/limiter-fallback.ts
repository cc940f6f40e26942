import { consumedWindow, type Limiter, memoryLimiter, peekedWindow, type Standing } from './limiter.ts'

/** Milliseconds that a request waits for the store before the process counts alone. */
export const limiterPatience = 1000
const BETWEEN_PROBES = 500

/** A store that several processes share. Every call may reject. */
export interface SharedStore {
  readonly store: 'postgres' | 'redis'
  consume(key: string): Promise<Standing>
  peek(key: string): Promise<Standing | undefined>
  /** It did not answer in time: let go of connections that may be dead. */
  reset(): void
  close(): Promise<void>
}

/** For the log: when limits become those of one process, and when they are shared again. */
export interface LimiterEvents {
  onDegraded?(cause: unknown): void
  onRecovered?(): void
}

class Late extends Error {
  constructor(milliseconds: number) {
    super(`the store of the rate limits did not answer within ${milliseconds} ms`)
    this.name = 'Late'
  }
}

async function within<T>(milliseconds: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, fail) => {
    timer = setTimeout(() => fail(new Late(milliseconds)), milliseconds)
  })
  try {
    return await Promise.race([work, late])
  } finally {
    clearTimeout(timer)
  }
}

/**
 * A limiter on a shared store that counts per process while the store is down. The request that finds it down waits one second at
 * most; later ones do not ask it at all, and a probe in the background finds out when it is back. A request that the store counted
 * after we gave up on it stays counted there: after an outage a window may refuse early, it never admits more.
 */
export function withFallback(shared: SharedStore, events: LimiterEvents = {}, patience = limiterPatience): Limiter {
  const alone = memoryLimiter()
  let isDown = false
  let isClosed = false
  let nextProbe: NodeJS.Timeout | undefined

  function probeSoon() {
    if (!isClosed) nextProbe = setTimeout(probe, BETWEEN_PROBES).unref()
  }
  async function probe() {
    try {
      await within(patience, shared.peek('probe'))
    } catch (error) {
      if (error instanceof Late && !isClosed) shared.reset()
      return probeSoon()
    }
    isDown = false
    events.onRecovered?.()
  }
  function fallBack(cause: unknown) {
    if (isDown || isClosed) return
    isDown = true
    probeSoon()
    events.onDegraded?.(cause)
  }
  async function ask<T>(work: () => Promise<T>, otherwise: () => Promise<T>): Promise<T> {
    if (isDown) return otherwise()
    try {
      return await within(patience, work())
    } catch (error) {
      fallBack(error)
      return otherwise()
    }
  }

  return {
    store: shared.store,
    get degraded() {
      return isDown
    },
    consume: (key, limit) =>
      ask(
        async () => consumedWindow(limit, await shared.consume(key)),
        () => alone.consume(key, limit),
      ),
    peek: (key, limit) =>
      ask(
        async () => peekedWindow(limit, await shared.peek(key)),
        () => alone.peek(key, limit),
      ),
    async close() {
      isClosed = true
      clearTimeout(nextProbe)
      await alone.close()
      await shared.close()
    },
  }
}
