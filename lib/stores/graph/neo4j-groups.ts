import type { CypherQuery } from './neo4j-connection.ts'
import { countOf } from './neo4j-count.ts'
import { isOther } from './neo4j-texts.ts'

// In this order, so that a node has few relationships when it is deleted.
const drops = [
  'MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group WITH r LIMIT toInteger($max) DELETE r RETURN count(*) AS n',
  ...['Episodic', 'Saga', 'Community', 'Entity'].map(
    (label) =>
      `MATCH (n:${label}) WHERE n.group_id = $group WITH n LIMIT toInteger($max) DETACH DELETE n RETURN count(*) AS n`,
  ),
  `MATCH (n) WHERE ${isOther} WITH n LIMIT toInteger($max) DETACH DELETE n RETURN count(*) AS n`,
]
const total = `CALL () {
    ${['Episodic', 'Saga', 'Community', 'Entity'].map((label) => `MATCH (n:${label}) WHERE n.group_id = $group RETURN sum(1 + COUNT { (n)-->() }) AS n`).join(' UNION ALL ')}
    UNION ALL MATCH (n) WHERE ${isOther} RETURN sum(1 + COUNT { (n)-->() }) AS n
  } RETURN sum(n) AS n`

/** Deletes at most `max` nodes and relationships, in several transactions. Returns how many. */
export async function neo4jDropGroup(
  writing: <T>(work: (ask: CypherQuery) => Promise<T>) => Promise<T>,
  group: string,
  max: number,
): Promise<number> {
  let gone = 0
  for (const text of drops) {
    if (gone >= max) break
    gone += await writing((ask) => countOf(ask, text, { group, max: max - gone }))
  }
  // Nothing remains, so the lock node of the group is also deleted.
  if (gone < max) await writing((ask) => ask('MATCH (g:KnowledgePulseGroup {group_id: $group}) DELETE g', { group }))
  return gone
}

export const neo4jCountGroup = (ask: CypherQuery, group: string): Promise<number> => countOf(ask, total, { group })
