import type { Transaction } from '#lib/kernel/context.ts'
import { erasedIdsOf } from './repository.ts'

/** Returns those of the ids that were erased. An erased id can never be used again. */
export const erasedAmong = async (tx: Pick<Transaction, 'erasedId'>, ids: readonly string[]): Promise<string[]> =>
  ids.length === 0
    ? []
    : (await tx.erasedId.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })).map(({ id }) => id)

/** Returns those of the ids whose erased units or skills one of `owners` owned. */
export const erasedOf = async (tx: Transaction, ids: readonly string[], owners: readonly string[]): Promise<string[]> =>
  (await erasedIdsOf(tx, { ids, owners })).map(({ id }) => id)
