import { z } from 'zod'
import type { UnreadReason } from '#lib/kernel/data-source.ts'
import { timeOfUuid } from '#lib/kernel/ids.ts'
import type { CheckpointPage } from './checkpoints.ts'
import { type MemoryCursor, memoryPage } from './memory-pages.ts'
import { isPlainObject } from './messages.ts'
import { isUtf8Text, PackedBytes, PackedExtension, PackedNumber } from './msgpack-values.ts'
import {
  type CheckpointQuery,
  type CheckpointSchema,
  has,
  qualifiedTable,
  statementName,
  type ThreadTable,
  threadTables,
} from './rows.ts'
import { decode, decodeColumn, Unreadable } from './serialised.ts'

/** The keys of the tables. Rows keep their order by key when they are updated, unlike their places in the table. */
const keys: Record<ThreadTable, readonly string[]> = {
  checkpoints: ['thread_id', 'checkpoint_ns', 'checkpoint_id'],
  checkpoint_blobs: ['thread_id', 'checkpoint_ns', 'channel', 'version'],
  checkpoint_writes: ['thread_id', 'checkpoint_ns', 'checkpoint_id', 'task_id', 'idx'],
}
/** Further columns that an application may give names with words of people. JavaScript's tables have no paths of tasks. */
const named: Record<ThreadTable, readonly string[]> = {
  checkpoints: [],
  checkpoint_blobs: [],
  checkpoint_writes: ['channel', 'task_path'],
}
const rowsAtOnce = 500
const bytesAtOnce = 4 * 1024 * 1024
/** Maximum size of a value in bytes. Larger ones are counted as unread. */
const maxRead = 32 * 1024 * 1024

const Cursor = z.union([
  z.strictObject({ table: z.enum(threadTables), after: z.array(z.string()).nullable() }),
  z.strictObject({
    memory: z
      .strictObject({
        schema: z.string(),
        namespace: z.string(),
        key: z.string(),
        done: z.array(z.string()).optional(),
        known: z.array(z.string()).optional(),
      })
      .nullable(),
  }),
])

type StoredRow = Record<string, unknown> & {
  thread: string
  key: string[]
  names: string[]
  size: number
  type: string | null
  blob: Uint8Array | null
  checkpoint: string | null
  metadata: string | null
}

/** The parameters: the key of the row before the page, the key of the last row of the range, and threads. */
interface PageBounds {
  isFirst: boolean
  isBounded?: boolean
  isOfThreads?: boolean
}
function pageSql(
  shape: CheckpointSchema,
  table: ThreadTable,
  { isFirst, isBounded = false, isOfThreads = false }: PageBounds,
): string {
  const key = keys[table].map((column) => `t."${column}"`)
  const types = keys[table].map((column) => (column === 'idx' ? '::int' : '::text'))
  let given = 0
  const compared = (operator: string) =>
    `(${key.join(', ')}) ${operator} (${types.map((type) => `$${++given}${type}`).join(', ')})`
  const conditions = [
    ...(isFirst ? [] : [compared('>')]),
    ...(isBounded ? [compared('<=')] : []),
    ...(isOfThreads ? [`t.thread_id = ANY($${++given}::text[])`] : []),
  ]
  const from = conditions.length === 0 ? '' : `WHERE ${conditions.join(' AND ')}`
  const isState = table === 'checkpoints'
  const size = isState
    ? '(coalesce(pg_column_size(t.checkpoint), 0) + coalesce(pg_column_size(t.metadata), 0))'
    : 'coalesce(octet_length(t.blob), 0)'
  const bounded = (value: string) => `CASE WHEN size <= ${maxRead} THEN ${value} END`
  const type = has(shape, table, 'type') ? 't.type' : "'json'"
  const names = named[table].flatMap((column) => (has(shape, table, column) ? [`t."${column}"::text`] : []))
  return `SELECT thread, key, names, size, type,
      ${isState ? 'NULL::bytea' : bounded('blob')} AS blob,
      ${isState ? bounded('checkpoint::text') : 'NULL'} AS checkpoint, ${isState ? bounded('metadata::text') : 'NULL'} AS metadata
    FROM (SELECT *, sum(size) OVER (ORDER BY at) - size AS before FROM (
      SELECT t.thread_id AS thread, ARRAY[${key.map((column) => `${column}::text`).join(', ')}] AS key, ARRAY[${names.join(', ')}]::text[] AS names, ${size}::int AS size, ${type} AS type,
        ${isState ? 't.checkpoint, t.metadata' : 't.blob'}, row_number() OVER (ORDER BY ${key.join(', ')}) AS at
      FROM ${qualifiedTable(shape, table)} t ${from} ORDER BY ${key.join(', ')} LIMIT ${rowsAtOnce}) AS page) AS sized
    WHERE before < ${bytesAtOnce} ORDER BY at`
}

/** All strings of a decoded value in their order, so that words that continue in the next string are neighbors. */
function* stringsIn(value: unknown): Generator<string> {
  if (typeof value === 'string') yield value
  else if (Array.isArray(value)) for (const item of value) yield* stringsIn(item)
  else if (value instanceof PackedBytes) yield* value.texts
  else if (value instanceof PackedExtension) yield value.text
  else if (isPlainObject(value) && !(value instanceof PackedNumber))
    for (const [key, item] of Object.entries(value)) {
      yield key
      yield* stringsIn(item)
    }
}

/** The texts of a row, as decoded strings and as stored, and why parts of it cannot be read. */
function textsOf(row: StoredRow): { texts: string[]; unread: UnreadReason | undefined } {
  if (row.size > maxRead) return { texts: [...row.key, ...row.names], unread: 'large' }
  const texts = [[...row.key, ...row.names].join('\n')]
  const stored = row.blob ? Buffer.from(row.blob.buffer, row.blob.byteOffset, row.blob.byteLength).toString('utf8') : ''
  texts.push(...[stored, row.checkpoint ?? '', row.metadata ?? ''].filter((text) => text !== ''))
  try {
    for (const column of [row.checkpoint, row.metadata])
      if (column !== null) texts.push([...stringsIn(decodeColumn(column))].join('\n'))
    const decoded = decode(row.type, row.blob)
    if (decoded.kind === 'nothing') return { texts, unread: undefined }
    if (decoded.kind === 'bytes') return { texts, unread: isUtf8Text(decoded.bytes) ? undefined : 'binary' }
    texts.push([...stringsIn(decoded.tree)].join('\n'))
    return { texts, unread: decoded.kind === 'msgpack' && decoded.unpacked.opaque > 0 ? 'binary' : undefined }
  } catch (error) {
    if (!(error instanceof Unreadable || error instanceof RangeError)) throw error
    return { texts, unread: 'format' }
  }
}

/** When a row was written: its checkpoint's id contains the time. For a channel's value, the first checkpoint with this version. */
async function timeOf(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  table: ThreadTable,
  key: readonly string[],
): Promise<Date | undefined> {
  if (table !== 'checkpoint_blobs') return timeOfUuid(key[keys[table].indexOf('checkpoint_id')] ?? '')
  const text = `SELECT min(checkpoint_id) AS id FROM ${qualifiedTable(shape, 'checkpoints')}
    WHERE thread_id = $1 AND checkpoint_ns = $2 AND checkpoint -> 'channel_versions' ->> $3 = $4`
  const [row] = await ask<{ id: string | null }>(statementName(text), text, [...key])
  return timeOfUuid(row?.id ?? '')
}

/** The time in the id of a thread's last checkpoint. */
async function lastTimeOf(ask: CheckpointQuery, shape: CheckpointSchema, thread: string): Promise<Date | undefined> {
  const text = `SELECT max(checkpoint_id COLLATE "C") AS id FROM ${qualifiedTable(shape, 'checkpoints')} WHERE thread_id = $1`
  const [row] = await ask<{ id: string | null }>(statementName(text), text, [thread])
  return timeOfUuid(row?.id ?? '')
}

async function threadPage(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  table: ThreadTable,
  after: readonly string[] | null,
  until: readonly string[] | null,
): Promise<CheckpointPage> {
  const text = pageSql(shape, table, { isFirst: after === null, isBounded: until !== null })
  const stored = await ask<StoredRow>(statementName(text), text, [...(after ?? []), ...(until ?? [])])
  const page: CheckpointPage = { rows: [], memories: [], unread: {}, next: null }
  for (const row of stored) {
    const { texts, unread } = textsOf(row)
    page.rows.push({
      thread: row.thread,
      texts,
      isUnread: unread !== undefined,
      writtenAt: () => timeOf(ask, shape, table, row.key),
      lastWrittenAt: () => lastTimeOf(ask, shape, row.thread),
    })
    if (unread) page.unread[unread] = (page.unread[unread] ?? 0) + 1
  }
  const last = stored.at(-1)
  if (!last && until !== null) return page
  const nextTable = threadTables[threadTables.indexOf(table) + 1]
  const next = last
    ? { table, after: last.key }
    : nextTable === undefined
      ? { memory: null }
      : { table: nextTable, after: null }
  return { ...page, next: JSON.stringify(next) }
}

async function storePage(
  ask: CheckpointQuery,
  stores: readonly CheckpointSchema[],
  after: MemoryCursor | null,
  until: MemoryCursor | null,
): Promise<CheckpointPage> {
  const { memories, next } = await memoryPage(ask, stores, after ?? undefined, until ?? undefined)
  return { rows: [], memories, unread: {}, next: next ? JSON.stringify({ memory: next }) : null }
}

/** A page of all rows: the tables of threads in the order of their keys, then the long-term stores. `until`: the cursor where it ends. */
export function readPage(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  stores: readonly CheckpointSchema[],
  after: string | null,
  until?: string,
): Promise<CheckpointPage> {
  const at = after === null ? { table: threadTables[0], after: null } : Cursor.parse(JSON.parse(after))
  const end = until === undefined ? undefined : Cursor.parse(JSON.parse(until))
  if ('table' in at)
    return threadPage(
      ask,
      shape,
      at.table,
      at.after,
      end && 'table' in end && end.table === at.table ? end.after : null,
    )
  return storePage(ask, stores, at.memory, end && 'memory' in end ? end.memory : null)
}

/** Both libraries give checkpoints ids that begin with their time: UUIDs of version 6. Returns an id before all ids of later checkpoints. */
function firstIdAt(time: Date): string {
  // 100 nanoseconds since the first day of the Gregorian calendar, of which the last twelve bits are ignored.
  const ticks = (BigInt(Math.max(0, time.getTime())) * 10_000n + 0x01b21dd213814000n) >> 12n
  const digits = ticks.toString(16).padStart(12, '0')
  return `${digits.slice(0, 8)}-${digits.slice(8)}-6000-8000-000000000000`
}
const writtenSql = (shape: CheckpointSchema): string => {
  const of = (table: ThreadTable) =>
    `SELECT thread_id, checkpoint_id COLLATE "C" AS id FROM ${qualifiedTable(shape, table)}
       WHERE checkpoint_id COLLATE "C" >= $1 OR checkpoint_id !~ '^[0-9a-f]{8}-[0-9a-f]{4}-6'`
  return `SELECT thread_id AS thread FROM (${of('checkpoints')} UNION ALL ${of('checkpoint_writes')}) AS written
    GROUP BY 1 ORDER BY max(id) DESC, 1`
}
/** The threads that were written since a time, the latest first, and those whose checkpoints have other ids than the libraries give. */
export async function threadsWrittenSince(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  since: Date,
): Promise<string[]> {
  const text = writtenSql(shape)
  return (await ask<{ thread: string }>(statementName(text), text, [firstIdAt(since)])).map(({ thread }) => thread)
}

/** Passes the texts of every row of these threads to `visit`. Returns the size of the rows in bytes. */
export async function readThreads(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  threads: readonly string[],
  visit: (thread: string, texts: readonly string[]) => void,
): Promise<number> {
  let bytes = 0
  for (const table of threadTables)
    for (let after: readonly string[] | null = null; ; ) {
      const text = pageSql(shape, table, { isFirst: after === null, isOfThreads: true })
      const rows: StoredRow[] = await ask<StoredRow>(statementName(text), text, [...(after ?? []), threads])
      for (const row of rows) {
        bytes += row.size
        visit(row.thread, textsOf(row).texts)
      }
      const last = rows.at(-1)
      if (!last) break
      after = last.key
    }
  return bytes
}
