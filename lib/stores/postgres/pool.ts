import pg from 'pg'

/**
 * Creates every connection pool of the process. A server that stops, or a network that fails, ends connections at any time. `pg` reports
 * that as an `error` event, on the pool for an idle connection and on the client for a borrowed or closing one, and an event without a
 * listener ends the process. The next statement reports the lost connection to its caller.
 */
export function createPool(config: pg.PoolConfig): pg.Pool {
  const pool = new pg.Pool(config)
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
