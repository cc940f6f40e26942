import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { coveredRows } from '../legal-holds.ts'
import type { GroupItems } from './items.ts'
import { namedByOthers, searched } from './planned-episodes.ts'
import { erasedInGroup, reportedEndings, textsOfSources } from './repository.ts'
import type { EntityKinds, Policy } from './rules.ts'

/** The label mapping of a group's project; empty if the group belongs to no project. */
async function entityKindsOf(tx: Transaction, group: string): Promise<EntityKinds> {
  const project = await tx.project.findUnique({ where: { groupId: group }, select: { entityKinds: true } })
  const told = project?.entityKinds
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return {}
  return Object.fromEntries(
    Object.entries(told).flatMap(([label, kind]) => (kind === 'person' || kind === 'business' ? [[label, kind]] : [])),
  )
}

/** Episodes of a page: `planned` ones, and those that name the page's sources and may be newer than the plan (`found`). */
export async function episodesInGroup(
  { graph }: { graph: GraphStore },
  { group, episodes, told, about, unsearched }: GroupItems,
  tx: Transaction,
): Promise<{ planned: string[]; found: string[] }> {
  const texts = unsearched.length === 0 ? [] : await textsOfSources(tx, { sources: unsearched })
  const found = await searched(graph, tx, { group, ids: [...about, ...unsearched], texts })
  return { planned: [...new Set([...episodes, ...told])].sort(), found: [...found.keys()].sort() }
}

/** All episodes of a group that pointers assign to a scope, on every page. */
export async function goingOf(scope: ErasureScope, group: string, tx: Transaction, now: Date): Promise<Set<string>> {
  const [sources, episodes] = [new Set<string>(), new Set<string>()]
  for (const table of ['messages', 'documents'] as const) {
    const covered = coveredRows(scope, table)
    if (!covered) continue
    for (const { source, ref } of await erasedInGroup(tx, { ...covered.values, now, group }, covered.which)) {
      sources.add(source)
      if (ref !== null) episodes.add(ref)
    }
  }
  for (const uuid of (await namedByOthers(tx, group, [...episodes], sources, now)).keys()) episodes.delete(uuid)
  return episodes
}

/** The policy for these episodes: the project's label mapping, and the facts that their authors report as ended. */
export async function redactionPolicyOf(
  group: string,
  episodes: readonly string[],
  scope: ErasureScope,
  tx: Transaction,
  { redacts, now }: Pick<ErasureOptions, 'redacts' | 'now'>,
): Promise<{ ended: string[]; policy: Policy }> {
  const rows = await reportedEndings(tx, { group, episodes })
  const endedBy = new Map<string, string[]>()
  for (const { ref, ended } of rows) for (const fact of ended) endedBy.set(fact, [...(endedBy.get(fact) ?? []), ref])
  const goes = endedBy.size > 0 ? await goingOf(scope, group, tx, now) : new Set<string>()
  const entityKinds = await entityKindsOf(tx, group)
  return { ended: [...endedBy.keys()].sort(), policy: { entityKinds, redacts, provenance: { endedBy, goes } } }
}
