import { consumedWindow, type Limiter, peekedWindow, WINDOW_SECONDS, type WindowRecord } from './limiter.ts'

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

/** The rate-limit window of a key, as this process has counted it. */
interface OwnWindow extends WindowRecord {
  /** Number of requests in the window that this process admitted. */
  admitted: number
}

/** The windows of this process that are open, by key. */
function ownWindows() {
  const windows = new Map<string, OwnWindow>()
  let swept = 0
  /** Removes windows that ended, once for each length of a window. */
  function sweep(now: number) {
    if (now - swept < WINDOW_SECONDS * 1000) return
    swept = now
    for (const [key, { resetAt }] of windows) if (resetAt <= now) windows.delete(key)
  }
  function open(key: string, resetAt: number | undefined): OwnWindow {
    const now = Date.now()
    sweep(now)
    const known = windows.get(key)
    if (known && (resetAt === undefined ? known.resetAt > now : known.resetAt === resetAt)) return known
    const fresh = { consumed: 0, admitted: 0, resetAt: resetAt ?? now + WINDOW_SECONDS * 1000 }
    windows.set(key, fresh)
    return fresh
  }
  return {
    /** Counts a request. `record`: the window of the shared store, which then decides too; without it, this process counts alone. */
    count(key: string, limit: number, record?: WindowRecord): WindowRecord {
      const own = open(key, record?.resetAt)
      own.consumed++
      const consumed = record?.consumed ?? own.consumed
      const isAdmitted = own.admitted < limit && consumed <= limit
      if (isAdmitted) own.admitted++
      return { consumed: isAdmitted ? consumed : Math.max(consumed, limit + 1), resetAt: own.resetAt }
    },
    peek(key: string): WindowRecord | undefined {
      const own = windows.get(key)
      return own && own.resetAt > Date.now() ? own : undefined
    },
  }
}

/**
 * A limiter on a shared store that counts per process while the store is down. The request that detects the outage waits at most one
 * second; later ones do not query the store, and a background probe detects when it is back. A request that timed out here may still be
 * counted in the store. So after an outage a window may reject early. A process never admits more than the limit in one window, before,
 * during and after an outage together, so n processes admit at most n times the limit.
 */
export function withFallback(shared: SharedStore, events: LimiterEvents = {}, patience = limiterPatience): Limiter {
  const own = ownWindows()
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
  /** The answer of the shared store; undefined while it is down. */
  async function ask<T>(work: () => Promise<T>): Promise<{ found: T } | undefined> {
    if (isDown) return undefined
    try {
      return { found: await within(patience, work()) }
    } catch (error) {
      fallBack(error)
      return undefined
    }
  }

  return {
    store: shared.store,
    get degraded() {
      return isDown
    },
    async consume(key, limit) {
      const answer = await ask(() => shared.consume(key))
      return consumedWindow(limit, own.count(key, limit, answer?.found))
    },
    async peek(key, limit) {
      const answer = await ask(() => shared.peek(key))
      return peekedWindow(limit, answer ? answer.found : own.peek(key))
    },
    async close() {
      isClosed = true
      clearTimeout(nextProbe)
      await shared.close()
    },
  }
}
