import { z } from 'zod'
import { contextWindow, type GraphText, type TextEdit } from './graph.ts'
import { textsOf } from './graph-texts.ts'
import type { Ask, Asking } from './neo4j-connection.ts'
import { inGroup, phrases, sources, type WordIndexes } from './neo4j-indexes.ts'
import { kindOfLabels, textProperties } from './neo4j-names.ts'
import { lock } from './neo4j-values.ts'

/** How many records are read per query; episodes are long. */
const atOnce = { episode: 500, entity: 5_000, community: 5_000, saga: 5_000, fact: 5_000, link: 5_000 } as const
const labels = { episode: 'Episodic', entity: 'Entity', community: 'Community', saga: 'Saga' } as const

/** Without embeddings, which are large and contain no text. */
const pairsOf = (of: string) => `[key IN keys(${of}) WHERE NOT key ENDS WITH '_embedding' | [key, ${of}[key]]] AS pairs`
const node = `elementId(n) AS at, n.uuid AS uuid, labels(n) AS labels, ${pairsOf('n')}`
const relation = `elementId(r) AS at, r.uuid AS uuid, [] AS labels, type(r) AS type, ${pairsOf('r')}`
/** The properties that Graphiti sets on all other relationships. Relationships with more are rare. */
const plainLink = ['uuid', 'group_id', 'created_at', 'source_node_uuid', 'target_node_uuid']
const isFact = "type(r) = 'RELATES_TO' AND r.uuid IS NOT NULL AND r.group_id = $group"
const hasMore = `any(key IN keys(r) WHERE NOT key IN ${JSON.stringify(plainLink)})`
/** Nodes that are not an episode, entity, community or saga, or that have no uuid. Applications may add such nodes. */
export const isOther =
  'n.group_id = $group AND NOT n:KnowledgePulseGroup AND (n.uuid IS NULL OR NOT (n:Episodic OR n:Entity OR n:Community OR n:Saga))'
const otherNodes = `MATCH (n) WHERE ${isOther} RETURN ${node}`
const otherLinks = `MATCH (n)-[r]->() WHERE ${isOther} AND NOT (${isFact}) AND ${hasMore} RETURN ${relation}`
const withPhrase = (of: 'node' | 'relationship') =>
  `CALL db.index.fulltext.query${of === 'node' ? 'Nodes' : 'Relationships'}($index, $query) YIELD ${of} AS ${of === 'node' ? 'n' : 'r'}
   WHERE ${of === 'node' ? 'n' : 'r'}.group_id = $group RETURN DISTINCT ${of === 'node' ? node : relation}`

const quotedName = (name: string): string => `\`${name.replaceAll('`', '``')}\``

const Records = z.array(
  z.object({
    at: z.string(),
    uuid: z.string().nullable(),
    labels: z.array(z.string()),
    pairs: z.array(z.tuple([z.string(), z.unknown()])),
    type: z.string().optional(),
  }),
)
type TextRecord = z.infer<typeof Records>[number]

const isLabelled = (own: readonly string[]) => own.some((label) => Object.values<string>(labels).includes(label))

function textsOfRecord({ at, uuid, labels: own, pairs, type }: TextRecord): GraphText[] {
  if (type !== undefined ? type !== 'RELATES_TO' || uuid === null : uuid === null || !isLabelled(own))
    return textsOf(
      ...([type === undefined ? 'node' : 'link', at, {}] as const),
      Object.fromEntries(pairs.filter(([key]) => !plainLink.includes(key) && key !== lock)),
    )
  const kind = kindOfLabels(own)
  const { fields, core } = textProperties(kind)
  const found: Record<'fields' | 'attributes', Record<string, unknown>> = { fields: {}, attributes: {} }
  for (const [key, value] of pairs) {
    const field = fields.get(key)
    if (field !== undefined) found.fields[field] = value
    else if (!core.has(key) && key !== lock) found.attributes[key] = value
  }
  return textsOf(kind, uuid ?? '', found.fields, found.attributes)
}

/** All texts of a record as one string, each on a line after the name of its property; includes lists. */
const inPassing = (of: string, kind: keyof typeof atOnce): string => {
  const { fields, core } = kind === 'link' ? { fields: new Map(), core: plainLink } : textProperties(kind)
  const none = JSON.stringify([...core, lock].filter((key) => !fields.has(key)))
  return `reduce(s = '', key IN keys(${of}) | CASE WHEN key IN ${none} OR key ENDS WITH '_embedding' THEN s
    WHEN ${of}[key] IS :: STRING NOT NULL THEN s + '\\n' + key + '\\n' + ${of}[key]
    WHEN ${of}[key] IS :: LIST<STRING NOT NULL> NOT NULL THEN reduce(t = s + '\\n' + key, one IN ${of}[key] | t + '\\n' + one) ELSE s END)`
}
/**
 * A page of records, in the order of an index. The order includes the group, because otherwise every page would sort all following
 * records.
 */
const nodesAfter = (kind: keyof typeof labels, most: number) =>
  `MATCH (n:${labels[kind]}) WHERE n.group_id = $group AND n.uuid > $after WITH n ORDER BY n.group_id, n.uuid LIMIT ${most}`
const factsAfter = `MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group AND r.uuid > $after
  WITH r ORDER BY r.group_id, r.uuid LIMIT ${atOnce.fact}`
const linksAfter = (kind: keyof typeof labels, types: string) =>
  `${nodesAfter(kind, atOnce.link)} OPTIONAL MATCH (n)-[r:${types}]->() WHERE ${hasMore}`

interface Portion {
  /** Reads the records' texts as one string each, to filter them. */
  passing: string
  /** Reads the records in full. */
  records: string
}
const kinds = ['episode', 'entity', 'community', 'saga'] as const
const portions: Portion[] = [
  ...kinds.map((kind) => ({
    passing: `${nodesAfter(kind, atOnce[kind])} RETURN max(n.uuid) AS last, collect(${inPassing('n', kind)}) AS texts`,
    records: `${nodesAfter(kind, atOnce[kind])} RETURN ${node}`,
  })),
  {
    passing: `${factsAfter} RETURN max(r.uuid) AS last, collect(${inPassing('r', 'fact')}) AS texts`,
    records: `${factsAfter} RETURN ${relation}`,
  },
]
/** Pages of relationships of these types; the types are in Cypher syntax. */
const portionsOfLinks = (types: string): Portion[] =>
  kinds.map((kind) => ({
    passing: `${linksAfter(kind, types)} RETURN max(n.uuid) AS last, collect(${inPassing('r', 'link')}) AS texts`,
    records: `${linksAfter(kind, types)} WITH r WHERE r IS NOT NULL RETURN ${relation}`,
  }))
const Passing = z.array(z.object({ last: z.string().nullable(), texts: z.array(z.string()) }))
const Types = z.array(z.object({ type: z.string() }))

/**
 * Every text of a group in portions, each read in a separate transaction. The next portion is requested while this one is processed.
 * Records outside Graphiti's model are read in full.
 */
export async function* allTexts(
  ask: Ask,
  group: string,
  mayMatter: (text: string) => boolean,
): AsyncGenerator<GraphText[]> {
  const all = Types.parse(await ask('CALL db.relationshipTypes() YIELD relationshipType AS type RETURN type'))
  const types = all.flatMap(({ type }) => (type === 'RELATES_TO' ? [] : [quotedName(type)]))
  const look = (rows: unknown) =>
    Records.parse(rows)
      .flatMap(textsOfRecord)
      .filter(({ text }) => mayMatter(text))
  for (const { passing, records } of [...portions, ...(types.length > 0 ? portionsOfLinks(types.join('|')) : [])]) {
    const read = async (after: string) => Passing.parse(await ask(passing, { group, after }))[0]
    for (let [after, portion] = ['', await read('')]; portion?.last != null; ) {
      const { last, texts } = portion
      const following = read(last)
      following.catch(() => {})
      if (mayMatter(texts.join('\n'))) yield look(await ask(records, { group, after }))
      after = last
      portion = await following
    }
  }
  yield look(await ask(otherNodes, { group }))
  yield look(await ask(otherLinks, { group }))
}

/** Texts of the records that contain one of the phrases, found through the word indexes. */
export async function textsWithPhrases(
  ask: Ask,
  group: string,
  sought: readonly string[],
  words: WordIndexes,
): Promise<GraphText[]> {
  const found = new Map<string, TextRecord>()
  for (const { query } of phrases(sought, words.phrases))
    for (const [of, index] of [
      ['node', words.nodes],
      ['relationship', words.relations],
    ] as const)
      for (const record of Records.parse(await ask(withPhrase(of), { group, index, query: inGroup(group, query) })))
        found.set(`${of} ${record.at}`, record)
  return [...found.values()].flatMap(textsOfRecord)
}

const bare = `MATCH (n:Entity) WHERE n.group_id = $group AND NOT EXISTS { (n)<-[:MENTIONS]-() } AND NOT EXISTS { (n)-[:RELATES_TO]-() }
  RETURN n.uuid AS uuid, coalesce(n.name, '') AS name ORDER BY uuid`
export const entitiesWithoutMentions = async (ask: Ask, group: string): Promise<{ uuid: string; name: string }[]> =>
  z.array(z.object({ uuid: z.string(), name: z.string() })).parse(await ask(bare, { group }))

/** In the order of an index: by the group, too. Otherwise Neo4j reads and sorts all later episodes for each of these. */
const following = (time: string) => `UNWIND $ids AS id MATCH (a:Episodic {uuid: id}) WHERE a.group_id = $group
  CALL (a) { MATCH (e:Episodic) WHERE e.group_id = $group AND e.${time} >= a.${time} AND e.uuid <> a.uuid
    RETURN e.uuid AS uuid ORDER BY e.group_id, e.${time} LIMIT ${contextWindow} } RETURN DISTINCT uuid`
const exposedEntities = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  WITH DISTINCT n RETURN ${node} ORDER BY uuid`
const exposedFacts = `CALL db.index.fulltext.queryRelationships('${sources}', $query) YIELD relationship AS r
  WHERE r.group_id = $group AND any(episode IN r.episodes WHERE episode IN $ids) WITH DISTINCT r RETURN ${relation}`

/** Generated texts of the episodes that followed these, without the entities' names, which the episodes themselves contain. */
export async function textsAfter(ask: Ask, group: string, episodes: readonly string[]): Promise<GraphText[]> {
  const asked = new Set(episodes)
  const after = new Set<string>()
  for (const time of ['valid_at', 'created_at'])
    for (const { uuid } of await ask(following(time), { group, ids: episodes })) after.add(String(uuid))
  const ids = [...after].filter((uuid) => !asked.has(uuid))
  if (ids.length === 0) return []
  const records = Records.parse(await ask(exposedEntities, { group, ids }))
  for (const { texts, query } of phrases(ids))
    records.push(...Records.parse(await ask(exposedFacts, { group, ids: texts, query })))
  return records.flatMap(textsOfRecord).filter(({ kind, field }) => kind !== 'entity' || field !== 'name')
}

/** Rewrites texts. Returns how many changed. */
export async function editTexts({ ask }: Pick<Asking, 'ask'>, group: string, edits: readonly TextEdit[]) {
  let changed = 0
  for (const some of Map.groupBy(edits, ({ kind, field }) => `${kind} ${field}`).values()) {
    const [first] = some
    if (!first) continue
    const { kind, field } = first
    const isOwn = kind !== 'link' && kind !== 'node'
    const { properties, embedding } = isOwn ? textProperties(kind) : { properties: new Map(), embedding: null }
    const own = properties.get(field)
    const property = quotedName(own ?? field.replace(/^attributes\./, ''))
    const match =
      kind === 'link'
        ? 'MATCH ()-[r]->() WHERE elementId(r) = row.id'
        : kind === 'node'
          ? 'MATCH (r) WHERE elementId(r) = row.id AND r.group_id = $group'
          : kind === 'fact'
            ? 'MATCH ()-[r:RELATES_TO {uuid: row.id}]->() WHERE r.group_id = $group'
            : `MATCH (r:${labels[kind]} {uuid: row.id}) WHERE r.group_id = $group`
    const also = embedding !== null && embedding[0] === own ? ` REMOVE r.${embedding[1]}` : ''
    const rows = await ask(
      `UNWIND $rows AS row ${match} AND r.${property} IS NOT NULL AND (row.text IS NULL OR r.${property} <> row.text)
       WITH DISTINCT r, row SET r.${property} = row.text${also} RETURN 1 AS n`,
      // A removed text becomes an empty string if every record has the property.
      {
        group,
        rows: some.map(({ id, text }) => ({
          id,
          text: text ?? (own === undefined || field === 'metadata' ? null : ''),
        })),
      },
    )
    changed += rows.length
  }
  return changed
}
