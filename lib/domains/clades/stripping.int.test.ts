import { expect, test } from 'vitest'
import { countedFaults, sharingFaults, sharingSeeds } from '#lib/testing/planted-entries.ts'
import { sampledRuns } from '#lib/testing/sampling.ts'

const timeout = 900_000
const seen = sampledRuns('shared entries with secrets of every kind in every field', 6_700, 670)
const heldOut = sampledRuns('shared entries with secrets that the rules were not built with', 3_300, 330)

test('strip removes every secret from shared entries and keeps all other bytes', { timeout }, () => {
  expect(sharingFaults(sharingSeeds.seen, seen).slice(0, 12)).toEqual([])
})
test('strip removes every secret of a set that was not used to write its rules, and keeps all other bytes', {
  timeout,
}, () => {
  expect(countedFaults(sharingFaults(sharingSeeds.heldOut, heldOut))).toEqual({})
})
