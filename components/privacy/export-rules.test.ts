import { expect, test } from 'vitest'
import { exportPollInterval, exportSizeOf, exportStatus, filesToFetch, isUnfetched } from './export-rules.ts'

test.each([
  [0, 0, 'byte'],
  [999, 999, 'byte'],
  [1_000, 1, 'kilobyte'],
  [1_500_000, 1.5, 'megabyte'],
  [5_000_000_000_000, 5_000, 'gigabyte'],
] as const)('sizeOf(%d) returns %d %s', (bytes, value, unit) => expect(exportSizeOf(bytes)).toEqual({ value, unit }))

const now = new Date('2026-11-21T12:00:00.000Z')
test.each([
  [{ state: 'queued', fault: null, expires_at: null }, 'queued'],
  [{ state: 'ready', fault: null, expires_at: '2026-11-21T12:00:01.000Z' }, 'ready'],
  [{ state: 'ready', fault: null, expires_at: '2026-11-21T12:00:00.000Z' }, 'expired'],
  [{ state: 'expired', fault: null, expires_at: '2026-11-21T11:00:00.000Z' }, 'expired'],
  [{ state: 'expired', fault: 'erased', expires_at: null }, 'erased'],
  [{ state: 'failed', fault: 'internal', expires_at: null }, 'failed'],
] as const)('exportStanding maps %j to %s', (one, standing) => expect(exportStatus(one, now)).toBe(standing))

test.each([
  [{}, true],
  [{ downloaded_at: now.toISOString() }, false],
  [{ expires_at: now.toISOString() }, false],
  [{ state: 'running' as const }, false],
])('isUnfetched of a ready export with %j returns %s', (more, is) => {
  const ready = { state: 'ready' as const, fault: null, expires_at: null, downloaded_at: null }
  expect(isUnfetched({ ...ready, ...more }, now)).toBe(is)
})

test('filesToFetch returns unfetched files, and fetched ones that were seen before', () => {
  const ready = { state: 'ready', fault: null, expires_at: null, downloaded_at: null } as const
  const fetched = { ...ready, downloaded_at: now.toISOString() }
  const files = [
    { ...ready, id: 'open' },
    { ...fetched, id: 'seen' },
    { ...fetched, id: 'earlier' },
    { ...fetched, id: 'expired', expires_at: now.toISOString() },
  ]
  expect(filesToFetch(files, new Set(['seen', 'expired']), now).map(({ id }) => id)).toEqual(['open', 'seen'])
})

test('askAgain returns a short delay during preparation, a long one until the download, then false', () => {
  const ready = { state: 'ready', downloaded_at: null } as const
  expect(exportPollInterval([ready, { state: 'running', downloaded_at: null }])).toBe(1_500)
  expect(exportPollInterval([ready])).toBe(10_000)
  expect(
    exportPollInterval([
      { ...ready, downloaded_at: now.toISOString() },
      { state: 'expired', downloaded_at: null },
    ]),
  ).toBe(false)
  expect(exportPollInterval([])).toBe(false)
})
