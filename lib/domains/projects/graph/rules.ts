import type { Verdict } from '#lib/kernel/holder.ts'
import type { Fact, GraphChange, Neighbourhood } from '#lib/stores/graph/graph.ts'
import { type EntityKinds, kindOf } from './entity-kinds.ts'
import { linksAround, pointersOf } from './episode-chain.ts'

/** What of a graph's judgement does not stand in the graph. */
export interface Policy {
  entityKinds: EntityKinds
  /** Names of erased people are taken out of what stays. */
  redacts: boolean
  provenance: {
    /** By fact: the episodes that ended it, as who wrote them tells; of the erasure alone. */
    endedBy: ReadonlyMap<string, readonly string[]>
    /** All episodes of the group that this erasure takes, on this page or another. */
    goes: ReadonlySet<string>
  }
}
export type Judged = Omit<Verdict, 'store' | 'found'>
export interface Judgement {
  change: GraphChange
  verdicts: Judged[]
}

const times = (one: Date | null, other: Date | null) =>
  one !== null && other !== null && one.getTime() === other.getTime()

/**
 * The hybrid policy. An entity that an erased episode mentions: personal, it goes, always; else mentioned by an episode that stays, it stays
 * without what was told of it; else it goes. A fact goes with its last source or with either end; else the source comes off, and the
 * wording if it came from it. What was built on an erased episode cannot be told from what was not, so summaries, attributes, communities
 * and sagas that may have been are emptied. Pure: the same neighbourhood, the same end, in whichever order pages come.
 */
export function judge(found: Neighbourhood, { entityKinds, redacts, provenance }: Policy): Judgement {
  const verdicts: Judged[] = []
  const tell = (
    kind: string,
    id: string,
    name: string | null,
    verdict: Verdict['verdict'],
    reason: string,
    evidence: string[] = [],
  ) => verdicts.push({ kind, id, name, verdict, reason, evidence })
  const erased = new Set(found.episodes.map(({ uuid }) => uuid))
  const change: GraphChange = {
    deleteEpisodes: [...erased],
    deleteEntities: [],
    deleteFacts: [],
    changeFacts: [],
    restoreFacts: [],
    blankEntities: [],
    blankCommunities: [],
    deleteCommunities: [],
    deleteSagas: [],
    changeSagas: [],
    link: linksAround(found, erased),
    names: [],
    redact: redacts,
    told: { personal: 0, unreferenced: 0, unproven: [] },
  }
  for (const { uuid, name } of found.episodes) tell('episode', uuid, name, 'deleted', 'source')

  const names = new Set<string>()
  for (const entity of found.entities) {
    const { uuid, name } = entity
    const others = found.otherMentions.get(uuid) ?? 0
    const labels = entity.labels.map((label) => `label:${label}`)
    const { isPersonal, isPerson, evidence } = kindOf(entity, entityKinds)
    if (isPersonal) {
      change.deleteEntities.push(uuid)
      change.told.personal++
      if (isPerson) names.add(name.trim())
      tell('entity', uuid, name, 'deleted', 'pii', [...evidence, `mentions:${others}`])
    } else if (others === 0) {
      change.deleteEntities.push(uuid)
      change.told.unreferenced++
      tell('entity', uuid, name, 'deleted', 'unreferenced', labels)
    } else {
      const isBare = entity.summary === '' && Object.keys(entity.attributes).length === 0
      if (!isBare) change.blankEntities.push(uuid)
      tell('entity', uuid, name, isBare ? 'kept' : 'changed', 'orphaned', [...labels, `mentions:${others}`])
    }
  }
  change.names = [...names].filter((name) => name.length > 1).sort()

  const gone = new Set(change.deleteEntities)
  const goes = (uuid: string) => erased.has(uuid) || provenance.goes.has(uuid)
  const staying: Fact[] = []
  for (const fact of found.facts) {
    const { uuid, name, episodes } = fact
    const rest = episodes.filter((episode) => !erased.has(episode))
    if (rest.some((episode) => !goes(episode)) && !gone.has(fact.source) && !gone.has(fact.target)) staying.push(fact)
    if (gone.has(fact.source) || gone.has(fact.target)) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'endpoint', [`episodes:${rest.length}`])
    } else if (rest.length === 0) {
      change.deleteFacts.push(uuid)
      tell('fact', uuid, fact.fact, 'deleted', 'source')
    } else {
      const [first] = episodes
      const isBlanked = first !== undefined && erased.has(first)
      change.changeFacts.push({ uuid, isBlanked })
      tell('fact', uuid, fact.fact || name, 'changed', isBlanked ? 'wording' : 'shared', [`episodes:${rest.length}`])
    }
  }
  restore(found, change, { erased, staying, gone, endedBy: provenance.endedBy }, tell)

  for (const { uuid, name, summary, members, others } of found.communities) {
    const isEmpty = others === 0 && members.every((member) => gone.has(member))
    if (isEmpty) change.deleteCommunities.push(uuid)
    else if (name !== '' || summary !== '') change.blankCommunities.push(uuid)
    tell('community', uuid, name, isEmpty ? 'deleted' : 'changed', isEmpty ? 'unreferenced' : 'built_on_source')
  }
  for (const saga of found.sagas) {
    const isEmpty = saga.others === 0
    if (isEmpty) change.deleteSagas.push(saga.uuid)
    else change.changeSagas.push({ uuid: saga.uuid, ...pointersOf(saga, found.next, erased) })
    tell('saga', saga.uuid, saga.name, isEmpty ? 'deleted' : 'changed', isEmpty ? 'unreferenced' : 'built_on_source')
  }
  return { change, verdicts }
}

/**
 * Validity that an erased episode ended comes back where its writer says that it did, and nothing that stays took the place of the fact.
 * What may have been ended by it, by its time or by what Graphiti noted, is told and left.
 */
function restore(
  { episodes, facts, ended }: Neighbourhood,
  change: GraphChange,
  by: {
    erased: ReadonlySet<string>
    staying: readonly Fact[]
    gone: ReadonlySet<string>
    endedBy: Policy['provenance']['endedBy']
  },
  tell: (
    kind: string,
    id: string,
    name: string,
    verdict: Verdict['verdict'],
    reason: string,
    evidence?: string[],
  ) => void,
): void {
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
        ...(noted.has(uuid) ? ['entity_edges'] : []),
        ...(facts.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_fact'] : []),
        ...(episodes.some(({ validAt }) => times(validAt, invalidAt)) ? ['valid_at_of_episode'] : []),
      ]
      if (signs.length === 0) continue
      change.told.unproven.push(uuid)
      tell('fact', uuid, fact.fact, 'kept', 'may_have_been_ended', signs)
    }
  }
}
