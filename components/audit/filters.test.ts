import { expect, it } from 'vitest'
import {
  type AuditBrowserFilters,
  auditEntryOf,
  auditQueryOf,
  entryKey,
  isAuditFiltered,
  noAuditFilters,
  rounded,
  searchOf,
} from './filters.ts'

const empty: AuditBrowserFilters = noAuditFilters

it('queryOf uses the time of the page as the end unless the address has one', () => {
  expect(auditQueryOf({ ...empty, q: 'x', action: 'delete' }, 'now')).toEqual({ to: 'now', q: 'x', action: 'delete' })
  expect(auditQueryOf({ ...empty, to: 'then' }, 'now')).toEqual({ to: 'then' })
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
