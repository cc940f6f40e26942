import { expect, it } from 'vitest'
import {
  type AuditBrowserFilters,
  auditEntryOf,
  auditMonths,
  auditQueryOf,
  entryKey,
  exportHref,
  isAuditFiltered,
  monthQuery,
  noAuditFilters,
  rounded,
  searchOf,
} from './filters.ts'

const empty: AuditBrowserFilters = noAuditFilters

it('queryOf uses the time of the page as the end unless the address has one', () => {
  expect(auditQueryOf({ ...empty, q: 'x', action: 'delete' }, 'now')).toEqual({
    to: 'now',
    q: 'x',
    action: 'delete',
    reads: 'false',
  })
  expect(auditQueryOf({ ...empty, to: 'then' }, 'now')).toEqual({ to: 'then', reads: 'false' })
})

it('queryOf omits reads unless the address shows them or asks for this action', () => {
  expect(auditQueryOf({ ...empty, reads: 'true' }, 'now')).toEqual({ to: 'now' })
  expect(auditQueryOf({ ...empty, action: 'read' }, 'now')).toEqual({ to: 'now', action: 'read' })
})

it('monthQuery covers the month in UTC to its last millisecond', () => {
  const query = new URLSearchParams(exportHref(monthQuery('2026-02', false), 'csv').split('?')[1])
  expect(Object.fromEntries(query)).toEqual({
    from: '2026-02-01T00:00:00.000Z',
    to: '2026-02-28T23:59:59.999Z',
    reads: 'false',
    format: 'csv',
  })
})

it('auditMonths returns the months of the last 90 days', () => {
  expect(auditMonths(new Date('2026-03-31T12:00:00Z'))).toEqual(['2026-03', '2026-02', '2026-01', '2025-12'])
  expect(auditMonths(new Date('2026-01-01T00:00:00Z'))).toEqual(['2026-01', '2025-12', '2025-11', '2025-10'])
})

it('isFiltered ignores the end time', () => {
  expect([
    isAuditFiltered({ ...empty, to: 'then' }),
    isAuditFiltered({ ...empty, q: 'x' }),
    isAuditFiltered(empty),
  ]).toEqual([false, true, false])
})

it('searchOf contains only filters that are set', () => {
  expect(searchOf({ ...empty, agent_id: 'user:a&b', action: 'read' })).toBe('agent_id=user:a%26b&action=read')
})

it('entryOf reads back the key of an entry and rejects any other text', () => {
  const entry = { timestamp: '2026-01-02T03:04:05.678Z', id: '0192d1c0-0000-7000-8000-000000000000' }
  expect(auditEntryOf(entryKey(entry))).toEqual(entry)
  for (const key of ['', 'x', entry.id, `yesterday~${entry.id}`, `${entry.timestamp}~x`])
    expect(auditEntryOf(key)).toBeUndefined()
})

it.each([
  [0, 0],
  [7, 7],
  [1_234, 1_200],
  [1_204_331, 1_200_000],
  [999_999, 1_000_000],
])('rounded(%i) returns %i', (count, about) => expect(rounded(count)).toBe(about))
