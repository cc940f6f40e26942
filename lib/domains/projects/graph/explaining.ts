import type { Transaction } from '#lib/kernel/context.ts'
import type { Explained, Scope, Verdict } from '#lib/kernel/holder.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Sources } from '../sources.ts'
import { policyOf } from './erasing.ts'
import { plannedEpisodes } from './planned-episodes.ts'
import { judge } from './rules.ts'

const store = 'graph'

/** What would become of everything that a scope has in the graph, and why. Judged as a whole, as all pages together come to; where the graph does not answer, what pointers name. Reads alone. */
export async function verdictsOf(
  parts: { graph: GraphStore; sources: Sources },
  scope: Scope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { graph, sources } = parts
  const verdicts: Verdict[] = []
  let isPartial = false
  for (const { group } of await sources.whole(scope, tx, now)) {
    const count = group === null ? 0 : await graph.countGroup(group, tx)
    if (group !== null && count > 0)
      verdicts.push({
        ...{ store, kind: 'group', id: group, name: null, verdict: 'deleted', reason: 'whole' },
        ...{ evidence: [`rows:${count}`], found: 'group' },
      })
  }
  for (const { group, episodes, foreign, shared, isUnsearched } of await plannedEpisodes(
    { graph, sources, isReachable: true },
    scope,
    tx,
    now,
  )) {
    for (const [id, place] of foreign)
      verdicts.push({
        ...{ store, kind: 'episode', id, name: null, verdict: 'untouched', reason: 'foreign_group' },
        ...{ evidence: [`group:${place}`], found: 'pointer' },
      })
    for (const [id, count] of shared)
      verdicts.push({
        ...{ store, kind: 'episode', id, name: null, verdict: 'kept', reason: 'shared' },
        ...{ evidence: [`sources:${count}`], found: 'pointer' },
      })
    if (isUnsearched) {
      isPartial = true
      for (const [id, found] of episodes)
        verdicts.push({
          store,
          kind: 'episode',
          id,
          name: null,
          verdict: 'deleted',
          reason: 'source',
          evidence: [],
          found,
        })
      continue
    }
    const ids = [...episodes.keys()]
    if (ids.length === 0) continue
    const { ended, policy } = await policyOf(group, ids, scope, tx, { redacts: false, now })
    const found = await graph.read(group, ids, tx, ended)
    const { verdicts: judged, change } = judge(found, policy)
    const facts = await graph.factsAt(group, change.deleteEntities, tx)
    for (const verdict of judged) {
      const atIt = verdict.kind === 'entity' && verdict.verdict === 'deleted' ? (facts.get(verdict.id) ?? 0) : 0
      verdicts.push({
        ...verdict,
        store,
        evidence: [...verdict.evidence, ...(atIt > 0 ? [`facts:${atIt}`] : [])],
        found: verdict.kind === 'episode' ? (episodes.get(verdict.id) ?? 'group') : 'group',
      })
    }
  }
  return { verdicts, isPartial }
}
