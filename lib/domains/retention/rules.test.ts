import fc from 'fast-check'
import { describe, expect, it, test } from 'vitest'
import { batchBounds, nextPace } from './retention-manager.ts'
import {
  checkedPeriods,
  dueBefore,
  isDue,
  periodsOf,
  presets,
  retentionChangesOf,
  retentionPolicyOf,
  sweepStateOf,
  timeToCancel,
} from './rules.ts'

const environment = { network: null, org: 730, private: 365 }
const setAt = new Date('2026-05-01T12:00:00Z')

describe('the current policy', () => {
  it('equals the environment without overrides', () => {
    expect(retentionPolicyOf(environment, [], [], setAt)).toEqual({
      network: { days: null, source: 'environment' },
      org: { days: 730, source: 'environment' },
      private: { days: 365, source: 'environment' },
    })
  })

  it('contains the overrides, including unlimited ones, with who and when', () => {
    const overrides = [
      { visibility: 'private', days: null, setBy: 'user:a', setAt },
      { visibility: 'network', days: 90, setBy: 'user:b', setAt },
    ] as const
    const policy = retentionPolicyOf(environment, overrides, [], setAt)
    const by = (set_by: string) => ({ source: 'override', set_by, set_at: '2026-05-01T12:00:00.000Z' })
    expect(policy).toEqual({
      network: { days: 90, ...by('user:b') },
      org: { days: 730, source: 'environment' },
      private: { days: null, ...by('user:a') },
    })
    expect(periodsOf(policy)).toEqual({ network: 90, org: 730, private: null })
  })

  it.each([
    [false, { days: 7, source: 'override', set_by: 'user:b', set_at: setAt.toISOString() }],
    [true, { days: 365, source: 'environment' }],
  ])('contains a shortening when its time to cancel has ended, and names it before (reset: %s)', (isReset, after) => {
    const startsAt = new Date(setAt.getTime() + timeToCancel)
    const overrides = [{ visibility: 'private', days: null, setBy: 'user:a', setAt }] as const
    const shortening = { visibility: 'private', days: 7, isReset, startsAt, setBy: 'user:b', setAt } as const
    const at = (now: Date) => retentionPolicyOf(environment, overrides, [shortening], now).private
    expect(at(new Date(startsAt.getTime() - 1))).toMatchObject({
      days: null,
      set_by: 'user:a',
      next: { days: 7, at: startsAt.toISOString(), set_by: 'user:b' },
    })
    expect(at(startsAt)).toEqual(after)
  })

  it('presets contains default and strict', () => {
    expect(presets).toEqual({
      default: { network: null, org: 730, private: 365 },
      strict: { network: null, org: 365, private: 180 },
    })
  })
})

test.each([
  [{}, {}],
  [{ network_days: null }, { network: null }],
  [
    { org_days: 30, private_days: 1 },
    { org: 30, private: 1 },
  ],
  [{ preset: 'strict' as const }, presets.strict],
])('changesOf %j returns %j', (change, set) => expect(retentionChangesOf(change)).toEqual(set))

describe('isDue', () => {
  it.each([
    ['to the millisecond', '2026-01-01T00:00:00.000Z', 365, '2026-12-31T23:59:59.999Z', false],
    ['at the period’s end', '2026-01-01T00:00:00.000Z', 365, '2027-01-01T00:00:00.000Z', true],
    ['over a leap day', '2028-02-28T10:00:00Z', 2, '2028-03-01T10:00:00Z', true],
    ['over a leap day, a moment before', '2028-02-28T10:00:00Z', 2, '2028-03-01T09:59:59.999Z', false],
    ['over the night that clocks go forward in Berlin', '2026-03-28T12:00:00Z', 1, '2026-03-29T11:59:59.999Z', false],
    ['over the night that clocks go forward, a day on', '2026-03-28T12:00:00Z', 1, '2026-03-29T12:00:00Z', true],
    ['over the night that clocks go back', '2026-10-24T12:00:00Z', 1, '2026-10-25T12:00:00Z', true],
    ['a year of 366 days is one day short', '2027-06-01T00:00:00Z', 365, '2028-05-31T00:00:00Z', true],
    ['stored in the future by a clock that went astray', '2030-01-01T00:00:00Z', 1, '2026-01-01T00:00:00Z', false],
  ])('is exact: %s', (_name, stored, days, now, due) => expect(isDue(new Date(stored), days, new Date(now))).toBe(due))

  it('returns false for an unlimited period', () => {
    expect(dueBefore(null, setAt)).toBeNull()
    expect(isDue(new Date(0), null, setAt)).toBe(false)
  })

  it('stays true over time, and never becomes true by a longer period', () => {
    const time = fc.date({ min: new Date('2000-01-01'), max: new Date('2100-01-01'), noInvalidDate: true })
    fc.assert(
      fc.property(time, time, fc.integer({ min: 1, max: 36_500 }), fc.nat(36_500), (stored, now, days, more) => {
        const later = new Date(now.getTime() + more * 3_600_000)
        if (isDue(stored, days, now)) expect(isDue(stored, days, later)).toBe(true)
        else expect(isDue(stored, days + more, now)).toBe(false)
      }),
    )
  })
})

describe('checkedPeriods', () => {
  it.each([0, -1, 0.5, 36_501, 1e9, Number.NaN, Number.POSITIVE_INFINITY])('rejects %d days', (days) => {
    for (const visibility of ['network', 'org', 'private'] as const)
      expect(() => checkedPeriods({ ...environment, [visibility]: days })).toThrow(`${visibility}Days must be`)
  })
  it.each([1, 36_500, null])('accepts %j', (days) => {
    expect(checkedPeriods({ network: days, org: days, private: days }).org).toBe(days)
  })
})

test.each([
  [null, false, 'running'],
  [setAt, false, 'finished'],
  [setAt, true, 'interrupted'],
])('stateOf a sweep that finished %j, interrupted %j, is %s', (finishedAt, interrupted, state) =>
  expect(sweepStateOf({ finishedAt, interrupted })).toBe(state),
)

describe('nextPace', () => {
  const batch = { rows: 5_000, took: 300 }
  const best = 300 / 5_000
  it('returns large batches without a pause when nobody else works', () => {
    expect(nextPace(batch, best, 0)).toEqual({ rows: 5_000, pause: 0 })
  })
  it('returns smaller batches with a pause that grows with the slowdown when others work', () => {
    const { rows, pause } = nextPace(batch, best, 500)
    expect(rows).toBeLessThan(5_000)
    expect(pause).toBeGreaterThan(0)
    expect(nextPace(batch, best / 2, 500).pause).toBeGreaterThan(pause)
  })
  it('stays within the bounds for any batch, with a pause of at most twice its duration', () => {
    const rate = fc.double({ min: 0, max: 1e6, noNaN: true })
    fc.assert(
      fc.property(fc.integer({ min: 1, max: 5_000 }), fc.nat(20_000), rate, rate, (rows, took, fastest, others) => {
        const next = nextPace({ rows, took }, fastest, others)
        expect(next.rows).toBeGreaterThanOrEqual(batchBounds.least)
        expect(next.rows).toBeLessThanOrEqual(batchBounds.max)
        expect(next.pause).toBeGreaterThanOrEqual(0)
        expect(next.pause).toBeLessThanOrEqual(took * 2)
      }),
    )
  })
})
