import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { operator } from '#lib/operator/operator.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { backupOf } from '#lib/testing/backup.ts'
import { drain } from '#lib/testing/jobs.ts'
import { madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

/** Stored separately from the database, as recommended for operators. */
let ledger: string
let before: TestApp
let restored: TestApp | undefined
beforeAll(async () => {
  ledger = mkdtempSync(join(tmpdir(), 'kp-ledger-'))
  before = await testApp({ KP_LEDGER_URL: ledger })
})
afterAll(async () => {
  await restored?.close()
  await before?.close()
  rmSync(ledger, { recursive: true, force: true })
})

it('a replay erases a participant from a restored backup again, and suppresses the participant again', async () => {
  const project = await madeProject(before)
  const conversation = await madeConversation(before, project, {}, project.agent)
  const say = (external_id: string) =>
    madeMessage(before, conversation, project.agent, { author: { external_id, name: `Name of ${external_id}` } })
  const [deleted, stays] = [await say('gone'), await say('stays')]
  const { id } = await before.db.prisma.projectParticipant.findFirstOrThrow({ where: { externalId: 'gone' } })
  const backup = await backupOf({ ownerUrl: before.ownerUrl, env: before.app.env })
  const { runId, receiptId } = await before.db.transaction((tx) =>
    before.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: null, agents: [], participants: [id] },
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: before.clock.now(),
    }),
  )
  await drain(before)
  expect((await before.app.subjectErasures.run(runId))?.state).toBe('done')

  restored = await testApp({ KP_LEDGER_URL: ledger }, backup)
  const { prisma } = restored.db
  expect(await prisma.message.count({ where: { id: deleted.id } })).toBe(1)
  expect(await operator(restored.app).replayErasures()).toMatchObject({ subjects: 1, reinstated: 1, unfinished: [] })
  expect(await prisma.message.count({ where: { id: deleted.id } })).toBe(0)
  expect(await prisma.message.count({ where: { id: stays.id } })).toBe(1)
  expect(await prisma.projectParticipant.count({ where: { externalId: 'gone' } })).toBe(0)
  const { status, json } = await restored.fetch('GET', `/v1/receipts/${receiptId}`)
  expect([status, json.deleted_id, json.subject_kind]).toEqual([200, id, 'participant'])
  const again = await restored.fetch('POST', `${conversation.path}/messages`, {
    ...project.agent,
    body: { role: 'user', content: 'Back.', author: { external_id: 'gone' } },
  })
  expect([again.status, again.json.code]).toEqual([410, 'erased'])
}, 300_000)
