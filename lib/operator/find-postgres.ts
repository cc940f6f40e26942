import pg from 'pg'
import { readable } from '#lib/domains/projects/values/readable.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { readPage } from '#lib/stores/checkpoints/reading.ts'
import { type CheckpointQuery, type CheckpointSchema, threadTables } from '#lib/stores/checkpoints/rows.ts'
import type { FindPage, FindRecord, FindSource } from './find.ts'

/** The time limits of a statement and of a lock, in milliseconds. */
const maxStatementTime = 30_000
const maxLockTime = 2_000
/** Blocks of a table in one page. A page with large values gets fewer. */
const blocksAtOnce = 256
const rowsAtOnce = 200
const bytesPerPage = 8 * 1024 * 1024
/** Maximum stored size of a value in bytes. Larger ones are counted. */
const maxRead = 16 * 1024 * 1024

type Column = { name: string; isBytes: boolean; type: string }
interface Table {
  schema: string
  name: string
  columns: Column[]
  key: string[]
  /** Measured when its reading begins. */
  blocks?: number
}
type Part = { kind: 'threads'; shape: CheckpointSchema } | { kind: 'table'; table: Table }
/** The part that is read, and the position in it. */
interface Cursor {
  part: string
  at: string | null
}

const quoted = (name: string): string => pg.escapeIdentifier(name)

/**
 * All tables and materialized views with columns that contain text: of a text type, JSON, XML, hstore, arrays of them, records and bytes.
 * `key`: the primary key.
 */
const columnsSql = `SELECT n.nspname AS schema, c.relname AS table, a.attname AS name, format_type(a.atttypid, NULL) AS type,
    coalesce(b.typname, t.typname) = 'bytea' AS "isBytes",
    coalesce(b.typcategory, t.typcategory) = 'S' OR coalesce(b.typname, t.typname) IN ('json', 'jsonb', 'xml', 'hstore', 'ltree', 'tsvector', 'bytea')
      OR t.typcategory = 'C' OR (t.typcategory = 'A' AND (e.typcategory IN ('S', 'C') OR e.typname IN ('json', 'jsonb', 'xml', 'hstore', 'bytea'))) AS "isText",
    has_schema_privilege(n.oid, 'USAGE') AND has_column_privilege(c.oid, a.attnum, 'SELECT') AS may,
    row_security_active(c.oid) AS "isFiltered",
    coalesce(a.attnum = ANY(i.indkey), false) AS "isKey"
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid JOIN pg_type t ON t.oid = a.atttypid
  LEFT JOIN pg_type b ON b.oid = t.typbasetype AND t.typtype = 'd' LEFT JOIN pg_type e ON e.oid = t.typelem AND t.typcategory = 'A'
  LEFT JOIN pg_index i ON i.indrelid = c.oid AND i.indisprimary
  WHERE c.relkind IN ('r', 'm') AND c.relpersistence <> 't' AND a.attnum > 0 AND NOT a.attisdropped
    AND n.nspname NOT IN ('pg_catalog', 'information_schema') AND n.nspname !~ '^pg_(toast|temp)'
    AND ($1::text IS NULL OR n.nspname = $1)
  ORDER BY n.nspname, c.relname, a.attnum`
interface ColumnRow {
  schema: string
  table: string
  name: string
  type: string
  isBytes: boolean
  isText: boolean
  may: boolean
  isFiltered: boolean
  isKey: boolean
}
/** Waits for a lock of the table, so that a locked table is measured alone. */
const blocksSql = "SELECT (pg_relation_size($1::regclass) / current_setting('block_size')::bigint)::int AS blocks"

/** Why a table cannot be read now, by the code of PostgreSQL. Other tables can. */
const passing: Readonly<Record<string, string>> = {
  '55P03': 'another session has locked it',
  '42P01': 'it was dropped during the search',
  '42703': 'its columns were changed during the search',
  '42501': 'the right to read it was revoked during the search',
}

/** Runs statements in a transaction that cannot write, with time limits. */
export type ReadOnly = <T>(work: (client: pg.Client) => Promise<T>) => Promise<T>

/** One read-only connection, opened on first use and again after it broke. */
export function readOnlyPostgres(url: string): {
  within: ReadOnly
  close(): Promise<void>
  address: string
  schema: string | null
  /** Rejects if the address names a schema that does not exist: a search of it would be complete and find nothing. */
  requireSchema(): Promise<void>
} {
  const address = new URL(url)
  const schema = address.searchParams.get('schema')
  address.searchParams.delete('schema')
  let open: pg.Client | undefined
  let isClosed = false
  async function client(): Promise<pg.Client> {
    if (open) return open
    const made = new pg.Client({
      connectionString: address.href,
      connectionTimeoutMillis: 10_000,
      // For a server that no longer answers, which cannot enforce its own limit.
      query_timeout: 2 * maxStatementTime,
      application_name: 'kp find',
    })
    made.on('error', () => {
      if (open === made) open = undefined
    })
    await made.connect()
    if (isClosed) {
      await made.end()
      throw new Error('the search has ended')
    }
    open = made
    return made
  }
  const within: ReadOnly = async (work) => {
    const connection = await client()
    try {
      await connection.query('BEGIN TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY')
      await connection.query(
        `SET LOCAL statement_timeout = ${maxStatementTime}; SET LOCAL lock_timeout = ${maxLockTime}; SET LOCAL idle_in_transaction_session_timeout = 120000`,
      )
      return await work(connection)
    } finally {
      await connection.query('ROLLBACK').catch(() => {
        open = undefined
      })
    }
  }
  return {
    address: `${address.host}${address.pathname}${schema === null ? '' : `?schema=${schema}`}`,
    schema,
    within,
    async requireSchema() {
      if (schema === null) return
      const { rowCount } = await within((one) => one.query('SELECT FROM pg_namespace WHERE nspname = $1', [schema]))
      if (rowCount === 0) throw unusableStore('missing', { detail: 'The schema does not exist.' })
    },
    async close() {
      isClosed = true
      const last = open
      open = undefined
      await last?.end()
    },
  }
}

const isThreadTable = (name: string): boolean => threadTables.some((one) => one === name)
const partName = (part: Part): string =>
  part.kind === 'threads' ? `${part.shape.schema} threads` : `${part.table.schema}.${part.table.name}`

/** What is searched, in the order of names, and what cannot be. */
function partsOf(rows: readonly ColumnRow[]): { parts: Part[]; skipped: string[] } {
  const parts: Part[] = []
  const skipped: string[] = []
  for (const [schema, ofSchema] of Map.groupBy(rows, (row) => row.schema)) {
    const tables = Map.groupBy(ofSchema, ({ table }) => table)
    const hasThreads = threadTables.every((name) =>
      tables.get(name)?.some((row) => row.name === 'thread_id' && row.may),
    )
    if (hasThreads) {
      const columns = new Map(
        [...tables].map(([table, own]) => [table, own.map(({ name, type }) => ({ table, column: name, type }))]),
      )
      parts.push({ kind: 'threads', shape: { schema, columns } })
    }
    for (const [name, columns] of tables) {
      if (hasThreads && isThreadTable(name)) continue
      const texts = columns.filter(({ isText }) => isText)
      const denied = texts.filter(({ may }) => !may)
      if (denied.length > 0)
        skipped.push(`${schema}.${name}: this user may not read ${denied.map((one) => one.name).join(', ')}`)
      if (columns.some(({ isFiltered }) => isFiltered))
        skipped.push(`${schema}.${name}: row security may hide rows from this user`)
      const readableColumns = texts.filter(({ may }) => may)
      if (readableColumns.length === 0) continue
      parts.push({
        kind: 'table',
        table: {
          schema,
          name,
          columns: readableColumns,
          key: columns.filter(({ isKey, may }) => isKey && may).map((one) => one.name),
        },
      })
    }
  }
  return { parts, skipped }
}

function pageSql({ schema, name, columns, key }: Table, from: number, to: number): string {
  const values = columns.flatMap(({ name: column, isBytes }) => {
    const value = `t.${quoted(column)}`
    return [
      `CASE WHEN pg_column_size(${value}) <= ${maxRead} THEN ${isBytes ? value : `${value}::text`} END`,
      `coalesce(pg_column_size(${value}) > ${maxRead}, false)`,
    ]
  })
  const keys = key.map((column) => `t.${quoted(column)}::text`)
  return `SELECT ARRAY[${[...keys, ...(keys.length === 0 ? ['t.ctid::text'] : [])].join(', ')}]::text[], ${values.join(', ')}
    FROM ONLY ${quoted(schema)}.${quoted(name)} t WHERE t.ctid >= '(${from},0)'::tid AND t.ctid < '(${to},0)'::tid`
}

/** Adds the time until a statement is answered to the work of the server. */
type Timed = <T>(statement: Promise<T>) => Promise<T>

/** The rows in some blocks of a table. Reads by position, which needs no index and returns to no row. */
async function tablePage(
  { within, timed }: { within: ReadOnly; timed: Timed },
  table: Table,
  from: number,
  count: number,
): Promise<FindPage & { bytes: number }> {
  return within(async (client) => {
    const records: FindRecord[] = []
    const unread: FindPage['unread'] = {}
    const more = (kind: 'binary' | 'large') => {
      unread[kind] = (unread[kind] ?? 0) + 1
    }
    let bytes = 0
    await timed(client.query(`DECLARE found NO SCROLL CURSOR FOR ${pageSql(table, from, from + count)}`))
    for (;;) {
      const fetched = client.query<unknown[]>({ text: `FETCH ${rowsAtOnce} FROM found`, rowMode: 'array' })
      const { rows } = await timed(fetched)
      for (const [key, ...values] of rows)
        for (const [at, { name, isBytes }] of table.columns.entries()) {
          const value = values[at * 2]
          if (values[at * 2 + 1] === true) more('large')
          if (value === null || value === undefined) continue
          const read = isBytes && Buffer.isBuffer(value) ? readable(value) : undefined
          if (read?.form === 'binary') more('binary')
          const text = read?.text ?? String(value)
          bytes += text.length
          const row = Array.isArray(key) ? key.join(', ') : ''
          records.push({ kind: 'row', name: `${table.schema}.${table.name} ${row}`, field: name, texts: [text] })
        }
      if (rows.length < rowsAtOnce) break
    }
    return { records, unread, next: null, bytes }
  })
}

/**
 * Every text of a PostgreSQL database: threads of LangGraph as the libraries write them, and the text, JSON and byte columns of all other
 * tables, such as long-term stores and those of pgvector. Every transaction is read-only. `requiresSchema`: a schema of the address that
 * does not exist is a failure, as if somebody mistyped it.
 */
export function postgresSource(url: string, { requiresSchema = false } = {}): FindSource {
  const { within, close, address, schema, requireSchema } = readOnlyPostgres(url)
  let known: { parts: Part[]; skipped: string[] } | undefined
  let blocks = blocksAtOnce
  let worked = 0
  // The search itself takes longer than the statements, and the server rests meanwhile.
  const timed: Timed = async (statement) => {
    const began = performance.now()
    try {
      return await statement
    } finally {
      worked += performance.now() - began
    }
  }
  const ask: CheckpointQuery = async (_name, text, values) =>
    within(async (client) => (await timed(client.query({ text, values: [...values] }))).rows)

  const blocksOf = ({ schema: of, name }: Table): Promise<number> =>
    within(async (client) => {
      const found = client.query<{ blocks: number }>(blocksSql, [`${quoted(of)}.${quoted(name)}`])
      return (await timed(found)).rows[0]?.blocks ?? 0
    })

  /** The next page of a table. After a timeout it reads less; a single block that takes too long is counted. */
  async function nextRows(table: Table, at: string | null): Promise<FindPage> {
    const from = Number(at ?? 0)
    const nextPage = (to: number) => (to < (table.blocks ?? 0) ? String(to) : null)
    for (;;) {
      let count = 0
      try {
        table.blocks ??= await blocksOf(table)
        if (from >= table.blocks) return { records: [], unread: {}, next: null }
        count = Math.min(blocks, table.blocks - from)
        const { bytes, ...page } = await tablePage({ within, timed }, table, from, count)
        if (bytes > bytesPerPage) blocks = Math.max(1, blocks >> 1)
        else if (bytes < bytesPerPage / 8) blocks = Math.min(blocksAtOnce, blocks * 2)
        return { ...page, next: nextPage(from + count) }
      } catch (error) {
        const code = errorCode(error) ?? ''
        const reason = passing[code]
        if (reason !== undefined) {
          known?.skipped.push(`${table.schema}.${table.name}: ${reason}`)
          return { records: [], unread: {}, next: null }
        }
        if (code !== '57014') throw error
        if (count > 1) {
          blocks = Math.max(1, count >> 2)
          continue
        }
        return { records: [], unread: { slow: 1 }, next: nextPage(from + 1) }
      }
    }
  }
  async function threadRows(shape: CheckpointSchema, at: string | null): Promise<FindPage> {
    // Long-term stores are read with the other tables.
    const { rows, unread, next } = await readPage(ask, shape, [], at)
    return {
      records: rows.map(({ thread, texts }) => ({ kind: 'thread', name: thread, field: shape.schema, texts })),
      unread: unread as FindPage['unread'],
      next,
    }
  }

  return {
    store: 'postgresql',
    address,
    skipped: () => known?.skipped ?? [],
    close,
    async page(after) {
      if (requiresSchema && known === undefined) await requireSchema()
      known ??= partsOf(await within(async (client) => (await client.query<ColumnRow>(columnsSql, [schema])).rows))
      const { parts } = known
      worked = 0
      const cursor: Cursor | undefined = after === null ? undefined : JSON.parse(after)
      // A table that was dropped since the search was interrupted: continue with the one after it.
      const found = cursor ? parts.findIndex((part) => partName(part) >= cursor.part) : 0
      const part = parts[found]
      if (!part) return { records: [], unread: {}, next: null }
      const at = cursor?.part === partName(part) ? cursor.at : null
      const page = part.kind === 'threads' ? await threadRows(part.shape, at) : await nextRows(part.table, at)
      const nextPart = parts[found + 1]
      const next: Cursor | null =
        page.next !== null
          ? { part: partName(part), at: page.next }
          : nextPart
            ? { part: partName(nextPart), at: null }
            : null
      return { ...page, next: next && JSON.stringify(next), worked }
    },
  }
}
