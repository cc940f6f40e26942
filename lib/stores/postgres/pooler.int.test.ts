import { chmodSync, existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { readEnv } from '#lib/config/env.ts'
import { operator } from '#lib/operator/operator.ts'
import { prepareInstallation } from '#lib/platform/installation.ts'
import { testApp, testSecret } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { freeTestPort } from '#lib/testing/ports.ts'
import { newFolder, startProcess } from '#lib/testing/services/process.ts'
import { trace } from '#lib/testing/units.ts'
import { withConnection } from './connection.ts'

/** Sessions of the database that the pooler shares among all clients. */
const poolSize = 3
const timeLimits = "connect_query='SET statement_timeout = 15000; SET lock_timeout = 14000'"
const pgbouncer = ['/usr/sbin/pgbouncer', '/usr/bin/pgbouncer'].find((file) => existsSync(file))
if (pgbouncer === undefined && readEnv().KP_REQUIRE_SERVICES)
  throw new Error('pgbouncer is not installed, and KP_REQUIRE_SERVICES asks for it: run .ci/run')

/** PgBouncer in transaction mode in front of a database, as in docs/configuration.md. Returns the application's address through it. */
async function startPooler({ appUrl }: TestDatabase, settings = timeLimits): Promise<string> {
  const url = new URL(appUrl)
  const [folder, port, name] = [newFolder('pgbouncer'), await freeTestPort(), url.pathname.slice(1)]
  const host = url.searchParams.get('host') ?? url.hostname
  const password = decodeURIComponent(url.password)
  writeFileSync(join(folder, 'users.txt'), `"${url.username}" "${password}"\n`)
  writeFileSync(
    join(folder, 'pgbouncer.ini'),
    `[databases]
${name} = host=${host} port=${url.port || 5432} dbname=${name} ${settings}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = plain
auth_file = ${join(folder, 'users.txt')}
pool_mode = transaction
default_pool_size = ${poolSize}
max_client_conn = 500
`,
  )
  chmodSync(folder, 0o755)
  // It refuses to run as root.
  const asUser = process.getuid?.() === 0 ? (['setpriv', '--reuid=postgres', '--clear-groups'] as const) : []
  const [command, ...args] = [...asUser, pgbouncer ?? '', join(folder, 'pgbouncer.ini')]
  const server = await startProcess('pgbouncer', [command, ...args], { port, folder, keeps: false })
  onTestFinished(server.stop)
  return `postgresql://${url.username}:${encodeURIComponent(password)}@127.0.0.1:${port}/${name}`
}

describe.skipIf(pgbouncer === undefined)('behind PgBouncer in transaction mode', () => {
  test('an application with many clients contributes, reads, searches, limits and erases over three sessions', async () => {
    const database = await testDatabase()
    const pooled = await startPooler(database)
    const test = await testApp(
      {
        DATABASE_URL: pooled,
        DATABASE_DIRECT_URL: database.appUrl,
        DATABASE_MIGRATION_URL: database.ownerUrl,
        KP_LIMITS: 'postgres',
      },
      database,
    )
    try {
      const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
      const made = await Promise.all(
        Array.from({ length: 40 }, (_, n) =>
          test.fetch('POST', '/v1/knowledge', {
            token: agent.token,
            body: trace({ task: { objective: `Ferry number ${n}` } }),
          }),
        ),
      )
      expect(made.map(({ status }) => status)).toEqual(made.map(() => 201))
      const ids = made.map(({ json }) => json.data.id)
      const answers = await Promise.all(
        ids.flatMap((id) => [
          test.fetch('GET', `/v1/knowledge/${id}`, agent),
          test.fetch('GET', '/v1/knowledge?q=ferry', agent),
        ]),
      )
      expect(answers.map(({ status }) => status)).toEqual(answers.map(() => 200))
      const erased = await Promise.all(ids.slice(0, 20).map((id) => test.fetch('DELETE', `/v1/knowledge/${id}`, agent)))
      expect(erased.map(({ status }) => status)).toEqual(erased.map(() => 204))
      for (const id of ids.slice(0, 20))
        expect((await test.fetch('GET', `/v1/knowledge/${id}`, agent)).status).toBe(410)
      expect((await test.fetch('GET', '/v1/export', agent)).status).toBeLessThan(500)
      expect((await drain(test)).faults).toEqual([])
    } finally {
      await test.close()
    }
  })

  test('a failover that the pooler hides is noticed by the first connection beside it', async () => {
    const database = await testDatabase()
    const pooled = await startPooler(database)
    const { appUrl, ownerUrl } = database
    const settings = { DATABASE_URL: pooled, DATABASE_DIRECT_URL: appUrl, DATABASE_MIGRATION_URL: ownerUrl }
    const test = await testApp(settings, database)
    onTestFinished(test.close)
    const agent = await issuedAgent(test, ['read', 'write'])
    const made = await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const path = `/v1/knowledge/${made.json.data.id}`
    const standby = await backupOf({ ownerUrl, env: { ...test.app.env, DATABASE_URL: appUrl } })
    onTestFinished(standby.drop)
    expect((await test.fetch('DELETE', path, agent)).status).toBe(204)
    const connectBeside = async () => (await test.db.session()).release()
    await connectBeside()
    // The connections to the pooler are idle and remain; the pooler connects to the new database.
    const epoch = test.db.serverEpoch()
    const [name, source] = [ownerUrl, standby.ownerUrl].map((url) => new URL(url).pathname.slice(1))
    await withConnection(Object.assign(new URL(ownerUrl), { pathname: '/postgres' }).href, async (admin) => {
      await admin.query(`DROP DATABASE ${name} WITH (FORCE)`)
      await admin.query(`CREATE DATABASE ${name} TEMPLATE ${source}`)
    })
    await connectBeside()
    expect(test.db.serverEpoch()).toBeGreaterThan(epoch)
    expect(test.db.servers()).toBe(0)
    const statuses = new Set<number>()
    const read = async () => {
      const { status, json } = await test.fetch('GET', path, agent)
      statuses.add(status)
      return json.detail
    }
    // The pooler itself may refuse statements first.
    await expect.poll(read, { timeout: 60_000 }).toMatch(/does not know 1 erasure /)
    expect([...statuses]).toEqual([503])
    await operator(test.app).replayErasures()
    await expect.poll(async () => (await test.fetch('GET', path, agent)).status, { timeout: 60_000 }).toBe(410)
  })

  const folder = newFolder('pooled')
  const preparing = async (database: TestDatabase, pooled: string, direct = database.appUrl) =>
    prepareInstallation(
      readEnv({
        DATABASE_URL: pooled,
        DATABASE_DIRECT_URL: direct,
        DATABASE_MIGRATION_URL: database.ownerUrl,
        KP_DATA_DIR: folder,
        KP_LEDGER_URL: join(folder, 'ledger'),
        KP_SECRET: testSecret,
      }),
    )

  test('the start refuses a pooler without time limits, and one that leads to another database or user', async () => {
    const database = await testDatabase()
    onTestFinished(database.drop)
    const other = await testDatabase()
    onTestFinished(other.drop)
    await expect(preparing(database, await startPooler(other))).rejects.toMatchObject({ code: 'OTHER_DATABASE' })
    await expect(preparing(database, await startPooler(database, ''))).rejects.toMatchObject({ code: 'NO_TIME_LIMITS' })
    await expect(preparing(database, await startPooler(database), database.ownerUrl)).rejects.toMatchObject({
      code: 'OTHER_USER',
    })
    expect(await preparing(database, await startPooler(database))).toMatchObject({ applied: [] })
  })
})
