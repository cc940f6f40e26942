import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { type CheckpointQuery, type CheckpointSchema, has, qualifiedTable, statementName } from './rows.ts'

/** An item of a long-term store. */
export interface Memory {
  schema: string
  /** The parts of its namespace as the library joins them: with a dot in Python, with a colon in JavaScript. */
  namespace: string
  key: string
  /** JSON. */
  value: string
  /** The texts of it that were indexed. */
  indexed: string
  /** When it was last changed; undefined if the table does not record it. */
  writtenAt?: Date | undefined
  /** It cannot be changed or deleted. */
  isReadOnly?: boolean
}
/** The key of the last item that was read. */
export interface MemoryCursor extends Pick<Memory, 'schema' | 'namespace' | 'key'> {
  /** The schemas that were read completely. */
  done?: readonly string[] | undefined
  /** All schemas that were found since the first page. */
  known?: readonly string[] | undefined
}
export interface MemoryPage {
  memories: Memory[]
  next: MemoryCursor | undefined
}
/** A change to an item. Null deletes it. */
export interface MemoryChange {
  memory: Memory
  value: string | null
}

const rowsAtOnce = 20_000
const bytesAtOnce = 4 * 1024 * 1024

const namespaceColumn = (shape: CheckpointSchema): string =>
  has(shape, 'store', 'namespace_path') ? 'namespace_path' : 'prefix'

function indexedSql(shape: CheckpointSchema): string {
  const column = namespaceColumn(shape)
  const texts = (shape.columns.get('store_vectors') ?? []).filter(
    (one) => one.type === 'text' && ![column, 'key'].includes(one.column),
  )
  if (texts.length === 0) return "''"
  const joined = texts.map((one) => `v."${one.column}"`).join(', ')
  return `coalesce((SELECT string_agg(concat_ws(E'\\n', ${joined}), E'\\n') FROM ${qualifiedTable(shape, 'store_vectors')} v
    WHERE v."${column}" = s."${column}" AND v.key = s.key), '')`
}
/** A page of items in the order of their keys, read by the primary key. */
async function pageOf(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  after: Omit<MemoryCursor, 'schema'> | undefined,
  until: Omit<MemoryCursor, 'schema'> | undefined,
): Promise<{ memories: Memory[]; last: Omit<MemoryCursor, 'schema'> | undefined }> {
  const column = namespaceColumn(shape)
  const written = has(shape, 'store', 'updated_at') ? 'extract(epoch FROM s.updated_at)::float8 * 1000' : 'NULL::float8'
  const key = `(s."${column}", s.key)`
  const from = `WHERE ${after ? `${key} > ($1, $2)` : '$1 = $2'}${until ? ` AND ${key} <= ($3, $4)` : ''}`
  const text = `WITH page AS MATERIALIZED (SELECT * FROM (
      SELECT s."${column}" AS namespace, s.key, s.value::text AS value, ${indexedSql(shape)} AS indexed, ${written} AS written,
        sum(pg_column_size(s.value)) OVER (ORDER BY s."${column}", s.key) - pg_column_size(s.value) AS before
      FROM ${qualifiedTable(shape, 'store')} s ${from} ORDER BY s."${column}", s.key LIMIT ${rowsAtOnce}) AS sized WHERE before < ${bytesAtOnce})
    SELECT namespace, key, value, indexed, written FROM page
    UNION ALL (SELECT namespace, key, NULL, NULL, NULL FROM page ORDER BY namespace DESC, key DESC LIMIT 1)`
  const values = [after?.namespace ?? '', after?.key ?? '', ...(until ? [until.namespace, until.key] : [])]
  const rows = await ask<{
    namespace: string
    key: string
    value: string | null
    indexed: string | null
    written: number | null
  }>(statementName(text), text, values)
  const last = rows.find(({ value }) => value === null)
  return {
    memories: rows.flatMap(({ namespace, key, value, indexed, written }) =>
      value === null
        ? []
        : [
            {
              schema: shape.schema,
              namespace,
              key,
              value,
              indexed: indexed ?? '',
              writtenAt: written === null ? undefined : new Date(written),
              ...(shape.isReadOnly && { isReadOnly: true }),
            },
          ],
    ),
    last: last && { namespace: last.namespace, key: last.key },
  }
}

const presentSql = `SELECT count(*)::int AS count FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = ANY($1::text[]) AND c.relname = 'store' AND c.relkind IN ('r', 'p')`
/** A store that lost its rights or tables during a search was not read, unless it no longer exists. @throws `unavailable` */
async function requireReadable(ask: CheckpointQuery, schemas: readonly string[]): Promise<void> {
  if (schemas.length === 0) return
  const [row] = await ask<{ count: number }>(statementName(presentSql), presentSql, [schemas])
  if (row?.count === 0) return
  throw unusableStore('access_denied', {
    detail:
      'A long-term store of LangGraph that was found before cannot be read any more. Nothing was changed. Restore its tables and the rights to read and delete in it.',
  })
}

/**
 * The next page over all long-term stores. `until`: the last item of the range. Schemas may be added, renamed or dropped between pages, so the
 * cursor names those that were read: a new one is read before the end, and only one that no longer exists is left out.
 */
export async function memoryPage(
  ask: CheckpointQuery,
  shapes: readonly CheckpointSchema[],
  after: MemoryCursor | undefined,
  until?: MemoryCursor,
): Promise<MemoryPage> {
  const stores = shapes.filter((shape) => has(shape, 'store'))
  const present = stores.map(({ schema }) => schema)
  const known = new Set([...(after?.known ?? (after ? [after.schema] : [])), ...present])
  await requireReadable(ask, [...known.difference(new Set(present))])
  // A cursor of a former version names no schemas: those before its own were read.
  const done = new Set(after?.done ?? present.slice(0, Math.max(0, present.indexOf(after?.schema ?? ''))))
  const rest = stores.filter(({ schema }) => !done.has(schema))
  const isBegun = ({ schema }: CheckpointSchema): boolean => schema === after?.schema
  for (const shape of [...rest.filter(isBegun), ...rest.filter((one) => !isBegun(one))]) {
    const { schema } = shape
    const isLast = schema === until?.schema
    const { memories, last } = await pageOf(ask, shape, isBegun(shape) ? after : undefined, isLast ? until : undefined)
    if (last) return { memories, next: { schema, ...last, done: [...done], known: [...known] } }
    if (isLast) break
    done.add(schema)
  }
  return { memories: [], next: undefined }
}

const mayUpdateSql = `SELECT has_table_privilege(c.oid, 'UPDATE') AS may FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
  WHERE n.nspname = $1 AND c.relname = 'store'`

/** Changes items that are unchanged since they were read; returns those that were changed. Vectors of their former texts are deleted. */
export async function changeMemories(
  ask: CheckpointQuery,
  shapes: readonly CheckpointSchema[],
  changes: readonly MemoryChange[],
): Promise<MemoryChange[]> {
  const changed: MemoryChange[] = []
  for (const [schema, own] of Map.groupBy(changes, ({ memory }) => memory.schema)) {
    const shape = shapes.find((one) => one.schema === schema)
    if (!shape) continue
    const [row] = await ask<{ may: boolean }>(statementName(mayUpdateSql), mayUpdateSql, [schema])
    const column = namespaceColumn(shape)
    const where = (table: string) => `FROM ${qualifiedTable(shape, table)} WHERE "${column}" = $1 AND key = $2`
    const drop = `DELETE ${where('store')} AND value = $3::jsonb RETURNING 1`
    const vectors = `DELETE ${where('store_vectors')}`
    const write = `UPDATE ${qualifiedTable(shape, 'store')} SET value = $4::jsonb WHERE "${column}" = $1 AND key = $2 AND value = $3::jsonb RETURNING 1`
    for (const one of own) {
      const { memory, value } = one
      const key = [memory.namespace, memory.key]
      // If items of another schema can be deleted but not changed, the item is deleted: erasing the words has priority over the rest of an
      // item.
      const isWritten = value !== null && row?.may === true
      const done = isWritten
        ? await ask(statementName(write), write, [...key, memory.value, value])
        : await ask(statementName(drop), drop, [...key, memory.value])
      if (done.length === 0) continue
      if (isWritten && has(shape, 'store_vectors')) await ask(statementName(vectors), vectors, key)
      changed.push(isWritten ? one : { memory, value: null })
    }
  }
  return changed
}
