import type pg from 'pg'
import { asProblem } from './problems.ts'

/** PostgreSQL settings of a session: constants, never a caller's input. */
export type Settings = Readonly<Record<string, string>>

/** SQL that makes these settings, for the session or only for the transaction. */
export const settingsSql = (settings: Settings, scope: 'SESSION' | 'LOCAL'): string =>
  Object.entries(settings)
    .map(([name, value]) => `SET ${scope} ${name} = '${value}'`)
    .join('; ')

interface WatchedPool {
  pool: pg.Pool
  watched: { close(): Promise<void> }
}

/**
 * One pool for each object of settings, opened at its first use. Settings are made once per connection: statements that need them save the
 * round trips of a transaction, and slow ones leave the other connections free.
 * @param open creates a pool that runs `onConnect` on each new connection
 */
export function sessionPools(open: (onConnect: (client: pg.ClientBase) => Promise<void>) => WatchedPool) {
  const pools = new Map<Settings, WatchedPool>()
  function poolFor(settings: Settings): pg.Pool {
    const known = pools.get(settings)
    if (known) return known.pool
    const made = open(async (client) => void (await client.query(settingsSql(settings, 'SESSION'))))
    pools.set(settings, made)
    return made.pool
  }
  return {
    async run(
      settings: Settings,
      text: string,
      values: readonly unknown[],
      name?: string,
    ): Promise<pg.QueryResultRow[]> {
      try {
        const asked = { ...(name !== undefined && { name }), text, values: [...values] }
        return (await poolFor(settings).query<pg.QueryResultRow>(asked)).rows
      } catch (error) {
        throw asProblem(error)
      }
    },
    async close(): Promise<void> {
      for (const { pool, watched } of pools.values()) {
        await watched.close()
        await pool.end()
      }
    },
  }
}
