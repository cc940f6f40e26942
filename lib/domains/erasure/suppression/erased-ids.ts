import type { Transaction } from '#lib/kernel/context.ts'

/** Returns those of the ids that were erased. An erased id can never be used again. */
export const erasedAmong = async (tx: Pick<Transaction, 'erasedId'>, ids: readonly string[]): Promise<string[]> =>
  ids.length === 0
    ? []
    : (await tx.erasedId.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })).map(({ id }) => id)

/** Returns those of the ids whose erased units or skills one of `owners` owned. */
export async function erasedOf(tx: Transaction, ids: readonly string[], owners: readonly string[]): Promise<string[]> {
  const rows = await tx.$queryRaw<{ id: string }[]>`
    SELECT deleted_id AS id FROM erasures WHERE deleted_id = ANY(${[...ids]}::text[]) AND former_owner = ANY(${[...owners]}::text[])`
  return rows.map(({ id }) => id)
}
