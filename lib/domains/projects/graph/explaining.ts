import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Explained, PlannedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Episode, GraphStore } from '#lib/stores/graph/graph.ts'
import { redactionPolicyOf } from './erasure-policy.ts'
import { type GroupPlan, plannedEpisodes } from './planned-episodes.ts'
import { decideNeighbourhood } from './rules.ts'
import type { NamesOf } from './subject-names.ts'
import { searchWords } from './word-search.ts'

const store = 'graph'

/**
 * What an erasure would do to every graph record of a scope, and why. Decides about all pages together. If the graph does not answer, only
 * the episodes that pointers name are returned. Read-only.
 */
export async function plannedRecordsOf(
  parts: { graph: GraphStore; sources: Sources; namesOf: NamesOf },
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<Explained> {
  const { graph, sources } = parts
  const verdicts: PlannedRecord[] = []
  let isPartial = false
  for (const { group } of await sources.whole(scope, tx, now)) {
    const count = group === null ? 0 : await graph.countGroup(group, tx)
    if (group !== null && count > 0)
      verdicts.push({
        ...{ store, kind: 'group', id: group, name: null, verdict: 'deleted', reason: 'whole' },
        ...{ evidence: [`rows:${count}`], found: 'group' },
      })
  }
  for (const plan of await plannedEpisodes({ graph, sources, isReachable: true }, scope, tx, now)) {
    for (const [id, place] of plan.foreign)
      verdicts.push({
        ...{ store, kind: 'episode', id, name: null, verdict: 'untouched', reason: 'foreign_group' },
        ...{ evidence: [`group:${place}`], found: 'pointer' },
      })
    if (plan.isUnsearched) {
      isPartial = true
      for (const [id, found] of plan.episodes)
        verdicts.push({
          ...{ store, kind: 'episode', id, name: null, verdict: 'deleted', reason: 'source', evidence: [], found },
        })
    } else verdicts.push(...(await verdictsInGroup(parts, plan, scope, tx, now)))
  }
  return { verdicts, isPartial }
}

async function verdictsInGroup(
  parts: { graph: GraphStore; sources: Sources; namesOf: NamesOf },
  { group, episodes, shared, decisions, erased, decider }: GroupPlan,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<PlannedRecord[]> {
  const { graph } = parts
  if (!erased || !decider) return []
  const byWords = await searchWords(parts, scope, group, erased, { isThorough: false, now }, tx)
  const more = new Set(byWords.episodes.filter((uuid) => !decisions.has(uuid)))
  const others = await erased.decider(await graph.episodesById(group, [...more], tx), tx, {
    ...{ isPlanned: () => false, isFound: () => false },
  })
  const decide = (episode: Episode) => (more.has(episode.uuid) ? others : decider).decide(episode)
  const ids = [...new Set([...episodes.keys(), ...more])]
  const { ended, policy } = await redactionPolicyOf(group, ids, scope, tx, { redacts: false, now })
  const found = await graph.read(group, ids, tx, ended)
  const hasErased = (text: string) => erased.hasErased(text)
  const { verdicts: assessed, change } = decideNeighbourhood(found, { ...policy, decide, hasErased })
  const facts = await graph.factsAt(group, change.deleteEntities, tx)
  const verdicts = assessed.map((verdict): PlannedRecord => {
    const atIt = verdict.kind === 'entity' && verdict.verdict === 'deleted' ? (facts.get(verdict.id) ?? 0) : 0
    const sources = verdict.kind === 'episode' ? (shared.get(verdict.id) ?? 0) : 0
    return {
      ...verdict,
      store,
      evidence: [
        ...verdict.evidence,
        ...(atIt > 0 ? [`facts:${atIt}`] : []),
        ...(sources > 0 ? [`sources:${sources}`] : []),
      ],
      found: verdict.kind === 'episode' ? (episodes.get(verdict.id) ?? 'text') : 'group',
    }
  })
  // Texts that contain erased words although no episode leads to them.
  const known = new Set(assessed.map(({ id }) => id))
  const report = (kind: string, id: string, verdict: PlannedRecord['verdict'], evidence: string[]) => {
    if (!known.has(id))
      verdicts.push({ ...{ store, kind, id, name: null, verdict, reason: 'words', evidence, found: 'text' } })
  }
  for (const id of byWords.deleteEntities) report('entity', id, 'deleted', [])
  for (const { kind, id, field } of byWords.edits) report(kind, id, 'changed', [`field:${field}`])
  return verdicts
}
