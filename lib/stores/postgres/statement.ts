import type { ClientBase } from 'pg'
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

type StatementResult = Pick<pg.QueryResult, 'rows' | 'rowCount'>
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

/** JavaScript types of parameters and columns, as node-postgres reads them. */
interface TypeMap {
  text: string
  citext: string
  varchar: string
  name: string
  uuid: string
  bool: boolean
  int2: number
  int4: number
  float4: number
  float8: number
  /** Digits: JavaScript numbers are exact up to 2^53 only. Cast a count to int4 or float8. */
  int8: string
  numeric: string
  timestamptz: Date
  json: unknown
  jsonb: unknown
  bytea: Uint8Array
}
type Scalar = keyof TypeMap
type TypeName = Scalar | `${Scalar}[]`
type ValueOf<N extends TypeName> = N extends Scalar
  ? TypeMap[N]
  : N extends `${infer S extends Scalar}[]`
    ? TypeMap[S][]
    : never

/** A column or parameter whose values are known more precisely than its PostgreSQL type says. */
interface Typed<T> {
  type: string
  /** Only for the type checker. */
  value?: T
}
/**
 * `text`: never null. `text?`: may be null. `text!`: the column may be null, but this statement returns only rows in which it is not.
 */
type Column = TypeName | `${TypeName}?` | `${TypeName}!` | Typed<unknown>
type Parameter = TypeName | `${TypeName}?` | Typed<unknown>
export type Columns = Readonly<Record<string, Column>>
type Parameters = Readonly<Record<string, Parameter>>

type ColumnValue<C> =
  C extends Typed<infer T>
    ? T
    : C extends `${infer N extends TypeName}?`
      ? ValueOf<N> | null
      : C extends `${infer N extends TypeName}!`
        ? ValueOf<N>
        : C extends TypeName
          ? ValueOf<C>
          : never
/** Lists may be read-only, and `json` takes any value that JSON can represent. */
type Given<T> = T extends Date | Uint8Array ? T : T extends (infer E)[] ? readonly E[] : T
export type RowOf<C extends Columns> = { [K in keyof C]: ColumnValue<C[K]> }
export type ValuesOf<P extends Parameters> = { [K in keyof P]: Given<ColumnValue<P[K]>> }

/**
 * Types a value more precisely than PostgreSQL does, for example an enum or the content of `jsonb`. The test verifies `type`; `T` is a
 * claim about the stored values.
 * @param type the name of a PostgreSQL type, with `?` or `!` as for other columns
 */
export const typed = <T>(type: string): Typed<T> => ({ type })

/** Where a statement runs: inside the transaction, on a free connection of the database, on this connection, or by this function. */
export type Queryable = Transaction | Pooled | ClientBase | RunQuery

interface Common<P extends Parameters, V> {
  takes: P
  /**
   * Prepared once per connection, or only for some variants. PostgreSQL may then use one plan for all values, so do not set it where the
   * best plan depends on them.
   */
  isPrepared?: boolean | ((variant: V) => boolean)
}
type Sql<V> = { sql: string } | { sql: (variant: V) => string; variants: readonly V[] }

/** A declared statement, for the test that prepares each one. */
export interface DeclaredStatement {
  name: string
  columns: Columns | 'count'
  takes: Parameters
  /** All forms of its text, with numbered parameters. */
  texts(): string[]
}
const declared = new Map<string, DeclaredStatement>()
/** All statements of the modules that were loaded. */
export const declaredStatements = (): readonly DeclaredStatement[] => [...declared.values()]

const typeOf = (column: Parameter | Column): string =>
  (typeof column === 'string' ? column : column.type).replace(/[?!]$/, '')

interface Compiled {
  text: string
  /** The parameters in the order of their numbers. */
  order: string[]
}
interface NamedText extends Compiled {
  /** Under which it is prepared. */
  name: string | undefined
}
/** Replaces `$name` with a numbered parameter of the declared type. @throws for a parameter that is not declared or not used */
function compile(name: string, sql: string, takes: Parameters): Compiled {
  const order: string[] = []
  const text = sql.replace(/\$([a-zA-Z]\w*)/g, (_, parameter: string) => {
    const type = takes[parameter]
    if (type === undefined) throw new Error(`The statement ${name} does not declare the parameter ${parameter}.`)
    if (!order.includes(parameter)) order.push(parameter)
    return `$${order.indexOf(parameter) + 1}::${typeOf(type)}`
  })
  return { text, order }
}

/** How many prepared forms, and how many others, of one statement are compiled only once. Further ones run without a name. */
const maxCompiled = 50

/** JSON parameters are sent as text, because the driver would send a list as a PostgreSQL array. */
const encode = (type: string, value: unknown): unknown =>
  /^jsonb?$/.test(type) && value !== null && value !== undefined ? JSON.stringify(value) : value

/**
 * Declares one SQL statement with the types of its parameters and rows. `lib/statements.int.test.ts` prepares each declared statement and
 * compares both with PostgreSQL, so a row type cannot differ from what the statement returns.
 *
 * ```ts
 * const holdsOfProjects = statement('holds.of-projects', {
 *   takes: { ids: 'text[]', now: 'timestamptz' },
 *   returns: { target: 'text', hold: 'text' },
 *   sql: 'SELECT target_id AS target, min(id) AS hold FROM holds_in_force WHERE target_id = ANY($ids) AND expires_at > $now GROUP BY 1',
 * })
 * const rows = await holdsOfProjects(tx, { ids, now })
 * ```
 * A text that depends on more than parameters is a function of a variant; `variants` names one for each form, and the test prepares all.
 * With `returns: 'count'`, the result is the number of rows that the statement inserted, changed or deleted.
 *
 * @param name unique in the application, `<domain>.<what it does>`; at most 60 bytes
 */
export function statement<const P extends Parameters, const C extends Columns>(
  name: string,
  declaration: Common<P, undefined> & { returns: C; sql: string },
): (on: Queryable, values: ValuesOf<P>) => Promise<RowOf<C>[]>
export function statement<const P extends Parameters, const C extends Columns, V>(
  name: string,
  declaration: Common<P, V> & { returns: C; sql: (variant: V) => string; variants: readonly V[] },
): (on: Queryable, values: ValuesOf<P>, variant: V) => Promise<RowOf<C>[]>
export function statement<const P extends Parameters>(
  name: string,
  declaration: Common<P, undefined> & { returns: 'count'; sql: string },
): (on: Queryable, values: ValuesOf<P>) => Promise<number>
export function statement<const P extends Parameters, V>(
  name: string,
  declaration: Common<P, V> & { returns: 'count'; sql: (variant: V) => string; variants: readonly V[] },
): (on: Queryable, values: ValuesOf<P>, variant: V) => Promise<number>
export function statement<V>(
  name: string,
  declaration: Common<Parameters, V> & { returns: Columns | 'count' } & Sql<V>,
): (on: Queryable, values: Readonly<Record<string, unknown>>, variant: V) => Promise<unknown> {
  const { takes, returns, isPrepared = false } = declaration
  if (declared.has(name)) throw new Error(`Two statements are named ${name}.`)
  const compiledOf = { prepared: new Map<string, NamedText>(), unprepared: new Map<string, NamedText>() }
  const compiled = (variant: V) => {
    const sql = typeof declaration.sql === 'string' ? declaration.sql : declaration.sql(variant)
    const isNamed = typeof isPrepared === 'function' ? isPrepared(variant) : isPrepared
    const texts = compiledOf[isNamed ? 'prepared' : 'unprepared']
    const known = texts.get(sql)
    if (known) return known
    // A variant that contains values would otherwise fill the memory of the process and of the database.
    if (texts.size === maxCompiled) return { ...compile(name, sql, takes), name: undefined }
    const preparedName = texts.size === 0 ? name : `${name}.${texts.size}`
    const made = { ...compile(name, sql, takes), name: isNamed ? preparedName : undefined }
    texts.set(sql, made)
    return made
  }
  declared.set(name, {
    name,
    takes,
    columns: returns,
    texts: () =>
      'variants' in declaration
        ? declaration.variants.map((variant) => compile(name, declaration.sql(variant), takes).text)
        : [compile(name, declaration.sql, takes).text],
  })
  return async (on, values, variant) => {
    const { text, order, name: preparedName } = compiled(variant)
    const { rows, rowCount }: StatementResult = await statementRunner(on)(
      preparedName,
      text,
      order.map((parameter) => encode(typeOf(takes[parameter] ?? 'text'), values[parameter])),
    )
    return returns === 'count' ? (rowCount ?? 0) : rows
  }
}
