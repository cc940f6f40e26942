import pg from 'pg'

/** Sends no statement to be prepared under a name: behind a pooler in transaction mode, the next one may reach another session. */
function sendWithoutNames(client: pg.ClientBase): void {
  const query: (...given: unknown[]) => unknown = client.query.bind(client)
  const withoutName = (asked: unknown, ...rest: unknown[]) => {
    const isNamed = typeof asked === 'object' && asked !== null && 'name' in asked && !('submit' in asked)
    return query(isNamed ? { ...asked, name: undefined } : asked, ...rest)
  }
  Object.assign(client, { query: withoutName })
}

/**
 * Creates every connection pool of the process. A server that stops, or a network that fails, ends connections at any time. `pg` reports
 * that as an `error` event, on the pool for an idle connection and on the client for a borrowed or closing one, and an event without a
 * listener ends the process. The next statement reports the lost connection to its caller. `isPooled`: its server is a pooler in
 * transaction mode.
 */
export function createPool(config: pg.PoolConfig, { isPooled = false } = {}): pg.Pool {
  const pool = new pg.Pool(config)
  if (isPooled) pool.on('connect', sendWithoutNames)
  pool.on('error', () => {})
  pool.on('connect', (client) => client.on('error', () => {}))
  return pool
}
