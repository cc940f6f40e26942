import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { lifeEvidence } from '#lib/domains/agents/service.ts'
import { grimoireEvidence } from '#lib/domains/grimoire/service.ts'
import { llmLogEvidence } from '#lib/domains/llm-log/jobs.ts'
import { snapshotsEvidence } from '#lib/domains/snapshots/service.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring, seemingEnvelope, seemingKeyring } from '#lib/testing/keyrings.ts'
import {
  type Issued,
  issuedAgent,
  type Person,
  passwordEntered,
  releaseInPerson,
  signedIn,
} from '#lib/testing/people.ts'

const hour = 3_600_000
const day = 24 * hour
let app: TestApp
let admin: Issued
beforeAll(async () => {
  app = await testApp()
  admin = await issuedAgent(app, ['admin', 'read', 'write'], { tier: 'enterprise' })
})
afterAll(() => app?.close())

type Agent = Pick<Issued, 'id' | 'token'>
const at = ({ id }: Agent, path: string) => `/v1/agents/${id}${path}`
/** Sends a request that must succeed. */
async function done(method: string, path: string, by: TestRequest) {
  const response = await app.fetch(method, path, by)
  expect(response.status, `${method} ${path}: ${response.text}`).toBeLessThan(300)
  return response.json
}
/** Runs every scheduled job and the jobs that they enqueue, at the current time. */
async function timetable(): Promise<void> {
  for (const job of app.app.jobs) if (job.cron !== undefined) await job.execute(app.app.pipeline, {})
  await drain(app)
}
async function born(ancestor: Agent, { cookie }: Person): Promise<Agent> {
  const body = { consent: { policy_version: noticeVersion }, ancestor: ancestor.id }
  const { data } = await done('POST', '/api/agents', { cookie, body })
  return { id: data.agent_id, token: data.api_key }
}
/** The number of stored records of an agent by kind, without empty kinds. */
async function retainedOf({ id: agentId }: Agent): Promise<Record<string, number>> {
  const where = { agentId }
  const { prisma } = app.db
  const counted = {
    documents: prisma.agentDocument.count({ where }),
    notes: prisma.chainReference.count({ where }),
    heartbeats: prisma.heartbeat.count({ where }),
    entries: prisma.grimoireEntry.count({ where }),
    keyrings: prisma.keyring.count({ where }),
    exchanges: prisma.llmLogEntry.count({ where }),
    states: prisma.stateBundle.count({ where }),
    'on demand': prisma.snapshot.count({ where: { ...where, kind: 'on_demand' } }),
    insurances: prisma.snapshot.count({ where: { ...where, kind: 'insurance', state: 'ready' } }),
    cards: prisma.performanceCard.count({ where }),
    shares: prisma.cladeShare.count({ where }),
    'sealed copies': prisma.cladeShare.count({ where: { ...where, NOT: { sealed: null } } }),
    deltas: prisma.cladeDelta.count({ where }),
  }
  const counts = await Promise.all(
    Object.entries(counted).map(async ([kind, count]) => [kind, await count] as [string, number]),
  )
  return Object.fromEntries(counts.filter(([, count]) => count > 0))
}
/** Names of the retention checks that find overdue records. */
const late = async () => {
  const checks = [lifeEvidence, grimoireEvidence, llmLogEvidence, snapshotsEvidence].flatMap((evidence) => evidence())
  const states = checks.map(async ({ ask, name }) => {
    const { state } = await ask((text, values = []) => app.db.query(`late-${name}`, text, [...values]), app.clock.now())
    return state === 'holds' ? [] : [name]
  })
  return (await Promise.all(states)).flat()
}
const lesson = (text: string) => ({ entry: { kind: 'insight', content: { claim: text }, confidence: 0.8 } })

test.each(['agent', 'account'] as const)(
  'under a legal hold on the %s no record of an agent is deleted, and all expired ones are deleted when it ends',
  async (kind) => {
    const person = await signedIn(app)
    const agent: Agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise', owner: person })
    const sibling = await born(agent, person)
    const own = (method: string, path: string, body?: object) =>
      done(method, at(agent, path), { token: agent.token, ...(body && { body }) })
    for (const one of [agent, sibling])
      await done('PUT', at(one, '/clade/sharing'), { token: one.token, body: { on: true } })
    const ring = await giveKeyring(app, agent.id)

    const target_id = kind === 'agent' ? agent.id : person.accountId
    const body = { kind, target_id, reason: 'a court asked for it' }
    const hold = (await done('POST', '/v1/holds', { token: admin.token, body })).data.id
    const refused = async (method: string, path: string, body?: object, by: TestRequest = { token: agent.token }) => {
      const response = await app.fetch(method, path, { ...by, ...(body && { body }) })
      expect([response.status, response.json?.code, response.json?.hold_id], `${method} ${path}`).toEqual([
        409,
        'held',
        hold,
      ])
      expect(response.text).not.toContain('court')
    }
    const replacing = { keyring: seemingKeyring(), revision: 1, replace: true }
    await refused('PUT', at(agent, '/keyring'), replacing, { cookie: person.cookie })

    // The agent continues to work. New records are under the hold as well.
    const playbook = { kind: 'playbook', title: 'Fixing', body: 'Wait for it.\n' }
    const document = (await own('POST', '/documents', playbook)).data.id
    await own('PUT', `/documents/${document}`, { title: 'Fixing', body: 'Wait.\n', revision: 1 })
    const reference = { chain: 'eip155:1', kind: 'address', reference: `0x${'ab'.repeat(20)}` }
    const note = (await own('POST', '/chain-references', reference)).data.id
    await own('POST', '/heartbeats', { state: 'idle', counts: { steps: 3 } })
    const valid_until = new Date(app.clock.now().getTime() + hour).toISOString()
    const ending = (await own('POST', '/grimoire', { scope: 'clade', ...lesson('soon over').entry, valid_until })).data
      .id
    const sealed = newId('ent')
    await own('POST', '/grimoire', {
      scope: 'private',
      id: sealed,
      kind: 'episode',
      envelope: seemingEnvelope(ring.key_id),
    })
    await own('PUT', '/state', { memory: [] })
    const [from, until] = ['2026-01-01T00:00:00Z', '2026-02-01T00:00:00Z']
    await own('PUT', '/card', { from, until, returns: 0.1, sharpe: 1, drawdown: 0.2 })
    const messages = [{ role: 'user', content: 'What moves the fixing?' }]
    const said = (await done('POST', '/v1/llm-log', { token: agent.token, body: { messages } })).data.id
    const share = (await own('POST', '/clade/shares', lesson('calm before the fixing'))).data.share_id
    await done('POST', at(sibling, '/clade/shares'), { token: sibling.token, body: lesson('calm after it') })
    await own('POST', '/snapshots')
    await timetable()
    const snapshots = await app.db.prisma.snapshot.findMany({ where: { agentId: agent.id }, orderBy: { kind: 'asc' } })
    const all = {
      documents: 1,
      notes: 1,
      heartbeats: 1,
      entries: 2,
      keyrings: 1,
      exchanges: 1,
      states: 1,
      'on demand': 1,
      insurances: 1,
      cards: 1,
      shares: 1,
      'sealed copies': 1,
      deltas: 1,
    }
    expect(await retainedOf(agent)).toEqual(all)

    for (const path of [
      `/documents/${document}`,
      `/chain-references/${note}`,
      `/grimoire/${ending}`,
      `/grimoire/${sealed}`,
      '/state',
      '/card',
      ...snapshots.map(({ id }) => `/snapshots/${id}`),
    ])
      await refused('DELETE', at(agent, path))
    await refused('DELETE', `/v1/llm-log/${said}`)
    expect(await retainedOf(agent)).toEqual(all)

    // A recall still reaches siblings, and the sealed copy remains.
    const deltas = async () => (await done('GET', at(sibling, '/clade/deltas'), { token: sibling.token })).data
    const got = await deltas()
    expect(got).toMatchObject([{ action: 'add', share_id: share }])
    await done('POST', at(sibling, '/clade/deltas/ack'), { token: sibling.token, body: { through: got[0].seq } })
    expect((await own('DELETE', `/clade/shares/${share}`)).data).toMatchObject({ recalled: [share], to_acknowledge: 1 })
    const called = await deltas()
    expect(called).toMatchObject([{ action: 'remove', share_id: share, payload: null }])
    await done('POST', at(sibling, '/clade/deltas/ack'), { token: sibling.token, body: { through: called[0].seq } })
    const received = await done('GET', at(sibling, '/clade/received'), { token: sibling.token })
    expect([received.data, await retainedOf(agent)]).toEqual([[], all])

    // Its owner retires it, and every retention period ends.
    const { cookie } = person
    await passwordEntered(app, person)
    await done('PUT', at(agent, '/status'), { cookie, body: { status: 'dead', confirm: agent.id } })
    expect((await app.fetch('GET', at(agent, '/card'), { cookie })).status).toBe(404)
    for (const after of [5 * hour, day, 9 * day, 40 * day]) {
      app.clock.advance(after)
      await timetable()
    }
    const { 'on demand': _copy, ...held } = all
    expect(await retainedOf(agent)).toEqual(held)
    const insurance = snapshots.find(({ kind }) => kind === 'insurance')
    const keyFile = join(app.dataDir, 'snapshot-keys', insurance?.id ?? '')
    const objects = async () => (await app.app.stored.objects.versions(insurance?.objectKey ?? '')).length
    expect([existsSync(keyFile), await objects(), await late()]).toEqual([true, 1, []])

    expect((await releaseInPerson(app, hold)).status).toBe(200)
    await timetable()
    expect(await retainedOf(agent)).toEqual({ documents: 1, notes: 1, entries: 1, keyrings: 1, states: 1 })
    expect([existsSync(keyFile), await objects()]).toEqual([false, 0])
    for (const path of [`/documents/${document}`, `/chain-references/${note}`, `/grimoire/${sealed}`, '/state'])
      await done('DELETE', at(agent, path), { cookie })
    expect(await retainedOf(agent)).toEqual({ keyrings: 1 })
  },
  120_000,
)
