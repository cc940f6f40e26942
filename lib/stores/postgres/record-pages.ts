import type { ExportPage } from '#lib/kernel/exporter.ts'
import type { Database } from './database.ts'

/** Which rows become records, and how. All SQL here is ours; values are passed as parameters. */
export interface RecordQuery {
  /** The table and its alias, including joins. */
  from: string
  /** The SQL condition, with the placeholders `$1`, `$2` … for `values`. */
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
  maxRows?: number
}

/** The maximum number of rows per page, … */
const pageRows = 128
/** … and of compressed bytes. Decompressed text is about three times as large, and never a hundred times. */
const pageBytes = 256 * 1024
/**
 * The maximum length of a text that is passed on, except for a longer record. Strings over 128 KiB, which are 64 Ki UTF-16 units, do not
 * become young objects, so they accumulate until V8 collects the whole heap.
 */
const pieceLength = 16 * 1024

/** SQL for a time in the API's format. */
export const utc = (column: string): string => `to_char(${column} AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')`

interface RecordRow {
  line: string
  at: string
  id: string
  /** The number of rows that were weighed for the page. */
  candidates: number
}

/**
 * Records as JSON text, built by PostgreSQL page by page from a key on. Between two pages it holds no cursor or transaction. PostgreSQL
 * builds one page while the previous one is sent; the one after that waits until the reader has taken a page.
 */
export async function* recordPages(db: Database, query: RecordQuery): AsyncGenerator<ExportPage> {
  const { from, where, values, at, id, columns, record, weight = '0', maxRows = pageRows } = query
  const key = (offset: number): string => `$${values.length + offset}`
  // Sizes determine the page before any document is decompressed. The window has already sorted the rows.
  const text = `WITH candidate AS MATERIALIZED (
      SELECT ${columns}, ${at} AS key_at, ${id} AS key_id, ${weight} AS key_weight FROM ${from}
      WHERE (${where}) AND (${at}, ${id}) > (${key(1)}::timestamptz, ${key(2)}) ORDER BY ${at}, ${id} LIMIT ${maxRows}),
    weighed AS (SELECT *, row_number() OVER ordered AS key_n, sum(key_weight) OVER ordered AS key_bytes FROM candidate
      WINDOW ordered AS (ORDER BY key_at, key_id ROWS UNBOUNDED PRECEDING))
    SELECT ${record}::text AS line, key_at::text AS at, key_id AS id, (SELECT count(*)::int FROM candidate) AS candidates FROM weighed AS c
      WHERE key_n = 1 OR key_bytes <= ${pageBytes} ORDER BY key_at, key_id`
  const pageAfter = (position: { at: string; id: string }) => {
    const page = db.query<RecordRow>(undefined, text, [...values, position.at, position.id])
    // A reader that stops leaves a page that nobody awaits.
    page.catch(() => {})
    return page
  }
  for (let coming = pageAfter({ at: '-infinity', id: '' }); ; ) {
    const rows = await coming
    const last = rows.at(-1)
    if (!last) return
    const isLast = rows.length === last.candidates && rows.length < maxRows
    if (!isLast) coming = pageAfter(last)
    yield* piecesOf(rows)
    if (isLast) return
  }
}

/** Joins records to pieces. PostgreSQL would sort their text in order to join it. */
function* piecesOf(rows: readonly RecordRow[]): Generator<ExportPage> {
  let lines: string[] = []
  let length = 0
  for (const { line } of rows) {
    if (length > 0 && length + line.length > pieceLength) {
      yield { lines: lines.join('\n'), count: lines.length }
      lines = []
      length = 0
    }
    lines.push(line)
    length += line.length
  }
  yield { lines: lines.join('\n'), count: lines.length }
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
