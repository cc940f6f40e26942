import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { loggedIdForm, overhearing } from '#lib/testing/overhearing.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { capturingPostHog } from '#lib/testing/posthog.ts'
import { madeSubject } from '#lib/testing/subjects.ts'
import { trace } from '#lib/testing/units.ts'
import { events, isEventName } from './capture.ts'
import { listTelemetryEvents } from './contract.ts'

const day = 86_400_000
const openTelemetry = async () => {
  const posthog = await capturingPostHog()
  const app = await testApp({ KP_POSTHOG_HOST: posthog.url, KP_POSTHOG_KEY: 'phc_test' })
  return { posthog, app }
}
/** Closes telemetry, which sends waiting events. */
const flushed = async ({ app }: { app: TestApp }) => app.app.telemetryOf.close()
const run = async (app: TestApp, name: string) => {
  const job = app.app.jobs.find((one) => one.name === name)
  if (!job) throw new Error(`no job ${name}`)
  await job.execute(app.app.pipeline, {})
}

describe('a broad walk through the product', () => {
  let setting: Awaited<ReturnType<typeof openTelemetry>>
  let secrets: string[]
  let erasedIds: string[]
  let pseudonym: string
  beforeAll(async () => {
    setting = await openTelemetry()
    const { app } = setting
    const subject = await madeSubject(app)
    const { cookie, email, password, accountId, organisationId, marker, agents, units, skills, neighbour } = subject
    for (const path of ['/v1/knowledge', '/v1/sop', '/v1/skills'])
      for (const query of [`?q=${marker}`, '']) await app.fetch('GET', path + query, { cookie })
    await app.fetch('GET', `/v1/knowledge?q=${marker}`)
    const filed = await app.fetch('POST', '/api/privacy/requests', {
      cookie,
      body: { kinds: ['access', 'portability'], password },
    })
    expect(filed.status, filed.text).toBe(201)
    const answer = await app.fetch('GET', `/v1/export/${agents[0]?.id}`, { token: agents[0]?.token ?? '' })
    pseudonym = JSON.parse(answer.text).telemetry?.[0]?.pseudonym
    const erased = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: accountId, agents: [] },
        requestedBy: `user:${accountId}`,
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    await drain(app, { mayFail: true })
    expect((await app.app.subjectErasures.run(erased.runId))?.state).toBe('done')
    await flushed(setting)
    erasedIds = [accountId, ...agents.map(({ id }) => id)]
    secrets = [
      email,
      password,
      marker,
      accountId,
      organisationId,
      erased.runId,
      erased.receiptId,
      ...agents.flatMap(({ id, token, tokenId }) => [id, token, tokenId]),
      neighbour.agent.id,
      neighbour.agent.token,
      neighbour.person.accountId,
      neighbour.skill,
      ...Object.values(neighbour.units),
      ...units,
      ...skills,
      subject.projects.own,
      subject.projects.shared,
      subject.projects.sharedConversation,
      'Somebody',
      'Stop the writers',
      'example.org',
      '127.0.0.1:',
      '$ip',
      '$set',
      'geoip_city',
      'user-agent:',
    ]
  })
  afterAll(async () => {
    await setting.app.close()
    await setting.posthog.close()
  })

  test('sends only declared events of many kinds with only their declared properties', () => {
    const own = ['$process_person_profile', '$lib', '$lib_version', '$is_server', '$geoip_disable']
    for (const { event, properties } of setting.posthog.events) {
      if (!isEventName(event)) throw new Error(`an event "${event}" was sent`)
      const said = Object.fromEntries(Object.entries(properties).filter(([name]) => !own.includes(name)))
      expect(events[event].schema.safeParse(said).success, `${event} ${JSON.stringify(said)}`).toBe(true)
      expect(properties).toMatchObject({ $process_person_profile: false, $geoip_disable: true })
    }
    const kinds = new Set(setting.posthog.events.map(({ event }) => event))
    expect([...kinds].sort()).toEqual(
      expect.arrayContaining([
        'contribution',
        'entry_written',
        'erasure_completed',
        'exchange_logged',
        'export_prepared',
        'request_filed',
        'search',
        'share_sent',
        'snapshot_made',
      ]),
    )
    expect(new Set(setting.posthog.requests.map(({ path }) => path))).toEqual(new Set(['/batch/']))
  })

  test('sends no id, name, address, text or exact time', () => {
    for (const { path, headers, text } of setting.posthog.requests) {
      // The host and the client name are not personal data.
      const { host: _, 'user-agent': agent, ...rest } = headers
      expect(agent).toMatch(/^posthog-node\/[\d.]+$/)
      const whole = `${path}\n${JSON.stringify(rest)}\n${text}`.toLowerCase()
      for (const secret of secrets) expect(whole.includes(secret.toLowerCase()), secret.slice(0, 30)).toBe(false)
      expect(whole).not.toMatch(loggedIdForm)
    }
    for (const { timestamp, distinct_id: id, uuid } of setting.posthog.events) {
      expect(timestamp).toMatch(/:00:00\.000Z$/)
      expect(id).toMatch(/^([\w-]{43}|[0-9a-f-]{36})$/)
      // Random (version 4): a version 7 id would reveal the millisecond.
      expect(uuid[14]).toBe('4')
    }
  })

  test('links events of one subject by the exported pseudonym, and does not link events without a subject', () => {
    expect(pseudonym).toMatch(/^[\w-]{43}$/)
    const own = setting.posthog.events.filter(({ distinct_id: id }) => id === pseudonym)
    expect(own.length).toBeGreaterThan(1)
    const ofNobody = setting.posthog.events.filter(({ event }) => event === 'erasure_completed')
    expect(ofNobody.length).toBeGreaterThan(0)
    expect(new Set(ofNobody.map(({ distinct_id: id }) => id)).size).toBe(ofNobody.length)
  })

  test('leaves no key of an erased subject', async () => {
    const rows = await setting.app.db.prisma.telemetryKey.findMany({ select: { id: true } })
    expect(rows.length).toBeGreaterThan(0)
    for (const { id } of rows) expect(erasedIds).not.toContain(id)
  })
})

describe('a pseudonym', () => {
  let setting: Awaited<ReturnType<typeof openTelemetry>>
  beforeAll(async () => {
    setting = await openTelemetry()
  })
  afterAll(async () => {
    await setting.app.close()
    await setting.posthog.close()
  })
  const keys = () => setting.app.db.prisma.telemetryKey.findMany()
  const settled = () => setting.app.app.telemetryOf.settled()

  test('changes after 30 days, and its key is destroyed', async () => {
    const { app } = setting
    const agent = await issuedAgent(app, ['read', 'write'])
    const search = () => app.fetch('GET', '/v1/knowledge', { token: agent.token })
    await Promise.all([search(), search(), search()])
    await settled()
    const [first, ...others] = await keys()
    expect([first?.id, others]).toEqual([agent.id, []])
    app.clock.advance(30 * day - 1)
    await run(app, 'telemetry.destroy-keys')
    await search()
    await settled()
    expect(await keys()).toEqual([first])
    app.clock.advance(1)
    await search()
    await settled()
    const [second] = await keys()
    expect(second?.sealed).not.toEqual(first?.sealed)
    app.clock.advance(30 * day)
    await run(app, 'telemetry.destroy-keys')
    expect(await keys()).toEqual([])
  })

  test('is not created, and nothing is sent, when the subject or its owner is restricted or has objected', async () => {
    const { app } = setting
    const person = await signedIn(app)
    const agent = await issuedAgent(app, ['read', 'write'], { owner: person })
    const withheld = () => app.app.telemetryOf.dropped().find(({ reason }) => reason === 'withheld')?.count
    const before = withheld() ?? 0
    await app.db.transaction((tx) =>
      app.app.agents.restrict(tx, { account: person.accountId, agents: [] }, 'objection', app.clock.now()),
    )
    await app.fetch('GET', '/v1/knowledge', { token: agent.token })
    await app.fetch('GET', '/v1/knowledge', { cookie: person.cookie })
    await settled()
    expect([await keys(), (withheld() ?? 0) - before]).toEqual([[], 2])
  })

  test('is destroyed when its person turns telemetry off, and nothing is sent about them and their agents until they turn it on', async () => {
    const { app } = setting
    const person = await signedIn(app)
    const other = await signedIn(app)
    const agent = await issuedAgent(app, ['read', 'write'], { owner: person })
    const withheld = () => app.app.telemetryOf.dropped().find(({ reason }) => reason === 'withheld')?.count ?? 0
    const choose = async (enabled: boolean) => {
      const { json } = await app.fetch('PUT', '/api/privacy/telemetry', { cookie: person.cookie, body: { enabled } })
      expect(json).toEqual({ data: { enabled } })
      expect((await app.fetch('GET', '/api/account', { cookie: person.cookie })).json.data.telemetry).toBe(enabled)
      await drain(app)
    }
    const search = async () => {
      await app.fetch('GET', '/v1/knowledge', { token: agent.token })
      for (const { cookie } of [person, other]) await app.fetch('GET', '/v1/knowledge', { cookie })
      await settled()
      return (await keys())
        .map(({ id }) => id)
        .filter((id) => [person.accountId, agent.id, other.accountId].includes(id))
        .toSorted()
    }
    const all = [person.accountId, agent.id, other.accountId].toSorted()
    expect(await search()).toEqual(all)
    await choose(false)
    await choose(false)
    const before = withheld()
    expect([await search(), withheld() - before]).toEqual([[other.accountId], 2])
    await choose(true)
    expect(await search()).toEqual(all)
    expect(
      (await app.fetch('PUT', '/api/privacy/telemetry', { token: agent.token, body: { enabled: false } })).status,
    ).toBe(403)
  })

  test('is not created for a rejected request, nor twice for a repeated one', async () => {
    const { app, posthog } = setting
    const agent = await issuedAgent(app, ['read', 'write'])
    const count = posthog.events.length
    await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: { nonsense: 1 } })
    await settled()
    expect(await app.db.prisma.telemetryKey.count({ where: { id: agent.id } })).toBe(0)
    const headers = { 'Idempotency-Key': 'one' }
    const body = trace()
    for (let n = 0; n < 3; n++)
      expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body, headers })).status).toBe(201)
    await flushed(setting)
    expect(posthog.events.slice(count).filter(({ event }) => event === 'contribution')).toHaveLength(1)
  })
})

describe('an unreachable PostHog', () => {
  test('does not affect requests', async () => {
    const deleted = await capturingPostHog()
    await deleted.close()
    const app = await testApp({ KP_POSTHOG_HOST: deleted.url, KP_POSTHOG_KEY: 'phc_test' })
    const [said, wrote] = [vi.spyOn(console, 'error'), vi.spyOn(process.stderr, 'write')]
    onTestFinished(() => {
      for (const spy of [said, wrote]) spy.mockRestore()
    })
    const { token } = await app.agent()
    expect((await app.fetch('POST', '/v1/knowledge', { token, body: trace() })).status).toBe(201)
    await app.app.telemetryOf.close()
    expect([said.mock.calls, wrote.mock.calls]).toEqual([[], []])
    const { text } = await app.fetch('GET', '/metrics', await issuedAgent(app, ['admin']))
    expect(text).toMatch(/^kp_telemetry_dropped\{reason="undelivered"\} 1$/m)
    await app.close()
  })
})

describe('GET /v1/telemetry/events', () => {
  test('returns to everyone the events, whether telemetry is on, and the destination', async () => {
    const off = await testApp()
    const view = listTelemetryEvents.output.parse((await off.fetch('GET', '/v1/telemetry/events')).json).data
    expect([view.on, view.to, view.key_days]).toEqual([false, null, 30])
    expect(view.events.map(({ name }) => name).sort()).toEqual(Object.keys(events).sort())
    // Telemetry is off: no subject is looked up and no key is created.
    const { token } = await off.agent()
    await off.fetch('GET', '/v1/knowledge', { token })
    expect(await off.db.prisma.telemetryKey.count()).toBe(0)
    await off.close()
    const on = await testApp({ KP_POSTHOG_HOST: 'https://eu.i.posthog.com', KP_POSTHOG_KEY: 'phc_test' })
    expect((await on.fetch('GET', '/v1/telemetry/events')).json.data).toMatchObject({
      on: true,
      to: { host: 'eu.i.posthog.com', region: 'eu' },
    })
    await on.close()
  })
})

describe('the test application', () => {
  test('records its events, and fails its suite for an undeclared event', async () => {
    const app = await testApp()
    const { token } = await app.agent()
    await app.fetch('GET', '/v1/knowledge?q=anything', { token })
    expect(await app.heard()).toEqual([
      { event: 'search', properties: { of: 'units', mode: 'words', has_results: false } },
    ])
    await app.close()
    const heard = overhearing(() => new Date())
    heard.offer('search', { of: 'units', mode: 'words', has_results: false, q: 'ada@example.org' }, null)
    await expect(heard.check()).rejects.toThrow('1 were dropped: invalid')
    const other = overhearing(() => new Date())
    other.offer('page_seen', {}, null)
    await expect(other.check()).rejects.toThrow('1 were dropped: undeclared')
  })
})
