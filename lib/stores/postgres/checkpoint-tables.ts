import { type ClientBase, escapeIdentifier } from 'pg'

/** The schema of our own database in which LangGraph keeps its checkpoints where no other database is connected. */
const checkpointSchema = 'langgraph'
/** The last migrations of `@langchain/langgraph-checkpoint-postgres`; a test compares them with what it makes. */
export const checkpointVersions = { checkpoint_migrations: 4, store_migrations: 3 }

/** Python's library counts further, over the same tables. */
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

/**
 * The tables of LangGraph's checkpoints and of its long-term store, made by the library's own setup as the owner. The library is loaded
 * only where there is something to do: it takes longer than the whole rest of a start.
 */
export async function prepareCheckpointTables(owner: ClientBase, ownerUrl: string): Promise<void> {
  if (await isUpToDate(owner)) return
  const [{ PostgresSaver }, { PostgresStore }] = await Promise.all([
    import('@langchain/langgraph-checkpoint-postgres'),
    import('@langchain/langgraph-checkpoint-postgres/store'),
  ])
  const saver = PostgresSaver.fromConnString(ownerUrl, { schema: checkpointSchema })
  const store = PostgresStore.fromConnString(ownerUrl, { schema: checkpointSchema })
  try {
    await saver.setup()
    await store.setup()
  } finally {
    await saver.end()
    await store.stop()
  }
}
