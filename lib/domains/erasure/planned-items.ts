import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Of what a holder has still to erase in a run: every item that begins so becomes another, as many as there were. Gives how many. For who
 * decides that a stuck step goes about it otherwise; a plan that is made meanwhile does not undo it, where it `stays`.
 */
export async function replaceItems(
  tx: Transaction,
  {
    runId,
    holder,
    prefix,
    item,
    stays = true,
  }: { runId: string; holder: string; prefix: string; item: string; stays?: boolean },
): Promise<number> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder, erasedAt: null }, orderBy: { page: 'asc' } })
  let count = 0
  for (const { page, items } of pages) {
    const replaced = items.filter((one) => one.startsWith(prefix)).length
    if (replaced === 0) continue
    count += replaced
    await tx.erasurePage.update({
      where: { runId_holder_page: { runId, holder, page } },
      data: { items: items.map((one) => (one.startsWith(prefix) ? item : one)), ...(stays && { stays }) },
    })
  }
  return count
}

/**
 * What one step cannot erase goes to another of the same run, once: items of `from` that begin so become `marker`, which counts nothing there,
 * and `item` is added to what `to` has still to erase, whatever a later plan finds.
 */
export async function moveItems(
  tx: Transaction,
  { runId, from, to, prefix, marker, item }: Record<'runId' | 'from' | 'to' | 'prefix' | 'marker' | 'item', string>,
): Promise<void> {
  const counted = await tx.erasurePage.findMany({ where: { runId, holder: from, erasedAt: null, isWatched: false } })
  const moved = counted.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix))).length
  // A new plan meets the thread again. Other items of these pages are as they were.
  await replaceItems(tx, { runId, holder: from, prefix, item: marker, stays: false })
  await tx.erasureStep.updateMany({ where: { runId, holder: from }, data: { planned: { decrement: moved } } })
  const pages = await tx.erasurePage.findMany({ where: { runId, holder: to }, select: { page: true, items: true } })
  if (pages.some(({ items }) => items.some((one) => one.startsWith(prefix)))) return
  const page = Math.max(-1, ...pages.map((one) => one.page)) + 1
  await tx.erasurePage.create({ data: { runId, holder: to, page, items: [item], stays: true } })
  await tx.erasureStep.update({
    where: { runId_holder: { runId, holder: to } },
    data: { state: 'waiting', finishedAt: null, attempts: 0, planned: { increment: 1 } },
  })
}
/** Of all that a holder erases or erased in a run: items that begin so. */
export async function itemsBeginning(
  tx: Transaction,
  { runId, holder, prefix }: { runId: string; holder: string; prefix: string },
): Promise<string[]> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder }, orderBy: { page: 'asc' } })
  return pages.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix)))
}
