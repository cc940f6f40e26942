// Erasures that wait for a store; who may retry and cancel them; and erasures that a larger one makes redundant.
import { afterAll, beforeAll, beforeEach, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { unusableStore } from '#lib/kernel/store-refusal.ts'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import {
  checkpointEntryOf,
  addMessage as sayIn,
  type TestConversation,
  startConversation as talkIn,
} from '#lib/testing/conversations.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type SideEntry, sideStore, sideStoreDataSource } from '#lib/testing/side-store.ts'

let test: TestApp
let post: Mailbox
let admin: Person
const side = sideStore()
beforeAll(async () => {
  post = await mailbox()
  test = await testApp({ KP_SMTP_URL: post.url, KP_MAIL_FROM: 'KP <kp@example.org>' }, undefined, {
    moreDataSources: (db) => [sideStoreDataSource(side)(db)],
  })
  admin = await signedIn(test, 'admin')
})
afterAll(async () => {
  await test?.close()
  await post?.close()
})
beforeEach(() => {
  side.before = undefined
  side.slow = undefined
})

const minute = 60_000
const unavailable = () => new Problem('unavailable', 'the store does not answer')
type Stage = 'plan' | 'erase' | 'residue'
/** The store does not answer at this stage. */
function stop(stage: Stage): void {
  if (stage === 'plan')
    side.slow = async (asked) => {
      if (asked === 'plan') throw unavailable()
    }
  else
    side.before = (asked) => {
      if (asked === stage) throw unavailable()
    }
}
function start(): void {
  side.before = undefined
  side.slow = undefined
}
const talk = (more: Parameters<typeof talkIn>[1] = {}) => talkIn({ test, side }, more)
const first = ({ messages: [id] }: TestConversation): string => id ?? 'none'
const conversationAt = ({ project, conversation }: TestConversation) =>
  `/api/projects/${project}/conversations/${conversation}`
const at = (made: TestConversation, message = first(made)): string => `${conversationAt(made)}/messages/${message}`
const entriesOf = (message: string): number =>
  [...side.entries.values()].filter((entry: SideEntry) => entry.message === message).length
const erase = (made: TestConversation, message = first(made), by = made.owner) =>
  test.fetch('DELETE', at(made, message), by)
const view = async (auditId: string, by: Person) => (await test.fetch('GET', `/api/erasures/${auditId}`, by)).json.data
const stateOf = async (auditId: string) => (await test.app.subjectErasures.byAudit(auditId))?.state
const job = (name: string) => test.app.jobs.find((one) => one.name === name)?.execute(test.app.pipeline, {})
const alerts = () => post.letters.filter(({ subject }) => subject.startsWith('Erasures are waiting')).length
/** Seconds of system time until the queue runs the jobs of a run. */
const secondsAhead = async (runId: string): Promise<number[]> =>
  (
    await test.db.query<{ seconds: number }>(
      undefined,
      'SELECT extract(epoch FROM run_at - now())::float8 AS seconds FROM graphile_worker.jobs WHERE key LIKE $1 AND attempts < max_attempts',
      [`%:${runId}%`],
    )
  ).map(({ seconds }) => seconds)
/** An outage of 45 minutes, during which the queue retries. */
async function outage(each: () => Promise<void> = async () => {}): Promise<void> {
  for (let minutes = 0; minutes <= 45; minutes += 5) {
    await drain(test)
    await job('erasure.watch')
    await each()
    test.clock.advance(5 * minute)
  }
  await drain(test)
}

describe('an erasure whose store does not answer for 45 minutes', () => {
  it.each<[Stage, string]>([
    ['plan', 'planning'],
    ['erase', 'erasing'],
    ['residue', 'verifying'],
  ])(
    'waits at "%s", notifies each admin once, and ends without a retry when the store returns',
    async (stage, state) => {
      const made = await talk()
      const before = alerts()
      stop(stage)
      const began = test.clock.now().toISOString()
      const response = await erase(made)
      expect([response.status, response.json.success]).toEqual([202, false])
      const run = await test.app.subjectErasures.byAudit(response.json.auditId)
      await outage(async () => {
        const shown = await view(response.json.auditId, made.owner)
        expect(shown).toMatchObject({ state, success: false, waits_for: [{ store: 'side', since: began }] })
        expect(shown.steps.every((step: { state: string; attempts: number }) => step.state !== 'stuck')).toBe(true)
        if (stage === 'erase')
          expect(shown.steps).toContainEqual(
            expect.objectContaining({
              holder: 'side.entries',
              fault: 'unavailable',
              attempts: 0,
              waiting_since: began,
            }),
          )
        const ahead = await secondsAhead(run?.id ?? '')
        expect(ahead).toHaveLength(1)
        expect(Math.max(...ahead)).toBeLessThanOrEqual(30)
      })
      expect(alerts() - before).toBe(1)
      expect((await test.app.subjectErasures.open()).stuck).toBe(0)
      const email = post.letters.findLast(({ subject }) => subject.startsWith('Erasures are waiting'))
      expect(email?.text).toContain('One erasure is waiting for it')
      start()
      await drain(test)
      const shown = await view(response.json.auditId, made.owner)
      expect([shown.success, shown.fault, shown.waits_for, entriesOf(first(made))]).toEqual([true, null, [], 0])
      expect(await test.db.prisma.erasureWait.count()).toBe(0)
    },
  )

  it('waits during the second search a day later, and ends without a retry when the store returns', async () => {
    const made = await talk()
    const response = await erase(made)
    expect(response.json.success).toBe(true)
    checkpointEntryOf(side, made, first(made), made.owner)
    const before = alerts()
    test.clock.advance(25 * 60 * minute)
    stop('residue')
    await job('erasure.recheck')
    await outage()
    expect(await view(response.json.auditId, made.owner)).toMatchObject({
      waits_for: [{ store: 'side' }],
      late_found: 0,
    })
    expect(alerts() - before).toBe(1)
    start()
    await drain(test)
    expect(entriesOf(first(made))).toBe(0)
    expect(await view(response.json.auditId, made.owner)).toMatchObject({ waits_for: [], late_found: 1 })
  })

  it('does not notify admins of an outage of fourteen minutes', async () => {
    const made = await talk()
    const before = alerts()
    stop('erase')
    await erase(made)
    await drain(test)
    test.clock.advance(14 * minute)
    await job('erasure.watch')
    await drain(test)
    expect(alerts() - before).toBe(0)
    start()
    await drain(test)
  })

  it('erases the other stores meanwhile, and compliance reports the wait after 15 minutes', async () => {
    const made = await talk()
    stop('erase')
    const { auditId } = (await erase(made)).json
    await drain(test)
    const others = (await view(auditId, made.owner)).steps.filter(
      ({ holder, store }: { holder: string; store: string }) => holder !== 'side.entries' && store !== 'postgresql',
    )
    expect(others.every(({ state }: { state: string }) => state === 'done')).toBe(true)
    test.clock.advance(16 * minute)
    const { text } = await test.fetch('GET', '/api/admin/compliance', admin)
    expect(text).toMatch(/"waiting":1/)
    start()
    await drain(test)
    expect(await stateOf(auditId)).toBe('done')
  })

  it.each<Stage>(['plan', 'erase', 'residue'])(
    'sends only three of many erasures to the store at "%s", and all end when the store returns',
    async (stage) => {
      const made = await talk({ messages: 8 })
      stop(stage)
      const reported = []
      for (const message of made.messages) reported.push((await erase(made, message)).json.auditId)
      let rounds = 0
      await drain(test, { until: () => rounds++ > 0 })
      // Each erasure asked the store once when it was requested.
      expect(await test.db.prisma.erasureWait.count({ where: { tries: { gt: 1 } } })).toBe(3)
      start()
      // After the store answers one erasure, all others ask it within a minute.
      for (let turns = 0; turns < 2; turns++) {
        test.clock.advance(minute / 2)
        await drain(test)
      }
      expect(await Promise.all(reported.map(stateOf))).toEqual(reported.map(() => 'done'))
    },
  )

  it('still counts failures that are not outages, and its step is stuck after eight such failures', async () => {
    const made = await talk()
    stop('erase')
    const { auditId } = (await erase(made)).json
    await drain(test)
    side.before = (asked) => {
      if (asked === 'erase') throw new Error('the page is corrupt')
    }
    await drain(test, { mayFail: true })
    expect((await view(auditId, made.owner)).steps).toContainEqual(
      expect.objectContaining({ holder: 'side.entries', state: 'stuck', attempts: 8, fault: 'internal' }),
    )
    start()
    expect((await test.fetch('POST', `/api/erasures/${auditId}/retry`, made.owner)).status).toBe(202)
    await drain(test)
    expect(await stateOf(auditId)).toBe('done')
  })
})

describe('an erasure whose store refuses', () => {
  const refuse = (stage: Stage) => {
    const refused = () => unusableStore('access_denied', { detail: 'the store refuses' })
    if (stage === 'plan')
      side.slow = async (asked) => {
        if (asked === 'plan') throw refused()
      }
    else
      side.before = (asked) => {
        if (asked === stage) throw refused()
      }
  }
  const refusals = () => post.letters.filter(({ subject }) => subject.endsWith('rejects erasures')).length

  it.each<[Stage, string]>([
    ['plan', 'planning'],
    ['erase', 'erasing'],
    ['residue', 'verifying'],
  ])('is stuck at "%s" with the reason, notifies admins once, and ends after a retry', async (stage, state) => {
    const made = await talk()
    const before = refusals()
    // Begin with an outage: waiting must not hide the later refusal.
    stop(stage)
    const { auditId } = (await erase(made)).json
    await drain(test)
    refuse(stage)
    await drain(test, { mayFail: true })
    test.clock.advance(16 * minute)
    await job('erasure.watch')
    await job('erasure.watch')
    await drain(test, { mayFail: true })
    const shown = await view(auditId, made.owner)
    expect(shown).toMatchObject({ state, success: false, waits_for: [] })
    const fault = 'store_refuses:access_denied'
    if (stage === 'erase')
      expect(shown.steps).toContainEqual(
        expect.objectContaining({ holder: 'side.entries', state: 'stuck', attempts: 8, fault, waiting_since: null }),
      )
    else {
      expect(shown.fault).toBe(fault)
      const { json } = await test.fetch('GET', `/api/erasures?q=${auditId}`, await signedIn(test, 'auditor'))
      expect(json.data[0].causes).toEqual([{ code: 'store_refuses', store: 'side', fault: 'access_denied' }])
    }
    expect((await test.app.subjectErasures.open()).stuck).toBe(1)
    expect(refusals() - before).toBe(1)
    expect(post.letters.findLast(({ subject }) => subject.endsWith('rejects erasures'))?.text).toContain('lacks rights')
    start()
    expect((await test.fetch('POST', `/api/erasures/${auditId}/retry`, made.owner)).status).toBe(202)
    await drain(test)
    expect(await view(auditId, made.owner)).toMatchObject({ success: true, fault: null })
    expect(entriesOf(first(made))).toBe(0)
    expect(await test.db.prisma.erasureWait.count()).toBe(0)
  })
})

const statusAndCode = ({ status, json }: TestResponse) => [status, json?.code]
const post_ = (verb: 'retry' | 'cancel', auditId: string, by: object = {}) =>
  test.fetch('POST', `/api/erasures/${auditId}/${verb}`, by)
async function memberOf(made: TestConversation): Promise<Person> {
  const member = await signedIn(test, 'person', made.owner.organisationId)
  await test.db.prisma.projectMember.create({
    data: {
      projectId: made.project,
      kind: 'account',
      memberId: member.accountId,
      role: 'member',
      addedBy: `user:${made.owner.accountId}`,
      addedAt: test.clock.now(),
    },
  })
  return member
}
const say = (made: TestConversation, author: Person) => sayIn({ test, side }, made, 1, author)
const fail = () => {
  side.before = (asked) => {
    if (asked === 'erase') throw new Error('the page is corrupt')
  }
}
/** A message of a member with a stuck erasure. */
async function stuck() {
  const made = await talk()
  const author = await memberOf(made)
  const message = await say(made, author)
  fail()
  const { auditId } = (await erase(made, message, author)).json
  await drain(test, { mayFail: true })
  start()
  return { made, author, message, auditId: String(auditId) }
}
/** A message of a member with an erasure that waits before its first step. */
async function planning() {
  const made = await talk()
  const author = await memberOf(made)
  const message = await say(made, author)
  stop('plan')
  const { auditId } = (await erase(made, message, author)).json
  return { made, author, message, auditId: String(auditId) }
}

describe.each(['retry', 'cancel'] as const)('POST /api/erasures/{id}/%s', (verb) => {
  const prepared = () => (verb === 'retry' ? stuck() : planning())

  it('returns 404 to strangers, other members, other tenants and for unknown ids, and 401 without a valid token', async () => {
    const { made, auditId, message } = await prepared()
    const agent = await issuedAgent(test, ['read', 'write'], { owner: made.owner })
    await test.db.prisma.token.update({ where: { id: agent.tokenId }, data: { revokedAt: test.clock.now() } })
    const others = [
      await signedIn(test),
      await signedIn(test, 'person', made.owner.organisationId),
      await memberOf(made),
      await signedIn(test, 'manager'),
    ]
    for (const other of others) expect(statusAndCode(await post_(verb, auditId, other))).toEqual([404, 'not_found'])
    const foreign = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    expect(statusAndCode(await post_(verb, auditId, { token: foreign.token }))).toEqual([404, 'not_found'])
    expect(statusAndCode(await post_(verb, newId('audit'), made.owner))).toEqual([404, 'not_found'])
    expect((await post_(verb, auditId, { token: agent.token })).status).toBe(401)
    expect((await post_(verb, auditId)).status).toBe(401)
    expect(await test.db.prisma.message.count({ where: { id: message, erasingSince: { not: null } } })).toBe(1)
    start()
    await drain(test, { mayFail: true })
  })

  it.each(['requester', 'owner', 'manager', 'admin'] as const)(
    'accepts the %s, who cancels only own orders',
    async (who) => {
      const { made, author, auditId, message } = await prepared()
      const by =
        who === 'requester'
          ? author
          : who === 'owner'
            ? made.owner
            : who === 'manager'
              ? await signedIn(test, 'manager', made.owner.organisationId)
              : admin
      expect((await view(auditId, by))?.audit_id).toBe(auditId)
      const isRefused = verb === 'cancel' && who !== 'requester'
      expect((await post_(verb, auditId, by)).status).toBe(verb === 'retry' ? 202 : isRefused ? 403 : 200)
      if (isRefused)
        expect(await test.db.prisma.message.count({ where: { id: message, erasingSince: { not: null } } })).toBe(1)
      start()
      await drain(test)
      expect(await stateOf(auditId)).toBe(verb === 'retry' || isRefused ? 'done' : undefined)
    },
  )

  it('has one effect when it is sent twice concurrently or replayed', async () => {
    const { author, message, auditId } = await prepared()
    const other = await prepared()
    const twice = await Promise.all([post_(verb, auditId, author), post_(verb, auditId, author)])
    const statuses = twice.map(({ status }) => status).sort()
    expect(statuses).toEqual(verb === 'retry' ? [202, 409] : [200, 404])
    if (verb === 'cancel')
      expect(await test.db.prisma.message.count({ where: { id: message, erasingSince: null } })).toBe(1)
    const replayed = { ...other.author, headers: { 'Idempotency-Key': newId('key') } }
    const [one, again] = [await post_(verb, other.auditId, replayed), await post_(verb, other.auditId, replayed)]
    expect([one.status, again.status, again.json]).toEqual([verb === 'retry' ? 202 : 200, one.status, one.json])
    start()
    await drain(test)
    expect(statusAndCode(await post_(verb, auditId, author))).toEqual(
      verb === 'retry' ? [409, 'not_stuck'] : [404, 'not_found'],
    )
    const erased = await test.db.prisma.erasure.count({ where: { deletedId: { in: [message, other.message] } } })
    expect(erased).toBe(verb === 'retry' ? 2 : 0)
  })
})

describe('POST /api/erasures/{id}/retry', () => {
  it('accepts the author of a message, even when the owner requested its erasure', async () => {
    const made = await talk()
    const author = await memberOf(made)
    const message = await say(made, author)
    fail()
    const { auditId } = (await erase(made, message, made.owner)).json
    await drain(test, { mayFail: true })
    start()
    expect((await post_('retry', auditId, author)).status).toBe(202)
    await drain(test)
    expect(await stateOf(auditId)).toBe('done')
  })

  it('asks a store immediately when an erasure waits for it', async () => {
    const made = await talk()
    stop('erase')
    const { auditId } = (await erase(made)).json
    await drain(test)
    start()
    expect((await post_('retry', auditId, made.owner)).status).toBe(202)
    const run = await test.app.subjectErasures.byAudit(auditId)
    expect(Math.max(...(await secondsAhead(run?.id ?? '')))).toBeLessThanOrEqual(0)
    await drain(test)
    expect(await stateOf(auditId)).toBe('done')
  })
})

describe('POST /api/erasures/{id}/cancel', () => {
  it('makes the message readable again, keeps all data, and allows a later erasure', async () => {
    const { made, author, message, auditId } = await planning()
    expect((await test.fetch('GET', at(made, message), author)).status).toBe(404)
    expect((await post_('cancel', auditId, author)).status).toBe(200)
    start()
    await drain(test)
    expect((await test.fetch('GET', at(made, message), author)).status).toBe(200)
    expect(entriesOf(message)).toBe(1)
    expect((await test.fetch('GET', `/api/erasures/${auditId}`, author)).status).toBe(404)
    const again = await erase(made, message, author)
    expect([again.json.success, entriesOf(message)]).toEqual([true, 0])
    expect(again.json.auditId).not.toBe(auditId)
  })

  it('returns 409 and changes nothing when a step may have begun', async () => {
    const made = await talk()
    stop('erase')
    const { auditId } = (await erase(made)).json
    await drain(test)
    const refused = await post_('cancel', auditId, made.owner)
    expect(statusAndCode(refused)).toEqual([409, 'cannot_cancel'])
    expect(refused.json.detail).toMatch(/begun.*Wait until it ends/)
    expect(await stateOf(auditId)).toBe('erasing')
    start()
    await drain(test)
    expect(await stateOf(auditId)).toBe('done')
    expect(statusAndCode(await post_('cancel', auditId, made.owner))).toEqual([409, 'cannot_cancel'])
  })
})

describe('an erasure that a larger one makes redundant', () => {
  /** Checks that it has its own receipt, which reports no residue. */
  async function endsWithReceipt(auditId: string): Promise<void> {
    const run = await test.app.subjectErasures.byAudit(auditId)
    expect(run?.state).toBe('done')
    const receipt = (await test.fetch('GET', `/v1/receipts/${run?.receiptId}`)).json
    expect(receipt).toMatchObject({ deleted_id: run?.part?.id, part_kind: 'message' })
    expect(receipt.stores.map(({ residue }: { residue: number }) => residue).filter((n: number) => n > 0)).toEqual([])
  }

  it('ends when the author of its message is erased, while erasures of other authors stay stuck', async () => {
    const { made, author, message, auditId } = await stuck()
    fail()
    const other = (await erase(made, first(made), made.owner)).json.auditId
    await drain(test, { mayFail: true })
    start()
    await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: author.accountId, agents: [] },
        reason: 'user_request',
        requestedBy: `user:${author.accountId}`,
        now: test.clock.now(),
      }),
    )
    await drain(test)
    await endsWithReceipt(auditId)
    expect([entriesOf(message), await stateOf(other)]).toEqual([0, 'erasing'])
  })

  it('ends when its conversation is erased', async () => {
    const { made, message, auditId } = await stuck()
    expect((await test.fetch('DELETE', conversationAt(made), made.owner)).json.success).toBe(true)
    await drain(test)
    await endsWithReceipt(auditId)
    expect(entriesOf(message)).toBe(0)
  })
})
