import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Source, Sources } from '../provenance/sources.ts'
import type { DerivedTextDecision } from '../words/derived-text.ts'
import type { Fingerprints } from '../words/fingerprints.ts'
import { SourceWords } from '../words/run-words.ts'
import { type EpisodeDecider, type ErasedTexts, episodesOf, erasedTexts } from './erased-texts.ts'
import { isEpisodeId } from './group-items.ts'
import { remainingSourcesOfEpisodes } from './repository.ts'

/** The episodes of a scope in one group. */
export interface GroupPlan {
  group: string
  /** By uuid: how the episode was found. Episodes that exist are ordered by time. */
  episodes: Map<string, 'pointer' | 'group' | 'text'>
  /** Episodes that only pointers name: no such episode exists, or the graph did not answer. */
  reported: Set<string>
  /** The sources of these episodes. */
  sources: string[]
  /** Episodes that pointers name but that belong to another group. They are not changed. Maps uuid to group. */
  foreign: Map<string, string>
  /** Decisions about the existing episodes; empty if the graph did not answer. */
  decisions: ReadonlyMap<string, DerivedTextDecision['decision']>
  /** By uuid: how many remaining messages and documents name the episode. */
  shared: ReadonlyMap<string, number>
  /** The erased texts of the group; absent if the graph did not answer. */
  erased?: ErasedTexts
  decider?: EpisodeDecider
  /** The graph did not answer, so only pointers were used. */
  isUnsearched: boolean
}

/** Episodes that name a wanted source or contain its text, and how each was found. */
export async function searched(
  graph: GraphStore,
  tx: Transaction,
  { group, ids, texts }: Sought,
): Promise<Map<string, 'group' | 'text'>> {
  const records = await episodesOf(graph, group, { ids: new Set(ids), texts }, tx)
  return new Map(
    records.map(({ episode, of }) => [episode.uuid, [...of.values()].includes('text') ? 'text' : 'group'] as const),
  )
}
interface Sought {
  group: string
  ids: readonly string[]
  texts: readonly { source: string; text: string }[]
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
    plan.reported.add(ref)
  }
  if (!canSearch || plan.isUnsearched) {
    plan.isUnsearched = true
    return
  }
  try {
    const there = refs.size > 0 ? await graph.groupsOf([...refs], tx) : new Map<string, string>()
    const elsewhere = new Map([...there].filter(([, group]) => group !== plan.group))
    // This group may have an episode with the same id as another group.
    if (elsewhere.size > 0)
      for (const { uuid } of (await graph.read(plan.group, [...elsewhere.keys()], tx)).episodes) elsewhere.delete(uuid)
    for (const uuid of there.keys()) plan.reported.delete(uuid)
    for (const [uuid, group] of elsewhere) {
      plan.episodes.delete(uuid)
      plan.foreign.set(uuid, group)
    }
    const found = await searched(graph, tx, {
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

/** Episodes per batch of decisions. */
const decidedAtOnce = 500

/**
 * By time, then by id: consecutive episodes have the same following episodes, so a page of them reads few texts that may
 * have been generated from it. Episodes without a time are last.
 */
const inOrderOf =
  (times: ReadonlyMap<string, number>) =>
  ([one]: readonly [string, unknown], [other]: readonly [string, unknown]): number =>
    (times.get(one) ?? Number.MAX_VALUE) - (times.get(other) ?? Number.MAX_VALUE) || (one < other ? -1 : 1)

/** Decides about the planned episodes that exist, by the words of the scope. */
async function decideAll(
  graph: GraphStore,
  tx: Transaction,
  plan: GroupPlan,
  { scope, words, now, isLate }: { scope: ErasureScope; words: Fingerprints; now: Date; isLate: boolean },
): Promise<void> {
  const erased = await erasedTexts(plan.group, scope, words, tx, now)
  const decisions = new Map<string, DerivedTextDecision['decision']>()
  const deciders = new Map<string, EpisodeDecider>()
  const times = new Map<string, number>()
  const ids = [...plan.episodes.keys()].filter((uuid) => !plan.reported.has(uuid))
  for (let at = 0; at < ids.length; at += decidedAtOnce) {
    const episodes = await graph.episodesById(plan.group, ids.slice(at, at + decidedAtOnce), tx)
    const decider = await erased.decider(episodes, tx, { isPlanned: () => !isLate, isFound: () => false })
    for (const episode of episodes) {
      decisions.set(episode.uuid, decider.decide(episode).decision)
      deciders.set(episode.uuid, decider)
      times.set(episode.uuid, episode.validAt.getTime())
    }
  }
  plan.episodes = new Map([...plan.episodes].sort(inOrderOf(times)))
  plan.decisions = decisions
  plan.erased = erased
  plan.decider = {
    decide: (episode) => deciders.get(episode.uuid)?.decide(episode) ?? { decision: 'untouched' },
    isShared: (uuid) => deciders.get(uuid)?.isShared(uuid) === true,
  }
}

/**
 * Episodes that pointers also assign to remaining sources: by uuid, the number of these sources. Such an episode is deleted with its last
 * source. `going`: ids of the sources that are being erased.
 */
export async function namedByOthers(
  tx: Transaction,
  group: string,
  uuids: readonly string[],
  erasedIds: ReadonlySet<string>,
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  if (uuids.length === 0) return new Map()
  const rows = await remainingSourcesOfEpisodes(tx, { group, episodes: uuids, now })
  const others = new Map<string, number>()
  for (const { ref, source } of rows) if (!erasedIds.has(source)) others.set(ref, (others.get(ref) ?? 0) + 1)
  return others
}

/**
 * The episodes of a scope by group: those that pointers name, and those that a search finds by ids and words. The search is needed because
 * pointers may be missing or incomplete. Groups that are erased completely are left out. If the graph does not answer, the plan uses only
 * pointers. `isLate`: the erasure is in progress, so an episode that it has cut is not a late write.
 */
export async function plannedEpisodes(
  { graph, sources, isReachable }: { graph: GraphStore; sources: Sources; isReachable: boolean },
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
  { isLate = false } = {},
): Promise<GroupPlan[]> {
  const whole = new Set((await sources.whole(scope, tx, now)).flatMap(({ group }) => group ?? []))
  const plans = new Map<string, { plan: GroupPlan; words: SourceWords }>()
  for await (const some of sources.of(scope, tx, now)) {
    const byGroup = Map.groupBy(some, ({ group }) => group)
    for (const [group, ofGroup] of byGroup) {
      if (whole.has(group)) continue
      const of = plans.get(group) ?? {
        plan: {
          group,
          episodes: new Map(),
          reported: new Set(),
          sources: [],
          foreign: new Map(),
          shared: new Map(),
          decisions: new Map(),
          isUnsearched: false,
        },
        words: new SourceWords(),
      }
      plans.set(group, of)
      for (const source of ofGroup) of.words.add(source)
      await addSources(graph, tx, of.plan, ofGroup, isReachable)
    }
  }
  // Only now are all sources known: an episode derived from several of them is not shared.
  for (const { plan, words } of plans.values()) {
    plan.shared = await namedByOthers(tx, plan.group, [...plan.episodes.keys()], new Set(plan.sources), now)
    if (!plan.isUnsearched) await decideAll(graph, tx, plan, { scope, words: words.all(), now, isLate })
  }
  return [...plans.values()].map(({ plan }) => plan).sort((one, other) => (one.group < other.group ? -1 : 1))
}
