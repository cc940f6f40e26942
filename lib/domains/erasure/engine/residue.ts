import { dataSourcesInOrder, nobody } from '#lib/domains/erasure/runs/run-rules.ts'
import type { DataSource, ErasedWords, ItemId } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { needing } from './waits.ts'

export interface ResidueSearch {
  /** Null when legal holds cover the whole scope. Data sources then search for erased items only. */
  scope: ErasureScope | null
  /** The items that a data source erased. */
  itemsOf(dataSource: DataSource): readonly ItemId[] | Promise<readonly ItemId[]>
  /** The erased words, for stores that other applications write to. */
  words?: ErasedWords | undefined
  now(): Date
}

/**
 * Searches the data sources again, with other queries than those that erased. Returns the number of remaining records
 * by data source, without data sources in which nothing remains.
 * @throws StoreUnavailable or StoreRefused when a store cannot be searched
 */
export async function searchResidue(
  dataSources: readonly DataSource[],
  { scope, itemsOf, words, now }: ResidueSearch,
): Promise<Map<string, number>> {
  const found = new Map<string, number>()
  for (const { dataSource } of dataSourcesInOrder(dataSources)) {
    const items = await itemsOf(dataSource)
    if (scope === null && items.length === 0) continue
    const search = () =>
      dataSource.residue(scope ?? { subject: nobody }, items, now(), dataSource.isShared ? words : undefined)
    const residue = await needing(dataSource.store, search)
    if (residue > 0) found.set(dataSource.name, residue)
  }
  return found
}
