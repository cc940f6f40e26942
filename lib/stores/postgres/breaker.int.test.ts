import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { text } from 'node:stream/consumers'
import { afterAll, beforeAll, expect, it, onTestFinished, vi } from 'vitest'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { type TcpProxy, tcpProxy } from '#lib/testing/tcp-proxy.ts'
import { breaker } from './database.ts'
import { createPool } from './pool.ts'

let database: TestDatabase
let proxy: TcpProxy
beforeAll(async () => {
  database = await testDatabase()
  proxy = await tcpProxy(database.appUrl)
})
afterAll(async () => {
  proxy?.close()
  await database?.drop()
})

/** A pool whose own time limits are never reached. */
function watchedPool(max: number, options: { slow: number; probe: number }) {
  const pool = createPool({ connectionString: proxy.url, max, connectionTimeoutMillis: 120_000 })
  const watched = breaker(pool, options)
  onTestFinished(async () => {
    proxy.thaw()
    await watched.close()
    await pool.end()
  })
  return pool
}

it('a frozen server: requests with a connection, requests without one and later requests are rejected until the server responds', async () => {
  const pool = watchedPool(2, { slow: 40, probe: 400 })
  await Promise.all([pool.query('SELECT 1'), pool.query('SELECT 1')])
  proxy.freeze()
  // Two use the connections of the pool, and the others wait for one.
  const reported = await Promise.allSettled([
    ...Array.from({ length: 4 }, () => pool.query('SELECT 1')),
    pool.connect(),
  ])
  expect(reported.map(({ status }) => status)).toEqual(Array(5).fill('rejected'))
  await expect(pool.connect()).rejects.toMatchObject({ name: 'DatabaseSilent', code: 'ETIMEDOUT' })
  await expect(pool.query('SELECT 1')).rejects.toMatchObject({ name: 'DatabaseSilent' })
  proxy.thaw()
  await vi.waitUntil(async () => (await pool.query('SELECT 1').catch(() => null))?.rowCount === 1, { timeout: 120_000 })
  const again = await Promise.all(Array.from({ length: 6 }, () => pool.query<{ n: number }>('SELECT 1 AS n')))
  expect(again.map(({ rows }) => rows)).toEqual(Array(6).fill([{ n: 1 }]))
  await vi.waitUntil(() => pool.idleCount === pool.totalCount, { timeout: 120_000 })
  expect([pool.totalCount <= 2, pool.waitingCount]).toEqual([true, 0])
})

it('a long statement is not interrupted while the server responds, also if this process is busy', async () => {
  const pool = watchedPool(1, { slow: 40, probe: 300 })
  const asked = pool.query<{ n: number }>('SELECT 1 AS n FROM pg_sleep(2)')
  for (let times = 0; times < 3; times++) {
    const until = performance.now() + 600
    while (performance.now() < until); // longer than two probes
    await new Promise((done) => setImmediate(done))
  }
  expect((await asked).rows).toEqual([{ n: 1 }])
})

it('closing keeps a process alive that has nothing else to do', async () => {
  const code = `
    import { breaker } from './lib/stores/postgres/database.ts'
    import { createPool } from './lib/stores/postgres/pool.ts'
    const pool = createPool({ connectionString: process.env.KP_TEST_URL })
    const watched = breaker(pool, { slow: 400, probe: 400 })
    await pool.query('SELECT 1 FROM pg_sleep(0.2)')
    await pool.end()
    await watched.close()
    console.log('closed')`
  const child = spawn(process.execPath, ['--input-type=module-typescript', '-e', code], {
    env: { ...process.env, KP_TEST_URL: proxy.url },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const [said, [status]] = await Promise.all([text(child.stdout), once(child, 'exit')])
  expect([said, status]).toEqual(['closed\n', 0])
})
