import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureOptions, ItemId } from '#lib/kernel/data-source.ts'
import { type Erased, erasedOf } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { insertErasedIds } from './repository.ts'

/** An id that can never be used again. */
export interface ErasedIdentity {
  id: string
  /** Whether others could have copied the record. If so, a tombstone tells them to delete their copies. */
  wasPublic: boolean
}

/** Blocks the ids of erased records. Idempotent. */
export async function reserveIds(
  tx: Transaction,
  receiptId: string,
  identities: readonly ErasedIdentity[],
  erasedAt: Date,
): Promise<void> {
  if (identities.length === 0) return
  const idsOf = (isPublic: boolean) => identities.flatMap(({ id, wasPublic }) => (wasPublic === isPublic ? [id] : []))
  await insertErasedIds(tx, { receiptId, erasedAt, ids: idsOf(false), publicIds: idsOf(true) })
}

/** Returns the ids of existing records among the items. */
export const identitiesOf = async (
  tx: Transaction,
  dataSource: DataSource,
  items: readonly ItemId[],
): Promise<ErasedIdentity[]> => (await dataSource.identities?.(items, tx)) ?? []

export interface ErasedPage {
  scope: ErasureScope
  items: readonly ItemId[]
  /** The ids of the records to erase, unless they are already blocked. */
  identities: readonly ErasedIdentity[]
  receiptId: string
  options: ErasureOptions
}

/**
 * Erases a page of items of one data source in the caller's transaction, after the ledger contains them, and blocks the
 * ids of the erased records.
 */
export async function erasePage(
  tx: Transaction,
  dataSource: DataSource,
  { scope, items, identities, receiptId, options }: ErasedPage,
): Promise<Erased> {
  await reserveIds(tx, receiptId, identities, options.now)
  return erasedOf(await dataSource.erase(scope, items, tx, options))
}
