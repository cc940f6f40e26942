import { once } from 'node:events'
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { createApiServer, createListener } from '#lib/http/api-server.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { partErasures } from './service.ts'

let threads: TestDatabase
let test: TestApp
beforeAll(async () => {
  threads = await testDatabase()
  const url = new URL(threads.ownerUrl)
  url.searchParams.set('schema', 'langgraph')
  test = await testApp({ KP_CHECKPOINTS_URL: url.href })
})
afterAll(async () => {
  await test?.close()
  await threads?.drop()
})

/** Another listener of the same installation, with a short time limit for stores. */
async function impatientDoor() {
  const { app } = test
  const { subjectErasures: erasures } = app
  const { eraseMessage } = partErasures({ erasures, complete: erasures.complete, patience: 200 })
  const apiServer = createApiServer({ ...app, useCases: [eraseMessage] }, async (_, response) => {
    response.writeHead(404).end()
  })
  const server = createListener(apiServer).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const address = server.address()
  return {
    url: `http://127.0.0.1:${typeof address === 'object' ? address?.port : 0}`,
    close: () => new Promise((closed) => server.close(closed)),
  }
}

it('DELETE of a message returns 202 when a store is slow, hides the message, and the erasure ends without a retry', async () => {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const message = await madeMessage(test, conversation, project.owner)
  await storedInThread(test, conversation.id, [{ id: message.id, text: 'Something was said.' }])
  const { cookie } = project.owner
  const door = await impatientDoor()
  const path = await withConnection(threads.ownerUrl, async (lockOwner) => {
    // The rows can be read, but writes wait.
    await lockOwner.query('BEGIN; LOCK TABLE langgraph.checkpoint_blobs IN SHARE MODE')
    const reported = await fetch(door.url + message.path, {
      method: 'DELETE',
      headers: { Cookie: cookie, Origin: `http://localhost:${test.app.env.PORT}` },
    })
    const answer = await reported.json()
    expect([reported.status, answer.success]).toEqual([202, false])
    const location = reported.headers.get('location') ?? ''
    expect(location).toBe(`/api/erasures/${answer.auditId}`)
    expect((await test.fetch('GET', message.path, { cookie })).status).toBe(404)
    // Nothing failed: the erasure still waits for the store.
    const { success, steps } = await dataOf(test, 'GET', location, { cookie })
    expect([success, steps.filter(({ fault }: { fault: string | null }) => fault !== null)]).toEqual([false, []])
    return location
  })
  await door.close()
  const erasure = () => dataOf(test, 'GET', path, { cookie })
  await vi.waitUntil(async () => (await erasure()).success, { timeout: 120_000, interval: 100 })
  const { deleted_from, receipt_id } = await erasure()
  expect(deleted_from).toMatchObject({ postgresql: true, checkpoints: { threads: 1 } })
  expect((await test.fetch('GET', `/v1/receipts/${receipt_id}`)).json).toMatchObject({ deleted_id: message.id })
})
