// Stores restored from a backup that is older than an erasure, while the database still records the erasure.
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { Problem } from '#lib/kernel/problem.ts'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { checkpointEntryOf, startConversation } from '#lib/testing/conversations.ts'
import { episode } from '#lib/testing/graphs.ts'
import { issuedAgent, type Person } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  eraseWholeProject,
  type MadeConversation,
  type MadeMessage,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { type SideStore, sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

const sentence = 'Jane Placeholder moved the lighthouse to the other side of the bay.'

// Each test starts its own installation, which is erased and searched several times.

let folder: string
let test: TestApp
let side: SideStore
const running: TestApp[] = []
const started = async (given?: Parameters<typeof testApp>[1]) => {
  const app = await testApp({ KP_LEDGER_URL: join(folder, 'ledger') }, given, {
    moreDataSources: (db) => [sideStoreDataSource(side)(db)],
  })
  running.push(app)
  return app
}
beforeEach(async () => {
  folder = mkdtempSync(join(tmpdir(), 'kp-restored-'))
  side = sideStore()
  test = await started()
})
afterEach(async () => {
  for (const app of running.splice(0)) await app.close()
  rmSync(folder, { recursive: true, force: true })
})
const erased = (path: string, { cookie }: Person, by = test): Promise<string> => eraseWholeProject(by, path, { cookie })
const replay = (app = test) => operator(app.app).replayErasures()

describe('stores restored from before an erasure, with a current database', () => {
  let project: MadeProject
  let conversation: MadeConversation
  let message: MadeMessage
  const threads = ['a-thread-of-theirs']
  beforeEach(async () => {
    project = await madeProject(test)
    conversation = await madeConversation(test, project, { threads })
    message = await madeMessage(test, conversation, project.owner, { content: sentence })
    await madeAttachment(test, message, project.owner, { bytes: sentence })
    await reported(test, project, project.owner, [
      { source_id: message.id, store: 'cache', ref: `answers:${project.id}` },
      { source_id: message.id, store: 'graph', ref: `ep-${message.id}` },
    ])
    await written()
    cpSync(join(test.dataDir, 'objects'), join(folder, 'objects'), { recursive: true })
  })
  /** Data that applications store about the message. */
  async function written() {
    for (const table of ['checkpoints', 'checkpoint_blobs', 'checkpoint_writes', 'store'])
      await test.app.db.query(undefined, `DELETE FROM langgraph.${table}`)
    await storedInThread(test, 'a-thread-of-theirs', [{ id: message.id, text: sentence }])
    await test.app.stored.cache.set(`about:${message.id}`, sentence, { ttl: 600, about: [message.id] })
    await postgresPlanting(test.db).plant({
      group: project.groupId,
      entities: [],
      facts: [],
      mentions: [],
      communities: [],
      sagas: [],
      next: [],
      episodes: [episode(`ep-${message.id}`, 1, { content: sentence })],
    })
  }
  /** Names of the stores that contain the words. */
  async function found(): Promise<string[]> {
    const { cache, objects } = test.app.stored
    const count = async (sql: string) => (await test.app.db.query<{ n: number }>(undefined, sql, [sentence]))[0]?.n ?? 0
    const places = {
      cache: (await cache.search([sentence])).length,
      objects: (await objects.list(`projects/${project.id}/`, '', 10)).length,
      graph: await count('SELECT count(*)::int AS n FROM graph_episodes WHERE content = $1'),
      threads: await count(
        "SELECT count(*)::int AS n FROM langgraph.checkpoint_blobs WHERE position($1 IN convert_from(blob, 'UTF8')) > 0",
      ),
    }
    return Object.entries(places).flatMap(([place, n]) => (n > 0 ? [place] : []))
  }
  const restore = async () => {
    await written()
    cpSync(join(folder, 'objects'), join(test.dataDir, 'objects'), { recursive: true })
  }
  const all = ['cache', 'objects', 'graph', 'threads']

  it.each(['the message', 'its conversation'])(
    'replay erases all data of %s there again, and no second receipt is issued',
    async (what) => {
      expect(await found()).toEqual(all)
      const receipt = await erased(what === 'the message' ? message.path : conversation.path, project.owner)
      expect(await found()).toEqual([])
      await restore()
      expect(await found()).toEqual(all)
      const report = await replay()
      expect(report).toMatchObject({ committed: 1, parts: 0, stores: 1, reinstated: 0, unsearched: [], unfinished: [] })
      expect(await found()).toEqual([])
      expect(await test.db.prisma.erasure.findMany({ select: { receiptId: true } })).toEqual([{ receiptId: receipt }])
      const [last] = await test.db.prisma.deletionAuditEntry.findMany({ orderBy: { timestamp: 'desc' } })
      expect(last).toMatchObject({ requestedBy: 'system:admin.replay', reason: 'replay' })
      expect(await replay()).toMatchObject({ stores: 0 })
    },
  )

  it('replay keeps threads and keys that remaining records use again', async () => {
    await erased(conversation.path, project.owner)
    const other = await madeConversation(test, project, { threads })
    const said = await madeMessage(test, other, project.owner, { content: sentence })
    await storedInThread(test, 'a-thread-of-theirs', [{ id: said.id, text: sentence }])
    expect(await replay()).toMatchObject({ stores: 0, unsearched: [] })
    expect(await found()).toEqual(['threads'])
  })

  it('replay keeps data of a project under legal hold', async () => {
    await erased(message.path, project.owner)
    await restore()
    const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const body = { kind: 'project', target_id: project.id, reason: 'a court asked for it' }
    expect((await test.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(201)
    expect(await replay()).toMatchObject({ stores: 0, unsearched: [] })
    expect(await found()).toEqual(all)
  })
})

describe('an external store that is newer than the restored database', () => {
  it('is searched and erased again before the receipt is restored, and blocks the receipt while it does not answer', async () => {
    const made = await startConversation({ test, side })
    // The backup is older than the message, so no row names it.
    const message = made.messages[0] ?? ''
    const old = await backupOf({ ownerUrl: test.ownerUrl, env: test.app.env })
    const receipt = await erased(
      `/api/projects/${made.project}/conversations/${made.conversation}/messages/${message}`,
      made.owner,
    )
    const restored = await started(old)
    await restored.db.prisma.message.deleteMany({ where: { id: message } })
    checkpointEntryOf(side, made, message)
    side.before = () => {
      throw new Problem('unavailable', 'It is down.')
    }
    expect(await replay(restored)).toMatchObject({
      parts: 0,
      stores: 0,
      reinstated: 0,
      unsearched: [{ receipt, holder: 'side.entries' }],
    })
    expect((await restored.fetch('GET', `/v1/receipts/${receipt}`)).status).toBe(404)
    side.before = undefined
    expect(await replay(restored)).toMatchObject({ parts: 0, stores: 1, reinstated: 1, unsearched: [] })
    expect((await restored.fetch('GET', `/v1/receipts/${receipt}`)).status).toBe(200)
    expect([...side.entries.values()].filter((entry) => entry.message === message)).toEqual([])
  })
})
