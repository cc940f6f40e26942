import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { chunked, holdingOf, preferIndexes, sumRemaining } from '#lib/stores/postgres/personal-rows.ts'
import { coveredRows } from '../covered-rows.ts'
import { writersOf } from '../legal-holds.ts'
import { isHostName } from '../rules.ts'
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

const grounds = { ground: receiptText('grounds', 'outside') }
const mostSystems = 20
const systemPrefix = 'outside:'

/** Pointers by system. A place that is no host name is not recorded: the receipt outlives it and is not secret. */
function countsBySystem(pointers: readonly { place: string; n: number }[]): Record<string, number> {
  return Object.fromEntries(
    pointers.flatMap(({ place, n }) => (isHostName(place) ? [[systemPrefix + place, n] as const] : [])),
  )
}

/** A line for each of the systems with the most pointers, and one for all other pointers. */
function remainsOutside(count: number, results: Readonly<Record<string, number>> = {}) {
  const named = Object.entries(results)
    .filter(([name]) => name.startsWith(systemPrefix))
    .toSorted(([one, ofOne], [other, ofOther]) => ofOther - ofOne || (one < other ? -1 : 1))
    .slice(0, mostSystems)
    .map(([name, n]) => ({ system: name.slice(systemPrefix.length), count: n }))
  const others = count - named.reduce((sum, one) => sum + one.count, 0)
  return [
    ...named.map((values) => ({ what: receiptText('retained', 'outsideIn', values), ...grounds })),
    ...(others > 0 ? [{ what: receiptText('retained', 'outside', { count: others }), ...grounds }] : []),
  ]
}

/**
 * Personal data source for pointers to copies that this installation cannot reach, as reported by applications. They are deleted, and the
 * receipt reports their number by system. Runs before messages and documents, whose erasure deletes all their pointers.
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
  async plan(scope, tx, now) {
    const pointers = await pointersOf(scope, tx, now)
    const byPlace = Map.groupBy(pointers, ({ place }) => place)
    const results = countsBySystem([...byPlace].map(([place, { length: n }]) => ({ place, n })))
    return { items: pointers.map(({ id }) => id), held: {}, results }
  },
  async explain(scope, tx, now) {
    const verdicts = (await pointersOf(scope, tx, now)).map(
      ({ ref, place }): PlannedRecord => ({
        ...{ store: 'outside', kind: 'reference', id: ref, name: null, verdict: 'untouched', reason: 'outside' },
        ...{ evidence: place === '' ? [] : [`place:${place}`], found: 'pointer' },
      }),
    )
    return { verdicts, isPartial: false }
  },
  async erase(_scope, items, tx) {
    if (items.length === 0) return 0
    const deleted = await deleteOutsidePointers(tx, { items })
    const count = deleted.reduce((sum, { n }) => sum + n, 0)
    return { count, results: countsBySystem(deleted), mentions: [] }
  },
  residue: (_scope, items) =>
    sumRemaining(db, async function* (on) {
      for (const chunk of chunked(items)) yield countPointers(on, { items: chunk })
    }),
  leftBehind: remainsOutside,
})
