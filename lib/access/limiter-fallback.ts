import { consumedWindow, type Limiter, memoryLimiter, peekedWindow, type WindowRecord } from './limiter.ts'

/** How many milliseconds a request waits for the store before the process counts alone. */
export const limiterPatience = 1000
const BETWEEN_PROBES = 500

/** A store that several processes share. Every call may reject. */
export interface SharedStore {
  readonly store: 'postgres' | 'redis'
  consume(key: string): Promise<WindowRecord>
  peek(key: string): Promise<WindowRecord | undefined>
  /** Called after a timeout: closes connections that may be dead. */
  reset(): void
  close(): Promise<void>
}

/** For the log: when limits become per process, and when they are shared again. */
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
 * A limiter on a shared store that counts per process while the store is down. The request that detects the outage waits at most one
 * second; later ones do not query the store, and a background probe detects when it is back. A request that timed out here may still be
 * counted in the store. So after an outage a window may reject early, but it never admits more.
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
