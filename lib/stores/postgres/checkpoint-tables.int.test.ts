import { afterAll, expect, test } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { checkpointVersions } from './checkpoint-tables.ts'
import { withConnection } from './connection.ts'
import { prepareDatabase } from './preparation.ts'

const databases: TestDatabase[] = []
afterAll(async () => {
  for (const made of databases) await made.drop()
})
const versionsIn = async (url: string): Promise<Record<string, number>> =>
  withConnection(url, async (client) => {
    const { rows } = await client.query<{ name: string; v: number }>(
      `SELECT 'checkpoint_migrations' AS name, max(v) AS v FROM langgraph.checkpoint_migrations
       UNION ALL SELECT 'store_migrations', max(v) FROM langgraph.store_migrations`,
    )
    return Object.fromEntries(rows.map(({ name, v }) => [name, v]))
  })

test('checkpointVersions equals the library’s last migrations, and preparation upgrades an older database', async () => {
  const made = await testDatabase()
  databases.push(made)
  expect(await versionsIn(made.ownerUrl)).toEqual(checkpointVersions)
  await withConnection(made.ownerUrl, (owner) => owner.query('DROP SCHEMA langgraph CASCADE'))
  await prepareDatabase({ ownerUrl: made.ownerUrl, appUrl: made.appUrl })
  expect(await versionsIn(made.ownerUrl)).toEqual(checkpointVersions)
  await withConnection(made.appUrl, (app) =>
    app.query(`INSERT INTO langgraph.store (namespace_path, key, value) VALUES ('a', 'b', '{}')`),
  )
})
