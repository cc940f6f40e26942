import type { Transaction } from '#lib/kernel/context.ts'
import { type Erased, type ErasedWords, type ErasureOptions, idOfPart } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Episode, GraphChange, GraphOutcome, GraphStore, GraphText, TextEdit } from '#lib/stores/graph/graph.ts'
import { coveredRows, scopeSubject } from '../legal-holds.ts'
import type { Sources } from '../provenance/sources.ts'
import { type EpisodeDecider, type ErasedTexts, erasedTexts } from './erased-texts.ts'
import type { GroupItems } from './group-items.ts'
import { type FoundByWords, searchWords } from './group-search.ts'
import { namedByOthers, searched } from './planned-episodes.ts'
import { erasedInGroup, reportedEndings, textsOfSources } from './repository.ts'
import { decideNeighbourhood, type EntityKinds, type Policy } from './rules.ts'
import { groupsOfPerson, type NamesOf, namesOfSubject } from './subject-names.ts'

/** Collects the {@link Erased} result of one page. */
export interface ErasedGroupPage extends Erased {
  results: ReturnType<typeof noResults>
  tallies: ReturnType<typeof noTallies>
}
export const noResults = () => ({
  episodesDeleted: 0,
  entitiesDeleted: 0,
  entitiesOrphaned: 0,
  entitiesPersonal: 0,
  entitiesUnreferenced: 0,
  factsUnproven: 0,
  factsDeleted: 0,
  factsChanged: 0,
  blanked: 0,
  textsEdited: 0,
  derivedCut: 0,
  derivedDeleted: 0,
  derivedDecidedAgain: 0,
  derivedRetained: 0,
  exposedMatched: 0,
  exposedUnmatched: 0,
})
interface Tally {
  met: string[]
  gone: string[]
}
const noTally = (): Tally => ({ met: [], gone: [] })
export const noTallies = () => ({
  entitiesOrphaned: noTally(),
  factsUnproven: noTally(),
  derivedDecidedAgain: noTally(),
  derivedRetained: noTally(),
  exposedUnmatched: { ...noTally(), isOfParts: true as const },
})

const nothingFound: FoundByWords = { episodes: [], deleteEntities: [], edits: [] }
const textId = ({ id, field }: Pick<GraphText, 'id' | 'field'>): string => idOfPart(id, field)

/** The label mapping of a group's project; empty if the group belongs to no project. */
async function entityKindsOf(tx: Transaction, group: string): Promise<EntityKinds> {
  const project = await tx.project.findUnique({ where: { groupId: group }, select: { entityKinds: true } })
  const reported = project?.entityKinds
  if (typeof reported !== 'object' || reported === null || Array.isArray(reported)) return {}
  return Object.fromEntries(
    Object.entries(reported).flatMap(([label, kind]) =>
      kind === 'person' || kind === 'business' ? [[label, kind]] : [],
    ),
  )
}

/** Episodes of a page: `planned` ones, and those that name the page's sources and may be newer than the plan (`found`). */
async function episodesInGroup(
  { graph }: { graph: GraphStore },
  { group, episodes, reported, about, unsearched }: GroupItems,
  tx: Transaction,
): Promise<{ planned: string[]; found: string[] }> {
  const texts = unsearched.length === 0 ? [] : await textsOfSources(tx, { sources: unsearched })
  const found = await searched(graph, tx, { group, ids: [...about, ...unsearched], texts })
  return { planned: [...new Set([...episodes, ...reported])].sort(), found: [...found.keys()].sort() }
}

/** All episodes of a group that pointers assign to a scope, on every page. */
async function erasedIdsOf(scope: ErasureScope, group: string, tx: Transaction, now: Date): Promise<Set<string>> {
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
  const erasedSourceIds = endedBy.size > 0 ? await erasedIdsOf(scope, group, tx, now) : new Set<string>()
  const entityKinds = await entityKindsOf(tx, group)
  return {
    ended: [...endedBy.keys()].sort(),
    policy: { entityKinds, redacts, provenance: { endedBy, erasedSourceIds } },
  }
}

/** Erases a page's items in one group and adds the counts to the page. */
export async function eraseInGroup(
  parts: { graph: GraphStore; sources: Sources; namesOf: NamesOf },
  scope: ErasureScope,
  of: GroupItems,
  options: ErasureOptions & { words: ErasedWords },
  page: ErasedGroupPage,
  tx: Transaction,
): Promise<void> {
  const { graph } = parts
  const { group } = of
  const { words, now, round = 0 } = options
  const erased = await erasedTexts(group, scope, words, tx, now)
  const byWords =
    (of.words || of.records.length > 0) && !words.isEmpty
      ? await searchWords(
          parts,
          scope,
          group,
          erased,
          { isThorough: round > 0, now, ...(!of.words && { only: new Set(of.records) }) },
          tx,
        )
      : nothingFound
  const { planned, found } = await episodesInGroup(parts, of, tx)
  const episodes = await graph.episodesById(group, [...new Set([...planned, ...found, ...byWords.episodes])].sort(), tx)
  const [isPlanned, isFound] = [new Set(planned), new Set(found)]
  const decider = await erased.decider(episodes, tx, {
    isPlanned: (uuid) => isPlanned.has(uuid),
    isFound: (uuid) => isFound.has(uuid),
  })
  const decided = episodes.map((episode) => ({ episode, decision: decider.decide(episode).decision }))
  const acting = decided.flatMap(({ episode, decision }) =>
    decision === 'deleted' || decision === 'cut' ? [episode.uuid] : [],
  )
  const retained = decided.flatMap(({ episode, decision }) => (decision === 'retained' ? [episode] : []))
  const exposed = acting.length === 0 || words.isEmpty ? [] : await graph.exposedTexts(group, acting, tx)
  await erased.prepare(
    exposed.map(({ text }) => text),
    tx,
  )
  // The erasure of a part may redact names: its author decides about their own name, but not about the names of people they mention.
  const redacts = options.redacts && 'part' in scope
  const { ended, policy } = await redactionPolicyOf(group, acting, scope, tx, { redacts, now })
  // The last page of a group of the person counts where these remain: until then, a search may still erase them.
  const subject = scopeSubject(scope)
  const isCounted = subject !== undefined && (await groupsOfPerson(scope, tx, now)).includes(group)
  const counted = new Set(isCounted ? (await namesOfSubject(parts.namesOf, subject, tx)).map(nameKey) : [])
  const outcome = await graph.change(
    group,
    acting,
    `${options.key}:${group}`,
    (neighbourhood) => {
      const { change } = decideNeighbourhood(neighbourhood, { ...policy, ...policyBy(erased, decider) })
      change.names = change.names.filter((name) => !counted.has(nameKey(name)))
      addRetained(change, retained, erased)
      addByWords(change, byWords)
      addExposed(change, exposed, erased)
      const shared = change.deleteEpisodes.filter((uuid) => decider.isShared(uuid))
      change.told.counts.derivedDeleted = shared.length
      return change
    },
    tx,
    ended,
  )
  await addOutcome(page, group, outcome, { scope, redacts, now }, tx)
}

const nameKey = (name: string): string => name.trim().toLowerCase()

/** The part of the policy that depends on words. */
const policyBy = (erased: ErasedTexts, { decide }: EpisodeDecider): Pick<Policy, 'decide' | 'hasErased'> => ({
  decide,
  hasErased: (text) => erased.hasErased(text),
})

/** Episodes that other authors wrote remain. Those that contain erased words are reported as mentions. */
function addRetained(change: GraphChange, retained: readonly Episode[], { words }: ErasedTexts): void {
  change.told.met.derivedRetained = retained.map(({ uuid }) => uuid)
  change.told.met.mentions = retained.flatMap(({ uuid, content }) => (words.runsIn(content).length > 0 ? [uuid] : []))
}

function addByWords(change: GraphChange, { deleteEntities, edits }: FoundByWords): void {
  const known = new Set(change.deleteEntities)
  for (const uuid of deleteEntities) if (!known.has(uuid)) change.deleteEntities.push(uuid)
  for (const edit of edits) change.editTexts.push(edit)
}

/** Generated texts that the model may have written while it read an erased episode. */
function addExposed(change: GraphChange, exposed: readonly GraphText[], erased: ErasedTexts): void {
  const deleted = new Set([...change.deleteEntities, ...change.deleteFacts])
  const blanked = new Set([
    ...change.blankEntities,
    ...change.changeFacts.flatMap(({ uuid, isBlanked }) => (isBlanked ? [uuid] : [])),
  ])
  const edits: TextEdit[] = []
  const matched = new Set<string>()
  for (const text of exposed) {
    const edit = erased.edit(text)
    if (!edit) continue
    matched.add(textId(text))
    if (!deleted.has(text.id) && !blanked.has(text.id)) edits.push(edit)
  }
  for (const edit of edits) change.editTexts.push(edit)
  const unmatched = exposed.filter(
    (text) => !matched.has(textId(text)) && !deleted.has(text.id) && !blanked.has(text.id),
  )
  change.told.counts.exposedMatched = matched.size
  change.told.met.exposedUnmatched = [...new Set(unmatched.map(textId))]
  for (const id of [...blanked, ...edits.map(textId)]) change.told.gone.push(id)
}

async function addOutcome(
  page: ErasedGroupPage,
  group: string,
  outcome: GraphOutcome,
  { scope, redacts, now }: { scope: ErasureScope; redacts: boolean; now: Date },
  tx: Transaction,
): Promise<void> {
  const { results, tallies } = page
  const { told } = outcome
  const inGroup = (ids: readonly string[] = []) => ids.map((uuid) => `${group}/${uuid}`)
  results.episodesDeleted += outcome.episodesDeleted
  results.entitiesDeleted += outcome.entitiesDeleted
  results.entitiesPersonal += told.personal
  results.entitiesUnreferenced += told.unreferenced
  results.factsDeleted += outcome.factsDeleted
  results.factsChanged += outcome.factsChanged
  results.blanked += outcome.blanked
  results.textsEdited += outcome.textsEdited
  results.derivedCut += outcome.episodesCut
  results.derivedDeleted += told.counts.derivedDeleted ?? 0
  results.exposedMatched += told.counts.exposedMatched ?? 0
  const add = (name: keyof typeof tallies, met: readonly string[], deleted: readonly string[]) => {
    results[name] += met.length
    tallies[name].met.push(...inGroup(met))
    tallies[name].gone.push(...inGroup(deleted))
  }
  add('entitiesOrphaned', told.met.entitiesOrphaned ?? [], outcome.deleted)
  add('factsUnproven', told.unproven, [])
  add('derivedDecidedAgain', told.met.derivedDecidedAgain ?? [], told.gone)
  add('derivedRetained', told.met.derivedRetained ?? [], [])
  add('exposedUnmatched', told.met.exposedUnmatched ?? [], told.gone)
  page.count += outcome.episodesDeleted + outcome.episodesCut
  // An episode that a later page erases is not reported as a mention.
  const isSaid = outcome.mentions.some(({ kind }) => kind === 'episode')
  const erasedIds = isSaid ? await erasedIdsOf(scope, group, tx, now) : new Set<string>()
  for (const location of outcome.mentions)
    if (location.kind !== 'episode' || !erasedIds.has(location.id))
      page.mentions.push({ store: 'graph', ...location, isRedacted: redacts })
  for (const id of told.met.mentions ?? [])
    page.mentions.push({ store: 'graph', kind: 'episode', id, field: 'content', isRedacted: false })
}
