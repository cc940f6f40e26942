import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import type { Episode, Fact, GraphChange, Neighbourhood } from '#lib/stores/graph/graph.ts'
import type { DerivedTextDecision } from '../words/derived-text.ts'
import { occurrences } from '../words/fingerprints.ts'
import { tokenize } from '../words/tokens.ts'
import { type EntityKinds, entityKindOf } from './entity-kinds.ts'
import { linksAround, pointersOf } from './episode-chain.ts'

/** The inputs of a decision that are not stored in the graph. */
export interface Policy {
  entityKinds: EntityKinds
  /** Redact names of erased people in remaining records. */
  redacts: boolean
  provenance: {
    /** By fact: the erased episodes that ended it, as reported by their authors. */
    endedBy: ReadonlyMap<string, readonly string[]>
    /** All episodes of the group that this erasure deletes, on any page. */
    goes: ReadonlySet<string>
  }
  /** The decision about an episode. Without it, all episodes are deleted. */
  decide?(episode: Episode): DerivedTextDecision
  /** Whether a text contains erased words that no remaining text contains. */
  hasErased?(text: string): boolean
}
export type DecidedRecord = Omit<PlannedRecord, 'store' | 'found'>
export interface GraphDecisions {
  change: GraphChange
  verdicts: DecidedRecord[]
}

const times = (one: Date | null, other: Date | null) =>
  one !== null && other !== null && one.getTime() === other.getTime()
const wordsOf = (text: string) => new Set(tokenize(text).map(({ word }) => word))

/** An episode that retains the words of other authors: its remaining content, and the words that only the erased part contains. */
interface Cut {
  rest: string
  erasedWords: ReadonlySet<string>
}
function cutOf({ content }: Episode, rest: string): Cut {
  const kept = wordsOf(rest)
  return { rest, erasedWords: new Set([...wordsOf(content)].filter((word) => !kept.has(word))) }
}
const isNamedIn = (text: string, name: string): boolean =>
  occurrences(text, name).length > 0 || (tokenize(name).length === 0 && name !== '' && text.includes(name))

/** An empty change. */
export const noChange = (): GraphChange => ({
  deleteEpisodes: [],
  deleteEntities: [],
  deleteFacts: [],
  editEpisodes: [],
  removeMentions: [],
  changeFacts: [],
  editTexts: [],
  restoreFacts: [],
  blankEntities: [],
  blankCommunities: [],
  deleteCommunities: [],
  deleteSagas: [],
  changeSagas: [],
  link: [],
  names: [],
  redact: false,
  told: { personal: 0, unreferenced: 0, unproven: [], counts: {}, met: {}, gone: [] },
})

/**
 * The hybrid policy for the neighbourhood of erased episodes:
 * - A personal entity that an erased episode mentions is deleted.
 * - Another entity remains, without its generated texts, if a remaining episode mentions it. Otherwise it is deleted.
 * - A fact is deleted with its last source or with one of its endpoints. Otherwise the source is removed from it, and the wording too if it
 *   came from that source.
 * - Summaries, attributes, communities and sagas that may contain erased data are emptied, because their parts cannot be separated.
 *
 * An episode that is cut counts as erased for everything that its remaining text does not support. A mention remains if that text contains
 * the entity's name. A fact remains if that text contains every word that the fact shares with the erased part.
 *
 * Pure function: the same neighbourhood gives the same result, in any order of pages.
 */
export function decideNeighbourhood(
  found: Neighbourhood,
  { entityKinds, redacts, provenance, decide = () => ({ decision: 'deleted' }), hasErased = () => false }: Policy,
): GraphDecisions {
  const verdicts: DecidedRecord[] = []
  const tell = (
    kind: string,
    id: string,
    name: string | null,
    verdict: PlannedRecord['verdict'],
    reason: string,
    evidence: string[] = [],
  ) => verdicts.push({ kind, id, name, verdict, reason, evidence })
  const change: GraphChange = { ...noChange(), redact: redacts }
  const [erased, cut] = [new Set<string>(), new Map<string, Cut>()]
  for (const episode of found.episodes) {
    const { uuid, name } = episode
    const decided = decide(episode)
    if (decided.decision === 'cut') {
      cut.set(uuid, cutOf(episode, decided.text))
      change.editEpisodes.push({ uuid, content: decided.text })
      tell('episode', uuid, name, 'changed', 'cut')
    } else if (decided.decision === 'deleted') {
      erased.add(uuid)
      tell('episode', uuid, name, 'deleted', 'source')
    } else tell('episode', uuid, name, 'kept', 'other_author')
  }
  if (erased.size + cut.size === 0) return { change, verdicts }
  change.deleteEpisodes = [...erased]
  change.link = linksAround(found, erased)
  const [judgedAgain, orphaned] = [[] as string[], [] as string[]]

  const names = new Set<string>()
  const mentions = Map.groupBy(found.mentions, ({ entity }) => entity)
  const factsAt = (uuid: string) => found.facts.filter(({ source, target }) => source === uuid || target === uuid)
  for (const entity of found.entities) {
    const { uuid, name } = entity
    const own = mentions.get(uuid)?.map(({ episode }) => episode) ?? []
    // After a partial ingestion, entities may have no mentions. Then the sources of their facts count as mentions.
    const by = own.length > 0 ? own : [...new Set(factsAt(uuid).flatMap(({ episodes }) => episodes))]
    const inRest = by.filter((episode) => isNamedIn(cut.get(episode)?.rest ?? '', name))
    const outOfRest = by.filter((episode) => cut.has(episode) && !inRest.includes(episode))
    const isErased = by.length === 0 || by.some((episode) => erased.has(episode)) || outOfRest.length > 0
    if (!isErased && inRest.length === 0) continue
    const left = own.filter((episode) => !erased.has(episode) && !cut.has(episode))
    const others = (found.otherMentions.get(uuid) ?? 0) + inRest.length + left.length
    const labels = entity.labels.map((label) => `label:${label}`)
    const { isPersonal, isPerson, evidence } = entityKindOf(entity, entityKinds)
    if (isErased && isPersonal) {
      change.deleteEntities.push(uuid)
      change.told.personal++
      if (isPerson) names.add(name.trim())
      tell('entity', uuid, name, 'deleted', 'pii', [...evidence, `mentions:${others}`])
    } else if (isErased && others === 0) {
      change.deleteEntities.push(uuid)
      change.told.unreferenced++
      tell('entity', uuid, name, 'deleted', 'unreferenced', labels)
    } else {
      const isBare = entity.summary === '' && Object.keys(entity.attributes).length === 0
      if (!isBare) change.blankEntities.push(uuid)
      for (const episode of own.filter((one) => outOfRest.includes(one)))
        change.removeMentions.push({ episode, entity: uuid })
      judgedAgain.push(uuid)
      if (isErased) orphaned.push(uuid)
      const reason = isErased ? 'orphaned' : 'judged_again'
      tell('entity', uuid, name, isBare ? 'kept' : 'changed', reason, [...labels, `mentions:${others}`])
    }
  }
  change.names = [...names].filter((name) => name.length > 1).sort()

  const gone = new Set(change.deleteEntities)
  const goes = (uuid: string) => erased.has(uuid) || provenance.goes.has(uuid)
  const staying: Fact[] = []
  for (const fact of found.facts) {
    const { uuid, name } = fact
    const episodes =
      fact.episodes.length > 0
        ? fact.episodes
        : found.episodes.filter(({ entityEdges }) => entityEdges.includes(uuid)).map((episode) => episode.uuid)
    const cuts = episodes.flatMap((episode) => cut.get(episode) ?? [])
    if (cuts.length === 0 && !episodes.some((episode) => erased.has(episode)) && episodes.length > 0) continue
    const rest = episodes.filter((episode) => !erased.has(episode) && !cut.has(episode))
    const isSupported = cuts.length > 0 && !hasErased(`${name} ${fact.fact}`) && isSupportedBy(fact, cuts)
    const without = episodes.filter((episode) => erased.has(episode) || (cut.has(episode) && !isSupported))
    const isKept = rest.length > 0 || isSupported
    const isGone = gone.has(fact.source) || gone.has(fact.target)
    if ((rest.some((episode) => !goes(episode)) || isSupported) && !isGone) staying.push(fact)
    if (isGone) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'endpoint', [`episodes:${rest.length}`])
    } else if (!isKept) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'source')
    } else {
      const [first] = episodes
      const isBlanked = (first !== undefined && erased.has(first)) || (cuts.length > 0 && !isSupported)
      judgedAgain.push(uuid)
      if (without.length > 0 || Object.keys(fact.attributes).length > 0)
        change.changeFacts.push({ uuid, isBlanked, without })
      const reason = isBlanked ? 'wording' : without.length > 0 ? 'shared' : 'judged_again'
      const isChanged = without.length > 0
      tell('fact', uuid, fact.fact || name, isChanged ? 'changed' : 'kept', reason, [`episodes:${rest.length}`])
    }
  }
  restore(found, change, { erased, cut, staying, gone, endedBy: provenance.endedBy }, tell)

  for (const { uuid, name, summary, members, others } of found.communities) {
    const isEmpty = others === 0 && members.every((member) => gone.has(member))
    if (isEmpty) change.deleteCommunities.push(uuid)
    else {
      judgedAgain.push(uuid)
      if (name !== '' || summary !== '') change.blankCommunities.push(uuid)
    }
    tell('community', uuid, name, isEmpty ? 'deleted' : 'changed', isEmpty ? 'unreferenced' : 'built_on_source')
  }
  const remaining = new Set(found.episodes.flatMap(({ uuid }) => (erased.has(uuid) ? [] : [uuid])))
  for (const saga of found.sagas) {
    const isEmpty = saga.others === 0 && !saga.episodes.some((episode) => remaining.has(episode))
    if (isEmpty) change.deleteSagas.push(saga.uuid)
    else {
      judgedAgain.push(saga.uuid)
      change.changeSagas.push({ uuid: saga.uuid, ...pointersOf(saga, found.next, erased) })
    }
    tell('saga', saga.uuid, saga.name, isEmpty ? 'deleted' : 'changed', isEmpty ? 'unreferenced' : 'built_on_source')
  }
  change.told.met = { derivedJudgedAgain: judgedAgain, entitiesOrphaned: orphaned }
  change.told.gone = [
    ...change.deleteEntities,
    ...change.deleteFacts,
    ...change.deleteCommunities,
    ...change.deleteSagas,
  ]
  return { change, verdicts }
}

/** Whether the remaining text of the cut sources contains every word that the fact shares with the erased text. */
function isSupportedBy({ fact, name }: Fact, cuts: readonly Cut[]): boolean {
  const kept = wordsOf(cuts.map(({ rest }) => rest).join('\n'))
  const shared = [...wordsOf(`${name} ${fact}`)].filter((word) => cuts.some(({ erasedWords }) => erasedWords.has(word)))
  return shared.every((word) => kept.has(word))
}

/**
 * Restores the validity of a fact that an erased episode ended, if the episode's author reported this and no remaining fact replaced it.
 * If only timestamps or Graphiti's notes suggest that an erased episode ended a fact, the fact is reported and not changed.
 */
function restore(
  { episodes: all, facts, ended }: Neighbourhood,
  change: GraphChange,
  by: {
    erased: ReadonlySet<string>
    cut: ReadonlyMap<string, unknown>
    staying: readonly Fact[]
    gone: ReadonlySet<string>
    endedBy: Policy['provenance']['endedBy']
  },
  report: (
    kind: string,
    id: string,
    name: string,
    verdict: PlannedRecord['verdict'],
    reason: string,
    evidence?: string[],
  ) => void,
): void {
  const episodes = all.filter(({ uuid }) => by.erased.has(uuid) || by.cut.has(uuid))
  const leaving = new Set(change.deleteFacts)
  const noted = new Set(episodes.flatMap(({ entityEdges }) => entityEdges))
  for (const fact of ended) {
    const { uuid, invalidAt, expiredAt } = fact
    if (leaving.has(uuid) || by.gone.has(fact.source) || by.gone.has(fact.target)) continue
    if (invalidAt === null && expiredAt === null) continue
    const enders = episodes.filter(({ uuid: episode }) => by.endedBy.get(uuid)?.includes(episode))
    const wasEndedBefore =
      enders.length > 0 && enders.every(({ createdAt }) => expiredAt !== null && expiredAt < createdAt)
    const successor = by.staying.find(({ uuid: other, validAt }) => other !== uuid && times(validAt, invalidAt))
    if (enders.length > 0 && !wasEndedBefore && successor === undefined) {
      change.restoreFacts.push(uuid)
      report(
        'fact',
        uuid,
        fact.fact,
        'changed',
        'validity_restored',
        enders.map((episode) => `ended_by:${episode.uuid}`),
      )
    } else if (enders.length > 0) {
      report(
        'fact',
        uuid,
        fact.fact,
        'kept',
        successor ? 'superseded' : 'ended_before',
        successor ? [`fact:${successor.uuid}`] : [],
      )
    } else {
      const signs = [
        ...(noted.has(uuid) ? ['entity_edges'] : []),
        ...(facts.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_fact'] : []),
        ...(episodes.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_episode'] : []),
      ]
      if (signs.length === 0) continue
      change.told.unproven.push(uuid)
      report('fact', uuid, fact.fact, 'kept', 'may_have_been_ended', signs)
    }
  }
}
