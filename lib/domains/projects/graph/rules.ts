import type { Episode, GraphChange, Neighbourhood } from '#lib/stores/graph/graph.ts'
import { tokenize } from '#lib/text/words.ts'
import type { DerivedTextDecision } from '../words/derived-text.ts'
import { occurrences } from '../words/fingerprints.ts'
import { type EntityKinds, entityKindOf } from './entity-kinds.ts'
import { linksAround, pointersOf } from './episode-chain.ts'
import { decideFacts, type FactPolicy } from './fact-rules.ts'
import { cutOf, type DecidedRecord, type Judgement, newJudgement } from './judgement.ts'

/** The inputs of a decision that are not stored in the graph. */
export interface Policy {
  entityKinds: EntityKinds
  /** Redact names of erased people in remaining records. */
  redacts: boolean
  provenance: FactPolicy['provenance']
  /** The decision about an episode. Without it, all episodes are deleted. */
  decide?(episode: Episode): DerivedTextDecision
  /** Whether a text contains erased words that no remaining text contains. */
  hasErased?(text: string): boolean
}
export interface GraphDecisions {
  change: GraphChange
  verdicts: DecidedRecord[]
}

const isNamedIn = (text: string, name: string): boolean =>
  occurrences(text, name).length > 0 || (tokenize(name).length === 0 && name !== '' && text.includes(name))

function decideEpisodes(
  { found, change, erased, cut, tell }: Judgement,
  decide: (episode: Episode) => DerivedTextDecision,
): void {
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
}

function decideEntities(
  { found, change, erased, cut, judgedAgain, orphaned, tell }: Judgement,
  entityKinds: EntityKinds,
): void {
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
}

/** Decides about communities and sagas, after the entities. */
function decideGroups({ found, change, erased, judgedAgain, tell }: Judgement): void {
  const gone = new Set(change.deleteEntities)
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
}

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
  const judgement = newJudgement(found, redacts)
  const { change, verdicts, erased, cut } = judgement
  decideEpisodes(judgement, decide)
  if (erased.size + cut.size === 0) return { change, verdicts }
  change.deleteEpisodes = [...erased]
  change.link = linksAround(found, erased)
  decideEntities(judgement, entityKinds)
  decideFacts(judgement, { provenance, hasErased })
  decideGroups(judgement)
  change.told.met = { derivedJudgedAgain: judgement.judgedAgain, entitiesOrphaned: judgement.orphaned }
  change.told.gone = [
    ...change.deleteEntities,
    ...change.deleteFacts,
    ...change.deleteCommunities,
    ...change.deleteSagas,
  ]
  return { change, verdicts }
}
