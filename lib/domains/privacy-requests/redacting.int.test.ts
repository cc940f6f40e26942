import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

describe('redaction of a name in texts of others', () => {
  it('is stored with the request and its erasure run', async () => {
    const person = await personWithPassword(test)
    const { password } = person
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: '24h', redact: true, password })
    expect([made.status, made.json.data.redact]).toEqual([201, true])
    const { id } = made.json.data
    expect((await kit.adminRead(id)).redact).toBe(true)
    test.clock.advance(25 * 3_600_000)
    await kit.tick()
    const run = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { requestId: id } })
    expect([run.state, run.redacts]).toEqual(['done', true])
  })

  it('is off by default, and rejected for agents and other kinds', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const { password } = person
    for (const body of [
      { kinds: ['erasure'], agent_id: agent.id, redact: true, password },
      { kinds: ['access'], redact: true, password },
    ]) {
      const refused = await kit.file(person.cookie, body)
      expect([refused.status, refused.json.issues?.[0]?.path]).toEqual([422, ['redact']])
    }
    const made = await kit.file(person.cookie, { kinds: ['erasure'], password })
    expect([made.status, made.json.data.redact]).toEqual([201, false])
  })

  it('follows the choice of the caller who proves their identity, not an earlier unproven choice', async () => {
    const person = await personWithPassword(test)
    const { password } = person
    const somebody = await kit.file(person.cookie, { kinds: ['erasure'], redact: true })
    await kit.work()
    expect(kit.emailsTo(person.email).at(-1)?.text).toContain('knowledge graphs of your projects')
    expect([somebody.json.data.state, somebody.json.data.redact]).toEqual(['received', true])
    const proven = await kit.file(person.cookie, { kinds: ['erasure'], password })
    expect([proven.json.data.id, proven.json.data.state, proven.json.data.redact]).toEqual([
      somebody.json.data.id,
      'waiting',
      false,
    ])
  })
})
