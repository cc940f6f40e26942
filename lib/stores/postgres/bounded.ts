import type pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import { asProblem, type Database } from './database.ts'

/** Runs one statement that only reads. Returns `undefined` if the database cancelled it at the time limit. */
type BoundedQuery = <R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<R[] | undefined>

/** query_canceled: the statement exceeded its time limit. */
const canceled = '57014'

/**
 * Runs queries of unpredictable cost, each in a separate read-only transaction that the database ends after `most` milliseconds. @throws
 * `unavailable` if the database is down
 */
export const boundedQuery =
  ({ pool }: Pick<Database, 'pool'>, most: number): BoundedQuery =>
  async <R extends pg.QueryResultRow>(text: string, values: readonly unknown[] = []) => {
    const connection = await pool.connect().catch((error: unknown) => {
      throw asProblem(error)
    })
    let isClean = false
    try {
      await connection.query(`BEGIN READ ONLY; SET LOCAL statement_timeout = ${Math.max(1, Math.ceil(most))}`)
      const asked = await connection.query<R>({ text, values: [...values] }).then(
        ({ rows }) => ({ rows }),
        (error: unknown) => ({ error }),
      )
      await connection.query('ROLLBACK')
      isClean = true
      if ('rows' in asked) return asked.rows
      if (errorCode(asked.error) === canceled) return undefined
      throw asked.error
    } catch (error) {
      throw asProblem(error)
    } finally {
      // A connection whose transaction did not end is not reused.
      connection.release(!isClean)
    }
  }
