import { z } from 'zod'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/statement.ts'
import { contextWindow, type GraphPage, type GraphText, identifiersOf, type TextEdit } from './graph.ts'
import { graphTextsOf } from './graph-texts.ts'
import { hasWords, textPlaces } from './postgres-names.ts'
import { postgresFactsFrom, preferGraphIndexes } from './postgres-neighbourhood.ts'

type TextPlace = (typeof textPlaces)[number]
interface TextRow extends Record<string, unknown> {
  kind: GraphText['kind']
  uuid: string
  fields: Record<string, unknown>
  json: Record<string, unknown>
}

/** Phrases per statement. */
const phrasesAtOnce = 500

const columnsOf = (place: TextPlace): string => {
  const fields = Object.entries(place.fields).map(([field, column]) => `'${field}', t.${column}`)
  return `${place.kind.replace(/^kind$/, 't.kind')} AS kind, t.uuid, jsonb_build_object(${fields.join(', ')}) AS fields, t.${place.json} AS json`
}
const asTexts = (rows: readonly TextRow[]): GraphText[] =>
  rows.flatMap(({ kind, uuid, fields, json }) =>
    kind === 'episode'
      ? graphTextsOf(kind, uuid, { ...fields, metadata: json })
      : graphTextsOf(kind, uuid, fields, json),
  )

/** A record whose texts or JSON are longer than this many bytes is read separately. */
const longestInPassing = 8_192
/** How many blocks of a table are read at once; and how many records, if the group's are scattered. */
const blocksAtOnce = 256
const scatteredAtOnce = 5_000
const longOnesAtOnce = 50

const textColumns = ({ fields }: TextPlace): string[] => Object.values(fields).map((column) => `t.${column}`)
const hasShortTexts = (place: TextPlace): string =>
  `${textColumns(place)
    .map((column) => `octet_length(${column})`)
    .join(' + ')} <= ${longestInPassing}`
const hasShortJson = ({ json }: TextPlace): string => `pg_column_size(t.${json}) <= ${longestInPassing}`
const isShort = (place: TextPlace): string => `(${hasShortTexts(place)} AND ${hasShortJson(place)})`
/** Between texts in one string. A text that contains it is not filtered. */
const between = '\u001e'
/**
 * The texts of many records as one string, and their JSON as another, one per line, to filter them. `count`: the number of texts. `long`: the
 * records that were omitted because they are too long.
 */
const inPassing = (place: TextPlace): string =>
  `string_agg(${textColumns(place).join(' || chr(30) || ')}, chr(30)) FILTER (WHERE ${hasShortTexts(place)}) AS texts,
    (count(*) FILTER (WHERE ${hasShortTexts(place)}) * ${textColumns(place).length})::int4 AS count,
    string_agg(t.${place.json}::text, E'\\n') FILTER (WHERE t.${place.json} <> '{}' AND ${hasShortJson(place)}) AS json,
    array_agg(t.uuid) FILTER (WHERE NOT ${isShort(place)}) AS long`
interface Passing extends Record<string, unknown> {
  texts: string | null
  count: number
  json: string | null
  long: string[] | null
}
type Matters = (text: string) => boolean
const Properties = z.record(z.string(), z.unknown())
/** JSON with an escape sequence, or with a value that is not a string. */
const isIrregular = (json: string): boolean => json.includes('\\') || /": [^"]/.test(json)

/**
 * Whether the JSON of some records, one per line, contains a relevant text. JSON of plain strings contains their words in order, so it
 * can be searched without parsing.
 */
function mattersInJson(lines: string, mayMatter: Matters): boolean {
  return lines.split('\n').some((json) => {
    if (!isIrregular(json)) return mayMatter(json)
    const all = Properties.parse(JSON.parse(json))
    return [...graphTextsOf('fact', '', { all }), ...graphTextsOf('fact', '', {}, all)].some(({ text }) =>
      mayMatter(text),
    )
  })
}
/** Searches each text separately: the encoding of one must not change how another is read. */
function matters({ texts, count, json }: Passing, mayMatter: Matters): boolean {
  const all = texts?.split(between) ?? []
  return all.length !== count || all.some(mayMatter) || (json !== null && mattersInJson(json, mayMatter))
}

const nothing: Passing = { texts: null, count: 0, json: null, long: null }

/** Records of a group in a part of its table: first filtered as one text, then read individually if one of them is relevant. */
interface Portion {
  passing: Promise<Passing>
  records: () => Promise<TextRow[]>
}

interface TextQuery {
  group: string
  /** The time before which episodes and facts are omitted, or null. */
  since: Date | null
}
const isSince = ({ kind }: TextPlace, since: string): string =>
  kind === "'episode'" || kind === "'fact'"
    ? `(${since}::timestamptz IS NULL OR t.created_at >= ${since}::timestamptz)`
    : `(${since}::timestamptz IS NULL OR true)`

/** By blocks, in storage order: if the blocks contain at least one record of the group on average. */
function* byBlocks(tx: Transaction, place: TextPlace, { group, since }: TextQuery, blocks: number): Generator<Portion> {
  const where = `t.group_id = $1 AND t.ctid >= $2::tid AND t.ctid < $3::tid AND ${isSince(place, '$4')}`
  for (let at = 0; at < blocks; at += blocksAtOnce) {
    const values = [group, `(${at},0)`, `(${at + blocksAtOnce},0)`, since]
    const ask = <R extends Record<string, unknown>>(name: string, columns: string, and = 'true') =>
      queryWithin<R>(
        tx,
        `graph-${name}-by-block-${place.table}`,
        `SELECT ${columns} FROM ${place.table} t WHERE ${where} AND ${and}`,
        values,
      )
    yield {
      passing: ask<Passing>('passing', inPassing(place)).then(([row]) => row ?? nothing),
      records: () => ask<TextRow>('texts', columnsOf(place), isShort(place)),
    }
  }
}

/** By keys, if the group's records are few among those of others. */
function* byKeys(tx: Transaction, place: TextPlace, { group, since }: TextQuery): Generator<Portion> {
  let [after, isOver] = ['', false]
  while (!isOver) {
    const from = after
    const values = [group, from, since]
    const some = `SELECT * FROM ${place.table} t WHERE group_id = $1 AND uuid > $2 AND ${isSince(place, '$3')} ORDER BY uuid LIMIT ${scatteredAtOnce}`
    const ask = <R extends Record<string, unknown>>(name: string, columns: string, where = 'true') =>
      queryWithin<R>(
        tx,
        `graph-${name}-by-key-${place.table}`,
        `SELECT ${columns} FROM (${some}) AS t WHERE ${where}`,
        values,
      )
    const passing = ask<Passing & { last: string | null }>('passing', `${inPassing(place)}, max(t.uuid) AS last`)
    yield {
      passing: passing.then(([row]) => {
        isOver = row?.last == null
        after = row?.last ?? ''
        return row ?? nothing
      }),
      records: () => ask<TextRow>('texts', columnsOf(place), isShort(place)),
    }
  }
}

const readWhole = `SELECT set_config('enable_seqscan', 'on', true), set_config('jit', 'off', true), set_config('plan_cache_mode', 'force_custom_plan', true)`
const extent = (table: string) =>
  `SELECT (SELECT count(*) FROM ${table} WHERE group_id = $1)::float8 AS records, pg_relation_size('${table}'::regclass) / current_setting('block_size')::int::float8 AS blocks`

/**
 * Every text of a group, in the cheapest order. The next portion is requested while this one is processed, and no statement is running
 * while the caller works. With concurrent writes, only a transaction with one snapshot sees every record.
 */
export async function* postgresAllTexts(
  tx: Transaction,
  group: string,
  mayMatter: Matters,
  bound?: Date,
): AsyncGenerator<GraphText[]> {
  const query: TextQuery = { group, since: bound ?? null }
  await queryWithin(tx, 'graph-read-whole', readWhole, [])
  for (const place of textPlaces) {
    const { table } = place
    const [size] = await queryWithin<{ records: number; blocks: number }>(tx, `graph-extent-${table}`, extent(table), [
      group,
    ])
    const { records = 0, blocks = 0 } = size ?? {}
    if (records === 0) continue
    const portions = records >= blocks ? byBlocks(tx, place, query, blocks) : byKeys(tx, place, query)
    for (let next = portions.next(); !next.done; ) {
      const { passing, records } = next.value
      const found = await passing
      next = portions.next()
      // Awaited below, unless this portion fails first.
      if (!next.done) next.value.passing.catch(() => {})
      const isFound = matters(found, mayMatter)
      if (!next.done) await next.value.passing
      const look = (rows: readonly TextRow[]) => asTexts(rows).filter(({ text }) => mayMatter(text))
      if (isFound) yield look(await records())
      for (let at = 0; at < (found.long?.length ?? 0); at += longOnesAtOnce)
        yield look(await recordsByKey(tx, place, group, found.long?.slice(at, at + longOnesAtOnce)))
    }
  }
}
const recordsByKey = (tx: Transaction, place: TextPlace, group: string, uuids: readonly string[] = []) =>
  queryWithin<TextRow>(
    tx,
    `graph-texts-at-${place.table}`,
    `SELECT ${columnsOf(place)} FROM ${place.table} t WHERE t.group_id = $1 AND t.uuid = ANY($2::text[])`,
    [group, uuids],
  )

/** Texts of the records that contain all words of one of the phrases, found through the word indexes. */
export async function postgresTextsWithPhrases(
  tx: Transaction,
  group: string,
  phrases: readonly string[],
): Promise<GraphText[]> {
  const found = new Map<string, TextRow>()
  await preferGraphIndexes(tx)
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
export const postgresEntitiesWithoutMentions = (tx: Transaction, group: string) =>
  queryWithin<{ uuid: string; name: string }>(tx, 'graph-bare-entities', bare, [group])

const nextEpisodes = (time: string) => `SELECT n.uuid FROM asked a, LATERAL (
    SELECT e.uuid FROM graph_episodes e WHERE e.group_id = $1 AND e.${time} >= a.${time} AND e.uuid <> a.uuid
    ORDER BY e.${time} LIMIT ${contextWindow}) AS n`
const exposed = `WITH asked AS MATERIALIZED (SELECT uuid, valid_at, created_at FROM graph_episodes WHERE group_id = $1 AND uuid = ANY($2::text[]))
  SELECT DISTINCT f.uuid FROM (${nextEpisodes('valid_at')} UNION ALL ${nextEpisodes('created_at')}) AS f WHERE f.uuid <> ALL($2::text[])`
const [, entityPlace, factPlace] = textPlaces
const exposedEntities = `SELECT ${columnsOf(entityPlace)} FROM graph_entities t WHERE t.group_id = $1 AND t.uuid IN (
    SELECT m.entity FROM graph_mentions m WHERE m.group_id = $1 AND m.episode = ANY($2::text[])) ORDER BY t.uuid`
const exposedFacts = `SELECT ${columnsOf(factPlace)} FROM graph_facts t WHERE t.group_id = $1 AND t.uuid IN (${postgresFactsFrom('$2')}) ORDER BY t.uuid`

/** Generated texts of the episodes that followed these, without the entities' names, which the episodes themselves contain. */
export async function postgresTextsAfter(
  tx: Transaction,
  group: string,
  episodes: readonly string[],
): Promise<GraphText[]> {
  await preferGraphIndexes(tx)
  const rows = await queryWithin<{ uuid: string }>(tx, 'graph-exposed', exposed, [group, episodes])
  const ids = rows.map(({ uuid }) => uuid)
  if (ids.length === 0) return []
  const entities = await queryWithin<TextRow>(tx, 'graph-exposed-entities', exposedEntities, [group, ids])
  const facts = await queryWithin<TextRow>(tx, 'graph-exposed-facts', exposedFacts, [group, ids])
  return [...asTexts(entities).filter(({ field }) => field !== 'name'), ...asTexts(facts)]
}

/** Rewrites texts. Returns how many changed. */
export async function postgresEditTexts(tx: Transaction, group: string, edits: readonly TextEdit[]): Promise<number> {
  let changed = 0
  for (const [place, some] of Map.groupBy(edits, ({ kind, field }) => `${kind} ${field}`)) {
    const [kind = '', field = ''] = [place.slice(0, place.indexOf(' ')), place.slice(place.indexOf(' ') + 1)]
    const found = textPlaces.find((one) => one.kind === `'${kind}'`) ?? textPlaces.find((one) => one.kind === 'kind')
    if (!found || kind === 'link' || kind === 'node') continue
    const column = Object.entries(found.fields).find(([name]) => name === field)?.[1]
    const { embedding } = found
    const isEmbedded = embedding !== null && embedding.of === field
    const sets =
      column !== undefined
        ? `${column} = a.text${isEmbedded ? `, ${embedding.column} = '{}'` : ''}`
        : field === 'metadata'
          ? `metadata = '{}'`
          : `${found.json} = CASE WHEN a.text IS NOT NULL AND jsonb_typeof(t.${found.json} -> $4::text) = 'string'
              THEN jsonb_set(t.${found.json}, ARRAY[$4::text], to_jsonb(a.text)) ELSE t.${found.json} - $4::text END`
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
        some.map(({ text }) => text ?? (isAttribute ? null : '')),
        ...(isAttribute ? [field.slice('attributes.'.length)] : []),
      ],
    )
    changed += rows.length
  }
  return changed
}

const recordsPerPage = 500
const PageCursor = z.strictObject({ place: z.number(), group: z.string(), uuid: z.string() })
/** A page of all records of all groups, in the order of their keys. `until`: the cursor where it ends. */
export async function postgresReadPage(tx: Transaction, after: string | null, until?: string): Promise<GraphPage> {
  const at = after === null ? { place: 0, group: '', uuid: '' } : PageCursor.parse(JSON.parse(after))
  const end = until === undefined ? undefined : PageCursor.parse(JSON.parse(until))
  const isLast = end?.place === at.place
  const place = textPlaces[at.place]
  if (!place) return { elements: [], next: null }
  const rows = await queryWithin<TextRow & { group: string; written: Date | null; labels: string[] }>(
    tx,
    `graph-page-${place.table}${isLast ? '-until' : ''}`,
    `SELECT t.group_id AS group, t.created_at AS written, ${place.table === 'graph_entities' ? 't.labels' : "'{}'::text[]"} AS labels, ${columnsOf(place)} FROM ${place.table} t WHERE (t.group_id, t.uuid) > ($1, $2)
       ${isLast ? 'AND (t.group_id, t.uuid) <= ($3, $4)' : ''}
     ORDER BY t.group_id, t.uuid LIMIT ${recordsPerPage}`,
    [at.group, at.uuid, ...(isLast ? [end.group, end.uuid] : [])],
  )
  const last = rows.at(-1)
  const next =
    last && rows.length === recordsPerPage
      ? { place: at.place, group: last.group, uuid: last.uuid }
      : !isLast && at.place + 1 < textPlaces.length
        ? { place: at.place + 1, group: '', uuid: '' }
        : null
  return {
    elements: rows.map(({ group, written, labels, ...row }) => ({
      id: `${place.table}:${group}:${row.uuid}`,
      kind: 'node',
      group,
      texts: asTexts([row]),
      identifiers: identifiersOf([group, row.uuid, ...labels]),
      writtenAt: written ?? undefined,
    })),
    next: next && JSON.stringify(next),
  }
}
