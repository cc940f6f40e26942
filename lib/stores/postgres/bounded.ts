import type pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import { asProblem, type Database } from './database.ts'

/** One statement that only reads. `undefined`: the database gave it up because the time was over; nothing is left behind. */
type BoundedQuery = <R extends pg.QueryResultRow>(text: string, values?: readonly unknown[]) => Promise<R[] | undefined>

/** query_canceled: the statement's time was over. */
const canceled = '57014'

/**
 * Questions whose cost nobody can foresee, each in a read-only transaction of its own that the database ends after `most` milliseconds.
 * Throws `unavailable` when the database is down.
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
      // One whose transaction did not end is nobody's any more.
      connection.release(!isClean)
    }
  }
