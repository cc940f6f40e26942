import { z } from 'zod'
import {
  type CommunityNeighbour,
  endedWithin,
  type Fact,
  maxCounted,
  maxEnded,
  type Neighbourhood,
  type SagaNeighbour,
} from './graph.ts'
import type { CypherQuery, CypherSession } from './neo4j-connection.ts'
import { phrases, sources } from './neo4j-indexes.ts'
import { asTime, asWatermark, lock, neo4jEntities, neo4jEpisodes, neo4jFacts, sortedByUuid } from './neo4j-values.ts'

const episodesOf = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) WHERE e.group_id = $group WITH DISTINCT e RETURN properties(e) AS p`
const factColumns = 'r {.*, fact_embedding: null} AS p, startNode(r).uuid AS source, endNode(r).uuid AS target'
const bySource = `CALL db.index.fulltext.queryRelationships('${sources}', $query) YIELD relationship AS r
  WHERE r.group_id = $group AND any(episode IN r.episodes WHERE episode IN $ids)`
const factsBySource = `${bySource} RETURN DISTINCT r.uuid AS uuid`
const endsBySource = `${bySource} UNWIND [startNode(r).uuid, endNode(r).uuid] AS uuid RETURN DISTINCT uuid`
const byUuid = `UNWIND $ids AS id MATCH ()-[r:RELATES_TO {uuid: id}]->() WHERE r.group_id = $group WITH DISTINCT r RETURN ${factColumns}`
const withoutSource = `UNWIND $ids AS id MATCH ()-[r:RELATES_TO {uuid: id}]->()
  WHERE r.group_id = $group AND size(coalesce(r.episodes, [])) = 0 WITH DISTINCT r RETURN ${factColumns}`
const mentioned = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  RETURN DISTINCT n.uuid AS uuid`
/** Ends of facts that nothing else mentions or uses. */
const alone = `UNWIND $ends AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group
  AND NOT EXISTS { (n)<-[:MENTIONS]-(:Episodic) } AND NOT EXISTS { (n)-[r:RELATES_TO]-() WHERE NOT r.uuid IN $alone }
  RETURN DISTINCT n.uuid AS uuid`
/** Locks one after the other in the given order. Setting a property takes the lock; a read at read-committed isolation does not. */
const lockEntities = `UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WITH n ORDER BY n.uuid SET n.${lock} = true`
const entitiesOf = `UNWIND $entities AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group
  CALL (n) { MATCH (n)<-[:MENTIONS]-(e:Episodic) WHERE e.group_id = $group AND NOT e.uuid IN $ids WITH DISTINCT e LIMIT toInteger($counted)
    RETURN count(e) AS others }
  WITH DISTINCT n, others RETURN n {.*, name_embedding: null} AS p, labels(n) AS labels, others,
    [(n)<-[:HAS_MEMBER]-(c:Community) WHERE c.group_id = $group | c.uuid] AS communities`
const ownMentions = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  RETURN DISTINCT e.uuid AS episode, n.uuid AS entity ORDER BY episode, entity`
const endedOf = `UNWIND $times AS t MATCH ()-[r:RELATES_TO]->()
  WHERE r.group_id = $group AND r.expired_at >= t AND r.expired_at <= t + duration({milliseconds: ${endedWithin}}) AND NOT r.uuid IN $own
  WITH DISTINCT r ORDER BY r.expired_at, r.uuid LIMIT ${maxEnded} RETURN ${factColumns}`
const communitiesOf = `UNWIND $entities AS id MATCH (:Entity {uuid: id})<-[:HAS_MEMBER*1..8]-(c:Community) WHERE c.group_id = $group
  WITH DISTINCT c
  CALL (c) { MATCH (c)-[:HAS_MEMBER]->(m) WHERE NOT m.uuid IN $entities WITH DISTINCT m LIMIT toInteger($counted) RETURN count(m) AS others }
  RETURN c.uuid AS uuid, coalesce(c.name, '') AS name, coalesce(c.summary, '') AS summary, others ORDER BY uuid`
const nextOf = `UNWIND $ids AS id MATCH (:Episodic {uuid: id})-[r:NEXT_EPISODE]-(:Episodic)
  WITH DISTINCT startNode(r).uuid AS from, endNode(r).uuid AS to RETURN from, to ORDER BY from, to`
const sagasOf = `CALL () {
    UNWIND $ids AS id MATCH (:Episodic {uuid: id})<-[:HAS_EPISODE]-(s:Saga) WHERE s.group_id = $group RETURN s
    UNION UNWIND $ids AS id MATCH (s:Saga {first_episode_uuid: id}) WHERE s.group_id = $group RETURN s
    UNION UNWIND $ids AS id MATCH (s:Saga {last_episode_uuid: id}) WHERE s.group_id = $group RETURN s
  }
  WITH DISTINCT s
  CALL (s) { MATCH (s)-[:HAS_EPISODE]->(e) WHERE NOT e.uuid IN $ids WITH DISTINCT e LIMIT toInteger($counted) RETURN count(e) AS others }
  RETURN s.uuid AS uuid, coalesce(s.name, '') AS name, coalesce(s.summary, '') AS summary, s.first_episode_uuid AS firstEpisode,
    s.last_episode_uuid AS lastEpisode, s.last_summarized_at AS summarizedTo, others ORDER BY uuid`
const notifiedOf = `UNWIND $around AS id MATCH (e:Episodic {uuid: id})<-[:HAS_EPISODE]-(s:Saga) WHERE s.uuid IN $sagas
  RETURN DISTINCT s.uuid AS saga, e.uuid AS episode ORDER BY saga, episode`

const uuids = z.array(z.object({ uuid: z.string() }))
const entityRows = z.array(
  z.object({ p: z.looseObject({ uuid: z.string() }), others: z.number(), communities: z.array(z.string()) }),
)
const mentions = z.array(z.object({ episode: z.string(), entity: z.string() }))
const links = z.array(z.object({ from: z.string(), to: z.string() }))
const reported = z.array(z.object({ saga: z.string(), episode: z.string() }))
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

/** Uuids from the index of the facts' sources. */
async function seekBySource(seek: CypherQuery, text: string, group: string, ids: readonly string[]): Promise<string[]> {
  const found: string[] = []
  for (const { texts, query } of phrases(ids))
    found.push(...uuids.parse(await seek(text, { group, ids: texts, query })).map(({ uuid }) => uuid))
  return found
}

/**
 * Facts that list one of the episodes, by the index of their sources, and facts without a source that are in an episode's `entityEdges`.
 */
async function factsOf(
  ask: CypherQuery,
  group: string,
  listed: readonly string[],
  listedFacts: readonly string[],
): Promise<Fact[]> {
  return sortedByUuid([
    ...neo4jFacts(await ask(byUuid, { group, ids: listed })),
    ...(listedFacts.length === 0 ? [] : neo4jFacts(await ask(withoutSource, { group, ids: listedFacts }))),
  ])
}

/** The ends of facts that nothing else mentions or uses. */
async function endsAlone(
  ask: CypherQuery,
  group: string,
  ids: readonly string[],
  facts: readonly Fact[],
): Promise<string[]> {
  const erased = new Set(ids)
  const ends = [...new Set(facts.flatMap(({ source, target }) => [source, target]))]
  const only = facts.filter(({ episodes }) => episodes.every((one) => erased.has(one))).map(({ uuid }) => uuid)
  return uuids.parse(await ask(alone, { group, ends, alone: only })).map(({ uuid }) => uuid)
}

/** The episodes with their facts, and the entities to judge, in their current state. */
async function look({ ask, seek }: CypherSession, group: string, asked: readonly string[]) {
  const episodes = neo4jEpisodes(await ask(episodesOf, { group, ids: asked }))
  const ids = episodes.map(({ uuid }) => uuid)
  const listedFacts = [...new Set(episodes.flatMap(({ entityEdges }) => entityEdges))]
  const [listed, own] = await Promise.all([
    seekBySource(seek, factsBySource, group, ids),
    ask(ownMentions, { group, ids }).then((rows) => mentions.parse(rows)),
  ])
  const facts = await factsOf(ask, group, listed, listedFacts)
  const entities = new Set([...own.map(({ entity }) => entity), ...(await endsAlone(ask, group, ids, facts))])
  const ends = facts.flatMap(({ source, target }) => [source, target])
  return { episodes, ids, listedFacts, facts, mentions: own, entities: [...entities].sort(), ends }
}

/**
 * Locks the mentioned entities and the ends of facts, in the order of their uuids, and then reads. Records that became connected in the
 * meantime are also locked, before they are read again.
 */
async function lookLocked({ ask, seek }: CypherSession, group: string, asked: readonly string[]) {
  const locked = new Set<string>()
  const [byMention, byFact] = await Promise.all([
    ask(mentioned, { group, ids: asked }).then((rows) => uuids.parse(rows).map(({ uuid }) => uuid)),
    seekBySource(seek, endsBySource, group, asked),
  ])
  for (let found = [...byMention, ...byFact]; ; ) {
    const waiting = [...new Set(found)].filter((uuid) => !locked.has(uuid)).sort()
    if (waiting.length > 0) await ask(lockEntities, { ids: waiting })
    for (const uuid of waiting) locked.add(uuid)
    const seen = await look({ ask, seek }, group, asked)
    found = [...seen.entities, ...seen.ends]
    if (found.every((uuid) => locked.has(uuid))) return seen
  }
}

/** Communities of the entities, directly or through other communities. */
async function communitiesAround(
  ask: CypherQuery,
  group: string,
  found: z.infer<typeof entityRows>,
  counted: number,
): Promise<CommunityNeighbour[]> {
  const members = new Map<string, string[]>()
  for (const { p, communities } of found)
    for (const community of new Set(communities)) members.set(community, [...(members.get(community) ?? []), p.uuid])
  const entities = found.map(({ p }) => p.uuid)
  const rows = gathered.parse(await ask(communitiesOf, { group, entities, counted }))
  return rows.map((row) => ({ ...row, members: (members.get(row.uuid) ?? []).sort() }))
}

/** Sagas that contain or name one of the episodes. */
async function sagasAround(
  ask: CypherQuery,
  group: string,
  ids: readonly string[],
  next: Neighbourhood['next'],
  counted: number,
): Promise<SagaNeighbour[]> {
  const around = [...new Set([...ids, ...next.flatMap(({ from, to }) => [from, to])])]
  const rows = sagaRows.parse(await ask(sagasOf, { group, ids, counted }))
  const found = reported.parse(await ask(notifiedOf, { around, sagas: rows.map(({ uuid }) => uuid) }))
  const episodes = Map.groupBy(found, ({ saga }) => saga)
  return rows.map(({ uuid, name, summary, firstEpisode, lastEpisode, others, summarizedTo }) => ({
    uuid,
    name,
    summary,
    firstEpisode,
    lastEpisode,
    others,
    summarizedTo: asWatermark(summarizedTo),
    episodes: (episodes.get(uuid) ?? []).map(({ episode }) => episode),
  }))
}

/**
 * Reads episodes of a group and what they are connected to, only through relationships and indexes. `locks`: first locks the entities
 * and the ends of facts. A change needs to know only whether there are other mentions and members, so they are not counted any further.
 */
export async function neo4jNeighbourhood(
  session: CypherSession,
  group: string,
  asked: readonly string[],
  ended: readonly string[],
  { locks }: { locks: boolean },
): Promise<Neighbourhood> {
  const { ask } = session
  const seen = await (locks ? lookLocked : look)(session, group, asked)
  const { episodes, ids, listedFacts, facts, mentions: ownPairs } = seen
  const counted = locks ? 1 : maxCounted
  const rows = await ask(entitiesOf, { group, entities: seen.entities, ids, counted })
  const found = entityRows.parse(rows)
  const own = facts.map(({ uuid }) => uuid)
  const isOwn = new Set(own)
  const times = episodes.map(({ createdAt }) => asTime(createdAt))
  const asFar = neo4jFacts(await ask(byUuid, { group, ids: [...new Set([...ended, ...listedFacts])] })).filter(
    ({ uuid }) => !isOwn.has(uuid),
  )
  const inTime = neo4jFacts(await ask(endedOf, { group, times, own }))
  const next = links.parse(await ask(nextOf, { ids }))
  return {
    group,
    episodes,
    entities: neo4jEntities(rows),
    otherMentions: new Map(found.flatMap(({ p, others }) => (others > 0 ? [[p.uuid, others] as const] : []))),
    facts,
    mentions: ownPairs,
    ended: sortedByUuid([...asFar, ...inTime]),
    communities: await communitiesAround(ask, group, found, counted),
    sagas: await sagasAround(ask, group, ids, next, counted),
    next,
  }
}

/** Removes the lock properties. */
export const unlock = (ask: CypherQuery, entities: readonly string[]) =>
  ask(`UNWIND $ids AS id MATCH (n:Entity {uuid: id}) REMOVE n.${lock}`, { ids: entities })
