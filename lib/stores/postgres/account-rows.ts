import type { DataSource } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import type { Database } from './database.ts'
import { statement } from './statement.ts'

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
