import { PostgresSaver } from '@langchain/langgraph-checkpoint-postgres'
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import {
  type Assistant,
  approveTool,
  assistant,
  messagesOf,
  writeMessage,
} from '#lib/stores/checkpoints/suite/written-thread.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { testDatabase } from '#lib/testing/database.ts'
import { drain } from '#lib/testing/jobs.ts'
import type { Person } from '#lib/testing/people.ts'
import { madeConversation, madeMember, madeMessage, madeProject, reported } from '#lib/testing/projects.ts'

const theirWords = 'Erika Musterfrau told us that her son Max is ill since Easter.'
const ourWords = 'What a colleague had to say about something else.'

class Crash extends Error {}
let crashAt: string | undefined
let test: TestApp
let saver: PostgresSaver
let app: Assistant
beforeAll(async () => {
  const database = await testDatabase()
  saver = PostgresSaver.fromConnString(database.ownerUrl, { schema: 'langgraph' })
  await saver.setup()
  test = await testApp({}, database, {
    interrupt(point) {
      if (point === crashAt) throw new Crash(point)
    },
  })
  app = assistant(saver)
})
afterAll(async () => {
  await saver?.end()
  await test?.close()
})
beforeEach(() => {
  crashAt = undefined
})

async function begun({ accountId }: Person): Promise<string> {
  const { runId } = await test.app.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: accountId, agents: [] },
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: test.clock.now(),
    }),
  )
  return runId
}
const stateOf = async (runId: string) => (await test.app.subjectErasures.run(runId))?.state
/** A project of two people. One of them begins a conversation, whose thread an application stores. */
async function talk() {
  const project = await madeProject(test)
  const erika = await madeMember(test, project)
  const conversation = await madeConversation(test, project, {}, erika)
  const said = await madeMessage(test, conversation, erika, { content: theirWords })
  await writeMessage(app, conversation.id, said.id, theirWords)
  return { project, erika, conversation, said }
}

describe('a thread that was planned for complete deletion', () => {
  it('keeps the messages of a person who wrote in its conversation between the plan and the step', async () => {
    const { project, erika, conversation, said } = await talk()
    const runId = await begun(erika)
    crashAt = 'step.checkpoints.messages.before'
    let tries = 0
    await drain(test, { mayFail: true, until: () => tries++ > 2 })
    expect(await stateOf(runId)).toBe('erasing')
    crashAt = undefined
    const ours = await madeMessage(test, conversation, project.owner, { content: ourWords })
    await approveTool(app, conversation.id)
    await writeMessage(app, conversation.id, ours.id, ourWords)
    await drain(test, { mayFail: true })
    expect(await stateOf(runId)).toBe('done')
    expect(await messagesOf(app, conversation.id)).toContain(ours.id)
    expect(await messagesOf(app, conversation.id)).not.toContain(said.id)
    const states = JSON.stringify(await Array.fromAsync(saver.list({ configurable: { thread_id: conversation.id } })))
    expect([states.includes(theirWords), states.includes(ourWords)]).toEqual([false, true])
  })

  it('is deleted when the only other pointer to it is also being erased', async () => {
    const { project, erika, conversation } = await talk()
    const shared = newId('thread')
    await test.db.prisma.conversation.update({ where: { id: conversation.id }, data: { threads: [shared] } })
    const elsewhere = await madeConversation(test, project)
    await madeMessage(test, elsewhere, project.owner, { content: ourWords })
    const pointing = await madeMessage(test, elsewhere, erika, { content: 'One thing more, while we are at it.' })
    await reported(test, project, erika, [
      { source_id: pointing.id, store: 'checkpoints', ref: pointing.id, place: shared },
    ])
    await writeMessage(app, shared, newId('run'), 'An answer that no row of ours knows.')
    const runId = await begun(erika)
    await drain(test)
    expect(await stateOf(runId)).toBe('done')
    expect(await saver.getTuple({ configurable: { thread_id: shared } })).toBeUndefined()
  })

  it('is deleted with the last of two conversations that are erased concurrently', async () => {
    const project = await madeProject(test)
    const shared = newId('thread')
    const both = [
      await madeConversation(test, project, { threads: [shared] }),
      await madeConversation(test, project, { title: 'Another' }),
    ]
    await test.db.prisma.conversation.update({ where: { id: both[1]?.id ?? '' }, data: { threads: [shared] } })
    await writeMessage(app, shared, newId('run'), theirWords)
    crashAt = 'step.checkpoints.messages.before'
    for (const { path } of both)
      expect((await test.fetch('DELETE', path, { cookie: project.owner.cookie, body: {} })).status).toBe(202)
    crashAt = undefined
    await drain(test, { mayFail: true })
    expect(await test.db.prisma.conversation.count({ where: { projectId: project.id } })).toBe(0)
    expect(await saver.getTuple({ configurable: { thread_id: shared } })).toBeUndefined()
  })
})

it('erasure of a message keeps a message of another author that its pointer names', async () => {
  const project = await madeProject(test)
  const member = await madeMember(test, project)
  const conversation = await madeConversation(test, project)
  const theirs = await madeMessage(test, conversation, project.owner, { content: ourWords })
  const own = await madeMessage(test, conversation, member, { content: theirWords })
  await writeMessage(app, conversation.id, theirs.id, ourWords)
  await approveTool(app, conversation.id)
  await writeMessage(app, conversation.id, own.id, theirWords)
  const answer = newId('run')
  await approveTool(app, conversation.id)
  await writeMessage(app, conversation.id, answer, 'What came of it, and is no message of the project.')
  await reported(test, project, member, [
    { source_id: own.id, store: 'checkpoints', ref: theirs.id },
    { source_id: own.id, store: 'checkpoints', ref: answer },
  ])
  const response = await test.fetch('DELETE', own.path, { cookie: member.cookie, body: {} })
  await drain(test)
  expect((await test.app.subjectErasures.byAudit(response.json.auditId))?.state).toBe('done')
  const left = await messagesOf(app, conversation.id)
  expect([left.includes(theirs.id), left.includes(own.id), left.includes(answer)]).toEqual([true, false, false])
})
