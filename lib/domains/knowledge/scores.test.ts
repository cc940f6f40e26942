import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import { scoreOf, voteWeight } from './rules.ts'

describe('the score of a unit', () => {
  it.each([
    [0.5, { for: 0, against: 0 }, 0.5],
    [0.5, { for: 5, against: 0 }, 0.75],
    [0.5, { for: 0, against: 5 }, 0.25],
    [1, { for: 0, against: 1 }, 0.8333],
    [0, { for: 0, against: 3 }, 0],
  ])('from %d with %j is %d', (base, votes, score) => {
    expect(scoreOf(base, votes)).toBe(score)
  })

  it('is between 0 and 1 whatever the votes, rises with each for it and sinks with each against it', () => {
    const weight = fc.double({ min: 0, max: 1e6, noNaN: true })
    fc.assert(
      fc.property(fc.double({ min: 0, max: 1, noNaN: true }), weight, weight, (base, pro, contra) => {
        const score = scoreOf(base, { for: pro, against: contra })
        expect(score).toBeGreaterThanOrEqual(0)
        expect(score).toBeLessThanOrEqual(1)
        expect(scoreOf(base, { for: pro + 1, against: contra })).toBeGreaterThanOrEqual(score)
        expect(scoreOf(base, { for: pro, against: contra + 1 })).toBeLessThanOrEqual(score)
      }),
    )
  })
})

it.each([
  [-3, 0.5],
  [0, 0.5],
  [0.2, 0.52],
  [5, 1],
  [15, 2],
  [1_000_000, 2],
])('a voter with a reputation of %d weighs %d', (reputation, weight) => {
  expect(voteWeight(reputation)).toBe(weight)
})
