import { z } from 'zod'
import { Problem } from '#lib/kernel/problem.ts'
import type { GraphStore } from './graph.ts'
import { type CypherQuery, connectNeo4j } from './neo4j-connection.ts'
import { neo4jCountGroup, neo4jDropGroup } from './neo4j-groups.ts'
import { neo4jIndexes, type WordIndexes } from './neo4j-indexes.ts'
import { neo4jListGroup } from './neo4j-listing.ts'
import { neo4jNameMentions } from './neo4j-names.ts'
import { neo4jNeighbourhood } from './neo4j-neighbourhood.ts'
import { makeGroup, neo4jChangePage } from './neo4j-pages.ts'
import { neo4jCutUngrouped, neo4jReadPage } from './neo4j-reading.ts'
import { neo4jResidue } from './neo4j-residue.ts'
import { searchFullText } from './neo4j-search.ts'
import { neo4jAllTexts, neo4jEntitiesWithoutMentions, neo4jTextsAfter, neo4jTextsWithPhrases } from './neo4j-texts.ts'
import { neo4jEpisodes } from './neo4j-values.ts'

/** The group of each episode that exists. */
async function groupsOf(ask: CypherQuery, episodes: readonly string[]): Promise<Map<string, string>> {
  const Rows = z.array(z.object({ uuid: z.string(), group: z.string() }))
  const rows = await ask(
    'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) RETURN DISTINCT e.uuid AS uuid, e.group_id AS group ORDER BY uuid, group DESC',
    { ids: episodes },
  )
  return new Map(Rows.parse(rows).map(({ uuid, group }) => [uuid, group]))
}

/** The number of facts of each entity that has any. */
async function factsAt(ask: CypherQuery, group: string, entities: readonly string[]): Promise<Map<string, number>> {
  const rows = await ask(
    'UNWIND $ids AS id MATCH (n:Entity {uuid: id}) WHERE n.group_id = $group WITH n.uuid AS uuid, COUNT { MATCH (n)-[r:RELATES_TO]-() RETURN DISTINCT r } AS n WHERE n > 0 RETURN uuid, n',
    { group, ids: entities },
  )
  const Rows = z.array(z.object({ uuid: z.string(), n: z.number() }))
  return new Map(Rows.parse(rows).map(({ uuid, n }) => [uuid, n]))
}

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
  /** Each query in its own transaction, so that several can run at the same time. */
  const each: CypherQuery = (text, parameters) => reading((ask) => ask(text, parameters))
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
    change: (...page) =>
      withWords(async (words) => {
        // In a separate transaction: two transactions that create and lock the node at the same time would conflict.
        await writing((ask) => ask(makeGroup, { group: page[0] }))
        return writing((ask) => neo4jChangePage({ ask, seek, words }, page))
      }),
    namesIn: (group, names) =>
      withWords((words) => reading((ask) => neo4jNameMentions({ ask, seek: ask }, group, names, false, words))),
    forget: (keyPrefix) =>
      writing(
        async (ask) =>
          void (await ask('MATCH (p:KnowledgePulsePage) WHERE p.key STARTS WITH $keyPrefix DELETE p', { keyPrefix })),
      ),
    list: (group, kind, after, max) => reading((ask) => neo4jListGroup(ask, group, kind, after, max)),
    groupsOf: (episodes) => reading((ask) => groupsOf(ask, episodes)),
    factsAt: (group, entities) => reading((ask) => factsAt(ask, group, entities)),
    episodes: async (group, after, max) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'MATCH (e:Episodic) WHERE e.group_id = $group AND e.uuid > $after WITH e ORDER BY e.group_id, e.uuid LIMIT toInteger($max) RETURN properties(e) AS p',
            { group, after, max },
          ),
        ),
      ),
    search: (group, sought) => withWords((words) => reading((ask) => searchFullText(ask, group, sought, words))),
    episodesById: async (group, ids) =>
      neo4jEpisodes(
        await reading((ask) =>
          ask(
            'UNWIND $ids AS id MATCH (e:Episodic {uuid: id}) WHERE e.group_id = $group WITH DISTINCT e RETURN properties(e) AS p',
            { group, ids },
          ),
        ),
      ),
    texts: async (group, _tx, mayMatter = () => true, since) => neo4jAllTexts(each, group, mayMatter, since),
    page: (after) => neo4jReadPage(each, after),
    cutUngrouped: (kind, ids, cut) => connection.write((ask) => neo4jCutUngrouped(ask, kind, ids, cut)),
    textsWith: (group, phrases) =>
      withWords((words) => reading((ask) => neo4jTextsWithPhrases(ask, group, phrases, words))),
    bareEntities: (group) => reading((ask) => neo4jEntitiesWithoutMentions(ask, group)),
    exposedTexts: (group, episodes) => neo4jTextsAfter(each, group, episodes),
    residue: (group, episodes, asIds = []) => withWords((words) => neo4jResidue(each, group, episodes, asIds, words)),
    dropGroup: (group, max) => neo4jDropGroup(writing, group, max),
    countGroup: (group) => reading((ask) => neo4jCountGroup(ask, group)),
    close: () => connection.close(),
  }
}
