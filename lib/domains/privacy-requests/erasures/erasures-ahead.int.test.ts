import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

const hour = 3_600_000
const aheadOf = (accountId: string) => test.app.requests.erasuresAhead(accountId)

describe('erasuresAhead', () => {
  it('is empty without an erasure, before its confirmation, and for other people', async () => {
    const [person, other] = [await personWithPassword(test), await personWithPassword(test)]
    expect(await aheadOf(person.accountId)).toEqual({ shown: [], total: 0 })
    await kit.file(person.cookie, { kinds: ['erasure'] })
    await kit.file(person.cookie, { kinds: ['access'], password: person.password })
    expect(await aheadOf(person.accountId)).toEqual({ shown: [], total: 0 })
    await kit.file(other.cookie, { kinds: ['erasure'], password: other.password })
    expect((await aheadOf(person.accountId)).total).toBe(0)
  })

  it('returns the grace period and a pending copy, and is empty after the cancellation', async () => {
    const person = await personWithPassword(test)
    const now = test.clock.now()
    const made = await kit.file(person.cookie, { kinds: ['access', 'erasure'], grace: '7d', password: person.password })
    const { id } = made.json.data
    expect(await aheadOf(person.accountId)).toEqual({
      total: 1,
      shown: [
        {
          requestId: id,
          agent: null,
          state: 'waiting',
          grace: { from: now.toISOString(), until: new Date(now.getTime() + 168 * hour).toISOString() },
          waitsForCopy: true,
          isMixed: true,
          areTokensStopped: true,
        },
      ],
    })
    await kit.asAdmin(id, 'pause', { reason: 'A question about it is open.' })
    expect((await aheadOf(person.accountId)).shown[0]?.state).toBe('paused')
    await kit.asAdmin(id, 'resume')
    expect((await kit.act(person.cookie, id, 'cancel')).status).toBe(200)
    expect((await aheadOf(person.accountId)).total).toBe(0)
    // The copy is prepared after the cancellation, which stays as it is.
    await kit.work()
    expect((await kit.read(person.cookie, id)).state).toBe('cancelled')
  })

  it('returns the person first, then agents by the end of their grace period, and the total', async () => {
    const person = await personWithPassword(test)
    for (const grace of ['7d', '24h', '14d', '7d'])
      await kit.file(person.cookie, {
        kinds: ['erasure'],
        grace,
        password: person.password,
        agent_id: (await issuedAgent(test, ['read'], { owner: person })).id,
      })
    await kit.file(person.cookie, { kinds: ['erasure'], grace: '14d', password: person.password })
    const { shown, total } = await aheadOf(person.accountId)
    const hours = shown.map(({ grace }) => grace && (Date.parse(grace.until) - Date.parse(grace.from)) / hour)
    expect([total, shown.map(({ agent }) => agent !== null), hours]).toEqual([5, [false, true, true], [336, 24, 168]])
  })

  it('returns state running until the erasure is done', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read'], { owner: person })
    await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password, agent_id: agent.id })
    expect((await aheadOf(person.accountId)).shown.map(({ state }) => state)).toEqual(['running'])
    await kit.work()
    expect((await aheadOf(person.accountId)).total).toBe(0)
  })

  it('returns state blocked for the last admin after the grace period', async () => {
    const other = await signedIn(test, 'admin')
    const { accountId } = kit.admin
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })
    expect((await kit.file(kit.admin.cookie, { kinds: ['erasure'], grace: '24h' })).status).toBe(201)
    await kit.work()
    expect((await kit.use(kit.linkTo(email, 'verify'), 'verify')).status).toBe(200)
    await test.db.prisma.account.update({ where: { id: other.accountId }, data: { role: 'person' } })
    test.clock.advance(25 * hour)
    await kit.tick()
    expect((await aheadOf(accountId)).shown.map(({ state }) => state)).toEqual(['blocked'])
  })
})
