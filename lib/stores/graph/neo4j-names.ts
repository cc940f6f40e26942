import { z } from 'zod'
import type { NameLocation } from './graph.ts'
import { nameIn, redactDeep, type SoughtName } from './name-locations.ts'
import type { CypherRow, CypherSession } from './neo4j-connection.ts'
import { neo4jInGroup, phrases, type WordIndexes } from './neo4j-indexes.ts'
import { coreOfEntity, coreOfFact, coreOfGathering, lock } from './neo4j-values.ts'

/** By kind: the port's fields and their properties, core properties without text, and which property has which embedding. */
const places = {
  episode: {
    fields: { name: 'name', sourceDescription: 'source_description', content: 'content', metadata: 'episode_metadata' },
    core: ['uuid', 'group_id', 'source', 'entity_edges', 'created_at', 'valid_at'],
    embedding: null,
  },
  entity: { fields: { name: 'name', summary: 'summary' }, core: coreOfEntity, embedding: ['name', 'name_embedding'] },
  fact: { fields: { name: 'name', fact: 'fact' }, core: coreOfFact, embedding: ['fact', 'fact_embedding'] },
  community: {
    fields: { name: 'name', summary: 'summary' },
    core: coreOfGathering,
    embedding: ['name', 'name_embedding'],
  },
  saga: { fields: { name: 'name', summary: 'summary' }, core: coreOfGathering, embedding: null },
} as const satisfies Record<NameLocation['kind'], unknown>
const kinds: Record<string, NameLocation['kind']> = {
  Episodic: 'episode',
  Entity: 'entity',
  Community: 'community',
  Saga: 'saga',
}

/** The kind of a node by its labels; without any, it is a fact. */
export const kindOfLabels = (labels: readonly string[]): NameLocation['kind'] => {
  const label = labels.find((one) => Object.hasOwn(kinds, one))
  return (label === undefined ? undefined : kinds[label]) ?? 'fact'
}
/** Maps fields to properties and properties to fields, and lists core properties and the embedded property. */
export function textProperties(kind: NameLocation['kind']) {
  const { fields, core, embedding } = places[kind]
  const properties = new Map<string, string>(Object.entries(fields))
  return {
    properties,
    fields: new Map([...properties].map(([field, property]) => [property, field])),
    core: new Set<string>(core),
    embedding,
  }
}

const nodesWith = `CALL db.index.fulltext.queryNodes($index, $query) YIELD node AS n WHERE n.group_id = $group
  RETURN DISTINCT elementId(n) AS at`
const relationsWith = `CALL db.index.fulltext.queryRelationships($index, $query) YIELD relationship AS r
  WHERE r.group_id = $group AND type(r) = 'RELATES_TO' RETURN DISTINCT elementId(r) AS at`
/** The records as this transaction sees them; some may already be deleted in it. */
const nodesAt = `UNWIND $found AS at MATCH (n) WHERE elementId(n) = at
  RETURN at, n.uuid AS uuid, properties(n) AS p, labels(n) AS labels ORDER BY uuid`
const relationsAt = `UNWIND $found AS at MATCH ()-[r]->() WHERE elementId(r) = at
  RETURN at, r.uuid AS uuid, properties(r) AS p, [] AS labels ORDER BY uuid`
const writeNode = 'MATCH (n) WHERE elementId(n) = $at SET n += $changes'
const writeRelation = 'MATCH ()-[r]->() WHERE elementId(r) = $at SET r += $changes'

const Places = z.array(z.object({ at: z.string() }))
const Found = z.array(
  z.object({ at: z.string(), uuid: z.string(), p: z.record(z.string(), z.unknown()), labels: z.array(z.string()) }),
)
const redactText = (value: unknown, name: SoughtName): unknown => {
  if (typeof value !== 'string' || !value.startsWith('{')) return redactDeep(value, name)
  try {
    return JSON.stringify(redactDeep(JSON.parse(value), name))
  } catch {
    return name.redact(value)
  }
}

/** The fields that contain the name, and the values of their properties without it. A key equal to the name is removed with its value. */
function decideRow(
  kind: NameLocation['kind'],
  p: CypherRow,
  name: SoughtName,
): { fields: string[]; changes: CypherRow } {
  const { fields, core, embedding } = places[kind]
  const [found, changes] = [new Set<string>(), {} as CypherRow]
  const own = new Map<string, string>(Object.entries(fields).map(([field, property]) => [property, field]))
  const texts: readonly string[] = core
  for (const [property, value] of Object.entries(p)) {
    const field =
      own.get(property) ??
      (texts.includes(property) || property === lock ? undefined : kind === 'episode' ? undefined : 'attributes')
    if (field === undefined) continue
    const isKey = field === 'attributes' && name.isIn(property)
    if (!isKey && !name.isIn(typeof value === 'string' ? value : (JSON.stringify(value) ?? ''))) continue
    found.add(field)
    changes[property] = isKey ? null : redactText(value, name)
    if (isKey) changes[name.redact(property)] = redactText(value, name)
    if (embedding !== null && property === embedding[0]) changes[embedding[1]] = null
  }
  const order = [...Object.keys(fields), 'attributes']
  return { fields: order.filter((field) => found.has(field)), changes }
}

/** Several names as one, for a single query. */
const oneOf = (names: readonly SoughtName[]): SoughtName => ({
  isIn: (text) => names.some((name) => name.isIn(text)),
  redact: (text) => names.reduce((left, name) => name.redact(left), text),
})

/** Where these names occur in the remaining records of a group, found through its word indexes. With `redact`, they are removed. */
export async function neo4jNameMentions(
  { ask, seek }: CypherSession,
  group: string,
  names: readonly string[],
  redact: boolean,
  indexes: WordIndexes,
): Promise<NameLocation[]> {
  const found = new Map<string, NameLocation>()
  for (const { texts, query } of phrases(names, indexes.phrases)) {
    const name = oneOf(texts.map(nameIn))
    const parameters = { group, query: neo4jInGroup(group, query) }
    const places = async (sought: string, index: string, seen: string) =>
      Found.parse(
        await ask(seen, { found: Places.parse(await seek(sought, { ...parameters, index })).map(({ at }) => at) }),
      )
    const nodes = await places(nodesWith, indexes.nodes, nodesAt)
    const relations = await places(relationsWith, indexes.relations, relationsAt)
    for (const { at, uuid, p, labels } of [...nodes, ...relations]) {
      const kind = kindOfLabels(labels)
      const { fields, changes } = decideRow(kind, p, name)
      for (const field of fields) found.set(`${kind} ${uuid} ${field}`, { kind, id: uuid, field })
      if (redact && fields.length > 0) await ask(kind === 'fact' ? writeRelation : writeNode, { at, changes })
    }
  }
  return [...found.values()]
}
