import type { CypherQuery } from './neo4j-connection.ts'
import { countOf } from './neo4j-count.ts'
import { inProperties, neo4jInGroup, phrases, type WordIndexes } from './neo4j-indexes.ts'

const linksOf =
  'UNWIND $ids AS id MATCH (n:Episodic {uuid: id}) WHERE n.group_id = $group RETURN sum(COUNT { (n)--() }) AS n'

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

/**
 * Searches the words of every property, including ids and lists of ids, and not by the queries that erasure uses. `ask` runs each query in
 * its own transaction, so that nodes and relationships are searched at the same time.
 */
export async function neo4jResidue(
  ask: CypherQuery,
  group: string,
  episodes: readonly string[],
  asIds: readonly string[],
  words: WordIndexes,
): Promise<number> {
  let left = 0
  for (const { texts, query } of phrases(episodes, words.phrases)) {
    const parameters = { group, ids: texts, query: neo4jInGroup(group, query) }
    const counts = await Promise.all([
      countOf(ask, linksOf, { group, ids: texts }),
      countOf(ask, nodesNaming, { ...parameters, index: words.nodes }),
      countOf(ask, relationsNaming, { ...parameters, index: words.relations }),
    ])
    for (const count of counts) left += count
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
}
