import pg from 'pg'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { traceStatement } from '#lib/kernel/tracing.ts'

// Without the generated Prisma client: the preparation of a start runs statements before it generates that client.

/** The connection of a transaction. Once it is back in the pool, another transaction may use it, even while code of this one still runs. */
export interface Loan {
  connection: pg.PoolClient
  isOver: boolean
  /** The time limit of its statements in milliseconds, if it is not the default. */
  longest: number | undefined
}
const loans = new WeakMap<Transaction, Loan>()
/** Runs the statements of this transaction on this connection. */
export const lendTo = (tx: Transaction, loan: Loan): void => void loans.set(tx, loan)

/**
 * Runs one statement of an open transaction on its connection, without Prisma, which needs more time for a parameter of megabytes than
 * the database. The statement is prepared once per connection under its name. Never run two statements of a transaction concurrently.
 * @throws `unavailable` if the transaction took too long and was rolled back
 */
export const queryWithin = async <R extends pg.QueryResultRow>(
  tx: Transaction,
  name: string,
  text: string,
  values: readonly unknown[],
): Promise<R[]> => (await runWithin<R>(tx, name, text, values)).rows

async function runWithin<R extends pg.QueryResultRow>(
  tx: Transaction,
  name: string | undefined,
  text: string,
  values: readonly unknown[],
): Promise<pg.QueryResult<R>> {
  const loan = loans.get(tx)
  if (!loan) throw new Error(`"${name ?? text}" ran outside a database transaction`)
  if (loan.isOver)
    throw new Problem('unavailable', {
      detail: 'The request took too long, so nothing was stored. Send a smaller request, or send it again later.',
      headers: { 'Retry-After': '5' },
    })
  const asked = {
    text,
    values: [...values],
    ...(name !== undefined && { name }),
    ...(loan.longest !== undefined && { query_timeout: loan.longest }),
  }
  return traceStatement(name, () => loan.connection.query<R>(asked))
}

export type StatementResult = Pick<pg.QueryResult, 'rows' | 'rowCount'>
type RunStatement = (name: string | undefined, text: string, values: readonly unknown[]) => Promise<StatementResult>
const databases = new WeakMap<object, RunStatement>()
/** A database, without the type of its Prisma client. */
interface Pooled {
  pool: pg.Pool
}
/** Runs the statements of a database, or of its Prisma client, with this function. */
export const runWith = (database: Pooled | Transaction, run: RunStatement): void => void databases.set(database, run)

/** Runs a query, for example with a time limit or on one state of the database. With a name, it may be prepared once per connection. */
export type RunQuery = (text: string, values: readonly unknown[], name?: string) => Promise<pg.QueryResultRow[]>

/** Runs statements on the connection of a transaction, on free connections of a database or of its Prisma client, or as `on` does. */
export function statementRunner(on: Transaction | Pooled | pg.ClientBase | RunQuery): RunStatement {
  if (typeof on === 'function')
    return async (name, text, values) => {
      const rows = await on(text, values, name)
      return { rows, rowCount: rows.length }
    }
  if (on instanceof pg.Client) return (_name, text, values) => on.query({ text, values: [...values] })
  return databases.get(on) ?? ((name, text, values) => runWithin(on as Transaction, name, text, values))
}
