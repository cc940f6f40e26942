import { expect, it } from 'vitest'
import { entryKey, entryOf, type Filters, isFiltered, none, queryOf, rounded, searchOf } from './filters.ts'

const empty: Filters = none

it('what the API is asked has the page’s moment as its end, unless the address has one', () => {
  expect(queryOf({ ...empty, q: 'x', action: 'delete' }, 'now')).toEqual({ to: 'now', q: 'x', action: 'delete' })
  expect(queryOf({ ...empty, to: 'then' }, 'now')).toEqual({ to: 'then' })
})

it('a pinned moment by itself is no filter', () => {
  expect([isFiltered({ ...empty, to: 'then' }), isFiltered({ ...empty, q: 'x' }), isFiltered(empty)]).toEqual([
    false,
    true,
    false,
  ])
})

it('an address names what is set alone', () => {
  expect(searchOf({ ...empty, agent_id: 'user:a&b', action: 'read' })).toBe('agent_id=user:a%26b&action=read')
})

it('an entry’s address leads back to it, and nothing else is taken for one', () => {
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
])('%i is about %i', (count, about) => expect(rounded(count)).toBe(about))
