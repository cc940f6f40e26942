import { describe, expect, it } from 'vitest'
import { daysOf, isLonger, isSame, periodChangeOf, periodsIn, typedPeriodsOf } from './typed-periods.ts'

const periods = { network: null, org: 730, private: 365 }

it.each([
  ['1', 1],
  [' 36500 ', 36_500],
  ['36501', undefined],
  ['0', undefined],
  ['-1', undefined],
  ['1.5', undefined],
  ['1e3', undefined],
  ['', undefined],
])('daysOf %j returns %j', (days, period) => expect(daysOf({ isForEver: false, days })).toBe(period))
it('daysOf returns null for "forever", whatever the days field contains', () =>
  expect(daysOf({ isForEver: true, days: 'x' })).toBeNull())

describe('periodsIn', () => {
  it('reads back the periods that typedOf wrote', () => expect(periodsIn(typedPeriodsOf(periods))).toEqual(periods))
  it('returns undefined if one field is invalid', () =>
    expect(periodsIn({ ...typedPeriodsOf(periods), org: { isForEver: false, days: '0' } })).toBeUndefined())
})

it.each([
  [180, 90, true],
  [90, 90, false],
  [null, 36_500, true],
  [36_500, null, false],
  [null, null, false],
])('isLonger of %s than %s returns %s', (one, other, expected) => expect(isLonger(one, other)).toBe(expected))

it('changeOf returns only the changed fields', () => {
  expect(periodChangeOf(periods, periods)).toEqual({})
  expect(periodChangeOf(periods, { network: 30, org: 730, private: null })).toEqual({
    network_days: 30,
    private_days: null,
  })
  expect(isSame(periods, { ...periods })).toBe(true)
  expect(isSame(periods, { ...periods, org: null })).toBe(false)
})
