// One tenant's slow erasures while other requests arrive.
import { afterAll, beforeAll, expect, it, vi } from 'vitest'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { type TestDatabase, testDatabase } from '#lib/testing/database.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

let threads: TestDatabase
let test: TestApp
beforeAll(async () => {
  threads = await testDatabase()
  const url = new URL(threads.ownerUrl)
  url.searchParams.set('schema', 'langgraph')
  const waits = { erasure: 120_000, connection: 120_000, limits: 60_000, admission: 1_500 }
  test = await testApp({ KP_CHECKPOINTS_URL: url.href }, undefined, { waits })
})
afterAll(async () => {
  await test?.close()
  await threads?.drop()
})

/** A project with messages, of which those of a thread are also in the checkpoint store. */
async function tenant(count: number, hasThread: boolean) {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const messages = await Promise.all(
    Array.from({ length: count }, () => madeMessage(test, conversation, project.owner)),
  )
  if (hasThread)
    await storedInThread(
      test,
      conversation.id,
      messages.map(({ id }) => ({ id, text: 'Something was said.' })),
    )
  return { project, messages }
}

it('16 slow message erasures of one tenant delay neither a revocation nor the erasure of another tenant', async () => {
  const slow = await tenant(16, true)
  const other = await tenant(1, false)
  const { id, token, tokenId } = await issuedAgent(test, ['write'], { owner: slow.project.owner })
  const statuses: number[] = []
  const retries = new Set<string | null>()
  await withConnection(threads.ownerUrl, async (lockOwner) => {
    // The rows can be read, but writes wait.
    await lockOwner.query('BEGIN; LOCK TABLE langgraph.checkpoint_blobs IN SHARE MODE')
    for (const { path } of slow.messages)
      void test.fetch('DELETE', path, slow.project.owner).then(({ status, headers }) => {
        statuses.push(status)
        if (status === 503) retries.add(headers.get('retry-after'))
      })
    // The tenant may use a quarter of the 16 slots.
    await vi.waitUntil(() => statuses.length === 12, { timeout: 120_000 })
    expect([statuses.filter((status) => status === 503).length, [...retries]]).toEqual([12, ['2']])

    const revoked = await test.fetch('DELETE', `/v1/auth/tokens/${tokenId}`, { token })
    expect([id, revoked.status]).toEqual([id, 204])
    expect((await test.fetch('GET', '/v1/auth/me', { token })).status).toBe(401)
    const [message] = other.messages
    const erased = await test.fetch('DELETE', message?.path ?? '', other.project.owner)
    expect([erased.status, erased.json.success]).toEqual([200, true])
    expect(statuses).toHaveLength(12)
  })
  await vi.waitUntil(() => statuses.length === 16, { timeout: 120_000 })
  expect(statuses.toSorted()).toEqual([200, 200, 200, 200, ...Array<number>(12).fill(503)])
})
