import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent } from '#lib/testing/people.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'

let test: TestApp
/** Without a mail server, emails are stored as files. */
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

const except = ['privacy.clock']
const emails = (): string[] => {
  const folder = join(test.dataDir, 'mail')
  return readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'))
}
const emailsTo = (address: string) => emails().filter((text) => text.includes(`To: ${address}`))
const file = (person: MadePerson, body: object) =>
  test.fetch('POST', '/api/privacy/requests', {
    cookie: person.cookie,
    body: { password: person.password, ...body },
  })
const retainedIn = async (receiptId: string): Promise<string> =>
  JSON.stringify((await test.fetch('GET', `/v1/receipts/${receiptId}`)).json.retained)

it('a completed erasure keeps only its last email, which the receipt lists, and deletes emails to an unconfirmed address', async () => {
  const person = await personWithPassword(test)
  const neighbour = await personWithPassword(test)
  const fresh = `new-${person.email}`
  expect((await file(person, { kinds: ['rectification'], changes: { email: fresh } })).status).toBe(201)
  await file(neighbour, { kinds: ['restriction'] })
  await drain(test, { except })
  expect([emailsTo(fresh).length, emailsTo(person.email).length > 0]).toEqual([1, true])
  const theirs = emailsTo(neighbour.email).length
  const { id, receipt_id } = (await file(person, { kinds: ['erasure'], grace: 'now' })).json.data
  await drain(test, { except })
  const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
  expect([row.state, row.contact]).toEqual(['completed', null])
  expect(emailsTo(fresh)).toEqual([])
  const left = emailsTo(person.email)
  expect(left).toHaveLength(1)
  expect(left[0]).toContain(`/receipts/${receipt_id}`)
  expect(emailsTo(neighbour.email)).toHaveLength(theirs)
  expect(await retainedIn(receipt_id)).toContain('the last email about the erasure')
})

it('an email that is sent concurrently with the last one is deleted', async () => {
  const person = await personWithPassword(test)
  const { id, receipt_id } = (await file(person, { kinds: ['erasure'], grace: 'now' })).json.data
  await drain(test, { except: [...except, 'privacy.notify'] })
  const { rows } = await test.db.pool.query<{ payload: { requestId: string; events: string } }>(
    "SELECT payload FROM graphile_worker._private_jobs WHERE payload->>'requestId' = $1 ORDER BY id",
    [id],
  )
  const notify = test.app.jobs.find(({ name }) => name === 'privacy.notify')
  const [first, last] = [rows[0]?.payload, rows.at(-1)?.payload]
  if (!notify || !first || !last || rows.length < 2) throw new Error('no letters')
  const { send } = test.app.mail
  test.app.mail.send = async (email) => {
    test.app.mail.send = send
    await notify.execute(test.app.pipeline, last)
    await send(email)
  }
  await notify.execute(test.app.pipeline, first)
  await drain(test, { except })
  const left = emailsTo(person.email)
  expect(left).toHaveLength(1)
  expect(left[0]).toContain(`/receipts/${receipt_id}`)
})

it('the receipt of an erasure with records under legal hold lists the emails that may follow', async () => {
  const person = await personWithPassword(test)
  const agent = await issuedAgent(test, ['admin'])
  const retained = await issuedAgent(test, ['read'], { owner: person })
  const body = { kind: 'agent', target_id: retained.id, reason: 'a court asked for it' }
  expect((await test.fetch('POST', '/v1/holds', { token: agent.token, body })).status).toBe(201)
  const { id, receipt_id } = (await file(person, { kinds: ['erasure'], grace: 'now' })).json.data
  await drain(test, { except })
  expect((await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })).state).toBe('partly_completed')
  expect(await retainedIn(receipt_id)).toContain('emails about the erasure')
})
