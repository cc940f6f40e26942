import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
let crashAt: string | undefined
beforeAll(async () => {
  test = await testApp({}, undefined, {
    interrupt(point) {
      if (point !== crashAt) return
      crashAt = undefined
      throw new Error(point)
    },
  })
})
afterAll(() => test?.close())
beforeEach(() => {
  crashAt = undefined
})

async function somebody() {
  const person = await signedIn(test)
  const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
  const write = () => test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
  const read = () => test.fetch('GET', '/api/privacy/requests', { cookie: person.cookie })
  const unit: string = (await write()).json.data.id
  return { person, agent, unit, write, read }
}
async function hold(kind: string, target_id: string, expires_at?: string) {
  const { token } = await issuedAgent(test, ['admin'])
  const body = { kind, target_id, reason: 'a court asked for it', expires_at }
  const { id } = (await test.fetch('POST', '/v1/holds', { token, body })).json.data
  return { id, release: () => releaseInPerson(test, id) }
}
const begin = (subject: Subject) =>
  test.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject,
      requestedBy: 'user:somebody',
      reason: 'user_request',
      now: test.clock.now(),
    }),
  )
const stateOf = async (runId: string) => (await test.app.subjectErasures.run(runId))?.state
const receipt = async (id: string) => (await test.fetch('GET', `/v1/receipts/${id}`)).status
async function expectUntouched(
  { write, read }: Awaited<ReturnType<typeof somebody>>,
  runId: string,
  receiptId: string,
) {
  expect([await stateOf(runId), (await write()).status, (await read()).status]).toEqual(['held', 201, 200])
  expect(await receipt(receiptId)).toBe(404)
  expect([
    await test.db.prisma.writeFence.count({ where: { runId } }),
    await test.db.prisma.suppression.count({ where: { runId } }),
    await test.db.prisma.erasure.count({ where: { receiptId } }),
  ]).toEqual([0, 0, 0])
  const committed = (await Array.fromAsync(test.app.ledger.read())).filter(
    ({ id, kind }) => id === receiptId && kind === 'commit',
  )
  expect(committed).toEqual([])
}
async function expectErased({ person, agent, unit }: Awaited<ReturnType<typeof somebody>>, receiptId: string) {
  expect([
    await test.db.prisma.account.count({ where: { id: person.accountId } }),
    await test.db.prisma.agent.count({ where: { id: agent.id } }),
    await test.db.prisma.unit.count({ where: { id: unit } }),
    await receipt(receiptId),
  ]).toEqual([0, 0, 0, 200])
}

it('an erasure changes nothing while a hold covers the person, and runs when the hold ends', async () => {
  const known = await somebody()
  const { id, release } = await hold('account', known.person.accountId)
  const { runId, receiptId } = await begin({ account: known.person.accountId, agents: [] })
  await drain(test)
  await expectUntouched(known, runId, receiptId)
  const { steps = [], agents } = (await test.app.subjectErasures.run(runId)) ?? {}
  expect(agents).toEqual([])
  expect(steps.find(({ holder }) => holder === 'agents')).toMatchObject({
    planned: 0,
    erased: 0,
    held: [{ hold: id, count: 1 }],
  })
  // An agent that is created meanwhile is also under the hold, and is erased with the others later.
  const later = await issuedAgent(test, ['read', 'write'], { owner: known.person })
  await test.app.subjectErasures.watch()
  const other = await hold('agent', later.id)
  await drain(test)
  await expectUntouched(known, runId, receiptId)
  await other.release()
  await release()
  await drain(test)
  expect(await stateOf(runId)).toBe('done')
  await expectErased(known, receiptId)
  expect(await test.db.prisma.agent.count({ where: { id: later.id } })).toBe(0)
})

it('an erasure of a single agent changes nothing while a hold covers the agent, and runs when the hold ends', async () => {
  const known = await somebody()
  const { release } = await hold('agent', known.agent.id)
  const { runId, receiptId } = await begin({ account: null, agents: [known.agent.id] })
  await drain(test)
  await expectUntouched(known, runId, receiptId)
  await release()
  await drain(test)
  expect([await stateOf(runId), (await known.write()).status, await receipt(receiptId)]).toEqual(['done', 401, 200])
})

it.each(['start.fenced', 'start.planned', 'start.intent', 'start.after'])(
  'the fence is dropped when a hold on the person is set after %s',
  async (point) => {
    const known = await somebody()
    const { runId, receiptId } = await begin({ account: known.person.accountId, agents: [] })
    crashAt = point
    await expect(test.app.subjectErasures.start(runId)).rejects.toThrow(point)
    expect(await test.db.prisma.writeFence.count({ where: { runId } })).toBeGreaterThan(0)
    const { release } = await hold('account', known.person.accountId)
    await drain(test)
    // Sessions that the fence ended stay revoked; the test revives one.
    await test.db.prisma.session.updateMany({ where: { accountId: known.person.accountId }, data: { revokedAt: null } })
    await expectUntouched(known, runId, receiptId)
    await release()
    await drain(test)
    expect(await stateOf(runId)).toBe('done')
    await expectErased(known, receiptId)
  },
)

it('lowering a fence keeps agents fenced that another erasure has fenced', async () => {
  const known = await somebody()
  const agents = [known.agent.id]
  const { release } = await hold('unit', known.unit)
  const first = await begin({ account: null, agents })
  await drain(test)
  expect(await stateOf(first.runId)).toBe('held')
  const second = await begin({ account: known.person.accountId, agents: [] })
  await test.app.subjectErasures.start(second.runId)
  const { release: free } = await hold('account', known.person.accountId)
  await drain(test)
  expect([await stateOf(second.runId), (await known.write()).status]).toEqual(['held', 401])
  expect(await test.db.prisma.writeFence.findMany({ where: { kind: 'agent', id: known.agent.id } })).toMatchObject([
    { runId: first.runId },
  ])
  expect(await test.db.prisma.writeFence.count({ where: { kind: 'account', id: known.person.accountId } })).toBe(0)
  await release()
  await free()
  await drain(test)
  expect([await stateOf(first.runId), await stateOf(second.runId)]).toEqual(['done', 'done'])
})

it('an erasure runs when its hold expires', async () => {
  const known = await somebody()
  const until = new Date(test.clock.now().getTime() + 3_600_000).toISOString()
  await hold('account', known.person.accountId, until)
  const { runId, receiptId } = await begin({ account: known.person.accountId, agents: [] })
  await drain(test)
  await expectUntouched(known, runId, receiptId)
  test.clock.advance(3_600_000)
  await test.app.subjectErasures.watch()
  await drain(test)
  await expectErased(known, receiptId)
})
