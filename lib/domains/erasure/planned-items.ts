import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Of what a holder has still to erase in a run: every item that begins so becomes another, as many as there were. Gives how many. For who
 * decides that a stuck step goes about it otherwise; a plan that is made meanwhile does not undo it.
 */
export async function replaceItems(
  tx: Transaction,
  { runId, holder, prefix, item }: { runId: string; holder: string; prefix: string; item: string },
): Promise<number> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder, erasedAt: null }, orderBy: { page: 'asc' } })
  let count = 0
  for (const { page, items } of pages) {
    const replaced = items.filter((one) => one.startsWith(prefix)).length
    if (replaced === 0) continue
    count += replaced
    await tx.erasurePage.update({
      where: { runId_holder_page: { runId, holder, page } },
      data: { items: items.map((one) => (one.startsWith(prefix) ? item : one)), stays: true },
    })
  }
  return count
}
