import type { Transaction } from '#lib/kernel/context.ts'

/**
 * Replaces each item with this prefix that a data source has not erased yet. Returns the number of replaced items.
 * Used when an admin decides how a stuck step treats its items. With `stays`, a later plan does not undo the
 * replacement.
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
 * Moves items with this prefix that one step cannot erase to another step of the same run, once. In `from` they become
 * `marker`, which is not counted; `to` gets `item` to erase, whatever a later plan finds.
 */
export async function moveItems(
  tx: Transaction,
  { runId, from, to, prefix, marker, item }: Record<'runId' | 'from' | 'to' | 'prefix' | 'marker' | 'item', string>,
): Promise<void> {
  const counted = await tx.erasurePage.findMany({ where: { runId, holder: from, erasedAt: null, isWatched: false } })
  const moved = counted.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix))).length
  // Not `stays`: a new plan finds the thread again. The other items of these pages stay unchanged.
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
/** Returns the items with this prefix that a data source erased or still has to erase in a run. */
export async function itemsBeginning(
  tx: Transaction,
  { runId, holder, prefix }: { runId: string; holder: string; prefix: string },
): Promise<string[]> {
  const pages = await tx.erasurePage.findMany({ where: { runId, holder }, orderBy: { page: 'asc' } })
  return pages.flatMap(({ items }) => items.filter((one) => one.startsWith(prefix)))
}
