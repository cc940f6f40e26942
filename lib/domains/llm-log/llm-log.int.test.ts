import { afterAll, beforeAll, describe, expect, onTestFinished, test, vi } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { locationCountsIn } from '#lib/testing/outcome.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { listExchanges, readExchange } from './contract.ts'
import { exchangeBytes, maxStoredExchanges } from './rules.ts'

const minute = 60_000
const hour = 60 * minute
const phrase = 'legal winner thank year wave sausage worth useful legal winner thank yellow'
let app: TestApp
let person: Person
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
})
afterAll(() => app?.close())

const mine = (owner: Person | null = person): Promise<Issued> =>
  issuedAgent(app, ['read', 'write'], { tier: 'enterprise', ...(owner && { owner }) })
const ask = (method: string, path: string, by: TestRequest) => app.fetch(method, path, by)
const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code]
const exchange = (content = 'What is the weather?') => ({
  model: 'model-1',
  messages: [
    { role: 'user', content },
    { role: 'assistant', content: 'Fair.' },
  ],
})
const log = (agent: Issued, body: unknown = exchange(), by: TestRequest = { token: agent.token }) =>
  ask('POST', '/v1/llm-log', { ...by, body })
const rows = (agentId: string) => app.db.prisma.llmLogEntry.count({ where: { agentId } })
const purge = async () => {
  const job = app.app.jobs.find(({ name }) => name === 'llm-log.purge-ended')
  if (!job) throw new Error('no such job')
  await job.execute(app.app.pipeline, {})
}
const measured = async () => {
  const { text } = await ask('GET', '/metrics', { token: (await issuedAgent(app, ['admin'])).token })
  return Number(/^kp_llm_log_overdue_seconds (\S+)$/m.exec(text)?.[1])
}

describe('an exchange', () => {
  test('is redacted, sealed, and readable by its agent and its owner', async () => {
    const agent = await mine()
    const response = await log(agent, exchange('Write to planted-address@example.org about the weather-marker.'))
    expect(response.status, response.text).toBe(201)
    expect(response.json.data).toMatchObject({
      redacted: { email: 1 },
      expires_at: new Date(app.clock.now().getTime() + 24 * hour).toISOString(),
    })
    const path = `/v1/llm-log/${response.json.data.id}`
    for (const by of [{ token: agent.token }, { cookie: person.cookie }]) {
      const { data } = readExchange.output.parse((await ask('GET', path, by)).json)
      expect(data.messages[0]).toEqual({ role: 'user', content: 'Write to ‹email:1› about the weather-marker.' })
      expect(data.model).toBe('model-1')
      const list = listExchanges.output.parse((await ask('GET', '/v1/llm-log', by)).json)
      expect(list.data.map(({ id }) => id)).toContain(data.id)
    }
    // Neither the redacted nor the remaining text is stored in plain text anywhere.
    expect(await locationCountsIn(app, ['planted-address', 'weather-marker'])).toEqual({})
    await app.db.prisma.llmLogEntry.deleteMany()
  })

  test('an exchange with a secret is rejected without storing or repeating it', async () => {
    const agent = await mine()
    const headers = { 'Idempotency-Key': newId('idem') }
    const wrote = vi.spyOn(process.stderr, 'write')
    onTestFinished(() => wrote.mockRestore())
    const response = await log(agent, exchange(`My words: ${phrase}.`), { token: agent.token, headers })
    expect(refusal(response)).toEqual([422, 'content_blocked'])
    expect(response.json.findings).toEqual([{ kind: 'seed_phrase', message: 0 }])
    expect(response.text).not.toContain('sausage')
    expect(JSON.stringify(wrote.mock.calls)).not.toContain('sausage')
    expect(await rows(agent.id)).toBe(0)
    expect(await locationCountsIn(app, ['sausage'])).toEqual({})
  })

  test('an exchange that is malformed is rejected', async () => {
    const agent = await mine()
    const good = exchange()
    const bad = [
      {},
      { messages: [] },
      { messages: [{ role: 'user' }] },
      { messages: [{ role: 'somebody', content: 'x' }] },
      { messages: [{ role: 'user', content: ['x'] }] },
      { messages: [{ role: 'user', content: 'x', name: 'y' }] },
      { ...good, model: 'a model with spaces' },
      { ...good, note: 'x' },
      { messages: Array.from({ length: 1_001 }, () => ({ role: 'user', content: '' })) },
    ]
    for (const body of bad)
      expect(refusal(await log(agent, body)), JSON.stringify(body).slice(0, 80)).toEqual([422, 'invalid'])
    expect(refusal(await log(agent, exchange('x '.repeat(exchangeBytes / 2))))).toEqual([413, 'too_large'])
    expect(await rows(agent.id)).toBe(0)
  })

  test('returns 404 to strangers, other tenants, admins, auditors and revoked tokens', async () => {
    const agent = await mine()
    const path = `/v1/llm-log/${(await log(agent)).json.data.id}`
    const stranger = await mine(await signedIn(app))
    const sibling = await mine()
    const others: TestRequest[] = [
      { token: stranger.token },
      { token: sibling.token },
      { token: (await issuedAgent(app, ['read', 'write', 'admin'])).token },
      { cookie: (await signedIn(app, 'admin')).cookie },
      { cookie: (await signedIn(app, 'person', person.organisationId)).cookie },
    ]
    for (const by of others) {
      expect(refusal(await ask('GET', path, by))).toEqual([404, 'not_found'])
      expect(refusal(await ask('DELETE', path, by))).toEqual([404, 'not_found'])
      expect(refusal(await ask('GET', `/v1/llm-log?agent_id=${agent.id}`, by))).toEqual([404, 'not_found'])
      expect((await ask('GET', '/v1/llm-log', by)).text).not.toContain(agent.id)
    }
    expect(refusal(await log(agent, exchange(), { cookie: person.cookie }))).toEqual([403, 'forbidden'])
    expect(refusal(await log(await issuedAgent(app, ['read'])))).toEqual([403, 'scope_too_small'])
    expect((await ask('GET', '/v1/llm-log', {})).status).toBe(401)
    await ask('DELETE', `/v1/auth/tokens/${agent.tokenId}`, { cookie: person.cookie })
    expect([(await log(agent)).status, (await ask('GET', path, { token: agent.token })).status]).toEqual([401, 401])
    expect(await rows(agent.id)).toBe(1)
    expect((await ask('DELETE', path, { cookie: person.cookie })).status).toBe(204)
    expect(await rows(agent.id)).toBe(0)
  })

  test('is logged once per Idempotency-Key, also concurrently', async () => {
    const agent = await mine()
    const headers = { 'Idempotency-Key': newId('idem') }
    const responses = await Promise.all([1, 2].map(() => log(agent, exchange(), { token: agent.token, headers })))
    expect(new Set(responses.map(({ json }) => json.data.id)).size).toBe(1)
    expect(await rows(agent.id)).toBe(1)
    const other = await log(agent, exchange('Another.'), { token: agent.token, headers })
    expect(refusal(other)).toEqual([422, 'idempotency_mismatch'])
  })

  test('is rejected beyond the limit of one agent, also concurrently', async () => {
    const agent = await mine()
    await app.db.pool.query(
      `INSERT INTO llm_log_entries (id, agent_id, sealed, created_at, expires_at)
       SELECT 'llm_' || lpad(n::text, 22, '0'), $1, '\\x00', $2::timestamptz, $2::timestamptz + interval '24 hours' FROM generate_series(1, $3) AS n`,
      [agent.id, app.clock.now(), maxStoredExchanges - 1],
    )
    const responses = await Promise.all([1, 2, 3].map(() => log(agent)))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 429, 429])
    await app.db.prisma.llmLogEntry.deleteMany({ where: { agentId: agent.id } })
  })

  test('is not logged for a paused or retired agent, and can still be deleted', async () => {
    const agent = await mine()
    const [first, second] = [(await log(agent)).json.data.id, (await log(agent)).json.data.id]
    const status = (body: object) => ask('PUT', `/v1/agents/${agent.id}/status`, { cookie: person.cookie, body })
    await status({ status: 'paused' })
    expect(refusal(await log(agent))).toEqual([403, 'paused'])
    expect((await ask('DELETE', `/v1/llm-log/${first}`, { token: agent.token })).status).toBe(204)
    await status({ status: 'dead', confirm: agent.id })
    expect(refusal(await log(agent))).toEqual([403, 'dead'])
    expect((await ask('GET', `/v1/llm-log/${second}`, { cookie: person.cookie })).status).toBe(200)
    expect((await ask('DELETE', `/v1/llm-log/${second}`, { cookie: person.cookie })).status).toBe(204)
  })

  test('is listed in pages, newest first', async () => {
    const agent = await mine()
    const made: string[] = []
    for (let n = 0; n < 5; n++) {
      made.unshift((await log(agent)).json.data.id)
      app.clock.advance(10)
    }
    const seen: string[] = []
    for (let cursor: string | null = ''; cursor !== null; ) {
      const response = await ask('GET', `/v1/llm-log?limit=2${cursor && `&cursor=${cursor}`}`, { token: agent.token })
      const shown = listExchanges.output.parse(response.json)
      expect(shown.total).toBe(5)
      seen.push(...shown.data.map(({ id }) => id))
      cursor = shown.next_cursor
    }
    expect(seen).toEqual(made)
    expect((await ask('GET', '/v1/llm-log?cursor=x', { token: agent.token })).status).toBe(422)
  })
})

describe('an exchange after 24 hours', () => {
  test('is invisible to readers immediately, and the job deletes it', async () => {
    await app.db.prisma.llmLogEntry.deleteMany()
    const agent = await mine()
    const path = `/v1/llm-log/${(await log(agent)).json.data.id}`
    app.clock.advance(24 * hour - 1)
    await purge()
    expect((await ask('GET', path, { token: agent.token })).status).toBe(200)
    app.clock.advance(1)
    for (const method of ['GET', 'DELETE'])
      expect(refusal(await ask(method, path, { token: agent.token }))).toEqual([404, 'not_found'])
    expect((await ask('GET', '/v1/llm-log', { token: agent.token })).json.total).toBe(0)
    expect(await rows(agent.id)).toBe(1)
    await purge()
    expect(await rows(agent.id)).toBe(0)
    const { rows: entries } = await app.db.pool.query<{ details: object }>(
      `SELECT details FROM audit_entries WHERE resource_id = 'ended' AND resource_type = 'llm_exchange'`,
    )
    expect(entries.map(({ details }) => details)).toEqual([{ count: 1 }])
  })

  test('raises an alarm in readiness, metrics and the log when its deletion is an hour overdue', async () => {
    await app.db.prisma.llmLogEntry.deleteMany()
    const agent = await mine()
    await log(agent)
    const attention = async () => (await ask('GET', '/ready', {})).json.attention
    const lines = vi.spyOn(process.stderr, 'write')
    onTestFinished(() => lines.mockRestore())
    const alarms = () =>
      lines.mock.calls.filter(([line]) => String(line).includes('were not deleted after 24 hours')).length
    app.clock.advance(25 * hour)
    expect([await attention(), await measured()]).toEqual([undefined, 3600])
    app.clock.advance(minute)
    expect([await attention(), await measured()]).toEqual([['llm_log'], 3660])
    expect((await ask('GET', '/ready', {})).status).toBe(200)
    await purge()
    expect(alarms()).toBe(1)
    expect([await attention(), await measured(), await rows(agent.id)]).toEqual([undefined, 0, 0])
    await purge()
    expect(alarms()).toBe(1)
  })
})
