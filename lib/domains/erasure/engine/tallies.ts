import type { Transaction } from '#lib/kernel/context.ts'
import type { Erased } from '#lib/kernel/erased.ts'
import { preferIndexes } from '#lib/stores/postgres/personal-rows.ts'
import { tally } from './repository.ts'

/**
 * Returns how much a page changes each tallied count: ids of earlier pages are not counted again, and ids that were
 * deleted since are subtracted.
 */
export async function talliedUp(
  tx: Transaction,
  runId: string,
  holder: string,
  { tallies = {} }: Pick<Erased, 'tallies'>,
): Promise<Record<string, number>> {
  const counts: Record<string, number> = {}
  const changed = Object.entries(tallies).filter(([, { met, gone }]) => met.length + gone.length > 0)
  if (changed.length > 0) await preferIndexes(tx)
  for (const [name, { met, gone, isOfParts = false }] of changed) {
    const [row] = await tally(tx, { runId, holder, name, met, gone }, isOfParts ? 'parts' : 'ids')
    counts[name] = row?.n ?? 0
  }
  return counts
}
