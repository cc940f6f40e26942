import { afterAll, beforeAll, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

it('POST of messages stores one participant for all forms of an external id', async () => {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  for (const external_id of ['zoë-17'.normalize('NFC'), 'zoë-17'.normalize('NFD'), ' zoë-17 '])
    await madeMessage(test, conversation, project.agent, { author: { external_id } })
  const rows = await test.db.prisma.projectParticipant.findMany({ where: { projectId: project.id } })
  expect(rows.map(({ externalId }) => externalId)).toEqual(['zoë-17'.normalize('NFC')])
})

it('POST of messages finds a participant that was stored before ids were normalized', async () => {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const now = test.clock.now()
  const stored = { id: newId('ptp'), projectId: project.id, externalId: ' zoë-18'.normalize('NFD') }
  await test.db.prisma.projectParticipant.create({
    data: { ...stored, createdBy: project.agent.id, createdAt: now, updatedAt: now },
  })
  const { id } = await madeMessage(test, conversation, project.agent, { author: { external_id: 'zoë-18' } })
  const message = await test.db.prisma.message.findUniqueOrThrow({ where: { id } })
  expect(message.authorId).toBe(stored.id)
})
