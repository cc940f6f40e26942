import { describe, expect, it } from 'vitest'
import { changeOf, daysOf, isSame, periodsIn, typedOf } from './typed-periods.ts'

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
])('%j days are %j', (days, period) => expect(daysOf({ isForEver: false, days })).toBe(period))
it('“for ever” is null, whatever was typed', () => expect(daysOf({ isForEver: true, days: 'x' })).toBeNull())

describe('a form', () => {
  it('means what it was filled with', () => expect(periodsIn(typedOf(periods))).toEqual(periods))
  it('means nothing while one field is wrong', () =>
    expect(periodsIn({ ...typedOf(periods), org: { isForEver: false, days: '0' } })).toBeUndefined())
})

it('a change names what changes and nothing else', () => {
  expect(changeOf(periods, periods)).toEqual({})
  expect(changeOf(periods, { network: 30, org: 730, private: null })).toEqual({ network_days: 30, private_days: null })
  expect(isSame(periods, { ...periods })).toBe(true)
  expect(isSame(periods, { ...periods, org: null })).toBe(false)
})
