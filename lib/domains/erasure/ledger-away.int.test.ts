import { cpSync, existsSync, mkdirSync, renameSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { operator } from '#lib/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp()
  admin = await signedIn(app, 'admin')
}, 120_000)
afterAll(() => app?.close())

const folder = () => join(app.dataDir, 'erasures')
const replay = () => operator(app.app).replayErasures()
/** An agent's unit; gives what deletes it. */
async function contributed() {
  const agent = await issuedAgent(app, ['read', 'write'])
  const made = await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
  const path = `/v1/knowledge/${made.json.data.id}`
  return {
    erase: () => app.fetch('DELETE', path, { token: agent.token }),
    isThere: async () => (await app.fetch('GET', path, { token: agent.token })).status === 200,
  }
}
const off = async () =>
  (await app.fetch('GET', '/api/stores', { cookie: admin.cookie })).json.data.stores.filter(
    ({ state }: { state: string }) => state === 'off',
  )

test.each(['no folder', 'an empty folder', 'another one’s folder'])(
  '%s in the place of the ledger: nothing is erased, and no replay says that nothing had come back',
  async (kind) => {
    const [before, waiting] = [await contributed(), await contributed()]
    expect((await before.erase()).status).toBe(204)
    const subject = await signedIn(app)
    const elsewhere = `${folder()}-elsewhere`
    renameSync(folder(), elsewhere)
    if (kind === 'an empty folder') mkdirSync(folder())
    if (kind === 'another one’s folder') {
      cpSync(elsewhere, folder(), { recursive: true })
      rmSync(join(folder(), '.mark'))
    }
    app.clock.advance(60_000)

    expect((await waiting.erase()).json).toMatchObject({ status: 503, code: 'unavailable' })
    expect(await waiting.isThere()).toBe(true)
    await expect(replay()).rejects.toMatchObject({ code: 'unavailable' })
    expect(await off()).toMatchObject([{ name: 'ledger', address: `file:${folder()}`, holds: ['erasures'] }])
    const { runId } = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        ...{ requestId: null, subject: { account: subject.accountId, agents: [] }, requestedBy: 'user:test' },
        ...{ reason: 'user_request', now: app.clock.now() },
      }),
    )
    let rounds = 0
    await drain(app, { mayFail: true, until: () => rounds++ > 1 })
    expect(await app.db.prisma.account.count({ where: { id: subject.accountId } })).toBe(1)
    expect(existsSync(join(folder(), '.mark'))).toBe(false)

    rmSync(folder(), { recursive: true, force: true })
    renameSync(elsewhere, folder())
    expect((await waiting.erase()).status).toBe(204)
    await drain(app, { mayFail: true })
    expect((await app.app.subjectErasures.run(runId))?.state).toBe('done')
    expect(await replay()).toMatchObject({ unknown: 0, unfinished: [], refused: [], unsearched: [] })
    expect(await off()).toEqual([])
  },
)

test('where the ledger is lost, an admin’s statement lets erasures go on; a replay tells how many it does not know', async () => {
  renameSync(folder(), `${folder()}-lost`)
  const next = await contributed()
  app.clock.advance(60_000)
  expect((await next.erase()).status).toBe(503)
  const [lost] = await off()
  const body = { statement: 'The disk with the ledger was destroyed by the provider.' }
  const path = `/api/stores/${lost.known_store_id}/retire`
  expect((await app.fetch('POST', path, { cookie: admin.cookie, body })).status).toBe(200)
  app.clock.advance(60_000)
  expect((await next.erase()).status).toBe(204)
  const receipts = await app.db.prisma.erasure.count()
  expect(receipts).toBeGreaterThan(1)
  expect(await replay()).toMatchObject({ committed: 1, unknown: receipts - 1 })
})
