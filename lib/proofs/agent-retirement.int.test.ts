import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring, seemingEnvelope } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

const hour = 3_600_000
const day = 24 * hour
let app: TestApp
let person: Person
let dying: Issued
/** A sibling that fetches deltas, and one that never does. */
let sibling: { id: string; token: string }
let offline: { id: string; token: string }
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
  dying = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner: person })
  const born = async () => {
    const body = { consent: { policy_version: noticeVersion }, ancestor: dying.id }
    const { status, text, json } = await app.fetch('POST', '/api/agents', { cookie: person.cookie, body })
    expect(status, text).toBe(201)
    return { id: json.data.agent_id, token: json.data.api_key }
  }
  sibling = await born()
  offline = await born()
})
afterAll(() => app?.close())

type Agent = Pick<Issued, 'id' | 'token'>
const ask = (method: string, agent: Agent, path: string, by: TestRequest) =>
  app.fetch(method, `/v1/agents/${agent.id}${path}`, by)
/** Sends a request that must succeed. */
async function done(method: string, agent: Agent, path: string, body?: object) {
  const response = await ask(method, agent, path, { token: agent.token, ...(body && { body }) })
  expect(response.status, `${method} ${path}: ${response.text}`).toBeLessThan(300)
  return response.json
}
/** Runs every scheduled job and the jobs that they enqueue, at the current time. */
async function timetable(): Promise<void> {
  for (const job of app.app.jobs) if (job.cron !== undefined) await job.execute(app.app.pipeline, {})
  await drain(app)
}
/** The number of stored records of an agent by kind. */
async function retainedOf({ id: agentId }: Agent): Promise<Record<string, number>> {
  const where = { agentId }
  const { prisma } = app.db
  const counted = {
    heartbeats: prisma.heartbeat.count({ where }),
    exchanges: prisma.llmLogEntry.count({ where }),
    'on demand': prisma.snapshot.count({ where: { ...where, kind: 'on_demand' } }),
    insurances: prisma.snapshot.count({ where: { ...where, kind: 'insurance' } }),
    links: prisma.snapshotLink.count({ where }),
    cards: prisma.performanceCard.count({ where }),
    'shares that stand': prisma.cladeShare.count({ where: { ...where, NOT: { sealed: null } } }),
    'deltas that wait': prisma.cladeDelta.count({ where: { ...where, state: 'pending' } }),
    documents: prisma.agentDocument.count({ where }),
    entries: prisma.grimoireEntry.count({ where }),
    keyrings: prisma.keyring.count({ where }),
  }
  const counts = await Promise.all(
    Object.entries(counted).map(async ([kind, count]) => [kind, await count] as [string, number]),
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}
const lesson = (text: string) => ({ kind: 'insight', content: { claim: text }, confidence: 0.8 })
/** Creates a record of every kind with a retention period, and of every kind without. */
async function furnish(agent: Agent): Promise<{ share: string; snapshots: { id: string; objectKey: string }[] }> {
  const keyring = await giveKeyring(app, agent.id)
  await done('POST', agent, '/documents', { kind: 'playbook', title: 'Fixing', body: 'Wait for it.\n' })
  const sealed = { id: newId('ent'), kind: 'episode', envelope: seemingEnvelope(keyring.key_id) }
  await done('POST', agent, '/grimoire', { scope: 'private', ...sealed })
  await done('POST', agent, '/heartbeats', { state: 'idle', counts: { steps: 3 } })
  const messages = [{ role: 'user', content: 'What moves the fixing?' }]
  const logged = await app.fetch('POST', '/v1/llm-log', { token: agent.token, body: { messages } })
  expect(logged.status, logged.text).toBe(201)
  const [from, until] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z']
  await done('PUT', agent, '/card', { from, until, returns: 0.1, sharpe: 1, drawdown: 0.2 })
  const share = (await done('POST', agent, '/clade/shares', { entry: lesson(`what ${agent.id} saw`) })).data.share_id
  await done('POST', agent, '/snapshots')
  await timetable()
  const snapshots = await app.db.prisma.snapshot.findMany({ where: { agentId: agent.id }, orderBy: { kind: 'asc' } })
  expect(snapshots.map(({ kind, state }) => [kind, state])).toEqual([
    ['on_demand', 'ready'],
    ['insurance', 'ready'],
  ])
  for (const { id } of snapshots) await done('POST', agent, `/snapshots/${id}/link`)
  return { share, snapshots: snapshots.map(({ id, objectKey }) => ({ id, objectKey: objectKey ?? '' })) }
}
/** Whether the key and the object of a snapshot exist. */
const remaining = async ({ id, objectKey }: { id: string; objectKey: string }) => [
  existsSync(join(app.dataDir, 'snapshot-keys', id)),
  (await app.app.stored.objects.versions(objectKey)).length > 0,
]
const deltas = async (agent: Agent) => (await done('GET', agent, '/clade/deltas')).data

test("a retired agent's records are deleted each at its time and not earlier, and its siblings keep their own records", async () => {
  for (const agent of [dying, sibling, offline]) await done('PUT', agent, '/clade/sharing', { on: true })
  const { share, snapshots } = await furnish(dying)
  await furnish(sibling)
  const [onDemand, insurance] = snapshots
  if (!onDemand || !insurance) throw new Error('no snapshots')
  const got = (await deltas(sibling)).at(-1)
  expect(got).toMatchObject({ action: 'add', share_id: share })
  await done('POST', sibling, '/clade/deltas/ack', { through: got.seq })
  const alive = {
    heartbeats: 1,
    exchanges: 1,
    'on demand': 1,
    insurances: 1,
    links: 2,
    cards: 1,
    'shares that stand': 1,
    'deltas that wait': 1,
    documents: 1,
    entries: 1,
    keyrings: 1,
  }
  expect(await retainedOf(dying)).toEqual(alive)

  const retirement = app.clock.now().getTime()
  const body = { status: 'dead', confirm: dying.id }
  expect((await ask('PUT', dying, '/status', { cookie: person.cookie, body })).status).toBe(200)
  /** Checks the records immediately before `after` the retirement, and then at that time. */
  const reached = async (after: number, before: Record<string, number>, then: Record<string, number>) => {
    app.clock.advance(retirement + after - 1 - app.clock.now().getTime())
    await timetable()
    expect(await retainedOf(dying), `a moment before ${after / hour} hours`).toEqual(before)
    app.clock.advance(1)
    await timetable()
    expect(await retainedOf(dying), `${after / hour} hours after`).toEqual(then)
  }

  // Immediately after retirement: shares, card and tokens.
  const { cards: _cards, 'shares that stand': _shares, 'deltas that wait': _deltas, ...atOnce } = alive
  expect(await retainedOf(dying)).toEqual(atOnce)
  expect(await deltas(sibling)).toMatchObject([{ action: 'remove', share_id: share, payload: null }])
  for (const path of ['', '/grimoire', '/documents', '/snapshots', '/clade'])
    expect((await ask('GET', dying, path, { token: dying.token })).json.code, path).toBe('dead')
  const beats = async () => (await ask('GET', dying, '/heartbeats/export', { token: dying.token })).status
  expect(await beats()).toBe(200)
  // Its owner can still read its data.
  expect((await ask('GET', dying, '/grimoire', { cookie: person.cookie })).json.data).toHaveLength(1)

  const { 'on demand': _made, links: _links, ...evening } = atOnce
  expect(await remaining(onDemand)).toEqual([true, true])
  await reached(4 * hour, atOnce, evening)
  expect([await remaining(onDemand), await beats()]).toEqual([[false, false], 200])

  const { heartbeats: _beats, exchanges: _said, ...nextDay } = evening
  await reached(day, evening, nextDay)
  expect(await beats()).toBe(410)

  // Deltas of a living sibling to one that never fetches them remain for a week.
  const waits = { 'deltas that wait': 1 }
  const sendsOn = { 'shares that stand': 1, heartbeats: 1, cards: 1, documents: 1, entries: 1, keyrings: 1 }
  app.clock.advance(retirement + 7 * day - 1 - app.clock.now().getTime())
  await timetable()
  expect(await retainedOf(offline)).toEqual(waits)
  app.clock.advance(1)
  await timetable()
  expect(await retainedOf(offline)).toEqual({})

  const { insurances: _insured, ...forGood } = nextDay
  expect(await remaining(insurance)).toEqual([true, true])
  await reached(30 * day, nextDay, forGood)
  expect(await remaining(insurance)).toEqual([false, false])
  // Documents, sealed entries and their keyring remain for the owner. The sibling's own records remain.
  expect(forGood).toEqual({ documents: 1, entries: 1, keyrings: 1 })
  expect(await retainedOf(sibling)).toMatchObject(sendsOn)
  expect((await retainedOf(sibling)).insurances).toBeGreaterThan(0)
}, 600_000)
