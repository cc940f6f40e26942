import { afterAll, beforeAll, expect, it } from 'vitest'
import { issuedAgent, releaseInPerson } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { openTestSession, personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest({ KP_GRACE_SIGN_IN: 'stop' })
})
afterAll(() => kit.close())

it('an erasure under a hold on the person erases nothing, restores access with an email, and completes after the release', async () => {
  const { test } = kit
  const person = await personWithPassword(test)
  const agent = await issuedAgent(test, ['read'], { owner: person })
  const officer = await issuedAgent(test, ['admin'])
  const body = { kind: 'account', target_id: person.accountId, reason: 'Case 7 O 12/26' }
  const hold = (await test.fetch('POST', '/v1/holds', { token: officer.token, body })).json.data.id
  const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: '24h', password: person.password })
  const { id } = made.json.data
  const search = () => test.fetch('GET', '/v1/knowledge', { token: agent.token })
  expect((await search()).json.code).toBe('token_suspended')
  await kit.work()
  test.clock.advance(25 * 3_600_000)
  await kit.tick()

  expect((await search()).status).toBe(200)
  const cookie = await openTestSession(test, person.accountId)
  const view = await kit.read(cookie, id)
  expect([view.state, view.closed_at]).toEqual(['partly_completed', null])
  expect(view.parts[0]).toMatchObject({
    state: 'partly_done',
    outcome: { nothing_erased: true, erased: 0, holds: hold, ground: 'legal_obligation' },
  })
  expect(view.timeline.at(-1)).toMatchObject({ event: 'kept_whole', details: { nothing_erased: true, holds: hold } })
  const notified = kit.emailsTo(person.email).at(-1)
  expect(notified?.subject).toBe('Nothing was deleted: your data is under a legal hold')
  expect(notified?.text).toMatch(/could not delete anything[\s\S]*as before[\s\S]*complaint/)
  expect(JSON.stringify(kit.emailsTo(person.email))).not.toMatch(
    /is deleted,? and (?:verified|every store)|\/receipts\/|Case 7/,
  )
  expect((await kit.act(cookie, id, 'cancel')).json.code).toBe('wrong_state')
  const runs = (await test.fetch('GET', '/api/erasures', { cookie: kit.admin.cookie })).json.data
  expect(runs).toMatchObject([{ state: 'held', receipt_id: null, erased: 0 }])
  const detail = await test.fetch('GET', `/api/erasures/${runs[0].run_id}`, { cookie })
  expect(detail.json.data.receipt_id).toBeNull()

  await releaseInPerson(test, hold)
  await kit.work()
  const done = await kit.adminRead(id)
  expect([done.state, done.parts[0].outcome.nothing_erased]).toEqual(['completed', false])
  expect((await test.fetch('GET', `/v1/receipts/${done.receipt_id}`)).json.deleted_id).toBe(person.accountId)
  expect(kit.emailsTo(person.email).at(-1)?.text).toContain(`/receipts/${done.receipt_id}`)
})
