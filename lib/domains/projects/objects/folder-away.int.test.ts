import { cpSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { createApp } from '#lib/app.ts'
import { readEnv } from '#lib/config/env.ts'
import { addressHash } from '#lib/stores/registered-store.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import { madeAttachment, madeConversation, madeDocument, madeMessage, madeProject } from '#lib/testing/projects.ts'

let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

const folder = () => join(app.dataDir, 'objects')
const files = () =>
  readdirSync(folder(), { recursive: true, withFileTypes: true }).filter(
    (one) => one.isFile() && one.name !== 'folder.mark',
  )
const own = (person: Person, method: string, path: string, body?: unknown) =>
  app.fetch(method, path, { ...person, ...(body !== undefined && { body }) })
const listed = async () => (await app.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data.stores
const off = async () => (await listed()).filter(({ state }: { state: string }) => state === 'off')
/** Runs jobs for two rounds, like a worker. Jobs may fail and then wait. */
const tried = () => {
  let rounds = 0
  return drain(app, { mayFail: true, until: () => rounds++ > 1 })
}
const begun = (owner: Person) =>
  app.db.transaction((tx) =>
    app.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: owner.accountId, agents: [] },
      requestedBy: 'user:test',
      reason: 'user_request',
      now: app.clock.now(),
    }),
  )
const stateOf = async (runId: string) => (await app.app.subjectErasures.run(runId))?.state
/** A project of a person with an attachment and a document. */
async function dealt() {
  const project = await madeProject(app)
  const { owner } = project
  const conversation = await madeConversation(app, project)
  const message = await madeMessage(app, conversation, owner)
  const file = await madeAttachment(app, message, owner)
  const document = await madeDocument(app, project, owner)
  return { project, owner, conversation, message, file, document }
}
type Dealt = Awaited<ReturnType<typeof dealt>>
const download = ({ owner, project, document }: Dealt) =>
  own(owner, 'GET', `${project.path}/documents/${document.id}/content`)

/** The folder while its disk is missing: it does not exist, or there is another, empty folder. */
test.each(['no folder', 'an empty folder'])(
  'an objects store that finds %s in place of its folder is reported as down and not as empty',
  async (kind) => {
    const one = await dealt()
    expect((await download(one)).status).toBe(200)
    // The state that an earlier test read is cached for a second.
    await expect.poll(listed, { timeout: 120_000, interval: 100 }).toContainEqual(
      expect.objectContaining({
        name: 'objects',
        state: 'ok',
        is_connected: true,
        known_store_id: expect.any(String),
      }),
    )
    const before = files().length
    const elsewhere = `${folder()}-elsewhere`
    renameSync(folder(), elsewhere)
    if (kind === 'an empty folder') mkdirSync(folder())
    app.clock.advance(60_000)

    expect((await download(one)).json).toMatchObject({ status: 503, code: 'unavailable' })
    await expect(madeDocument(app, one.project, one.owner)).rejects.toThrow(/503/)
    expect(await off()).toMatchObject([{ name: 'objects', address: `file:${folder()}`, is_connected: false }])
    // The response is cached for a moment.
    await vi.waitFor(
      async () => expect((await app.fetch('GET', '/ready')).json.stores.objects).toMatchObject({ state: 'down' }),
      { timeout: 120_000, interval: 200 },
    )
    const { runId } = await begun(one.owner)
    await tried()
    expect(await stateOf(runId)).not.toBe('done')
    expect(existsSync(join(folder(), 'folder.mark'))).toBe(false)

    rmSync(folder(), { recursive: true, force: true })
    renameSync(elsewhere, folder())
    expect(files().length).toBe(before)
    await drain(app, { mayFail: true })
    expect(await stateOf(runId)).toBe('done')
    expect(files().length).toBe(before - 2)
    expect(await off()).toEqual([])
  },
)

test("another worker's folder with files in place of the store's folder is neither read nor written", async () => {
  const one = await dealt()
  const env = readEnv({
    NODE_ENV: 'test',
    DATABASE_URL: app.app.env.DATABASE_URL,
    KP_DATA_DIR: app.dataDir,
    KP_LIMITS: 'memory',
    KP_SECRET: 'a secret of thirty-two characters',
  })
  const elsewhere = `${folder()}-elsewhere`
  cpSync(folder(), elsewhere, { recursive: true })
  rmSync(join(elsewhere, 'folder.mark'))
  const put = async (key: string) => {
    // A new process, which knows nothing about the folder.
    const other = createApp({ env, clock: app.clock })
    try {
      const bytes = (async function* () {
        yield Buffer.from('x')
      })()
      await other.stored.objects.put(key, bytes, { mediaType: 'text/plain' })
    } finally {
      await other.close()
    }
  }
  await put('projects/prj_x/shared')
  renameSync(folder(), `${folder()}-mounted`)
  renameSync(elsewhere, folder())
  await expect(put('projects/prj_x/other')).rejects.toMatchObject({ code: 'unavailable' })
  expect((await download(one)).status).toBe(503)
  expect(existsSync(join(folder(), 'folder.mark'))).toBe(false)
  rmSync(folder(), { recursive: true })
  renameSync(`${folder()}-mounted`, folder())
  expect((await download(one)).status).toBe(200)
})

test('erasure continues after an admin states that the lost folder contains no data', async () => {
  const one = await dealt()
  renameSync(folder(), `${folder()}-lost`)
  const { runId } = await begun(one.owner)
  await tried()
  expect(await stateOf(runId)).not.toBe('done')
  const [lost] = await off()
  const body = { statement: 'The disk with the folder was destroyed by the provider.' }
  expect((await own(admin, 'POST', `/api/stores/${lost.known_store_id}/retire`, body)).status).toBe(200)
  await drain(app, { mayFail: true })
  expect(await stateOf(runId)).toBe('done')

  // From now on, files are stored in another folder.
  app.clock.advance(60_000)
  const next = await dealt()
  expect((await download(next)).status).toBe(200)
  expect(await off()).toEqual([])
})

test('an objects folder from before folder marks existed gets a mark and remains the same store', async () => {
  const one = await dealt()
  rmSync(join(folder(), 'folder.mark'))
  const [row, ...more] = await app.db.prisma.knownStore.findMany({ where: { port: 'objects', retiredAt: null } })
  expect(more).toEqual([])
  await app.db.prisma.knownStore.update({
    where: { id: row?.id ?? '' },
    data: { address: addressHash('files', 'own') },
  })
  // An empty folder without a mark is not the folder that rows refer to.
  renameSync(folder(), `${folder()}-elsewhere`)
  app.clock.advance(60_000)
  expect((await download(one)).status).toBe(503)
  expect(await off()).toMatchObject([{ known_store_id: row?.id }])
  renameSync(`${folder()}-elsewhere`, folder())
  expect(await off()).toEqual([])
  app.clock.advance(60_000)
  expect((await download(one)).status).toBe(200)
  const after = await app.db.prisma.knownStore.findMany({ where: { port: 'objects', retiredAt: null } })
  expect(after).toEqual([
    expect.objectContaining({ id: row?.id, address: expect.not.stringMatching(row?.address ?? '') }),
  ])
  expect(await off()).toEqual([])
})

test('a second machine with its own objects folder stores nothing there, and /ready reports it', async () => {
  const one = await dealt()
  const database = { ownerUrl: app.ownerUrl, appUrl: app.app.env.DATABASE_URL ?? '', drop: async () => {} }
  const second = await testApp({}, database)
  try {
    expect((await second.fetch('GET', '/ready')).json).toMatchObject({
      status: 'degraded',
      stores: { objects: { state: 'down', detail: expect.stringContaining('all machines share it') } },
    })
    await expect(madeDocument(second, one.project, one.owner)).rejects.toThrow(/503/)
    const stored = readdirSync(second.dataDir, { recursive: true, withFileTypes: true })
    expect(stored.filter((entry) => entry.isFile() && entry.parentPath.includes('objects'))).toEqual([])
  } finally {
    await second.close()
  }
  expect((await download(one)).status).toBe(200)
  const { runId } = await begun(one.owner)
  await drain(app)
  expect(await stateOf(runId)).toBe('done')
})
