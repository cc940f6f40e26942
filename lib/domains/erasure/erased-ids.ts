import type { Transaction } from '#lib/kernel/context.ts'

/** Returns those of the ids that were erased. An erased id can never be used again. */
export const erasedAmong = async (tx: Pick<Transaction, 'erasedId'>, ids: readonly string[]): Promise<string[]> =>
  ids.length === 0
    ? []
    : (await tx.erasedId.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })).map(({ id }) => id)
