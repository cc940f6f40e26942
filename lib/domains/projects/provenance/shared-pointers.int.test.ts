import { buffer } from 'node:stream/consumers'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person } from '#lib/testing/people.ts'
import {
  eraseWholeProject,
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

const ownWords = 'I want to sell the villa on the lake before winter.'
const theirWords = 'We will look for a buyer in the next two weeks.'
const turn = `user: ${ownWords}\nassistant: ${theirWords}`

let project: MadeProject
let member: Person
let own: MadeMessage
let name: string
const key = () => `answers:${project.id}`
const object = () => `answers/${project.id}.json`
/** Two messages of two people, and a cache entry and an object derived from both. */
beforeEach(async () => {
  project = await madeProject(test)
  member = await madeMember(test, project)
  const conversation = await madeConversation(test, project)
  own = await madeMessage(test, conversation, project.owner, { content: ownWords })
  const theirs = await madeMessage(test, conversation, member, { content: theirWords })
  const { cache, objects } = test.app.stored
  await cache.set(key(), turn, { ttl: 600, about: [] })
  ;[name = ''] = await cache.search([project.id])
  const bytes = async function* () {
    yield Buffer.from(turn)
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
const left = async (): Promise<(string | undefined)[]> => {
  const { cache, objects } = test.app.stored
  const bytes = await objects.get(object())
  return [await cache.get(key()), bytes && (await buffer(bytes)).toString()]
}
const cut = `assistant: ${theirWords}`
const eraseOwn = () => eraseWholeProject(test, own.path, project.owner)
const fence = () =>
  test.db.prisma.writeFence.create({
    data: { kind: 'account', id: member.accountId, runId: 'run_of_this_test', raisedAt: test.clock.now() },
  })

it('erasure removes only the erased words from an entry and an object that a remaining message also names', async () => {
  await eraseOwn()
  expect(await left()).toEqual([cut, cut])
})

it('erasure deletes the entry and the object when the author of the other message is also being erased', async () => {
  await fence()
  await eraseOwn()
  expect(await left()).toEqual([undefined, undefined])
})

it('erasure keeps the words of an author under legal hold in the entry and the object', async () => {
  await fence()
  const admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
  const body = { kind: 'account', target_id: member.accountId, reason: 'a court asked for it' }
  expect((await test.fetch('POST', '/v1/holds', { token: admin.token, body })).status).toBe(201)
  await eraseOwn()
  expect(await left()).toEqual([cut, cut])
})
