import type { Transaction } from '#lib/kernel/context.ts'

/** The name and the prefix of each token, by token id. */
export async function tokenNames(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.token.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, name: true, prefix: true },
  })
  return new Map(rows.map(({ id, name, prefix }) => [id, name === null ? prefix : `${name} ${prefix}`]))
}
