import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import type { Database } from '../postgres/database.ts'
import { createPool } from '../postgres/pool.ts'
import { isDatabaseDown, isGivenUp } from '../postgres/problems.ts'
import { queryWithin } from '../postgres/statement.ts'
import type { CheckpointStore, Remembered, ThreadSearchTerms } from './checkpoints.ts'
import { threadPage } from './exporting.ts'
import { changeMemories, memoryPage } from './memory-pages.ts'
import { readPage, readThreads, threadsWrittenSince } from './reading.ts'
import {
  type CheckpointQuery,
  type CheckpointSchema,
  has,
  otherStores,
  qualifiedTable,
  shapeOf,
  statementName,
  type TableColumn,
  threadTables,
} from './rows.ts'
import { beforeId, distinctiveTexts, formsOf, isDistinctiveText, isGenerated, namingPattern } from './search-strings.ts'
import { findInThread, rewriteThread, wordsInThread } from './thread.ts'

/** Up to this many ids are searched one by one; more are compared with all quoted names in a row. */
const fewIds = 16

/**
 * What precedes an id in MessagePack: the length of its string, in one byte above 0x7f or in a separate byte after 0xd9. `encode` writes
 * them in octal.
 */
const packedBefore = '(^|[^A-Za-z0-9_-]|\\\\[23][0-7][0-7]|\\\\331.)'
/** SQL: whether a column contains `needle`, and matches `pattern` unless that is empty. */
function holds(shape: CheckpointSchema, { table, column, type }: TableColumn): string {
  if (type !== 'bytea')
    return `position(needle IN "${column}"::text) > 0 AND (pattern = '' OR "${column}"::text ~ pattern)`
  const own = has(shape, table, 'type')
    ? `(CASE WHEN type = 'json' THEN pattern ELSE replace(pattern, '${beforeId}', '${packedBefore}') END)`
    : 'pattern'
  return `position(convert_to(needle, 'UTF8') IN "${column}") > 0 AND (pattern = '' OR encode("${column}", 'escape') ~ ${own})`
}
const anyColumn = (shape: CheckpointSchema, table: string): string =>
  `(${(shape.columns.get(table) ?? []).map((column) => `(${holds(shape, column)})`).join(' OR ')})`
const wantedSql = 'unnest($1::text[], $2::text[]) AS wanted (needle, pattern)'

/** All forms of the texts, as words and as the bytes of a `Uint8Array` in JSON, and the ids with their patterns. */
function searchStringsOf(wanted: ThreadSearchTerms): [string[], string[]] | undefined {
  const texts = distinctiveTexts(wanted).flatMap((text) => [...formsOf(text), [...Buffer.from(text)].join(',')])
  const ids = wanted.ids.filter(isDistinctiveText)
  return texts.length + ids.length === 0
    ? undefined
    : [
        [...texts, ...ids],
        [...texts.map(() => ''), ...ids.map(namingPattern)],
      ]
}

/** How many rows of the thread contain one of the needles in any column. */
async function rowsHolding(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  thread: string,
  wanted: ThreadSearchTerms,
): Promise<number> {
  const searchStrings = searchStringsOf(wanted)
  if (!searchStrings) return 0
  let count = 0
  for (const table of threadTables) {
    const text = `SELECT count(*)::int AS n FROM ${qualifiedTable(shape, table)}
      WHERE thread_id = $3 AND EXISTS (SELECT FROM ${wantedSql} WHERE ${anyColumn(shape, table)})`
    const [row] = await ask<{ n: number }>(statementName(text), text, [...searchStrings, thread])
    count += row?.n ?? 0
  }
  return count
}

/** The column of the namespace in the key of `store`: JavaScript's and Python's differ. */
const memoryKey = (shape: CheckpointSchema): string =>
  has(shape, 'store', 'namespace_path') ? 'namespace_path' : 'prefix'
/** SQL: whether an item `s` of the long-term store, or its indexed texts, contains one of the needles. */
function memoryHolds(shape: CheckpointSchema, searchStrings: string): string {
  const own = `EXISTS (SELECT FROM ${searchStrings} WHERE ${anyColumn(shape, 'store')})`
  const indexed = (shape.columns.get('store_vectors') ?? []).filter(({ type }) => type === 'text')
  if (indexed.length === 0) return own
  const key = memoryKey(shape)
  return `(${own} OR EXISTS (SELECT FROM ${qualifiedTable(shape, 'store_vectors')} v, ${searchStrings} WHERE v."${key}" = s."${key}" AND v.key = s.key
    AND (${indexed.map(({ column }) => `(position(needle IN v."${column}") > 0 AND (pattern = '' OR v."${column}" ~ pattern))`).join(' OR ')})))`
}
/** SQL: whether the namespace or key of an item `s` contains one of the needles. */
const memoryIsIn = (shape: CheckpointSchema, searchStrings: string): string =>
  `EXISTS (SELECT FROM ${searchStrings} WHERE s."${memoryKey(shape)}" ~ pattern OR s.key ~ pattern)`

/** SQL and its values: whether an item `s` is to be erased. Undefined if no item can be. */
function isMemoryDeleted(
  shape: CheckpointSchema,
  wanted: Remembered,
): { where: string; values: string[][] } | undefined {
  const patterned = (ids: readonly string[]): [string[], string[]] => [[...ids], ids.map(namingPattern)]
  const ties = wanted.ties.filter(isDistinctiveText)
  const sure = wanted.sure.filter(isDistinctiveText)
  const weak = ties.length > 0 ? (searchStringsOf(wanted) ?? [[], []]) : [[], []]
  if (sure.length + (weak[0]?.length ?? 0) === 0) return undefined
  const values = [
    ...patterned(sure),
    ...weak,
    ...patterned(ties.filter(isGenerated)),
    ...patterned(ties.filter((tie) => !isGenerated(tie))),
  ]
  const list = (at: number) => `unnest($${at}::text[], $${at + 1}::text[]) AS wanted (needle, pattern)`
  const where = `(${memoryHolds(shape, list(1))} OR (${memoryHolds(shape, list(3))}
    AND (${memoryHolds(shape, list(5))} OR ${memoryIsIn(shape, list(7))})))`
  return { where, values }
}
/** Ids that one combined search contains. */
const idsTogether = 500
/**
 * Combines consecutive searches with the same words: `all` finds everything that `each` of them finds, and possibly more, because a text of
 * one search may occur beside a tie of another.
 */
function* combinedSearches(wanted: readonly Remembered[]): Generator<{ all: Remembered; each: readonly Remembered[] }> {
  let each: Remembered[] = []
  const together = () => ({
    all: {
      ...each[0],
      sure: each.flatMap(({ sure }) => sure),
      ids: each.flatMap(({ ids }) => ids),
      texts: each.flatMap(({ texts }) => texts),
      ties: [...new Set(each.flatMap(({ ties }) => ties))],
    },
    each,
  })
  let ids = 0
  for (const one of wanted) {
    if (each.length > 0 && (one.words !== each[0]?.words || ids + one.ids.length > idsTogether)) {
      yield together()
      each = []
      ids = 0
    }
    each.push(one)
    ids += one.ids.length
  }
  if (each.length > 0) yield together()
}
async function isEmptyStore(ask: CheckpointQuery, shape: CheckpointSchema): Promise<boolean> {
  if (!has(shape, 'store')) return true
  const text = `SELECT 1 FROM ${qualifiedTable(shape, 'store')} LIMIT 1`
  return (await ask(statementName(text), text, [])).length === 0
}
const itemsAtOnce = 500
/** SQL for the text of an item `s`: its namespace, key and value, and its indexed texts. */
const itemsSql = (shape: CheckpointSchema, where: string, from: string): string =>
  `SELECT s.ctid::text AS at, concat_ws(E'\\n', s."${memoryKey(shape)}", s.key, s.value::text) AS text FROM ${qualifiedTable(shape, 'store')} s
   WHERE s.ctid > ${from}::tid AND ${where} ORDER BY s.ctid LIMIT ${itemsAtOnce}`

/** Items that contain a tie and erased words, by their position in the table. */
async function itemsWithWords(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  { ties, words }: Remembered,
): Promise<string[]> {
  const distinctiveIds = ties.filter(isDistinctiveText)
  if (!words || distinctiveIds.length === 0) return []
  const found: { at: string; runs: number[] }[] = []
  const list = (at: number) => `unnest($${at}::text[], $${at + 1}::text[]) AS wanted (needle, pattern)`
  const sql = itemsSql(shape, `(${memoryHolds(shape, list(1))} OR ${memoryIsIn(shape, list(1))})`, '$3')
  for (let after = '(0,0)'; ; ) {
    const rows = await ask<{ at: string; text: string }>(statementName(sql), sql, [
      distinctiveIds,
      distinctiveIds.map(namingPattern),
      after,
    ])
    for (const { at, text } of rows) {
      const runs = words.runsIn(text).map(({ run }) => run)
      if (runs.length > 0) found.push({ at, runs })
    }
    const last = rows.at(-1)
    if (last === undefined || rows.length < itemsAtOnce) break
    after = last.at
  }
  if (found.length === 0) return []
  const explained = await words.explained()
  return found.filter(({ runs }) => runs.some((run) => !explained.has(run))).map(({ at }) => at)
}

/** The names of the items to erase, and the condition that finds them. */
async function erasableMemories(ask: CheckpointQuery, shape: CheckpointSchema, wanted: Remembered) {
  const isErasedWith = isMemoryDeleted(shape, wanted)
  const withWords = await itemsWithWords(ask, shape, wanted)
  const [where, given] = isErasedWith ? [isErasedWith.where, isErasedWith.values] : ['false', []]
  const found = { where: `(${where} OR s.ctid = ANY($${given.length + 1}::tid[]))`, values: [...given, withWords] }
  const items: { namespace: string; key: string }[] = []
  if (!isErasedWith && withWords.length === 0) return { ...found, items }
  const text = `SELECT s."${memoryKey(shape)}" AS namespace, s.key FROM ${qualifiedTable(shape, 'store')} s WHERE ${found.where}`
  for (const item of await ask<(typeof items)[number]>(statementName(text), text, found.values))
    if ((await wanted.mayErase?.(item)) !== false) items.push(item)
  return { ...found, items }
}
const countMemories = async (ask: CheckpointQuery, shape: CheckpointSchema, wanted: Remembered): Promise<number> =>
  (await erasableMemories(ask, shape, wanted)).items.length
/**
 * Deletes items; the library's own foreign key deletes their vectors. An item can change while its owner is looked up, so its name and the
 * condition are checked again.
 */
async function dropMemories(ask: CheckpointQuery, shape: CheckpointSchema, wanted: Remembered): Promise<number> {
  const { where, values, items } = await erasableMemories(ask, shape, wanted)
  if (items.length === 0) return 0
  const names = `SELECT * FROM unnest($${values.length + 1}::text[], $${values.length + 2}::text[])`
  const text = `DELETE FROM ${qualifiedTable(shape, 'store')} s WHERE ${where} AND (s."${memoryKey(shape)}"::text, s.key::text) IN (${names}) RETURNING 1`
  const of = [items.map(({ namespace }) => namespace), items.map(({ key }) => key)]
  return (await ask(statementName(text), text, [...values, ...of])).length
}

/** Searches all threads for these ids. */
async function threadsNaming(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  ids: readonly string[],
): Promise<{ thread: string; id: string }[]> {
  const distinctiveIds = ids.filter(isDistinctiveText)
  if (distinctiveIds.length === 0) return []
  const found = new Map<string, { thread: string; id: string }>()
  const note = (rows: readonly { thread: string; id: string }[]) => {
    for (const row of rows) found.set(JSON.stringify([row.thread, row.id]), row)
  }
  const searchStrings = [distinctiveIds, distinctiveIds.map(namingPattern)]
  for (const table of threadTables)
    for (const one of shape.columns.get(table) ?? []) {
      const { column, type } = one
      if (!['bytea', 'jsonb', 'text'].includes(type) || column === 'thread_id') continue
      const place = qualifiedTable(shape, table)
      const oneByOne = (where: string) =>
        `SELECT DISTINCT thread_id AS thread, needle AS id FROM ${place}, ${wantedSql} WHERE ${where} ${holds(shape, one)}`
      const isBytes = type === 'bytea'
      if (distinctiveIds.length <= fewIds || type === 'text') {
        const text = oneByOne('')
        note(await ask(statementName(text), text, searchStrings))
        continue
      }
      // Compares all quoted names in one pass. Python's rows have no quotes.
      const names = `SELECT DISTINCT t.thread_id AS thread, m[1] AS id FROM ${place} t,
        LATERAL regexp_matches(${isBytes ? `encode(t."${column}", 'escape')` : `t."${column}"::text`}, '"([[:alnum:]_.:-]{12,200})\\\\*"', 'g') m
        WHERE m[1] = ANY($1::text[])${isBytes ? " AND t.type = 'json'" : ''}`
      note(await ask(statementName(names), names, [distinctiveIds]))
      if (!isBytes) continue
      const packed = oneByOne("type IS DISTINCT FROM 'json' AND type IS DISTINCT FROM 'empty' AND")
      note(await ask(statementName(packed), packed, searchStrings))
    }
  return [...found.values()]
}

async function presentThreads(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  threads: readonly string[],
): Promise<string[]> {
  const text = `${threadTables.map((table) => `SELECT thread_id AS thread FROM ${qualifiedTable(shape, table)} WHERE thread_id = ANY($1::text[])`).join(' UNION ')} ORDER BY 1`
  return (await ask<{ thread: string }>(statementName(text), text, [threads])).map(({ thread }) => thread)
}
async function deleteThread(ask: CheckpointQuery, shape: CheckpointSchema, thread: string): Promise<number> {
  let count = 0
  for (const table of threadTables) {
    const text = `DELETE FROM ${qualifiedTable(shape, table)} WHERE thread_id = $1 RETURNING 1`
    count += (await ask(statementName(text), text, [thread])).length
  }
  return count
}

/** A schema of our own database; lib/stores/postgres/checkpoint-tables.ts creates its tables. */
export const ownSchema = 'langgraph'

/** Where the tables are, and how a call gets its transaction. */
interface SchemaLocation {
  schema: string
  reading<T>(run: (ask: CheckpointQuery) => Promise<T>, tx?: Transaction): Promise<T>
  writing<T>(run: (ask: CheckpointQuery) => Promise<T>, tx: Transaction): Promise<T>
  close(): Promise<void>
}

const lockSql = 'SELECT pg_advisory_xact_lock(hashtextextended($1, 0))'

/**
 * Runs on every long-term store of the database, for each of these searches. Each search reads the whole store and most find nothing, so
 * searches that find nothing together are not made one by one.
 */
async function inStores(
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  wanted: readonly Remembered[],
  run: (ask: CheckpointQuery, shape: CheckpointSchema, wanted: Remembered) => Promise<number>,
): Promise<number> {
  let count = 0
  for (const store of await storesOf(ask, shape)) {
    if (await isEmptyStore(ask, store)) continue
    for (const { all, each } of combinedSearches(wanted))
      if (each.length === 1 || (await countMemories(ask, store, all)) > 0)
        for (const one of each) count += await run(ask, store, one)
  }
  return count
}

/** All long-term stores of the database in which items can be deleted; with `isOnlyRead`, all that can be read. */
const storesOf = async (
  ask: CheckpointQuery,
  shape: CheckpointSchema,
  isOnlyRead = false,
): Promise<CheckpointSchema[]> => [shape, ...(await otherStores(ask, shape.schema, isOnlyRead))]

const checkpointsAt = ({ schema, reading, writing, close }: SchemaLocation): CheckpointStore => ({
  provider: 'postgresql',
  async state() {
    const began = performance.now()
    const state = await reading((ask) => shapeOf(ask, schema)).then(
      () => ({ state: 'ok' as const }),
      // Our own messages say what to do and contain no address.
      (error: unknown) => ({
        state: 'down' as const,
        ...(Problem.is(error) && error.detail !== undefined && { detail: error.detail }),
      }),
    )
    return { ...state, latency: performance.now() - began }
  },
  find: (thread, wanted, tx) =>
    reading(async (ask) => findInThread(ask, await shapeOf(ask, schema), thread, wanted), tx),
  naming: (ids, tx) => reading(async (ask) => threadsNaming(ask, await shapeOf(ask, schema), ids), tx),
  present: (threads, tx) => reading(async (ask) => presentThreads(ask, await shapeOf(ask, schema), threads), tx),
  writtenSince: (since, tx) => reading(async (ask) => threadsWrittenSince(ask, await shapeOf(ask, schema), since), tx),
  readThreads: (threads, visit, tx) =>
    reading(async (ask) => readThreads(ask, await shapeOf(ask, schema), threads, visit), tx),
  page: (thread, after, tx) => reading(async (ask) => threadPage(ask, await shapeOf(ask, schema), thread, after), tx),
  memories: (wanted, tx) =>
    reading(async (ask) => inStores(ask, await shapeOf(ask, schema), [wanted], countMemories), tx),
  rewrite: (thread, wanted, tx) =>
    writing(async (ask) => {
      const shape = await shapeOf(ask, schema)
      await ask(statementName(lockSql), lockSql, [`checkpoints of ${thread}`])
      // If the caller continues without this thread, nothing of it is partially written.
      await ask(statementName('SAVEPOINT thread'), 'SAVEPOINT thread', [])
      try {
        return await rewriteThread(ask, shape, thread, wanted)
      } catch (error) {
        if (Problem.is(error, 'conflict'))
          await ask(statementName('ROLLBACK TO thread'), 'ROLLBACK TO SAVEPOINT thread', [])
        throw error
      }
    }, tx),
  forget: (wanted, tx) => writing(async (ask) => inStores(ask, await shapeOf(ask, schema), wanted, dropMemories), tx),
  memoryPage: (after, tx) =>
    reading(async (ask) => memoryPage(ask, await storesOf(ask, await shapeOf(ask, schema), true), after), tx),
  changeMemories: (changes, tx) =>
    writing(async (ask) => changeMemories(ask, await storesOf(ask, await shapeOf(ask, schema)), changes), tx),
  readPage: (after, until) =>
    reading(async (ask) => {
      const shape = await shapeOf(ask, schema)
      return readPage(ask, shape, await storesOf(ask, shape, true), after, until)
    }),
  drop: (thread, tx) =>
    writing(async (ask) => {
      await ask(statementName(lockSql), lockSql, [`checkpoints of ${thread}`])
      return deleteThread(ask, await shapeOf(ask, schema), thread)
    }, tx),
  residue: (wanted, remembered) =>
    reading(async (ask) => {
      const shape = await shapeOf(ask, schema)
      // Generated ids need no tie, so one search covers them all: each search reads the whole store.
      const sure = remembered.flatMap((one) => one.sure)
      const { mayErase } = remembered[0] ?? {}
      const all = { sure, ids: [], texts: [], ties: [], ...(mayErase && { mayErase }) }
      let count = await inStores(ask, shape, [all], countMemories)
      const weak = remembered.map((one) => ({ ...one, sure: [] }))
      count += await inStores(ask, shape, weak, countMemories)
      for (const { thread, ...one } of wanted) {
        const { words } = one
        // Texts with runs are searched by their words instead, because other authors may have written the same.
        const texts = words ? one.texts.filter((text) => words.runsIn(text).length === 0) : one.texts
        count += await rowsHolding(ask, shape, thread, { ids: one.ids, texts })
        if (words) count += await wordsInThread(ask, shape, thread, words)
        // Ids that are too short are searched only as ids of messages.
        const short = one.ids.filter((id) => !isDistinctiveText(id))
        if (short.length > 0)
          count += (await findInThread(ask, shape, thread, { ids: short, texts: [] })).messages.length
      }
      return count
    }),
  close,
})

/** The tables in our own database: everything is part of the caller's transaction. */
export const ownCheckpoints = (db: Database): CheckpointStore =>
  checkpointsAt({
    schema: ownSchema,
    reading: (run, tx) => run(tx ? (name, text, values) => queryWithin(tx, name, text, values) : db.query),
    writing: (run, tx) => run((name, text, values) => queryWithin(tx, name, text, values)),
    close: async () => {},
  })

/** Maps the SQLSTATE. A full disk (53100) and too many connections (53300) are temporary. */
function postgresRefusal(state: string | undefined): StoreRefusal | undefined {
  if (state?.startsWith('28')) return 'credentials'
  if (state === '3D000') return 'missing'
  return state === '42501' ? 'access_denied' : undefined
}
const asProblem = (error: unknown): unknown => {
  const refusal = postgresRefusal(errorCode(error))
  if (refusal !== undefined)
    return unusableStore(refusal, {
      detail: `The checkpoint store rejected the request (${errorCode(error)}). Its data is unchanged. Try again later.`,
    })
  return (
    // Without its cause: the surrounding transaction would take it for a failure of our own database.
    isDatabaseDown(error) || isGivenUp(error)
      ? new Problem('unavailable', {
          detail: `The checkpoint store does not answer (${errorCode(error) ?? 'no reason given'}). The change was applied completely or not at all. Try again later.`,
          headers: { 'Retry-After': '5' },
        })
      : error
  )
}

/**
 * The tables in another database: each call is a separate transaction there, and safe to repeat. Connects on first use. @param address
 * postgres://…, with `?schema=` if they are not in `public`
 */
export function otherCheckpoints(address: string): CheckpointStore {
  const url = new URL(address)
  const schema = url.searchParams.get('schema') ?? 'public'
  url.searchParams.delete('schema')
  const pool = createPool({
    connectionString: url.href,
    max: 4,
    connectionTimeoutMillis: 5_000,
    query_timeout: 65_000,
    statement_timeout: 60_000,
    keepAlive: true,
    idleTimeoutMillis: 30_000,
  })
  async function within<T>(begin: string, run: (ask: CheckpointQuery) => Promise<T>): Promise<T> {
    try {
      const client = await pool.connect()
      let isBroken = true
      try {
        await client.query(begin)
        const made = await run(
          async (name, text, values) => (await client.query({ name, text, values: [...values] })).rows,
        )
        await client.query('COMMIT')
        isBroken = false
        return made
      } catch (error) {
        await client.query('ROLLBACK').then(
          () => {
            isBroken = false
          },
          () => {},
        )
        throw error
      } finally {
        client.release(isBroken)
      }
    } catch (error) {
      throw asProblem(error)
    }
  }
  return checkpointsAt({
    schema,
    reading: (run) => within('BEGIN READ ONLY', run),
    writing: (run) => within('BEGIN', run),
    close: () => pool.end(),
  })
}
