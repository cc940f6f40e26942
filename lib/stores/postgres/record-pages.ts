import type { ExportPage } from '#lib/kernel/exporter.ts'
import type { Database } from './database.ts'

/** Which rows become records, and how. All SQL here is ours; values are passed as parameters. */
export interface RecordQuery {
  /** The table and its alias, including joins. */
  from: string
  /** The condition; its values are `$1` … */
  where: string
  values: readonly unknown[]
  /** The sort key, oldest first: a time, and an id that distinguishes rows of the same time. */
  at: string
  id: string
  /** The columns of the record. */
  columns: string
  /** A JSON expression over these columns, in the row `c`. */
  record: string
  /** The compressed size of a row in bytes, read without decompressing it. */
  weight?: string
  /** The maximum number of rows per page, by default 128. Tables with small rows need fewer pages with more. */
  mostRows?: number
}

/** The maximum number of rows per page, … */
const pageRows = 128
/** … and of compressed bytes. Decompressed text is about three times as large, and never a hundred times. */
const pageBytes = 256 * 1024

/** SQL for a time in the API's format. */
export const utc = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

interface PageRow {
  lines: string | null
  count: number
  is_last: boolean
  at: string
  id: string
}

/**
 * Records as JSON text, built by PostgreSQL page by page from a key on. Between two pages it holds no cursor or transaction. PostgreSQL
 * builds one page while the previous one is sent; the one after that waits until the reader has taken a page.
 */
export async function* recordPages(db: Database, query: RecordQuery): AsyncGenerator<ExportPage> {
  const { from, where, values, at, id, columns, record, weight = '0', mostRows = pageRows } = query
  const key = (offset: number): string => `$${values.length + offset}`
  // Sizes determine the page before any document is decompressed.
  const text = `WITH candidate AS MATERIALIZED (
      SELECT ${columns}, ${at} AS key_at, ${id} AS key_id, ${weight} AS key_weight FROM ${from}
      WHERE (${where}) AND (${at}, ${id}) > (${key(1)}::timestamptz, ${key(2)}) ORDER BY ${at}, ${id} LIMIT ${mostRows}),
    weighed AS (SELECT *, row_number() OVER ordered AS key_n, sum(key_weight) OVER ordered AS key_bytes FROM candidate
      WINDOW ordered AS (ORDER BY key_at, key_id ROWS UNBOUNDED PRECEDING)),
    page AS (SELECT key_n, key_at, key_id, ${record}::text AS line FROM weighed AS c WHERE key_n = 1 OR key_bytes <= ${pageBytes})
    SELECT string_agg(line, E'\\n' ORDER BY key_n) AS lines, count(*)::int AS count, count(*) = (SELECT count(*) FROM candidate) AND count(*) < ${mostRows} AS is_last,
      (array_agg(key_at ORDER BY key_n DESC))[1]::text AS at, (array_agg(key_id ORDER BY key_n DESC))[1] AS id FROM page`
  const pageAfter = (position: { at: string; id: string }) => {
    const page = db.query<PageRow>(undefined, text, [...values, position.at, position.id])
    // A reader that stops leaves a page that nobody awaits.
    page.catch(() => {})
    return page
  }
  for (let coming = pageAfter({ at: '-infinity', id: '' }); ; ) {
    const [page] = await coming
    if (!page || page.lines === null) return
    if (!page.is_last) coming = pageAfter(page)
    yield { lines: page.lines, count: page.count }
    if (page.is_last) return
  }
}

/**
 * Records that this process builds from rows, for example because it must open sealed values. `next` returns the rows after a position,
 * oldest first; the first position has no time.
 */
export async function* openedPages<R>(
  next: (after: { at: Date | null; id: string }) => Promise<R[]>,
  positionOf: (row: R) => { at: Date; id: string },
  recordOf: (row: R) => object,
): AsyncGenerator<ExportPage> {
  for (let after: { at: Date | null; id: string } = { at: null, id: '' }; ; ) {
    const rows = await next(after)
    const last = rows.at(-1)
    if (last === undefined) return
    yield { lines: rows.map((row) => JSON.stringify(recordOf(row))).join('\n'), count: rows.length }
    after = positionOf(last)
  }
}

/** SQL for a JSON object of expressions, in this order. Names are ours. */
export const jsonObject = (members: Record<string, string>): string =>
  `json_build_object(${Object.entries(members)
    .map(([name, expression]) => `'${name}', ${expression}`)
    .join(', ')})`
