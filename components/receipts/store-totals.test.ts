import { describe, expect, it } from 'vitest'
import { receiptSummary, storeTotals } from './store-totals.ts'

const line = (holder: string, deleted: number, store = 'postgresql') => ({
  store,
  holder,
  what: holder,
  found: deleted,
  deleted,
  residue: 0,
  verified_at: '2026-01-31T12:00:00.000Z',
})
const stores = [
  line('knowledge.units', 7),
  line('privacy.requests', 2),
  line('knowledge.references', 3),
  line('projects.references', 4),
  line('erasure.owners', 1),
  line('objects.bytes', 5, 'objects'),
]

describe('the counts of a receipt', () => {
  it('separate pseudonymized from deleted records, by store', () =>
    expect(storeTotals({ stores })).toEqual([
      { store: 'postgresql', found: 17, deleted: 7, pseudonymized: 10, left: 0 },
      { store: 'objects', found: 5, deleted: 5, pseudonymized: 0, left: 0 },
    ]))

  it('follow the signed number of pseudonymized records', () => {
    const signed = { ...line('knowledge.units', 7), pseudonymized: 2 }
    expect(storeTotals({ stores: [signed] })).toEqual([
      { store: 'postgresql', found: 7, deleted: 5, pseudonymized: 2, left: 0 },
    ])
  })

  it('separate pseudonymized, deleted and retained records in the summary', () =>
    expect(receiptSummary({ stores }, 6)).toEqual({
      status: 'held',
      counts: { stores: 2, deleted: 12, pseudonymized: 10, left: 0, held: 6 },
    }))
})
