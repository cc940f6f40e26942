import { expect, it } from 'vitest'
import { entryKey, entryOf, type Filters, isFiltered, none, queryOf, rounded, searchOf } from './filters.ts'

const empty: Filters = none

it('queryOf uses the time of the page as the end unless the address has one', () => {
  expect(queryOf({ ...empty, q: 'x', action: 'delete' }, 'now')).toEqual({ to: 'now', q: 'x', action: 'delete' })
  expect(queryOf({ ...empty, to: 'then' }, 'now')).toEqual({ to: 'then' })
})

it('isFiltered ignores the end time', () => {
  expect([isFiltered({ ...empty, to: 'then' }), isFiltered({ ...empty, q: 'x' }), isFiltered(empty)]).toEqual([
    false,
    true,
    false,
  ])
})

it('searchOf contains only filters that are set', () => {
  expect(searchOf({ ...empty, agent_id: 'user:a&b', action: 'read' })).toBe('agent_id=user:a%26b&action=read')
})

it('entryOf reads back the key of an entry and rejects any other text', () => {
  const entry = { timestamp: '2026-01-02T03:04:05.678Z', id: '0192d1c0-0000-7000-8000-000000000000' }
  expect(entryOf(entryKey(entry))).toEqual(entry)
  for (const key of ['', 'x', entry.id, `yesterday~${entry.id}`, `${entry.timestamp}~x`])
    expect(entryOf(key)).toBeUndefined()
})

it.each([
  [0, 0],
  [7, 7],
  [1_234, 1_200],
  [1_204_331, 1_200_000],
  [999_999, 1_000_000],
])('rounded(%i) returns %i', (count, about) => expect(rounded(count)).toBe(about))
