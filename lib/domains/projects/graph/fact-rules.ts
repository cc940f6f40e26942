import type { Fact } from '#lib/stores/graph/graph.ts'
import { type CutEpisode, type Judgement, wordsOf } from './judgement.ts'

export interface FactPolicy {
  provenance: {
    /** By fact: the erased episodes that ended it, as reported by their authors. */
    endedBy: ReadonlyMap<string, readonly string[]>
    /** All episodes of the group that this erasure deletes, on any page. */
    goes: ReadonlySet<string>
  }
  /** Whether a text contains erased words that no remaining text contains. */
  hasErased(text: string): boolean
}

const times = (one: Date | null, other: Date | null) =>
  one !== null && other !== null && one.getTime() === other.getTime()

/** Whether the remaining text of the cut sources contains every word that the fact shares with the erased text. */
function isSupportedBy({ fact, name }: Fact, cuts: readonly CutEpisode[]): boolean {
  const kept = wordsOf(cuts.map(({ rest }) => rest).join('\n'))
  const shared = [...wordsOf(`${name} ${fact}`)].filter((word) => cuts.some(({ erasedWords }) => erasedWords.has(word)))
  return shared.every((word) => kept.has(word))
}

/**
 * Restores the validity of a fact that an erased episode ended, if the episode's author reported this and no remaining fact replaced it.
 * If only timestamps or Graphiti's notes suggest that an erased episode ended a fact, the fact is reported and not changed.
 */
function restoreFacts(
  { found: { episodes: all, facts, ended }, change, erased, cut, tell }: Judgement,
  staying: readonly Fact[],
  endedBy: FactPolicy['provenance']['endedBy'],
): void {
  const episodes = all.filter(({ uuid }) => erased.has(uuid) || cut.has(uuid))
  const gone = new Set(change.deleteEntities)
  const leaving = new Set(change.deleteFacts)
  const noted = new Set(episodes.flatMap(({ entityEdges }) => entityEdges))
  for (const fact of ended) {
    const { uuid, invalidAt, expiredAt } = fact
    if (leaving.has(uuid) || gone.has(fact.source) || gone.has(fact.target)) continue
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

/** Decides about the facts, after the entities, and restores facts that an erased episode ended. */
export function decideFacts(judgement: Judgement, { provenance, hasErased }: FactPolicy): void {
  const { found, change, erased, cut, judgedAgain, tell } = judgement
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
  restoreFacts(judgement, staying, provenance.endedBy)
}
