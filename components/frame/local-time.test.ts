import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { beginningOf, endOf, fieldTime, localDayOf, momentOf } from './local-time.ts'

describe('beginningOf and endOf', () => {
  test.each([
    ['2026-01-31', 'UTC', '2026-01-31T00:00:00.000Z', '2026-01-31T23:59:59.999Z'],
    ['2026-01-31', 'Asia/Shanghai', '2026-01-30T16:00:00.000Z', '2026-01-31T15:59:59.999Z'],
    ['2026-01-31', 'America/New_York', '2026-01-31T05:00:00.000Z', '2026-02-01T04:59:59.999Z'],
    // Days of 23 and 25 hours.
    ['2026-03-29', 'Europe/Berlin', '2026-03-28T23:00:00.000Z', '2026-03-29T21:59:59.999Z'],
    ['2026-10-25', 'Europe/Berlin', '2026-10-24T22:00:00.000Z', '2026-10-25T22:59:59.999Z'],
    ['2024-02-29', 'Asia/Kathmandu', '2024-02-28T18:15:00.000Z', '2024-02-29T18:14:59.999Z'],
  ])('%s in %s lasts from %s to %s', (day, zone, from, to) => {
    expect(beginningOf(day, zone)?.toISOString()).toBe(from)
    expect(endOf(day, zone)?.toISOString()).toBe(to)
    expect([from, to].map((at) => localDayOf(new Date(at), zone))).toEqual([day, day])
  })
  test.each(['', 'yesterday', '2026-13-01', '2026-02-30', '1999-12-31', '9999-12-31', '2026-1-1'])(
    'beginningOf returns undefined for the invalid day %s',
    (day) => {
      expect(beginningOf(day, 'UTC')).toBeUndefined()
      expect(endOf(day, 'UTC')).toBeUndefined()
    },
  )
})

test('momentOf restores the moment of fieldTime to the second in any time zone', () => {
  fc.assert(
    fc.property(
      fc.date({ min: new Date('2020-01-01'), max: new Date('2035-01-01'), noInvalidDate: true }),
      fc.constantFrom('UTC', 'Europe/Berlin', 'Asia/Shanghai', 'America/New_York', 'Asia/Kathmandu'),
      (date, zone) => {
        date.setUTCMilliseconds(0)
        const there = momentOf(fieldTime(date.toISOString(), zone), zone)
        const off = Math.abs(new Date(there ?? 0).getTime() - date.getTime())
        // The repeated hour in autumn is ambiguous.
        return off === 0 || off === 3_600_000
      },
    ),
  )
  expect(momentOf('2026-07-01T12:00', 'Europe/Berlin')).toBe('2026-07-01T10:00:00.000Z')
  expect([momentOf('', 'UTC'), fieldTime(null, 'UTC'), fieldTime('x', 'UTC')]).toEqual([null, '', ''])
})
