import { createHash } from 'node:crypto'
import type { QueryResultRow } from 'pg'
import { unusableStore } from '#lib/kernel/store-refusal.ts'

/** Runs one statement on one connection and returns its rows. */
export type CheckpointQuery = <R extends QueryResultRow>(
  name: string,
  text: string,
  values: readonly unknown[],
) => Promise<R[]>
/** A name for the statement, so that it is prepared once per connection. */
export const statementName = (text: string): string =>
  `checkpoints-${createHash('sha256').update(text).digest('base64url').slice(0, 16)}`

export const threadTables = ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes'] as const
export type ThreadTable = (typeof threadTables)[number]
const memoryTables = ['store', 'store_vectors'] as const
export interface TableColumn {
  table: string
  column: string
  type: string
}
/** The library's tables that exist in a schema. Python's tables have additional columns, and so may later versions. */
export interface CheckpointSchema {
  schema: string
  columns: ReadonlyMap<string, readonly TableColumn[]>
  /** Nothing can be deleted from its long-term store. */
  isReadOnly?: boolean
}
export const has = (shape: CheckpointSchema, table: string, column?: string): boolean =>
  shape.columns.get(table)?.some((one) => column === undefined || one.column === column) ?? false
export const qualifiedTable = (shape: CheckpointSchema, table: string): string =>
  `"${shape.schema.replaceAll('"', '""')}"."${table}"`

const shapeSql = `SELECT c.relname AS table, a.attname AS column, format_type(a.atttypid, NULL) AS type
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname = $1 AND c.relname = ANY($2::text[]) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped ORDER BY a.attnum`
/**
 * Reads the tables and columns. A wrong database or schema must never look like an empty one. @throws `unavailable` if the tables are
 * missing
 */
export async function shapeOf(ask: CheckpointQuery, schema: string): Promise<CheckpointSchema> {
  const found = await ask<{ table: string; column: string; type: string }>(statementName(shapeSql), shapeSql, [
    schema,
    [...threadTables, ...memoryTables],
  ])
  const columns = new Map<string, TableColumn[]>()
  for (const column of found) columns.set(column.table, [...(columns.get(column.table) ?? []), column])
  if (threadTables.some((table) => !columns.has(table)))
    throw unusableStore('wrong_tables', {
      detail:
        'The checkpoint store has no tables of LangGraph in its schema. Nothing was changed. Let the application run setup(), or correct the schema in KP_CHECKPOINTS_URL.',
    })
  return { schema, columns }
}

const storesSql = `SELECT n.nspname AS schema, c.relname AS table, a.attname AS column, format_type(a.atttypid, NULL) AS type,
    has_table_privilege(c.oid, 'DELETE') AS may
  FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace JOIN pg_attribute a ON a.attrelid = c.oid
  WHERE n.nspname <> $1 AND c.relname = ANY($2::text[]) AND c.relkind IN ('r', 'p') AND a.attnum > 0 AND NOT a.attisdropped
    AND has_schema_privilege(n.oid, 'USAGE') AND has_table_privilege(c.oid, 'SELECT')
    AND ($3 OR has_table_privilege(c.oid, 'DELETE'))
    AND EXISTS (SELECT FROM pg_class m WHERE m.relnamespace = n.oid AND m.relname = 'store_migrations')
  ORDER BY n.nspname, a.attnum`
/**
 * LangGraph's long-term stores in other schemas of the same database. The Python and JavaScript libraries use different columns, so a
 * schema has the store of one of them. `isOnlyRead`: also those in which nothing can be deleted.
 */
export async function otherStores(
  ask: CheckpointQuery,
  schema: string,
  isOnlyRead = false,
): Promise<CheckpointSchema[]> {
  const rows = await ask<TableColumn & { schema: string; may: boolean }>(statementName(storesSql), storesSql, [
    schema,
    [...memoryTables],
    isOnlyRead,
  ])
  const shapes: CheckpointSchema[] = []
  for (const [name, columns] of Map.groupBy(rows, (row) => row.schema)) {
    const isReadOnly = columns.some(({ table, may }) => table === 'store' && !may)
    const shape = { schema: name, columns: Map.groupBy(columns, ({ table }) => table), isReadOnly }
    const isKeyed = has(shape, 'store', 'prefix') || has(shape, 'store', 'namespace_path')
    if (isKeyed && has(shape, 'store', 'key') && has(shape, 'store', 'value')) shapes.push(shape)
  }
  return shapes
}

/** A row of a thread. `at` is its position, valid while the row is locked and unchanged. */
export interface ThreadRow {
  table: ThreadTable
  at: string
  ns: string
  /** Empty in checkpoint_blobs. */
  checkpointId: string
  /** Empty in checkpoints. */
  channel: string
  /** Empty outside checkpoint_blobs. */
  version: string
  /** Empty outside checkpoint_writes. JavaScript's tables have no paths. */
  task: string
  taskPath: string
  type: string | null
  blob: Uint8Array | null
  /** JSON; only in `checkpoints`. */
  checkpoint: string | null
  metadata: string | null
}
const fetchedAtOnce = 4 * 1024 * 1024
const rowsAtOnce = 500

/** The rows of a thread, some megabytes at a time, so that a whole thread is never in memory. */
export async function* threadRows(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  lock: '' | 'FOR UPDATE',
): AsyncGenerator<ThreadRow> {
  for (const table of threadTables) {
    const place = qualifiedTable(shape, table)
    const size =
      table === 'checkpoints'
        ? '(pg_column_size(checkpoint) + pg_column_size(metadata))'
        : 'COALESCE(octet_length(blob), 0)'
    const placesSql = `SELECT ctid::text AS at, ${size}::int AS size FROM ${place} WHERE thread_id = $1 ORDER BY checkpoint_ns, ${
      table === 'checkpoint_blobs' ? 'channel' : 'checkpoint_id'
    } ${lock}`
    const column = (name: string, otherwise: string) => (has(shape, table, name) ? name : otherwise)
    const rowsSql = `SELECT ctid::text AS at, checkpoint_ns AS ns, ${column('checkpoint_id', "''")} AS "checkpointId", ${column('channel', "''")} AS channel,
      ${column('version', "''")} AS version, ${column('task_id', "''")} AS task, ${column('task_path', "''")} AS "taskPath", type, ${column('blob', 'NULL::bytea')} AS blob,
      ${column('checkpoint', 'NULL::text')}::text AS checkpoint, ${column('metadata', 'NULL::text')}::text AS metadata
      FROM ${place} WHERE ctid = ANY($1::tid[]) AND thread_id = $2`
    const places = await ask<{ at: string; size: number }>(statementName(placesSql), placesSql, [thread])
    for (let from = 0; from < places.length; ) {
      const batch: string[] = []
      for (let bytes = 0; from < places.length && batch.length < rowsAtOnce; from++) {
        const one = places[from]
        if (!one || (batch.length > 0 && bytes + one.size > fetchedAtOnce)) break
        bytes += one.size
        batch.push(one.at)
      }
      for (const row of await ask<Omit<ThreadRow, 'table'>>(statementName(rowsSql), rowsSql, [batch, thread]))
        yield { table, ...row }
    }
  }
}

export async function writeBlob(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  row: ThreadRow,
  blob: Uint8Array,
): Promise<void> {
  const text = `UPDATE ${qualifiedTable(shape, row.table)} SET blob = $2 WHERE ctid = $1::tid`
  await ask(statementName(text), text, [row.at, Buffer.from(blob)])
}
export async function writeCheckpoint(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  row: ThreadRow,
  checkpoint: string,
  metadata: string,
): Promise<void> {
  const text = `UPDATE ${qualifiedTable(shape, row.table)} SET checkpoint = $2::jsonb, metadata = $3::jsonb WHERE ctid = $1::tid`
  await ask(statementName(text), text, [row.at, checkpoint, metadata])
}
