import type { QueryResultRow } from 'pg'
import type { Database } from './database.ts'
import { asProblem } from './problems.ts'
import { type Settings, settingsSql } from './session-pools.ts'

// Apart from the database client: the preparation of a fresh clone loads this file before the client is generated.

/** Runs statements of one read transaction. */
export type SnapshotQuery = <R extends QueryResultRow>(
  text: string,
  values: readonly unknown[],
  name?: string,
) => Promise<R[]>

/**
 * Runs several queries on one state of the database, read-only, with these settings.
 * @throws `unavailable` if the database is down or the time limit is exceeded
 */
export async function snapshot<T>(
  db: Database,
  settings: Settings,
  work: (ask: SnapshotQuery) => Promise<T>,
): Promise<T> {
  let broken: Error | undefined
  try {
    const client = await db.pool.connect()
    try {
      await client.query(`BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY; ${settingsSql(settings, 'LOCAL')}`)
      const made = await work(async (text, values, name) => {
        const { rows } = await client.query({ ...(name !== undefined && { name }), text, values: [...values] })
        return rows
      })
      await client.query('COMMIT')
      return made
    } catch (error) {
      await client.query('ROLLBACK').catch((cause: Error) => {
        broken = cause
      })
      throw error
    } finally {
      // A connection whose rollback failed is not reused.
      client.release(broken)
    }
  } catch (error) {
    throw asProblem(error)
  }
}
