import { type ChildProcess, spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { chmodSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { withConnection } from './connection.ts'
import { type EmbeddedDatabase, startEmbedded } from './embedded.ts'

let folder: string
const running: EmbeddedDatabase[] = []
const supervisors: ChildProcess[] = []

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'kp-embedded-'))
  chmodSync(folder, 0o755)
})

afterEach(async () => {
  for (const supervisor of supervisors.splice(0)) supervisor.kill('SIGKILL')
  for (const database of running.splice(0)) await database.stop()
  rmSync(folder, { recursive: true, force: true })
})

const start = async (dataDir = folder) => {
  const database = await startEmbedded(dataDir)
  running.push(database)
  return database
}

/** Starts another process that runs `first`, starts the database, runs `then` and stays alive. Returns its first line of output. */
async function supervise(then: string, first = ''): Promise<string> {
  const program = `
    import { startEmbedded } from '#lib/stores/postgres/embedded.ts'
    import { withConnection } from '#lib/stores/postgres/connection.ts'
    setInterval(() => {}, 1000)
    ${first}
    const database = await startEmbedded(${JSON.stringify(folder)})
    ${then}`
  const child = spawn(process.execPath, ['--input-type=module', '-e', program], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  supervisors.push(child)
  const [line] = await once(createInterface(child.stdout), 'line')
  return String(line)
}

const store = `await withConnection(database.ownerUrl('postgres'), (client) =>
  client.query("CREATE TABLE kept AS SELECT 'acknowledged' AS what"))`
const stored = (database: EmbeddedDatabase) =>
  withConnection(database.ownerUrl('postgres'), async (client) => (await client.query('SELECT what FROM kept')).rows)

test('startEmbedded stops an orphaned server and finds every row after kill -9 of its supervisor', async () => {
  const pid = Number(await supervise(`${store}\nconsole.log(database.pid)`))
  supervisors[0]?.kill('SIGKILL')
  if (supervisors[0]) await once(supervisors[0], 'exit')
  process.kill(pid, 0) // the orphan is still running
  const database = await start()
  expect(database.tookOver).toBe(true)
  expect(database.pid).not.toBe(pid)
  expect(await stored(database)).toEqual([{ what: 'acknowledged' }])
})

test('startEmbedded recovers after kill -9 of the server', async () => {
  const first = await start()
  await withConnection(first.ownerUrl('postgres'), (client) =>
    client.query(`CREATE TABLE kept AS SELECT 'acknowledged' AS what`),
  )
  process.kill(first.pid, 'SIGKILL')
  await first.exited
  await first.stop()
  const second = await start()
  expect(await stored(second)).toEqual([{ what: 'acknowledged' }])
})

test('startEmbedded creates a complete cluster when an earlier creation was killed', async () => {
  // It kills itself before it renames the folder in a later turn of its event loop. A signal from another process could arrive too late.
  const killItself = `
    const { readdirSync } = await import('node:fs')
    setInterval(() => {
      if (readdirSync(${JSON.stringify(folder)}).some((name) => name.startsWith('pgdata.unfinished'))) process.kill(process.pid, 'SIGKILL')
    }, 1)`
  supervise('', killItself).catch(() => {}) // it prints nothing
  expect(await once(supervisors[0] as ChildProcess, 'exit')).toEqual([null, 'SIGKILL'])
  // Its initdb can outlive it, and writes on.
  await expect.poll(() => spawnSync('pgrep', ['-f', folder]).status, { timeout: 60_000 }).not.toBe(0)
  expect(readdirSync(folder)).not.toContain('pgdata')
  const database = await start()
  await withConnection(database.ownerUrl('postgres'), (client) => client.query('SELECT 1'))
  expect(readdirSync(folder).filter((name) => name.startsWith('pgdata.unfinished'))).toEqual([])
})

test('startEmbedded rejects a second start, names the running process and does not stop it', async () => {
  const first = await start()
  await expect(startEmbedded(folder)).rejects.toMatchObject({
    code: 'ALREADY_RUNNING',
    message: expect.stringContaining(`process ${process.pid}`),
  })
  await withConnection(first.ownerUrl('postgres'), (client) => client.query('SELECT 1'))
})

test('startEmbedded succeeds exactly once when many start concurrently', async () => {
  const outcomes = await Promise.allSettled(Array.from({ length: 5 }, () => start()))
  expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1)
  for (const outcome of outcomes) {
    if (outcome.status === 'rejected') expect(outcome.reason).toMatchObject({ code: 'ALREADY_RUNNING' })
  }
})

test('startEmbedded rejects data of another major version and leaves it unchanged', async () => {
  await (await start()).stop()
  writeFileSync(join(folder, 'pgdata/PG_VERSION'), '16\n')
  await expect(startEmbedded(folder)).rejects.toMatchObject({
    code: 'OTHER_VERSION',
    message: expect.stringContaining('PostgreSQL 16'),
  })
  expect(readFileSync(join(folder, 'pgdata/PG_VERSION'), 'utf8')).toBe('16\n')
})

test('startEmbedded starts when the folder’s path is too long for a socket', async () => {
  const database = await start(join(folder, 'long'.repeat(30)))
  const url = database.ownerUrl('postgres')
  expect(await withConnection(url, async (client) => (await client.query('SELECT 1 AS one')).rows)).toEqual([
    { one: 1 },
  ])
  await database.stop()
  rmSync(new URL(url).searchParams.get('host') ?? '', { recursive: true })
})

test('the embedded server listens on no port and rejects a wrong password', async () => {
  const database = await start()
  const wrong = Object.assign(new URL(database.ownerUrl('postgres')), { password: 'guess' })
  await expect(withConnection(wrong.href, (client) => client.query('SELECT 1'))).rejects.toMatchObject({
    code: 'ACCESS_DENIED',
  })
  const rows = await withConnection(
    database.ownerUrl('postgres'),
    async (client) => (await client.query('SHOW listen_addresses')).rows,
  )
  expect(rows).toEqual([{ listen_addresses: '' }])
})
