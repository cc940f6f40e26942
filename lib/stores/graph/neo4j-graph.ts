import { z } from 'zod'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphOutcome, GraphStore } from './graph.ts'
import { neo4jApplyChange } from './neo4j-change.ts'
import { type CypherQuery, connectNeo4j } from './neo4j-connection.ts'
import { inProperties, neo4jIndexes, neo4jInGroup, phrases, type WordIndexes } from './neo4j-indexes.ts'
import { neo4jListGroup } from './neo4j-listing.ts'
import { neo4jNameMentions } from './neo4j-names.ts'
import { neo4jNeighbourhood, unlock } from './neo4j-neighbourhood.ts'
import { searchFullText } from './neo4j-search.ts'
import {
  isOther,
  neo4jAllTexts,
  neo4jEntitiesWithoutMentions,
  neo4jTextsAfter,
  neo4jTextsWithPhrases,
} from './neo4j-texts.ts'
import { neo4jEpisodes } from './neo4j-values.ts'

const Place = z.object({
  kind: z.enum(['fact', 'entity', 'episode', 'community', 'saga']),
  id: z.string(),
  field: z.string(),
})
const Outcome: z.ZodType<GraphOutcome> = z.object({
  episodesDeleted: z.number(),
  entitiesDeleted: z.number(),
  deleted: z.array(z.string()).default([]),
  orphaned: z.array(z.string()).default([]),
  factsDeleted: z.number(),
  factsChanged: z.number(),
  blanked: z.number(),
  episodesCut: z.number().default(0),
  textsEdited: z.number().default(0),
  mentions: z.array(Place),
  told: z
    .object({
      personal: z.number(),
      unreferenced: z.number(),
      unproven: z.array(z.string()),
      counts: z.record(z.string(), z.number()).default({}),
      met: z.record(z.string(), z.array(z.string())).default({}),
      gone: z.array(z.string()).default([]),
    })
    .default({ personal: 0, unreferenced: 0, unproven: [], counts: {}, met: {}, gone: [] }),
})
const Pages = z.array(z.object({ outcome: z.string().nullable() }))
const Count = z.array(z.object({ n: z.number() }))
const countOf = async (ask: CypherQuery, text: string, parameters: Record<string, unknown>): Promise<number> =>
  Count.parse(await ask(text, parameters))[0]?.n ?? 0

// Both block until a transaction that took the same node commits: the page's node blocks a repetition of the page, the group's node any
// other change of the group.
const takePage = 'MERGE (p:KnowledgePulsePage {key: $key}) WITH p SET p.taken = true RETURN p.outcome AS outcome'
const makeGroup = 'MERGE (:KnowledgePulseGroup {group_id: $group})'
const takeGroup = 'MATCH (g:KnowledgePulseGroup {group_id: $group}) SET g.taken = true RETURN 1 AS taken'
const keepOutcome = 'MATCH (p:KnowledgePulsePage {key: $key}) SET p.outcome = $outcome REMOVE p.taken'

const nodesNaming = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS n WHERE n.group_id = $group
  WITH DISTINCT n, properties(n) AS p WHERE any(key IN keys(p) WHERE NOT key ENDS WITH '_embedding' AND any(id IN $ids WHERE
    CASE WHEN p[key] IS :: LIST<STRING NOT NULL> THEN any(one IN p[key] WHERE toLower(one) CONTAINS toLower(id))
      WHEN p[key] IS :: STRING THEN toLower(p[key]) CONTAINS toLower(id) ELSE false END)) RETURN count(n) AS n`
const relationsNaming = nodesNaming
  .replace('queryNodes', 'queryRelationships')
  .replace('YIELD node AS n', 'YIELD relationship AS n')

/** Properties that contain only ids of episodes. */
const idsOf = { nodes: ['uuid', 'first_episode_uuid', 'last_episode_uuid'], relations: ['episodes'] }
const nodesOfIds = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS n WHERE n.group_id = $group
  WITH DISTINCT n WHERE (n:Episodic AND n.uuid IN $ids) OR n.first_episode_uuid IN $ids OR n.last_episode_uuid IN $ids RETURN count(n) AS n`
const relationsOfIds = `CALL db.index.fulltext.queryRelationships($index, $query) YIELD relationship AS n WHERE n.group_id = $group
  WITH DISTINCT n WHERE any(one IN n.episodes WHERE one IN $ids) RETURN count(n) AS n`
/** Each of these properties is a clause, and Lucene allows 1,024 clauses. */
const idsAtOnce = 300

// In this order, so that a node has few relationships when it is deleted.
const drops = [
  'MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group WITH r LIMIT toInteger($most) DELETE r RETURN count(*) AS n',
  ...['Episodic', 'Saga', 'Community', 'Entity'].map(
    (label) =>
      `MATCH (n:${label}) WHERE n.group_id = $group WITH n LIMIT toInteger($most) DETACH DELETE n RETURN count(*) AS n`,
  ),
  `MATCH (n) WHERE ${isOther} WITH n LIMIT toInteger($most) DETACH DELETE n RETURN count(*) AS n`,
]
const total = `CALL () {
    ${['Episodic', 'Saga', 'Community', 'Entity'].map((label) => `MATCH (n:${label}) WHERE n.group_id = $group RETURN sum(1 + COUNT { (n)-->() }) AS n`).join(' UNION ALL ')}
    UNION ALL MATCH (n) WHERE ${isOther} RETURN sum(1 + COUNT { (n)-->() }) AS n
  } RETURN sum(n) AS n`
const linksOf =
  'UNWIND $ids AS id MATCH (n:Episodic {uuid: id}) WHERE n.group_id = $group RETURN sum(COUNT { (n)--() }) AS n'

/**
 * A Neo4j database that Graphiti writes to. It does not take part in our database's transactions. A change is a separate transaction
 * that stores its outcome under its key: a repetition after a crash between the two commits changes nothing and counts the same.
 */
export function neo4jGraph(url: string): GraphStore {
  const connection = connectNeo4j(url)
  const indexes = neo4jIndexes(connection)
  const reading = async <T>(work: (ask: CypherQuery) => Promise<T>): Promise<T> => {
    await indexes.ready()
    return connection.read(work)
  }
  const writing = async <T>(work: (ask: CypherQuery) => Promise<T>): Promise<T> => {
    await indexes.ready()
    return connection.write(work)
  }
  // Runs as a writer, because in a cluster the leader has all committed data. Within a group, only late writes of other applications can
  // change data meanwhile.
  const seek: CypherQuery = (text, parameters) => connection.write((ask) => ask(text, parameters))
  /** Another process that found new property names may have replaced our word indexes: retry with the new ones. */
  const withWords = async <T>(work: (words: WordIndexes) => Promise<T>): Promise<T> => {
    let words = await indexes.words()
    for (;;)
      try {
        return await work(words)
      } catch (error) {
        if (!(error instanceof Problem)) throw error
        const now = await indexes.words()
        if (now.nodes === words.nodes) throw error
        words = now
      }
  }
  return {
    provider: 'neo4j',
    async state() {
      const since = performance.now()
      try {
        await connection.ping()
        return { state: 'ok', latency: performance.now() - since }
      } catch (error) {
        const detail = error instanceof Problem ? error.detail : undefined
        return { state: 'down', latency: performance.now() - since, ...(detail === undefined ? {} : { detail }) }
      }
    },
    read: (group, episodes, _tx, ended = []) =>
      reading((ask) => neo4jNeighbourhood({ ask, seek: ask }, group, episodes, ended, { locks: false })),
    change: (group, episodes, key, judge, _tx, ended = []) =>
      withWords(async (words) => {
        // In a separate transaction: two transactions that create and lock the node at the same time would conflict.
        await writing((ask) => ask(makeGroup, { group }))
        return writing(async (ask) => {
          const [page] = Pages.parse(await ask(takePage, { key }))
          if (page?.outcome != null) return Outcome.parse(JSON.parse(page.outcome))
          if ((await ask(takeGroup, { group })).length === 0) await ask(makeGroup, { group })
          const found = await neo4jNeighbourhood({ ask, seek }, group, episodes, ended, { locks: true })
          const change = judge(found)
          const counts = await neo4jApplyChange({ ask, seek }, group, change)
          const gone = new Set(change.deleteEntities)
          const outcome: GraphOutcome = {
            ...counts,
            deleted: change.deleteEntities,
            orphaned: found.entities.flatMap(({ uuid }) => (gone.has(uuid) ? [] : [uuid])),
            mentions: await neo4jNameMentions({ ask, seek }, group, change.names, change.redact, words),
            told: change.told,
          }
          const ends = found.facts.flatMap(({ source, target }) => [source, target])
          await unlock(ask, [...new Set([...found.entities.map(({ uuid }) => uuid), ...ends])])
          await ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) REMOVE g.taken', { group })
          await ask(keepOutcome, { key, outcome: JSON.stringify(outcome) })
          return outcome
        })
      }),
    forget: (keyPrefix) =>
      writing(
        async (ask) =>
          void (await ask('MATCH (p:KnowledgePulsePage) WHERE p.key STARTS WITH $keyPrefix DELETE p', { keyPrefix })),
      ),
    list: (group, kind, after, most) => reading((ask) => neo4jListGroup(ask, group, kind, after, most)),
    async groupsOf(episodes) {
      const Rows = z.array(z.object({ uuid: z.string(), group: z.string() }))
      const rows = await reading((ask) =>
        ask(
          'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) RETURN DISTINCT e.uuid AS uuid, e.group_id AS group ORDER BY uuid, group DESC',
          { ids: episodes },
        ),
      )
      return new Map(Rows.parse(rows).map(({ uuid, group }) => [uuid, group]))
    },
    async factsAt(group, entities) {
      const rows = await reading((ask) =>
        ask(
          'UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group WITH n.uuid AS uuid, COUNT { MATCH (n)-[r:RELATES_TO]-() RETURN DISTINCT r } AS n WHERE n > 0 RETURN uuid, n',
          { group, ids: entities },
        ),
      )
      const Rows = z.array(z.object({ uuid: z.string(), n: z.number() }))
      return new Map(Rows.parse(rows).map(({ uuid, n }) => [uuid, n]))
    },
    episodes: async (group, after, most) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'MATCH (e:Episodic) WHERE e.group_id = $group AND e.uuid > $after WITH e ORDER BY e.group_id, e.uuid LIMIT toInteger($most) RETURN properties(e) AS p',
            { group, after, most },
          ),
        ),
      ),
    search: (group, sought) => withWords((words) => reading((ask) => searchFullText(ask, group, sought, words))),
    episodesById: async (group, ids) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) WHERE e.group_id = $group RETURN DISTINCT properties(e) AS p',
            { group, ids },
          ),
        ),
      ),
    texts: async (group, _tx, mayMatter = () => true) =>
      neo4jAllTexts((text, parameters) => reading((ask) => ask(text, parameters)), group, mayMatter),
    textsWith: (group, phrases) =>
      withWords((words) => reading((ask) => neo4jTextsWithPhrases(ask, group, phrases, words))),
    bareEntities: (group) => reading((ask) => neo4jEntitiesWithoutMentions(ask, group)),
    exposedTexts: (group, episodes) => reading((ask) => neo4jTextsAfter(ask, group, episodes)),
    // Searches the words of every property, including ids and lists of ids, and not by the queries that erasure uses.
    residue: (group, episodes, asIds = []) =>
      withWords((words) =>
        reading(async (ask) => {
          let left = 0
          for (const { texts, query } of phrases(episodes, words.phrases)) {
            const parameters = { group, ids: texts, query: neo4jInGroup(group, query) }
            left += await countOf(ask, linksOf, { group, ids: texts })
            left += await countOf(ask, nodesNaming, { ...parameters, index: words.nodes })
            left += await countOf(ask, relationsNaming, { ...parameters, index: words.relations })
          }
          for (const { texts: ids } of phrases(asIds, idsAtOnce)) {
            left += await countOf(ask, linksOf, { group, ids })
            for (const [of, text] of [
              ['nodes', nodesOfIds],
              ['relations', relationsOfIds],
            ] as const) {
              const query = neo4jInGroup(group, inProperties(idsOf[of], ids))
              left += await countOf(ask, text, { group, ids, index: words[of], query })
            }
          }
          return left
        }),
      ),
    async dropGroup(group, most) {
      let gone = 0
      for (const text of drops) {
        if (gone >= most) break
        gone += await writing((ask) => countOf(ask, text, { group, most: most - gone }))
      }
      // Nothing remains, so the lock node of the group is also deleted.
      if (gone < most)
        await writing((ask) => ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) DELETE g', { group }))
      return gone
    },
    countGroup: (group) => reading((ask) => countOf(ask, total, { group })),
    close: () => connection.close(),
  }
}
