import pg from 'pg'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { createOwnAgent, listOwnAgents, readOwnAgent } from './contract.ts'
import { maxFreeAgents, maxUnusedAgents, noticeVersion } from './rules.ts'

let app: TestApp
let person: Person
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
})
afterAll(() => app?.close())

const consent = { policy_version: noticeVersion }
const create = (cookie: string | undefined, body: object = { consent }, ask: TestRequest = {}) =>
  app.fetch('POST', '/api/agents', { ...(cookie !== undefined && { cookie }), body, ...ask })
async function created(cookie: string, body: object = { consent }, ask: TestRequest = {}) {
  const response = await create(cookie, body, ask)
  expect(response.status, response.text).toBe(201)
  return createOwnAgent.output.parse(response.json).data
}
const listed = async (cookie: string, query = '') =>
  listOwnAgents.output.parse((await app.fetch('GET', `/api/agents${query}`, { cookie })).json)
const read = (id: string, cookie?: string) =>
  app.fetch('GET', `/api/agents/${id}`, cookie === undefined ? {} : { cookie })
const owned = (by: Person) => app.db.prisma.agent.count({ where: { ownerId: by.accountId } })
const entriesOf = (id: string) => app.db.prisma.auditEntry.findMany({ where: { resourceId: id } })
const refusal = ({ status, json }: Awaited<ReturnType<typeof create>>) => [status, json?.code]

describe('creating an agent in the console', () => {
  test('creates an agent of the person, in their organization, with explicit consent and one active token', async () => {
    const made = await created(person.cookie, { name: 'Night shift', consent })
    expect(made).toMatchObject({
      name: 'Night shift',
      tier: 'free',
      scopes: ['read', 'write'],
      organisation_id: person.organisationId,
      is_paused: false,
    })
    const row = await app.db.prisma.agent.findUniqueOrThrow({ where: { id: made.agent_id } })
    expect(row).toMatchObject({
      ownerId: person.accountId,
      organisationId: person.organisationId,
      consentVia: 'explicit',
      noticeVersion,
      restrictedAt: null,
    })
    const contributed = await app.fetch('POST', '/v1/knowledge', { token: made.api_key, body: trace() })
    expect(contributed.status, contributed.text).toBe(201)
    // Nobody but its owner can claim it.
    const stranger = await signedIn(app)
    const claim = await app.fetch('POST', '/api/agents/claim', {
      cookie: stranger.cookie,
      body: { token: made.api_key },
    })
    expect(refusal(claim)).toEqual([409, 'conflict'])
  })

  test('returns the key once: an idempotent retry omits it and creates no second agent', async () => {
    const before = await owned(person)
    const ask = { headers: { 'Idempotency-Key': 'one-click' } }
    const body = { agent_id: 'clicked-twice', consent }
    const [first, second] = await Promise.all([create(person.cookie, body, ask), create(person.cookie, body, ask)])
    const third = await create(person.cookie, body, ask)
    expect([first.status, second.status, third.status]).toEqual([201, 201, 201])
    const keys = [first, second, third].map(({ json }) => json.data.api_key).filter((key) => key !== undefined)
    expect(keys).toHaveLength(1)
    expect(third.json.data.agent_id).toBe('clicked-twice')
    expect(await owned(person)).toBe(before + 1)
    const stored = await app.db.pool.query(
      'SELECT t::text FROM tokens t UNION ALL SELECT r::text FROM idempotency_records r UNION ALL SELECT e::text FROM audit_entries e',
    )
    expect(JSON.stringify(stored.rows)).not.toContain(keys[0].slice(11))
  })

  test('is audited with ids, without the name', async () => {
    const made = await created(person.cookie, { name: 'Tell nobody my name', consent })
    const entries = await entriesOf(made.agent_id)
    expect(entries).toMatchObject([
      { action: 'create', agentId: `user:${person.accountId}`, details: { token_id: made.token_id } },
    ])
    expect(JSON.stringify(entries)).not.toContain('Tell nobody')
    expect(JSON.stringify(entries)).not.toContain((made.api_key ?? '').slice(3))
  })

  test.each([
    ['consent', {}],
    ['policy_version', { consent: { policy_version: '1999-01-01' } }],
    ['name', { consent, name: 'x'.repeat(10_000) }],
    ['name', { consent, name: 'a\u0007b' }],
    ['agent_id', { consent, agent_id: 'usr_mine' }],
    ['agent_id', { consent, agent_id: '../etc' }],
    ['tier', { consent, tier: 'enterprise' }],
    ['scopes', { consent, scopes: ['admin'] }],
  ])('rejects an invalid %s and creates nothing', async (field, body) => {
    const before = await owned(person)
    const response = await create(person.cookie, body)
    expect(refusal(response)).toEqual([422, 'invalid'])
    expect(JSON.stringify(response.json.issues)).toContain(field)
    expect(await owned(person)).toBe(before)
  })

  test('keeps HTML and right-to-left text in a name unchanged', async () => {
    for (const name of ['<img src=x onerror=alert(1)>', 'وكيل الليل', '夜班 🌙']) {
      const made = await created(person.cookie, { name, consent })
      expect((await listed(person.cookie)).data.find(({ agent_id }) => agent_id === made.agent_id)?.name).toBe(name)
    }
  })

  test('rejects an id that any agent uses', async () => {
    const stray = await issuedAgent(app, ['read'])
    expect(refusal(await create(person.cookie, { agent_id: stray.id, consent }))).toEqual([409, 'id_in_use'])
    const others = await signedIn(app)
    const theirs = await created(others.cookie, { agent_id: 'theirs-alone', consent })
    expect(refusal(await create(person.cookie, { agent_id: theirs.agent_id, consent }))).toEqual([409, 'id_in_use'])
  })

  test('is limited to people: strangers, agents and ended sessions are rejected', async () => {
    expect((await create(undefined)).status).toBe(401)
    const agent = await issuedAgent(app, ['read', 'write', 'admin'])
    expect(refusal(await create(undefined, { consent }, { token: agent.token }))).toEqual([403, 'forbidden'])
    const deleted = await signedIn(app)
    await app.db.prisma.session.updateMany({
      where: { accountId: deleted.accountId },
      data: { revokedAt: app.clock.now() },
    })
    expect((await create(deleted.cookie)).status).toBe(401)
    expect((await read('any-agent', deleted.cookie)).status).toBe(401)
    expect(await owned(deleted)).toBe(0)
  })

  test('enforces the limit of unused agents exactly for concurrent requests', async () => {
    const eager = await signedIn(app)
    const responses = await Promise.all(Array.from({ length: maxUnusedAgents + 10 }, () => create(eager.cookie)))
    const made = responses.filter(({ status }) => status === 201)
    expect(made).toHaveLength(maxUnusedAgents)
    expect(await owned(eager)).toBe(maxUnusedAgents)
    for (const one of responses.filter(({ status }) => status !== 201)) expect(refusal(one)).toEqual([409, 'conflict'])
    // Each used agent makes room for another.
    const used = await app.fetch('GET', '/v1/auth/me', { token: made[0]?.json.data.api_key })
    expect(used.status).toBe(200)
    await expect.poll(async () => (await create(eager.cookie)).status, { timeout: 120_000, interval: 300 }).toBe(201)
  })

  test('applies a restriction of all agents, and is rejected during a pending erasure', async () => {
    const paused = await signedIn(app)
    await app.fetch('POST', '/api/privacy/restriction', { cookie: paused.cookie, body: { restricted: true } })
    const made = await created(paused.cookie)
    expect(made.is_paused).toBe(true)
    const write = await app.fetch('POST', '/v1/knowledge', { token: made.api_key, body: trace() })
    expect(refusal(write)).toEqual([403, 'restricted'])

    await app.db.prisma.account.update({
      where: { id: paused.accountId },
      data: { suspendedAt: app.clock.now() },
    })
    expect(refusal(await create(paused.cookie))).toEqual([409, 'conflict'])
    expect(await owned(paused)).toBe(1)
  })

  test('creates nothing for a person who is being erased', async () => {
    const erasing = await signedIn(app)
    await app.db.prisma.writeFence.create({
      data: { kind: 'account', id: erasing.accountId, runId: 'run_of_this_test', raisedAt: app.clock.now() },
    })
    expect([401, 409]).toContain((await create(erasing.cookie)).status)
    expect(await owned(erasing)).toBe(0)
  })

  test('is limited to admins when registration is closed', async () => {
    const closed = await testApp({ KP_REGISTRATION: 'closed' })
    try {
      const [one, admin] = [await signedIn(closed), await signedIn(closed, 'admin')]
      const asked = (cookie: string) => closed.fetch('POST', '/api/agents', { cookie, body: { consent } })
      expect(refusal(await asked(one.cookie))).toEqual([403, 'registration_closed'])
      expect((await asked(admin.cookie)).status).toBe(201)
    } finally {
      await closed.close()
    }
  })
})

describe('the agents of one account', () => {
  const claim = (cookie: string, token: string) => app.fetch('POST', '/api/agents/claim', { cookie, body: { token } })

  test('of the tier free are bounded, whether the person creates or claims them', async () => {
    const owner = await signedIn(app)
    const first = await created(owner.cookie)
    const row = await app.db.prisma.agent.findUniqueOrThrow({ where: { id: first.agent_id } })
    const more = Array.from({ length: maxFreeAgents - 1 }, (_, n) => ({
      ...row,
      id: `${row.id}-${n}`,
      firstUsedAt: app.clock.now(),
    }))
    await app.db.prisma.agent.createMany({ data: more })
    const stray = await issuedAgent(app, ['read', 'write'])
    expect(refusal(await create(owner.cookie))).toEqual([409, 'conflict'])
    expect(refusal(await claim(owner.cookie, stray.token))).toEqual([409, 'conflict'])
    expect(await owned(owner)).toBe(maxFreeAgents)
    // An admin decided about the tier of this one.
    const raised = await issuedAgent(app, ['read'], { tier: 'pro' })
    expect((await claim(owner.cookie, raised.token)).status).toBe(200)
    await app.db.prisma.agent.update({ where: { id: `${row.id}-0` }, data: { tier: 'pro' } })
    expect((await claim(owner.cookie, stray.token)).status).toBe(200)
    expect(refusal(await create(owner.cookie))).toEqual([409, 'conflict'])
  })

  test('are neither created nor claimed by an auditor, who gets no token that writes', async () => {
    const auditor = await signedIn(app, 'auditor')
    const stray = await issuedAgent(app, ['read', 'write'])
    expect(refusal(await create(auditor.cookie))).toEqual([403, 'forbidden'])
    expect(refusal(await claim(auditor.cookie, stray.token))).toEqual([403, 'forbidden'])
    expect(await owned(auditor)).toBe(0)
    // From before the role.
    const former = await issuedAgent(app, ['read', 'write'], { owner: auditor })
    const issue = (scopes: string[]) =>
      app.fetch('POST', '/v1/auth/tokens', { cookie: auditor.cookie, body: { agent_id: former.id, scopes } })
    for (const scope of ['write', 'privacy']) expect(refusal(await issue(['read', scope]))).toEqual([403, 'forbidden'])
    const reads = await issue(['read'])
    expect(reads.status).toBe(201)
    const rotate = (id: string) =>
      app.fetch('POST', `/v1/auth/tokens/${id}/rotate`, { cookie: auditor.cookie, body: { overlap: '0s' } })
    expect(refusal(await rotate(former.tokenId))).toEqual([403, 'forbidden'])
    expect((await rotate(reads.json.data.id)).status).toBe(201)
  })
})

describe('a person who creates or claims an agent while an admin changes their account', () => {
  const claimOf = async (cookie: string) => {
    const { id, token } = await issuedAgent(app, ['read'])
    return { id, ask: () => app.fetch('POST', '/api/agents/claim', { cookie, body: { token } }) }
  }
  const creationOf = async (cookie: string) => ({ id: '', ask: () => create(cookie) })
  const demotion = (id: string) => ({ method: 'PATCH', path: `/api/admin/users/${id}`, body: { role: 'person' } })
  const closure = (id: string) => ({ method: 'POST', path: `/api/admin/users/${id}/deactivate`, body: undefined })

  test.each([
    ['creation', 'demotion', creationOf, demotion],
    ['claim', 'demotion', claimOf, demotion],
    ['creation', 'closure', creationOf, closure],
    ['claim', 'closure', claimOf, closure],
  ] as const)(
    '%s and %s lock the account before the session, so that neither waits for the other',
    async (_o, _c, prepare, changeOf) => {
      const [owner, admin] = [await signedIn(app, 'admin'), await signedIn(app, 'admin')]
      const { id, ask } = await prepare(owner.cookie)
      const [blocker, observer] = [new pg.Client(app.ownerUrl), new pg.Client(app.ownerUrl)]
      await Promise.all([blocker.connect(), observer.connect()])
      try {
        // Stops the request after it locked the session.
        await blocker.query('BEGIN')
        await blocker.query("SELECT pg_advisory_xact_lock(hashtext('agents of'), hashtext($1))", [owner.accountId])
        await blocker.query('SELECT FROM agents WHERE id = $1 FOR UPDATE', [id])
        const made = ask()
        const creating = await blockedBy(blocker)
        const { method, path, body } = changeOf(owner.accountId)
        const changed = app.fetch(method, path, { cookie: admin.cookie, ...(body && { body }) })
        await blockedBy(observer, creating)
        // The change holds no lock of the account, for which the other request could wait.
        await observer.query('BEGIN')
        const locked = await observer
          .query('SELECT FROM accounts WHERE id = $1 FOR SHARE NOWAIT', [owner.accountId])
          .then(
            () => 'locked',
            () => 'held by the change',
          )
        expect(locked).toBe('locked')
        await observer.query('ROLLBACK')
        await blocker.query('COMMIT')
        expect((await made).status).toBeLessThan(300)
        expect((await changed).status).toBe(200)
      } finally {
        await Promise.all([blocker.end(), observer.end()])
      }
    },
  )
})

describe("list of a person's agents", () => {
  test('returns the contents and state of each agent', async () => {
    const owner = await signedIn(app)
    const busy = await issuedAgent(app, ['read', 'write'], { owner })
    const idle = await issuedAgent(app, ['read'], { owner })
    for (const visibility of ['private', 'network'])
      expect(
        (await app.fetch('POST', '/v1/knowledge', { token: busy.token, body: trace({}, { visibility }) })).status,
      ).toBe(201)
    await app.fetch('POST', '/api/privacy/restriction', {
      cookie: owner.cookie,
      body: { restricted: true, agent_id: idle.id },
    })
    const { data, total } = await listed(owner.cookie)
    expect(total).toBe(2)
    expect(data.find(({ agent_id }) => agent_id === busy.id)).toMatchObject({
      state: 'active',
      holds: { units: 2, skills: 0, tokens: 1 },
      token_limit: 5,
    })
    expect(data.find(({ agent_id }) => agent_id === busy.id)?.holds.reputation).toBeGreaterThan(0)
    expect(data.find(({ agent_id }) => agent_id === idle.id)).toMatchObject({
      state: 'paused',
      restricted_for: ['request'],
    })
  })

  test('returns the most serious state, and whether a restriction covers all agents', async () => {
    const owner = await signedIn(app)
    const agent = await issuedAgent(app, ['read'], { owner })
    const stateOf = async () => readOwnAgent.output.parse((await read(agent.id, owner.cookie)).json).data
    expect(await stateOf()).toMatchObject({
      state: 'active',
      is_paused_with_all: false,
      consent: { via: 'registration', withdrawn_at: null },
      notice: { version: noticeVersion },
    })
    await app.fetch('POST', '/api/privacy/restriction', { cookie: owner.cookie, body: { restricted: true } })
    expect(await stateOf()).toMatchObject({ state: 'paused', is_paused_with_all: true })
    await app.db.prisma.agent.update({ where: { id: agent.id }, data: { suspendedAt: app.clock.now() } })
    expect((await stateOf()).state).toBe('suspended')
    await app.db.prisma.writeFence.create({
      data: { kind: 'agent', id: agent.id, runId: 'run_of_this_test', raisedAt: app.clock.now() },
    })
    expect((await stateOf()).state).toBe('erasing')
  })

  test('returns 404 for agents of others, also within an organization and for admins', async () => {
    const [owner, admin] = [await signedIn(app), await signedIn(app, 'admin')]
    const colleague = await signedIn(app, 'manager', owner.organisationId)
    const agent = await issuedAgent(app, ['read'], { owner })
    for (const one of [person, colleague, admin]) expect((await read(agent.id, one.cookie)).status).toBe(404)
    expect((await read(agent.id)).status).toBe(401)
    expect((await read('a'.repeat(10_000), owner.cookie)).status).toBe(404)
    expect((await read('%00', owner.cookie)).status).toBeLessThan(500)
    expect((await listed(colleague.cookie)).total).toBe(0)
  })
})
