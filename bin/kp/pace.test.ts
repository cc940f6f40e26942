import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import fc from 'fast-check'
import { afterAll, describe, expect, test } from 'vitest'
import { limitHeaders } from '#lib/access/limiter.ts'
import { openPace, pauseBefore, windowOf } from './pace.ts'

const folder = mkdtempSync(join(tmpdir(), 'kp-pace-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
const now = Date.parse('2026-03-01T12:00:00Z')
const window = (remaining: number, left: number) => ({
  limit: 30,
  consumed: 30 - remaining,
  remaining,
  resetAt: new Date(now + left),
  allowed: remaining > 0,
})

describe('windowOf', () => {
  test('reads the headers that the registry sends', () => {
    const headers = new Headers(limitHeaders(window(3, 12_000), 'write', new Date(now)))
    expect(windowOf(headers, now)).toEqual({ remaining: 3, resetIn: 12_000 })
  })
  test('is independent of clock differences', () => {
    const headers = new Headers(limitHeaders(window(0, 12_000), 'write', new Date(now)))
    expect(windowOf(headers, now + 3_600_000)).toEqual({ remaining: 0, resetIn: 12_000 })
    const customary = new Headers({
      'X-RateLimit-Remaining': '0',
      'X-RateLimit-Reset': String(now / 1000 + 12),
      Date: new Date(now).toUTCString(),
    })
    expect(windowOf(customary, now - 3_600_000)).toEqual({ remaining: 0, resetIn: 12_000 })
  })
  test.each([{}, { RateLimit: 'nonsense' }, { RateLimit: '"write";r=-1;t=x' }, { 'X-RateLimit-Remaining': '0' }])(
    'returns undefined for %j',
    (given) => expect(windowOf(new Headers(given), now)).toBeUndefined(),
  )
})

describe('pauseBefore', () => {
  test('returns between 0 and the length of a window', () => {
    fc.assert(
      fc.property(fc.option(fc.integer(), { nil: undefined }), fc.integer(), (until, at) => {
        const pause = pauseBefore(until, at)
        expect(pause).toBeGreaterThanOrEqual(0)
        expect(pause).toBeLessThanOrEqual(61_000)
        if (until === undefined || until <= at) expect(pause).toBe(0)
      }),
    )
  })
})

describe('openPace', () => {
  const used = new Headers(limitHeaders(window(0, 20_000), 'write', new Date(now)))

  test('pauses when the window is used up, in this run and the next', () => {
    const pace = openPace(folder, 'http://localhost:3000', 'a')
    pace.heed('write', new Headers(limitHeaders(window(1, 20_000), 'write', new Date(now))), now)
    expect(pace.pause('write', now)).toBe(0)
    pace.heed('write', used, now)
    expect(pace.pause('write', now)).toBeGreaterThanOrEqual(20_000)
    expect(openPace(folder, 'http://localhost:3000', 'a').pause('write', now + 5_000)).toBeGreaterThanOrEqual(15_000)
    expect(pace.pause('write', now + 21_000)).toBe(0)
  })
  test('counts each token, registry and request class separately', () => {
    openPace(folder, 'http://localhost:3000', 'a').heed('write', used, now)
    expect(openPace(folder, 'http://localhost:3000', 'a').pause('read', now)).toBe(0)
    expect(openPace(folder, 'http://localhost:3000', 'b').pause('write', now)).toBe(0)
    expect(openPace(folder, 'http://localhost:3001', 'a').pause('write', now)).toBe(0)
  })
  test('treats a 429 as a used-up window', () => {
    const pace = openPace(folder, 'http://localhost:3000', 'c')
    pace.refused('read', 7, now)
    expect(pace.pause('read', now)).toBeGreaterThanOrEqual(7_000)
  })
})
