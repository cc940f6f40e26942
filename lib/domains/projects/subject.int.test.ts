import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { gatheredSources } from '#lib/domains/projects/provenance/gathered-sources.ts'
import type { Source } from '#lib/domains/projects/provenance/sources.ts'
import type { ErasureScope, Subject } from '#lib/kernel/erasure-scope.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
  manyMessages,
} from '#lib/testing/projects.ts'
import { sampledRuns } from '#lib/testing/sampling.ts'
import { madeSubject } from '#lib/testing/subjects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

async function erased(subject: Subject) {
  const engine = test.app.subjectErasures
  const { runId } = await test.app.db.transaction((tx) =>
    engine.begin(tx, {
      requestId: null,
      subject,
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: test.clock.now(),
    }),
  )
  await drain(test)
  return engine.run(runId)
}
const gathered = (scope: ErasureScope): Promise<Source[]> =>
  test.app.db.transaction(async (tx) => {
    const all: Source[] = []
    for await (const batch of gatheredSources().of(scope, tx, test.clock.now())) all.push(...batch)
    return all
  })

describe('erasure of a subject', () => {
  it('erases their data and memberships, keeps data of others, and replaces their name with a pseudonym', async () => {
    const subject = await madeSubject(test, { agents: 1, units: 1 })
    const { projects, marker, accountId } = subject
    const run = await erased({ account: accountId, agents: [] })
    const ours = run?.steps.filter(({ holder }) => holder.startsWith('projects.'))
    expect(run?.state).toBe('done')
    expect(
      Object.fromEntries(
        (ours ?? []).map(({ holder, planned, erased: n, residue }) => [holder, [planned, n, residue]]),
      ),
    ).toMatchObject({
      'projects.messages': [3, 3, 0],
      'projects.documents': [2, 2, 0],
      'projects.conversations': [1, 1, 0],
      'projects.members': [4, 4, 0],
      'projects.projects': [1, 1, 0],
      'projects.references': [3, 3, 0],
    })
    const { prisma } = test.app.db
    const { messages, documents } = projects.others
    expect((await prisma.message.findMany({ where: { projectId: projects.shared } })).map(({ id }) => id)).toEqual(
      messages,
    )
    expect((await prisma.document.findMany({ where: { projectId: projects.shared } })).map(({ id }) => id)).toEqual(
      documents,
    )
    expect(await prisma.project.findUnique({ where: { id: projects.own } })).toBeNull()
    const together = await prisma.conversation.findUniqueOrThrow({ where: { id: projects.sharedConversation } })
    expect(together).toMatchObject({ title: '', createdBy: expect.stringMatching(/^erased-/) })
    const left = await test.app.db.query<{ text: string }>(
      undefined,
      `SELECT x::text AS text FROM projects x UNION ALL SELECT x::text FROM conversations x UNION ALL SELECT x::text FROM messages x
       UNION ALL SELECT x::text FROM message_edits x UNION ALL SELECT x::text FROM attachments x UNION ALL SELECT x::text FROM documents x
       UNION ALL SELECT x::text FROM document_chunks x UNION ALL SELECT x::text FROM provenance x UNION ALL SELECT x::text FROM project_members x`,
    )
    for (const name of [marker, accountId, ...subject.agents.map(({ id }) => id)])
      expect(left.filter(({ text }) => text.includes(name))).toEqual([])
  }, 600_000)

  it('removes their name from an edit of an agent’s message when the agent has another owner now', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const before = await madeMember(test, project)
    const { id: messageId } = await madeMessage(test, conversation, project.owner)
    const { prisma } = test.app.db
    const editedBy = `user:${before.accountId}`
    await prisma.messageEdit.create({
      data: { id: 'edit_former_owner', messageId, content: 'as it was', editedBy, editedAt: test.clock.now() },
    })
    await erased({ account: before.accountId, agents: [] })
    const edit = await prisma.messageEdit.findUniqueOrThrow({ where: { id: 'edit_former_owner' } })
    expect(edit).toMatchObject({ content: 'as it was', editedBy: expect.stringMatching(/^erased-/) })
  })

  it('makes the member who joined first an owner when the last owner is erased', async () => {
    const project = await madeProject(test)
    const first = await madeMember(test, project)
    test.clock.advance(1_000)
    await madeMember(test, project)
    await erased({ account: project.owner.accountId, agents: [] })
    expect(await dataOf(test, 'GET', project.path, first)).toMatchObject({ role: 'owner', members: 2 })
  })

  it('keeps data under a legal hold on the project or on its author, and counts it by hold', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project)
    const member = await madeMember(test, project)
    await madeMessage(test, conversation, project.owner)
    const retained = await madeMessage(test, conversation, member)
    const admin = await signedIn(test, 'admin')
    const hold = (kind: string, target_id: string) =>
      dataOf(test, 'POST', '/v1/holds', admin, { body: { kind, target_id, reason: 'A dispute' } })
    const scope: ErasureScope = {
      part: { kind: 'conversation', id: conversation.id, project: project.id, conversation: conversation.id },
    }
    const planned = async () => {
      const now = test.clock.now()
      const plans = await test.app.db.transaction(async (tx) => {
        const all: Record<string, unknown> = {}
        for (const dataSource of test.app.dataSources.filter(({ name }) =>
          /^projects\.(messages|conversations)$/.test(name),
        ))
          all[dataSource.name] = await dataSource.plan(scope, tx, now)
        return {
          ...all,
          held: await gatheredSources().held(scope, tx, now),
          whole: await gatheredSources().whole(scope, tx, now),
        }
      })
      return { ...plans, sources: (await gathered(scope)).map(({ id }) => id) }
    }
    const free = await planned()
    expect(free).toMatchObject({ held: {}, whole: [{ project: project.id, group: null, threads: [conversation.id] }] })
    expect(free.sources).toHaveLength(2)
    const one = await hold('account', member.accountId)
    const some = await planned()
    expect(some).toMatchObject({
      'projects.messages': { held: { [one.id]: 1 } },
      'projects.conversations': { items: [], held: { [one.id]: 1 } },
      held: { [one.id]: 1 },
      whole: [],
    })
    expect(some.sources).not.toContain(retained.id)
    const two = await hold('project', project.id)
    expect(await planned()).toMatchObject({
      'projects.messages': { items: [], held: { [two.id]: 2 } },
      'projects.conversations': { items: [], held: { [two.id]: 1 } },
      held: { [two.id]: 2 },
      whole: [],
      sources: [],
    })
    const subjectScope: ErasureScope = { subject: { account: project.owner.accountId, agents: [] } }
    expect(await gathered(subjectScope)).toEqual([])
  })
})

describe('the sources of a scope', () => {
  it('are all messages and documents with their texts, files and pointers, ordered by id', async () => {
    const project = await madeProject(test)
    const conversation = await madeConversation(test, project, { threads: ['a-thread'] })
    const message = await madeMessage(test, conversation, project.agent, { content: 'First.' })
    await dataOf(test, 'PATCH', message.path, project.owner, { body: { content: 'Second.' } })
    const document = await madeDocument(test, project, project.owner, { bytes: 'Text.' })
    await madeMessage(test, conversation, project.owner)
    const whole: ErasureScope = { part: { kind: 'project', id: project.id, project: project.id, conversation: null } }
    expect(await gathered(whole)).toHaveLength(3)
    const one: ErasureScope = {
      part: { kind: 'message', id: message.id, project: project.id, conversation: conversation.id },
    }
    expect(await gathered(one)).toMatchObject([
      {
        kind: 'message',
        project: project.id,
        group: project.groupId,
        conversation: conversation.id,
        threads: [conversation.id, 'a-thread'],
        author: { kind: 'agent', id: project.agent.id },
        texts: ['Second.', 'First.'],
        objects: [],
        pointers: [{ store: 'checkpoints', ref: message.id, place: '', ended: [] }],
      },
    ])
    const ofAgent: ErasureScope = { subject: { account: null, agents: [project.agent.id] } }
    expect((await gathered(ofAgent)).map(({ id }) => id)).toEqual([message.id])
    const ofDocument: ErasureScope = {
      part: { kind: 'document', id: document.id, project: project.id, conversation: null },
    }
    expect(await gathered(ofDocument)).toMatchObject([
      { kind: 'document', texts: ['Text.'], objects: [expect.stringContaining(document.id)], threads: [] },
    ])
    const foreign: ErasureScope = {
      part: { kind: 'message', id: message.id, project: 'prj_another', conversation: null },
    }
    expect(await gathered(foreign)).toEqual([])
  })

  it('are read in batches of 500 when there are thousands of messages, and the erasure ends', async () => {
    const each = sampledRuns('messages in each of 200 conversations of one person', 100, 15)
    const project: MadeProject = await madeProject(test)
    const colleague = await madeMember(test, project)
    const conversations: string[] = []
    for (let n = 0; n < 200; n++) conversations.push((await madeConversation(test, project, {}, project.agent)).id)
    const author = { kind: 'account', id: project.owner.accountId } as const
    const ids = await manyMessages(test, { projectId: project.id, conversations, author, each })
    const stays = await madeMessage(
      test,
      { id: '', path: `${project.path}/conversations/${conversations[0]}` },
      colleague,
    )
    const scope: ErasureScope = { subject: { account: author.id, agents: [] } }
    const sizes: number[] = []
    const found: string[] = []
    await test.app.db.transaction(async (tx) => {
      for await (const batch of gatheredSources().of(scope, tx, test.clock.now())) {
        sizes.push(batch.length)
        found.push(...batch.map(({ id }) => id))
      }
    })
    expect(found.sort()).toEqual([...ids].sort())
    expect(Math.max(...sizes)).toBe(500)
    expect(sizes).toHaveLength((200 * each) / 500)
    const run = await erased({ account: author.id, agents: [] })
    expect(run?.state).toBe('done')
    expect(
      await test.app.db.prisma.message.findMany({ where: { projectId: project.id }, select: { id: true } }),
    ).toEqual([{ id: stays.id }])
    // The conversation with a message of a colleague remains.
    expect(await test.app.db.prisma.conversation.count({ where: { projectId: project.id } })).toBe(1)
  }, 600_000)
})
