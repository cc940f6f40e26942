import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { contextWindow, type GraphText, type TextEdit } from './graph.ts'
import { textsOf } from './graph-texts.ts'
import { hasWords, textPlaces } from './postgres-names.ts'
import { byIndex, inGroup } from './postgres-neighbourhood.ts'

type TextPlace = (typeof textPlaces)[number]
interface TextRow extends Record<string, unknown> {
  kind: GraphText['kind']
  uuid: string
  fields: Record<string, unknown>
  json: Record<string, unknown>
}

/** Records that are read at once, and phrases of one statement. */
const recordsAtOnce = 1_000
const phrasesAtOnce = 500

const columnsOf = (place: TextPlace): string => {
  const fields = Object.entries(place.fields).map(([field, column]) => `'${field}', t.${column}`)
  return `${place.kind.replace(/^kind$/, 't.kind')} AS kind, t.uuid, jsonb_build_object(${fields.join(', ')}) AS fields, t.${place.json} AS json`
}
const asTexts = (rows: readonly TextRow[]): GraphText[] =>
  rows.flatMap(({ kind, uuid, fields, json }) =>
    kind === 'episode' ? textsOf(kind, uuid, { ...fields, metadata: json }) : textsOf(kind, uuid, fields, json),
  )

/** Every text of a group, by the primary keys of its tables. */
export async function* allTexts(tx: Transaction, group: string): AsyncGenerator<GraphText[]> {
  for (const place of textPlaces)
    for (let after = ''; ; ) {
      const rows = await queryWithin<TextRow>(
        tx,
        `graph-texts-of-${place.table}`,
        `SELECT ${columnsOf(place)} FROM ${place.table} t WHERE t.group_id = $1 AND t.uuid > $2 ORDER BY t.uuid LIMIT ${recordsAtOnce}`,
        [group, after],
      )
      const last = rows.at(-1)
      if (last === undefined) break
      yield asTexts(rows)
      if (rows.length < recordsAtOnce) break
      after = last.uuid
    }
}

/** Texts of the records that contain all words of one of the phrases, by the indexes of words. */
export async function textsWithPhrases(
  tx: Transaction,
  group: string,
  phrases: readonly string[],
): Promise<GraphText[]> {
  const found = new Map<string, TextRow>()
  await byIndex(tx)
  for (let at = 0; at < phrases.length; at += phrasesAtOnce)
    for (const place of textPlaces)
      for (const row of await queryWithin<TextRow>(
        tx,
        `graph-texts-with-${place.table}`,
        `SELECT DISTINCT ON (t.uuid) ${columnsOf(place)} FROM unnest($2::text[]) AS a (sought)
           JOIN ${place.table} t ON ${hasWords(place, '$1', 'a.sought', 't.')} ORDER BY t.uuid`,
        [group, phrases.slice(at, at + phrasesAtOnce)],
      ))
        found.set(`${place.table} ${row.uuid}`, row)
  return asTexts([...found.values()])
}

const bare = `SELECT e.uuid, e.name FROM graph_entities e WHERE e.group_id = $1
  AND NOT EXISTS (SELECT FROM graph_mentions m WHERE m.group_id = $1 AND m.entity = e.uuid)
  AND NOT EXISTS (SELECT FROM graph_facts f WHERE f.group_id = $1 AND f.source = e.uuid)
  AND NOT EXISTS (SELECT FROM graph_facts f WHERE f.group_id = $1 AND f.target = e.uuid) ORDER BY e.uuid`
export const entitiesWithoutMentions = (tx: Transaction, group: string) =>
  queryWithin<{ uuid: string; name: string }>(tx, 'graph-bare-entities', bare, [group])

const following = (time: string) => `SELECT n.uuid FROM asked a, LATERAL (
    SELECT e.uuid FROM graph_episodes e WHERE e.group_id = $1 AND e.${time} >= a.${time} AND e.uuid <> a.uuid
    ORDER BY e.${time} LIMIT ${contextWindow}) AS n`
const exposed = `WITH asked AS MATERIALIZED (SELECT uuid, valid_at, created_at FROM graph_episodes WHERE group_id = $1 AND uuid = ANY($2::text[]))
  SELECT DISTINCT f.uuid FROM (${following('valid_at')} UNION ALL ${following('created_at')}) AS f WHERE f.uuid <> ALL($2::text[])`
const [, entityPlace, factPlace] = textPlaces
const exposedEntities = `SELECT ${columnsOf(entityPlace)} FROM graph_entities t WHERE t.group_id = $1 AND t.uuid IN (
    SELECT m.entity FROM graph_mentions m WHERE m.group_id = $1 AND m.episode = ANY($2::text[])) ORDER BY t.uuid`
const exposedFacts = `SELECT ${columnsOf(factPlace)} FROM graph_facts t WHERE ${inGroup.replace('group_id', 't.group_id')} AND t.episodes && $2::text[] ORDER BY t.uuid`

/** Generated texts of episodes that followed some others; without the entities' names, which the episodes themselves contain. */
export async function textsAfter(tx: Transaction, group: string, episodes: readonly string[]): Promise<GraphText[]> {
  await byIndex(tx)
  const rows = await queryWithin<{ uuid: string }>(tx, 'graph-exposed', exposed, [group, episodes])
  const ids = rows.map(({ uuid }) => uuid)
  if (ids.length === 0) return []
  const entities = await queryWithin<TextRow>(tx, 'graph-exposed-entities', exposedEntities, [group, ids])
  const facts = await queryWithin<TextRow>(tx, 'graph-exposed-facts', exposedFacts, [group, ids])
  return [...asTexts(entities).filter(({ field }) => field !== 'name'), ...asTexts(facts)]
}

/** Writes texts anew. Returns how many changed. */
export async function editTexts(tx: Transaction, group: string, edits: readonly TextEdit[]): Promise<number> {
  let changed = 0
  for (const [place, some] of Map.groupBy(edits, ({ kind, field }) => `${kind} ${field}`)) {
    const [kind = '', field = ''] = [place.slice(0, place.indexOf(' ')), place.slice(place.indexOf(' ') + 1)]
    const found = textPlaces.find((one) => one.kind === `'${kind}'`) ?? textPlaces.find((one) => one.kind === 'kind')
    if (!found || kind === 'link') continue
    const column = Object.entries(found.fields).find(([name]) => name === field)?.[1]
    const { embedding } = found
    const isEmbedded = embedding !== null && embedding.of === field
    const sets =
      column !== undefined
        ? `${column} = a.text${isEmbedded ? `, ${embedding.column} = '{}'` : ''}`
        : field === 'metadata'
          ? `metadata = '{}'`
          : `${found.json} = t.${found.json} - $4::text`
    const isOther =
      column !== undefined
        ? `t.${column} <> a.text`
        : field === 'metadata'
          ? `t.metadata <> '{}'`
          : `t.${found.json} ? $4::text`
    const isAttribute = column === undefined && field !== 'metadata'
    const rows = await queryWithin<{ uuid: string }>(
      tx,
      `graph-edit-${found.table}-${column ?? (isAttribute ? 'attribute' : 'metadata')}`,
      `UPDATE ${found.table} t SET ${sets} FROM unnest($2::text[], $3::text[]) AS a (uuid, text)
       WHERE t.group_id = $1 AND t.uuid = a.uuid AND ${isOther} RETURNING t.uuid`,
      [
        group,
        some.map(({ id }) => id),
        some.map(({ text }) => text ?? ''),
        ...(isAttribute ? [field.slice('attributes.'.length)] : []),
      ],
    )
    changed += rows.length
  }
  return changed
}
