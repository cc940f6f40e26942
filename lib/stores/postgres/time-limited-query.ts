import type pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import type { DatabaseQuery } from '#lib/kernel/evidence.ts'
import type { Database } from './database.ts'
import { asProblem } from './problems.ts'

/** The database cancelled a statement at its time limit. */
export class StatementTimeout extends Error {}

/** query_canceled: the statement exceeded its time limit. */
const canceled = '57014'

/**
 * Runs queries of unpredictable cost, each in a separate read-only transaction that the database ends after `max` milliseconds.
 * @throws StatementTimeout if the database ended it
 * @throws `unavailable` if the database is down
 */
export const timeLimitedQuery =
  ({ pool }: Pick<Database, 'pool'>, max: number): DatabaseQuery =>
  async <R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
    const connection = await pool.connect().catch((error: unknown) => {
      throw asProblem(error)
    })
    let isClean = false
    try {
      await connection.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(max))}`)
      const asked = await connection.query<R>({ text, values: [...values] }).then(
        ({ rows }) => ({ rows }),
        (error: unknown) => ({ error }),
      )
      await connection.query('ROLLBACK')
      isClean = true
      if ('rows' in asked) return asked.rows
      throw errorCode(asked.error) === canceled ? new StatementTimeout() : asked.error
    } catch (error) {
      throw asProblem(error)
    } finally {
      // A connection whose transaction did not end is not reused.
      connection.release(!isClean)
    }
  }
