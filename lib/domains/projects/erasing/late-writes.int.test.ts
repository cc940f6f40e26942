// Late writes between the erasure of a store and the erasure of the rows, while another store delays the run.
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { episode } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { dataOf, type MadeProject, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

const sentence = 'Jane Placeholder keeps a heron in the bathroom of her aunt.'

let test: TestApp
let project: MadeProject
let crashes = 0
class Crash extends Error {}
const interrupt = (point: string) => {
  if (point !== 'last-look.before' || crashes === 0) return
  crashes--
  throw new Crash(point)
}
beforeAll(async () => {
  test = await testApp({}, undefined, { interrupt })
  project = await madeProject(test)
})
afterAll(() => test?.close())

const found = async (): Promise<string[]> => {
  const count = async (sql: string) => (await test.app.db.query<{ n: number }>(undefined, sql, [sentence]))[0]?.n ?? 0
  const places = {
    cache: (await test.app.stored.cache.search([sentence])).length,
    graph: await count('SELECT count(*)::int AS n FROM graph_episodes WHERE content = $1'),
    threads: await count(
      "SELECT count(*)::int AS n FROM langgraph.checkpoint_blobs WHERE position($1 IN convert_from(blob, 'UTF8')) > 0",
    ),
  }
  return Object.entries(places).flatMap(([place, n]) => (n > 0 ? [place] : []))
}
/** Writes the words back without any id of the message. */
async function writtenBack(thread: string, name: string) {
  await test.app.stored.cache.set(`answers:${project.id}`, sentence, { ttl: 600, about: [] })
  await storedInThread(test, thread, [{ id: `${name}-of-the-application`, text: sentence }])
  await postgresPlanting(test.db).plant({
    group: project.groupId,
    entities: [],
    facts: [],
    mentions: [],
    communities: [],
    sagas: [],
    next: [],
    episodes: [episode(`ep-${name}`, 1, { content: sentence })],
  })
}
async function said(name: string) {
  const thread = `a-thread-of-${name}`
  const conversation = await madeConversation(test, project, { threads: [thread] })
  return { thread, message: await madeMessage(test, conversation, project.owner, { content: sentence }) }
}
const erasure = (auditId: string) => dataOf(test, 'GET', `/api/erasures/${auditId}`, project.owner)

it('an erasure finds a late write by its words before the rows are deleted, erases it, and the receipt counts it', async () => {
  const { thread, message } = await said('late')
  crashes = 1
  const response = await test.fetch('DELETE', message.path, project.owner)
  expect([response.status, response.json.success]).toEqual([202, false])
  expect(await test.db.prisma.message.count({ where: { id: message.id } })).toBe(1)
  await writtenBack(thread, 'late')
  expect(await found()).toEqual(['cache', 'graph', 'threads'])
  await drain(test)
  expect(await found()).toEqual([])
  const { success, receipt_id } = await erasure(response.json.auditId)
  expect(success).toBe(true)
  const { json: receipt } = await test.fetch('GET', `/v1/receipts/${receipt_id}`)
  const counted = Object.fromEntries(
    receipt.stores.map(({ store, deleted }: { store: string; deleted: number }) => [store, deleted]),
  )
  expect(counted).toMatchObject({ cache: 1, graph: 1, checkpoints: 1 })
  // The ledger recorded it before it was erased.
  const noted = []
  for await (const row of test.app.ledger.read())
    if (row.kind === 'items' && row.id === receipt_id) noted.push(row.holder)
  expect(noted).toEqual(expect.arrayContaining(['cache.entries', 'graph.episodes', 'checkpoints.messages']))
})

it('an erasure erases an entry again after a late write to it, and is not delayed by a writer that never stops', async () => {
  const { thread, message } = await said('persistent')
  await writtenBack(thread, 'persistent')
  crashes = 1
  const response = await test.fetch('DELETE', message.path, project.owner)
  expect(response.status).toBe(202)
  expect(await found()).toEqual([])
  await test.app.stored.cache.set(`answers:${project.id}`, sentence, { ttl: 600, about: [] })
  await drain(test)
  expect(await found()).toEqual([])
  expect(await erasure(response.json.auditId)).toMatchObject({ success: true })
})
