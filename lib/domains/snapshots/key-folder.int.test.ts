import { existsSync, renameSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

const folder = () => join(app.dataDir, 'snapshot-keys')
const at = (agent: Issued, path = '') => `/v1/agents/${agent.id}/snapshots${path}`
const own = (agent: Issued, method: string, path = '') => app.fetch(method, at(agent, path), { token: agent.token })
async function keyed(owner: Person): Promise<Issued> {
  const agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner })
  await giveKeyring(app, agent.id)
  return agent
}
const make = (id: string) =>
  app.app.jobs.find(({ name }) => name === 'snapshots.make')?.execute(app.app.pipeline, { id }) ?? Promise.reject()
async function made(agent: Issued): Promise<string> {
  const { id } = (await own(agent, 'POST')).json.data
  await make(id)
  return id
}
const upkeep = () => app.app.jobs.find(({ name }) => name === 'snapshots.upkeep')?.execute(app.app.pipeline, {})
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
const listed = async () => (await app.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data.stores
/** Two rounds of the queue. Jobs may fail and wait for a retry. */
const tried = () => {
  let rounds = 0
  return drain(app, { mayFail: true, until: () => rounds++ > 1 })
}

test('a process with the wrong key folder destroys nothing and reports it, and finishes with the right folder', async () => {
  const owner = await signedIn(app)
  const agent = await keyed(owner)
  const [retained, deleted] = [await made(agent), await made(agent)]
  expect(await listed()).toContainEqual(
    expect.objectContaining({ name: 'snapshot_keys', state: 'ok', is_connected: true, holds: ['keys'] }),
  )
  const elsewhere = `${folder()}-elsewhere`
  renameSync(folder(), elsewhere)

  expect((await own(agent, 'GET', `/${retained}/key`)).json).toMatchObject({ status: 503, code: 'unavailable' })
  expect((await own(agent, 'DELETE', `/${deleted}`)).json.data).toEqual({ id: deleted, key_destroyed: false })
  await expect(upkeep()).rejects.toMatchObject({ code: 'unavailable' })
  const late = (await own(agent, 'POST')).json.data.id
  await expect(make(late)).rejects.toMatchObject({ code: 'unavailable' })
  const { runId } = await begun(owner)
  await tried()
  expect(await stateOf(runId)).not.toBe('done')
  // The rows exist: erasure finds the keys by them.
  expect(await app.db.prisma.snapshot.count({ where: { agentId: agent.id } })).toBe(3)
  expect([existsSync(folder()), [retained, deleted].map((id) => existsSync(join(elsewhere, id)))]).toEqual([
    false,
    [true, true],
  ])
  expect((await listed()).filter(({ state }: { state: string }) => state === 'off')).toMatchObject([
    { name: 'snapshot_keys', provider: 'files', address: `file:${folder()}`, is_connected: false },
  ])

  renameSync(elsewhere, folder())
  await upkeep()
  await drain(app, { mayFail: true })
  expect(await stateOf(runId)).toBe('done')
  expect([retained, deleted, late].map((id) => existsSync(join(folder(), id)))).toEqual([false, false, false])
})

test('erasure continues when an admin declares that a lost key folder contains nothing', async () => {
  const owner = await signedIn(app)
  const agent = await keyed(owner)
  await made(agent)
  renameSync(folder(), `${folder()}-lost`)
  const { runId } = await begun(owner)
  await tried()
  expect(await stateOf(runId)).not.toBe('done')
  const [lost] = (await listed()).filter(({ state }: { state: string }) => state === 'off')
  const body = { statement: 'The disk with the folder was destroyed by the provider.' }
  const retired = await app.fetch('POST', `/api/stores/${lost.known_store_id}/retire`, { cookie: admin.cookie, body })
  expect([retired.status, retired.json.data.port]).toEqual([200, 'snapshot_keys'])
  await drain(app, { mayFail: true })
  expect(await stateOf(runId)).toBe('done')

  // New keys are stored in another folder from here on.
  const other = await signedIn(app)
  const next = await keyed(other)
  const id = await made(next)
  expect(existsSync(join(folder(), id))).toBe(true)
  expect((await own(next, 'DELETE', `/${id}`)).json.data).toEqual({ id, key_destroyed: true })
  expect((await listed()).filter(({ state }: { state: string }) => state === 'off')).toEqual([])
})
