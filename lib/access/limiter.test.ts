import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { memoryLimiter } from './limiter.ts'

describe('the one-minute window of memoryLimiter', () => {
  beforeEach(() => {
    vi.useFakeTimers({ now: new Date('2026-03-01T12:00:00.123Z') })
  })
  afterEach(() => {
    vi.useRealTimers()
  })

  test('opens with the first request and ends sixty seconds later to the millisecond', async () => {
    const limiter = memoryLimiter()
    const first = await limiter.consume('a', 1)
    expect(first).toEqual({
      limit: 1,
      consumed: 1,
      remaining: 0,
      resetAt: new Date('2026-03-01T12:01:00.123Z'),
      allowed: true,
    })
    vi.advanceTimersByTime(59_999)
    expect(await limiter.consume('a', 1)).toEqual({ ...first, consumed: 2, allowed: false })
    vi.advanceTimersByTime(1)
    expect(await limiter.consume('a', 1)).toEqual({ ...first, resetAt: new Date('2026-03-01T12:02:00.123Z') })
  })

  test('ends on time when its timer is late', async () => {
    const limiter = memoryLimiter()
    await limiter.consume('a', 1)
    vi.setSystemTime(new Date('2026-03-01T12:01:00.200Z')) // the clock passes the end, the timer has not fired
    expect(await limiter.peek('a', 1)).toMatchObject({ consumed: 0, allowed: true })
    expect(await limiter.consume('a', 1)).toMatchObject({ consumed: 1, allowed: true })
  })

  test('is deleted when it ends', async () => {
    const limiter = memoryLimiter()
    for (let count = 0; count < 1000; count++) await limiter.consume(`key ${count}`, 1)
    expect(vi.getTimerCount()).toBe(1000) // one for each stored key
    vi.advanceTimersByTime(60_000)
    expect(vi.getTimerCount()).toBe(0)
  })
})
