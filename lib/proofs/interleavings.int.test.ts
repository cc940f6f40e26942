// A property of requests, legal holds, clock, queue and erasure engine together: it must hold for every order of
// events.
import fc from 'fast-check'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { type RequestState, states, transitions } from '#lib/domains/privacy-requests/rules.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, type Person, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import { sampledRuns, sampleSeed } from '#lib/testing/sampling.ts'
import { notifiedOf, openTestSession } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'

const stories = sampledRuns('orders of requests, holds, clock and crashes', 60, 2)
const hour = 3_600_000
const jobsOfTheClock = ['privacy.clock', 'erasure.watch']

const table = new Set(transitions.map(({ from, to }) => `${from}>${to}`))

/** How many requests were observed in each state. */
const seen = new Map<RequestState, number>()

class Crash extends Error {}
let test: TestApp
let admin: Person
let decide: Issued
/** The point at which the next worker is killed. */
let crashAt: string | undefined
let points: string[]
beforeAll(async () => {
  test = await testApp({}, undefined, {
    interrupt: (point) => {
      if (point !== crashAt) return
      crashAt = undefined
      throw new Crash(point)
    },
  })
  admin = await signedIn(test, 'admin')
  decide = await issuedAgent(test, ['read', 'write', 'admin'], { tier: 'enterprise', owner: admin })
  points = [
    'start.before',
    'start.fenced',
    'start.planned',
    'start.intent',
    'start.after',
    ...test.app.dataSources.flatMap(({ name }) => ['before', 'inside', 'after'].map((when) => `step.${name}.${when}`)),
    'last-look.before',
    'verify.before',
    'verify.committed',
    'verify.signed',
    'verify.after',
  ]
})
afterAll(() => test.close())

/** A person with an agent and two units, and the expected state. */
interface World {
  person: Person
  adminCookie: string
  agent: Issued
  units: string[]
  requests: string[]
  /** Active legal holds, with the records that existed when they were set. */
  holds: Map<string, { account: boolean; agents: string[]; units: string[] }>
  /** By cancelled request: the records that existed at that time. */
  spared: Map<string, string[]>
}
async function world(): Promise<World> {
  const person = await signedIn(test)
  const agent = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner: person })
  const units: string[] = []
  for (let n = 0; n < 2; n++)
    units.push((await notifiedOf(test, 'POST', '/v1/knowledge', { token: agent.token, body: trace() })).id)
  const adminCookie = await openTestSession(test, admin.accountId)
  return { person, agent, units, adminCookie, requests: [], holds: new Map(), spared: new Map() }
}

const unitsOf = async ({ agent }: World) =>
  (await test.db.prisma.unit.findMany({ where: { agentId: agent.id }, select: { id: true } })).map(({ id }) => id)
const agentsOf = async ({ agent }: World) =>
  (await test.db.prisma.agent.findMany({ where: { id: agent.id }, select: { id: true } })).map(({ id }) => id)
const isThere = async ({ person }: World) =>
  (await test.db.prisma.account.count({ where: { id: person.accountId } })) > 0
const requestOf = (id: string) =>
  test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: { parts: true, events: true } })

/** Permitted statuses for requests at the wrong time. Any other status is a defect. */
const expected = new Set([200, 201, 202, 204, 401, 403, 404, 409, 410, 422, 429])
async function ask(method: string, path: string, more: Parameters<TestApp['fetch']>[2]) {
  const answer = await test.fetch(method, path, more)
  if (!expected.has(answer.status)) throw new Error(`${method} ${path} answered ${answer.status}: ${answer.text}`)
  return answer
}
const latest = ({ requests }: World): string => requests.at(-1) ?? 'preq_0000000000000000000000'
const asAdmin = (at: World, verb: string, body: object, id = latest(at)) =>
  ask('POST', `/api/admin/privacy/requests/${id}/${verb}`, { cookie: at.adminCookie, body })

type Step = (at: World) => Promise<unknown>
const steps: Record<string, (n: number) => Step> = {
  request: (n) => async (at) => {
    const grace = ['now', '24h', '7d', '14d'][n % 4]
    const { status, json } = await ask('POST', '/api/privacy/requests', {
      cookie: at.person.cookie,
      body: { kinds: n % 3 === 0 ? ['erasure', 'restriction'] : ['erasure'], grace },
    })
    if (status < 300 && !at.requests.includes(json.data.id)) at.requests.push(json.data.id)
  },
  verify: () => (at) => asAdmin(at, 'verify', { note: 'Seen at the counter.' }),
  cancel: () => async (at) => {
    const id = latest(at)
    const { status } = await ask('POST', `/api/privacy/requests/${id}/cancel`, { cookie: at.person.cookie })
    if (status < 300) at.spared.set(id, await unitsOf(at))
  },
  refuse: () => async (at) => {
    const id = latest(at)
    const { status } = await asAdmin(at, 'refuse', { ground: 'unfounded', reason: 'Asked for by the test.' })
    if (status < 300 && (await requestOf(id)).state === 'rejected') at.spared.set(id, await unitsOf(at))
  },
  expedite: () => (at) => asAdmin(at, 'expedite', { reason: 'It is urgent.' }),
  pause: (n) => (at) =>
    n % 2 ? asAdmin(at, 'pause', { reason: 'Who asks is not clear.' }) : asAdmin(at, 'resume', {}),
  retry: () => (at) => asAdmin(at, 'retry', {}),
  hold: (n) => async (at) => {
    const [unit = ''] = await unitsOf(at)
    const kinds = [
      { kind: 'account', target_id: at.person.accountId },
      { kind: 'agent', target_id: at.agent.id },
      { kind: 'unit', target_id: unit },
    ]
    const target = kinds[n % 3]
    const { status, json } = await ask('POST', '/v1/holds', {
      token: decide.token,
      body: { ...target, reason: 'A case.' },
    })
    if (status >= 300) return
    const covers = { account: false, agents: await agentsOf(at), units: await unitsOf(at) }
    if (target?.kind === 'unit') covers.units = covers.units.filter((id) => id === unit)
    at.holds.set(json.data.id, { ...covers, account: target?.kind === 'account' && (await isThere(at)) })
  },
  release: () => async (at) => {
    const [hold] = at.holds.keys()
    if (hold === undefined) return
    const { status } = await releaseInPerson(test, hold)
    if (status < 300) at.holds.delete(hold)
  },
  crash: (n) => async () => {
    crashAt = points[n % points.length]
  },
  tick: (n) => async () => {
    test.clock.advance(([1, 10, 25, 8 * 24, 15 * 24][n % 5] ?? 0) * hour)
    for (const job of test.app.jobs.filter(({ name }) => jobsOfTheClock.includes(name)))
      await job.execute(test.app.pipeline, {})
  },
  work: () => async () => {
    let rounds = 0
    await drain(test, { mayFail: true, until: () => rounds++ > 0 })
  },
  write: () => (at) => ask('POST', '/v1/knowledge', { token: at.agent.token, body: trace() }),
}

async function check(at: World): Promise<void> {
  const [units, agents, account] = [new Set(await unitsOf(at)), new Set(await agentsOf(at)), await isThere(at)]
  for (const [hold, held] of at.holds) {
    for (const id of held.units) expect(units.has(id), `a unit under ${hold}`).toBe(true)
    for (const id of held.agents) expect(agents.has(id), `an agent under ${hold}`).toBe(true)
    if (held.account) expect(account, `an account under ${hold}`).toBe(true)
  }
  const subject: Subject = { account: at.person.accountId, agents: [at.agent.id] }
  let receipts = 0
  let hasRun = false
  for (const id of at.requests) {
    const { state, runId, receiptId, kinds, events, closedAt } = await requestOf(id)
    expect(states).toContain(state)
    seen.set(state, (seen.get(state) ?? 0) + 1)
    let last: RequestState | null = null
    for (const { from, to } of events.sort((one, other) => (one.id < other.id ? -1 : 1))) {
      if (to === null) continue
      if (last !== null) {
        expect(from, 'a step begins where the one before ended').toBe(last)
        expect(table.has(`${last}>${to}`), `${last} > ${to}`).toBe(true)
      }
      last = to
    }
    expect(last).toBe(state)
    expect(closedAt !== null).toBe(['completed', 'cancelled', 'rejected'].includes(state))
    if (runId !== null) hasRun = true
    // The receipt id is reserved before the receipt exists. A cancelled request never gets a receipt.
    if (receiptId !== null) receipts += await test.db.prisma.erasure.count({ where: { receiptId } })
    if (at.spared.has(id)) expect([state, runId], 'after a cancel nothing runs').toEqual([state, null])
    if (state === 'completed' && kinds.includes('erasure')) {
      expect([account, agents.size, units.size]).toEqual([false, 0, 0])
      for (const dataSource of test.app.dataSources)
        expect(await dataSource.residue({ subject }, [], test.clock.now()), dataSource.name).toBe(0)
      expect(await test.db.prisma.erasure.count({ where: { receiptId: receiptId ?? '', state: 'signed' } })).toBe(1)
      expect(await test.db.prisma.writeFence.count({ where: { id: { in: [at.agent.id, at.person.accountId] } } })).toBe(
        0,
      )
    }
  }
  for (const spared of at.spared.values())
    if (!hasRun) for (const id of spared) expect(units.has(id), 'what a cancel spared').toBe(true)
  expect(
    await test.db.prisma.erasure.count({ where: { deletedId: at.person.accountId } }),
    'receipts',
  ).toBeLessThanOrEqual(1)
  expect(receipts).toBeLessThanOrEqual(1)
}

/** Releases holds and stops crashes. Every started request must then finish. */
async function conclude(at: World): Promise<void> {
  crashAt = undefined
  for (const hold of at.holds.keys()) {
    expect((await releaseInPerson(test, hold)).status).toBe(200)
    at.holds.delete(hold)
  }
  for (let n = 0; n < 3; n++) {
    for (const id of at.requests) {
      const { state, pausedAt } = await requestOf(id)
      if (pausedAt) await asAdmin(at, 'resume', {}, id)
      if (state === 'failed' || state === 'running') await asAdmin(at, 'retry', {}, id)
    }
    await steps.tick?.(4)(at)
    await drain(test, { mayFail: true })
  }
  await check(at)
  for (const id of at.requests) {
    const { state } = await requestOf(id)
    expect(['completed', 'cancelled', 'rejected'], `${id} comes to an end`).toContain(state)
  }
}

const story = fc.array(
  fc.tuple(
    // Steps that advance a request are more frequent than steps that stop it.
    fc.constantFrom('request', 'verify', 'work', 'tick', 'crash', 'hold', ...Object.keys(steps)),
    fc.nat(1_000),
  ),
  { minLength: 6, maxLength: 24 },
)
it(`no order of requests, cancels, holds, releases, retries, crashes and clocks erases a protected record or keeps an unprotected one (KP_SEED=${sampleSeed})`, async () => {
  await fc.assert(
    fc.asyncProperty(story, async (happening) => {
      const at = await world()
      try {
        for (const [name, n] of [['request', 3], ['verify', 0], ...happening] as const) {
          await steps[name]?.(n)(at)
          await check(at)
        }
        await conclude(at)
      } finally {
        crashAt = undefined
        for (const hold of at.holds.keys()) await releaseInPerson(test, hold)
      }
    }),
    { seed: sampleSeed, numRuns: stories },
  )
  console.info(`${stories} stories: ${JSON.stringify(Object.fromEntries(seen))}`)
}, 1_800_000)
