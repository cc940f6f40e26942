import { looksLikeAPersonsName } from '#lib/domains/pii/person-names.ts'
import { findPersonalData } from '#lib/domains/pii/personal-data.ts'
import type { PlannedRecord } from '#lib/kernel/data-source.ts'
import type { Entity, Episode, Fact, GraphChange, Neighbourhood, SagaNeighbour } from '#lib/stores/graph/graph.ts'
import { tokenize } from '#lib/text/words.ts'
import type { DerivedTextDecision } from '../words/derived-text.ts'
import { occurrences } from '../words/fingerprints.ts'

interface FactPolicy {
  provenance: {
    /** By fact: the erased episodes that ended it, as reported by their authors. */
    endedBy: ReadonlyMap<string, readonly string[]>
    /** All episodes of the group that this erasure deletes, on any page. */
    erasedSourceIds: ReadonlySet<string>
  }
  /** Whether a text contains erased words that no remaining text contains. */
  hasErased(text: string): boolean
}

const times = (one: Date | null, other: Date | null) =>
  one !== null && other !== null && one.getTime() === other.getTime()

type DecidedRecord = Omit<PlannedRecord, 'store' | 'found'>

/** The different words of a text. */
const wordsOf = (text: string) => new Set(tokenize(text).map(({ word }) => word))

/** An episode that retains the words of other authors: its remaining content, and the words that only the erased part contains. */
interface CutEpisode {
  rest: string
  erasedWords: ReadonlySet<string>
}
function cutOf({ content }: Episode, rest: string): CutEpisode {
  const retained = wordsOf(rest)
  return { rest, erasedWords: new Set([...wordsOf(content)].filter((word) => !retained.has(word))) }
}

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

/** What has been decided about a neighbourhood so far. */
interface Assessment {
  found: Neighbourhood
  change: GraphChange
  verdicts: DecidedRecord[]
  /** Episodes that are deleted. */
  erased: Set<string>
  /** Episodes that are cut. */
  cut: Map<string, CutEpisode>
  /** Records that remain without texts or sources. */
  decidedAgain: string[]
  /** Entities that remain although an erased episode mentions them. */
  orphaned: string[]
  tell(
    kind: string,
    id: string,
    name: string | null,
    decision: PlannedRecord['verdict'],
    reason: string,
    evidence?: string[],
  ): void
}
function newDecision(found: Neighbourhood, redacts: boolean): Assessment {
  const verdicts: DecidedRecord[] = []
  return {
    found,
    change: { ...noChange(), redact: redacts },
    verdicts,
    erased: new Set(),
    cut: new Map(),
    decidedAgain: [],
    orphaned: [],
    tell: (kind, id, name, verdict, reason, evidence = []) =>
      verdicts.push({ kind, id, name, verdict, reason, evidence }),
  }
}

/** Whether the remaining text of the cut sources contains every word that the fact shares with the erased text. */
function isSupportedBy({ fact, name }: Fact, cuts: readonly CutEpisode[]): boolean {
  const retained = wordsOf(cuts.map(({ rest }) => rest).join('\n'))
  const shared = [...wordsOf(`${name} ${fact}`)].filter((word) => cuts.some(({ erasedWords }) => erasedWords.has(word)))
  return shared.every((word) => retained.has(word))
}

/**
 * Restores the validity of a fact that an erased episode ended, if the episode's author reported this and no remaining fact replaced it.
 * If only timestamps or Graphiti's notes suggest that an erased episode ended a fact, the fact is reported and not changed.
 */
function restoreFacts(
  { found: { episodes: all, facts, ended }, change, erased, cut, tell }: Assessment,
  staying: readonly Fact[],
  endedBy: FactPolicy['provenance']['endedBy'],
): void {
  const episodes = all.filter(({ uuid }) => erased.has(uuid) || cut.has(uuid))
  const deleted = new Set(change.deleteEntities)
  const leaving = new Set(change.deleteFacts)
  const listedFacts = new Set(episodes.flatMap(({ entityEdges }) => entityEdges))
  for (const fact of ended) {
    const { uuid, invalidAt, expiredAt } = fact
    if (leaving.has(uuid) || deleted.has(fact.source) || deleted.has(fact.target)) continue
    if (invalidAt === null && expiredAt === null) continue
    const enders = episodes.filter(({ uuid: episode }) => endedBy.get(uuid)?.includes(episode))
    const wasEndedBefore =
      enders.length > 0 && enders.every(({ createdAt }) => expiredAt !== null && expiredAt < createdAt)
    const successor = staying.find(({ uuid: other, validAt }) => other !== uuid && times(validAt, invalidAt))
    if (enders.length > 0 && !wasEndedBefore && successor === undefined) {
      change.restoreFacts.push(uuid)
      tell(
        'fact',
        uuid,
        fact.fact,
        'changed',
        'validity_restored',
        enders.map((episode) => `ended_by:${episode.uuid}`),
      )
    } else if (enders.length > 0) {
      tell(
        'fact',
        uuid,
        fact.fact,
        'kept',
        successor ? 'superseded' : 'ended_before',
        successor ? [`fact:${successor.uuid}`] : [],
      )
    } else {
      const signs = [
        ...(listedFacts.has(uuid) ? ['entity_edges'] : []),
        ...(facts.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_fact'] : []),
        ...(episodes.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_episode'] : []),
      ]
      if (signs.length === 0) continue
      change.told.unproven.push(uuid)
      tell('fact', uuid, fact.fact, 'kept', 'may_have_been_ended', signs)
    }
  }
}

/** Decides about the facts, after the entities, and restores facts that an erased episode ended. */
function decideFacts(assessment: Assessment, { provenance, hasErased }: FactPolicy): void {
  const { found, change, erased, cut, decidedAgain, tell } = assessment
  const deleted = new Set(change.deleteEntities)
  const erasedSourceIds = (uuid: string) => erased.has(uuid) || provenance.erasedSourceIds.has(uuid)
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
    const isRetained = rest.length > 0 || isSupported
    const isDeleted = deleted.has(fact.source) || deleted.has(fact.target)
    if ((rest.some((episode) => !erasedSourceIds(episode)) || isSupported) && !isDeleted) staying.push(fact)
    if (isDeleted) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'endpoint', [`episodes:${rest.length}`])
    } else if (!isRetained) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'source')
    } else {
      const [first] = episodes
      const isBlanked = (first !== undefined && erased.has(first)) || (cuts.length > 0 && !isSupported)
      decidedAgain.push(uuid)
      if (without.length > 0 || Object.keys(fact.attributes).length > 0)
        change.changeFacts.push({ uuid, isBlanked, without })
      const reason = isBlanked ? 'wording' : without.length > 0 ? 'shared' : 'judged_again'
      const isChanged = without.length > 0
      tell('fact', uuid, fact.fact || name, isChanged ? 'changed' : 'kept', reason, [`episodes:${rest.length}`])
    }
  }
  restoreFacts(assessment, staying, provenance.endedBy)
}

/** A project's mapping of graph labels. An entity without another label has the label `Entity`. */
export type EntityKinds = Readonly<Record<string, 'person' | 'business'>>

const personal = new Set(['Person', 'Contact'])
const business = new Set(['Company', 'FinancialMetric', 'Deal', 'Document', 'Finding', 'Risk'])

/** Whether an entity is personal, and why. Evidence: `label:Person`, `attribute:pii`, `pattern:email`, `mapping:Investor`, `label:none`. */
interface EntityKind {
  isPersonal: boolean
  /** The entity represents a person, so its name is a person's name. False for a company with an address in its summary. */
  isPerson: boolean
  evidence: string[]
}

/** All strings and numbers in attributes, at any depth. */
function* textsIn(value: unknown): Iterable<string> {
  if (typeof value === 'string') yield value
  else if (typeof value === 'number') yield String(value)
  else if (typeof value === 'object' && value !== null)
    for (const [key, inner] of Object.entries(value)) {
      if (!Array.isArray(value)) yield key
      yield* textsIn(inner)
    }
}

/**
 * Classifies an entity as personal by its label, by the attribute `pii`, or by personal data in its name, summary or attributes. An entity
 * without a known label is personal unless the project's mapping says `business` (fail closed: Graphiti labels people plain `Entity` when
 * no types are configured). A mapping cannot declare the label Person to be business.
 */
export function entityKindOf(
  { name, labels, summary, attributes }: Pick<Entity, 'name' | 'labels' | 'summary' | 'attributes'> & Partial<Entity>,
  kinds: EntityKinds,
): EntityKind {
  const own = labels.filter((label) => label !== 'Entity')
  const named = own.length === 0 ? ['Entity'] : own
  const mapped = (label: string) => (Object.hasOwn(kinds, label) ? kinds[label] : undefined)
  const person = [
    ...own.filter((label) => personal.has(label)).map((label) => `label:${label}`),
    ...named.filter((label) => mapped(label) === 'person').map((label) => `mapping:${label}`),
    ...(attributes.pii === true || attributes.pii === 'true' ? ['attribute:pii'] : []),
  ]
  const isKnown = named.some((label) => business.has(label) || mapped(label) === 'business')
  // A model wrote the summary. If a business entity has personal data there, the summary is emptied and the entity is not personal.
  const generated = isKnown && person.length === 0 ? [] : [summary]
  const patterns = new Set(
    [name, ...generated, ...textsIn(attributes)].flatMap((text) =>
      findPersonalData(text).map(({ kind }) => `pattern:${kind}`),
    ),
  )
  const untyped =
    isKnown || person.length > 0 ? [] : [own.length === 0 ? 'label:none' : `label:${own.join('+')} unknown`]
  const evidence = [...person, ...[...patterns].sort(), ...untyped]
  const isCalledSo = untyped.length > 0 && looksLikeAPersonsName(name)
  const isTitled = findPersonalData(name, { kinds: ['titled_person'] }).length > 0
  return { isPersonal: evidence.length > 0, isPerson: person.length > 0 || isCalledSo || isTitled, evidence }
}

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
interface GraphDecisions {
  change: GraphChange
  verdicts: DecidedRecord[]
}

const isNamedIn = (text: string, name: string): boolean =>
  occurrences(text, name).length > 0 || (tokenize(name).length === 0 && name !== '' && text.includes(name))

function decideEpisodes(
  { found, change, erased, cut, tell }: Assessment,
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
  { found, change, erased, cut, decidedAgain, orphaned, tell }: Assessment,
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
      decidedAgain.push(uuid)
      if (isErased) orphaned.push(uuid)
      const reason = isErased ? 'orphaned' : 'judged_again'
      tell('entity', uuid, name, isBare ? 'kept' : 'changed', reason, [...labels, `mentions:${others}`])
    }
  }
  change.names = [...names].filter((name) => name.length > 1).sort()
}

type Links = Neighbourhood['next']

/** The nearest remaining episodes, followed along the links from an erased episode. */
function survivors(from: string, links: Links, erased: ReadonlySet<string>, isBackwards: boolean): string[] {
  const [here, there] = isBackwards ? (['to', 'from'] as const) : (['from', 'to'] as const)
  const [seen, found, waiting] = [new Set([from]), new Set<string>(), [from]]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop())
    for (const link of links) {
      const other = link[there]
      if (link[here] !== at || seen.has(other)) continue
      seen.add(other)
      if (erased.has(other)) waiting.push(other)
      else found.add(other)
    }
  return [...found].sort()
}

/** Links that close the gaps: from each remaining episode before an erased one to the next remaining episode of the same saga. */
function linksAround({ next, sagas }: Neighbourhood, erased: ReadonlySet<string>): Links {
  const sagasOf = (episode: string) =>
    sagas.filter(({ episodes }) => episodes.includes(episode)).map(({ uuid }) => uuid)
  const belong = (one: string, other: string) => {
    const [ones, others] = [sagasOf(one), sagasOf(other)]
    return (ones.length === 0 && others.length === 0) || ones.some((saga) => others.includes(saga))
  }
  const made = new Map<string, { from: string; to: string }>()
  for (const { from, to } of next) {
    if (erased.has(from) || !erased.has(to)) continue
    for (const after of survivors(to, next, erased, false))
      if (after !== from && belong(from, after)) made.set(`${from} ${after}`, { from, to: after })
  }
  return [...made.values()]
}

/** The first and last episode of a saga after erasure: the nearest remaining episodes, or null if none is known. */
function pointersOf(
  { firstEpisode, lastEpisode, episodes }: SagaNeighbour,
  next: Links,
  erased: ReadonlySet<string>,
): { firstEpisode: string | null; lastEpisode: string | null } {
  const nearest = (pointer: string | null, isBackwards: boolean): string | null => {
    if (pointer === null || !erased.has(pointer)) return pointer
    return survivors(pointer, next, erased, isBackwards).find((episode) => episodes.includes(episode)) ?? null
  }
  return { firstEpisode: nearest(firstEpisode, false), lastEpisode: nearest(lastEpisode, true) }
}

/** Decides about communities and sagas, after the entities. */
function decideGroups({ found, change, erased, decidedAgain, tell }: Assessment): void {
  const deleted = new Set(change.deleteEntities)
  for (const { uuid, name, summary, members, others } of found.communities) {
    const isEmpty = others === 0 && members.every((member) => deleted.has(member))
    if (isEmpty) change.deleteCommunities.push(uuid)
    else {
      decidedAgain.push(uuid)
      if (name !== '' || summary !== '') change.blankCommunities.push(uuid)
    }
    tell('community', uuid, name, isEmpty ? 'deleted' : 'changed', isEmpty ? 'unreferenced' : 'built_on_source')
  }
  const remaining = new Set(found.episodes.flatMap(({ uuid }) => (erased.has(uuid) ? [] : [uuid])))
  for (const saga of found.sagas) {
    const isEmpty = saga.others === 0 && !saga.episodes.some((episode) => remaining.has(episode))
    if (isEmpty) change.deleteSagas.push(saga.uuid)
    else {
      decidedAgain.push(saga.uuid)
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
  const assessment = newDecision(found, redacts)
  const { change, verdicts, erased, cut } = assessment
  decideEpisodes(assessment, decide)
  if (erased.size + cut.size === 0) return { change, verdicts }
  change.deleteEpisodes = [...erased]
  change.link = linksAround(found, erased)
  decideEntities(assessment, entityKinds)
  decideFacts(assessment, { provenance, hasErased })
  decideGroups(assessment)
  change.told.met = { derivedDecidedAgain: assessment.decidedAgain, entitiesOrphaned: assessment.orphaned }
  change.told.gone = [
    ...change.deleteEntities,
    ...change.deleteFacts,
    ...change.deleteCommunities,
    ...change.deleteSagas,
  ]
  return { change, verdicts }
}
