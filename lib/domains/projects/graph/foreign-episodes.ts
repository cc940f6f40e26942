import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'

/**
 * Those of the uuids that are episodes of another group, and not of this one. An erasure never follows a pointer out of its group, so such a
 * pointer would have no effect. While the graph does not answer, none is returned: a report of provenance does not wait for it.
 */
export const foreignEpisodes =
  (graph: Pick<GraphStore, 'groupsOf' | 'episodesById'>) =>
  async (tx: Transaction, group: string, uuids: readonly string[]): Promise<readonly string[]> => {
    try {
      const groups = await graph.groupsOf(uuids, tx)
      const elsewhere = [...groups].flatMap(([uuid, found]) => (found === group ? [] : [uuid]))
      if (elsewhere.length === 0) return []
      // A copy of a group keeps the uuids of its episodes.
      const here = new Set((await graph.episodesById(group, elsewhere, tx)).map(({ uuid }) => uuid))
      return elsewhere.filter((uuid) => !here.has(uuid))
    } catch (error) {
      if (Problem.is(error) && error.code === 'unavailable') return []
      throw error
    }
  }
