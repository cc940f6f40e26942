import { randomUUID } from 'node:crypto'
import { setTimeout as delay } from 'node:timers/promises'
import { type ClientBase, escapeIdentifier } from 'pg'

/** The schema in our own database that stores LangGraph's checkpoints if no other database is connected. */
const checkpointSchema = 'langgraph'
/** The last migrations of `@langchain/langgraph-checkpoint-postgres`; a test compares them with the tables that the library creates. */
export const checkpointVersions = { checkpoint_migrations: 4, store_migrations: 3 }

/** The Python library uses the same tables with higher version numbers. */
async function isUpToDate(owner: ClientBase): Promise<boolean> {
  for (const [table, version] of Object.entries(checkpointVersions)) {
    const place = `${escapeIdentifier(checkpointSchema)}.${escapeIdentifier(table)}`
    const { rows: there } = await owner.query<{ is: boolean }>('SELECT to_regclass($1) IS NOT NULL AS is', [place])
    if (!there[0]?.is) return false
    const { rows } = await owner.query<{ v: number | null }>(`SELECT max(v) AS v FROM ${place}`)
    if ((rows[0]?.v ?? -1) < version) return false
  }
  return true
}

/** How long to wait for sessions that are ending, in milliseconds. */
const endingFor = 2_000

/**
 * Waits until PostgreSQL has closed the sessions of this name. A pool reports its end before that, and a server that stops in
 * between ends them with an error that no listener of the library's pools would handle.
 */
async function sessionsEnded(owner: ClientBase, name: string): Promise<void> {
  const limit = performance.now() + endingFor
  while (performance.now() < limit) {
    const { rowCount } = await owner.query('SELECT FROM pg_stat_activity WHERE application_name = $1', [name])
    if (!rowCount) return
    await delay(10)
  }
}

/**
 * Creates the tables of LangGraph's checkpoints and long-term store with the library's own setup, as the owner. The library is loaded
 * only if there is something to do, because loading takes longer than the rest of a start.
 */
export async function prepareCheckpointTables(owner: ClientBase, ownerUrl: string): Promise<void> {
  if (await isUpToDate(owner)) return
  const [{ PostgresSaver }, { PostgresStore }] = await Promise.all([
    import('@langchain/langgraph-checkpoint-postgres'),
    import('@langchain/langgraph-checkpoint-postgres/store'),
  ])
  const sessionName = `knowledgepulse-checkpoint-tables-${randomUUID().slice(0, 8)}`
  const url = new URL(ownerUrl)
  url.searchParams.set('application_name', sessionName)
  const saver = PostgresSaver.fromConnString(url.href, { schema: checkpointSchema })
  const store = PostgresStore.fromConnString(url.href, { schema: checkpointSchema })
  try {
    await saver.setup()
    await store.setup()
  } finally {
    await saver.end()
    await store.stop()
    await sessionsEnded(owner, sessionName)
  }
}
