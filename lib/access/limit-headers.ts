import { tierLimits } from '#lib/domains/tokens/rules.ts'
import { type RateLimitWindow, WINDOW_SECONDS } from './limiter.ts'

type RequestClass = 'read' | 'write'

/** An unused window of an address, for responses to requests that no window counts. */
export function uncountedWindow(requestClass: RequestClass): RateLimitWindow {
  const limit = requestClass === 'read' ? tierLimits.anonymous.reads : tierLimits.anonymous.writes
  return { limit, consumed: 0, remaining: limit, resetAt: new Date(Date.now() + 60_000), allowed: true }
}

/**
 * The limit headers of a response: the customary three (`X-RateLimit-Reset` in Unix seconds), the pair of
 * draft-ietf-httpapi-ratelimit-headers (structured fields, RFC 9651: `q` and `r` in requests, `w` and `t` in seconds), and `Retry-After`
 * in seconds for a rejected request (RFC 9110 §10.2.3). `now` is system time, like the limiter's.
 */
export function limitHeaders(
  window: RateLimitWindow,
  requestClass: RequestClass,
  now = new Date(),
): Record<string, string> {
  const left = Math.ceil((window.resetAt.getTime() - now.getTime()) / 1000)
  const wait = Math.min(WINDOW_SECONDS, Math.max(1, left)) // also if the clocks of two machines differ
  return {
    'X-RateLimit-Limit': String(window.limit),
    'X-RateLimit-Remaining': String(window.remaining),
    'X-RateLimit-Reset': String(Math.ceil(window.resetAt.getTime() / 1000)),
    'RateLimit-Policy': `"${requestClass}";q=${window.limit};w=${WINDOW_SECONDS}`,
    RateLimit: `"${requestClass}";r=${window.remaining};t=${wait}`,
    ...(!window.allowed && { 'Retry-After': String(wait) }),
  }
}
