import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person } from '#lib/testing/people.ts'
import {
  erasedWhole,
  type MadeMessage,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

let project: MadeProject
let member: Person
let own: MadeMessage
let name: string
const key = () => `answers:${project.id}`
const object = () => `answers/${project.id}.json`
/** Two messages of two people, and what was made of both. */
beforeEach(async () => {
  project = await madeProject(test)
  member = await madeMember(test, project)
  const conversation = await madeConversation(test, project)
  own = await madeMessage(test, conversation, project.owner)
  const theirs = await madeMessage(test, conversation, member)
  const { cache, objects } = test.app.stored
  await cache.set(key(), 'an answer', { ttl: 600, about: [] })
  ;[name = ''] = await cache.search([project.id])
  const bytes = async function* () {
    yield Buffer.from('an answer')
  }
  await objects.put(object(), bytes(), { mediaType: 'text/plain' })
  for (const [asker, source_id] of [
    [project.owner, own.id],
    [member, theirs.id],
  ] as const)
    await reported(test, project, asker, [
      { source_id, store: 'cache', ref: name },
      { source_id, store: 'objects', ref: object() },
    ])
})
const left = async (): Promise<string[]> => {
  const { cache, objects } = test.app.stored
  return [...(await cache.search([project.id])), ...(await objects.list(object(), '', 10))]
}
const eraseOwn = () => erasedWhole(test, own.path, project.owner)
const fence = () =>
  test.db.prisma.writeFence.create({
    data: { kind: 'account', id: member.accountId, runId: 'run_of_this_test', raisedAt: test.clock.now() },
  })

it('what a message names that stays, stays', async () => {
  await eraseOwn()
  expect(await left()).toEqual([name, object()])
})

it('what only a message names whose writer is being erased, goes with whoever of the two plans later', async () => {
  await fence()
  await eraseOwn()
  expect(await left()).toEqual([])
})

it('of a writer whom a hold keeps it stays', async () => {
  await fence()
  const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
  const body = { kind: 'account', target_id: member.accountId, reason: 'a court asked for it' }
  expect((await test.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(201)
  await eraseOwn()
  expect(await left()).toEqual([name, object()])
})
