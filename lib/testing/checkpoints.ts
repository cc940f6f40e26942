import { withConnection } from '#lib/stores/postgres/connection.ts'
import type { TestApp } from './app.ts'

/** Runs a statement on the database with the application's threads. Replaces `langgraph.` with its schema. */
async function reported({ app }: TestApp, sql: string, values: unknown[]): Promise<void> {
  const url = app.env.KP_CHECKPOINTS_URL
  if (url === undefined) {
    await app.db.query(undefined, sql, values)
    return
  }
  const schema = new URL(url).searchParams.get('schema') ?? 'public'
  const place = new URL(url)
  place.searchParams.delete('schema')
  await withConnection(place.href, (client) => client.query(sql.replace('INTO langgraph.', `INTO ${schema}.`), values))
}

/**
 * Stores a thread of two checkpoints as `@langchain/langgraph-checkpoint-postgres` writes it, and its derived item in
 * the long-term store. Does not load the library, which takes long.
 */
export async function storedInThread(
  test: TestApp,
  thread: string,
  messages: readonly { id: string; text: string }[],
  namespace = 'memories',
): Promise<void> {
  const said = messages.map(({ id, text }) => ({
    lc: 1,
    type: 'constructor',
    id: ['langchain_core', 'messages', 'HumanMessage'],
    kwargs: { id, content: text, additional_kwargs: {}, response_metadata: {} },
  }))
  for (const step of [1, 2]) {
    const id = `1f000000-0000-6000-8000-00000000000${step}`
    const versions = { messages: step }
    await reported(
      test,
      `INSERT INTO langgraph.checkpoints (thread_id, checkpoint_id, checkpoint, metadata) VALUES ($1, $2, $3, $4)`,
      [
        thread,
        id,
        JSON.stringify({ v: 4, id, ts: '2026-01-01T00:00:00.000Z', channel_versions: versions, versions_seen: {} }),
        JSON.stringify({ source: 'loop', step, parents: {} }),
      ],
    )
    await reported(
      test,
      `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'messages', $2, 'json', $3)`,
      [thread, String(step), Buffer.from(JSON.stringify(said))],
    )
    await reported(
      test,
      `INSERT INTO langgraph.checkpoint_writes (thread_id, checkpoint_id, task_id, idx, channel, type, blob) VALUES ($1, $2, 'task', 0, 'messages', 'json', $3)`,
      [thread, id, Buffer.from(JSON.stringify(said))],
    )
  }
  for (const { id, text } of messages)
    await reported(test, 'INSERT INTO langgraph.store (namespace_path, key, value) VALUES ($1, $2, $3)', [
      namespace,
      `memory of ${id}`,
      JSON.stringify({ from: id, text }),
    ])
}
