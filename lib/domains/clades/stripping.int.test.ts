import { describe, expect, test } from 'vitest'
import { countedFaults, sharingFaults, sharingSeeds } from '#lib/testing/planted-entries.ts'

describe('what 10,000 entries share, with secrets of every kind in every field', () => {
  const timeout = 900_000
  test('of 6,700: none leaves, and what is to stay stays byte for byte', { timeout }, () => {
    expect(sharingFaults(sharingSeeds.seen, 6700).slice(0, 12)).toEqual([])
  })
  test('of 3,300 that nobody looked at while building: the same', { timeout }, () => {
    expect(countedFaults(sharingFaults(sharingSeeds.heldOut, 3300))).toEqual({})
  })
})
