import { describe, expect, it } from 'vitest'
import { regionOf, regionsWithin } from './region-of.ts'

describe('regionOf', () => {
  it.each([
    ['de', 'eu', 'de'],
    [null, 'eu', 'eu'],
    ['de', null, 'de'],
    [null, null, null],
  ])('of a conversation in %s of a project in %s returns %s', (own, outer, region) =>
    expect(regionOf({ region: own }, { region: outer })).toBe(region),
  )
})

describe('regionsWithin', () => {
  it.each([
    [null, ['eu', 'de', 'ch']],
    ['eu', ['eu', 'de']],
    ['de', ['de']],
    ['fr', []],
  ])('of a project in %s returns %j', (region, expected) =>
    expect(regionsWithin({ region }, ['eu', 'de', 'ch'])).toEqual(expected),
  )
})
