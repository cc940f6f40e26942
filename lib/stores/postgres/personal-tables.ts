import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, Holding, Planned, RetainedRecord } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from './database.ts'
import { type SnapshotQuery, snapshot } from './snapshot.ts'
import { type Queryable, queryWithin, statement } from './statement.ts'

/** The number of items per statement. */
const max = 1_000
export const chunked = (items: readonly string[]): string[][] =>
  Array.from({ length: Math.ceil(items.length / max) }, (_, n) => items.slice(n * max, (n + 1) * max))

/**
 * For deleting many rows by id while the planner's statistics are out of date: until the end of the transaction the planner always uses
 * the index.
 */
export const preferIndexes = (tx: Transaction) =>
  queryWithin(tx, 'by-index', "SELECT set_config('enable_seqscan', 'off', true), set_config('jit', 'off', true)", [])

/** The number of remaining rows: the sum of `n` over the queries, which use indexes and see the same state of the database. */
const countRemaining = (
  db: Database,
  questions: (ask: (text: string, values: readonly unknown[]) => Promise<void>) => Promise<void>,
) =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask: SnapshotQuery) => {
    let left = 0
    await questions(async (text, values) => {
      const [row] = await ask<{ n: number }>(text, values)
      left += row?.n ?? 0
    })
    return left
  })

/** The sum of `n` over the rows of statements, which use indexes and see the same state of the database. */
export const sumRemaining = (db: Database, counts: (on: Queryable) => AsyncIterable<{ n: number }[]>) =>
  snapshot(db, { enable_seqscan: 'off', jit: 'off' }, async (ask) => {
    let left = 0
    for await (const rows of counts(ask)) for (const { n } of rows) left += n
    return left
  })

/** A holding from the row of a statement. */
export const holdingOf = ([row]: readonly { n: number; since: Date | null; until?: Date | null }[]): Holding => ({
  count: row?.n ?? 0,
  since: row?.since ?? null,
  until: row?.until ?? null,
})

/** A holding from one row of `n`, `since` and, if the data expires, `until`. */
async function holding(db: Database, name: string, text: string, values: readonly unknown[]): Promise<Holding> {
  const [row] = await db.query<{ n: number; since: Date | null; until?: Date | null }>(name, text, values)
  return { count: row?.n ?? 0, since: row?.since ?? null, until: row?.until ?? null }
}

export interface PlannedRow {
  id: string
  /** The legal hold that covers it. */
  hold: string | null
}
/** A plan from its rows: rows under legal hold are counted and remain. */
export function plannedOf(rows: readonly PlannedRow[]): Planned {
  const planned: Planned = { items: [], held: {} }
  for (const { id, hold } of rows)
    if (hold === null) planned.items.push(id)
    else planned.held[hold] = (planned.held[hold] ?? 0) + 1
  planned.items.sort()
  return planned
}

interface Rows extends Pick<DataSource, 'name' | 'stage' | 'what' | 'purpose' | 'kept' | 'leftBehind'> {
  table: string
  /** The id of one row, as SQL. */
  id: string
  /** The column with the time of storage. */
  at: string
  /** The column with the time of expiry. */
  until?: string
}
/** A data source for the rows of agents in a table with `agent_id`, each with an id. Legal holds do not cover them. */
export const rowsOfAgents = (db: Database, { table, id, at, until, ...words }: Rows): DataSource => ({
  ...words,
  store: 'postgresql',
  tables: [table],
  inventory: ({ agents }) =>
    holding(
      db,
      `${table}-held`,
      `SELECT count(*)::int AS n, min(${at}) AS since${until === undefined ? '' : `, max(${until}) AS until`} FROM ${table} WHERE agent_id = ANY($1::text[])`,
      [agents],
    ),
  async plan(scope, tx) {
    if (!('subject' in scope)) return { items: [], held: {} }
    await preferIndexes(tx)
    const rows = await queryWithin<{ id: string }>(
      tx,
      `plan-${table}`,
      `SELECT ${id} AS id FROM ${table} WHERE agent_id = ANY($1::text[])`,
      [scope.subject.agents],
    )
    return { items: rows.map((row) => row.id).sort(), held: {} }
  },
  async erase(scope, items, tx) {
    if (!('subject' in scope)) return 0
    await preferIndexes(tx)
    const text = `DELETE FROM ${table} WHERE ${id} = ANY($1::text[]) RETURNING 1`
    return (await queryWithin(tx, `erase-${table}`, text, [items])).length
  },
  /** Searches by owner as well as by id. */
  residue: (scope, items) =>
    'subject' in scope
      ? countRemaining(db, async (ask) => {
          const { agents } = scope.subject
          await ask(`SELECT count(*)::int AS n FROM ${table} WHERE agent_id = ANY($1::text[])`, [agents])
          for (const chunk of chunked(items))
            await ask(
              `SELECT count(*)::int AS n FROM ${table} WHERE ${id} = ANY($1::text[]) AND NOT agent_id = ANY($2::text[])`,
              [chunk, agents],
            )
        })
      : Promise.resolve(0),
})

/** Rows of accounts in a table with `account_id`. The names are constants. */
interface AccountTable {
  table: string
  /** The key: text, or bytes, whose items are hexadecimal. */
  id: string
  isBytes?: boolean
  /** The time of storage. */
  at: string
  /** The time from which the retention period runs, as SQL. */
  endsAt?: string
}

/** Declares the statements of {@link rowsOfAccount} for a table. Call it in a repository. */
export const accountRows = ({ table, id, isBytes = false, at, endsAt = 'NULL::timestamptz' }: AccountTable) => {
  const item = isBytes ? `encode(${id}, 'hex')` : id
  const isAmong = `${id} IN (SELECT ${isBytes ? "decode(item, 'hex')" : 'item'} FROM unnest($items) AS i(item))`
  return {
    table,
    inventory: statement(`${table}.inventory`, {
      takes: { account: 'text' },
      returns: { n: 'int4', since: 'timestamptz?', ended: 'timestamptz?' },
      isPrepared: true,
      sql: `SELECT count(*)::int AS n, min(${at}) AS since, max(${endsAt}) AS ended FROM ${table} WHERE account_id = $account`,
    }),
    plan: statement(`${table}.plan`, {
      takes: { account: 'text' },
      returns: { id: 'text' },
      sql: `SELECT ${item} AS id FROM ${table} WHERE account_id = $account`,
    }),
    erase: statement(`${table}.erase`, {
      takes: { items: 'text[]' },
      returns: 'count',
      sql: `DELETE FROM ${table} WHERE ${isAmong}`,
    }),
    residue: statement(`${table}.residue`, {
      takes: { account: 'text', items: 'text[]' },
      returns: { n: 'int4' },
      isPrepared: true,
      sql: `SELECT ((SELECT count(*) FROM ${table} WHERE account_id = $account)
        + (SELECT count(*) FROM ${table} WHERE ${isAmong} AND account_id <> $account))::int AS n`,
    }),
  }
}

const accountIn = (scope: ErasureScope): string | null => ('subject' in scope ? scope.subject.account : null)

interface Described extends Pick<DataSource, 'name' | 'what' | 'purpose' | 'kept'> {
  rows: ReturnType<typeof accountRows>
  /** How long a row is retained after its end, in milliseconds. */
  retention?: number
}
/** A data source for the rows of an account. Legal holds do not cover them. */
export const rowsOfAccount = (db: Database, { rows, retention = 0, ...words }: Described): DataSource => ({
  ...words,
  store: 'postgresql',
  stage: 'account',
  tables: [rows.table],
  async inventory({ account }) {
    const [row] = account === null ? [] : await rows.inventory(db, { account })
    return {
      count: row?.n ?? 0,
      since: row?.since ?? null,
      until: row?.ended ? new Date(row.ended.getTime() + retention) : null,
    }
  },
  async plan(scope, tx) {
    const account = accountIn(scope)
    const found = account === null ? [] : await rows.plan(tx, { account })
    return { items: found.map(({ id }) => id).sort(), held: {} }
  },
  erase: (_scope, items, tx) => rows.erase(tx, { items }),
  /** Searches by account as well as by id. */
  async residue(scope, items) {
    const account = accountIn(scope)
    const [row] = account === null ? [] : await rows.residue(db, { account, items })
    return row?.n ?? 0
  },
})

/** Where a table stores which account changed something in the installation, and when. The names are constants of ours. */
interface AdminChanges {
  /** `<domain>.<what>` */
  name: string
  what: string
  table: string
  /** The columns with the id of the account. */
  by: readonly string[]
  at: string
}

/** A retained record: the id of the admin who changed something in the installation. It remains after the person is erased. */
export const adminChanges = (db: Database, { name, what, table, by, at }: AdminChanges): RetainedRecord => ({
  name,
  store: 'postgresql',
  what,
  purpose: 'Recording which admin changed a setting.',
  basis: 'legitimate interest (GDPR art. 6(1)(f)): an accountable administration',
  kept: 'As long as the setting or decision; only the id.',
  tables: [table],
  isAdminAct: true,
  async inventory({ account }) {
    if (account === null) return { count: 0, since: null, until: null }
    const [row] = await db.query<{ count: number; since: Date | null }>(
      `office-${table}`,
      `SELECT count(*)::int AS count, min(${at}) AS since FROM ${table} WHERE ARRAY[${by.join(', ')}] && ARRAY[$1, 'user:' || $1]`,
      [account],
    )
    return { count: row?.count ?? 0, since: row?.since ?? null, until: null }
  },
})
