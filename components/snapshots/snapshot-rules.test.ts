import { expect, test } from 'vitest'
import { clockOf, newestReady, snapshotPollInterval } from './snapshot-rules.ts'

const made = { created_at: '2026-03-01T10:00:00.000Z', expires_at: '2026-03-01T14:00:00.000Z' }

test.each([
  ['2026-03-01T10:00:00.000Z', 'plenty'],
  ['2026-03-01T13:00:00.000Z', 'plenty'],
  ['2026-03-01T13:00:00.001Z', 'little'],
  ['2026-03-01T13:59:59.999Z', 'little'],
  ['2026-03-01T14:00:00.000Z', 'over'],
])('clockOf returns the time until a four-hour snapshot expires at %s', (now, says) => {
  expect(clockOf(made, new Date(now))).toBe(says)
})

test('clockOf returns "stays" for a snapshot without an expiry', () => {
  expect(clockOf({ ...made, expires_at: null }, new Date('2030-01-01T00:00:00Z'))).toBe('stays')
})

test('askAgain returns a delay only while a snapshot is being made', () => {
  expect(snapshotPollInterval([])).toBe(false)
  expect(snapshotPollInterval([{ state: 'ready' }, { state: 'failed' }])).toBe(false)
  expect(snapshotPollInterval([{ state: 'ready' }, { state: 'preparing' }])).toBeGreaterThan(0)
})

test('newestReady returns the newest ready snapshot in any order of rows', () => {
  const rows = [
    { id: 'failed', state: 'failed' as const, created_at: '2026-03-03T00:00:00.000Z' },
    { id: 'old', state: 'ready' as const, created_at: '2026-03-01T00:00:00.000Z' },
    { id: 'new', state: 'ready' as const, created_at: '2026-03-02T00:00:00.000Z' },
  ]
  expect(newestReady(rows)?.id).toBe('new')
  expect(newestReady([])).toBeUndefined()
})
