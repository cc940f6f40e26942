import type { Transaction } from '#lib/kernel/context.ts'
import type { Scope } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Source, Sources } from '../sources.ts'
import { episodesOf } from './episode-search.ts'
import { isEpisodeId } from './items.ts'

/** What came of a scope in one group. */
export interface GroupPlan {
  group: string
  /** By uuid, how it was found. */
  episodes: Map<string, 'pointer' | 'group' | 'text'>
  /** The sources whose episodes are here. */
  sources: string[]
  /** Named by pointers, and another group's: they are not touched. By uuid, the group. */
  foreign: Map<string, string>
  /** The graph did not answer, so nothing was looked for but what pointers say. */
  isUnsearched: boolean
}

/** Of these episodes: those that a pointer names as another source's alone; what names a message in passing, or says the same, is not of it. */
async function ofOthers(tx: Transaction, uuids: readonly string[], sources: ReadonlySet<string>): Promise<Set<string>> {
  const rows = await tx.provenance.findMany({
    where: { store: 'graph', ref: { in: [...uuids] } },
    select: { ref: true, sourceId: true },
  })
  const mine = new Set(rows.filter(({ sourceId }) => sources.has(sourceId)).map(({ ref }) => ref))
  return new Set(rows.map(({ ref }) => ref).filter((ref) => !mine.has(ref)))
}

/** Episodes that name or contain what is looked for, and are no one else's by a pointer. */
export async function searched(
  graph: GraphStore,
  tx: Transaction,
  { group, ids, texts }: { group: string; ids: readonly string[]; texts: readonly { source: string; text: string }[] },
): Promise<Map<string, 'group' | 'text'>> {
  const sources = new Set(ids)
  const found = await episodesOf(graph, group, { ids: sources, texts }, tx)
  const others = await ofOthers(
    tx,
    found.map(({ episode }) => episode.uuid),
    sources,
  )
  return new Map(
    found.flatMap(({ episode, of }) => {
      const how = [...of.values()].includes('text') ? ('text' as const) : ('group' as const)
      return others.has(episode.uuid) ? [] : [[episode.uuid, how] as const]
    }),
  )
}

const isDown = (error: unknown): boolean => Problem.is(error) && error.code === 'unavailable'

async function addSources(
  graph: GraphStore,
  tx: Transaction,
  plan: GroupPlan,
  sources: readonly Source[],
  canSearch: boolean,
): Promise<void> {
  const unpointed: Source[] = []
  const refs = new Set<string>()
  for (const source of sources) {
    const pointers = source.pointers.filter(({ store, ref }) => store === 'graph' && isEpisodeId(ref))
    for (const { ref, place } of pointers) {
      if (place === '' || place === plan.group) refs.add(ref)
      else plan.foreign.set(ref, place)
    }
    if (pointers.length === 0) unpointed.push(source)
    plan.sources.push(source.id)
  }
  for (const ref of refs) plan.episodes.set(ref, 'pointer')
  if (!canSearch || plan.isUnsearched) {
    plan.isUnsearched = true
    return
  }
  try {
    const missing = new Set(refs)
    if (refs.size > 0)
      for (const { uuid } of (await graph.read(plan.group, [...refs], tx)).episodes) missing.delete(uuid)
    if (missing.size > 0)
      for (const [uuid, group] of await graph.groupsOf([...missing], tx)) {
        if (group === plan.group) continue
        plan.episodes.delete(uuid)
        plan.foreign.set(uuid, group)
      }
    const found = await searched(graph, tx, {
      group: plan.group,
      ids: sources.map(({ id }) => id),
      texts: unpointed.flatMap(({ id, texts }) => texts.map((text) => ({ source: id, text }))),
    })
    for (const [uuid, how] of found) if (!plan.episodes.has(uuid)) plan.episodes.set(uuid, how)
  } catch (error) {
    if (!isDown(error)) throw error
    plan.isUnsearched = true
  }
}

/**
 * What came of a scope in the graph, by group: what pointers name, and where a source has none, what a search finds. Groups that go whole
 * are left out. A graph that does not answer is no reason to plan nothing.
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
        ...{ group, episodes: new Map(), sources: [], foreign: new Map(), isUnsearched: false },
      }
      plans.set(group, plan)
      await addSources(graph, tx, plan, ofGroup, isReachable)
    }
  }
  return [...plans.values()].sort((one, other) => (one.group < other.group ? -1 : 1))
}
