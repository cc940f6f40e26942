import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, it } from 'vitest'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { addMessage, startConversation, type TestConversation } from '#lib/testing/conversations.ts'
import { episode } from '#lib/testing/graphs.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import {
  dataOf,
  eraseWholeProject,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { type SideStore, sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

/** The ledger is stored outside the data folder, as recommended for operators. */
let ledger: string
let before: TestApp
let side: SideStore
let restored: TestApp | undefined
const started = (given?: Parameters<typeof testApp>[1]) =>
  testApp({ KP_LEDGER_URL: ledger }, given, { moreDataSources: (db) => [sideStoreDataSource(side)(db)] })
beforeEach(async () => {
  ledger = mkdtempSync(join(tmpdir(), 'kp-ledger-'))
  side = sideStore()
  before = await started()
  restored = undefined
})
afterEach(async () => {
  await restored?.close()
  await before?.close()
  rmSync(ledger, { recursive: true, force: true })
})
const backup = async (): Promise<() => Promise<TestApp>> => {
  const retained = await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env })
  const entries = [...side.entries]
  return async () => {
    side.entries = new Map(entries)
    restored = await started(retained)
    return restored
  }
}
const erase = async ({ project, conversation, owner }: TestConversation, message?: string) => {
  const path = `/api/projects/${project}/conversations/${conversation}${message === undefined ? '' : `/messages/${message}`}`
  const response = await before.fetch('DELETE', path, { cookie: owner.cookie })
  expect([response.status, response.json.success]).toEqual([200, true])
  const run = await before.app.subjectErasures.byAudit(response.json.auditId)
  return run?.receiptId ?? 'none'
}
const isThere = async ({ db }: TestApp, ids: readonly string[]): Promise<string[]> => {
  const found = await db.prisma.message.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })
  return ids.filter((id) => found.some((row) => row.id === id))
}

it('a replay redacts a name in texts of others again if the original erasure redacted it', async () => {
  const project = await madeProject(before)
  const member = await madeMember(before, project)
  const subject = { account: member.accountId, agents: [] }
  await before.db.prisma.account.update({
    where: { id: member.accountId },
    data: { name: 'Ida Beispiel', updatedAt: before.clock.now() },
  })
  await dataOf(before, 'PATCH', project.path, project.owner, { body: { allows_redaction: true } })
  // Only names that were unchanged for 45 days are replaced.
  const heldFor = 46 * 86_400_000
  before.clock.advance(heldFor)
  const { groupId: group } = await before.db.prisma.project.findUniqueOrThrow({ where: { id: project.id } })
  const bare = { entities: [], facts: [], mentions: [], communities: [], sagas: [], next: [] }
  const content = 'Ida Beispiel signs.'
  await postgresPlanting(before.db).plant({ ...bare, group, episodes: [episode('others', 1, { content })] })
  const said = async ({ db }: TestApp) => (await postgresPlanting(db).standing(group)).episodes[0]?.content
  const fromBackup = await backup()
  const { runId } = await before.app.db.transaction((tx) =>
    before.app.subjectErasures.begin(tx, {
      requestId: null,
      subject,
      redacts: true,
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: before.clock.now(),
    }),
  )
  await drain(before)
  expect([(await before.app.subjectErasures.run(runId))?.state, await said(before)]).toEqual([
    'done',
    '[erased] signs.',
  ])
  const app = await fromBackup()
  expect(await said(app)).toBe(content)
  app.clock.advance(heldFor)
  expect(await operator(app.app).replayErasures()).toMatchObject({ subjects: 1, unfinished: [] })
  expect(await said(app)).toBe('[erased] signs.')
})

describe('replay of an erasure on a restored backup', () => {
  it('erases a restored message and its derived data again, and keeps its receipt and id', async () => {
    const made = await startConversation({ test: before, side })
    const [message = '', other = ''] = made.messages
    const fromBackup = await backup()
    const receiptId = await erase(made, message)
    const app = await fromBackup()
    expect(await isThere(app, made.messages)).toEqual([message, other])
    const report = await operator(app.app).replayErasures()
    expect(report).toMatchObject({ committed: 1, parts: 1, subjects: 0, reinstated: 1, refused: [], unfinished: [] })
    expect(await isThere(app, made.messages)).toEqual([other])
    expect([...side.entries.values()].map((entry) => entry.message)).toEqual([other, other, other])
    expect((await app.fetch('GET', `/v1/receipts/${receiptId}`)).json).toMatchObject({
      receipt_id: receiptId,
      deleted_id: message,
      part_kind: 'message',
    })
    expect(await app.db.prisma.erasedId.count({ where: { id: message } })).toBe(1)
    expect(await operator(app.app).replayErasures()).toMatchObject({ parts: 0, reinstated: 0 })
  })

  it('rejects ids of an erased conversation, its messages and documents when the backup is older than they are', async () => {
    const project = await madeProject(before)
    const conversation = await madeConversation(before, project)
    const fromBackup = await backup()
    const talked = await madeConversation(before, project, { id: 'conv-that-goes' })
    const ids = ['msg-that-goes', 'doc-that-goes', talked.id]
    const [message, document] = await Promise.all([
      madeMessage(before, conversation, project.owner, { id: ids[0] }),
      madeDocument(before, project, project.owner, { id: 'doc-that-goes' }),
    ])
    for (const path of [message.path, `${project.path}/documents/${document.id}`, talked.path])
      await eraseWholeProject(before, path, project.owner)
    const app = await fromBackup()
    expect(await operator(app.app).replayErasures()).toMatchObject({ committed: 3, reinstated: 3, unfinished: [] })
    const scoped = ids.map((id) => `${project.id}~${id}`)
    const found = await app.db.prisma.erasedId.findMany({ where: { id: { in: scoped } }, select: { id: true } })
    expect(found.map(({ id }) => id).sort()).toEqual(scoped.sort())
    const again = await app.fetch('POST', `${conversation.path}/messages`, {
      ...project.owner,
      body: { id: message.id, role: 'user', content: 'Something was said.' },
    })
    expect([again.status, again.json.code]).toEqual([410, 'erased'])
    const other = await madeProject(app)
    expect((await madeMessage(app, await madeConversation(app, other), other.owner, { id: message.id })).id).toBe(
      message.id,
    )
  })

  it('erases a message again and keeps the message of another project with the same id', async () => {
    const [one, other] = [await madeProject(before), await madeProject(before)]
    const made: { path: string }[] = []
    for (const project of [one, other]) {
      const talked = await madeConversation(before, project, { id: 'conv-of-both' })
      made.push(await madeMessage(before, talked, project.owner, { id: 'msg-of-both' }))
    }
    const fromBackup = await backup()
    await eraseWholeProject(before, `${one.path}/conversations/conv-of-both`, one.owner)
    const app = await fromBackup()
    expect(await operator(app.app).replayErasures()).toMatchObject({ parts: 1, unfinished: [] })
    const read = (n: number) => app.fetch('GET', made[n]?.path ?? '', n === 0 ? one.owner : other.owner)
    expect((await read(0)).status).toBe(404)
    expect((await read(1)).json.data).toMatchObject({ id: 'msg-of-both', conversation_id: 'conv-of-both' })
  })

  it('keeps new messages in a restored conversation', async () => {
    const made = await startConversation({ test: before, side })
    const old = [...made.messages]
    const fromBackup = await backup()
    await erase(made)
    const app = await fromBackup()
    app.clock.advance(60_000)
    const since = await addMessage({ test: app, side }, made, 1)
    const report = await operator(app.app).replayErasures()
    expect(report).toMatchObject({ committed: 1, parts: old.length, unfinished: [] })
    expect(await isThere(app, [...old, since])).toEqual([since])
    expect([...side.entries.values()].map((entry) => entry.message)).toEqual([since])
    expect(await app.db.prisma.conversation.count({ where: { id: made.conversation, erasingSince: null } })).toBe(1)
  })

  it('keeps and reports the message of a project that is now under legal hold', async () => {
    const made = await startConversation({ test: before, side })
    const fromBackup = await backup()
    await erase(made, made.messages[0])
    const app = await fromBackup()
    const admin = await issuedAgent(app, ['admin', 'read', 'write'], { tier: 'enterprise' })
    const body = { kind: 'project', target_id: made.project, reason: 'a court asked for it' }
    expect((await app.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(201)
    await operator(app.app).replayErasures()
    expect(await isThere(app, made.messages)).toEqual(made.messages)
  })
})
