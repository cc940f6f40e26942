import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  type ProjectClient,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

let project: MadeProject
let person: Person
let agent: Issued
let said: MadeMessage
/** A message of a person, and an agent of another person that makes documents from it. */
beforeEach(async () => {
  project = await madeProject(test)
  person = await madeMember(test, project)
  agent = project.agent
  said = await madeMessage(test, await madeConversation(test, project), person, { content: 'Words that go.' })
})

const makes = (asker: ProjectClient) =>
  test.fetch('POST', `${project.path}/documents?name=made.md&kind=artifact&made_from=${said.id}`, {
    ...asker,
    body: 'Made of words that go.',
    headers: { 'Content-Type': 'text/markdown' },
  })
const points = (source_id: string) =>
  test.fetch('POST', `${project.path}/provenance`, {
    token: agent.token,
    body: { entries: [{ source_id, store: 'graph', ref: newId('episode') }] },
  })
/** A planned erasure run of the person, with no step done yet. */
async function planned(): Promise<string> {
  const engine = test.app.subjectErasures
  const subject = { account: person.accountId, agents: [] }
  const now = test.clock.now()
  const { runId } = await test.app.db.transaction((tx) =>
    engine.begin(tx, { requestId: null, subject, requestedBy: 'user:test', reason: 'gdpr_erasure', now }),
  )
  await engine.start(runId)
  return runId
}
const left = async () => ({
  documents: await test.db.prisma.document.count({ where: { projectId: project.id } }),
  objects: (await test.app.stored.objects.list(`projects/${project.id}/documents/`, '', 10)).length,
})

it('POST /documents is rejected when the document is made from a message of a person who is being erased', async () => {
  const runId = await planned()
  const made = await makes({ token: agent.token })
  expect([made.status, made.json.code]).toEqual([409, 'fenced'])
  await drain(test)
  expect(await test.app.subjectErasures.run(runId)).toMatchObject({ state: 'done' })
  expect(await left()).toEqual({ documents: 0, objects: 0 })
})

it('POST /provenance is rejected for a document made from a message of a person who is being erased', async () => {
  const { data } = (await makes({ token: agent.token })).json
  expect((await points(data.id)).status).toBe(200)
  await planned()
  const response = await points(data.id)
  expect([response.status, response.json.code]).toEqual([409, 'fenced'])
  await drain(test)
  expect(await left()).toEqual({ documents: 0, objects: 0 })
})

it('residue finds a document whose message no longer exists, unless it is under legal hold', async () => {
  const { data } = (await makes({ token: agent.token })).json
  await test.db.prisma.message.deleteMany({ where: { id: said.id } })
  const messages = test.app.dataSources.find(({ name }) => name === 'projects.messages')
  const scope: ErasureScope = { subject: { account: person.accountId, agents: [] } }
  const residue = () => messages?.residue(scope, [said.id], test.clock.now())
  const provenance = await test.db.prisma.provenance.count({ where: { sourceId: said.id } })
  expect(await residue()).toBe(provenance + 1)
  const admin = await signedIn(test, 'admin')
  const hold = { kind: 'agent', target_id: agent.id, reason: 'A dispute' }
  await dataOf(test, 'POST', '/v1/holds', admin, { body: hold })
  expect(await residue()).toBe(provenance)
  await test.db.prisma.document.deleteMany({ where: { id: data.id } })
})
