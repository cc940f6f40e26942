import { describe, expect, test } from 'vitest'
import { countedFaults, sharingFaults, sharingSeeds } from '#lib/testing/planted-entries.ts'

describe('what is shared', () => {
  // As many as a moment allows; `stripping.int.test.ts` takes 10,000 of the same.
  test('300 entries with secrets of every kind in every field: none leaves, and what is to stay stays byte for byte', {
    timeout: 120_000,
  }, () => {
    expect(sharingFaults(sharingSeeds.seen, 200).slice(0, 12)).toEqual([])
    expect(countedFaults(sharingFaults(sharingSeeds.heldOut, 100))).toEqual({})
  })
})
