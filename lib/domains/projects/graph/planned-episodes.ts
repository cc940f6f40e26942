import type { Transaction } from '#lib/kernel/context.ts'
import type { Scope } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Source, Sources } from '../sources.ts'
import { episodesOf } from './episode-search.ts'
import { isEpisodeId } from './items.ts'
import { namedByOthers } from './shared-episodes.ts'

/** What came of a scope in one group. */
export interface GroupPlan {
  group: string
  /** By uuid, how it was found. */
  episodes: Map<string, 'pointer' | 'group' | 'text'>
  /** Those of them that pointers alone name: there is no such episode now, or the graph did not answer. */
  told: Set<string>
  /** The sources whose episodes are here. */
  sources: string[]
  /** Named by pointers, and another group's: they are not touched. By uuid, the group. */
  foreign: Map<string, string>
  /** That came of something that stays, too: they stay with it. By uuid, of how many things. */
  shared: ReadonlyMap<string, number>
  /** The graph did not answer, so nothing was looked for but what pointers say. */
  isUnsearched: boolean
}

/** Episodes that name or contain what is looked for, but for those that came of what stays, too. */
export async function searched(
  graph: GraphStore,
  tx: Transaction,
  { group, ids, texts, now }: Sought,
): Promise<Map<string, 'group' | 'text'>> {
  const found = await matching(graph, tx, { group, ids, texts })
  for (const uuid of (await namedByOthers(tx, group, [...found.keys()], new Set(ids), now)).keys()) found.delete(uuid)
  return found
}
interface Sought {
  group: string
  ids: readonly string[]
  texts: readonly { source: string; text: string }[]
  now: Date
}
async function matching(
  graph: GraphStore,
  tx: Transaction,
  { group, ids, texts }: Omit<Sought, 'now'>,
): Promise<Map<string, 'group' | 'text'>> {
  const found = await episodesOf(graph, group, { ids: new Set(ids), texts }, tx)
  return new Map(
    found.map(({ episode, of }) => [episode.uuid, [...of.values()].includes('text') ? 'text' : 'group'] as const),
  )
}

async function addSources(
  graph: GraphStore,
  tx: Transaction,
  plan: GroupPlan,
  sources: readonly Source[],
  canSearch: boolean,
): Promise<void> {
  const refs = new Set<string>()
  for (const { id, pointers } of sources) {
    for (const { store, ref, place } of pointers) {
      if (store !== 'graph' || !isEpisodeId(ref)) continue
      if (place === '' || place === plan.group) refs.add(ref)
      else plan.foreign.set(ref, place)
    }
    plan.sources.push(id)
  }
  for (const ref of refs) {
    plan.episodes.set(ref, 'pointer')
    plan.told.add(ref)
  }
  if (!canSearch || plan.isUnsearched) {
    plan.isUnsearched = true
    return
  }
  try {
    const there = refs.size > 0 ? await graph.groupsOf([...refs], tx) : new Map<string, string>()
    const elsewhere = new Map([...there].filter(([, group]) => group !== plan.group))
    // Another group may have one of the same id beside ours.
    if (elsewhere.size > 0)
      for (const { uuid } of (await graph.read(plan.group, [...elsewhere.keys()], tx)).episodes) elsewhere.delete(uuid)
    for (const uuid of there.keys()) plan.told.delete(uuid)
    for (const [uuid, group] of elsewhere) {
      plan.episodes.delete(uuid)
      plan.foreign.set(uuid, group)
    }
    const found = await matching(graph, tx, {
      group: plan.group,
      ids: sources.map(({ id }) => id),
      texts: sources.flatMap(({ id, texts }) => texts.map((text) => ({ source: id, text }))),
    })
    for (const [uuid, how] of found) if (!plan.episodes.has(uuid)) plan.episodes.set(uuid, how)
  } catch (error) {
    if (!Problem.is(error, 'unavailable')) throw error
    plan.isUnsearched = true
  }
}

/**
 * What came of a scope in the graph, by group: what pointers name, and what a search finds by ids and words, whatever pointers say: one may
 * name nothing, or one episode of several. Groups that go whole are left out. A graph that does not answer is no reason to plan nothing.
 */
export async function plannedEpisodes(
  { graph, sources, isReachable }: { graph: GraphStore; sources: Sources; isReachable: boolean },
  scope: Scope,
  tx: Transaction,
  now: Date,
): Promise<GroupPlan[]> {
  const whole = new Set((await sources.whole(scope, tx, now)).flatMap(({ group }) => group ?? []))
  const plans = new Map<string, GroupPlan>()
  for await (const some of sources.of(scope, tx, now)) {
    const byGroup = Map.groupBy(some, ({ group }) => group)
    for (const [group, ofGroup] of byGroup) {
      if (whole.has(group)) continue
      const plan = plans.get(group) ?? {
        ...{ group, episodes: new Map(), told: new Set(), sources: [], foreign: new Map(), shared: new Map() },
        isUnsearched: false,
      }
      plans.set(group, plan)
      await addSources(graph, tx, plan, ofGroup, isReachable)
    }
  }
  // Once all that goes is known: what several of it came to is shared with nobody else.
  for (const plan of plans.values()) {
    plan.shared = await namedByOthers(tx, plan.group, [...plan.episodes.keys()], new Set(plan.sources), now)
    for (const uuid of plan.shared.keys()) plan.episodes.delete(uuid)
  }
  return [...plans.values()].sort((one, other) => (one.group < other.group ? -1 : 1))
}
