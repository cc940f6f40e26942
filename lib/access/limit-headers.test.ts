import { describe, expect, test } from 'vitest'
import type { RateLimitWindow } from './limiter.ts'
import { limitHeaders } from './limiter.ts'

const now = new Date('2026-03-01T12:00:00.000Z')
const seconds = (count: number) => new Date(now.getTime() + count * 1000)
const window = (part: Partial<RateLimitWindow>): RateLimitWindow => ({
  limit: 300,
  consumed: 1,
  remaining: 299,
  resetAt: seconds(42),
  allowed: true,
  ...part,
})

describe('limitHeaders', () => {
  test('returns all limit headers for a request within the limit', () => {
    expect(limitHeaders(window({}), 'read', now)).toEqual({
      'X-RateLimit-Limit': '300',
      'X-RateLimit-Remaining': '299',
      'X-RateLimit-Reset': '1772366442',
      'RateLimit-Policy': '"read";q=300;w=60',
      RateLimit: '"read";r=299;t=42',
    })
  })

  test('returns Retry-After for a rejected request', () => {
    const refused = window({ limit: 30, consumed: 31, remaining: 0, resetAt: seconds(7), allowed: false })
    expect(limitHeaders(refused, 'write', now)).toEqual({
      'X-RateLimit-Limit': '30',
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': '1772366407',
      'RateLimit-Policy': '"write";q=30;w=60',
      RateLimit: '"write";r=0;t=7',
      'Retry-After': '7',
    })
  })

  test.each([
    { left: 0.001, wait: '1' },
    { left: 1, wait: '1' },
    { left: 1.001, wait: '2' },
    { left: 59.999, wait: '60' },
    { left: 60, wait: '60' },
    { left: -3, wait: '1' }, // another machine's clock is ahead
    { left: 63, wait: '60' }, // or behind
  ])('returns Retry-After $wait when the window ends in $left s', ({ left, wait }) => {
    const headers = limitHeaders(window({ resetAt: seconds(left), allowed: false }), 'read', now)
    expect(headers['Retry-After']).toBe(wait)
    expect(headers.RateLimit).toMatch(new RegExp(`;t=${wait}$`))
  })

  test('returns no reset before the window has ended', () => {
    const headers = limitHeaders(window({ resetAt: new Date(1_772_366_400_001) }), 'read', now)
    expect(headers['X-RateLimit-Reset']).toBe('1772366401')
  })

  test('returns every header of an accepted request for a rejected one', () => {
    const names = Object.keys(limitHeaders(window({}), 'read', now))
    expect(Object.keys(limitHeaders(window({ allowed: false }), 'read', now))).toEqual([...names, 'Retry-After'])
  })
})
