import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { plusYears } from '#lib/domains/erasure/rules.ts'
import { receiptText } from '#lib/kernel/receipt-texts.ts'
import { issuedAgent, releaseInPerson } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

const hour = 3_600_000
const statesOf = (detail: { timeline: { to: string | null }[] }) =>
  detail.timeline.map(({ to }) => to).filter((to) => to !== null)

describe('the lifecycle of each kind of request', () => {
  it('erasure: password, grace period, reminder, run, verification, receipt, last email, deleted address', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: '7d', password: person.password })
    expect([made.status, made.json.data.state, made.json.data.can_cancel]).toEqual([201, 'waiting', true])
    const { id } = made.json.data
    // Tokens stop immediately; sign-in still works.
    expect((await test.fetch('GET', '/v1/knowledge', { token: agent.token })).json.code).toBe('token_suspended')
    await kit.work()
    expect(kit.emailsTo(person.email).at(-1)?.text).toContain('/privacy/confirm#cancel.')
    test.clock.advance(6 * 24 * hour + hour)
    await kit.tick()
    expect(kit.emailsTo(person.email).at(-1)?.subject).toBe('Tomorrow your data will be deleted')
    await kit.tick()
    expect(kit.emailsTo(person.email).filter(({ subject }) => subject.startsWith('Tomorrow'))).toHaveLength(1)
    test.clock.advance(23 * hour)
    await kit.tick()
    const done = await kit.adminRead(id)
    expect([done.state, done.account_id, done.agent_id, done.filed_by, done.statement]).toEqual([
      'completed',
      null,
      null,
      null,
      null,
    ])
    expect(statesOf(done)).toEqual(['received', 'verified', 'waiting', 'running', 'verifying', 'completed'])
    expect(done.timeline.at(-1)).toMatchObject({ event: 'completed', from: 'verifying', to: 'completed', by: 'system' })
    const receipt = await test.fetch('GET', `/v1/receipts/${done.receipt_id}`)
    expect(receipt.json.deleted_id).toBe(person.accountId)
    expect(kit.emailsTo(person.email).at(-1)?.text).toContain(`/receipts/${done.receipt_id}`)
    const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    expect([row.contact, row.payload, row.accountId]).toEqual([null, null, null])
    expect((await test.fetch('GET', '/api/privacy/requests', { cookie: person.cookie })).status).toBe(401)
  })

  it('access: verified by the emailed link, prepared, ready, completed', async () => {
    const person = await personWithPassword(test)
    const made = await kit.file(person.cookie, { kinds: ['access', 'portability'] })
    expect([made.status, made.json.data.state]).toEqual([201, 'received'])
    await kit.work()
    const used = await kit.use(kit.linkTo(person.email, 'verify'), 'verify')
    expect([used.status, used.json.data]).toEqual([200, { purpose: 'verify', state: 'running' }])
    await kit.work()
    const done = await kit.read(person.cookie, made.json.data.id)
    expect(statesOf(done)).toEqual(['received', 'verified', 'running', 'completed'])
    expect(done.parts.map(({ kind, state }: { kind: string; state: string }) => [kind, state])).toEqual([
      ['access', 'done'],
      ['portability', 'done'],
    ])
    expect(kit.emailsTo(person.email).at(-1)?.subject).toBe('Your privacy request is done')
  })

  it('access with erasure: the erasure waits until the copy is fetched', async () => {
    const person = await personWithPassword(test)
    const made = await kit.file(person.cookie, {
      kinds: ['erasure', 'access'],
      grace: 'now',
      password: person.password,
    })
    expect([made.json.data.state, made.json.data.kinds]).toEqual(['waiting', ['access', 'erasure']])
    const { id } = made.json.data
    await kit.work()
    await kit.tick()
    const waiting = await kit.read(person.cookie, id)
    expect([waiting.state, waiting.parts[0].state]).toEqual(['waiting', 'done'])
    const file_ = await test.fetch('GET', `/api/privacy/exports/${waiting.parts[0].outcome.export_id}/file`, {
      cookie: person.cookie,
    })
    expect(file_.status).toBe(200)
    // The server records the end of a download slightly later than the client.
    await expect
      .poll(
        async () => {
          await kit.tick()
          return (await kit.adminRead(id)).state
        },
        { timeout: 120_000 },
      )
      .toBe('completed')
  })

  it('rectification: name immediately, address after its confirmation, statement by an admin', async () => {
    const person = await personWithPassword(test)
    const fresh = `new-${person.email}`
    const made = await kit.file(person.cookie, {
      kinds: ['rectification'],
      password: person.password,
      statement: 'My unit of last May names the wrong year.',
      changes: { name: 'Another', email: fresh, locale: 'zh' },
    })
    expect([made.status, made.json.data.state]).toEqual([201, 'running'])
    const { id } = made.json.data
    const account = async () => (await test.fetch('GET', '/api/account', { cookie: person.cookie })).json.data
    expect(await account()).toMatchObject({ name: 'Another', email: person.email, locale: 'zh' })
    await kit.work()
    expect((await kit.use(kit.linkTo(fresh, 'address'), 'address')).status).toBe(200)
    expect((await account()).email).toBe(fresh)
    const waiting = await kit.read(person.cookie, id)
    expect([waiting.state, waiting.parts[0].outcome.waits_for, waiting.statement]).toEqual([
      'running',
      'admin',
      'My unit of last May names the wrong year.',
    ])
    expect((await kit.asAdmin(id, 'complete', { kind: 'rectification', note: 'The year is 2026 now.' })).status).toBe(
      200,
    )
    const done = await kit.read(person.cookie, id)
    expect([done.state, done.statement]).toEqual(['completed', null])
    expect(done.timeline.map(({ event }: { event: string }) => event)).toEqual([
      'received',
      'verified',
      'running',
      'rectified',
      'address_asked',
      'rectified',
      'part_done',
      'completed',
    ])
  })

  it('restriction: takes effect immediately', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const made = await kit.file(person.cookie, { kinds: ['restriction'], password: person.password })
    expect([made.json.data.state, made.json.data.due]).toEqual(['completed', 'stopped'])
    expect((await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.code).toBe(
      'restricted',
    )
    expect(statesOf(await kit.read(person.cookie, made.json.data.id))).toEqual([
      'received',
      'verified',
      'running',
      'completed',
    ])
  })

  it.each([
    ['upheld', 'complete', { kind: 'objection', note: 'You are right.' }, 'completed', 'restricted'],
    [
      'refused',
      'refuse',
      { ground: 'unfounded', reason: 'The scores are about units, not about you.' },
      'rejected',
      undefined,
    ],
  ])('objection: restricted while it is weighed; %s', async (_, verb, body, state, code) => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const made = await kit.file(person.cookie, {
      kinds: ['objection'],
      password: person.password,
      statement: 'I object to being scored.',
    })
    const write = () => test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    expect([made.json.data.state, (await write()).json.code]).toEqual(['running', 'restricted'])
    expect((await kit.asAdmin(made.json.data.id, verb, body)).status).toBe(200)
    const done = await kit.read(person.cookie, made.json.data.id)
    expect([done.state, done.timeline.at(-1).event, (await write()).json.code]).toEqual([state, state, code])
    await kit.work()
    const last = kit.emailsTo(person.email).at(-1)?.text ?? ''
    if (state === 'rejected') expect(last).toMatch(/not about you[\s\S]*complaint[\s\S]*judicial remedy/)
  })

  it('erasure under a legal hold: erases other records first, held ones after the release, with one receipt', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    const units: string[] = []
    for (let n = 0; n < 2; n++)
      units.push((await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).json.data.id)
    const officer = await issuedAgent(test, ['admin'])
    const hold = await test.fetch('POST', '/v1/holds', {
      token: officer.token,
      body: { kind: 'unit', target_id: units[0], reason: 'Case 7 O 12/26' },
    })
    const made = await kit.file(person.cookie, { kinds: ['erasure'], grace: 'now', password: person.password })
    const { id } = made.json.data
    await kit.work()
    const partly = await kit.adminRead(id)
    expect([partly.state, partly.closed_at, partly.due]).toEqual(['partly_completed', null, 'stopped'])
    expect(partly.timeline.at(-1).details).toMatchObject({ holds: hold.json.data.id, held: expect.any(Number) })
    expect(kit.emailsTo(person.email).at(-1)?.subject).toContain('except for data under a legal hold')
    expect(JSON.stringify(kit.emailsTo(person.email))).not.toContain('Case 7')
    const requestUntil = async () =>
      (await test.fetch('GET', `/v1/receipts/${partly.receipt_id}`)).json.retained.find(
        ({ what }: { what: string }) => what === receiptText('retained', 'request'),
      ).until
    expect(await requestUntil()).toBeNull()
    test.clock.advance(48 * hour)
    await releaseInPerson(test, hold.json.data.id)
    await kit.work()
    const done = await kit.adminRead(id)
    expect([done.state, done.receipt_id]).toEqual(['completed', partly.receipt_id])
    expect(await requestUntil()).toBe(plusYears(new Date(done.closed_at), 3).toISOString())
    expect(statesOf(done)).toEqual([
      'received',
      'verified',
      'waiting',
      'running',
      'verifying',
      'partly_completed',
      'running',
      'verifying',
      'completed',
    ])
    expect(kit.emailsTo(person.email).at(-1)?.subject).toBe('Your privacy request is done')
    expect(await test.db.prisma.account.count({ where: { id: person.accountId } })).toBe(0)
  })

  it('cancelling a running erasure returns 409 with the counts of erased items by store', async () => {
    const person = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: person })
    for (let n = 0; n < 3; n++) await test.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })
    const { id } = (await kit.file(person.cookie, { kinds: ['erasure'], password: person.password })).json.data
    await kit.work()
    const link = kit.linkTo(person.email, 'cancel')
    test.clock.advance(24 * hour + 1)
    await kit.clockJob()
    // Executes the worker's steps up to the units.
    const { runId } = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    const work = (name: string, payload: object) =>
      test.app.jobs.find((job) => job.name === name)?.execute(test.app.pipeline, payload)
    await work('erasure.start', { runId })
    const steps = await test.db.prisma.erasureStep.findMany({
      where: { runId: runId ?? '' },
      orderBy: { position: 'asc' },
    })
    for (const { holder } of steps) {
      await work('erasure.step', { runId, holder })
      if (holder === 'knowledge.units') break
    }
    const response = await kit.use(link, 'cancel')
    expect([response.status, response.json.code, response.json.state]).toEqual([409, 'wrong_state', 'running'])
    expect(response.json.erased.postgresql).toBeGreaterThanOrEqual(3)
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
  })
})
