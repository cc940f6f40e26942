import { z } from 'zod'
import { endedWithin, type Fact, mostCounted, mostEnded, type Neighbourhood } from './graph.ts'
import type { CypherQuery, CypherSession } from './neo4j-connection.ts'
import { phrases, sources } from './neo4j-indexes.ts'
import { asTime, asWatermark, lock, neo4jEntities, neo4jEpisodes, neo4jFacts, sortedByUuid } from './neo4j-values.ts'

const episodesOf = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) WHERE e.group_id = $group RETURN DISTINCT properties(e) AS p`
const factColumns = 'properties(r) AS p, startNode(r).uuid AS source, endNode(r).uuid AS target'
const bySource = `CALL db.index.fulltext.queryRelationships('${sources}', $query) YIELD relationship AS r
  WHERE r.group_id = $group AND any(episode IN r.episodes WHERE episode IN $ids) RETURN DISTINCT r.uuid AS uuid`
const byUuid = `UNWIND $ids AS id MATCH ()-[r:RELATES_TO {uuid: id}]->() WHERE r.group_id = $group RETURN DISTINCT ${factColumns}`
const withoutSource = `UNWIND $ids AS id MATCH ()-[r:RELATES_TO {uuid: id}]->()
  WHERE r.group_id = $group AND size(coalesce(r.episodes, [])) = 0 RETURN DISTINCT ${factColumns}`
const mentioned = `UNWIND $ids AS id MATCH (:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE n.group_id = $group
  RETURN DISTINCT n.uuid AS uuid`
/** Ends of facts that nothing else mentions or uses. */
const alone = `UNWIND $ends AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group
  AND NOT EXISTS { (n)<-[:MENTIONS]-(:Episodic) } AND NOT EXISTS { (n)-[r:RELATES_TO]-() WHERE NOT r.uuid IN $alone }
  RETURN DISTINCT n.uuid AS uuid`
/** Locks one after the other in the given order. Setting a property takes the lock; a read at read-committed isolation does not. */
const lockEntities = `UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WITH n ORDER BY n.uuid SET n.${lock} = true`
const entitiesOf =
  'UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group RETURN DISTINCT properties(n) AS p, labels(n) AS labels'
const mentionsOf = `UNWIND $entities AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group
  CALL (n) { MATCH (n)<-[:MENTIONS]-(e:Episodic) WHERE e.group_id = $group AND NOT e.uuid IN $ids WITH DISTINCT e LIMIT ${mostCounted} RETURN count(e) AS n2 }
  WITH n.uuid AS entity, n2 AS n WHERE n > 0 RETURN entity, n`
const ownMentions = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  RETURN DISTINCT e.uuid AS episode, n.uuid AS entity ORDER BY episode, entity`
const endedOf = `UNWIND $times AS t MATCH ()-[r:RELATES_TO]->()
  WHERE r.group_id = $group AND r.expired_at >= t AND r.expired_at <= t + duration({milliseconds: ${endedWithin}}) AND NOT r.uuid IN $own
  WITH DISTINCT r ORDER BY r.expired_at, r.uuid LIMIT ${mostEnded} RETURN ${factColumns}`
const memberships = `UNWIND $entities AS id MATCH (n:Entity {uuid: id})<-[:HAS_MEMBER]-(c:Community) WHERE c.group_id = $group
  RETURN DISTINCT c.uuid AS community, n.uuid AS entity ORDER BY community, entity`
const communitiesOf = `UNWIND $entities AS id MATCH (:Entity {uuid: id})<-[:HAS_MEMBER*1..8]-(c:Community) WHERE c.group_id = $group
  WITH DISTINCT c
  CALL (c) { MATCH (c)-[:HAS_MEMBER]->(m) WHERE NOT m.uuid IN $entities WITH DISTINCT m LIMIT ${mostCounted} RETURN count(m) AS others }
  RETURN c.uuid AS uuid, coalesce(c.name, '') AS name, coalesce(c.summary, '') AS summary, others ORDER BY uuid`
const nextOf = `UNWIND $ids AS id MATCH (:Episodic {uuid: id})-[r:NEXT_EPISODE]-(:Episodic)
  WITH DISTINCT startNode(r).uuid AS from, endNode(r).uuid AS to RETURN from, to ORDER BY from, to`
const sagasOf = `CALL () {
    UNWIND $ids AS id MATCH (:Episodic {uuid: id})<-[:HAS_EPISODE]-(s:Saga) WHERE s.group_id = $group RETURN s
    UNION UNWIND $ids AS id MATCH (s:Saga {first_episode_uuid: id}) WHERE s.group_id = $group RETURN s
    UNION UNWIND $ids AS id MATCH (s:Saga {last_episode_uuid: id}) WHERE s.group_id = $group RETURN s
  }
  WITH DISTINCT s
  CALL (s) { MATCH (s)-[:HAS_EPISODE]->(e) WHERE NOT e.uuid IN $ids WITH DISTINCT e LIMIT ${mostCounted} RETURN count(e) AS others }
  RETURN s.uuid AS uuid, coalesce(s.name, '') AS name, coalesce(s.summary, '') AS summary, s.first_episode_uuid AS firstEpisode,
    s.last_episode_uuid AS lastEpisode, s.last_summarized_at AS summarizedTo, others ORDER BY uuid`
const toldOf = `UNWIND $around AS id MATCH (e:Episodic {uuid: id})<-[:HAS_EPISODE]-(s:Saga) WHERE s.uuid IN $sagas
  RETURN DISTINCT s.uuid AS saga, e.uuid AS episode ORDER BY saga, episode`

const uuids = z.array(z.object({ uuid: z.string() }))
const counts = z.array(z.object({ entity: z.string(), n: z.number() }))
const mentions = z.array(z.object({ episode: z.string(), entity: z.string() }))
const members = z.array(z.object({ community: z.string(), entity: z.string() }))
const links = z.array(z.object({ from: z.string(), to: z.string() }))
const told = z.array(z.object({ saga: z.string(), episode: z.string() }))
const gathered = z.array(z.object({ uuid: z.string(), name: z.string(), summary: z.string(), others: z.number() }))
const pointer = z.string().nullable()
const sagaRows = z.array(
  z.looseObject({
    uuid: z.string(),
    name: z.string(),
    summary: z.string(),
    firstEpisode: pointer,
    lastEpisode: pointer,
    others: z.number(),
  }),
)

/**
 * Facts that list one of the episodes, by the index of their sources, and facts without a source that are in an episode's `entityEdges`.
 */
async function factsOf(
  { ask, seek }: CypherSession,
  group: string,
  ids: readonly string[],
  noted: readonly string[],
): Promise<Fact[]> {
  const found: string[] = []
  for (const { texts, query } of phrases(ids))
    found.push(...uuids.parse(await seek(bySource, { group, ids: texts, query })).map(({ uuid }) => uuid))
  return sortedByUuid([
    ...neo4jFacts(await ask(byUuid, { group, ids: found })),
    ...neo4jFacts(await ask(withoutSource, { group, ids: noted })),
  ])
}

/** The entities to judge, in their current state. */
async function touched(
  ask: CypherQuery,
  group: string,
  ids: readonly string[],
  facts: readonly Fact[],
): Promise<string[]> {
  const erased = new Set(ids)
  const ends = [...new Set(facts.flatMap(({ source, target }) => [source, target]))]
  const only = facts.filter(({ episodes }) => episodes.every((one) => erased.has(one))).map(({ uuid }) => uuid)
  const found = [
    ...uuids.parse(await ask(mentioned, { group, ids })),
    ...uuids.parse(await ask(alone, { group, ends, alone: only })),
  ]
  return [...new Set(found.map(({ uuid }) => uuid))].sort()
}

/**
 * Reads episodes of a group and what they are connected to, only through relationships and indexes. `locks`: first locks the entities
 * and the ends of facts, in the order of their uuids. Records that became connected in the meantime are also locked before the
 * judgement.
 */
export async function neo4jNeighbourhood(
  { ask, seek }: CypherSession,
  group: string,
  asked: readonly string[],
  ended: readonly string[],
  { locks }: { locks: boolean },
): Promise<Neighbourhood> {
  const look = async () => {
    const episodes = neo4jEpisodes(await ask(episodesOf, { group, ids: asked }))
    const ids = episodes.map(({ uuid }) => uuid)
    const noted = [...new Set(episodes.flatMap(({ entityEdges }) => entityEdges))]
    const facts = await factsOf({ ask, seek }, group, ids, noted)
    return { episodes, ids, noted, facts, entities: await touched(ask, group, ids, facts) }
  }
  let seen = await look()
  const locked = new Set<string>()
  while (locks) {
    const ends = seen.facts.flatMap(({ source, target }) => [source, target])
    const waiting = [...new Set([...seen.entities, ...ends])].filter((uuid) => !locked.has(uuid)).sort()
    if (waiting.length === 0) break
    await ask(lockEntities, { ids: waiting })
    for (const uuid of waiting) locked.add(uuid)
    seen = await look()
  }
  const { episodes, ids, noted, facts } = seen
  const entities = neo4jEntities(await ask(entitiesOf, { group, ids: seen.entities }))
  const entityIds = entities.map(({ uuid }) => uuid)
  const own = facts.map(({ uuid }) => uuid)
  const isOwn = new Set(own)
  const times = episodes.map(({ createdAt }) => asTime(createdAt))
  const asFar = neo4jFacts(await ask(byUuid, { group, ids: [...new Set([...ended, ...noted])] })).filter(
    ({ uuid }) => !isOwn.has(uuid),
  )
  const inTime = neo4jFacts(await ask(endedOf, { group, times, own }))
  const communities = gathered.parse(await ask(communitiesOf, { group, entities: entityIds }))
  const inside = members.parse(await ask(memberships, { group, entities: entityIds }))
  const next = links.parse(await ask(nextOf, { ids }))
  const around = [...new Set([...ids, ...next.flatMap(({ from, to }) => [from, to])])]
  const sagas = sagaRows.parse(await ask(sagasOf, { group, ids }))
  const episodesOfSagas = told.parse(await ask(toldOf, { around, sagas: sagas.map(({ uuid }) => uuid) }))
  return {
    group,
    episodes,
    entities,
    otherMentions: new Map(
      counts.parse(await ask(mentionsOf, { group, entities: entityIds, ids })).map(({ entity, n }) => [entity, n]),
    ),
    facts,
    mentions: mentions.parse(await ask(ownMentions, { group, ids })),
    ended: sortedByUuid([...asFar, ...inTime]),
    communities: communities.map(({ uuid, name, summary, others }) => ({
      uuid,
      name,
      summary,
      members: inside.filter(({ community }) => community === uuid).map(({ entity }) => entity),
      others,
    })),
    sagas: sagas.map(({ uuid, name, summary, firstEpisode, lastEpisode, others, summarizedTo }) => ({
      uuid,
      name,
      summary,
      firstEpisode,
      lastEpisode,
      summarizedTo: asWatermark(summarizedTo),
      episodes: episodesOfSagas.filter(({ saga }) => saga === uuid).map(({ episode }) => episode),
      others,
    })),
    next,
  }
}

/** Removes the lock properties. */
export const unlock = (ask: CypherQuery, entities: readonly string[]) =>
  ask(`UNWIND $ids AS id MATCH (n:Entity {uuid: id}) REMOVE n.${lock}`, { ids: entities })
