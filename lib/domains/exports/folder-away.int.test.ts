import { existsSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest'
import { checkStores } from '#bin/kp/store-checks.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'

const hour = 3_600_000
let app: TestApp
let second: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
  // Only the folder of exports is not shared.
  const shared = {
    KP_LEDGER_URL: join(app.dataDir, 'erasures'),
    KP_SNAPSHOT_KEYS_DIR: join(app.dataDir, 'snapshot-keys'),
  }
  second = await testApp(shared, {
    ownerUrl: app.ownerUrl,
    appUrl: app.app.env.DATABASE_URL ?? '',
    drop: async () => {},
  })
})
afterAll(async () => {
  await second?.close()
  await app?.close()
})
afterEach(async () => {
  // The folder of the next test is unknown again.
  await app.db.prisma.knownStore.deleteMany({ where: { port: 'exports' } })
  for (const { dataDir } of [app, second]) rmSync(join(dataDir, 'exports'), { recursive: true, force: true })
  for (const { clock } of [app, second]) clock.advance(25 * hour)
})

const folderOf = (machine: TestApp) => join(machine.dataDir, 'exports')
const filesIn = (machine: TestApp) =>
  existsSync(folderOf(machine)) ? readdirSync(folderOf(machine)).filter((name) => name !== 'folder.mark') : []
const runJob = (machine: TestApp, name: string, payload: unknown = {}) =>
  machine.app.jobs.find((job) => job.name === name)?.execute(machine.app.pipeline, payload) ?? Promise.reject()
const asked = (machine: TestApp, person: Person) =>
  machine.fetch('POST', '/api/privacy/exports', { cookie: person.cookie, body: {} })
async function ready(person: Person): Promise<string> {
  const { id } = (await asked(app, person)).json.data
  await runJob(app, 'exports.prepare', { id })
  expect(filesIn(app).filter((name) => name.startsWith(id))).toHaveLength(1)
  return id
}
const file = (machine: TestApp, person: Person, id: string) =>
  machine.fetch('GET', `/api/privacy/exports/${id}/file`, { cookie: person.cookie })
const begun = (machine: TestApp, person: Person) =>
  machine.db.transaction((tx) =>
    machine.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: person.accountId, agents: [] },
      requestedBy: 'user:test',
      reason: 'user_request',
      now: machine.clock.now(),
    }),
  )
const stateOf = async (runId: string) => (await app.app.subjectErasures.run(runId))?.state
/** Two rounds of the queue. Jobs may fail and wait for a retry. */
const tried = (machine: TestApp) => {
  let rounds = 0
  return drain(machine, { mayFail: true, until: () => rounds++ > 1 })
}
const unavailable = { status: 503, code: 'unavailable' }

test('a machine with another exports folder prepares, serves and deletes no export, and /ready and kp doctor report it', async () => {
  const person = await signedIn(app)
  const id = await ready(person)
  expect((await app.fetch('GET', '/ready')).json.stores.exports).toMatchObject({ state: 'ok' })

  expect((await file(second, person, id)).json).toMatchObject(unavailable)
  expect((await asked(second, person)).json).toMatchObject(unavailable)
  const path = `/api/privacy/exports/${id}`
  expect((await second.fetch('DELETE', path, { cookie: person.cookie })).json).toMatchObject(unavailable)
  await expect(runJob(second, 'exports.upkeep')).rejects.toMatchObject({ code: 'unavailable' })
  const late = (await asked(app, person)).json.data.id
  await expect(runJob(second, 'exports.prepare', { id: late })).rejects.toMatchObject({ code: 'unavailable' })
  expect((await second.fetch('GET', `/api/privacy/exports/${late}`, { cookie: person.cookie })).json.data.state).toBe(
    'queued',
  )
  expect(existsSync(folderOf(second))).toBe(false)
  expect((await second.fetch('GET', '/ready')).json).toMatchObject({
    status: 'degraded',
    stores: { exports: { state: 'down', detail: expect.stringContaining('all machines share it') } },
  })
  const checks = await checkStores(second.app.env, second.app.env.DATABASE_URL)
  expect(checks.find(({ name }) => name === 'exports')).toMatchObject({
    state: 'fault',
    found: expect.stringContaining('not the folder that the installation uses'),
  })
  const { stores } = (await second.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data
  expect(stores.filter(({ name }: { name: string }) => name === 'exports')).toMatchObject([
    { state: 'down', holds: ['exports'], is_connected: true },
    { state: 'off', address: `file:${folderOf(app)}`, is_connected: false },
  ])

  expect((await file(app, person, id)).status).toBe(200)
  expect((await app.fetch('DELETE', path, { cookie: person.cookie })).status).toBe(204)
})

test('the erasure of a person waits on a machine whose exports folder does not contain the file', async () => {
  const person = await signedIn(app)
  const id = await ready(person)
  const { runId } = await begun(second, person)
  await tried(second)
  expect(await stateOf(runId)).not.toBe('done')
  expect(filesIn(app).filter((name) => name.startsWith(id))).toHaveLength(1)
  expect(await app.db.prisma.erasureStep.findFirst({ where: { runId, holder: 'exports.files' } })).toMatchObject({
    fault: 'unavailable',
    erased: 0,
  })
  expect(await app.db.prisma.preparedExport.count({ where: { id } })).toBe(1)

  await drain(app, { mayFail: true })
  expect(await stateOf(runId)).toBe('done')
  expect(filesIn(app).filter((name) => name.startsWith(id))).toEqual([])
})

test('the erasure of a person without exports does not wait for the exports folder', async () => {
  await ready(await signedIn(app))
  const { runId } = await begun(second, await signedIn(app))
  await drain(second, { mayFail: true })
  expect(await stateOf(runId)).toBe('done')
})

test('an exports folder with files from before folder marks existed keeps working and gets a mark at its next use', async () => {
  const person = await signedIn(app)
  const id = await ready(person)
  await app.db.prisma.knownStore.deleteMany({ where: { port: 'exports' } })
  rmSync(join(folderOf(app), 'folder.mark'))
  app.clock.advance(60_000)
  expect((await file(app, person, id)).status).toBe(200)
  expect(existsSync(join(folderOf(app), 'folder.mark'))).toBe(true)
  expect((await file(second, person, id)).json).toMatchObject(unavailable)
})

test("a new exports folder is used without an admin's statement once every file of the former folder has expired", async () => {
  const person = await signedIn(app)
  await ready(person)
  renameSync(folderOf(app), `${folderOf(app)}-lost`)
  app.clock.advance(28 * hour)
  expect((await asked(app, person)).json).toMatchObject(unavailable)
  app.clock.advance(2 * hour)
  const next = await signedIn(app)
  expect((await file(app, next, await ready(next))).status).toBe(200)
  const { stores } = (await app.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data
  expect(stores.filter(({ name }: { name: string }) => name === 'exports')).toMatchObject([{ state: 'ok' }])
  rmSync(`${folderOf(app)}-lost`, { recursive: true })
})
