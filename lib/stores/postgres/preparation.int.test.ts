import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { withConnection } from './connection.ts'
import { deploy, localMigrations } from './migration-history.ts'
import { diagnose, pending } from './migrations.ts'
import { prepareDatabase } from './preparation.ts'

const secret = 'only for the databases of one test run'
const databases: TestDatabase[] = []

const database = async () => {
  const made = await testDatabase()
  databases.push(made)
  return made
}

afterAll(async () => {
  for (const made of databases) await made.drop()
})

const query = (url: string, sql: string) => withConnection(url, async (client) => (await client.query(sql)).rows)

describe('prepareDatabase', () => {
  test('applies nothing the second time', async () => {
    const { ownerUrl } = await database()
    expect((await prepareDatabase({ ownerUrl, secret })).applied).toEqual([])
  })

  test('applies the migrations once when many run concurrently on a new database, and all can serve', async () => {
    const { ownerUrl } = await database()
    const fresh = Object.assign(new URL(ownerUrl), { pathname: `${new URL(ownerUrl).pathname}_fresh` }).href
    databases.push({
      ownerUrl: fresh,
      appUrl: fresh,
      drop: async () =>
        void (await query(ownerUrl, `DROP DATABASE "${new URL(fresh).pathname.slice(1)}" WITH (FORCE)`)),
    })
    databases.reverse() // dropped in reverse order, because the template must still exist
    const prepared = await Promise.all(
      Array.from({ length: 5 }, () => prepareDatabase({ ownerUrl: fresh, secret, mayCreateDatabase: true })),
    )
    expect(prepared.flatMap(({ applied }) => applied)).toEqual(localMigrations().map(({ name }) => name))
    for (const { appUrl } of prepared)
      expect(await query(appUrl, 'SELECT count(*)::int AS units FROM units')).toEqual([{ units: 0 }])
  })

  test('rejects a schema newer than the code and leaves it unchanged', async () => {
    const { ownerUrl } = await database()
    await query(
      ownerUrl,
      `INSERT INTO _prisma_migrations (id, checksum, migration_name, finished_at) VALUES ('1', '', '99990101000000_later', now())`,
    )
    await expect(prepareDatabase({ ownerUrl, secret })).rejects.toMatchObject({
      code: 'SCHEMA_NEWER',
      message: expect.stringContaining('99990101000000_later'),
    })
  })

  test('rejects a migration that another tool left unfinished', async () => {
    const { ownerUrl } = await database()
    await query(ownerUrl, 'UPDATE _prisma_migrations SET finished_at = NULL')
    await expect(prepareDatabase({ ownerUrl, secret })).rejects.toMatchObject({ code: 'MIGRATION_FAILED' })
  })

  test('rejects a database when an applied migration was edited later', async () => {
    const { ownerUrl } = await database()
    await query(ownerUrl, `UPDATE _prisma_migrations SET checksum = repeat('0', 64)`)
    await expect(prepareDatabase({ ownerUrl, secret })).rejects.toMatchObject({ code: 'MIGRATION_CHANGED' })
  })

  test('rejects a database with tables of another application and leaves it unchanged', async () => {
    const { ownerUrl } = await database()
    await query(ownerUrl, 'DROP TABLE _prisma_migrations')
    await expect(prepareDatabase({ ownerUrl, secret })).rejects.toMatchObject({ code: 'FOREIGN_DATABASE' })
    expect(await query(ownerUrl, `SELECT to_regclass('_prisma_migrations') AS history`)).toEqual([{ history: null }])
  })

  test('rejects a database that does not exist with NO_DATABASE', async () => {
    const { ownerUrl } = await database()
    const missing = Object.assign(new URL(ownerUrl), { pathname: '/not_there' }).href
    await expect(prepareDatabase({ ownerUrl: missing, secret })).rejects.toMatchObject({ code: 'NO_DATABASE' })
  })
})

describe('a failing migration', () => {
  let client: pg.Client

  beforeAll(async () => {
    client = new pg.Client({ connectionString: (await database()).ownerUrl })
    await client.connect()
  })
  afterAll(() => client.end())

  test('is rolled back completely and applies after it was repaired', async () => {
    const broken = { name: '99990101000000_broken', sql: 'CREATE TABLE half (); SELECT 1/0;' }
    await expect(deploy(client, [...localMigrations(), broken])).rejects.toMatchObject({
      code: 'MIGRATION_FAILED',
      message: expect.stringContaining('division by zero'),
    })
    expect((await client.query(`SELECT to_regclass('half') AS half`)).rows).toEqual([{ half: null }])
    const repaired = { ...broken, sql: 'CREATE TABLE half ();' }
    expect(await deploy(client, [...localMigrations(), repaired])).toEqual([broken.name])
  })
})

describe('the application’s role', () => {
  test('is the role of DATABASE_URL when the owner is another', async () => {
    const { ownerUrl, appUrl } = await database()
    const { warning, ...prepared } = await prepareDatabase({ ownerUrl, appUrl })
    expect(prepared.appUrl).toBe(appUrl)
    expect(warning).toBeUndefined()
  })

  test('is named in the error when the role of DATABASE_URL does not exist', async () => {
    const { ownerUrl } = await database()
    const appUrl = Object.assign(new URL(ownerUrl), { username: 'nobody_here' }).href
    await expect(prepareDatabase({ ownerUrl, appUrl })).rejects.toMatchObject({ code: 'NO_ROLE' })
  })

  test('is the role of the database owner, with a warning, when the owner may not create roles', async () => {
    const { ownerUrl } = await database()
    const name = `plain_${new URL(ownerUrl).pathname.slice(1)}`
    await query(ownerUrl, `CREATE ROLE ${name} LOGIN PASSWORD 'plain'`)
    await query(ownerUrl, `CREATE DATABASE ${name} OWNER ${name}`)
    const plain = Object.assign(new URL(ownerUrl), { username: name, password: 'plain', pathname: `/${name}` }).href
    try {
      const prepared = await prepareDatabase({ ownerUrl: plain, appUrl: plain, secret })
      expect(prepared.appUrl).toBe(plain)
      expect(prepared.warning).toContain('DATABASE_MIGRATION_URL')
    } finally {
      await query(ownerUrl, `DROP DATABASE ${name} WITH (FORCE)`)
      await query(ownerUrl, `DROP ROLE ${name}`)
    }
  })
})

describe('Prisma’s own engine', () => {
  test('accepts the migration history as complete', async () => {
    const { ownerUrl } = await database()
    expect(await diagnose(ownerUrl)).toEqual({
      editedMigrationNames: [],
      failedMigrationNames: [],
      hasMigrationsTable: true,
      history: null,
    })
  })

  test('reports no difference between migrations and schema', async () => {
    const { ownerUrl } = await database()
    expect(await pending(ownerUrl)).toBeUndefined()
  })
})
