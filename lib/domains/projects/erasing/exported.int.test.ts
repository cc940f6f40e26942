import { afterAll, beforeAll, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest'
import type { ProjectPart, Subject } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { openArchive } from '#lib/testing/archives.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  type ProjectClient,
} from '#lib/testing/projects.ts'
import { sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

let test: TestApp
const side = sideStore()
beforeAll(async () => {
  test = await testApp({}, undefined, { moreDataSources: (db) => [sideStoreDataSource(side)(db)] })
})
afterAll(() => test?.close())
beforeEach(() => {
  side.before = undefined
})
/** Derived data cannot be erased while the store is down, so the rows wait. */
const storeIsDown = () => {
  side.before = (asked) => {
    if (asked === 'erase') throw new Problem('unavailable', 'the store does not answer')
  }
}

const word = 'zanzibarology'
/** A project with an owner and a member. All data of the conversation contains the word. */
async function reported() {
  const project = await madeProject(test, { name: `A project of ${word}` })
  const member = await madeMember(test, project)
  const conversation = await madeConversation(test, project, { title: `On ${word}` })
  const message = await madeMessage(test, conversation, project.owner, { content: `Once: ${word}.` })
  await dataOf(test, 'PATCH', message.path, project.owner, { body: { content: `Again: ${word}.` } })
  await madeAttachment(test, message, project.owner, { name: `File of ${word}` })
  const reply = await madeMessage(test, conversation, project.agent, { content: `You said ${word}.` })
  const document = await madeFrom(project, message.id, member)
  for (const [source, by] of [
    [message, project.owner],
    [document, member],
  ] as const)
    derived(source.id, conversation.id, project.id, by)
  return { project, member, conversation, message, reply, document }
}
const derived = (message: string, conversation: string, project: string, { accountId: author }: Person) =>
  side.entries.set(newId('entry'), { message, conversation, project, author })
type RunResponse = Awaited<ReturnType<typeof reported>>
async function madeFrom(project: MadeProject, message: string, by: ProjectClient) {
  const path = `${project.path}/documents?name=${encodeURIComponent(`Made of ${word}`)}&kind=artifact&made_from=${message}`
  const headers = { 'Content-Type': 'text/markdown' }
  const { id } = await dataOf(test, 'POST', path, by, { body: `# Of ${word}\n`, headers })
  return { id, path: `${project.path}/documents/${id}` }
}

const job = async (name: string, payload: unknown): Promise<void> =>
  test.app.jobs.find((one) => one.name === name)?.execute(test.app.pipeline, payload)
const asked = async (who: Person): Promise<string> =>
  (await dataOf(test, 'POST', '/api/privacy/exports', who, { body: { scope: 'all' } })).id
const prepare = (id: string) => job('exports.prepare', { id })
async function contentOf(id: string, who: Person): Promise<string> {
  const response = await fetch(`${test.url}/api/privacy/exports/${id}/file`, { headers: { Cookie: who.cookie } })
  if (!response.ok) throw new Error(`the export answered ${response.status}`)
  return Object.values((await openArchive(new Uint8Array(await response.arrayBuffer()))).files).join('\n')
}
const exported = async (who: Person): Promise<string> => {
  const id = await asked(who)
  await prepare(id)
  return contentOf(id, who)
}
/** Creates an export file as if it had been prepared before the erasure. */
async function preparedBefore(accountId: string, agents: string[] = []): Promise<string> {
  const at = test.clock.now()
  const made = { state: 'ready' as const, attempt: newId('att'), agents, createdAt: at, readyAt: at }
  const { id } = await test.db.prisma.preparedExport.create({
    data: { id: newId('exp'), accountId, basis: 'all', ...made },
  })
  return id
}
const stateOf = async (id: string) => (await test.db.prisma.preparedExport.findUnique({ where: { id } }))?.state

async function begun(what: { part: ProjectPart } | { subject: Subject }): Promise<string> {
  const { runId } = await test.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: null, agents: [] },
      ...what,
      requestedBy: 'user:test',
      reason: 'user_request',
      now: test.clock.now(),
    }),
  )
  return runId
}
const partsOf = ({
  project,
  conversation,
  message,
  document,
}: RunResponse): Record<ProjectPart['kind'], ProjectPart> => {
  const within = { project: project.id, conversation: conversation.id }
  return {
    message: { kind: 'message', id: message.id, ...within },
    conversation: { kind: 'conversation', id: conversation.id, ...within },
    document: { kind: 'document', id: document.id, project: project.id, conversation: null },
    project: { kind: 'project', id: project.id, project: project.id, conversation: null },
  }
}
const runState = async (runId: string) => (await test.app.subjectErasures.run(runId))?.state

describe('while derived data waits to be erased', () => {
  it('an export in progress restarts and omits the erased words', async () => {
    const { project, message } = await reported()
    const id = await asked(project.owner)
    const holding = await test.db.pool.connect()
    // Its end ends its transaction, also after a failure: nothing must wait for the lock then.
    onTestFinished(() => holding.release(true))
    await holding.query('BEGIN')
    // A table that the export reads after the tables of projects.
    await holding.query('LOCK TABLE saved_searches IN ACCESS EXCLUSIVE MODE')
    const preparing = prepare(id)
    await vi.waitUntil(
      async () => {
        const waiting = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'saved_searches'::regclass"
        return (await test.db.pool.query(waiting)).rowCount === 1
      },
      { timeout: 120_000 },
    )
    storeIsDown()
    expect((await test.fetch('DELETE', message.path, project.owner)).status).toBe(202)
    await drain(test, { mayFail: true, except: ['exports.prepare'] })
    expect(await stateOf(id)).toBe('queued')
    await holding.query('ROLLBACK')
    await preparing
    expect(await stateOf(id)).toBe('queued')
    await prepare(id)
    expect(await contentOf(id, project.owner)).not.toContain(`Again: ${word}`)
  })

  it.each([
    ['message', ['A project of', 'On', 'You said']],
    ['conversation', ['A project of']],
    ['document', ['A project of', 'On', 'Once:', 'Again:', 'File of', 'You said']],
    ['project', []],
  ] as const)('a new export omits all data of an erased %s', async (kind, remaining) => {
    const made = await reported()
    const { project, member, document } = made
    storeIsDown()
    const runId = await begun({ part: partsOf(made)[kind] })
    await drain(test, { mayFail: true })
    expect([await runState(runId), await test.db.prisma.document.count({ where: { id: document.id } })]).toEqual([
      'erasing',
      1,
    ])
    const agents = await test.fetch('GET', `/v1/export/${project.agent.id}?scope=all`, project.agent)
    const given = [await exported(project.owner), await exported(member), agents.text].join()
    expect(
      ['A project of', 'On', 'Once:', 'Again:', 'File of', 'You said', 'Made of', '# Of'].filter((said) =>
        given.includes(`${said} ${word}`),
      ),
    ).toEqual(remaining)
  })

  it('a new export omits documents that others made from the messages of an erased person', async () => {
    const { project, member, conversation, document } = await reported()
    const theirs = await madeMessage(test, conversation, member)
    const own = await madeFrom(project, theirs.id, project.owner)
    derived(theirs.id, conversation.id, project.id, member)
    const before = [await preparedBefore(project.owner.accountId), await preparedBefore(member.accountId)]
    storeIsDown()
    const runId = await begun({ subject: { account: member.accountId, agents: [] } })
    await drain(test, { mayFail: true })
    expect(await runState(runId)).toBe('erasing')
    expect(await exported(project.owner)).not.toContain(`# Of ${word}`)
    expect(await Promise.all(before.map(stateOf))).toEqual(['expired', undefined])
    side.before = undefined
    await test.db.transaction((tx) => test.app.subjectErasures.retry(tx, runId, undefined, test.clock.now()))
    await drain(test)
    expect(await runState(runId)).toBe('done')
    expect(await test.db.prisma.document.count({ where: { id: { in: [own.id, document.id] } } })).toBe(0)
  })
})

describe('an export that was prepared before an erasure', () => {
  it.each([
    ['message', ['owner', 'member']],
    ['conversation', ['owner', 'member', 'agent', 'beginner']],
    ['document', ['member']],
    ['project', ['owner', 'member', 'agent', 'beginner', 'silent']],
  ] as const)('is withdrawn when it contains data of the erased %s, and kept otherwise', async (kind, whose) => {
    const made = await reported()
    const { project, member } = made
    const [silent, beginner] = [await madeMember(test, project), await madeMember(test, project)]
    await test.db.prisma.conversation.update({
      where: { id: made.conversation.id },
      data: { createdBy: `user:${beginner.accountId}` },
    })
    const files = {
      owner: await preparedBefore(project.owner.accountId),
      member: await preparedBefore(member.accountId),
      agent: await preparedBefore((await signedIn(test)).accountId, [project.agent.id]),
      beginner: await preparedBefore(beginner.accountId),
      silent: await preparedBefore(silent.accountId),
    }
    const runId = await begun({ part: partsOf(made)[kind] })
    await drain(test)
    expect(await runState(runId)).toBe('done')
    const deleted: string[] = []
    for (const [name, id] of Object.entries(files)) if ((await stateOf(id)) === 'expired') deleted.push(name)
    expect(deleted).toEqual(whose)
  })
})
