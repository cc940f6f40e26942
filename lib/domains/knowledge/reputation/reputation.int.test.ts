import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { award, withdraw } from './service.ts'

let test: TestApp
let stranger: { id: string; token: string }
beforeAll(async () => {
  test = await testApp()
  stranger = await test.agent()
})
afterAll(() => test.close())

const day = 86_400_000
const agent = () => issuedAgent(test, ['read', 'write'], { tier: 'pro' })
const contribute = (token: string, body: unknown = trace()) => test.fetch('POST', '/v1/knowledge', { token, body })
const of = async (id: string, token = stranger.token, query = '') =>
  test.fetch('GET', `/v1/reputation/${id}${query}`, { token })
const scoreOf = async (id: string): Promise<number> => (await of(id)).json.data.score
/** Invariant: a score is the sum of its ledger. */
const isBalanced = async (id: string): Promise<boolean> => {
  const rows = await test.db.query<{ ok: boolean }>(
    undefined,
    `SELECT abs(coalesce((SELECT score FROM reputation WHERE agent_id = $1), 0)
      - coalesce((SELECT sum(change) FROM reputation_ledger WHERE agent_id = $1), 0)) < 1e-9 AS ok`,
    [id],
  )
  return rows[0]?.ok === true
}

describe('gains', () => {
  it('are zero after registering', async () => {
    const { status, json } = await of((await test.agent()).id)
    expect([status, json.data.score, json.data.ledger, json.total]).toEqual([200, 0, [], 0])
  })

  it('are 0.2 for a unit, 0.15 for an SOP, 0.1 for a skill, each with a ledger row, newest first', async () => {
    const { id, token } = await agent()
    const ids = []
    for (const unit of [trace(), sop()]) {
      ids.unshift((await contribute(token, unit)).json.data.id)
      test.clock.advance(1_000)
    }
    const skill = await test.fetch('POST', '/v1/skills', { token, body: { skill_md: skillMd('gain') } })
    ids.unshift(skill.json.data.id)
    const { json } = await of(id, token)
    expect(json.data.score).toBe(0.45)
    expect(json.data.ledger.map(({ change, reason }: { change: number; reason: string }) => [reason, change])).toEqual([
      ['skill', 0.1],
      ['sop', 0.15],
      ['unit', 0.2],
    ])
    expect(json.data.ledger.map(({ subject_id }: { subject_id: string }) => subject_id)).toEqual(ids)
    expect(await isBalanced(id)).toBe(true)
  })

  it('are zero for rejected contributions', async () => {
    const { id, token } = await agent()
    await contribute(token, trace({ id: `kp:trace:${id}` }))
    expect((await contribute(token, trace({ id: `kp:trace:${id}` }))).status).toBe(409)
    expect((await contribute(token, { nonsense: 1 })).status).toBe(422)
    expect(await scoreOf(id)).toBe(0.2)
  })

  it('are at most 4 per UTC day, exactly, also for concurrent requests', async () => {
    const { id, token } = await agent()
    const responses = await Promise.all(Array.from({ length: 30 }, () => contribute(token)))
    expect(new Set(responses.map(({ status }) => status))).toEqual(new Set([201]))
    expect([await scoreOf(id), await isBalanced(id)]).toEqual([4, true])
    expect((await of(id)).json.total).toBe(20)
    test.clock.advance(day)
    await contribute(token)
    expect([await scoreOf(id), await isBalanced(id)]).toEqual([4.2, true])
  })

  it('take no lock after the daily cap, so a locked row blocks no contribution', async () => {
    const { id, token } = await agent()
    await Promise.all(Array.from({ length: 20 }, () => contribute(token)))
    const other = await test.db.pool.connect()
    try {
      await other.query('BEGIN')
      await other.query('SELECT 1 FROM reputation WHERE agent_id = $1 FOR UPDATE', [id])
      expect((await contribute(token)).status).toBe(201)
    } finally {
      await other.query('ROLLBACK')
      other.release()
    }
    expect(await scoreOf(id)).toBe(4)
  })

  it('are equal for concurrent and sequential awards: in order up to the cap, once per subject and reason', async () => {
    const { id } = await agent()
    const give = (reason: 'unit' | 'sop' | 'skill' | 'vote', subjects: string[]) =>
      test.app.pipeline.transaction((tx) => award(tx, id, reason, subjects, test.clock.now()))
    const named = (name: string, count: number) => Array.from({ length: count }, (_, n) => `kp:trace:${id}-${name}${n}`)
    expect(await give('unit', [])).toBe(0)
    expect(await give('vote', named('v', 25))).toBe(20)
    expect(await give('vote', named('w', 1))).toBe(0)
    expect(await give('unit', ['kp:trace:once', 'kp:trace:once'])).toBe(1)
    expect(await give('unit', ['kp:trace:once'])).toBe(0)
    const several = await Promise.all([
      give('unit', named('a', 9)),
      give('unit', named('b', 9)),
      give('sop', named('c', 9)),
    ])
    expect(several.reduce((sum, n) => sum + n)).toBeGreaterThanOrEqual(14)
    expect(await give('unit', named('d', 9))).toBe(0)
    const score = await scoreOf(id)
    expect([score <= 4, score > 3.8, await isBalanced(id)]).toEqual([true, true, true])
  })
})

describe('revoking reputation', () => {
  it("erasing a unit revokes its author's gain and the voters' gains", async () => {
    const author = await agent()
    const voter = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const { json } = await contribute(author.token)
    const vote = await test.fetch('POST', `/v1/knowledge/${json.data.id}/validate`, {
      token: voter.token,
      body: { valid: true },
    })
    expect(vote.status).toBe(201)
    expect([await scoreOf(author.id), await scoreOf(voter.id)]).toEqual([0.2, 0.05])
    expect((await test.fetch('DELETE', `/v1/knowledge/${json.data.id}`, { token: author.token })).status).toBe(204)
    expect([await scoreOf(author.id), await scoreOf(voter.id)]).toEqual([0, 0])
    expect(await test.db.prisma.reputationEntry.count({ where: { subjectId: json.data.id } })).toBe(0)
  })

  it('revoked gains cannot be earned again on the same day', async () => {
    const { id, token } = await agent()
    const made = await Promise.all(Array.from({ length: 20 }, () => contribute(token)))
    await test.fetch('DELETE', `/v1/knowledge/${made[0]?.json.data.id}`, { token })
    await contribute(token)
    expect([await scoreOf(id), await isBalanced(id)]).toEqual([3.8, true])
  })

  it('concurrent revocations for the same agents do not deadlock', async () => {
    const [one, two] = [await agent(), await agent()]
    const subjects = Array.from({ length: 10 }, (_, n) => `kp:trace:${one.id}-${n}`)
    for (const { id } of [one, two])
      await test.app.pipeline.transaction((tx) => award(tx, id, 'vote', subjects, test.clock.now()))
    await Promise.all(
      subjects.map((subject) => test.app.pipeline.transaction((tx) => withdraw(tx, [subject], test.clock.now()))),
    )
    for (const { id } of [one, two]) expect([await scoreOf(id), await isBalanced(id)]).toEqual([0, true])
  })
})

describe('audit log', () => {
  const entriesOf = (id: string) =>
    test.db.query<{ action: string; agent_id: string; ip: string; details: Record<string, unknown> }>(
      undefined,
      `SELECT action, agent_id, ip, details FROM audit_entries WHERE resource_type = 'reputation' AND resource_id = $1 ORDER BY at, id`,
      [id],
    )
  const entry = (details: Record<string, unknown>) => ({
    action: 'update',
    agent_id: 'system:reputation',
    ip: '',
    details,
  })

  it('gets one entry with reason and count per agent whose reputation changes', async () => {
    const author = await agent()
    const voter = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const id = (await contribute(author.token)).json.data.id
    test.clock.advance(1_000)
    await test.fetch('POST', `/v1/knowledge/${id}/validate`, { token: voter.token, body: { valid: true } })
    test.clock.advance(1_000)
    await test.fetch('POST', '/v1/knowledge/batch', { token: author.token, body: { units: [trace(), trace(), sop()] } })
    await test.fetch('DELETE', `/v1/knowledge/${id}`, { token: author.token })
    const [ofAuthor, ofVoter] = [await entriesOf(author.id), await entriesOf(voter.id)]
    expect(ofAuthor).toHaveLength(4)
    expect(ofAuthor).toEqual(
      expect.arrayContaining([
        entry({ reason: 'unit', gains: 1 }),
        entry({ reason: 'unit', gains: 2 }),
        entry({ reason: 'sop', gains: 1 }),
        entry({ reason: 'erased', withdrawn: 1 }),
      ]),
    )
    expect(ofVoter).toHaveLength(2)
    expect(ofVoter).toEqual(
      expect.arrayContaining([entry({ reason: 'vote', gains: 1 }), entry({ reason: 'erased', withdrawn: 1 })]),
    )
    expect(JSON.stringify([ofAuthor, ofVoter])).not.toContain(id)
  })

  it('gets no entry after the daily cap, and none from a transaction that rolls back', async () => {
    const { id } = await agent()
    const subjects = Array.from({ length: 21 }, (_, n) => `kp:trace:${id}-${n}`)
    const give = (subject: string[]) =>
      test.app.pipeline.transaction((tx) => award(tx, id, 'vote', subject, test.clock.now()))
    await give(subjects)
    await give(subjects.slice(20))
    expect(await entriesOf(id)).toEqual([entry({ reason: 'vote', gains: 20 })])
    const rolledBack = test.app.pipeline.transaction(async (tx) => {
      await award(tx, id, 'unit', ['kp:trace:rolled-back'], test.clock.now())
      throw new Error('rolled back')
    })
    await expect(rolledBack).rejects.toThrow('rolled back')
    expect(await entriesOf(id)).toHaveLength(1)
  })
})

describe('access', () => {
  it('returns gains without their subjects to others, and with them to the agent, its owner and admins', async () => {
    const person = await signedIn(test)
    const { id, token } = await issuedAgent(test, ['read', 'write'], { owner: person })
    const subject = (await contribute(token, trace({}, { visibility: 'private' }))).json.data.id
    const admin = await issuedAgent(test, ['admin'])
    const subjectFor = async (who: { token?: string; cookie?: string }) =>
      (await test.fetch('GET', `/v1/reputation/${id}`, who)).json.data.ledger[0].subject_id
    expect([
      await subjectFor({ token: stranger.token }),
      await subjectFor({ token }),
      await subjectFor({ cookie: person.cookie }),
      await subjectFor({ token: admin.token }),
    ]).toEqual([null, subject, subject, subject])
  })

  it('returns 404 for a missing or restricted agent; a restricted one is visible to itself and admins', async () => {
    const restricted = await test.agent()
    await contribute(restricted.token)
    await test.fetch('DELETE', '/v1/auth/consent', { token: restricted.token })
    const admin = await issuedAgent(test, ['admin'])
    const [hidden, absent] = [await of(restricted.id), await of('nobody-here')]
    expect([hidden.status, absent.status]).toEqual([404, 404])
    expect({ ...hidden.json, instance: '' }).toEqual({ ...absent.json, instance: '' })
    expect([(await of(restricted.id, restricted.token)).status, (await of(restricted.id, admin.token)).status]).toEqual(
      [200, 200],
    )
  })

  it('is rejected for requests without a token', async () => {
    expect((await test.fetch('GET', `/v1/reputation/${stranger.id}`)).json.code).toBe('token_missing')
    expect((await test.fetch('GET', '/v1/reputation/leaderboard')).json.code).toBe('token_missing')
  })

  it('returns the ledger in pages', async () => {
    const { id, token } = await agent()
    for (let n = 0; n < 5; n++) await contribute(token)
    const first = (await of(id, token, '?limit=3')).json
    const second = (await of(id, token, `?limit=3&cursor=${first.next_cursor}`)).json
    const subjects = [first, second].flatMap(({ data }) =>
      data.ledger.map((entry: { subject_id: string }) => entry.subject_id),
    )
    expect([new Set(subjects).size, first.total, second.next_cursor]).toEqual([5, 5, null])
    expect((await of(id, token, '?offset=4')).json.data.ledger).toHaveLength(1)
    for (const query of ['?cursor=x', '?limit=0', '?offset=-1', `?offset=1&cursor=${first.next_cursor}`])
      expect((await of(id, token, query)).status).toBe(422)
  })
})

describe('leaderboard', () => {
  it('ranks by score, shares ranks for equal scores, omits restricted agents, and is the same by page', async () => {
    const own = await testApp()
    try {
      const scores = [3, 1, 2, 2, 2, 1, 0]
      const ids: string[] = []
      for (const [n, score] of scores.entries()) {
        const { id } = await own.agent(['read', 'write'], { agent_id: `leader-${n}` })
        ids.push(id)
        await own.db.prisma
          .$executeRaw`INSERT INTO reputation (agent_id, score, day, gained_today, voted_today) VALUES (${id}, ${score}::float8, '2026-01-01', 0, 0)`
      }
      const { token } = await own.agent(['read', 'write'], { agent_id: 'leader-restricted' })
      await own.db.prisma
        .$executeRaw`INSERT INTO reputation (agent_id, score, day, gained_today, voted_today) VALUES ('leader-restricted', 9, '2026-01-01', 0, 0)`
      await own.fetch('DELETE', '/v1/auth/consent', { token })
      const page = async (query: string) =>
        (await own.fetch('GET', `/v1/reputation/leaderboard${query}`, { token })).json
      const { data, total } = await page('')
      const expected = [
        [1, 'leader-0', 3],
        [2, 'leader-2', 2],
        [2, 'leader-3', 2],
        [2, 'leader-4', 2],
        [5, 'leader-1', 1],
        [5, 'leader-5', 1],
      ]
      const flat = (rows: { rank: number; agent_id: string; score: number }[]) =>
        rows.map(({ rank, agent_id, score }) => [rank, agent_id, score])
      expect([flat(data), total]).toEqual([expected, 6])
      const paged: unknown[] = []
      for (let cursor = ''; ; ) {
        const next = await page(`?limit=2${cursor}`)
        paged.push(...flat(next.data))
        if (next.next_cursor === null) break
        cursor = `&cursor=${next.next_cursor}`
      }
      expect(paged).toEqual(expected)
      expect(flat((await page('?offset=3&limit=1')).data)).toEqual([expected[3]])
      for (const query of [
        '?cursor=x',
        `?cursor=${Buffer.from('[9,"a\'b"]').toString('base64url')}`,
        '?limit=101',
        '?offset=',
        '?offset=%20',
      ])
        expect((await own.fetch('GET', `/v1/reputation/leaderboard${query}`, { token })).status).toBe(422)
    } finally {
      await own.close()
    }
  })
})
