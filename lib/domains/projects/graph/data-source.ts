import { writersOf } from '#lib/domains/projects/legal-holds.ts'
import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { DerivedTextDecision } from '#lib/domains/projects/words/derived-text.ts'
import { Fingerprints } from '#lib/domains/projects/words/fingerprints.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasedWords, ErasureOptions, ItemId } from '#lib/kernel/data-source.ts'
import type { Erased } from '#lib/kernel/erased.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { type ErasedGroupPage, eraseInGroup, noResults, noTallies } from './erase-facts.ts'
import { plannedRecordsOf } from './explaining.ts'
import {
  aboutItem,
  episodeItem,
  type GroupItems,
  isPortionOf,
  itemsByGroup,
  namesItem,
  portionItem,
  portionSize,
  reportedItem,
  unsearchedItem,
  wordsItem,
} from './items.ts'
import { plannedEpisodes } from './planned-episodes.ts'
import { eraseUngrouped, graphReader } from './reading.ts'
import { episodesOfSubject } from './repository.ts'
import { residueInGroup } from './residue.ts'
import { namedByOthers } from './shared-episodes.ts'
import { groupsOfPerson, type HeldNames, type NamesOf, remainingNames } from './subject-names.ts'
import { groupsOfOthers } from './whole-groups.ts'

export interface GraphSourceDeps {
  db: Database
  graph: GraphStore
  sources: Sources
  whatIsMissing: MissingStoreData
  namesOf: NamesOf
  heldNames: HeldNames
}

/** Another author wrote the whole episode. */
const isKept = (decision: DerivedTextDecision['decision'] | undefined): boolean =>
  decision === 'retained' || decision === 'untouched'

const wholeOf = (groups: readonly GroupItems[]): string[] =>
  groups.flatMap(({ group, portions }) => (portions > 0 ? [group] : []))

// The internal graph is in our own PostgreSQL, which is known to answer: a transaction needs no second connection for this check.
const isUp = async (graph: GraphStore): Promise<boolean> =>
  graph.provider === 'postgresql' || (await graph.state()).state === 'ok'

async function planGroups(
  { graph, sources, whatIsMissing }: GraphSourceDeps,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<{ items: ItemId[]; watched: ItemId[] }> {
  const isReachable = (await whatIsMissing(tx)).length === 0 && (await isUp(graph))
  const items = new Set<ItemId>()
  const watched = new Set<ItemId>()
  const wholes = (await sources.whole(scope, tx, now)).flatMap(({ group }) => group ?? [])
  for (const group of wholes) {
    const portions = isReachable ? Math.ceil((await graph.countGroup(group, tx)) / portionSize) : 1
    for (let n = 0; n < portions; n++) items.add(portionItem(group, n))
    // An empty group may still get data: Graphiti may be writing its first episode.
    if (portions === 0) watched.add(portionItem(group, 0))
  }
  // Others may join the project before it is erased. Then only the data derived from this subject is erased, so watch for it.
  if ('subject' in scope && wholes.length > 0)
    for await (const batch of sources.of(scope, tx, now))
      for (const { group, id } of batch)
        if (wholes.includes(group)) watched.add(aboutItem(group, id)).add(wordsItem(group))
  for (const found of await plannedEpisodes({ graph, sources, isReachable }, scope, tx, now)) {
    const { group, episodes, told, decisions, isUnsearched } = found
    for (const uuid of episodes.keys())
      if (!told.has(uuid)) (isKept(decisions.get(uuid)) ? watched : items).add(episodeItem(group, uuid))
      else (isUnsearched ? items : watched).add(reportedItem(group, uuid))
    watched.add(wordsItem(group))
    for (const source of found.sources)
      watched.add(isUnsearched ? unsearchedItem(group, source) : aboutItem(group, source))
  }
  for (const group of await groupsOfPerson(scope, tx, now)) watched.add(namesItem(group))
  // Episodes keep the order of their times.
  return { items: [...items], watched: [...watched].sort() }
}

/** The words of the run, or of the scope if the caller passes none. */
async function wordsOf(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  { words, now }: Pick<ErasureOptions, 'words' | 'now'>,
) {
  if (words) return words
  const found = new Fingerprints()
  for await (const batch of sources.of(scope, tx, now))
    for (const { texts } of batch) for (const text of texts) found.add(text)
  return found
}

/** Erases the items of a page, group by group. */
async function eraseGroups(
  deps: GraphSourceDeps,
  scope: ErasureScope,
  items: readonly ItemId[],
  tx: Transaction,
  options: ErasureOptions,
): Promise<Erased> {
  const { graph, sources } = deps
  await requireConnectedStores(deps.whatIsMissing, tx)
  const erased: ErasedGroupPage = {
    ...{ count: 0, results: noResults(), tallies: noTallies(), mentions: [] },
  }
  const groups = itemsByGroup(items)
  const theirs = await groupsOfOthers(sources, scope, wholeOf(groups), tx, options.now)
  const planned =
    theirs.size === 0 ? [] : await plannedEpisodes({ graph, sources, isReachable: true }, scope, tx, options.now)
  const words = await wordsOf(sources, scope, tx, options)
  for (const { ...of } of groups) {
    const { group, portions } = of
    if (portions > 0 && !theirs.has(group)) {
      erased.count += await graph.dropGroup(group, portions * portionSize, tx)
      continue
    }
    for (const own of planned) if (own.group === group) of.episodes = [...of.episodes, ...own.episodes.keys()]
    // Search for words first: redacting a name would hide them.
    if (of.words || of.episodes.length + of.told.length + of.about.length + of.unsearched.length > 0)
      await eraseInGroup(deps, scope, of, { ...options, words }, erased, tx)
    if (of.names) erased.mentions.push(...(await remainingNames(deps, scope, group, tx, options)))
  }
  return erased
}

/** Items of late writes. @throws {Problem} `unavailable` if the graph does not answer */
async function lateItems(
  { graph, sources }: GraphSourceDeps,
  scope: ErasureScope,
  tx: Transaction,
  now: Date,
): Promise<ItemId[]> {
  const items: ItemId[] = []
  for (const { group, episodes, decisions, isUnsearched } of await plannedEpisodes(
    { graph, sources, isReachable: await isUp(graph) },
    scope,
    tx,
    now,
    { isLate: true },
  )) {
    if (isUnsearched)
      throw new Problem('unavailable', 'The graph does not answer. No data was lost. The search is repeated later.')
    for (const [uuid, found] of episodes)
      if (found !== 'pointer' && !isKept(decisions.get(uuid))) items.push(episodeItem(group, uuid))
  }
  return items.sort()
}

/** Counts the residue of a plan: records of whole groups, and {@link residueInGroup} of others. */
async function residueOfGroups(
  deps: GraphSourceDeps,
  scope: ErasureScope,
  items: readonly ItemId[],
  now: Date,
  words: ErasedWords = new Fingerprints(),
): Promise<number> {
  const { db, graph, sources } = deps
  if (items.length === 0) return 0
  await requireConnectedStores(deps.whatIsMissing)
  let left = 0
  const groups = itemsByGroup(items)
  const theirs = await db.transaction((tx) => groupsOfOthers(sources, scope, wholeOf(groups), tx, now))
  for (const of of groups)
    if (of.portions > 0 && !theirs.has(of.group)) left += await db.transaction((tx) => graph.countGroup(of.group, tx))
    else left += await residueInGroup(deps, scope, of, words, now)
  return left
}

/**
 * Personal data source for episodes of the knowledge graph derived from messages and documents, and for records derived from them (see the
 * hybrid policy in `judge`).
 *
 * Items: `<group>/<episode>`; `<group>/*…` for a group that is erased completely.
 *
 * Watched:
 * - `<group>/about:<source>` and `<group>/told:<episode>` find late writes.
 * - `<group>/words:` searches for erased words in every text of the group.
 * - `<group>/names:` searches for a person's name in remaining records.
 * - An episode that another author wrote is also watched.
 */
export function graphDataSource(deps: GraphSourceDeps): DataSource {
  const { db, graph, sources, whatIsMissing } = deps
  return {
    name: 'graph.episodes',
    store: 'graph',
    isShared: true,
    pageSize: 300,
    stage: 'derived',
    what: 'episodes of the knowledge graph derived from messages and documents, with their people, facts and summaries',
    held: 'episodes of the knowledge graph derived from messages and documents',
    purpose: 'giving the agents of a project a memory of its conversations and documents',
    kept: 'as long as the message or document',
    tables: ['graph_episodes', 'graph_entities', 'graph_facts', 'graph_mentions', 'graph_gatherings', 'graph_links'],
    async inventory(subject) {
      const [row] = await episodesOfSubject(db, writersOf(subject))
      return { count: row?.n ?? 0, since: row?.since ?? null, until: null }
    },
    plan: async (scope, tx, now) => ({
      ...(await planGroups(deps, scope, tx, now)),
      held: await sources.held(scope, tx, now),
    }),
    async explain(scope, tx, now) {
      const { verdicts, isPartial } = await plannedRecordsOf(deps, scope, tx, now)
      return { verdicts, isPartial: isPartial || (await whatIsMissing(tx)).length > 0 }
    },
    async erase(scope, items, tx, options) {
      if (items.length === 0) return 0
      const { count, rest } = await eraseUngrouped(graph, items, options?.words)
      if (rest.length === 0) return count
      const how = options ?? { key: newId('erase'), redacts: false, now: new Date() }
      const erased = await eraseGroups(deps, scope, rest, tx, how)
      return { ...erased, count: erased.count + count }
    },
    residue: (scope, items, now, words) => residueOfGroups(deps, scope, items, now, words),
    read: graphReader(deps),
    notSearched: (results) =>
      (results.entitiesOrphaned ?? 0) + (results.derivedJudgedAgain ?? 0) > 0
        ? [{ what: receiptText('notSearched', 'embeddings'), count: null }]
        : [],
    late: (scope, tx, now) => lateItems(deps, scope, tx, now),
    async reused(items, tx, now) {
      const theirs: ItemId[] = []
      for (const { group, episodes, told, portions } of itemsByGroup(items)) {
        const others = await namedByOthers(tx, group, [...episodes, ...told], new Set(), now)
        theirs.push(...[...others.keys()].flatMap((uuid) => [episodeItem(group, uuid), reportedItem(group, uuid)]))
        if (
          portions > 0 &&
          (await tx.project.count({ where: { groupId: group, status: { not: 'closed' }, erasingSince: null } })) > 0
        )
          theirs.push(...items.filter((item) => isPortionOf(item, group)))
      }
      return theirs
    },
    forget: (runId) => graph.forget(runId),
  }
}
