import { afterAll, beforeAll, expect, it } from 'vitest'
import type { Receipt } from '#lib/kernel/receipt.ts'
import { recognizeReceiptText } from '#lib/kernel/receipt-texts.ts'
import { passwordEntered } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { dataOf, madeConversation, madeMessage, madeProject, reported } from '#lib/testing/projects.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit?.close())

type Retained = { what: string; ground: string }[]
/** The classes of retained data, with their counts. */
const classesOf = (retained: Retained): [string, number][] =>
  retained.map(({ what }) => {
    const { code, count } = recognizeReceiptText('retained', what) ?? { code: what, count: 0 }
    return [code, count]
  })

async function erased(person: Awaited<ReturnType<typeof personWithPassword>>) {
  const inventory = (await test.fetch('GET', '/api/privacy/inventory', person)).json
  const counts: Map<string, number> = new Map(
    inventory.data.map(({ holder, count }: { holder: string; count: number }) => [holder, count]),
  )
  const listed = await test.app.expectedRetention(
    { subject: { account: person.accountId }, counts, held: [] },
    test.clock.now(),
  )
  const planned: Retained = (await test.fetch('GET', '/api/privacy/plan', person)).json.data.retained
  const filed = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
  expect(filed.status, filed.text).toBe(201)
  await kit.tick()
  const receipt: Receipt = (await test.fetch('GET', `/v1/receipts/${filed.json.data.receipt_id}`)).json
  const signed: Retained = receipt.retained
  return { listed, planned, signed, receipt }
}

it('a receipt counts pseudonymized records apart from deleted ones', async () => {
  const person = await personWithPassword(test)
  const own = await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })
  expect(own.status, own.text).toBe(201)
  const { receipt } = await erased(person)
  const countsOf = (name: string) => {
    const { deleted, pseudonymized } = receipt.stores.find(({ holder }) => holder === name) ?? {}
    return { deleted, pseudonymized }
  }
  // The request for restriction and the request for erasure remain as proof, without the person.
  expect(countsOf('privacy.requests')).toEqual({ deleted: 2, pseudonymized: 2 })
  expect(await test.db.prisma.privacyRequest.count({ where: { id: own.json.data.id } })).toBe(1)
  expect(countsOf('accounts.sessions')).toEqual({ deleted: expect.any(Number), pseudonymized: undefined })
})

it('a receipt lists as retained what the inventory and the plan announced, in the same order', async () => {
  const project = await madeProject(test)
  const person = await personWithPassword(test, 'Some Body', project.owner.organisationId)
  await dataOf(test, 'POST', `${project.path}/members`, project.owner, {
    body: { kind: 'account', member_id: person.accountId, role: 'member' },
  })
  const said = await madeMessage(test, await madeConversation(test, project, {}, person), person)
  await reported(test, project, person, [
    { source_id: said.id, store: 'outside', ref: 'copy' },
    { source_id: said.id, store: 'outside', ref: 'contact', place: 'crm.example.org' },
  ])
  await test.db.prisma.account.update({ where: { id: person.accountId }, data: { role: 'admin' } })
  await passwordEntered(test, person)
  const changed = await test.fetch('PATCH', '/v1/settings', { ...person, body: { anonymous_reading: true } })
  expect(changed.status, changed.text).toBe(200)
  const { listed, planned, signed } = await erased(person)
  expect(classesOf(signed)).toEqual([
    ['adminActs', 1],
    ['outsideIn', 1],
    ['outside', 1],
    ...['request', 'sameTexts', 'hashes', 'fingerprints', 'sharedIds', 'audit', 'proof', 'id'].map((code) => [code, 1]),
  ])
  expect(classesOf(planned)).toEqual(classesOf(signed))
  const systems = ({ what }: { what: string }) => recognizeReceiptText('retained', what)?.system
  expect(planned.map(systems)).toEqual(signed.map(systems))
  expect(planned.map(systems)).toContain('crm.example.org')
  // The inventory counts pointers without naming systems.
  const isNamed = ([code]: [string, number]) => code !== 'outsideIn'
  expect(classesOf(listed)).toEqual(
    classesOf(signed)
      .filter(isNamed)
      .map(([code, count]) => [code, code === 'outside' ? 2 : count]),
  )
})

it('a receipt omits, like the inventory and the plan, what does not apply to the person', async () => {
  const { listed, planned, signed } = await erased(await personWithPassword(test))
  const codes = ['request', 'sameTexts', 'hashes', 'fingerprints', 'sharedIds', 'audit', 'proof', 'id'].map((code) => [
    code,
    1,
  ])
  expect(classesOf(signed)).toEqual(codes)
  expect(classesOf(planned)).toEqual(codes)
  expect(classesOf(listed)).toEqual(codes)
})
