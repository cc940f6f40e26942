import { coveredRows } from '#lib/domains/projects/covered-rows.ts'
import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/legal-hold-rows.ts'
import { countPointers, deleteOutsidePointers, outsidePointerInventory, outsidePointers } from './repository.ts'
import { untilErased } from './retained-until.ts'

/** Outside pointers of the records that a scope covers, except those under legal hold. */
async function pointersOf(
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ id: string; ref: string; place: string }[]> {
  await preferIndexes(tx)
  const found = []
  for (const table of ['messages', 'documents'] as const) {
    const covered = coveredRows(scope, table)
    if (covered) found.push(...(await outsidePointers(tx, { ...covered.values, now }, covered.which)))
  }
  return found.sort((one, other) => (one.id < other.id ? -1 : 1))
}

/**
 * Personal data source for pointers to copies that this installation cannot reach, as reported by applications. They are deleted, and the
 * receipt reports their number. Runs before messages and documents, whose erasure deletes all their pointers.
 */
export const outsidePointerDataSource = (db: Database): DataSource => ({
  name: 'projects.outside',
  store: 'postgresql',
  stage: 'content',
  what: 'pointers to data derived from messages and documents in systems that this installation cannot reach',
  purpose: 'reporting where else data derived from a message or document may exist',
  kept: untilErased,
  tables: ['provenance'],
  inventory: async (subject) => holdingOf(await outsidePointerInventory(db, writersOf(subject))),
  // Records under legal hold are counted with their message or document.
  plan: async (scope, tx, now) => ({ items: (await pointersOf(scope, tx, now)).map(({ id }) => id), held: {} }),
  async explain(scope, tx, now) {
    const verdicts = (await pointersOf(scope, tx, now)).map(
      ({ ref, place }): PlannedRecord => ({
        ...{ store: 'outside', kind: 'reference', id: ref, name: null, verdict: 'untouched', reason: 'outside' },
        ...{ evidence: place === '' ? [] : [`place:${place}`], found: 'pointer' },
      }),
    )
    return { verdicts, isPartial: false }
  },
  erase: (_scope, items, tx) => deleteOutsidePointers(tx, { items }),
  residue: (_scope, items) =>
    sumRemaining(db, async function* (on) {
      for (const chunk of chunked(items)) yield countPointers(on, { items: chunk })
    }),
  leftBehind: (count) => ({
    what: receiptText('retained', 'outside', { count }),
    ground: receiptText('grounds', 'outside'),
  }),
})
