import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { inspectSkill, inspectUnit } from './contract.ts'

const day = 86_400_000
let app: TestApp
let owner: Person
let agent: Issued
beforeAll(async () => {
  app = await testApp()
  owner = await signedIn(app)
  agent = await issuedAgent(app, ['read', 'write'], { owner, tier: 'pro' })
})
afterAll(() => app?.close())

async function contributed(unit: Unit, token = agent.token): Promise<string> {
  const response = await app.fetch('POST', '/v1/knowledge', { token, body: unit })
  expect(response.status, response.text).toBe(201)
  return response.json.data.id
}
const inspect = (id: string, cookie?: string) =>
  app.fetch('GET', `/api/${id.startsWith('kp:skill:') ? 'skills' : 'knowledge'}/${encodeURIComponent(id)}`, {
    ...(cookie !== undefined && { cookie }),
  })
const unitOf = async (id: string, cookie = owner.cookie) =>
  inspectUnit.output.parse((await inspect(id, cookie)).json).data

describe('inspecting a unit', () => {
  test('returns its ownership, scores and expiry', async () => {
    const id = await contributed(trace({}, { visibility: 'private' }))
    const seen = await unitOf(id)
    expect(seen).toMatchObject({
      agent_id: agent.id,
      is_own: true,
      is_paused: false,
      was_public: false,
      quarantined_at: null,
      attributed_to: [],
      votes: { for: 0, against: 0, waiting: 0 },
      wordings: 1,
    })
    expect(Date.parse(seen.expires_at ?? '')).toBe(Date.parse(seen.created_at) + 365 * day)
    const shared = await unitOf(await contributed(trace()))
    expect(shared.expires_at).toBeNull()
  })

  test('returns the ETag for a correction, which changes the ETag', async () => {
    const id = await contributed(trace())
    const { etag } = await unitOf(id)
    const correct = () =>
      app.fetch('PATCH', `/v1/knowledge/${id}`, {
        cookie: owner.cookie,
        headers: { 'If-Match': etag },
        body: { unit: { outcome: { result_summary: 'It was the linker.' } } },
      })
    expect((await correct()).status).toBe(200)
    expect((await correct()).status).toBe(412)
    expect((await unitOf(id)).etag).not.toBe(etag)
  })

  test('returns its votes and the expert of an SOP', async () => {
    const id = await contributed(sop())
    const voter = await issuedAgent(app, ['read', 'write'], { owner: await signedIn(app) })
    const vote = await app.fetch('POST', `/v1/knowledge/${id}/validate`, { token: voter.token, body: { valid: true } })
    expect(vote.status, vote.text).toBe(201)
    expect(await unitOf(id)).toMatchObject({
      votes: { for: 1, against: 0, waiting: 0 },
      attributed_to: ['expert-7'],
      wordings: 1,
    })
  })

  test('returns units of others as read-only, and 404 for private units, units of other tenants and quarantined units', async () => {
    const [stranger, colleague] = [await signedIn(app), await signedIn(app, 'person', owner.organisationId)]
    const ids = {
      network: await contributed(trace()),
      org: await contributed(trace({}, { visibility: 'org' })),
      private: await contributed(trace({}, { visibility: 'private' })),
    }
    const statuses = async (cookie: string) =>
      Promise.all(Object.values(ids).map(async (id) => (await inspect(id, cookie)).status))
    expect(await statuses(owner.cookie)).toEqual([200, 200, 200])
    expect(await statuses(colleague.cookie)).toEqual([200, 200, 404])
    expect(await statuses(stranger.cookie)).toEqual([200, 404, 404])
    expect((await unitOf(ids.network, stranger.cookie)).is_own).toBe(false)
    const admin = await signedIn(app, 'admin')
    expect((await inspect(ids.private, admin.cookie)).status).toBe(404)

    await app.db.prisma.unit.update({ where: { id: ids.network }, data: { quarantinedAt: app.clock.now() } })
    expect((await inspect(ids.network, stranger.cookie)).status).toBe(404)
    expect((await unitOf(ids.network)).quarantined_at).not.toBeNull()
  })

  test('is limited to people: anonymous requests, tokens and ended sessions are rejected', async () => {
    const id = await contributed(trace())
    expect((await inspect(id)).status).toBe(401)
    expect((await app.fetch('GET', `/api/knowledge/${id}`, { token: agent.token })).status).toBe(403)
    const deleted = await signedIn(app)
    await app.db.prisma.session.updateMany({
      where: { accountId: deleted.accountId },
      data: { revokedAt: app.clock.now() },
    })
    expect((await inspect(id, deleted.cookie)).status).toBe(401)
  })

  test('returns the receipt of an erased unit to its owner and 404 to others', async () => {
    const id = await contributed(trace())
    const erased = await app.fetch('DELETE', `/v1/knowledge/${id}`, {
      cookie: owner.cookie,
      headers: { Prefer: 'return=representation' },
    })
    expect(erased.status, erased.text).toBe(200)
    const response = await inspect(id, owner.cookie)
    expect([response.status, response.json.code, response.json.receipt_id]).toEqual([
      410,
      'erased',
      erased.json.receipt_id,
    ])
    expect((await inspect(id, (await signedIn(app)).cookie)).status).toBe(404)
  })

  test('writes an audit entry with its id but without content', async () => {
    const id = await contributed(trace({ task: { objective: 'Whispered objective' } }))
    await unitOf(id)
    const entries = await app.db.prisma.auditEntry.findMany({ where: { resourceId: id, action: 'read' } })
    expect(entries).toMatchObject([{ agentId: `user:${owner.accountId}`, resourceType: 'knowledge' }])
    expect(JSON.stringify(entries)).not.toContain('Whispered')
  })

  test.each(['nothing', 'kp:trace:', `kp:trace:${'x'.repeat(10_000)}`, 'kp:skill:abc', '%00'])(
    'returns 404 or 422 for the id %s',
    async (id) => {
      const response = await app.fetch('GET', `/api/knowledge/${encodeURIComponent(id)}`, { cookie: owner.cookie })
      expect([404, 422]).toContain(response.status)
    },
  )
})

describe('inspecting a skill', () => {
  test('returns its files, ownership and scores', async () => {
    const response = await app.fetch('POST', '/v1/skills', {
      token: agent.token,
      body: {
        skill_md: skillMd('inspected'),
        files: [{ path: 'notes.md', content: 'Look twice.\n' }],
        visibility: 'org',
      },
    })
    expect(response.status, response.text).toBe(201)
    const id = response.json.data.id
    const seen = inspectSkill.output.parse((await inspect(id, owner.cookie)).json).data
    expect(seen).toMatchObject({ is_own: true, visibility: 'org', files: [{ path: 'notes.md' }], was_public: false })
    expect(Date.parse(seen.expires_at ?? '')).toBe(Date.parse(seen.created_at) + 730 * day)
    const correct = await app.fetch('PATCH', `/v1/skills/${id}`, {
      cookie: owner.cookie,
      headers: { 'If-Match': seen.etag },
      body: { visibility: 'private' },
    })
    expect(correct.status, correct.text).toBe(200)
    const stranger = await signedIn(app)
    expect((await inspect(id, stranger.cookie)).status).toBe(404)
    expect((await inspect(id)).status).toBe(401)
  })
})
