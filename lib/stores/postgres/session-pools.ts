import type pg from 'pg'
import { Problem } from '#lib/kernel/problem.ts'
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
 * One read-only pool for each set of settings, opened at its first use. Each connection makes the settings once, which saves statements the
 * round trips of a transaction. Slow statements leave the connections of the main pool free.
 * @param open creates a pool that runs `onConnect` on each new connection
 */
export function sessionPools(open: (onConnect: (client: pg.ClientBase) => Promise<void>) => WatchedPool) {
  const pools = new Map<string, WatchedPool>()
  let isClosed = false
  function poolFor(settings: Settings): pg.Pool {
    if (isClosed) throw new Problem('unavailable', 'The server is stopping. Send the request again later.')
    const sql = settingsSql({ ...settings, default_transaction_read_only: 'on' }, 'SESSION')
    const known = pools.get(sql)
    if (known) return known.pool
    const made = open(async (client) => void (await client.query(sql)))
    pools.set(sql, made)
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
      isClosed = true
      await Promise.allSettled([...pools.values()].flatMap(({ pool, watched }) => [watched.close(), pool.end()]))
    },
  }
}
