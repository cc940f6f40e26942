import type { QueryResultRow } from 'pg'
import { asProblem, type Database } from './database.ts'

/** Statements of one reading transaction. */
export type Ask = <R extends QueryResultRow>(text: string, values: readonly unknown[]) => Promise<R[]>

/**
 * Several questions about one state of the database, with settings of their own; nothing can be written. The settings are ours, never
 * a caller's. Throws `unavailable` when the database is down or the time is over.
 */
export async function snapshot<T>(
  db: Database,
  settings: Readonly<Record<string, string>>,
  work: (ask: Ask) => Promise<T>,
): Promise<T> {
  const set = Object.entries(settings).map(([name, value]) => `SET LOCAL ${name} = '${value}'`)
  let broken: Error | undefined
  try {
    const client = await db.pool.connect()
    try {
      await client.query(['BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY', ...set].join('; '))
      const made = await work(async (text, values) => (await client.query({ text, values: [...values] })).rows)
      await client.query('COMMIT')
      return made
    } catch (error) {
      await client.query('ROLLBACK').catch((cause: Error) => {
        broken = cause
      })
      throw error
    } finally {
      // A connection that cannot even roll back is not given to the next.
      client.release(broken)
    }
  } catch (error) {
    throw asProblem(error)
  }
}
