import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { errorCode } from '#lib/kernel/error-code.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { withConnection } from './connection.ts'
import { prepareDatabase } from './preparation.ts'

const DENIED = '42501'

let database: TestDatabase
let app: pg.Client

beforeAll(async () => {
  database = await testDatabase()
  await withConnection(database.ownerUrl, (owner) =>
    owner.query(`
      CREATE TABLE ledger (at timestamptz NOT NULL, what text) PARTITION BY RANGE (at);
      CREATE TABLE ledger_default PARTITION OF ledger DEFAULT;
      COMMENT ON TABLE ledger IS 'append-only: what happened';
      CREATE TABLE notes (id serial PRIMARY KEY, what text);
      CREATE FUNCTION for_the_app() RETURNS int LANGUAGE sql AS 'SELECT 1';
      COMMENT ON FUNCTION for_the_app() IS 'app: anyone may ask';
      CREATE FUNCTION for_the_owner() RETURNS int LANGUAGE sql AS 'SELECT 2';
      COMMENT ON FUNCTION for_the_owner() IS 'applies nothing';
      CREATE EXTENSION IF NOT EXISTS pg_trgm;`),
  )
  // The clone has the template's role, so it must be prepared again to grant rights on its tables.
  await prepareDatabase({ ownerUrl: database.ownerUrl, appUrl: database.appUrl })
  app = new pg.Client({ connectionString: database.appUrl })
  await app.connect()
})

afterAll(async () => {
  await app?.end()
  await database?.drop()
})

const outcome = (sql: string) =>
  app.query(sql).then(
    () => 'allowed',
    (error: unknown) => errorCode(error),
  )

describe('append-only tables, for the application’s role', () => {
  test.each([`INSERT INTO ledger VALUES (now(), 'it')`, 'SELECT * FROM ledger'])('allows %s', async (sql) =>
    expect(await outcome(sql)).toBe('allowed'),
  )

  test.each([
    `UPDATE ledger SET what = 'else'`,
    'DELETE FROM ledger',
    'TRUNCATE ledger',
    'SELECT * FROM ledger FOR UPDATE',
    'DROP TABLE ledger',
    'ALTER TABLE ledger DISABLE TRIGGER ALL',
    'ALTER TABLE ledger DETACH PARTITION ledger_default',
    'SELECT * FROM ledger_default',
    `INSERT INTO ledger_default VALUES (now(), 'it')`,
    'DELETE FROM ledger_default',
    'TRUNCATE ledger_default',
    `COMMENT ON TABLE ledger IS ''`,
    'SET ROLE kp_owner',
    'CREATE TABLE public.mine ()',
    'DELETE FROM _prisma_migrations',
  ])('denies %s', async (sql) => expect(await outcome(sql)).toBe(DENIED))
})

describe('views of append-only tables, for the application’s role', () => {
  test.each(['SELECT * FROM audited_deletions', 'SELECT * FROM deletion_records'])('allows %s', async (sql) =>
    expect(await outcome(sql)).toBe('allowed'),
  )

  test.each([
    'DELETE FROM audited_deletions',
    `UPDATE audited_deletions SET resource_id = ''`,
    'DELETE FROM deletion_records',
    `UPDATE deletion_records SET requested_by = ''`,
  ])('denies %s', async (sql) => expect(await outcome(sql)).toBe(DENIED))
})

test('a GRANT by the application does not change the rights of its role', async () => {
  await app.query('GRANT UPDATE ON ledger TO PUBLIC') // PostgreSQL warns and grants nothing
  expect(await outcome(`UPDATE ledger SET what = 'else'`)).toBe(DENIED)
})

describe('other tables, for the application’s role', () => {
  test.each([
    `INSERT INTO notes (what) VALUES ('it')`,
    `UPDATE notes SET what = 'else'`,
    'DELETE FROM notes',
    'SELECT count(*) FROM _prisma_migrations',
    'SELECT for_the_app()',
    `SELECT 'pulse' % 'pulses'`,
  ])('allows %s', async (sql) => expect(await outcome(sql)).toBe('allowed'))

  test.each(['TRUNCATE notes', 'DROP TABLE notes', 'SELECT for_the_owner()'])('denies %s', async (sql) =>
    expect(await outcome(sql)).toBe(DENIED),
  )
})

test('the job queue works under its row-level security', async () => {
  const { rows: added } = await app.query(`SELECT id FROM graphile_worker.add_job('greet', '{"to": 1}')`)
  expect(added).toHaveLength(1)
  expect((await app.query('SELECT task_identifier FROM graphile_worker.jobs')).rows).toEqual([
    { task_identifier: 'greet' },
  ])
})
