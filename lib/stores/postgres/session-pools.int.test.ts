import { once } from 'node:events'
import { connect, createServer } from 'node:net'
import { afterAll, beforeAll, expect, onTestFinished, test } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { withConnection } from './connection.ts'
import { type Database, openDatabase } from './database.ts'
import { startTemporary } from './temporary.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.appUrl, { isGuarded: true, max: 4 })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

const settings = { enable_seqscan: 'off', statement_timeout: '3s' }
const read = "SELECT current_setting('enable_seqscan') AS scans, current_setting('statement_timeout') AS timeout"

test('statements have the settings of their pool; other connections keep the defaults', async () => {
  const asked = Array.from({ length: 8 }, () => db.withSettings(settings)(read, []))
  for (const rows of await Promise.all(asked)) expect(rows).toEqual([{ scans: 'off', timeout: '3s' }])
  const others = Array.from({ length: 8 }, () => db.query(undefined, read))
  for (const rows of await Promise.all(others)) expect(rows).toEqual([{ scans: 'on', timeout: '15s' }])
})

test('the same settings share half as many connections as the database has', async () => {
  const process = 'SELECT pg_backend_pid() AS pid, pg_sleep(0.02)::text AS slept'
  const asked = Array.from({ length: 12 }, () => db.withSettings(settings)(process, []))
  expect(new Set((await Promise.all(asked)).map(([row]) => row?.pid)).size).toBe(2)
})

test('slow statements with settings do not delay other statements', async () => {
  const order: string[] = []
  const slow = Array.from({ length: 4 }, () =>
    db
      .withSettings(settings)('SELECT pg_sleep(2.5)::text AS slept', [])
      .then(() => order.push('slow')),
  )
  const other = db.query(undefined, 'SELECT 1').then(() => order.push('other'))
  await Promise.all([...slow, other])
  expect(order).toEqual(['other', ...slow.map(() => 'slow')])
})

test('a statement that exceeds the time limit of its settings is refused as unavailable', async () => {
  const short = { statement_timeout: '50ms' }
  await expect(db.withSettings(short)('SELECT pg_sleep(5)', [])).rejects.toMatchObject({ code: 'unavailable' })
})

test('statements with settings cannot write', async () => {
  const write = db.withSettings(settings)('CREATE TEMPORARY SEQUENCE written', [])
  await expect(write).rejects.toMatchObject({ cause: { code: '25006' } })
})

test('a connection that the server ends is replaced by one with the settings', async () => {
  await withConnection(database.ownerUrl, (owner) =>
    owner.query(
      'SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid()',
    ),
  )
  await expect
    .poll(() =>
      db
        .withSettings(settings)(read, [])
        .catch(() => []),
    )
    .toEqual([{ scans: 'off', timeout: '3s' }])
})

test('after the database is closed, statements with settings are refused', async () => {
  const other = openDatabase(database.appUrl)
  await other.withSettings(settings)(read, [])
  await other.close()
  await expect(other.withSettings(settings)(read, [])).rejects.toMatchObject({ code: 'unavailable' })
})

test('inside a transaction, a second connection is refused in development', async () => {
  await expect(db.transaction(async () => db.withSettings(settings)(read, []))).rejects.toThrow(/second connection/)
})

test('serverEpoch increases with a lost connection of every pool, also of the direct ones beside a pooler', async () => {
  const direct = new URL(database.appUrl)
  direct.searchParams.set('application_name', 'direct')
  const several = openDatabase(database.appUrl, { max: 2, directUrl: direct.href })
  onTestFinished(() => several.close())
  const pidOf = 'SELECT pg_backend_pid() AS pid'
  const client = await several.session()
  const [{ pid: ofSession }] = (await client.query(pidOf)).rows
  client.release()
  const [ofSettings] = await several.withSettings(settings)(pidOf, [])
  const [ofPool] = await several.query<{ pid: number }>(undefined, pidOf)
  for (const [n, pid] of [ofSession, ofSettings?.pid, ofPool?.pid].entries()) {
    expect(several.serverEpoch()).toBe(n)
    await withConnection(database.ownerUrl, (owner) => owner.query('SELECT pg_terminate_backend($1)', [pid]))
    await expect.poll(() => several.serverEpoch(), { timeout: 60_000 }).toBe(n + 1)
  }
})

test('every pool counts another server once, before its first statement and without a lost connection, and a pool behind a pooler refuses no answer', async () => {
  const here = new URL(database.ownerUrl)
  const other = await startTemporary()
  onTestFinished(other.stop)
  const there = new URL(other.ownerUrl('postgres'))
  await withConnection(there.href, (owner) =>
    owner.query(`ALTER ROLE ${here.username} PASSWORD '${decodeURIComponent(here.password)}'`),
  )
  let primary = here
  const address = createServer((client) => {
    const server = connect(`${primary.searchParams.get('host')}/.s.PGSQL.5432`)
    for (const socket of [client, server]) socket.on('error', () => {}).on('close', () => client.destroy())
    client.pipe(server).pipe(client)
  })
  const port = await freeTestPort()
  await once(address.listen(port, '127.0.0.1'), 'listening')
  onTestFinished(() => void address.close())
  const url = `postgresql://${here.username}:${here.password}@127.0.0.1:${port}/postgres`
  const direct = openDatabase(url, { max: 6 })
  onTestFinished(() => direct.close())
  const pooled = openDatabase(`${url}?application_name=pooled`, { max: 6, directUrl: url })
  onTestFinished(() => pooled.close())
  const counts = () => [direct, pooled].flatMap((one) => [one.servers(), one.serverEpoch()])
  const sessions: { release(): void }[] = []
  const connectAll = async () => {
    for (const one of [direct, pooled]) sessions.push(await one.pool.connect(), await one.session())
  }
  await connectAll()
  expect(counts()).toEqual([0, 0, 0, 0])
  primary = there
  await connectAll()
  expect(counts()).toEqual([1, 1, 0, 1])
  for (const one of [direct, pooled]) await one.withSettings(settings)(read, [])
  // An address that alternates between a primary and replicas.
  primary = here
  sessions.push(await direct.session(), await pooled.session())
  expect(counts()).toEqual([1, 1, 0, 1])
  for (const session of sessions) session.release()
})
