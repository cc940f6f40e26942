import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import {
  type MadeConversation,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'

const sentence = 'Erika Musterfrau told us that her son Max is ill since Easter.'
class Crash extends Error {}
let crashAt: string | undefined
let app: TestApp
let admin: Person
beforeAll(async () => {
  app = await testApp({}, undefined, {
    interrupt(point) {
      if (point !== crashAt) return
      crashAt = undefined
      throw new Crash(point)
    },
  })
  admin = await signedIn(app, 'admin')
})
afterAll(() => app?.close())

interface Waiting {
  project: MadeProject
  conversation: MadeConversation
  message: MadeMessage
  auditId: string
}
/** The erasure of a message whose thread has an encrypted row. */
async function waiting(type = 'msgpack+aes'): Promise<Waiting> {
  const project = await madeProject(app)
  const conversation = await madeConversation(app, project, { threads: [`thread/${newId('x')}`] })
  const message = await madeMessage(app, conversation, project.owner, { content: sentence })
  await storedInThread(app, conversation.id, [{ id: message.id, text: sentence }])
  await app.db.query(
    undefined,
    `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, 'encrypted', '1', $2, '\\x00ff')`,
    [conversation.id, type],
  )
  const response = await app.fetch('DELETE', message.path, { cookie: project.owner.cookie, body: {} })
  expect(response.status).toBe(202)
  await drain(app, { mayFail: true })
  return { project, conversation, message, auditId: response.json.auditId }
}
const decisionPath = ({ auditId, conversation }: Waiting): string =>
  `/api/erasures/${auditId}/threads/${encodeURIComponent(conversation.id)}/decision`
const decide = (one: Waiting, by: Person, decision: string) =>
  app.fetch('POST', decisionPath(one), { cookie: by.cookie, body: { decision } })
const list = (one: Waiting, by: Person) =>
  app.fetch('GET', `/api/erasures/${one.auditId}/threads`, { cookie: by.cookie })
const erasure = async ({ auditId }: Waiting) =>
  (await app.fetch('GET', `/api/erasures/${auditId}`, { cookie: admin.cookie })).json.data
const rowsOf = async (thread: string): Promise<number> => {
  const [row] = await app.db.query<{ n: number }>(
    undefined,
    'SELECT count(*)::int AS n FROM langgraph.checkpoint_blobs WHERE thread_id = $1',
    [thread],
  )
  return row?.n ?? 0
}
const receiptOf = async (one: Waiting) => {
  const { receipt_id: id } = await erasure(one)
  return (await app.fetch('GET', `/v1/receipts/${id}`)).json
}

test.each(['msgpack+aes', 'json+aes', 'pickle'])(
  'retain finishes the erasure of a thread with %s, and the receipt reports what remains',
  async (type) => {
    const one = await waiting(type)
    const { project, conversation } = one
    expect((await list(one, project.owner)).json.data).toEqual([
      { thread_id: conversation.id, decision: null, authors: [] },
    ])
    // Everything else is already erased, and there is no receipt yet.
    expect(await app.db.prisma.message.count({ where: { id: one.message.id } })).toBe(0)
    expect((await erasure(one)).success).toBe(false)
    const before = await rowsOf(conversation.id)
    expect((await decide(one, project.owner, 'retain')).status).toBe(200)
    await drain(app)
    expect((await erasure(one)).success).toBe(true)
    expect(await rowsOf(conversation.id)).toBe(before)
    const receipt = await receiptOf(one)
    expect(receipt.retained).toContainEqual(
      expect.objectContaining({ what: expect.stringMatching(/^one LangGraph thread that cannot be rewritten/) }),
    )
    const line = receipt.stores.find(({ holder }: { holder: string }) => holder === 'checkpoints.threads')
    expect(line).toMatchObject({ found: 1, deleted: 0 })
    const messages = receipt.stores.find(({ holder }: { holder: string }) => holder === 'checkpoints.messages')
    expect(messages?.deleted).toBe(messages?.found)
  },
)

test('delete removes the whole thread, after a list of the authors whose messages are lost', async () => {
  const one = await waiting()
  const { project, conversation } = one
  const other = await madeMessage(app, conversation, project.owner, { content: 'Something else entirely.' })
  const [listed] = (await list(one, admin)).json.data
  expect(listed.authors).toEqual([{ kind: 'account', id: project.owner.accountId, messages: 1 }])
  expect((await decide(one, project.owner, 'delete')).status).toBe(200)
  await drain(app)
  expect((await erasure(one)).success).toBe(true)
  expect(await rowsOf(conversation.id)).toBe(0)
  const receipt = await receiptOf(one)
  expect(receipt.stores).toContainEqual(
    expect.objectContaining({ holder: 'checkpoints.threads', found: 1, deleted: 1, residue: 0 }),
  )
  expect(await app.db.prisma.message.count({ where: { id: other.id } })).toBe(1)
  expect((await decide(one, project.owner, 'retain')).status).toBe(404)
})

test.each(['manager', 'admin'] as const)(
  'delete by a %s needs a recently entered password, and retain does not',
  async (role) => {
    const one = await waiting()
    const { project, conversation } = one
    await madeMessage(app, conversation, project.owner, { content: 'Something else entirely.' })
    const office = await signedIn(app, role, role === 'manager' ? project.owner.organisationId : undefined)
    await app.db.prisma.session.updateMany({ where: { accountId: office.accountId }, data: { passwordAt: null } })
    const before = await rowsOf(conversation.id)
    expect((await decide(one, office, 'retain')).status).toBe(200)
    const refused = await decide(one, office, 'delete')
    expect([refused.status, refused.json.code]).toEqual([403, 'step_up_required'])
    expect(await rowsOf(conversation.id)).toBe(before)
    await passwordEntered(app, office)
    expect((await decide(one, office, 'delete')).status).toBe(200)
    await drain(app)
    expect(await rowsOf(conversation.id)).toBe(0)
  },
)

test('delete removes the thread once when the worker crashes after the deletion and before its commit', async () => {
  const one = await waiting()
  expect((await decide(one, one.project.owner, 'delete')).status).toBe(200)
  crashAt = 'step.checkpoints.threads.inside'
  await drain(app, { mayFail: true })
  expect(crashAt).toBeUndefined()
  await drain(app)
  expect((await erasure(one)).success).toBe(true)
  expect(await rowsOf(one.conversation.id)).toBe(0)
  expect((await receiptOf(one)).stores).toContainEqual(
    expect.objectContaining({ holder: 'checkpoints.threads', found: 1, deleted: 1, residue: 0 }),
  )
})

test('decide and list reject strangers, other tenants, auditors, revoked sessions and repeated decisions', async () => {
  const one = await waiting()
  const { project } = one
  const stranger = await signedIn(app)
  const tenant = await madeProject(app)
  for (const by of [stranger, tenant.owner]) {
    expect((await list(one, by)).status).toBe(404)
    expect((await decide(one, by, 'delete')).status).toBe(404)
  }
  expect((await app.fetch('POST', decisionPath(one), { body: { decision: 'delete' } })).status).toBe(401)
  expect((await app.fetch('GET', `/api/erasures/${one.auditId}/threads`)).status).toBe(401)
  expect((await decide(one, project.owner, 'both')).status).toBe(422)
  const unknown = { ...one, conversation: { ...one.conversation, id: 'another-thread' } }
  expect((await decide(unknown, project.owner, 'delete')).status).toBe(404)
  expect(await rowsOf(one.conversation.id)).toBeGreaterThan(0)

  const headers = { 'Idempotency-Key': newId('key') }
  const send = () =>
    app.fetch('POST', decisionPath(one), { cookie: project.owner.cookie, headers, body: { decision: 'retain' } })
  const [first, again] = [await send(), await send()]
  expect([first.status, again.status, again.json]).toEqual([200, 200, first.json])
  await drain(app)
  expect((await erasure(one)).success).toBe(true)
  expect((await decide(one, project.owner, 'delete')).status).toBe(404)
  expect(await rowsOf(one.conversation.id)).toBeGreaterThan(0)
})

describe('a legal hold that is set while a thread waits for a decision', () => {
  const hold = async (kind: string, target_id: string) => {
    const body = { kind, target_id, reason: 'a court asked for it' }
    const { json } = await app.fetch('POST', '/v1/holds', { cookie: admin.cookie, body })
    return () => app.fetch('POST', `/v1/holds/${json.data.id}/release`, { cookie: admin.cookie })
  }
  const lineOf = (receipt: { stores: { holder: string }[] }) =>
    receipt.stores.find(({ holder }) => holder === 'checkpoints.threads')
  const retainedLine = expect.objectContaining({ what: expect.stringMatching(/^one LangGraph thread/) })

  test('leaves a retained thread on the receipt as remaining, during the hold and after it', async () => {
    const one = await waiting()
    const before = await rowsOf(one.conversation.id)
    const release = await hold('project', one.project.id)
    expect((await decide(one, one.project.owner, 'retain')).status).toBe(200)
    await drain(app)
    expect(await rowsOf(one.conversation.id)).toBe(before)
    const held = await receiptOf(one)
    expect(held.retained).toContainEqual(retainedLine)
    expect(lineOf(held)).toMatchObject({ found: 1, deleted: 0 })
    expect((await release()).status).toBe(200)
    await drain(app, { mayFail: true })
    const receipt = await receiptOf(one)
    expect((await erasure(one)).success).toBe(true)
    expect(receipt.retained).toContainEqual(retainedLine)
    expect(lineOf(receipt)).toMatchObject({ found: 1, deleted: 0 })
    expect(await rowsOf(one.conversation.id)).toBe(before)
  })

  test.each(['project', 'account'])(
    'on the %s blocks all erasure in the thread until it ends and somebody decides',
    async (kind) => {
      const one = await waiting()
      await madeMessage(app, one.conversation, one.project.owner, { content: 'Something else entirely.' })
      const before = await rowsOf(one.conversation.id)
      const release = await hold(kind, kind === 'project' ? one.project.id : one.project.owner.accountId)
      const refused = await decide(one, one.project.owner, 'delete')
      expect([refused.status, refused.json.code]).toEqual([409, 'held'])
      await app.fetch('POST', `/api/erasures/${one.auditId}/retry`, { cookie: admin.cookie })
      await drain(app, { mayFail: true })
      expect(await rowsOf(one.conversation.id)).toBe(before)
      await release()
      await drain(app, { mayFail: true })
      expect((await erasure(one)).success).toBe(false)
      expect((await decide(one, one.project.owner, 'delete')).status).toBe(200)
      await drain(app)
      expect(await rowsOf(one.conversation.id)).toBe(0)
      const receipt = await receiptOf(one)
      expect(lineOf(receipt)).toMatchObject({ found: 1, deleted: 1, residue: 0 })
      expect(receipt.held).toBeUndefined()
    },
  )
})

test('the second search reports a thread that became unreadable, erases the rest, and ends when the thread is deleted', async () => {
  const project = await madeProject(app)
  const conversation = await madeConversation(app, project, { threads: [`thread/${newId('x')}`] })
  const readable = newId('thread')
  const message = await madeMessage(app, conversation, project.owner, { content: sentence })
  await storedInThread(app, conversation.id, [{ id: message.id, text: sentence }])
  const response = await app.fetch('DELETE', message.path, { cookie: project.owner.cookie, body: {} })
  await drain(app)
  const run = () => app.db.prisma.erasureRun.findFirstOrThrow({ where: { auditId: response.json.auditId } })
  expect((await run()).state).toBe('done')
  // Late writes restore the message: in the thread, which now has an encrypted row, and in another thread.
  const insert = (thread: string, type: string, blob: Buffer) =>
    app.db.query(
      undefined,
      `INSERT INTO langgraph.checkpoint_blobs (thread_id, channel, version, type, blob) VALUES ($1, $2, 'late', $2, $3)`,
      [thread, type, blob],
    )
  const late = Buffer.from(JSON.stringify([{ type: 'human', id: message.id, content: sentence }]))
  await insert(conversation.id, 'json', late)
  await insert(conversation.id, 'msgpack+aes', Buffer.from([0, 255]))
  await insert(readable, 'json', late)
  const search = async () => {
    await app.app.jobs.find(({ name }) => name === 'erasure.recheck')?.execute(app.app.pipeline, {})
    return (await drain(app, { mayFail: true })).faults
  }
  app.clock.advance(25 * 3_600_000)
  expect(await search()).toEqual([])
  const step = async () => {
    const { steps } = (await app.app.subjectErasures.byAudit(response.json.auditId)) ?? { steps: [] }
    return steps.find(({ holder }) => holder === 'checkpoints.messages')
  }
  const reported = await step()
  expect(reported?.fault).toBe(`conflict:${conversation.id}`)
  expect(reported?.residue).toBeGreaterThan(0)
  expect((await run()).recheckAt).not.toBeNull()
  const rows = await app.db.query<{ blob: Buffer }>(
    undefined,
    'SELECT blob FROM langgraph.checkpoint_blobs WHERE thread_id = $1',
    [readable],
  )
  expect(rows.some(({ blob }) => blob.includes('Musterfrau'))).toBe(false)

  await app.db.query(undefined, 'DELETE FROM langgraph.checkpoint_blobs WHERE thread_id = $1', [conversation.id])
  for (const hours of [2, 25]) {
    app.clock.advance(hours * 3_600_000)
    expect(await search()).toEqual([])
  }
  expect(await step()).toMatchObject({ fault: null, residue: 0 })
  expect((await run()).recheckAt).toBeNull()
})
