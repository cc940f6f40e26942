import { setTimeout as delay } from 'node:timers/promises'
import pg from 'pg'
import { errorCode } from '#lib/kernel/error-code.ts'
import { DatabaseFault } from './fault.ts'

const STARTING_UP = '57P03'
const PATIENCE = 30_000

/** Host, port and database of a URL, without its user and password. */
function place(url: string): string {
  const { hostname, port, pathname, searchParams } = new URL(url)
  return `${searchParams.get('host') ?? hostname}${port ? `:${port}` : ''}${pathname}`
}

function refusal(error: unknown, url: string, variable: string): DatabaseFault {
  const code = errorCode(error)
  const { username, pathname } = new URL(url)
  const user = decodeURIComponent(username)
  if (code === '3D000') {
    const name = decodeURIComponent(pathname.slice(1))
    return new DatabaseFault(
      'NO_DATABASE',
      `The server has no database "${name}". Create it, or correct ${variable}.`,
      { cause: error },
    )
  }
  const said = error instanceof Error ? error.message || code : String(error)
  if (code?.startsWith('28') || /SASL|password/.test(said ?? '')) {
    return new DatabaseFault(
      'ACCESS_DENIED',
      `The database at ${place(url)} refuses user "${user}": ${said}. Check name and password in ${variable}.`,
      { cause: error },
    )
  }
  return new DatabaseFault(
    'UNREACHABLE',
    `The database at ${place(url)} cannot be reached: ${said}. Start it, or correct ${variable}.`,
    { cause: error },
  )
}

/**
 * Opens one connection, runs `work`, and closes it. Waits up to half a minute for a server that is starting. @param variable the setting
 * that contained the URL, for the message @throws DatabaseFault UNREACHABLE, ACCESS_DENIED, NO_DATABASE
 */
export async function withConnection<T>(
  url: string,
  work: (client: pg.Client) => Promise<T>,
  variable = 'DATABASE_URL',
): Promise<T> {
  const patience = performance.now() + PATIENCE
  for (;;) {
    const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 10_000 })
    client.on('error', () => {}) // a broken connection also rejects the query that it was running
    try {
      await client.connect()
    } catch (error) {
      if (errorCode(error) !== STARTING_UP || performance.now() > patience) throw refusal(error, url, variable)
      await delay(200)
      continue
    }
    try {
      return await work(client)
    } finally {
      await client.end()
    }
  }
}
