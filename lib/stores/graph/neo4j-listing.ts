import { z } from 'zod'
import type { ListedElement, ListedKind } from './listing.ts'
import type { CypherQuery } from './neo4j-connection.ts'
import { lock, plain } from './neo4j-values.ts'

const nodes = (label: string, more: string): string =>
  `MATCH (n:${label}) WHERE n.group_id = $group AND n.uuid > $after WITH n ORDER BY n.group_id, n.uuid LIMIT toInteger($max)
   RETURN n.uuid AS uuid, properties(n) AS p, ${more} AS more`
const queries: Record<ListedKind, string> = {
  episodes: nodes('Episodic', '{mentions: [(n)-[:MENTIONS]->(e) | e.uuid]}'),
  entities: nodes('Entity', "{labels: [label IN labels(n) WHERE label <> 'Entity']}"),
  facts: `MATCH (a)-[r:RELATES_TO]->(b) WHERE r.group_id = $group AND r.uuid > $after WITH a, r, b ORDER BY r.group_id, r.uuid LIMIT toInteger($max)
   RETURN r.uuid AS uuid, properties(r) AS p, {source: a.uuid, target: b.uuid} AS more`,
  communities: nodes('Community', '{members: [(n)-[:HAS_MEMBER]->(e) | e.uuid]}'),
  sagas: nodes('Saga', '{episodes: [(n)-[:HAS_EPISODE]->(e) | e.uuid]}'),
}
const Rows = z.array(
  z.object({ uuid: z.string(), p: z.record(z.string(), z.unknown()), more: z.record(z.string(), z.unknown()) }),
)
const isShown = (key: string): boolean => key !== 'group_id' && key !== lock && !key.endsWith('_embedding')

/** A page of a group, ordered by uuid, after `after`. */
export async function neo4jListGroup(
  ask: CypherQuery,
  group: string,
  kind: ListedKind,
  after: string,
  max: number,
): Promise<ListedElement[]> {
  const rows = Rows.parse(await ask(queries[kind], { group, after, max }))
  return rows.map(({ uuid, p, more }) => {
    const properties = Object.entries(p).filter(([key]) => isShown(key))
    return { uuid, record: { ...Object.fromEntries(properties.map(([key, value]) => [key, plain(value)])), ...more } }
  })
}
