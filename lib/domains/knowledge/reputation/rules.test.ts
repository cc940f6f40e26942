import { describe, expect, it } from 'vitest'
import { dailyCaps, fullFrom, gains, roomFor } from './rules.ts'

describe('daily caps', () => {
  it.each([
    ['unit', { all: 0, votes: 0 }, 20],
    ['sop', { all: 0, votes: 0 }, 26],
    ['skill', { all: 0, votes: 0 }, 40],
    ['vote', { all: 0, votes: 0 }, 20],
    ['vote', { all: 0.95, votes: 0.95 }, 1],
    ['vote', { all: 1, votes: 1 }, 0],
    ['unit', { all: 1, votes: 1 }, 15],
    ['unit', { all: 3.8, votes: 0 }, 1],
    ['unit', { all: 3.9, votes: 0 }, 0],
    ['vote', { all: 3.9, votes: 0 }, 2],
    ['unit', { all: 4, votes: 0 }, 0],
    ['skill', { all: 9, votes: 9 }, 0],
  ] as const)('leave room for %s after %j: %i', (reason, gained, room) => {
    expect(roomFor(reason, gained)).toBe(room)
    const full = fullFrom(reason)
    expect(gained.all > full.all || gained.votes > full.votes).toBe(room === 0)
  })

  it('rounding errors of binary fractions neither add nor remove a gain', () => {
    for (const reason of ['unit', 'sop', 'skill', 'vote'] as const) {
      let gained = { all: 0, votes: 0 }
      let given = 0
      for (; roomFor(reason, gained) > 0 && given < 1_000; given++)
        gained = { all: gained.all + gains[reason], votes: gained.votes + (reason === 'vote' ? gains.vote : 0) }
      expect(given).toBe(roomFor(reason, { all: 0, votes: 0 }))
      expect(gained.all).toBeLessThanOrEqual(dailyCaps.all + 1e-9)
    }
  })
})
