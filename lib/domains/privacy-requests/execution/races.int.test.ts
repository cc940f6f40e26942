import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const hour = 3_600_000
const _unknownId = `preq_${'0'.repeat(22)}`
const statusAndCode = ({ status, json }: { status: number; json: { code?: string } }) => [status, json?.code]

describe('concurrent calls', () => {
  it('that file the same kinds create one request, which the others join', async () => {
    const person = await personWithPassword(kit.test)
    const responses = await Promise.all(
      Array.from({ length: 8 }, () => kit.file(person.cookie, { kinds: ['erasure', 'access'], grace: '7d' })),
    )
    expect(new Set(responses.map(({ json }) => json.data.id)).size).toBe(1)
    expect(responses.filter(({ status }) => status === 201)).toHaveLength(1)
    expect(responses.filter(({ status }) => status === 200)).toHaveLength(7)
    expect(responses.find(({ status }) => status === 200)?.json.joined).toHaveLength(2)
    const mixed = await kit.file(person.cookie, { kinds: ['erasure', 'restriction'] })
    expect([mixed.status, mixed.json.data.kinds, mixed.json.joined.length]).toEqual([201, ['restriction'], 1])
  })

  it('never store a second open erasure of a subject, because the database rejects it', async () => {
    const person = await personWithPassword(kit.test)
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'] })).json.data
    const row = await kit.test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    const { payload: _, ...copy } = row
    await expect(
      kit.test.db.prisma.privacyRequest.create({ data: { ...copy, id: `${id}2`, runId: null } }),
    ).rejects.toThrow()
  })

  it.each(Array.from({ length: 6 }, (_, n) => n))('of cancel and start have exactly one success (%i)', async (n) => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })).json.data
    kit.test.clock.advance(25 * hour)
    const cancel = () => kit.act(person.cookie, id, 'cancel')
    const [cancelled] =
      n % 2 === 0
        ? await Promise.all([cancel(), kit.clockJob()])
        : (await Promise.all([kit.clockJob(), cancel()])).reverse()
    const notified = cancelled ?? { status: 0, json: {} }
    const { state, timeline } = await kit.adminRead(id)
    const ran = timeline.some(({ to }: { to: string }) => to === 'running')
    expect([state, ran]).toEqual(notified.status === 200 ? ['cancelled', false] : ['running', true])
    expect(await kit.test.db.prisma.erasureRun.count({ where: { requestId: id } })).toBe(ran ? 1 : 0)
    if (notified.status === 200)
      expect((await kit.test.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(200)
    else expect(statusAndCode(notified)).toEqual([409, 'wrong_state'])
    await kit.work()
  })

  it('cancelling returns wrong_state after the erasure run began, and link_spent after the erasure', async () => {
    const person = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner: person })
    for (let n = 0; n < 3; n++) await kit.test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })).json.data
    await kit.work()
    const link = kit.linkTo(person.email, 'cancel')
    kit.test.clock.advance(24 * hour + 1)
    await kit.clockJob()
    const early = await kit.act(person.cookie, id, 'cancel')
    expect([...statusAndCode(early), early.json.erased]).toEqual([409, 'wrong_state', {}])
    await kit.work(['erasure.verify'])
    const late = await kit.use(link, 'cancel')
    expect(statusAndCode(late)).toEqual([410, 'link_spent'])
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
  })

  it('of the clock job remind and start each request once', async () => {
    const people = await Promise.all(Array.from({ length: 30 }, () => personWithPassword(kit.test)))
    const ids: string[] = []
    for (const person of people)
      ids.push(
        (await kit.file(person.cookie, { kinds: ['erasure'], grace: '7d', password: person.password })).json.data.id,
      )
    await kit.work()
    kit.test.clock.advance(6.5 * 24 * hour)
    await Promise.all([kit.clockJob(), kit.clockJob(), kit.clockJob()])
    const reminded = await kit.test.db.prisma.privacyRequestEvent.count({
      where: { requestId: { in: ids }, event: 'reminded' },
    })
    expect(reminded).toBe(30)
    kit.test.clock.advance(24 * hour)
    await Promise.all([kit.clockJob(), kit.clockJob()])
    expect(await kit.test.db.prisma.erasureRun.count({ where: { requestId: { in: ids } } })).toBe(30)
    const running = await kit.test.db.prisma.privacyRequestEvent.count({
      where: { requestId: { in: ids }, to: 'running' },
    })
    expect(running).toBe(30)
  })
})
