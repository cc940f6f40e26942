import { afterAll, expect, test } from 'vitest'
import { longestSearch } from '#lib/kernel/data-source.ts'
import { storeRefusalOf } from '#lib/kernel/store-refusal.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { withConnection } from '../postgres/connection.ts'
import { type Database, openDatabase } from '../postgres/database.ts'
import { otherCheckpoints, ownCheckpoints } from './connected-checkpoints.ts'
import { type CheckpointsUnderTest, checkpointsSuite } from './suite/checkpoints-suite.ts'

/** Transactions with the time limit of erasures that search a store. */
const searching =
  (db: Database): CheckpointsUnderTest['transaction'] =>
  (run) =>
    db.transaction(run, { longest: longestSearch })

const databases: TestDatabase[] = []
afterAll(async () => {
  for (const made of databases) await made.drop()
})
async function database(): Promise<TestDatabase> {
  const made = await testDatabase()
  databases.push(made)
  return made
}

checkpointsSuite('our own database', async (): Promise<CheckpointsUnderTest> => {
  const { appUrl, ownerUrl } = await database()
  const db = openDatabase(appUrl, { isGuarded: true })
  return { store: ownCheckpoints(db), url: ownerUrl, schema: 'langgraph', transaction: searching(db), close: db.close }
})

function inSchema(address: string, schema: string): string {
  const url = new URL(address)
  url.searchParams.set('schema', schema)
  return url.href
}
const another = (schema: string) => async (): Promise<CheckpointsUnderTest> => {
  const [own, theirs] = [await database(), await database()]
  const db = openDatabase(own.appUrl, { isGuarded: true })
  const store = otherCheckpoints(schema === 'public' ? theirs.ownerUrl : inSchema(theirs.ownerUrl, schema))
  return {
    store,
    url: theirs.ownerUrl,
    schema,
    transaction: searching(db),
    async close() {
      await store.close()
      await db.close()
    },
  }
}
checkpointsSuite('another database', another('public'))
checkpointsSuite('a schema of another database', another('their agents'))

test('residue never returns 0 for a database without LangGraph’s tables or one that does not respond', async () => {
  const { ownerUrl, appUrl } = await database()
  const db = openDatabase(appUrl, { isGuarded: true })
  for (const address of [inSchema(ownerUrl, 'typo'), 'postgresql://nobody:secret@127.0.0.1:1/nowhere']) {
    const store = otherCheckpoints(address)
    const wanted = { ids: ['a-message-of-somebody'], texts: [] }
    const refusal: unknown = await store.residue([{ thread: 't', ...wanted }], []).catch((error: unknown) => error)
    expect(refusal).toMatchObject({ code: 'unavailable' })
    expect(String(refusal)).not.toContain('secret')
    await expect(db.transaction((tx) => store.rewrite('t', wanted, tx))).rejects.toMatchObject({ code: 'unavailable' })
    const state = await store.state()
    expect(state.state).toBe('down')
    expect(state.detail).toMatch(/setup\(\)|does not answer/)
    expect(state.detail).not.toContain('secret')
    await store.close()
  }
  await db.close()
})

test('refusalOf returns a refusal for wrong credentials, database, rights and tables, and none for an unreachable server', async () => {
  const { ownerUrl, appUrl } = await database()
  const at = (change: (url: URL) => void) => {
    const url = new URL(ownerUrl)
    change(url)
    return url.href
  }
  const { username } = new URL(appUrl)
  await withConnection(ownerUrl, async (owner) => {
    await owner.query(`REVOKE USAGE ON SCHEMA langgraph FROM "${username}"`)
  })
  const refusals = {
    credentials: at((url) => {
      url.password = 'wrong'
    }),
    missing: at((url) => {
      url.pathname = '/nowhere'
    }),
    access_denied: inSchema(appUrl, 'langgraph'),
    wrong_tables: inSchema(ownerUrl, 'typo'),
    none: 'postgresql://nobody:secret@127.0.0.1:1/nowhere',
  }
  for (const [refusal, address] of Object.entries(refusals)) {
    const store = otherCheckpoints(address)
    const error: unknown = await store
      .residue([{ thread: 't', ids: ['a-message-of-somebody'], texts: [] }], [])
      .catch((fault: unknown) => fault)
    expect(error, refusal).toMatchObject({ code: 'unavailable' })
    expect(storeRefusalOf(error) ?? 'none').toBe(refusal)
    expect(`${error} ${JSON.stringify(error)}`).not.toMatch(/secret|nowhere/)
    await store.close()
  }
})

test('the application’s role cannot alter LangGraph’s tables or their history', async () => {
  const { appUrl } = await database()
  for (const sql of [
    'DROP TABLE langgraph.checkpoints',
    'TRUNCATE langgraph.checkpoint_blobs',
    'INSERT INTO langgraph.checkpoint_migrations VALUES (99)',
    'CREATE TABLE langgraph.mine ()',
  ])
    await expect(
      withConnection(appUrl, (client) => client.query(sql)),
      sql,
    ).rejects.toMatchObject({ code: '42501' })
})
