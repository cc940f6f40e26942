import { z } from 'zod'
import { contextWindow, type GraphText, type TextEdit } from './graph.ts'
import { textsOf } from './graph-texts.ts'
import type { Ask, Asking } from './neo4j-connection.ts'
import { inGroup, phrases, sources, type WordIndexes } from './neo4j-indexes.ts'
import { kindOfLabels, textProperties } from './neo4j-names.ts'
import { lock } from './neo4j-values.ts'

/** Records that are read at once. */
const recordsAtOnce = 1_000
const labels = { episode: 'Episodic', entity: 'Entity', community: 'Community', saga: 'Saga' } as const

/** Without embeddings, which are large and contain no text. */
const pairsOf = (of: string) => `[key IN keys(${of}) WHERE NOT key ENDS WITH '_embedding' | [key, ${of}[key]]] AS pairs`
const node = `n.uuid AS uuid, labels(n) AS labels, ${pairsOf('n')}`
const relation = `r.uuid AS uuid, [] AS labels, ${pairsOf('r')}`
const nodesAfter = (label: string) =>
  `MATCH (n:${label}) WHERE n.group_id = $group AND n.uuid > $after WITH n ORDER BY n.uuid LIMIT ${recordsAtOnce} RETURN ${node}`
const factsAfter = `MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group AND r.uuid > $after
  WITH r ORDER BY r.uuid LIMIT ${recordsAtOnce} RETURN ${relation}`
/** What Graphiti gives every other relationship. Others are rare. */
const plainLink = ['uuid', 'group_id', 'created_at', 'source_node_uuid', 'target_node_uuid']
const linksOf = `UNWIND $ids AS id MATCH (n {uuid: id})-[r]->() WHERE n.group_id = $group AND type(r) <> 'RELATES_TO'
  AND any(key IN keys(r) WHERE NOT key IN ${JSON.stringify(plainLink)}) RETURN DISTINCT ${relation}`
const withPhrase = (of: 'node' | 'relationship') =>
  `CALL db.index.fulltext.query${of === 'node' ? 'Nodes' : 'Relationships'}($index, $query) YIELD ${of} AS ${of === 'node' ? 'n' : 'r'}
   WHERE ${of === 'node' ? 'n' : 'r'}.group_id = $group RETURN DISTINCT ${of === 'node' ? node : `${relation}, type(r) AS type`}`

const Records = z.array(
  z.object({
    uuid: z.string().nullable(),
    labels: z.array(z.string()),
    pairs: z.array(z.tuple([z.string(), z.unknown()])),
    type: z.string().optional(),
  }),
)
type TextRecord = z.infer<typeof Records>[number]

function textsOfRecord({ uuid, labels: own, pairs, type }: TextRecord): GraphText[] {
  const isLink = own.length === 0 && type !== undefined && type !== 'RELATES_TO'
  const kind = isLink ? 'link' : kindOfLabels(own)
  if (kind === 'link')
    return textsOf('link', uuid ?? '', Object.fromEntries(pairs.filter(([key]) => !plainLink.includes(key))))
  const { fields, core } = textProperties(kind)
  const found: Record<'fields' | 'attributes', Record<string, unknown>> = { fields: {}, attributes: {} }
  for (const [key, value] of pairs) {
    const field = fields.get(key)
    if (field !== undefined) found.fields[field] = value
    else if (!core.has(key) && key !== lock) found.attributes[key] = value
  }
  return textsOf(kind, uuid ?? '', found.fields, found.attributes)
}

/** Every text of a group, record by record. `ask` reads one page in a transaction. */
export async function* allTexts(ask: Ask, group: string): AsyncGenerator<GraphText[]> {
  for (const text of [...Object.values(labels).map(nodesAfter), factsAfter])
    for (let after = ''; ; ) {
      const records = Records.parse(await ask(text, { group, after }))
      const last = records.at(-1)
      if (last === undefined) break
      yield records.flatMap(textsOfRecord)
      if (records.length < recordsAtOnce || last.uuid === null) break
      after = last.uuid
    }
  for (const label of Object.values(labels))
    for (let after = ''; ; ) {
      const ids = z
        .array(z.object({ uuid: z.string() }))
        .parse(
          await ask(
            `MATCH (n:${label}) WHERE n.group_id = $group AND n.uuid > $after RETURN n.uuid AS uuid ORDER BY uuid LIMIT ${recordsAtOnce}`,
            { group, after },
          ),
        )
        .map(({ uuid }) => uuid)
      const last = ids.at(-1)
      if (last === undefined) break
      const links = Records.parse(await ask(linksOf.replace('(n {', `(n:${label} {`), { group, ids }))
      yield links.flatMap((link) => textsOfRecord({ ...link, type: 'link' }))
      if (ids.length < recordsAtOnce) break
      after = last
    }
}

/** Texts of the records that contain one of the phrases, by the indexes of words. */
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
        found.set(`${of} ${record.uuid} ${record.labels.join()}`, record)
  return [...found.values()].flatMap(textsOfRecord)
}

const bare = `MATCH (n:Entity) WHERE n.group_id = $group AND NOT EXISTS { (n)<-[:MENTIONS]-() } AND NOT EXISTS { (n)-[:RELATES_TO]-() }
  RETURN n.uuid AS uuid, coalesce(n.name, '') AS name ORDER BY uuid`
export const entitiesWithoutMentions = async (ask: Ask, group: string): Promise<{ uuid: string; name: string }[]> =>
  z.array(z.object({ uuid: z.string(), name: z.string() })).parse(await ask(bare, { group }))

const following = (time: string) => `UNWIND $ids AS id MATCH (a:Episodic {uuid: id}) WHERE a.group_id = $group
  CALL (a) { MATCH (e:Episodic) WHERE e.group_id = $group AND e.${time} >= a.${time} AND e.uuid <> a.uuid
    RETURN e.uuid AS uuid ORDER BY e.${time} LIMIT ${contextWindow} } RETURN DISTINCT uuid`
const exposedEntities = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  WITH DISTINCT n RETURN ${node} ORDER BY uuid`
const exposedFacts = `CALL db.index.fulltext.queryRelationships('${sources}', $query) YIELD relationship AS r
  WHERE r.group_id = $group AND any(episode IN r.episodes WHERE episode IN $ids) WITH DISTINCT r RETURN ${relation}, type(r) AS type`

/** Generated texts of episodes that followed some others; without the entities' names, which the episodes themselves contain. */
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

const quotedName = (property: string): string => `\`${property.replaceAll('`', '``')}\``

/** Writes texts anew. Returns how many changed. */
export async function editTexts({ ask }: Pick<Asking, 'ask'>, group: string, edits: readonly TextEdit[]) {
  let changed = 0
  for (const some of Map.groupBy(edits, ({ kind, field }) => `${kind} ${field}`).values()) {
    const [first] = some
    if (!first) continue
    const { kind, field } = first
    const isOwn = kind !== 'link'
    const { properties, embedding } = isOwn ? textProperties(kind) : { properties: new Map(), embedding: null }
    const own = properties.get(field)
    const property = quotedName(own ?? field.replace(/^attributes\./, ''))
    const match =
      kind === 'link'
        ? `MATCH (n)-[r]->() WHERE n.group_id = $group AND r.uuid = row.id`
        : kind === 'fact'
          ? 'MATCH ()-[r:RELATES_TO {uuid: row.id}]->() WHERE r.group_id = $group'
          : `MATCH (r:${labels[kind]} {uuid: row.id}) WHERE r.group_id = $group`
    const also = embedding !== null && embedding[0] === own ? ` REMOVE r.${embedding[1]}` : ''
    const rows = await ask(
      `UNWIND $rows AS row ${match} AND r.${property} IS NOT NULL AND (row.text IS NULL OR r.${property} <> row.text)
       WITH DISTINCT r, row SET r.${property} = row.text${also} RETURN 1 AS n`,
      // A removed text is an empty one where every record has the property.
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
