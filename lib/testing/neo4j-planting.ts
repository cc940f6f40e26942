import { z } from 'zod'
import { type CypherQuery, type CypherRow, connectNeo4j } from '#lib/stores/graph/neo4j-connection.ts'
import { asTime, asWatermark, neo4jEntities, neo4jEpisodes, neo4jFacts } from '#lib/stores/graph/neo4j-values.ts'
import type { GraphPlanting, PlantedGraph } from './planted-graph.ts'

/** Rows per statement. */
const max = 1_000
const embedding = [0.25, 0.5]

// As graphiti-core saves them (models/nodes/node_db_queries.py, models/edges/edge_db_queries.py), with embeddings as
// vector properties.
const saveEpisodes = 'UNWIND $rows AS row MERGE (n:Episodic {uuid: row.uuid}) SET n = row'
const saveEntities = `UNWIND $rows AS row MERGE (n:Entity {uuid: row.p.uuid}) SET n:$(row.labels) SET n = row.p
  WITH n, row CALL db.create.setNodeVectorProperty(n, 'name_embedding', row.embedding) RETURN count(*) AS n`
const saveFacts = `UNWIND $rows AS row MATCH (a:Entity {uuid: row.p.source_node_uuid}) MATCH (b:Entity {uuid: row.p.target_node_uuid})
  CREATE (a)-[r:RELATES_TO]->(b) SET r = row.p
  WITH r, row CALL db.create.setRelationshipVectorProperty(r, 'fact_embedding', row.embedding) RETURN count(*) AS n`
const saveCommunities = `UNWIND $rows AS row MERGE (n:Community {uuid: row.uuid}) SET n = row
  WITH n CALL db.create.setNodeVectorProperty(n, 'name_embedding', ${JSON.stringify(embedding)}) RETURN count(*) AS n`
const saveSagas = 'UNWIND $rows AS row MERGE (n:Saga {uuid: row.uuid}) SET n = row'
const saveLinks = (from: string, type: string, to: string) =>
  `UNWIND $rows AS row MATCH (a:${from} {uuid: row.from}) MATCH (b:${to} {uuid: row.to})
   CREATE (a)-[:${type} {uuid: randomUUID(), group_id: $group, created_at: datetime()}]->(b)`

const links = z.array(z.object({ from: z.string(), to: z.string() }))
const gatherings = z.array(
  z.looseObject({
    uuid: z.string(),
    name: z.string().nullish(),
    summary: z.string().nullish(),
    first_episode_uuid: z.string().nullish(),
    last_episode_uuid: z.string().nullish(),
  }),
)

/** Plants graphs in a Neo4j as Graphiti writes them, and reads them back. */
export function neo4jPlanting(url: string): GraphPlanting & { close(): Promise<void> } {
  const connection = connectNeo4j(url)
  const put = async (text: string, group: string, rows: readonly CypherRow[]) => {
    for (let at = 0; at < rows.length; at += max)
      await connection.write((ask) => ask(text, { group, rows: rows.slice(at, at + max) }))
  }
  const linksOf = async (ask: CypherQuery, group: string, type: string) =>
    links.parse(
      await ask(
        `MATCH (a)-[r:${type}]->(b) WHERE a.group_id = $group RETURN a.uuid AS from, b.uuid AS to ORDER BY from, to`,
        { group },
      ),
    )
  return {
    async plant({ group, episodes, entities, facts, mentions, communities, sagas, next }: PlantedGraph) {
      for (const label of ['Episodic', 'Entity', 'Community', 'Saga'])
        await connection.define(`CREATE INDEX ${label.toLowerCase()}_uuid IF NOT EXISTS FOR (n:${label}) ON (n.uuid)`)
      await put(
        saveEpisodes,
        group,
        episodes.map((episode) => ({
          uuid: episode.uuid,
          name: episode.name,
          group_id: group,
          source: episode.source,
          source_description: episode.sourceDescription,
          content: episode.content,
          entity_edges: episode.entityEdges,
          created_at: asTime(episode.createdAt),
          valid_at: asTime(episode.validAt),
          ...(Object.keys(episode.metadata).length === 0 ? {} : { episode_metadata: JSON.stringify(episode.metadata) }),
        })),
      )
      await put(
        saveEntities,
        group,
        entities.map(({ uuid, name, labels, summary, attributes, createdAt }) => ({
          p: {
            ...attributes,
            uuid,
            name,
            group_id: group,
            summary,
            labels: ['Entity', ...labels],
            created_at: asTime(createdAt),
          },
          labels,
          embedding,
        })),
      )
      await put(
        saveFacts,
        group,
        facts.map((fact) => ({
          p: {
            ...fact.attributes,
            uuid: fact.uuid,
            source_node_uuid: fact.source,
            target_node_uuid: fact.target,
            name: fact.name,
            group_id: group,
            fact: fact.fact,
            episodes: fact.episodes,
            created_at: asTime(fact.createdAt),
            valid_at: asTime(fact.validAt),
            invalid_at: asTime(fact.invalidAt),
            expired_at: asTime(fact.expiredAt),
            reference_time: asTime(fact.referenceTime),
          },
          embedding,
        })),
      )
      await put(
        saveCommunities,
        group,
        communities.map(({ uuid, name, summary }) => ({
          uuid,
          name,
          summary,
          group_id: group,
          created_at: asTime(new Date()),
        })),
      )
      await put(
        saveSagas,
        group,
        sagas.map(({ uuid, name, summary, firstEpisode, lastEpisode, summarizedTo }) => ({
          uuid,
          name,
          summary,
          group_id: group,
          created_at: asTime(new Date()),
          first_episode_uuid: firstEpisode,
          last_episode_uuid: lastEpisode,
          last_summarized_at: asTime(summarizedTo),
          last_summarized_episode_valid_at: asTime(summarizedTo),
        })),
      )
      await put(
        saveLinks('Episodic', 'MENTIONS', 'Entity'),
        group,
        mentions.map(({ episode, entity }) => ({ from: episode, to: entity })),
      )
      const members = communities.flatMap(({ uuid, members: of }) => of.map((to) => ({ from: uuid, to })))
      await put(saveLinks('Community', 'HAS_MEMBER', 'Entity'), group, members)
      await put(saveLinks('Community', 'HAS_MEMBER', 'Community'), group, members)
      const reported = sagas.flatMap((saga) => saga.episodes.map((to) => ({ from: saga.uuid, to })))
      await put(saveLinks('Saga', 'HAS_EPISODE', 'Episodic'), group, reported)
      await put(saveLinks('Episodic', 'NEXT_EPISODE', 'Episodic'), group, next)
    },
    standing: (group) =>
      connection.read(async (ask) => {
        const gathered = async (label: string, type: string) => {
          const rows = gatherings.parse(
            (
              await ask(`MATCH (n:${label}) WHERE n.group_id = $group RETURN properties(n) AS p ORDER BY n.uuid`, {
                group,
              })
            ).map(({ p }) => p),
          )
          const members = await linksOf(ask, group, type)
          return rows.map((row) => ({
            row,
            members: members.filter(({ from }) => from === row.uuid).map(({ to }) => to),
          }))
        }
        const embedded = z.array(z.object({ uuid: z.string() })).parse(
          await ask(
            `CALL () {
               MATCH (n:Entity|Community) WHERE n.group_id = $group AND n.name_embedding IS NOT NULL RETURN n.uuid AS uuid
               UNION ALL MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group AND r.fact_embedding IS NOT NULL RETURN r.uuid AS uuid
             } RETURN uuid ORDER BY uuid`,
            { group },
          ),
        )
        const of = (label: string) =>
          ask(`MATCH (n:${label}) WHERE n.group_id = $group RETURN properties(n) AS p, labels(n) AS labels`, { group })
        return {
          group,
          episodes: neo4jEpisodes(await of('Episodic')),
          entities: neo4jEntities(await of('Entity')),
          facts: neo4jFacts(
            await ask(
              'MATCH (a)-[r:RELATES_TO]->(b) WHERE r.group_id = $group RETURN properties(r) AS p, a.uuid AS source, b.uuid AS target',
              { group },
            ),
          ),
          mentions: (await linksOf(ask, group, 'MENTIONS')).map(({ from, to }) => ({ episode: from, entity: to })),
          communities: (await gathered('Community', 'HAS_MEMBER')).map(({ row, members }) => ({
            uuid: row.uuid,
            name: row.name ?? '',
            summary: row.summary ?? '',
            members,
          })),
          sagas: (await gathered('Saga', 'HAS_EPISODE')).map(({ row, members }) => ({
            uuid: row.uuid,
            name: row.name ?? '',
            summary: row.summary ?? '',
            firstEpisode: row.first_episode_uuid ?? null,
            lastEpisode: row.last_episode_uuid ?? null,
            summarizedTo: asWatermark(row.last_summarized_at ?? null),
            episodes: members,
          })),
          next: await linksOf(ask, group, 'NEXT_EPISODE'),
          embedded: embedded.map(({ uuid }) => uuid),
        }
      }),
    close: () => connection.close(),
  }
}
