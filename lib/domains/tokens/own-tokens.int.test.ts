import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'
import { listTokens } from './contract.ts'
import { refusalRetention, tokenStates } from './rules.ts'

const hour = 3_600_000
let app: TestApp
let person: Person
let agent: Issued
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
  agent = await issuedAgent(app, ['read', 'write'], { tier: 'pro', owner: person })
})
afterAll(() => app?.close())

const list = async (query = '', cookie = person.cookie) => {
  const response = await app.fetch('GET', `/v1/auth/tokens${query}`, { cookie })
  expect(response.status, response.text).toBe(200)
  return listTokens.output.parse(response.json)
}
async function create(body: object): Promise<string> {
  const response = await app.fetch('POST', '/v1/auth/tokens', {
    cookie: person.cookie,
    body: { agent_id: agent.id, ...body },
  })
  expect(response.status, response.text).toBe(201)
  return response.json.data.id
}
/** Each call is in another window. */
let windows = 0
const nextWindow = () => new Date(++windows * 60_000)
const refuse = (tokenId: string, requestClass: 'read' | 'write' = 'read') =>
  app.app.tokens.keepRefusal({
    tokenId,
    requestClass,
    limit: 300,
    consumed: 301,
    ip: '192.0.2.7',
    windowEnds: nextWindow(),
  })

describe("list of a person's tokens", () => {
  test('filtering by state returns each token in exactly one state', async () => {
    const ends = await create({ expires_in_days: 1 })
    app.clock.advance(25 * hour)
    const rotated = await create({ name: 'rotated with overlap' })
    const revoked = await create({})
    await app.fetch('POST', `/v1/auth/tokens/${rotated}/rotate`, { cookie: person.cookie, body: { overlap: '1h' } })
    await app.fetch('DELETE', `/v1/auth/tokens/${revoked}`, { cookie: person.cookie })
    const all = await list('?limit=100')
    let total = 0
    for (const state of tokenStates) {
      const found = await list(`?limit=100&state=${state}`)
      expect(found.data.every((token) => token.state === state)).toBe(true)
      expect(found.data.length).toBeGreaterThan(0)
      expect(found.total).toBe(found.data.length)
      total += found.total
    }
    expect(total).toBe(all.total)
    const stateOf = (id: string) => all.data.find((token) => token.id === id)?.state
    expect([stateOf(ends), stateOf(rotated), stateOf(revoked)]).toEqual(['expired', 'rotated', 'revoked'])
    expect((await list(`?state=revoked&limit=1&agent_id=${agent.id}`)).data).toHaveLength(1)
    expect((await app.fetch('GET', '/v1/auth/tokens?state=gone', { cookie: person.cookie })).status).toBe(422)
  })

  test('search finds a token by a part of its name and by the first characters of its key', async () => {
    const id = await create({ name: 'Weekly Report' })
    await create({ name: 'other' })
    const { key_prefix } = (await list('?limit=100')).data.find((token) => token.id === id) ?? { key_prefix: '' }
    for (const q of ['weekly', 'report', key_prefix, key_prefix.slice(0, 6)]) {
      const { data, total } = await list(`?q=${encodeURIComponent(q)}`)
      expect([q, total, data.map((token) => token.id)]).toEqual([q, 1, [id]])
    }
    expect((await list('?q=weekly&state=revoked')).total).toBe(0)
    expect((await list(`?q=${key_prefix.slice(0, 3)}`)).total).toBe(0)
  })

  test('contains for the owner the rejected requests that revoked a token, without network addresses, while they are stored', async () => {
    const id = await create({ name: 'too eager' })
    const quiet = await create({ name: 'quiet' })
    // An hour earlier, so not part of the evidence.
    await refuse(id)
    app.clock.advance(hour + 1)
    for (const requestClass of ['read', 'write', 'read'] as const) {
      app.clock.advance(1_000)
      await refuse(id, requestClass)
    }
    const shown = (await list('?state=revoked&limit=100')).data.find((token) => token.id === id)
    expect(shown).toMatchObject({ revoked_reason: 'rate_limit', state: 'revoked' })
    expect(shown?.refusals.map(({ class: of, limit, consumed }) => [of, limit, consumed])).toEqual([
      ['read', 300, 301],
      ['write', 300, 301],
      ['read', 300, 301],
    ])
    expect(shown?.refusals.at(-1)?.at).toBe(shown?.revoked_at)
    expect(JSON.stringify(shown)).not.toContain('192.0.2.7')
    expect((await list('?limit=100')).data.find((token) => token.id === quiet)?.refusals).toEqual([])

    app.clock.advance(refusalRetention + hour)
    const purge = app.app.jobs.find(({ name }) => name === 'tokens.purge')
    await purge?.execute(app.app.pipeline, {})
    expect((await list('?limit=100')).data.find((token) => token.id === id)?.refusals).toEqual([])
  })

  /** The tokens of a person whose erasure is pending: one active, one rotated with overlap, one revoked. */
  async function pendingIn(at: TestApp) {
    const owner = await personWithPassword(at)
    const { id } = await issuedAgent(at, ['read'], { owner })
    const asOwner = { cookie: owner.cookie }
    const made = async (overlap: string) => {
      const created = await at.fetch('POST', '/v1/auth/tokens', { ...asOwner, body: { agent_id: id } })
      const path = `/v1/auth/tokens/${created.json.data.id}`
      return overlap === ''
        ? at.fetch('DELETE', path, asOwner)
        : at.fetch('POST', `${path}/rotate`, { ...asOwner, body: { overlap } })
    }
    expect([(await made('')).status, (await made('1h')).status]).toEqual([204, 201])
    const marks = async () => {
      const { json } = await at.fetch('GET', '/v1/auth/tokens', asOwner)
      const { data } = listTokens.output.parse(json)
      return data.map(({ state, is_suspended: is }) => `${state}: ${is}`).sort()
    }
    expect(await marks()).toEqual(['active: false', 'active: false', 'revoked: false', 'rotated: false'])
    const request = await at.fetch('POST', '/api/privacy/requests', {
      ...asOwner,
      body: { kinds: ['erasure'], grace: '24h', password: owner.password },
    })
    expect(request.status, request.text).toBe(201)
    return marks()
  }

  test('marks valid tokens as suspended, and no revoked ones, while an erasure of the owner is pending', async () => {
    expect(await pendingIn(app)).toEqual(['active: true', 'active: true', 'revoked: false', 'rotated: true'])
  })

  test('marks no token as suspended when tokens work until an erasure starts', async () => {
    const retained = await testApp({ KP_GRACE_TOKENS: 'keep' })
    try {
      const marks = await pendingIn(retained)
      expect(marks).toEqual(['active: false', 'active: false', 'revoked: false', 'rotated: false'])
    } finally {
      await retained.close()
    }
  })

  test('is empty or rejected for strangers, other tenants and ended sessions', async () => {
    const other = await signedIn(app)
    expect((await list('', other.cookie)).total).toBe(0)
    const named = await app.fetch('GET', `/v1/auth/tokens?agent_id=${agent.id}`, { cookie: other.cookie })
    expect([named.status, named.json.code]).toEqual([404, 'not_found'])
    expect((await app.fetch('GET', '/v1/auth/tokens?state=active')).status).toBe(401)
    await app.db.prisma.session.updateMany({
      where: { accountId: other.accountId },
      data: { revokedAt: app.clock.now() },
    })
    expect((await app.fetch('GET', '/v1/auth/tokens', { cookie: other.cookie })).status).toBe(401)
  })
})
