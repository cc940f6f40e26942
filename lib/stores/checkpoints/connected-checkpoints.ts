import type { Transaction } from '#lib/kernel/context.ts'
import { errorCode } from '#lib/kernel/error-code.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type StoreRefusal, unusableStore } from '#lib/kernel/store-refusal.ts'
import type { Database } from '../postgres/database.ts'
import { createPool } from '../postgres/pool.ts'
import { isDatabaseDown, isGivenUp } from '../postgres/problems.ts'
import { queryWithin } from '../postgres/statement.ts'
import type { CheckpointStore, Remembered } from './checkpoints.ts'
import { threadPage } from './exporting.ts'
import { changeMemories, memoryPage } from './memory-pages.ts'
import { readPage, readThreads, threadsWrittenSince } from './reading.ts'
import { type CheckpointQuery, type CheckpointSchema, otherStores, shapeOf, statementName } from './rows.ts'
import { isDistinctiveText } from './search-strings.ts'
import {
  combinedSearches,
  countMemories,
  deleteThread,
  dropMemories,
  isEmptyStore,
  presentThreads,
  rowsHolding,
  threadsNaming,
} from './searching.ts'
import { findInThread, rewriteThread, wordsInThread } from './thread.ts'

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

/** All long-term stores of the database. */
const storesOf = async (ask: CheckpointQuery, shape: CheckpointSchema): Promise<CheckpointSchema[]> => [
  shape,
  ...(await otherStores(ask, shape.schema)),
]

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
    reading(async (ask) => memoryPage(ask, await storesOf(ask, await shapeOf(ask, schema)), after), tx),
  changeMemories: (changes, tx) =>
    writing(async (ask) => changeMemories(ask, await storesOf(ask, await shapeOf(ask, schema)), changes), tx),
  readPage: (after) =>
    reading(async (ask) => {
      const shape = await shapeOf(ask, schema)
      return readPage(ask, shape, await storesOf(ask, shape), after)
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
