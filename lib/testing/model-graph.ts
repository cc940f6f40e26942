import { endedWithin, type GraphChange, type Neighbourhood } from '#lib/stores/graph/graph.ts'
import type { PlantedGraph } from './planted-graph.ts'

const without = (ids: readonly string[], deleted: ReadonlySet<string>) => ids.filter((id) => !deleted.has(id))

/** The neighbourhood of these episodes, read from a graph in memory. */
export function neighbourhoodIn(
  graph: PlantedGraph,
  asked: readonly string[],
  endedIds: readonly string[] = [],
): Neighbourhood {
  const episodes = graph.episodes.filter(({ uuid }) => asked.includes(uuid))
  const ids = new Set(episodes.map(({ uuid }) => uuid))
  const noted = new Set(episodes.flatMap(({ entityEdges }) => entityEdges))
  const facts = graph.facts.filter(
    (fact) => fact.episodes.some((one) => ids.has(one)) || (fact.episodes.length === 0 && noted.has(fact.uuid)),
  )
  const alone = new Set(facts.filter((fact) => fact.episodes.every((one) => ids.has(one))).map(({ uuid }) => uuid))
  const mentions = (entity: string) => graph.mentions.filter((mention) => mention.entity === entity)
  const isBare = (entity: string) =>
    mentions(entity).length === 0 &&
    facts.some(({ source, target }) => source === entity || target === entity) &&
    graph.facts.every(({ uuid, source, target }) => alone.has(uuid) || (source !== entity && target !== entity))
  const entities = graph.entities.filter(
    ({ uuid }) => mentions(uuid).some(({ episode }) => ids.has(episode)) || isBare(uuid),
  )
  const entityIds = new Set(entities.map(({ uuid }) => uuid))
  const above = new Set<string>()
  for (let size = -1; size !== above.size; ) {
    size = above.size
    for (const { uuid, members } of graph.communities)
      if (members.some((member) => entityIds.has(member) || above.has(member))) above.add(uuid)
  }
  const next = graph.next.filter(({ from, to }) => ids.has(from) || ids.has(to))
  const around = new Set([...ids, ...next.flatMap(({ from, to }) => [from, to])])
  const own = new Set(facts.map(({ uuid }) => uuid))
  return {
    group: graph.group,
    episodes,
    entities,
    otherMentions: new Map(
      entities.flatMap(({ uuid }) => {
        const others = mentions(uuid).filter(({ episode }) => !ids.has(episode)).length
        return others > 0 ? [[uuid, others]] : []
      }),
    ),
    facts,
    mentions: graph.mentions.filter(({ episode, entity }) => ids.has(episode) && entityIds.has(entity)),
    ended: graph.facts.filter(
      ({ uuid, expiredAt }) =>
        !own.has(uuid) &&
        (endedIds.includes(uuid) ||
          noted.has(uuid) ||
          episodes.some(
            ({ createdAt }) =>
              expiredAt !== null && expiredAt >= createdAt && expiredAt.getTime() <= createdAt.getTime() + endedWithin,
          )),
    ),
    communities: graph.communities
      .filter(({ uuid }) => above.has(uuid))
      .map((community) => ({
        ...community,
        members: community.members.filter((member) => entityIds.has(member)),
        others: community.members.filter((member) => !entityIds.has(member)).length,
      })),
    sagas: graph.sagas
      .filter(
        ({ episodes: reported, firstEpisode, lastEpisode }) =>
          reported.some((one) => ids.has(one)) || ids.has(firstEpisode ?? '') || ids.has(lastEpisode ?? ''),
      )
      .map((saga) => ({
        ...saga,
        episodes: saga.episodes.filter((one) => around.has(one)),
        others: saga.episodes.filter((one) => !ids.has(one)).length,
      })),
    next,
  }
}

/** The graph after a store has applied a change. */
export function changed(graph: PlantedGraph, change: GraphChange): PlantedGraph {
  const [episodes, entities] = [new Set(change.deleteEpisodes), new Set(change.deleteEntities)]
  const erasedFacts = new Set([
    ...change.deleteFacts,
    ...graph.facts.filter(({ source, target }) => entities.has(source) || entities.has(target)).map(({ uuid }) => uuid),
  ])
  const cut = new Map(change.editEpisodes.map(({ uuid, content }) => [uuid, content]))
  const removed = new Set(change.removeMentions.map(({ episode, entity }) => `${episode} ${entity}`))
  const gatherings = new Set([...change.deleteCommunities, ...change.deleteSagas])
  const deleted = new Set([...episodes, ...entities, ...gatherings])
  const changes = new Map(change.changeFacts.map((one) => [one.uuid, one]))
  const sagas = new Map(change.changeSagas.map((one) => [one.uuid, one]))
  const links = new Map(
    [...graph.next.filter(({ from, to }) => !deleted.has(from) && !deleted.has(to)), ...change.link].map((link) => [
      `${link.from} ${link.to}`,
      link,
    ]),
  )
  return {
    group: graph.group,
    episodes: graph.episodes
      .filter(({ uuid }) => !episodes.has(uuid))
      .map((episode) => ({
        ...episode,
        content: cut.get(episode.uuid) ?? episode.content,
        entityEdges: without(episode.entityEdges, erasedFacts),
      })),
    entities: graph.entities
      .filter(({ uuid }) => !entities.has(uuid))
      .map((entity) =>
        change.blankEntities.includes(entity.uuid) ? { ...entity, summary: '', attributes: {} } : entity,
      ),
    facts: graph.facts
      .filter(({ uuid }) => !erasedFacts.has(uuid))
      .map((fact) => {
        const how = changes.get(fact.uuid)
        return {
          ...fact,
          ...(how && { episodes: without(fact.episodes, new Set(how.without)), attributes: {} }),
          ...(how?.isBlanked && { name: 'RELATES_TO', fact: '', referenceTime: null }),
          ...(change.restoreFacts.includes(fact.uuid) && { invalidAt: null, expiredAt: null }),
        }
      }),
    mentions: graph.mentions.filter(
      ({ episode, entity }) => !episodes.has(episode) && !entities.has(entity) && !removed.has(`${episode} ${entity}`),
    ),
    communities: graph.communities
      .filter(({ uuid }) => !gatherings.has(uuid))
      .map((community) => ({
        ...community,
        ...(change.blankCommunities.includes(community.uuid) && { name: '', summary: '' }),
        members: without(community.members, deleted),
      })),
    sagas: graph.sagas
      .filter(({ uuid }) => !gatherings.has(uuid))
      .map((saga) => {
        const how = sagas.get(saga.uuid)
        return {
          ...saga,
          ...how,
          ...(how && { summary: '', summarizedTo: null }),
          episodes: without(saga.episodes, deleted),
        }
      }),
    next: [...links.values()].sort((one, other) => (`${one.from} ${one.to}` < `${other.from} ${other.to}` ? -1 : 1)),
  }
}
