import { z } from 'zod'
import { contextWindow, type GraphText, type TextEdit } from './graph.ts'
import { graphTextsOf } from './graph-texts.ts'
import type { CypherQuery, CypherSession } from './neo4j-connection.ts'
import { neo4jInGroup, phrases, sources, type WordIndexes } from './neo4j-indexes.ts'
import { kindOfLabels, textProperties } from './neo4j-names.ts'
import { lock } from './neo4j-values.ts'

/** How many records are read per query; episodes are long. */
const atOnce = { episode: 500, entity: 5_000, community: 5_000, saga: 5_000, fact: 20_000, link: 5_000 } as const
const labels = { episode: 'Episodic', entity: 'Entity', community: 'Community', saga: 'Saga' } as const

/** Without embeddings, which are large and contain no text. */
export const pairsOf = (of: string) =>
  `[key IN keys(${of}) WHERE NOT key ENDS WITH '_embedding' | [key, ${of}[key]]] AS pairs`
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

export function textsOfRecord({ at, uuid, labels: own, pairs, type }: TextRecord): GraphText[] {
  if (type !== undefined ? type !== 'RELATES_TO' || uuid === null : uuid === null || !isLabelled(own))
    return graphTextsOf(
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
  return graphTextsOf(kind, uuid ?? '', found.fields, found.attributes)
}

/**
 * A page of records, in the order of an index. The order includes the group, because otherwise every page would sort all following
 * records.
 */
const nodesAfter = (kind: keyof typeof labels, max: number, isRecent = '') =>
  `MATCH (n:${labels[kind]}) WHERE n.group_id = $group AND n.uuid > $after AND n.uuid <= $until${isRecent} WITH n ORDER BY n.group_id, n.uuid LIMIT ${max}`
const factsAfter = (isRecent = '') =>
  `MATCH ()-[r:RELATES_TO]->() WHERE r.group_id = $group AND r.uuid > $after AND r.uuid <= $until${isRecent}
  WITH r ORDER BY r.group_id, r.uuid LIMIT ${atOnce.fact}`
/** Also true of a record without a time, and of one whose time is not a time. */
const isSince = (of: 'n' | 'r') => ` AND NOT coalesce(${of}.created_at < datetime($since), false)`
const linksAfter = (kind: keyof typeof labels, types: string) =>
  `${nodesAfter(kind, atOnce.link)} OPTIONAL MATCH (n)-[r:${types}]->() WHERE ${hasMore}`

/** Records of one kind whose texts are read page by page. */
interface Portion {
  of: 'n' | 'r'
  /** The uuid by which pages are ordered. */
  id: 'n.uuid' | 'r.uuid'
  /** Matches a page. */
  page: string
  /** Reads the records of a page in full. */
  records: string
  /** Properties without text. */
  textless: readonly string[]
  /** Properties with text; others that the records have are added when they are met. */
  textual: readonly string[]
  /** The range of uuids: after the first, up to and including the last. */
  range?: readonly [after: string, until: string]
}
/** After every uuid. */
const last = '\u{10ffff}'
/** Splits random uuids into halves, which are read at the same time: most texts of a group are facts. */
const middle = '8'
/** Queries that run at the same time. */
const readersAtOnce = 2

const kinds = ['episode', 'entity', 'community', 'saga'] as const
function propertiesOf(kind: Parameters<typeof textProperties>[0]): Pick<Portion, 'textless' | 'textual'> {
  const { fields, core } = textProperties(kind)
  return { textual: [...fields.keys()], textless: [...core, lock].filter((key) => !fields.has(key)) }
}
function portionsOf(isBounded: boolean): Portion[] {
  const facts = factsAfter(isBounded ? isSince('r') : '')
  return [
    ...kinds.map((kind) => {
      const page = nodesAfter(kind, atOnce[kind], isBounded && kind === 'episode' ? isSince('n') : '')
      return { of: 'n' as const, id: 'n.uuid' as const, page, records: `${page} RETURN ${node}`, ...propertiesOf(kind) }
    }),
    ...[['', middle] as const, [middle, last] as const].map((range) => ({
      of: 'r' as const,
      id: 'r.uuid' as const,
      page: facts,
      records: `${facts} RETURN ${relation}`,
      range,
      ...propertiesOf('fact'),
    })),
  ]
}
/** Pages of relationships of these types; the types are in Cypher syntax. */
const portionsOfLinks = (types: string): Portion[] =>
  kinds.map((kind) => {
    const page = linksAfter(kind, types)
    const records = `${page} WITH r WHERE r IS NOT NULL RETURN ${relation}`
    return { of: 'r', id: 'n.uuid', page, records, textless: [...plainLink, lock], textual: [] }
  })
const Passing = z.tuple([
  z.object({ last: z.string().nullable(), keys: z.array(z.array(z.string())), values: z.array(z.array(z.unknown())) }),
])
const Types = z.array(z.object({ type: z.string() }))

const isEmbedding = (key: string): boolean => key.endsWith('_embedding')

/** The pages of a portion, each read in a separate transaction: its range of uuids, and its distinct texts. */
async function* pagesOf(ask: CypherQuery, { group, since }: TextQuery, portion: Portion) {
  const { of, id, page, textual, range: [start, until] = ['', last] } = portion
  const textless = new Set(portion.textless)
  const keys = [...textual]
  for (let after = start; ; ) {
    const values = keys.map((key) => `collect(DISTINCT ${of}.${quotedName(key)})`).join(', ')
    const [found] = Passing.parse(
      await ask(
        `${page} RETURN max(${id}) AS last, collect(DISTINCT keys(${of})) AS keys, ${values === '' ? 'collect(null)' : `[${values}]`} AS values`,
        { group, since, after, until },
      ),
    )
    if (found.last === null) return
    const more = new Set(found.keys.flat().filter((key) => !textless.has(key) && !isEmbedding(key)))
    if (!more.isSubsetOf(new Set(keys))) {
      keys.push(...more.difference(new Set(keys)))
      continue
    }
    const texts = found.values.flatMap((some, n) => {
      const key = keys[n] ?? ''
      // A list stays one text: words may begin in one element and end in the next.
      const lines = some
        .map((value) =>
          [value]
            .flat()
            .filter((part) => typeof part === 'string')
            .join('\n'),
        )
        .filter((line) => line !== '')
      return textual.includes(key) ? lines : lines.map((line) => `${key}\n${line}`)
    })
    yield { after, until, texts }
    after = found.last
  }
}

interface TextQuery extends Record<string, unknown> {
  group: string
  /** The time before which episodes and facts are omitted, or null. */
  since: string | null
}
/** Every text of a group, page by page. The next pages are requested while one is processed. Records outside Graphiti's model are read in full. */
export async function* neo4jAllTexts(
  ask: CypherQuery,
  group: string,
  mayMatter: (text: string) => boolean,
  bound?: Date,
): AsyncGenerator<GraphText[]> {
  const since = bound?.toISOString() ?? null
  const all = Types.parse(await ask('CALL db.relationshipTypes() YIELD relationshipType AS type RETURN type'))
  const types = all.flatMap(({ type }) => (type === 'RELATES_TO' ? [] : [quotedName(type)]))
  const look = (rows: unknown) =>
    Records.parse(rows)
      .flatMap(textsOfRecord)
      .filter(({ text }) => mayMatter(text))
  const waiting = [...portionsOf(since !== null), ...(types.length > 0 ? portionsOfLinks(types.join('|')) : [])]
  const open = (portion: Portion) => {
    const pages = pagesOf(ask, { group, since }, portion)
    const request = () => {
      const next = pages.next()
      // It is awaited below, unless another reader fails first.
      next.catch(() => {})
      return next
    }
    return { records: portion.records, request, next: request() }
  }
  const readers = waiting.splice(0, readersAtOnce).map(open)
  for (let reader = readers.shift(); reader; reader = readers.shift()) {
    const { value } = await reader.next
    if (!value) {
      readers.push(...waiting.splice(0, 1).map(open))
      continue
    }
    readers.push({ ...reader, next: reader.request() })
    const { texts, after, until } = value
    // Texts are decoded separately: the encoding of one text must not change how another is read.
    if (texts.some(mayMatter)) yield look(await ask(reader.records, { group, since, after, until }))
  }
  yield look(await ask(otherNodes, { group }))
  yield look(await ask(otherLinks, { group }))
}

/** Texts of the records that contain one of the phrases, found through the word indexes. */
export async function neo4jTextsWithPhrases(
  ask: CypherQuery,
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
      for (const record of Records.parse(
        await ask(withPhrase(of), { group, index, query: neo4jInGroup(group, query) }),
      ))
        found.set(`${of} ${record.at}`, record)
  return [...found.values()].flatMap(textsOfRecord)
}

const bare = `MATCH (n:Entity) WHERE n.group_id = $group AND NOT EXISTS { (n)<-[:MENTIONS]-() } AND NOT EXISTS { (n)-[:RELATES_TO]-() }
  RETURN n.uuid AS uuid, coalesce(n.name, '') AS name ORDER BY uuid`
export const neo4jEntitiesWithoutMentions = async (
  ask: CypherQuery,
  group: string,
): Promise<{ uuid: string; name: string }[]> =>
  z.array(z.object({ uuid: z.string(), name: z.string() })).parse(await ask(bare, { group }))

/** The order includes the group, as in the index. Otherwise Neo4j reads and sorts all later episodes for each of these. */
const nextEpisodes = (time: string) => `UNWIND $ids AS id MATCH (a:Episodic {uuid: id}) WHERE a.group_id = $group
  CALL (a) { MATCH (e:Episodic) WHERE e.group_id = $group AND e.${time} >= a.${time} AND e.uuid <> a.uuid
    RETURN e.uuid AS uuid ORDER BY e.group_id, e.${time} LIMIT ${contextWindow} } RETURN DISTINCT uuid`
/** A record without the properties of Graphiti's model that contain no text: times are the slowest to transfer. */
const textsOnly = (of: string, { textless }: Pick<Portion, 'textless'>) =>
  `elementId(${of}) AS at, ${of}.uuid AS uuid,
    [key IN keys(${of}) WHERE NOT key IN ${JSON.stringify(textless)} AND NOT key ENDS WITH '_embedding' | [key, ${of}[key]]] AS pairs`
const exposedEntities = `UNWIND $ids AS id MATCH (e:Episodic {uuid: id})-[:MENTIONS]->(n:Entity) WHERE e.group_id = $group AND n.group_id = $group
  WITH DISTINCT n
  RETURN ${textsOnly('n', propertiesOf('entity'))}, labels(n) AS labels`
const exposedFacts = `CALL db.index.fulltext.queryRelationships('${sources}', $query) YIELD relationship AS r
  WHERE r.group_id = $group AND any(episode IN r.episodes WHERE episode IN $ids) WITH DISTINCT r
  RETURN ${textsOnly('r', propertiesOf('fact'))}, [] AS labels, type(r) AS type`

/**
 * Generated texts of the episodes that followed these, without the entities' names, which the episodes themselves contain. `ask` runs each
 * query in its own transaction, so that entities and facts are read at the same time.
 */
export async function neo4jTextsAfter(
  ask: CypherQuery,
  group: string,
  episodes: readonly string[],
): Promise<GraphText[]> {
  const asked = new Set(episodes)
  const after = new Set<string>()
  const next = await Promise.all(
    ['valid_at', 'created_at'].map((time) => ask(nextEpisodes(time), { group, ids: episodes })),
  )
  for (const { uuid } of next.flat()) after.add(String(uuid))
  const ids = [...after].filter((uuid) => !asked.has(uuid))
  if (ids.length === 0) return []
  const found = await Promise.all([
    ask(exposedEntities, { group, ids }),
    ...[...phrases(ids)].map(({ texts, query }) => ask(exposedFacts, { group, ids: texts, query })),
  ])
  return found
    .flatMap((rows) => Records.parse(rows))
    .flatMap(textsOfRecord)
    .filter(({ kind, field }) => kind !== 'entity' || field !== 'name')
}

/** Rewrites texts. Returns how many changed. */
export async function neo4jEditTexts({ ask }: Pick<CypherSession, 'ask'>, group: string, edits: readonly TextEdit[]) {
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
    const isAttribute = own === undefined && field.startsWith('attributes.')
    const value = isAttribute ? `CASE WHEN toStringOrNull(r.${property}) = r.${property} THEN row.text END` : 'row.text'
    const also = embedding !== null && embedding[0] === own ? ` REMOVE r.${embedding[1]}` : ''
    const rows = await ask(
      `UNWIND $rows AS row ${match} AND r.${property} IS NOT NULL AND (row.text IS NULL OR r.${property} <> row.text)
       WITH DISTINCT r, row SET r.${property} = ${value}${also} RETURN 1 AS n`,
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
