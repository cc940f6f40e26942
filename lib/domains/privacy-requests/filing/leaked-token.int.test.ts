import { Secret, TOTP } from 'otpauth'
import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadePerson, openTestSession, personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
beforeAll(async () => {
  kit = await privacyTest()
})
afterAll(() => kit.close())

const day = 86_400_000
const ask = (token: string, body: object) => kit.test.fetch('POST', '/api/privacy/requests', { token, body })
const works = async (token: string) => (await kit.test.fetch('GET', '/v1/auth/me', { token })).status === 200

describe('a stolen write token', () => {
  it('cannot erase an owned agent for 24 hours, and the owner can cancel with the emailed link', async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
    const { status, json } = await ask(agent.token, { kinds: ['erasure'], grace: 'now' })
    expect([status, json.data.state, json.data.grace]).toEqual([201, 'waiting', '24h'])
    expect(new Date(json.data.waiting_until).getTime() - kit.test.clock.now().getTime()).toBe(day)
    expect(json.message).toContain('at least 24 hours')
    await kit.tick()
    const text = kit
      .emailsTo(owner.email)
      .find((email) => email.text.includes('A token of the agent made this request'))
    expect(text?.text).toContain('/privacy/confirm#cancel.')
    kit.test.clock.advance(day - 60_000)
    await kit.tick()
    expect((await kit.read(owner.cookie, json.data.id)).state).toBe('waiting')
    expect((await kit.use(kit.linkTo(owner.email, 'cancel'), 'cancel')).json.data.state).toBe('cancelled')
    kit.test.clock.advance(2 * day)
    await kit.tick()
    expect(await works(agent.token)).toBe(true)
  })

  it('files an erasure that the signed-in owner can cancel, with a longer grace period as chosen', async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
    const { data } = (await ask(agent.token, { kinds: ['erasure'], grace: '7d' })).json
    expect([data.grace, new Date(data.waiting_until).getTime() - kit.test.clock.now().getTime()]).toEqual([
      '7d',
      7 * day,
    ])
    expect((await kit.act(owner.cookie, data.id, 'cancel')).json.data.state).toBe('cancelled')
    expect(await works(agent.token)).toBe(true)
  })

  it("is rejected while the erasure of the agent's owner waits, and cannot cancel that erasure", async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
    const body = { kinds: ['erasure'], grace: '14d', password: owner.password }
    const { data } = (await kit.file(owner.cookie, body)).json
    expect(data.state).toBe('waiting')
    for (const asked of [{ kinds: ['erasure'], grace: 'now' }, { kinds: ['access'] }, { kinds: ['restriction'] }])
      expect((await ask(agent.token, asked)).json.code).toBe('token_suspended')
    expect((await kit.test.fetch('GET', '/api/privacy/requests', { token: agent.token })).json.total).toBe(0)
    const path = `/api/privacy/requests/${data.id}`
    expect((await kit.test.fetch('GET', path, { token: agent.token })).status).toBe(404)
    expect((await kit.test.fetch('POST', `${path}/cancel`, { token: agent.token })).status).toBe(404)
    expect((await kit.read(owner.cookie, data.id)).state).toBe('waiting')
  })
})

describe('a token that existed when its owner changed how they sign in', () => {
  const sent = async (owner: MadePerson, path: string, body: object) => {
    const response = await kit.test.fetch('POST', path, { cookie: owner.cookie, body })
    expect(response.status, response.text).toBeLessThan(300)
    return response.json?.data
  }
  const byAdmin = async (method: string, path: string) => {
    const admin = await signedIn(kit.test, 'admin')
    const { status, text } = await kit.test.fetch(method, path, admin)
    expect(status, text).toBeLessThan(300)
  }
  const factorOf = async ({ accountId }: MadePerson) => {
    const id = newId('fct')
    const at = kit.test.clock.now()
    await kit.test.db.prisma.accountFactor.create({
      data: {
        id,
        accountId,
        kind: 'totp',
        name: 'Planted',
        createdAt: at,
        confirmedAt: at,
        totpSecret: new Uint8Array(32),
      },
    })
    return id
  }
  const changes: Record<string, (owner: MadePerson) => Promise<unknown>> = {
    'a new password': (owner) =>
      sent(owner, '/api/account/password', { current_password: owner.password, new_password: newId('password') }),
    'a second factor': async (owner) => {
      const { factor_id: id, secret } = await sent(owner, '/api/account/factors/totp', { name: 'Phone' })
      const totp = new TOTP({ algorithm: 'SHA1', digits: 6, period: 30, secret: Secret.fromBase32(secret) })
      const code = totp.generate({ timestamp: kit.test.clock.now().getTime() })
      await sent(owner, `/api/account/factors/${id}/confirm`, { code })
    },
    'an unlinked sign-in': async (owner) => {
      const link = { issuer: 'https://provider.example', subject: newId('sub'), accountId: owner.accountId }
      await kit.test.db.prisma.accountIdentity.create({ data: { ...link, linkedAt: kit.test.clock.now() } })
      const { json } = await kit.test.fetch('GET', '/api/account/identities', { cookie: owner.cookie })
      await sent(owner, `/api/account/identities/${json.data[0].identity_id}/unlink`, { password: owner.password })
    },
    'the end of all other sessions': (owner) => kit.test.fetch('DELETE', '/api/sessions', { cookie: owner.cookie }),
    'the end of one other session': async (owner) => {
      await openTestSession(kit.test, owner.accountId)
      const { json } = await kit.test.fetch('GET', '/api/sessions', { cookie: owner.cookie })
      const other = json.data.find(({ is_current }: { is_current: boolean }) => !is_current)
      await kit.test.fetch('DELETE', `/api/sessions/${other.session_id}`, { cookie: owner.cookie })
    },
    'the removal of a factor': async (owner) =>
      kit.test.fetch('DELETE', `/api/account/factors/${await factorOf(owner)}`, { cookie: owner.cookie }),
    'the end of all sessions by an admin': ({ accountId }) =>
      byAdmin('POST', `/api/admin/users/${accountId}/end-sessions`),
    'the removal of all factors by an admin': async (owner) => {
      await factorOf(owner)
      await byAdmin('DELETE', `/api/admin/users/${owner.accountId}/factors`)
    },
    'a closed and reopened account': async ({ accountId }) => {
      await byAdmin('POST', `/api/admin/users/${accountId}/deactivate`)
      await byAdmin('POST', `/api/admin/users/${accountId}/reactivate`)
    },
    'a password of the operator': ({ email }) => kit.test.app.accounts.resetPassword(email),
  }
  const erasure = { kinds: ['erasure'] }

  it.each(Object.keys(changes))('files an erasure that the owner must confirm, after %s', async (change) => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner, tier: 'pro' })
    await changes[change]?.(owner)
    const { status, json } = await ask(agent.token, erasure)
    expect([status, json.data.state, json.data.cancel_token]).toEqual([201, 'received', null])
    await kit.tick()
    expect(await works(agent.token)).toBe(true)
    expect((await kit.use(kit.linkTo(owner.email, 'verify'), 'verify')).json.data.state).toBe('waiting')
    expect(await works(agent.token)).toBe(false)
  })

  it('hands this on to tokens that it creates and to its successor, until the owner rotates one', async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner, tier: 'pro' })
    await changes['a new password']?.(owner)
    const make = async (path: string, by: object, body: object) => {
      const { status, text, json } = await kit.test.fetch('POST', path, { ...by, body })
      expect(status, text).toBe(201)
      return json.data as { id: string; api_key: string }
    }
    const created = await make('/v1/auth/tokens', agent, { scopes: ['read', 'write'] })
    const rotated = await make(`/v1/auth/tokens/${created.id}/rotate`, { token: created.api_key }, {})
    const own = await make(`/v1/auth/tokens/${agent.tokenId}/rotate`, agent, {})
    for (const token of [rotated.api_key, own.api_key]) {
      const { json } = await ask(token, erasure)
      expect(json.data.state).toBe('received')
      expect((await kit.act(owner.cookie, json.data.id, 'cancel')).json.data.state).toBe('cancelled')
    }
    const byOwner = await make(`/v1/auth/tokens/${own.id}/rotate`, { cookie: owner.cookie }, {})
    expect((await ask(byOwner.api_key, erasure)).json.data.state).toBe('waiting')
  })
})

describe('a token that is being created while the session ends', () => {
  let client: pg.Client
  beforeAll(async () => {
    client = new pg.Client({ connectionString: kit.test.ownerUrl })
    await client.connect()
  })
  afterAll(() => client?.end())
  const newAgent = ({ cookie }: { cookie: string }) =>
    kit.test.fetch('POST', '/api/agents', { cookie, body: { consent: { policy_version: noticeVersion } } })
  it('waits for its owner too, if it is stored before the session ends', async () => {
    const owner = await personWithPassword(kit.test)
    const thief = { cookie: await openTestSession(kit.test, owner.accountId) }
    await client.query('BEGIN')
    await client.query('LOCK TABLE agents IN SHARE MODE')
    const creating = newAgent(thief)
    const creator = await blockedBy(client)
    const ending = kit.test.fetch('DELETE', '/api/sessions', { cookie: owner.cookie })
    await Promise.race([ending, blockedBy(client, creator)])
    await client.query('COMMIT')
    const made = await creating
    expect([made.status, (await ending).status], made.text).toEqual([201, 200])
    const { json } = await ask(made.json.data.api_key, { kinds: ['erasure'] })
    expect(json.data.state).toBe('received')
  })

  it('is not created if the session ends before', async () => {
    const owner = await personWithPassword(kit.test)
    const agent = await issuedAgent(kit.test, ['read', 'write'], { owner, tier: 'pro' })
    const cookie = await openTestSession(kit.test, owner.accountId)
    for (const create of [
      () => newAgent({ cookie }),
      () => kit.test.fetch('POST', '/v1/auth/tokens', { cookie, body: { agent_id: agent.id, scopes: ['write'] } }),
      () => kit.test.fetch('POST', `/v1/auth/tokens/${agent.tokenId}/rotate`, { cookie, body: {} }),
    ]) {
      await client.query('BEGIN')
      await client.query('UPDATE sessions SET revoked_at = $2 WHERE account_id = $1', [
        owner.accountId,
        kit.test.clock.now(),
      ])
      const creating = create()
      await Promise.race([creating, blockedBy(client)])
      await client.query('COMMIT')
      const { status, json } = await creating
      expect([status, json.code]).toEqual([401, 'sign_in_needed'])
      await client.query('UPDATE sessions SET revoked_at = NULL WHERE account_id = $1', [owner.accountId])
    }
    expect(await kit.test.db.prisma.token.count({ where: { agent: { ownerId: owner.accountId } } })).toBe(1)
  })
})

it('an agent without an owner is erased without a grace period, and cancels a waiting erasure with its token', async () => {
  const hasty = await issuedAgent(kit.test, ['read', 'write'])
  const { json } = await ask(hasty.token, { kinds: ['erasure'], grace: 'now' })
  expect([json.data.state, json.data.grace]).toEqual(['running', 'now'])
  const agent = await issuedAgent(kit.test, ['read', 'write'])
  const { data } = (await ask(agent.token, { kinds: ['erasure'] })).json
  expect(await works(agent.token)).toBe(false)
  const listed = await kit.test.fetch('GET', '/api/privacy/requests', { token: agent.token })
  expect(listed.json.data.map(({ id }: { id: string }) => id)).toEqual([data.id])
  const path = `/api/privacy/requests/${data.id}/cancel`
  expect((await kit.test.fetch('POST', path, { token: agent.token })).json.data.state).toBe('cancelled')
  expect(await works(agent.token)).toBe(true)
})
