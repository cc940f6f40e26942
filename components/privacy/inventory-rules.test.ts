import { describe, expect, it, test } from 'vitest'
import { groundsIn, recordsPageOf, sortedHoldings, storedBeside } from './inventory-rules.ts'

test.each([
  ['legal obligation (GDPR art. 6(1)(c), with art. 15 and 20)', ['c']],
  ['consent (GDPR art. 6(1)(a)), contract (GDPR art. 6(1)(b))', ['a', 'b']],
  ['legitimate interest (GDPR art. 6(1)(f)), consent (GDPR art. 6(1)(a))', ['a', 'f']],
  ['consent (GDPR art. 6(1)(a)), consent (GDPR art. 6(1)(a))', ['a']],
  ['art. 16(1)(c), 6(1)(g), 6(2)(a)', []],
  ['', []],
])('groundsIn(%j) returns %j', (basis, grounds) => expect(groundsIn(basis)).toEqual(grounds))

test.each([
  ['projects.messages', '/projects'],
  ['knowledge.units', '/knowledge'],
  ['projects.references', undefined],
  ['projects.participants', undefined],
  ['projects.outside', undefined],
  ['knowledge.words', undefined],
])('recordsPageOf(%j) returns %j', (name, page) => expect(recordsPageOf(name)).toBe(page))

test('storedBeside returns the records that exist or are not counted', () => {
  const line = (name: string, count: number | null) => ({
    name,
    count,
    store: 'postgresql',
    what: '',
    since: null,
    until: null,
    purpose: '',
    basis: '',
    kept: '',
    where: '',
  })
  const beside = [line('audit.entries', 3), line('erasure.receipts', 0), line('erasure.fingerprints', null)]
  expect(storedBeside(beside).map(({ name }) => name)).toEqual(['audit.entries', 'erasure.fingerprints'])
})

describe('sortedHoldings', () => {
  const line = (holder: string, store: string, count: number) => ({
    holder,
    store,
    count,
    what: '',
    since: null,
    until: null,
    purpose: '',
    basis: '',
    kept: '',
    where: '',
  })

  it('sorts by the size of the store, then of the data source, and lists empty data sources separately', () => {
    const { held, empty, stores } = sortedHoldings([
      line('letters', 'files', 40),
      line('sessions', 'postgresql', 2),
      line('votes', 'postgresql', 0),
      line('units', 'postgresql', 900),
      line('exports', 'files', 1),
    ])
    expect(held.map(({ holder }) => holder)).toEqual(['units', 'sessions', 'letters', 'exports'])
    expect(empty.map(({ holder }) => holder)).toEqual(['votes'])
    expect(stores).toBe(2)
  })

  it('returns no data sources and no stores when every count is zero', () =>
    expect(sortedHoldings([line('units', 'postgresql', 0)])).toMatchObject({ held: [], stores: 0 }))
})
