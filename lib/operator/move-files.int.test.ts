import { existsSync, mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { versionedBucket } from '#lib/testing/connected-stores.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { isInstalled } from '#lib/testing/services/installed.ts'
import { s3Server } from '#lib/testing/services/shared.ts'

describe.skipIf(!isInstalled('s3'))('kp move-files', () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'kp-move-'))
  let database: TestDatabase
  let bucket: Awaited<ReturnType<typeof versionedBucket>>
  beforeAll(async () => {
    database = await testDatabase()
    bucket = await versionedBucket((await s3Server()).endpoint)
  })
  afterAll(async () => {
    bucket?.close()
    await database?.drop()
    rmSync(dataDir, { recursive: true, force: true })
  })

  const machine = (settings: Record<string, string>): Promise<TestApp> =>
    testApp({ KP_DATA_DIR: dataDir, ...settings }, { ...database, drop: async () => {} })
  const runJob = (app: TestApp, name: string, payload: unknown) =>
    app.app.jobs.find((job) => job.name === name)?.execute(app.app.pipeline, payload) ?? Promise.reject()
  async function exported(app: TestApp, person: Person): Promise<string> {
    const { id } = (await app.fetch('POST', '/api/privacy/exports', { cookie: person.cookie, body: {} })).json.data
    await runJob(app, 'exports.prepare', { id })
    return id
  }
  async function snapshot(app: TestApp, agent: Issued): Promise<string> {
    const { id } = (await app.fetch('POST', `/v1/agents/${agent.id}/snapshots`, { token: agent.token })).json.data
    await runJob(app, 'snapshots.make', { id })
    return id
  }
  const filesIn = (folder: string) => {
    const path = join(dataDir, folder)
    return existsSync(path)
      ? readdirSync(path).filter((name) => name.startsWith('exp_') || name.startsWith('snap_'))
      : []
  }

  test('moves everything of a stopped installation; afterwards the files are served and erased from the bucket', async () => {
    const before = await machine({})
    const person = await signedIn(before)
    const agent = await issuedAgent(before, ['read', 'write'], { tier: 'enterprise', owner: person })
    await giveKeyring(before, agent.id)
    const [exportId, snapshotId] = [await exported(before, person), await snapshot(before, agent)]
    expect([filesIn('exports').length, filesIn('snapshot-keys')]).toEqual([1, [snapshotId]])

    const line = commandLine(before.url)
    const env = {
      DATABASE_URL: before.app.env.DATABASE_URL ?? '',
      KP_DATA_DIR: dataDir,
      KP_SECRET: before.app.env.KP_SECRET ?? '',
      KP_FILES_URL: bucket.url,
    }
    const refused = await line.run(['move-files'], { env })
    expect([refused.status, refused.err]).toEqual([1, expect.stringContaining('KnowledgePulse is running')])
    expect(filesIn('exports')).toHaveLength(1)
    await before.close()

    const moved = await line.run(['move-files', '--json'], { env })
    expect(moved.err).toBe('')
    expect(moved.json.data.moved).toEqual({ exports: 1, snapshot_keys: 1 })
    expect([filesIn('exports'), filesIn('snapshot-keys')]).toEqual([[], []])
    expect((await line.run(['move-files', '--json'], { env })).json.data.moved).toEqual({
      exports: 0,
      snapshot_keys: 0,
    })

    const after = await machine({ KP_FILES_URL: bucket.url })
    try {
      const cookie = person.cookie
      const file = await after.fetch('GET', `/api/privacy/exports/${exportId}/file`, { cookie })
      expect([file.status, file.headers.get('content-type')]).toEqual([200, 'application/zip'])
      const { stores } = (await after.fetch('GET', '/ready')).json
      expect([stores.exports.state, stores.snapshot_keys.state]).toEqual(['ok', 'ok'])

      const { runId } = await after.db.transaction((tx) =>
        after.app.subjectErasures.begin(tx, {
          requestId: null,
          subject: { account: person.accountId, agents: [agent.id] },
          requestedBy: 'user:test',
          reason: 'user_request',
          now: after.clock.now(),
        }),
      )
      await drain(after)
      expect((await after.app.subjectErasures.run(runId))?.state).toBe('done')
      expect([...(await bucket.contents()).keys()]).toEqual([])
    } finally {
      await after.close()
      line.close()
    }
  })

  test('files that were left in a folder make erasures wait, and nothing is stored in a second place', async () => {
    const [alone, shared] = [await machine({}), await machine({ KP_FILES_URL: bucket.url })]
    try {
      await alone.db.prisma.knownStore.deleteMany({ where: { port: { in: ['exports', 'snapshot_keys'] } } })
      const person = await signedIn(alone)
      const agent = await issuedAgent(alone, ['read', 'write'], { tier: 'enterprise', owner: person })
      await giveKeyring(alone, agent.id)
      await exported(alone, person)
      await snapshot(alone, agent)

      const other = await signedIn(shared)
      const refused = await shared.fetch('POST', '/api/privacy/exports', { cookie: other.cookie, body: {} })
      expect(refused.json).toMatchObject({ status: 503, code: 'unavailable' })
      await expect(snapshot(shared, agent)).rejects.toMatchObject({ code: 'unavailable' })
      const { runId } = await shared.db.transaction((tx) =>
        shared.app.subjectErasures.begin(tx, {
          requestId: null,
          subject: { account: person.accountId, agents: [agent.id] },
          requestedBy: 'user:test',
          reason: 'user_request',
          now: shared.clock.now(),
        }),
      )
      let rounds = 0
      await drain(shared, { mayFail: true, until: () => rounds++ > 1 })
      expect((await shared.app.subjectErasures.run(runId))?.state).not.toBe('done')
      expect([filesIn('exports').length, filesIn('snapshot-keys').length]).toEqual([1, 1])
      expect([...(await bucket.contents()).keys()]).toEqual([])
    } finally {
      await shared.close()
      await alone.close()
    }
  })
})
