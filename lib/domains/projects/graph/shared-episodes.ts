import type { Transaction } from '#lib/kernel/context.ts'
import { remainingSourcesOfEpisodes } from './repository.ts'

/**
 * Episodes that pointers also assign to remaining sources: by uuid, the number of these sources. Such an episode is deleted with its last
 * source. `going`: ids of the sources that are being erased.
 */
export async function namedByOthers(
  tx: Transaction,
  group: string,
  uuids: readonly string[],
  going: ReadonlySet<string>,
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  if (uuids.length === 0) return new Map()
  const rows = await remainingSourcesOfEpisodes(tx, { group, episodes: uuids, now })
  const others = new Map<string, number>()
  for (const { ref, source } of rows) if (!going.has(source)) others.set(ref, (others.get(ref) ?? 0) + 1)
  return others
}
