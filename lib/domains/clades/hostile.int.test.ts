import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { type CladeTesting, cladeTesting, sharedInsight } from '#lib/testing/clades.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { noticeVersion } from '../agents/rules.ts'

let app: TestApp
let person: Person
let siblings: CladeTesting
beforeAll(async () => {
  app = await testApp()
  person = await signedIn(app)
  siblings = cladeTesting(app, person)
})
afterAll(() => app?.close())

const at = (id: string, path = '') => `/v1/agents/${id}${path}`
const ask = (method: string, path: string, by: TestRequest) => app.fetch(method, path, by)
const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code]
const remaining = (agent: Issued) =>
  app.db.prisma.cladeShare.count({ where: { agentId: agent.id, recalledAt: null, NOT: { sealed: null } } })
const waiting = (agent: Issued) => app.db.prisma.cladeDelta.count({ where: { agentId: agent.id } })
/** Runs the work while the database fails at this change of a delta. */
const brokenAt = async (moment: string, work: () => Promise<unknown>): Promise<void> => {
  const asOwner = (sql: string) => withConnection(app.ownerUrl, (client) => client.query(sql))
  await asOwner(`CREATE FUNCTION break_down() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE EXCEPTION 'broken down'; END $$;
    CREATE TRIGGER broken BEFORE ${moment} EXECUTE FUNCTION break_down()`)
  const log = vi.spyOn(process.stderr, 'write').mockReturnValue(true)
  try {
    await work()
  } finally {
    log.mockRestore()
    await asOwner('DROP TRIGGER broken ON clade_deltas; DROP FUNCTION break_down()')
  }
}
const everything = (id: string, shareId: string) =>
  [
    ['GET', at(id, '/clade'), undefined],
    ['PUT', at(id, '/clade/sharing'), { on: false }],
    ['POST', at(id, '/clade/preview'), { entry: sharedInsight }],
    ['POST', at(id, '/clade/shares'), { entry: sharedInsight }],
    ['GET', at(id, '/clade/shares'), undefined],
    ['GET', at(id, `/clade/shares/${shareId}`), undefined],
    ['DELETE', at(id, `/clade/shares/${shareId}`), undefined],
    ['GET', at(id, '/clade/deltas'), undefined],
    ['POST', at(id, '/clade/deltas/ack'), { through: 9_000_000 }],
    ['GET', at(id, '/clade/received'), undefined],
    ['DELETE', at(id, '/card'), undefined],
  ] as const

describe('an actor other than the agent and its owner', () => {
  test('strangers, siblings, colleagues, auditors and admins get 404, and a revoked token is rejected', async () => {
    const [one, other] = await siblings.pair()
    const shareId: string = (await siblings.share(one)).json.data.share_id
    const stranger = await issuedAgent(app, ['read', 'write'], { owner: await signedIn(app) })
    const colleague = await signedIn(app, 'person', person.organisationId)
    const [auditor, admin] = [await signedIn(app, 'auditor'), await signedIn(app, 'admin')]
    for (const by of [
      { token: stranger.token },
      { token: other.token },
      { cookie: colleague.cookie },
      { cookie: auditor.cookie },
      { cookie: admin.cookie },
    ])
      for (const [method, path, body] of everything(one.id, shareId)) {
        const response = await ask(method, path, { ...by, body })
        expect([method, path, response.status === 403 ? 404 : response.status]).toEqual([method, path, 404])
      }
    // Another agent's share under the agent's own path.
    for (const method of ['GET', 'DELETE'])
      expect(refusal(await ask(method, at(other.id, `/clade/shares/${shareId}`), { token: other.token }))).toEqual([
        404,
        'not_found',
      ])
    await ask('DELETE', `/v1/auth/tokens/${one.tokenId}`, { cookie: person.cookie })
    for (const [method, path, body] of everything(one.id, shareId))
      expect((await ask(method, path, { token: one.token, body })).status).toBe(401)
    expect([await remaining(one), await waiting(other)]).toEqual([1, 1])
  })

  test('an agent of another owner receives nothing, even when its row has the same clade', async () => {
    const [one, other] = await siblings.pair()
    const foreign = await issuedAgent(app, ['read', 'write'], { owner: await signedIn(app) })
    const { cladeId } = await app.db.prisma.agent.findUniqueOrThrow({ where: { id: one.id } })
    await app.db.prisma.agent.update({ where: { id: foreign.id }, data: { cladeId, sharingSince: app.clock.now() } })
    const named = await siblings.share(one, { entry: sharedInsight, siblings: [other.id, foreign.id] })
    expect(refusal(named)).toEqual([404, 'not_found'])
    expect([await remaining(one), await waiting(other)]).toEqual([0, 0])
    expect((await siblings.share(one)).json.data.sent_to).toEqual([other.id])
    expect((await ask('GET', at(foreign.id, '/clade'), { token: foreign.token })).json.data.siblings).toEqual([])
    expect(refusal(await siblings.share(foreign))).toEqual([409, 'conflict'])
    expect((await siblings.deltas(foreign)).data).toEqual([])
  })
})

test('sharing an entry returns 404 for an entry of another agent', async () => {
  const [one, other] = await siblings.pair()
  const body = { ...sharedInsight, scope: 'clade' }
  const { id } = (await ask('POST', at(other.id, '/grimoire'), { token: other.token, body })).json.data
  for (const path of ['/clade/preview', '/clade/shares'])
    expect(
      refusal(await ask('POST', at(one.id, path), { token: one.token, body: { entry_id: id, entry: sharedInsight } })),
    ).toEqual([404, 'not_found'])
  expect(await waiting(other)).toBe(0)
})

describe('limits, repetitions and crashes', () => {
  test('sharing is rejected beyond 10,000 active shares', async () => {
    const [one] = await siblings.pair()
    const { cladeId } = await app.db.prisma.agent.findUniqueOrThrow({ where: { id: one.id } })
    await app.db.pool.query(
      `INSERT INTO clade_shares (id, clade_id, agent_id, entry_id, kind, sealed, digest, manifest, shared_at)
       SELECT 'shr_' || lpad(n::text, 22, 'b'), $1, $2, 'x', 'insight', '\\x00', '\\x00', '', $3 FROM generate_series(1, 10000) n`,
      [cladeId, one.id, app.clock.now()],
    )
    const refused = await siblings.share(one)
    expect(refusal(refused)).toEqual([409, 'conflict'])
    expect(refused.json.detail).toContain('10,000')
    await app.db.pool.query(
      "UPDATE clade_shares SET recalled_at = $2, sealed = NULL WHERE agent_id = $1 AND id LIKE '%b1'",
      [one.id, app.clock.now()],
    )
    expect((await siblings.share(one)).status).toBe(201)
    await app.db.pool.query('DELETE FROM clade_shares WHERE agent_id = $1 AND entry_id = $2', [one.id, 'x'])
  })

  test('an idempotency key with another entry is rejected and sends nothing', async () => {
    const [one, other] = await siblings.pair()
    const by = { token: one.token, headers: { 'Idempotency-Key': `twice-${one.id}` } }
    expect((await siblings.share(one, { entry: sharedInsight }, by)).status).toBe(201)
    const again = await siblings.share(one, { entry: { ...sharedInsight, confidence: 0.9 } }, by)
    expect(again.status).toBeGreaterThanOrEqual(400)
    expect(await waiting(other)).toBe(1)
  })

  test('a crash between storing a share and its deltas stores neither, and no audit entry', async () => {
    const [one, other] = await siblings.pair()
    const entries = () => app.db.prisma.auditEntry.count({ where: { agentId: one.id, action: 'create' } })
    const before = await entries()
    await brokenAt(`INSERT ON clade_deltas FOR EACH ROW WHEN (NEW.agent_id = '${other.id}')`, async () => {
      expect((await siblings.share(one)).status).toBe(500)
      expect([await remaining(one), await waiting(other), await entries()]).toEqual([0, 0, before])
    })
    expect((await siblings.share(one)).status).toBe(201)
  })

  test('a crash during a recall leaves the share unchanged', async () => {
    const [one, other] = await siblings.pair()
    const { share_id: id } = (await siblings.share(one)).json.data
    await siblings.ack(other, (await siblings.deltas(other)).next_after)
    await brokenAt(`UPDATE ON clade_deltas FOR EACH ROW WHEN (NEW.share_id = '${id}')`, async () => {
      expect((await siblings.recall(one, id)).status).toBe(500)
      expect(await remaining(one)).toBe(1)
    })
    expect((await siblings.recall(one, id)).json.data).toMatchObject({ to_acknowledge: 1 })
    expect((await siblings.recall(one, id)).json.data).toMatchObject({ recalled: [], to_acknowledge: 0 })
  })
})

describe('concurrent requests', () => {
  test('siblings that share, fetch and acknowledge concurrently miss nothing and receive nothing twice', async () => {
    const [one, second, third] = await siblings.clade(3)
    if (!one || !second || !third) throw new Error('no clade')
    const seen: { share: string; seq: number }[] = []
    let isDone = false
    async function taking(by: Issued): Promise<void> {
      for (;;) {
        const isLast = isDone
        const { data, next_after } = await siblings.deltas(by)
        for (const { share_id: share, seq } of data) seen.push({ share, seq })
        if (data.length > 0) expect((await siblings.ack(by, next_after)).json.data.delivered).toBe(data.length)
        if (isLast) return
      }
    }
    const sending = Promise.all(
      [one, second].map(async (agent) => {
        const ids: string[] = []
        for (let turn = 0; turn < 6; turn++) ids.push((await siblings.share(agent)).json.data.share_id)
        return ids
      }),
    ).finally(() => {
      isDone = true
    })
    const [sent] = await Promise.all([sending, taking(third)])
    expect(seen.map(({ share }) => share).toSorted()).toEqual(sent.flat().toSorted())
    expect(seen.map(({ seq }) => seq)).toEqual(seen.map(({ seq }) => seq).toSorted((a, b) => a - b))
  })

  test('a recall during fetch, acknowledgement and resharing leaves the share with no sibling', async () => {
    const [one, second, third] = await siblings.clade(3)
    if (!one || !second || !third) throw new Error('no clade')
    for (let turn = 0; turn < 5; turn++) {
      const { share_id: id } = (await siblings.share(one)).json.data
      const held = new Set<string>()
      const take = async (agent: Issued) => {
        const { data, next_after } = await siblings.deltas(agent)
        for (const { action, share_id } of data)
          if (action === 'add') held.add(`${agent.id} ${share_id}`)
          else held.delete(`${agent.id} ${share_id}`)
        if (next_after > 0) await siblings.ack(agent, next_after)
      }
      await Promise.all([
        take(second),
        take(third),
        siblings.share(second, { entry: { ...sharedInsight, parents: [id] } }),
        siblings.recall(one, id),
      ])
      for (const agent of [one, second, third]) await take(agent)
      expect([...held].filter((one) => one.endsWith(id))).toEqual([])
      const left = await app.db.prisma.cladeShare.count({
        where: { recalledAt: null, OR: [{ id }, { parents: { has: id } }] },
      })
      expect(left).toBe(0)
      expect(await app.db.prisma.cladeDelta.count({ where: { shareId: id, NOT: { state: 'recalled' } } })).toBe(0)
    }
  })
})

describe("effects of an owner's rights", () => {
  /** A pair of agents: the sibling has acknowledged the first share and the second one is pending. */
  async function shared(): Promise<[Issued, Issued]> {
    const [one, other] = await siblings.pair()
    await siblings.share(one)
    await siblings.ack(other, (await siblings.deltas(other)).next_after)
    await siblings.share(one)
    return [one, other]
  }
  const subject = (agent: Issued): Subject => ({ account: null, agents: [agent.id] })
  const ways: Record<string, { go: (agent: Issued) => Promise<unknown>; back: (agent: Issued) => Promise<unknown> }> = {
    'a restriction': {
      go: ({ id }) =>
        ask('POST', '/api/privacy/restriction', { cookie: person.cookie, body: { restricted: true, agent_id: id } }),
      back: ({ id }) =>
        ask('POST', '/api/privacy/restriction', { cookie: person.cookie, body: { restricted: false, agent_id: id } }),
    },
    'a withdrawn consent': {
      go: ({ id }) => ask('DELETE', `/v1/auth/consent?agent_id=${id}`, { cookie: person.cookie }),
      back: ({ id }) =>
        ask('POST', '/v1/auth/consent', {
          cookie: person.cookie,
          body: { policy_version: noticeVersion, agent_id: id },
        }),
    },
    'an objection': {
      go: (agent) =>
        app.db.transaction((tx) => app.app.agents.restrict(tx, subject(agent), 'objection', app.clock.now())),
      back: (agent) =>
        app.db.transaction((tx) => app.app.agents.unrestrict(tx, subject(agent), 'objection', app.clock.now())),
    },
  }
  test.each(Object.keys(ways))('%s recalls existing shares immediately and does not restore them', async (name) => {
    const way = ways[name]
    const [one, other] = await shared()
    expect(await remaining(one)).toBe(2)
    await way?.go(one)
    expect(await remaining(one)).toBe(0)
    expect(refusal(await siblings.share(one))).toEqual([403, 'restricted'])
    const { data, next_after } = await siblings.deltas(other)
    expect(data).toMatchObject([{ action: 'remove', payload: null }])
    expect((await siblings.ack(other, next_after)).json.data).toMatchObject({ removed: 1 })
    expect((await ask('GET', at(other.id, '/clade/received'), { token: other.token })).json.data).toEqual([])
    await way?.back(one)
    expect(await remaining(one)).toBe(0)
    expect((await siblings.share(one)).status).toBe(201)
  })

  test('restricting all agents recalls the shares of each', async () => {
    const owner = await signedIn(app)
    const theirs = cladeTesting(app, owner)
    const [one, other] = await theirs.pair()
    for (const agent of [one, other]) await theirs.share(agent)
    const body = { restricted: true }
    expect((await ask('POST', '/api/privacy/restriction', { cookie: owner.cookie, body })).status).toBe(200)
    expect([await remaining(one), await remaining(other)]).toEqual([0, 0])
  })

  test('erasing the sender recalls derived shares of siblings and notifies all recipients', async () => {
    const [one, second, third] = await siblings.clade(3)
    if (!one || !second || !third) throw new Error('no clade')
    const { share_id: id } = (await siblings.share(one)).json.data
    const { share_id: made } = (await siblings.share(second, { entry: { ...sharedInsight, parents: [id] } })).json.data
    for (const agent of [second, third]) await siblings.ack(agent, (await siblings.deltas(agent)).next_after)
    const { runId } = await app.db.transaction((tx) =>
      app.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: subject(one),
        requestedBy: 'user:test',
        reason: 'user_request',
        now: app.clock.now(),
      }),
    )
    await drain(app)
    expect((await app.app.subjectErasures.run(runId))?.state).toBe('done')
    const reported = async (agent: Issued) =>
      (await siblings.deltas(agent)).data.map((one: { action: string; share_id: string }) => [one.action, one.share_id])
    expect(await reported(second)).toEqual([['remove', id]])
    expect((await reported(third)).toSorted()).toEqual(
      [
        ['remove', id],
        ['remove', made],
      ].toSorted(),
    )
  })
})

describe('the token of a paused agent', () => {
  test('cannot register agents', async () => {
    const [one] = await siblings.pair()
    await ask('PUT', at(one.id, '/status'), { cookie: person.cookie, body: { status: 'paused' } })
    const consent = { policy_version: noticeVersion }
    for (const body of [{ consent, agent_id: one.id }, { consent }])
      expect(refusal(await ask('POST', '/v1/auth/register', { token: one.token, body }))).toEqual([403, 'paused'])
  })
})

describe('during the erasure of an agent', () => {
  const fenced = expect.objectContaining({ code: 'KP423' })
  test('no share, delta or card of the agent is written by a transaction that began before', async () => {
    const [one, other, third] = await siblings.clade(3)
    if (!one || !other || !third) throw new Error('no clade')
    const { cladeId } = await app.db.prisma.agent.findUniqueOrThrow({ where: { id: one.id } })
    const now = app.clock.now()
    await app.db.prisma.writeFence.create({
      data: { kind: 'agent', id: one.id, runId: 'run_of_this_test', raisedAt: now },
    })
    const write = (agent: Issued) => [
      app.db.pool.query(
        `INSERT INTO clade_shares (id, clade_id, agent_id, entry_id, kind, digest, manifest, shared_at) VALUES ('shr_' || $2, $1, $2, 'x', 'insight', '\\x00', '', $3)`,
        [cladeId, agent.id, now],
      ),
      app.db.pool.query(
        `INSERT INTO clade_deltas (share_id, agent_id, created_at, expires_at) VALUES ('shr_x', $1, $2, $2)`,
        [agent.id, now],
      ),
      app.db.pool.query(
        `INSERT INTO performance_cards (agent_id, from_at, until_at, returns, sharpe, drawdown, published_at) VALUES ($1, $2, $2, 0, 0, 0, $2)`,
        [agent.id, now],
      ),
    ]
    const refused = await Promise.allSettled(write(one))
    expect(refused).toEqual(refused.map(() => ({ status: 'rejected', reason: fenced })))
    for (const { rowCount } of await Promise.all(write(other))) expect(rowCount).toBe(1)
    // Its siblings still share with each other.
    expect((await siblings.share(other)).json.data?.sent_to).toEqual([third.id])
    await app.db.prisma.writeFence.deleteMany({ where: { id: one.id } })
  })
})
