import {
  type CheckpointQuery,
  type CheckpointSchema,
  has,
  qualifiedTable,
  statementName,
  type ThreadTable,
  threadTables,
} from './rows.ts'

/** The end of a page of a thread's rows; undefined: before the first row. */
export interface ThreadCursor {
  table: ThreadTable
  /** The key of the last row; empty before the first row of the table. */
  after: readonly string[]
}
/** A row of a thread in an export: JSON unchanged, other bytes in base64 with the `type` of their serializer. */
export type ThreadRecord = Record<string, unknown>
export interface ThreadPage {
  rows: ThreadRecord[]
  next: ThreadCursor | undefined
}

/** A row may have megabytes. */
const rowsAtOnce = 20
const keys: Record<ThreadTable, readonly string[]> = {
  checkpoints: ['checkpoint_ns', 'checkpoint_id'],
  checkpoint_blobs: ['checkpoint_ns', 'channel', 'version'],
  checkpoint_writes: ['checkpoint_ns', 'checkpoint_id', 'task_id', 'idx'],
}
const isNumber = (column: string): boolean => column === 'idx'

function contentOf(type: unknown, base64: string | null): { value?: unknown; base64?: string } {
  if (base64 === null) return {}
  if (type !== 'json') return { base64 }
  try {
    return { value: JSON.parse(Buffer.from(base64, 'base64').toString('utf8')) }
  } catch {
    return { base64 }
  }
}

/** A page of a thread's rows in the order of their keys, table by table. */
export async function threadPage(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  { table, after }: ThreadCursor = { table: threadTables[0], after: [] },
): Promise<ThreadPage> {
  const columns = keys[table]
  const key = columns.join(', ')
  const placeholders = columns.map((column, n) => (isNumber(column) ? `$${n + 2}::int` : `$${n + 2}`)).join(', ')
  const blob = has(shape, table, 'blob') ? "encode(x.blob, 'base64')" : 'NULL::text'
  const text = `SELECT ARRAY[${columns.map((column) => `x.${column}::text`).join(', ')}] AS key, to_jsonb(x) - ARRAY['blob'] AS row, ${blob} AS blob
    FROM ${qualifiedTable(shape, table)} x WHERE x.thread_id = $1 ${after.length === 0 ? '' : `AND (${key}) > (${placeholders})`}
    ORDER BY ${key} LIMIT ${rowsAtOnce}`
  const found = await ask<{ key: string[]; row: Record<string, unknown>; blob: string | null }>(
    statementName(text),
    text,
    [thread, ...after],
  )
  const rows = found.map(({ row, blob: bytes }) => ({ table, ...row, ...contentOf(row.type, bytes) }))
  const last = found.at(-1)
  if (last && found.length === rowsAtOnce) return { rows, next: { table, after: last.key } }
  const nextTable = threadTables[threadTables.indexOf(table) + 1]
  return { rows, next: nextTable && { table: nextTable, after: [] } }
}
