import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { type Database, openDatabase } from './database.ts'
import { queryWithin } from './statement.ts'

let database: TestDatabase
let db: Database
beforeAll(async () => {
  database = await testDatabase()
  db = openDatabase(database.appUrl, { max: 4, isGuarded: true })
})
afterAll(async () => {
  await db.close()
  await database.drop()
})

describe('a statement on the connection of a transaction', () => {
  it('is part of the transaction: both see each other’s rows, and a rollback removes the rows of both', async () => {
    const ids = await db
      .transaction(async (tx) => {
        const [prisma] = await tx.$queryRaw<{ id: bigint }[]>`SELECT pg_current_xact_id()::text::bigint AS id`
        const [own] = await queryWithin<{ id: string }>(tx, 'own-id', 'SELECT pg_current_xact_id()::text AS id', [])
        await tx.$executeRaw`CREATE TEMPORARY TABLE noted (id int) ON COMMIT DROP`
        await queryWithin(tx, 'note', 'INSERT INTO noted VALUES ($1)', [7])
        expect(await tx.$queryRaw`SELECT id FROM noted`).toEqual([{ id: 7 }])
        throw Object.assign(new Error('back'), { ids: [String(prisma?.id), own?.id] })
      })
      .catch((error: Error & { ids?: string[] }) => error.ids ?? [])
    expect(ids[0]).toMatch(/^\d+$/)
    expect(ids[0]).toBe(ids[1])
  })

  it('never runs in another transaction when many are open', async () => {
    const pairs = await Promise.all(
      Array.from({ length: 12 }, () =>
        db.transaction(async (tx) => {
          const [prisma] = await tx.$queryRaw<{ pid: number }[]>`SELECT pg_backend_pid() AS pid, pg_sleep(0.01)::text`
          const [own] = await queryWithin<{ pid: number }>(tx, 'own-pid', 'SELECT pg_backend_pid() AS pid', [])
          return [prisma?.pid, own?.pid]
        }),
      ),
    )
    for (const [prisma, own] of pairs) expect(own).toBe(prisma)
  })

  it('is rejected after its transaction timed out, also when another transaction uses the connection', async () => {
    const hurried = openDatabase(database.appUrl, { max: 1, longest: 200 })
    try {
      const [hasConnection, over] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
      let [other, refused]: Promise<unknown>[] = []
      const late = hurried.transaction(async (tx) => {
        await vi.waitUntil(() => hurried.pool.idleCount === 1, 120_000)
        other = hurried.transaction(
          async () => {
            hasConnection.resolve()
            await over.promise
          },
          { longest: 120_000 },
        )
        await hasConnection.promise
        refused = queryWithin(tx, 'late', 'CREATE TABLE stray (id int)', []).finally(over.resolve)
        await refused
      })
      await expect(late).rejects.toThrow()
      await vi.waitUntil(() => refused !== undefined, 120_000)
      await expect(refused).rejects.toThrow('took too long')
      await other
      expect((await hurried.pool.query("SELECT to_regclass('stray') AS name")).rows).toEqual([{ name: null }])
    } finally {
      await hurried.close()
    }
  })

  it('gets the requested time limit, also for its statements, and the next transaction gets the default', async () => {
    const hurried = openDatabase(database.appUrl, { max: 1, longest: 200 })
    try {
      const waits = 'SELECT pg_sleep(0.4)::text, current_setting($1) AS most'
      const patient = hurried.transaction(
        (tx) => queryWithin<{ most: string }>(tx, 'waits', waits, ['statement_timeout']),
        { longest: 60_000 },
      )
      expect((await patient)[0]?.most).toBe('1min')
      await expect(
        hurried.transaction((tx) => queryWithin(tx, 'waits', waits, ['statement_timeout'])),
      ).rejects.toMatchObject({ code: 'unavailable' })
      const [{ most } = { most: '' }] = await hurried.query<{ most: string }>(
        undefined,
        "SELECT current_setting('statement_timeout') AS most",
      )
      expect(most).toBe('15s')
    } finally {
      await hurried.close()
    }
  })

  it('reports a conflict with other transactions when it does not get a lock in time', async () => {
    const hurried = openDatabase(database.appUrl, { max: 2, longest: 2_000 })
    try {
      const held = Promise.withResolvers<void>()
      const over = Promise.withResolvers<void>()
      const lockOwner = db.transaction(async (tx) => {
        await tx.$queryRaw`SELECT pg_advisory_xact_lock(4711)::text`
        held.resolve()
        await over.promise
      })
      await held.promise
      // It waits a second for the lock, and then has another second to report that before its own time limit.
      await hurried.query(undefined, 'SELECT 1')
      const waiting = hurried.transaction((tx) => tx.$queryRaw`SELECT pg_advisory_xact_lock(4711)::text`)
      await expect(waiting).rejects.toMatchObject({
        code: 'unavailable',
        message: expect.stringContaining('Another request changed the same data'),
      })
      over.resolve()
      await lockOwner
    } finally {
      await hurried.close()
    }
  })

  it('is retried when the database aborts its transaction because of another transaction', async () => {
    await db.query(
      undefined,
      "INSERT INTO settings (name, value, updated_at, updated_by) SELECT 'n' || n, '0', now(), 'test' FROM generate_series(1, 2) AS n",
    )
    const raise = (names: readonly string[]) =>
      db.transaction(async (tx) => {
        for (const name of names) {
          await tx.$executeRaw`UPDATE settings SET value = to_jsonb((value #>> '{}')::int + 1) WHERE name = ${name}`
          await tx.$queryRaw`SELECT pg_sleep(0.1)::text`
        }
      })
    await Promise.all([raise(['n1', 'n2']), raise(['n2', 'n1'])])
    expect(await db.query(undefined, "SELECT value FROM settings WHERE name IN ('n1', 'n2')")).toEqual([
      { value: 2 },
      { value: 2 },
    ])
  })

  it('is rejected outside a database transaction', async () => {
    await expect(queryWithin(db.prisma, 'outside', 'SELECT 1', [])).rejects.toThrow('outside a database transaction')
  })
})
