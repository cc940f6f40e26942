import { createHash } from 'node:crypto'
import { join } from 'node:path'
import { z } from 'zod'
import { parsedJson, readIfThere, writePrivately } from './config.ts'

/** The rate-limit window of a response. `resetIn` in milliseconds. */
export interface ServerLimitWindow {
  remaining: number
  resetIn: number
}

const wholeNumber = (text: string | null | undefined): number | undefined =>
  text !== null && text !== undefined && /^\d{1,15}$/.test(text) ? Number(text) : undefined

/**
 * The window from draft-ietf-httpapi-ratelimit-headers (`r` remaining, `t` seconds), which does not depend on clocks.
 * Otherwise from the X-RateLimit headers, whose Unix time is compared with the server's Date.
 */
export function windowOf(headers: Headers, now: number): ServerLimitWindow | undefined {
  const parameters = headers.get('ratelimit')?.split(',')[0]?.split(';').slice(1) ?? []
  const named = new Map(
    parameters.map((text) => [text.slice(0, text.indexOf('=')).trim(), text.slice(text.indexOf('=') + 1).trim()]),
  )
  const remaining = wholeNumber(named.get('r'))
  const left = wholeNumber(named.get('t'))
  if (remaining !== undefined && left !== undefined) return { remaining, resetIn: left * 1000 }
  const customary = wholeNumber(headers.get('x-ratelimit-remaining'))
  const resetAt = wholeNumber(headers.get('x-ratelimit-reset'))
  if (customary === undefined || resetAt === undefined) return undefined
  const dated = Date.parse(headers.get('date') ?? '')
  return { remaining: customary, resetIn: Math.max(0, resetAt * 1000 - (Number.isNaN(dated) ? now : dated)) }
}

/** The longest window in milliseconds. A longer wait would come from a changed clock. */
const longestWait = 61_000
/** Timers may fire slightly early. */
const margin = 100

/** Milliseconds to wait before the next request when the window is used up until `until`. */
export const pauseBefore = (until: number | undefined, now: number): number =>
  until === undefined ? 0 : Math.min(longestWait, Math.max(0, until - now))

const Marks = z.record(z.string(), z.number())

/**
 * Remembers when used-up windows of a token end, for this and later runs: the third 429 within an hour would revoke
 * the token. Stored in the configuration folder under a hash of registry and token.
 */
export function openPace(configFolder: string, url: string, token: string | undefined) {
  const file = join(configFolder, 'pace.json')
  const who = createHash('sha256')
    .update(`${url}\n${token ?? ''}`)
    .digest('base64url')
    .slice(0, 16)
  const keyOf = (requestClass: 'read' | 'write') => `${who}:${requestClass}`
  const read = (): Record<string, number> => parsedJson(readIfThere(file) ?? '{}', Marks) ?? {}
  const mark = (requestClass: 'read' | 'write', resetIn: number, now: number) => {
    const live = Object.entries(read()).filter(([, until]) => until > now)
    writePrivately(file, JSON.stringify({ ...Object.fromEntries(live), [keyOf(requestClass)]: now + resetIn + margin }))
  }
  return {
    /** Milliseconds until a request of the class may be sent. */
    pause: (requestClass: 'read' | 'write', now = Date.now()): number => pauseBefore(read()[keyOf(requestClass)], now),
    /** Records the window of a response. */
    heed(requestClass: 'read' | 'write', headers: Headers, now = Date.now()): void {
      const window = windowOf(headers, now)
      if (window && window.remaining === 0) mark(requestClass, window.resetIn, now)
    },
    /** Records a 429. Seconds. */
    refused: (requestClass: 'read' | 'write', retryAfter: number, now = Date.now()): void =>
      mark(requestClass, retryAfter * 1000, now),
  }
}
export type RequestPace = ReturnType<typeof openPace>
