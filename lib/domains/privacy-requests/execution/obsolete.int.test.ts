import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { issuedAgent, releaseInPerson } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

const day = 86_400_000
const statusAndCode = ({ status, json }: { status: number; json: { code?: string } }) => [status, json?.code]
const rowOf = (id: string) =>
  test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: { parts: true, events: true } })
const requested = async (person: MadePerson, body: object): Promise<string> => {
  const { status, json, text } = await kit.file(person.cookie, { password: person.password, ...body })
  if (status !== 201) throw new Error(text)
  return json.data.id
}
/** Erases without a request, like a replay of the ledger. */
async function erasedWithoutRequest(person: MadePerson, agents: string[]): Promise<void> {
  const run = await test.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: person.accountId, agents },
      requestedBy: 'system:admin.replay',
      reason: 'replay',
      now: test.clock.now(),
    }),
  )
  expect(await test.app.subjectErasures.complete(run.runId)).toBe('done')
}

describe('requests of a subject whom another erasure deletes', () => {
  it('are closed by that erasure, and the clock job does not start them again', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read'], { owner: person })
    const waiting = await requested(person, { kinds: ['erasure'], grace: '14d' })
    const objection = await requested(person, { kinds: ['objection'], statement: 'I object.' })
    const failed = await requested(person, { kinds: ['access'] })
    await test.db.prisma.privacyRequestPart.updateMany({ where: { requestId: failed }, data: { state: 'failed' } })
    await test.db.prisma.privacyRequest.update({ where: { id: failed }, data: { state: 'failed' } })
    const received = (await kit.file(person.cookie, { kinds: ['restriction'] })).json.data.id
    await kit.work()
    await erasedWithoutRequest(person, [agent.id])

    const states = []
    for (const id of [waiting, objection, failed, received]) {
      const row = await rowOf(id)
      expect([row.accountId, row.contact, row.payload, row.closedAt]).toEqual([null, null, null, test.clock.now()])
      expect(row.events.filter(({ note }) => note !== null)).toEqual([])
      states.push([row.state, row.parts[0]?.state])
    }
    expect(states).toEqual([
      ['cancelled', 'cancelled'],
      ['completed', 'done'],
      ['completed', 'done'],
      ['cancelled', 'cancelled'],
    ])
    const entries = await test.db.prisma.auditEntry.findMany({ where: { resourceId: waiting } })
    expect(entries.map(({ agentId }) => agentId)).toContain('system:erasure')

    test.clock.advance(15 * day)
    await kit.tick()
    expect(await test.db.prisma.erasureRun.count({ where: { requestId: waiting } })).toBe(0)
    expect(await test.db.prisma.erasure.count({ where: { deletedId: 'nobody' } })).toBe(0)
  })

  it('are closed by the clock job when their subject no longer exists, without an erasure', async () => {
    const person = await personWithPassword(test)
    const id = await requested(person, { kinds: ['erasure'], grace: '24h' })
    await test.db.prisma.privacyRequest.update({ where: { id }, data: { accountId: null } })
    test.clock.advance(day + 1)
    await kit.tick()
    const row = await rowOf(id)
    expect([row.state, row.runId, row.closedAt]).toEqual(['cancelled', null, test.clock.now()])
    expect(await test.db.prisma.erasure.count({ where: { deletedId: 'nobody' } })).toBe(0)
  })

  it('do not block the erasure when one of them failed', async () => {
    const person = await personWithPassword(test)
    const failed = await requested(person, { kinds: ['access'] })
    await test.db.prisma.privacyRequestPart.updateMany({ where: { requestId: failed }, data: { state: 'failed' } })
    await test.db.prisma.privacyRequest.update({ where: { id: failed }, data: { state: 'failed' } })
    const id = await requested(person, { kinds: ['erasure'], grace: 'now' })
    await kit.work()
    expect([(await rowOf(id)).state, (await rowOf(failed)).state]).toEqual(['completed', 'completed'])
  })
})

describe("cancelling a person's erasure", () => {
  it.each([
    ['before its fence', ['erasure.start']],
    ['behind its fence', ['erasure.step']],
  ])('leaves the tokens of an agent suspended while the agent’s own erasure runs, %s', async (_, until) => {
    const person = await personWithPassword(test)
    const erasing = await issuedAgent(test, ['read'], { owner: person })
    const staying = await issuedAgent(test, ['read'], { owner: person })
    const erasure = await requested(person, { kinds: ['erasure'], grace: 'now', agent_id: erasing.id })
    test.clock.advance(day + 1)
    await kit.clockJob()
    await kit.work(until)
    expect((await rowOf(erasure)).state).toBe('running')
    const id = await requested(person, { kinds: ['erasure'], grace: '14d' })
    const me = async (token: string) => (await test.fetch('GET', '/v1/auth/me', { token })).status
    expect(await me(erasing.token)).toBe(401)
    expect((await kit.act(person.cookie, id, 'cancel')).status).toBe(200)
    expect([await me(erasing.token), await me(staying.token)]).toEqual([401, 200])
    const agent = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: erasing.id } })
    expect(agent.suspendedAt).not.toBeNull()
    await kit.work()
    expect((await rowOf(erasure)).state).toBe('completed')
  })
})

describe('an erasure that a legal hold keeps open', () => {
  it('retains only its own address, lists it on the receipt, and accepts no comments', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const unit = (await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.data.id
    const officer = await issuedAgent(test, ['admin'])
    const hold = await test.fetch('POST', '/v1/holds', {
      token: officer.token,
      body: { kind: 'unit', target_id: unit, reason: 'Case 1' },
    })
    const other = await requested(person, { kinds: ['restriction'] })
    const id = await requested(person, { kinds: ['erasure'], grace: 'now' })
    await kit.work()
    const held = await rowOf(id)
    expect([held.state, held.accountId, held.contact !== null]).toEqual(['partly_completed', null, true])
    const retained = async (): Promise<{ what: string }[]> =>
      (await test.fetch('GET', `/v1/receipts/${held.receiptId}`)).json.retained
    const named = (lines: { what: string }[]) => lines.filter(({ what }) => what.startsWith('the email address for'))
    expect(named(await retained())).toHaveLength(1)

    const note = { note: 'They called again.' }
    expect(statusAndCode(await kit.asAdmin(id, 'comment', note))).toEqual([409, 'wrong_state'])
    expect((await kit.asAdmin(id, 'assign', { account_id: kit.admin.accountId })).status).toBe(200)

    // Simulates an address that an old version, or an unsent email, left.
    await test.db.prisma.privacyRequest.update({ where: { id: other }, data: { contact: held.contact } })
    await releaseInPerson(test, hold.json.data.id)
    await kit.work()
    expect([(await rowOf(id)).state, (await rowOf(id)).contact, (await rowOf(other)).contact]).toEqual([
      'completed',
      null,
      null,
    ])
    expect(named(await retained())).toEqual([])

    expect(statusAndCode(await kit.asAdmin(id, 'comment', note))).toEqual([409, 'wrong_state'])
    const assigned = await kit.asAdmin(other, 'assign', { account_id: kit.admin.accountId })
    expect(statusAndCode(assigned)).toEqual([409, 'wrong_state'])
    expect(await test.db.prisma.privacyRequestEvent.count({ where: { note: note.note } })).toBe(0)
  })
})
