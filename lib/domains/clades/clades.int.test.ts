import { compactVerify, importJWK } from 'jose'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { giveKeyring, seemingEnvelope } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { joinClade } from './writes.ts'

const day = 86_400_000
let app: TestApp
let person: Person
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
})
afterAll(() => app?.close())

const at = (id: string, path = '') => `/v1/agents/${id}${path}`
const ask = (method: string, path: string, by: TestRequest) => app.fetch(method, path, by)
const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code]
const mine = (owner: Person | null = person): Promise<Issued> =>
  issuedAgent(app, ['read', 'write'], { tier: 'enterprise', ...(owner && { owner }) })
const run = async () => {
  const job = app.app.jobs.find(({ name }) => name === 'clades.keep-terms')
  if (!job) throw new Error('no such job')
  await job.execute(app.app.pipeline, {})
}
/** Creates the agents of one clade, all sharing. The first is the ancestor. */
async function clade(count: number): Promise<Issued[]> {
  const agents = await Promise.all(Array.from({ length: count }, () => mine()))
  const [ancestor, ...rest] = agents
  if (!ancestor) throw new Error('no ancestor')
  const now = app.clock.now()
  for (const { id: agentId } of rest)
    await app.app.pipeline.transaction((tx) =>
      joinClade(tx, { agentId, ancestorId: ancestor.id, ownerId: person.accountId, now }),
    )
  for (const agent of agents)
    expect((await ask('PUT', at(agent.id, '/clade/sharing'), { token: agent.token, body: { on: true } })).status).toBe(
      200,
    )
  return agents
}
const address = `0x${'ab'.repeat(20)}`
const insight = {
  kind: 'insight',
  content: {
    claim: 'calm before the fixing',
    entry_price: 64_123.5,
    paid_to: address,
    'ada@example.org': { note: 'kept' },
  },
  confidence: 0.7,
  tags: ['calm'],
}
const share = (agent: Issued, body: object = { entry: insight }, by: TestRequest = { token: agent.token }) =>
  ask('POST', at(agent.id, '/clade/shares'), { ...by, body })
const deltas = async (agent: Issued, after = 0) =>
  (await ask('GET', at(agent.id, `/clade/deltas?after=${after}`), { token: agent.token })).json
const ack = (agent: Issued, through: number) =>
  ask('POST', at(agent.id, '/clade/deltas/ack'), { token: agent.token, body: { through } })
/** A private entry, which the installation cannot read. */
async function privateOf(agent: Issued): Promise<string> {
  const keyring = await giveKeyring(app, agent.id)
  const by = { token: agent.token }
  const id = newId('ent')
  const body = { id, scope: 'private', kind: 'insight', envelope: seemingEnvelope(keyring.key_id) }
  const response = await ask('POST', at(agent.id, '/grimoire'), { ...by, body })
  expect(response.status, response.text).toBe(201)
  return id
}
async function pair(): Promise<[Issued, Issued]> {
  const [one, other] = await clade(2)
  if (!one || !other) throw new Error('no pair')
  return [one, other]
}

describe('sharing', () => {
  test('sharing is off by default and cannot be turned on without siblings', async () => {
    const alone = await mine()
    expect(refusal(await share(alone))).toEqual([409, 'wrong_state'])
    expect(
      refusal(await ask('PUT', at(alone.id, '/clade/sharing'), { token: alone.token, body: { on: true } })),
    ).toEqual([409, 'conflict'])
    const [one, other] = await pair()
    const seen = await ask('GET', at(one.id, '/clade'), { cookie: person.cookie })
    expect(seen.json.data.siblings).toMatchObject([{ agent_id: other.id, status: 'active', pending: 0 }])
    expect(seen.json.data.sharing_since).not.toBeNull()
  })

  test("creating an agent makes it a sibling of its ancestor, and rejects another owner's ancestor", async () => {
    const ancestor = await mine()
    const stranger = await mine(await signedIn(app))
    const consent = { policy_version: noticeVersion }
    const body = { consent, ancestor: stranger.id }
    const refused = await ask('POST', '/api/agents', { cookie: person.cookie, body })
    expect(refused.status, refused.text).toBe(422)
    const made = await ask('POST', '/api/agents', { cookie: person.cookie, body: { ...body, ancestor: ancestor.id } })
    expect(made.status, made.text).toBe(201)
    const seen = await ask('GET', at(ancestor.id, '/clade'), { token: ancestor.token })
    expect(seen.json.data.siblings.map((one: { agent_id: string }) => one.agent_id)).toEqual([made.json.data.agent_id])
  })

  test('sends exactly the previewed payload, with a signed manifest of removed items', async () => {
    const [one, other] = await pair()
    const response = await ask('POST', at(one.id, '/grimoire'), {
      token: one.token,
      body: { ...insight, scope: 'clade' },
    })
    const of = { entry_id: response.json.data.id }
    const preview = await ask('POST', at(one.id, '/clade/preview'), { token: one.token, body: of })
    expect(preview.status, preview.text).toBe(200)
    expect(preview.text).not.toMatch(/64123|0xabab|ada@/)
    expect(preview.json.data).toMatchObject({
      gate: { passes: true, needed: 0.6 },
      removed: { strategy_detail: 1, ethereum_address: 1, email: 1 },
      payload: {
        confidence: 0.7,
        tags: ['calm'],
        content: { claim: 'calm before the fixing', '‹email:1›': { note: 'kept' } },
      },
    })
    expect(refusal(await share(one, { ...of, digest: 'another' }))).toEqual([409, 'conflict'])
    const shared = await share(one, { ...of, digest: preview.json.data.digest })
    expect(shared.status, shared.text).toBe(201)
    expect(shared.json.data.sent_to).toEqual([other.id])
    const { data } = await deltas(other)
    expect(data).toMatchObject([{ action: 'add', from: one.id, payload: preview.json.data.payload }])
    const [jwk] = await app.app.signer.keys()
    const { payload, protectedHeader } = await compactVerify(
      shared.json.data.manifest,
      await importJWK(jwk ?? {}, 'EdDSA'),
    )
    expect(protectedHeader.typ).toBe('clade-manifest')
    expect(JSON.parse(new TextDecoder().decode(payload))).toMatchObject({
      share_id: shared.json.data.share_id,
      digest: preview.json.data.digest,
      removed: { strategy_detail: 1, ethereum_address: 1, email: 1 },
    })
  })

  test("rejects low confidence, episodes, private entries, strangers and other owners' agents", async () => {
    const [one] = await pair()
    for (const [kind, confidence] of [
      ['insight', 0.59],
      ['heuristic', 0.69],
      ['warning', 0.39],
      ['causal_link', 0.49],
    ])
      expect(refusal(await share(one, { entry: { ...insight, kind, confidence } }))).toEqual([422, 'invalid'])
    expect((await share(one, { entry: { ...insight, kind: 'warning', confidence: 0.4 } })).status).toBe(201)
    expect(refusal(await share(one, { entry: { ...insight, kind: 'episode' } }))).toEqual([422, 'invalid'])
    expect(refusal(await share(one, {}))).toEqual([422, 'invalid'])
    const stranger = await mine(await signedIn(app))
    expect(refusal(await share(one, { entry: insight, siblings: [stranger.id] }))).toEqual([404, 'not_found'])
    expect(refusal(await share(one, { entry: insight }, { token: stranger.token }))).toEqual([404, 'not_found'])
    expect(refusal(await ask('GET', at(one.id, '/clade'), { token: stranger.token }))).toEqual([404, 'not_found'])
    const reader = await issuedAgent(app, ['read'], { owner: person })
    expect(refusal(await share(reader))).toEqual([403, 'scope_too_small'])
    const paused = await ask('PUT', at(one.id, '/status'), { cookie: person.cookie, body: { status: 'paused' } })
    expect(paused.status).toBe(200)
    expect(refusal(await share(one))).toEqual([403, 'paused'])
  })

  test('sends once when a request is repeated with the same idempotency key', async () => {
    const [one, other] = await pair()
    const by = { token: one.token, headers: { 'Idempotency-Key': `once-${one.id}` } }
    const [first, again] = [await share(one, { entry: insight }, by), await share(one, { entry: insight }, by)]
    expect([first.status, again.status]).toEqual([201, 201])
    expect(again.json.data.share_id).toBe(first.json.data.share_id)
    expect((await deltas(other)).data).toHaveLength(1)
  })

  test('stores shares readable only with the installation key, and nowhere else', async () => {
    const [one] = await pair()
    const secret = 'a word that nobody else would use'
    await share(one, { entry: { ...insight, content: secret } })
    const rows = await app.db.pool.query(
      "SELECT encode(sealed, 'escape') AS sealed, manifest FROM clade_shares WHERE agent_id = $1",
      [one.id],
    )
    const audit = await app.db.pool.query(
      "SELECT details::text AS details FROM audit_entries WHERE details::text LIKE '%shares%'",
    )
    expect(JSON.stringify([rows.rows, audit.rows])).not.toContain(secret)
  })
})

describe('deltas', () => {
  test('expire after 7 days', async () => {
    const [one, other] = await pair()
    await share(one)
    app.clock.advance(7 * day - 1000)
    const before = await ask('GET', at(one.id, '/clade'), { token: one.token })
    expect(before.json.data.siblings).toMatchObject([{ pending: 1 }])
    app.clock.advance(2000)
    expect((await deltas(other)).data).toEqual([])
    await run()
    const shares = await ask('GET', at(one.id, '/clade/shares'), { token: one.token })
    expect(shares.json.data).toMatchObject([{ siblings: [{ state: 'expired' }] }])
  })

  test('are withdrawn when sharing is switched off', async () => {
    const [one, other] = await pair()
    await share(one)
    const off = await ask('PUT', at(one.id, '/clade/sharing'), { token: one.token, body: { on: false } })
    expect(off.json.data).toMatchObject({ sharing_since: null, withdrawn: 1 })
    expect((await deltas(other)).data).toEqual([])
    expect(refusal(await share(one))).toEqual([409, 'wrong_state'])
  })
})

describe('a recall', () => {
  test('removes the share and its derived shares from every sibling and reports acknowledgements', async () => {
    const [one, second, third] = await clade(3)
    if (!one || !second || !third) throw new Error('no clade')
    const { share_id: id } = (await share(one)).json.data
    const got = await deltas(second)
    expect((await ack(second, got.next_after)).json.data).toMatchObject({ delivered: 1, removed: 0 })
    const made = await ask('POST', at(second.id, '/grimoire'), {
      token: second.token,
      body: { ...insight, scope: 'clade', parents: [id] },
    })
    const second2 = await share(second, { entry_id: made.json.data.id })
    expect(second2.status, second2.text).toBe(201)
    const forOne = await deltas(one)
    await ack(one, forOne.next_after)

    expect(refusal(await ask('DELETE', at(second.id, `/clade/shares/${id}`), { token: second.token }))).toEqual([
      404,
      'not_found',
    ])
    const recalled = await ask('DELETE', at(one.id, `/clade/shares/${id}`), { token: one.token })
    expect(recalled.json.data).toMatchObject({
      recalled: [id, second2.json.data.share_id].sort(),
      withdrawn: 2,
      to_acknowledge: 2,
    })
    const left = await app.db.pool.query('SELECT 1 FROM clade_shares WHERE sealed IS NOT NULL AND id = ANY($1)', [
      [id, second2.json.data.share_id],
    ])
    expect(left.rowCount).toBe(0)
    expect((await deltas(third)).data).toEqual([])
    // The recall has a higher number than everything read before, so the earlier acknowledgement does not cover it.
    expect((await ack(second, got.next_after)).json.data).toMatchObject({ removed: 0 })
    const call = await deltas(second, got.next_after)
    expect(call.data).toMatchObject([{ action: 'remove', share_id: id, payload: null }])
    const state = async () =>
      (await ask('GET', at(one.id, `/clade/shares/${id}`), { token: one.token })).json.data.siblings
    expect(await state()).toMatchObject([{ agent_id: second.id, state: 'recalling' }])
    expect((await ack(second, call.next_after)).json.data).toMatchObject({ removed: 1 })
    expect(await state()).toMatchObject([{ agent_id: second.id, state: 'recalled' }])
    expect(refusal(await share(second, { entry_id: made.json.data.id }))).toEqual([409, 'conflict'])
    app.clock.advance(31 * day)
    await ack(one, (await deltas(one)).next_after || 1)
    app.clock.advance(31 * day)
    await run()
    expect(await app.db.prisma.cladeShare.count({ where: { id } })).toBe(0)
  })

  test('reaches shares derived through private entries, which are rejected when the client sends no origins', async () => {
    const [one, second, third] = await clade(3)
    if (!one || !second || !third) throw new Error('no clade')
    const { share_id: id } = (await share(one)).json.data
    const write = async (parents: string[]): Promise<string> =>
      (
        await ask('POST', at(second.id, '/grimoire'), {
          token: second.token,
          body: { ...insight, scope: 'clade', parents },
        })
      ).json.data.id
    const secret = await privateOf(second)
    const made = await write([secret])
    const remade = await write([made])
    for (const parents of [[], [secret]]) {
      const refused = await share(
        second,
        parents.length > 0 ? { entry: { ...insight, parents } } : { entry_id: remade },
      )
      expect(refusal(refused)).toEqual([409, 'conflict'])
      expect(refused.json.detail).toContain('private')
    }
    const sent = await share(second, { entry_id: remade, origins: [id] })
    expect(sent.status, sent.text).toBe(201)
    const recalled = await ask('DELETE', at(one.id, `/clade/shares/${id}`), { token: one.token })
    expect(recalled.json.data.recalled).toEqual([id, sent.json.data.share_id].sort())
    expect(refusal(await share(second, { entry_id: remade, origins: [id] }))).toEqual([409, 'conflict'])
  })

  test('rejects a share whose ancestry exceeds twenty generations', async () => {
    const [one, other] = await pair()
    const { share_id: id } = (await share(one)).json.data
    let last = id
    for (let generation = 0; generation < 21; generation++) {
      const { json } = await ask('POST', at(other.id, '/grimoire'), {
        token: other.token,
        body: { ...insight, scope: 'clade', parents: [last] },
      })
      last = json.data.id
    }
    const refused = await share(other, { entry_id: last })
    expect(refusal(refused)).toEqual([409, 'conflict'])
    expect(refused.json.detail).toContain('generations')
  })

  test('reaches a delta that was read but not acknowledged', async () => {
    const [one, other] = await pair()
    const { share_id: id } = (await share(one)).json.data
    const got = await deltas(other)
    await ask('DELETE', at(one.id, `/clade/shares/${id}`), { token: one.token })
    expect((await ack(other, got.next_after)).json.data).toMatchObject({ delivered: 0, removed: 0 })
    expect((await deltas(other)).data).toMatchObject([{ action: 'remove', share_id: id }])
  })

  test('reaches a sibling that fetched the share without acknowledging it, at any later time', async () => {
    const [one, other, third] = await clade(3)
    if (!one || !other || !third) throw new Error('no clade')
    const { share_id: id } = (await share(one)).json.data
    await share(third)
    expect((await deltas(other)).data).toHaveLength(2)
    for (const days of [8, 31]) {
      app.clock.advance(days * day)
      await run()
    }
    const shown = async () => (await ask('GET', at(one.id, `/clade/shares/${id}`), { token: one.token })).json.data
    expect((await shown()).siblings).toMatchObject([{ agent_id: other.id, state: 'pending', acknowledged_at: null }])
    expect((await shown()).siblings[0].delivered_at).not.toBeNull()
    for (const by of [one, other]) {
      const { data } = (await ask('GET', at(by.id, '/clade'), { token: by.token })).json
      expect([data.pending, data.siblings.map(({ pending }: { pending: number }) => pending)]).toEqual([0, [0, 0]])
    }
    const recalled = await ask('DELETE', at(one.id, `/clade/shares/${id}`), { token: one.token })
    expect(recalled.json.data).toMatchObject({ withdrawn: 0, to_acknowledge: 1 })
    const call = await deltas(other)
    expect(call.data).toMatchObject([{ action: 'remove', share_id: id }])
    expect((await ack(other, call.next_after)).json.data).toMatchObject({ removed: 1 })
    const dead = { status: 'dead', confirm: third.id }
    await passwordEntered(app, person)
    expect((await ask('PUT', at(third.id, '/status'), { cookie: person.cookie, body: dead })).status).toBe(200)
    expect((await deltas(other)).data).toMatchObject([{ action: 'remove', from: third.id }])
  })

  test('is made when the sender is retired or restricted', async () => {
    const [one, other, third] = await clade(3)
    if (!one || !other || !third) throw new Error('no clade')
    for (const sender of [one, third]) await share(sender)
    const got = await deltas(other)
    expect(got.data).toHaveLength(2)
    await ack(other, got.next_after)
    await passwordEntered(app, person)
    const dead = await ask('PUT', at(one.id, '/status'), {
      cookie: person.cookie,
      body: { status: 'dead', confirm: one.id },
    })
    expect(dead.status, dead.text).toBe(200)
    expect((await deltas(other)).data).toMatchObject([{ action: 'remove' }])
    await app.db.prisma.agent.update({ where: { id: third.id }, data: { restrictedAt: app.clock.now() } })
    expect((await ask('GET', at(other.id, '/clade/received'), { token: other.token })).json.data).toEqual([])
    await run()
    expect((await deltas(other)).data).toHaveLength(2)
    await app.db.prisma.agent.update({ where: { id: third.id }, data: { restrictedAt: null } })
  })
})

describe('an erasure', () => {
  test('deletes everything the agent sent, and its sibling keeps its own shares and receives a removal', async () => {
    const [one, other] = await pair()
    await share(other, { entry: { ...insight, kind: 'warning' } })
    const { share_id: id } = (await share(one)).json.data
    await ack(other, (await deltas(other)).next_after)
    const run = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [one.id] },
        requestedBy: 'user:test',
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    await drain(app)
    expect((await app.app.subjectErasures.run(run.runId))?.state).toBe('done')
    expect(await app.db.prisma.cladeShare.count({ where: { OR: [{ agentId: one.id }, { id }] } })).toBe(0)
    expect(await app.db.prisma.cladeDelta.count({ where: { agentId: one.id } })).toBe(0)
    expect(await app.db.prisma.cladeShare.count({ where: { agentId: other.id, recalledAt: null } })).toBe(1)
    const { data, next_after } = await deltas(other)
    expect(data).toMatchObject([{ action: 'remove', share_id: id, from: null, payload: null }])
    expect((await ack(other, next_after)).json.data).toMatchObject({ removed: 1 })
  })
})

describe('a performance card', () => {
  test('is public until its owner withdraws it', async () => {
    const agent = await mine()
    const stranger = await mine(await signedIn(app))
    const card = {
      from: '2026-01-01T00:00:00Z',
      until: '2026-06-30T00:00:00Z',
      returns: 0.12,
      sharpe: 1.4,
      drawdown: 0.08,
    }
    const path = at(agent.id, '/card')
    expect(refusal(await ask('PUT', path, { token: stranger.token, body: card }))).toEqual([404, 'not_found'])
    for (const bad of [
      { ...card, drawdown: 1.1 },
      { ...card, until: card.from },
      { ...card, note: 'words' },
    ])
      expect(refusal(await ask('PUT', path, { token: agent.token, body: bad }))).toEqual([422, 'invalid'])
    expect((await ask('PUT', path, { token: agent.token, body: card })).status).toBe(200)
    expect((await ask('GET', path, { token: stranger.token })).json.data).toMatchObject({ returns: 0.12, sharpe: 1.4 })
    expect((await ask('DELETE', path, { token: agent.token })).status).toBe(204)
    expect(refusal(await ask('GET', path, { token: stranger.token }))).toEqual([404, 'not_found'])
  })
})
