import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/statement.ts'
import type { NameLocation } from './graph.ts'
import { nameIn, redactDeep, type SoughtName } from './name-locations.ts'

/** Where texts are stored, by table; `embedding`: which field is embedded. */
const places = [
  {
    table: 'graph_episodes',
    kind: "'episode'",
    fields: { name: 'name', sourceDescription: 'source_description', content: 'content' },
    json: 'metadata',
    embedding: null,
  },
  {
    table: 'graph_entities',
    kind: "'entity'",
    fields: { name: 'name', summary: 'summary' },
    json: 'attributes',
    embedding: { of: 'name', column: 'name_embedding' },
  },
  {
    table: 'graph_facts',
    kind: "'fact'",
    fields: { name: 'name', fact: 'fact' },
    json: 'attributes',
    embedding: { of: 'fact', column: 'fact_embedding' },
  },
  {
    table: 'graph_gatherings',
    kind: 'kind',
    fields: { name: 'name', summary: 'summary' },
    json: 'attributes',
    embedding: { of: 'name', column: 'name_embedding' },
  },
] as const
type TextPlace = (typeof places)[number]

/** All texts of a row as one SQL expression. */
export const searchedTextOf = ({ fields, json }: Pick<TextPlace, 'fields' | 'json'>, of = ''): string =>
  [...Object.values(fields).map((column) => of + column), `${of}${json}::text`].join(" || ' ' || ")
/**
 * Whether a row of the group contains all words of a text, through the table's word index. No other condition may be indexable: the
 * planner would consider scanning the whole group cheaper.
 */
export const hasWords = (place: Pick<TextPlace, 'fields' | 'json'>, group: string, sought: string, of = ''): string =>
  `graph_words(${of}group_id, ${searchedTextOf(place, of)}) @> graph_words(${group}, ${sought})`
export const textPlaces = places

interface NameRow extends Record<string, unknown> {
  sought: string
  uuid: string
  kind: NameLocation['kind']
  json: unknown
}

async function redactRow(
  tx: Transaction,
  group: string,
  place: TextPlace,
  row: NameRow,
  names: readonly SoughtName[],
): Promise<void> {
  const columns = Object.entries(place.fields)
  const redactAll = (text: string) => names.reduce((left, name) => name.redact(left), text)
  const values = columns.map(([field]) => redactAll(String(row[field])))
  const sets = columns.map(([, column], at) => `${column} = $${at + 4}`)
  const { embedding } = place
  if (embedding !== null && names.some((name) => name.isIn(String(row[embedding.of]))))
    sets.push(`${embedding.column} = '{}'`)
  const json = names.reduce((left, name) => redactDeep(left, name), row.json)
  await queryWithin(
    tx,
    `graph-redact-${place.table}-${sets.length}`,
    `UPDATE ${place.table} SET ${place.json} = $3::jsonb, ${sets.join(', ')} WHERE group_id = $1 AND uuid = $2`,
    [group, row.uuid, JSON.stringify(json), ...values],
  )
}

/** Rows of a table that contain all words of a name, once for each such name. */
const named = (place: TextPlace): string => {
  const columns = Object.entries(place.fields).map(([field, column]) => `t.${column} AS "${field}"`)
  return `SELECT a.sought, t.uuid, ${place.kind.replace(/^kind$/, 't.kind')} AS kind, ${columns.join(', ')}, t.${place.json} AS json
    FROM unnest($2::text[]) AS a (sought) JOIN ${place.table} t ON ${hasWords(place, '$1', 'a.sought', 't.')}
    ORDER BY t.uuid FOR UPDATE OF t`
}

/**
 * Where these names occur in the remaining records of a group, found through the word index. With `redact`, they are removed. Rows are
 * locked in the order of their ids.
 */
export async function postgresNameMentions(
  tx: Transaction,
  group: string,
  names: readonly string[],
  redact: boolean,
): Promise<NameLocation[]> {
  if (names.length === 0) return []
  const sought = new Map(names.map((name) => [name, nameIn(name)]))
  const found: NameLocation[] = []
  for (const place of places) {
    const rows = await queryWithin<NameRow>(tx, `graph-named-${place.table}`, named(place), [group, names])
    for (const ofOne of Map.groupBy(rows, ({ uuid }) => uuid).values()) {
      const [row] = ofOne
      if (!row) continue
      const mine = ofOne.flatMap((one) => sought.get(one.sought) ?? [])
      const has = (text: string) => mine.some((name) => name.isIn(text))
      const fields = Object.keys(place.fields).filter((field) => has(String(row[field])))
      if (has(JSON.stringify(row.json))) fields.push(place.json)
      found.push(...fields.map((field) => ({ kind: row.kind, id: row.uuid, field })))
      if (redact && fields.length > 0) await redactRow(tx, group, place, row, mine)
    }
  }
  return found
}
