import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { storedInGraph } from '#lib/testing/graph-rows.ts'
import {
  dataOf,
  eraseWholeProject,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

/** Ids that two organizations use; different in each test. */
let run = 0
let [conv, msg, doc] = ['', '', '']
let [one, two]: MadeProject[] = []
beforeEach(async () => {
  run++
  ;[conv, msg, doc] = [`conv-${run}`, `message-${run}`, `doc-${run}`]
  one = await madeProject(test)
  two = await madeProject(test)
})
const both = (): [MadeProject, MadeProject] => {
  if (!one || !two) throw new Error('no projects')
  return [one, two]
}
/** Projects do not share six consecutive words. */
const words = (project: MadeProject) => `We said ${project.id.slice(4).match(/.{3}/g)?.join(' ')}.`
const conversationOf = (project: MadeProject) => `${project.path}/conversations/${conv}`
const messageOf = (project: MadeProject) => `${conversationOf(project)}/messages/${msg}`
const documentOf = (project: MadeProject) => `${project.path}/documents/${doc}`
const threadOf = (project: MadeProject) => `${project.id}-thread`
const keyOf = (project: MadeProject) => `answers:${project.id}:${msg}`
const get = (project: MadeProject, path: string) => dataOf(test, 'GET', path, project.owner)

/** A conversation, message and document with these ids, and data derived from the message in the other stores. */
async function filled(project: MadeProject) {
  const conversation = await madeConversation(test, project, { id: conv, threads: [threadOf(project)] })
  const message = await madeMessage(test, conversation, project.owner, { id: msg, content: words(project) })
  const document = await madeDocument(test, project, project.owner, { id: doc })
  const attachment = await madeAttachment(test, message, project.owner)
  await storedInThread(test, threadOf(project), [{ id: msg, text: words(project) }], project.id)
  await test.app.stored.cache.set(keyOf(project), words(project), { ttl: 600, about: [] })
  await storedInGraph(test, { project, source: msg, words: words(project), reporter: project.owner })
  await reported(test, project, project.owner, [
    { source_id: msg, store: 'checkpoints', ref: msg, place: threadOf(project) },
    { source_id: doc, store: 'outside', ref: 'copy' },
  ])
  return { conversation, message, document, attachment }
}
const checkpointsOf = (project: MadeProject) =>
  test.app.db.query<{ blob: string }>(
    undefined,
    `SELECT encode(blob, 'escape') AS blob FROM langgraph.checkpoint_blobs WHERE thread_id = $1`,
    [threadOf(project)],
  )

/** Checks that all data of the project exists unchanged. */
async function expectWhole(project: MadeProject): Promise<void> {
  expect(await get(project, conversationOf(project))).toMatchObject({ id: conv, messages: 1 })
  expect(await get(project, messageOf(project))).toMatchObject({
    id: msg,
    conversation_id: conv,
    content: words(project),
    attachments: [{ name: 'notes.txt' }],
  })
  expect(await get(project, documentOf(project))).toMatchObject({ id: doc })
  const pointers = await get(project, `${project.path}/provenance?source_id=${msg}`)
  expect(pointers.map((one: { store: string }) => one.store).sort()).toEqual([
    'checkpoints',
    'checkpoints',
    'graph',
    'objects',
  ])
  const { text } = await test.fetch('GET', `${project.path}/export?format=ndjson`, project.owner)
  const episodes = text.split('\n').filter((line) => line.includes('graph_episode') && line.includes(words(project)))
  expect(episodes).toHaveLength(1)
  const rows = await checkpointsOf(project)
  expect([rows.length, rows.every(({ blob }) => blob.includes(words(project)))]).toEqual([2, true])
  expect(await test.app.stored.cache.get(keyOf(project))).toBe(words(project))
}

describe('ids that clients of two organizations chose', () => {
  it('reading, listing, editing and exporting work for both organizations', async () => {
    for (const project of both()) await filled(project)
    for (const project of both()) {
      await expectWhole(project)
      const list = async (path: string) => (await get(project, path)).map(({ id }: { id: string }) => id)
      expect(await list(`${project.path}/conversations`)).toEqual([conv])
      expect(await list(`${conversationOf(project)}/messages`)).toEqual([msg])
      expect(await list(`${project.path}/documents`)).toEqual([doc])
      await dataOf(test, 'PATCH', conversationOf(project), project.owner, { body: { title: 'Renamed' } })
      const edited = await dataOf(test, 'PATCH', messageOf(project), project.owner, { body: { content: 'Edited.' } })
      expect(edited).toMatchObject({ id: msg, content: 'Edited.', former: [{ content: words(project) }] })
      const [file] = edited.attachments
      const bytes = await test.fetch('GET', `${messageOf(project)}/attachments/${file.id}`, project.owner)
      expect([bytes.status, bytes.text]).toEqual([200, 'Some bytes.'])
      expect((await test.fetch('GET', `${documentOf(project)}/content`, project.owner)).status).toBe(200)
      const made = await dataOf(
        test,
        'POST',
        `${project.path}/documents?name=x.txt&id=made-${run}&made_from=${msg}`,
        project.owner,
        { body: 'x', headers: { 'Content-Type': 'text/plain' } },
      )
      expect(made).toMatchObject({ id: `made-${run}`, made_from: msg })
      const { text } = await test.fetch('GET', `${project.path}/export?format=ndjson`, project.owner)
      expect(text).toContain(`"conversation_id" : "${conv}"`)
      expect(text).toContain(`"source_id" : "${msg}"`)
      expect(text).not.toContain(`~${msg}`)
    }
    const [mine, theirs] = both()
    for (const path of [conversationOf(theirs), messageOf(theirs), documentOf(theirs)])
      expect((await test.fetch('GET', path, mine.owner)).status).toBe(404)
  })

  it('import stores lines with ids of another project, and skips ids of its own project', async () => {
    const lines = [
      { type: 'conversation', id: conv, title: 'History' },
      { type: 'message', id: msg, conversation_id: conv, role: 'user', content: 'Hello.' },
    ]
    for (const project of both()) {
      const send = () =>
        dataOf(test, 'POST', `${project.path}/import`, project.agent, {
          body: lines.map((line) => JSON.stringify(line)).join('\n'),
          headers: { 'Content-Type': 'application/x-ndjson' },
        })
      expect(await send()).toMatchObject({ failed: 0, skipped: 0, stored: { conversations: 1, messages: 1 } })
      expect(await send()).toMatchObject({ failed: 0, skipped: 2 })
    }
  })

  it('erasure in one project keeps the other project unchanged in every store', async () => {
    const [mine, theirs] = both()
    for (const project of both()) await filled(project)
    const { verdicts } = await dataOf(test, 'DELETE', `${messageOf(mine)}?dry_run=true`, mine.owner)
    const rows = verdicts.filter(({ store }: { store: string }) => store === 'postgresql')
    expect(rows).toEqual([expect.objectContaining({ kind: 'message', id: msg, verdict: 'deleted' })])
    expect(JSON.stringify(verdicts)).not.toContain(theirs.id)
    const receiptId = await eraseWholeProject(test, messageOf(mine), mine.owner)
    const receipt = (await test.fetch('GET', `/v1/receipts/${receiptId}`, {})).json
    expect(receipt).toMatchObject({ deleted_id: msg, part_kind: 'message' })
    expect(receipt.stores.every(({ residue }: { residue: number }) => residue === 0)).toBe(true)
    const deleted = await test.fetch('GET', messageOf(mine), mine.owner)
    expect([deleted.status, deleted.json.receipt_id]).toEqual([410, receiptId])
    expect((await checkpointsOf(mine)).some(({ blob }) => blob.includes(words(mine)))).toBe(false)
    expect(await test.app.stored.cache.get(keyOf(mine))).toBeUndefined()
    await expectWhole(theirs)
    await eraseWholeProject(test, documentOf(mine), mine.owner)
    await eraseWholeProject(test, conversationOf(mine), mine.owner)
    expect(await checkpointsOf(mine)).toEqual([])
    await expectWhole(theirs)
  })

  it('an id can be used once in a project, and never again after its erasure', async () => {
    const [mine, theirs] = both()
    await filled(mine)
    const create = async (project: MadeProject) => [
      await test.fetch('POST', `${project.path}/conversations`, { ...project.owner, body: { id: conv, title: 'x' } }),
      await test.fetch('POST', `${project.path}/documents?name=x.txt&id=${doc}`, {
        ...project.owner,
        body: 'x',
        headers: { 'Content-Type': 'text/plain' },
      }),
      await test.fetch('POST', `${conversationOf(project)}/messages`, {
        ...project.owner,
        body: { id: msg, role: 'user', content: 'x' },
      }),
    ]
    const codes = async (project: MadeProject) => (await create(project)).map(({ json }) => json.code)
    expect(await codes(mine)).toEqual(['id_in_use', 'id_in_use', 'id_in_use'])
    await eraseWholeProject(test, messageOf(mine), mine.owner)
    await eraseWholeProject(test, documentOf(mine), mine.owner)
    expect(await codes(mine)).toEqual(['id_in_use', 'erased', 'erased'])
    await eraseWholeProject(test, conversationOf(mine), mine.owner)
    expect((await codes(mine)).slice(0, 2)).toEqual(['erased', 'erased'])
    expect((await create(theirs)).map(({ status }) => status)).toEqual([201, 201, 201])
  })

  it('responses do not depend on the current or erased data of other projects', async () => {
    /** All responses to a client of a project, without random values. */
    async function seen(project: MadeProject) {
      const answers: string[] = []
      const note = async (method: string, path: string, body?: unknown) => {
        const { status, text } = await test.fetch(method, path, { ...project.owner, ...(body ? { body } : {}) })
        answers.push(`${method} ${status} ${text}`)
      }
      await note('GET', messageOf(project))
      const threads = [threadOf(project)]
      await note('POST', `${project.path}/conversations`, { id: conv, title: 'x', threads })
      const pointer = { store: 'checkpoints', ref: msg, place: threadOf(project) }
      await note('POST', `${conversationOf(project)}/messages`, {
        id: msg,
        role: 'user',
        content: 'Short words.',
        provenance: [pointer],
      })
      const entries = [{ source_id: msg, store: 'checkpoints', ref: conv }]
      await note('POST', `${project.path}/provenance`, { entries })
      await note('GET', `${project.path}/provenance`)
      await note('DELETE', `${messageOf(project)}?dry_run=true`)
      await eraseWholeProject(test, messageOf(project), project.owner)
      await note('GET', messageOf(project))
      return answers.map((answer) =>
        answer
          .replaceAll(/req_[\w-]+/g, 'REQUEST')
          .replaceAll(project.id, 'PROJECT')
          .replaceAll(project.owner.accountId, 'OWNER')
          .replaceAll(/\b[a-z]{2,8}_[0-9A-Za-z]{22}\b/g, 'RANDOM')
          .replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, 'TIME')
          // Pointers with the same time have no defined order.
          .split(/\},\{|\[\{|\}\]/)
          .sort(),
      )
    }
    const [mine, theirs] = both()
    // These organizations have namespaces that do not contain the ids.
    const third = await madeProject(test)
    for (const { owner } of [mine, theirs, third])
      await test.db.prisma.organisation.update({ where: { id: owner.organisationId }, data: { storeNamespaces: [] } })
    // First no project has the ids; then one project has them, and another one has erased the message.
    const first = await seen(mine)
    await filled(theirs)
    expect(await seen(third)).toEqual(first)
  })
})
