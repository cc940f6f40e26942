import type { Transaction } from '#lib/kernel/context.ts'
import {
  type DataSource,
  type Erased,
  type ErasedWords,
  type ErasureOptions,
  type Explained,
  type ItemId,
  longestSearch,
  type PlannedRecord,
  type ReadPage,
  type ReadPlace,
} from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import type { Episode, GraphStore, GraphText } from '#lib/stores/graph/graph.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type MissingStoreData, requireConnectedStores } from '#lib/stores/registered-store.ts'
import { writersOf } from '../legal-holds.ts'
import type { Sources } from '../provenance/sources.ts'
import { erasersOf, placeRule } from '../values/place-owners.ts'
import { cutFrom, type DerivedTextDecision } from '../words/derived-text.ts'
import { Fingerprints, mergeSpans, withoutFileWords } from '../words/fingerprints.ts'
import { SourceWords } from '../words/run-words.ts'
import { type ErasedGroupPage, eraseInGroup, noResults, noTallies, redactionPolicyOf } from './erase-facts.ts'
import { erasedTexts } from './erased-texts.ts'
import {
  aboutItem,
  episodeItem,
  type GroupItems,
  isNames,
  isPortionOf,
  isUngrouped,
  itemsByGroup,
  namesItem,
  portionItem,
  portionSize,
  recordItem,
  reportedItem,
  soughtAs,
  ungroupedItem,
  ungroupedOf,
  unsearchedItem,
  wordsItem,
} from './group-items.ts'
import { searchWords } from './group-search.ts'
import { type GroupPlan, namedByOthers, plannedEpisodes, searched } from './planned-episodes.ts'
import { episodesOfSubject, lockProjectsOfGroups } from './repository.ts'
import { decideNeighbourhood } from './rules.ts'
import {
  groupsOfPerson,
  type HeldNames,
  mayBePreviewed,
  type NamesOf,
  namesAheadIn,
  remainingNames,
} from './subject-names.ts'

export interface GraphSourceDeps {
  db: Database
  graph: GraphStore
  sources: Sources
  whatIsMissing: MissingStoreData
  namesOf: NamesOf
  heldNames: HeldNames
}

/** Another author wrote the whole episode. */
const isRetained = (decision: DerivedTextDecision['decision'] | undefined): boolean =>
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
    const { group, episodes, reported, decisions, isUnsearched } = found
    for (const uuid of episodes.keys())
      if (!reported.has(uuid)) (isRetained(decisions.get(uuid)) ? watched : items).add(episodeItem(group, uuid))
      else (isUnsearched ? items : watched).add(reportedItem(group, uuid))
    watched.add(wordsItem(group))
    for (const source of found.sources)
      watched.add(isUnsearched ? unsearchedItem(group, source) : aboutItem(group, source))
  }
  for (const group of await groupsOfPerson(scope, tx, now)) watched.add(namesItem(group))
  // Episodes keep the order of their times. Names are counted where they remain after everything else is erased.
  const inOrder = [...watched].sort(
    (one, other) => Number(isNames(one)) - Number(isNames(other)) || (one < other ? -1 : 1),
  )
  return { items: [...items], watched: inOrder }
}

/** The words of the run, or of the scope if the caller passes none. */
async function wordsOf(
  sources: Sources,
  scope: ErasureScope,
  tx: Transaction,
  { words, now }: Pick<ErasureOptions, 'words' | 'now'>,
) {
  if (words) return words
  const found = new SourceWords()
  for await (const batch of sources.of(scope, tx, now)) for (const source of batch) found.add(source)
  return found.all()
}

/**
 * Of the groups planned for complete erasure, those whose projects now have other participants. Locks the projects: nobody can join one
 * until the transaction ends.
 */
async function groupsOfOthers(
  sources: Sources,
  scope: ErasureScope,
  groups: readonly string[],
  tx: Transaction,
  now: Date,
): Promise<Set<string>> {
  if (groups.length === 0) return new Set()
  const rows = await lockProjectsOfGroups(tx, { groups })
  if (rows.length === 0) return new Set()
  const whole = new Set((await sources.whole(scope, tx, now)).map(({ group }) => group))
  return new Set(rows.flatMap(({ group }) => (whole.has(group) ? [] : [group])))
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
    count: 0,
    results: noResults(),
    tallies: noTallies(),
    mentions: [],
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
    if (
      of.words ||
      of.records.length > 0 ||
      of.episodes.length + of.reported.length + of.about.length + of.unsearched.length > 0
    )
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
      if (found !== 'pointer' && !isRetained(decisions.get(uuid))) items.push(episodeItem(group, uuid))
  }
  return items.sort()
}

/** Ids that one query searches for. */
const soughtAtOnce = 1_000

/**
 * Counts the residue of a plan in one group: ids of episodes, and erased words in any text. The word search reads every record and does not
 * depend on the indexes that erasing uses. An episode that another author wrote, or that was cut, is not residue.
 */
async function residueInGroup(
  { db, graph }: { db: Database; graph: GraphStore },
  scope: ErasureScope,
  of: GroupItems,
  words: ErasedWords,
  now: Date,
): Promise<number> {
  const { group, episodes, reported } = of
  const sought = [...of.about, ...of.unsearched]
  if (episodes.length + reported.length + sought.length === 0 && !of.words) return 0
  let left = 0
  const survivors = new Set<string>()
  await db.transaction(
    async (tx) => {
      const erased = await erasedTexts(group, scope, words, tx, now)
      const look = async (some: readonly Episode[]) => {
        const decider = await erased.decider(some, tx, { isPlanned: () => false, isFound: () => true })
        for (const episode of some)
          if (['retained', 'untouched'].includes(decider.decide(episode).decision)) survivors.add(episode.uuid)
      }
      const named = [...episodes, ...reported]
      for (let at = 0; at < named.length; at += soughtAtOnce)
        await look(await graph.episodesById(group, named.slice(at, at + soughtAtOnce), tx))
      for (let at = 0; at < sought.length; at += soughtAtOnce) {
        const found = await searched(graph, tx, { group, ids: sought.slice(at, at + soughtAtOnce), texts: [] })
        const ids = [...found.keys()]
        await look(await graph.episodesById(group, ids, tx))
        left += ids.filter((uuid) => !survivors.has(uuid)).length
      }
      if (!of.words || words.isEmpty) return
      for await (const texts of await graph.texts(group, tx, erased.mayMatter)) {
        await erased.prepare(
          texts.map(({ text }) => text),
          tx,
        )
        left += texts.filter(({ kind, field, text }) =>
          kind === 'episode'
            ? erased.unexplained(text).length + (field === 'content' ? erased.namesOfNobody(text).length : 0) > 0
            : erased.hasErased(text),
        ).length
      }
    },
    { longest: longestSearch, isSnapshot: true },
  )
  const { anywhere, asIds } = soughtAs({
    episodes: episodes.filter((uuid) => !survivors.has(uuid)),
    reported: reported.filter((uuid) => !survivors.has(uuid)),
  })
  return left + (await graph.residue(group, anywhere, asIds))
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
 * Whether a group belongs to a project of another organization. Applications also write into groups of no project, which the organization must
 * be able to claim. Null: a record without a group.
 */
async function isBeyondOrganisation(
  group: string | null,
  projects: readonly string[],
  tx: Transaction,
): Promise<boolean> {
  const where = { groupId: group ?? '' }
  const owner = group === null ? null : await tx.project.findUnique({ where, select: { organisationId: true } })
  if (owner) {
    const own = await tx.project.findMany({
      where: { id: { in: [...projects] } },
      select: { organisationId: true },
    })
    return !own.some(({ organisationId }) => organisationId === owner.organisationId)
  }
  const { mayErase } = placeRule((run) => run(tx), await erasersOf(tx, projects))
  return !(await mayErase(...(group === null ? [] : [group])))
}
/** Names and summaries of these records are written anew, without a time. */
const isRewritten = ({ kind }: GraphText): boolean => kind !== 'episode' && kind !== 'fact'

/** Reads all records of the graph, of whichever group. */
const graphReader =
  ({ db, graph, whatIsMissing }: { db: Database; graph: GraphStore; whatIsMissing: MissingStoreData }) =>
  async (after: string | null, visit: (place: ReadPlace) => Promise<void>, until?: string): Promise<ReadPage> => {
    await requireConnectedStores(whatIsMissing)
    const { elements, next } = await db.transaction((tx) => graph.page(after, tx, until))
    for (const { id, kind, group, texts, identifiers, writtenAt } of elements) {
      const isOfOthers = async (projects: readonly string[], tx: Transaction): Promise<boolean> => {
        const where = { groupId: group ?? '' }
        const owner = group === null ? null : await tx.project.findUnique({ where, select: { id: true } })
        return owner ? !projects.includes(owner.id) : isBeyondOrganisation(group, projects, tx)
      }
      if (identifiers.length > 0)
        await visit({
          id: `identifiers:${id}`,
          texts: identifiers,
          isFixed: true,
          writtenAt: async () => writtenAt,
          itemsOf: async () => [],
          isOfOthers,
        })
      await visit({
        id: `${kind}:${id}`,
        texts: texts.map(({ text }) => text),
        writtenAt: async () => writtenAt,
        lastWrittenAt: async () => (texts.some(isRewritten) ? null : writtenAt),
        async itemsOf(projects, tx) {
          if (await isBeyondOrganisation(group, projects, tx)) return []
          return [group === null ? ungroupedItem(kind, id) : wordsItem(group)]
        },
        async itemsOfNames(projects, tx) {
          if (await isBeyondOrganisation(group, projects, tx)) return []
          if (group === null) return [ungroupedItem(kind, id)]
          return [...new Set(texts.map((text) => recordItem(group, text.id)))]
        },
        isOfOthers,
      })
    }
    return { next, unread: {} }
  }

/** Cuts erased words of messages and documents from records without a group. Returns how many changed, and the other items. */
async function eraseUngrouped(
  graph: GraphStore,
  items: readonly ItemId[],
  words: ErasedWords | undefined,
): Promise<{ count: number; rest: ItemId[] }> {
  const rest = items.filter((item) => !isUngrouped(item))
  if (rest.length === items.length || words === undefined) return { count: 0, rest }
  const cut = (text: string): string | undefined => {
    const runs = withoutFileWords(words).runsIn(text)
    const spans = mergeSpans([...runs, ...words.namesIn(text)])
    return spans.length === 0 ? undefined : (cutFrom(text, spans, runs) ?? '')
  }
  let count = 0
  for (const kind of ['node', 'link'] as const) {
    const ids = ungroupedOf(items, kind)
    if (ids.length > 0) count += await graph.cutUngrouped(kind, ids, cut)
  }
  return { count, rest }
}

const store = 'graph'

/** The places of names that an erasure finds in texts of others, without the episodes that it deletes. */
async function namesAhead(
  deps: GraphSourceDeps,
  scope: ErasureScope,
  tx: Transaction,
  options: { redacts: boolean; now: Date },
): Promise<{ removed: number; kept: number } | undefined> {
  const { graph, sources } = deps
  if (!(await mayBePreviewed(deps, scope, tx, options.now))) return undefined
  await requireConnectedStores(deps.whatIsMissing, tx)
  const deleted = new Set<string>()
  for (const { episodes, reported, decisions } of await plannedEpisodes(
    { graph, sources, isReachable: true },
    scope,
    tx,
    options.now,
  ))
    for (const uuid of episodes.keys()) if (!reported.has(uuid) && !isRetained(decisions.get(uuid))) deleted.add(uuid)
  const whole = new Set((await sources.whole(scope, tx, options.now)).map(({ group }) => group))
  const counted = { removed: 0, kept: 0 }
  for (const group of await groupsOfPerson(scope, tx, options.now)) {
    if (whole.has(group)) continue
    for (const { kind, id, isRedacted } of await namesAheadIn(deps, scope, group, tx, options))
      if (!(kind === 'episode' && deleted.has(id))) counted[isRedacted ? 'removed' : 'kept']++
  }
  return counted
}

/**
 * What an erasure would do to every graph record of a scope, and why. Decides about all pages together. If the graph does not answer, only
 * the episodes that pointers name are returned. Read-only.
 */
async function plannedRecordsOf(
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
        store,
        kind: 'group',
        id: group,
        name: null,
        verdict: 'deleted',
        reason: 'whole',
        evidence: [`rows:${count}`],
        found: 'group',
      })
  }
  for (const plan of await plannedEpisodes({ graph, sources, isReachable: true }, scope, tx, now)) {
    for (const [id] of plan.foreign)
      verdicts.push({
        store,
        kind: 'episode',
        id,
        name: null,
        verdict: 'untouched',
        reason: 'foreign_group',
        // The name of a group of others stays with them.
        evidence: [],
        found: 'pointer',
      })
    if (plan.isUnsearched) {
      isPartial = true
      for (const [id, found] of plan.episodes)
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
    } else for (const one of await decisionsInGroup(parts, plan, scope, tx, now)) verdicts.push(one)
  }
  return { verdicts, isPartial }
}

async function decisionsInGroup(
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
    isPlanned: () => false,
    isFound: () => false,
  })
  const decide = (episode: Episode) => (more.has(episode.uuid) ? others : decider).decide(episode)
  const ids = [...new Set([...episodes.keys(), ...more])]
  const { ended, policy } = await redactionPolicyOf(group, ids, scope, tx, { redacts: false, now })
  const found = await graph.read(group, ids, tx, ended)
  const hasErased = (text: string) => erased.hasErased(text)
  const { verdicts: assessed, change } = decideNeighbourhood(found, { ...policy, decide, hasErased })
  const facts = await graph.factsAt(group, change.deleteEntities, tx)
  const outcomes = assessed.map((outcome): PlannedRecord => {
    const atIt = outcome.kind === 'entity' && outcome.verdict === 'deleted' ? (facts.get(outcome.id) ?? 0) : 0
    const sources = outcome.kind === 'episode' ? (shared.get(outcome.id) ?? 0) : 0
    return {
      ...outcome,
      store,
      evidence: [
        ...outcome.evidence,
        ...(atIt > 0 ? [`facts:${atIt}`] : []),
        ...(sources > 0 ? [`sources:${sources}`] : []),
      ],
      found: outcome.kind === 'episode' ? (episodes.get(outcome.id) ?? 'text') : 'group',
    }
  })
  // Texts that contain erased words although no episode leads to them.
  const known = new Set(assessed.map(({ id }) => id))
  const report = (kind: string, id: string, verdict: PlannedRecord['verdict'], evidence: string[]) => {
    if (!known.has(id))
      outcomes.push({ store, kind, id, name: null, verdict, reason: 'words', evidence, found: 'text' })
  }
  for (const id of byWords.deleteEntities) report('entity', id, 'deleted', [])
  for (const { kind, id, field } of byWords.edits) report(kind, id, 'changed', [`field:${field}`])
  return outcomes
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
    namesAhead: (scope, tx, options) => namesAhead(deps, scope, tx, options),
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
      (results.entitiesOrphaned ?? 0) + (results.derivedDecidedAgain ?? 0) > 0
        ? [{ what: receiptText('notSearched', 'embeddings'), count: null }]
        : [],
    late: (scope, tx, now) => lateItems(deps, scope, tx, now),
    async reused(items, tx, now) {
      const theirs: ItemId[] = []
      for (const { group, episodes, reported, portions } of itemsByGroup(items)) {
        const others = await namedByOthers(tx, group, [...episodes, ...reported], new Set(), now)
        for (const uuid of others.keys()) theirs.push(episodeItem(group, uuid), reportedItem(group, uuid))
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
