import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createApp } from '#lib/app.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'
import { hourOf } from '../rules.ts'

const hour = 3_600_000
const day = 24 * hour
let app: TestApp
beforeAll(async () => {
  app = await testApp()
})
afterAll(() => app?.close())

const flush = () => app.app.tokens.use.flush()
const count = (tokenId: string, what: 'reads' | 'writes' | 'refused' = 'reads') =>
  app.app.tokens.use.count(tokenId, what)
const usesOf = async (...tokenIds: string[]) =>
  (
    await app.db.pool.query<{ token_id: string; hour: Date; reads: number; writes: number; refused: number }>(
      'SELECT * FROM token_usage WHERE token_id = ANY($1) ORDER BY hour, token_id',
      [tokenIds],
    )
  ).rows
const total = async (tokenId: string): Promise<number> =>
  (await usesOf(tokenId)).reduce((sum, { reads, writes, refused }) => sum + reads + writes + refused, 0)
const limited = async (reads: number): Promise<Issued> => {
  const agent = await issuedAgent(app, ['read', 'write'], { tier: 'enterprise' })
  await app.db.prisma.agent.update({ where: { id: agent.id }, data: { readsPerMinute: reads } })
  return agent
}
/** A second process with the same database. */
const another = () => createApp({ env: app.app.env, clock: app.clock })

describe('counting the usage of tokens', () => {
  test('reads, writes and rate limit refusals are counted in memory until the next write', async () => {
    const agent = await limited(2)
    const read = () => app.fetch('GET', '/v1/auth/me', { token: agent.token })
    for (const status of [200, 200, 429]) expect((await read()).status).toBe(status)
    expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: trace() })).status).toBe(201)
    // Rejected for another reason, so the request itself was admitted.
    expect((await app.fetch('POST', '/v1/knowledge', { token: agent.token, body: { surprise: 1 } })).status).toBe(422)
    expect(await usesOf(agent.tokenId)).toEqual([])
    await flush()
    expect(await usesOf(agent.tokenId)).toEqual([
      { token_id: agent.tokenId, hour: hourOf(app.clock.now()), reads: 2, writes: 2, refused: 1 },
    ])
    await flush()
    expect(await total(agent.tokenId)).toBe(5)
  })

  test('ignores people, anonymous requests, unlimited operations and inactive tokens', async () => {
    const before = (await app.db.pool.query('SELECT count(*)::int AS n FROM token_usage')).rows[0].n
    const { cookie } = await signedIn(app)
    await app.fetch('GET', '/v1/auth/me', { cookie })
    await app.fetch('GET', '/v1/knowledge')
    const agent = await issuedAgent(app, ['read'])
    await app.fetch('GET', '/v1/auth/notice', { token: agent.token })
    await app.db.prisma.token.update({
      where: { id: agent.tokenId },
      data: { revokedAt: app.clock.now(), revokedReason: 'admin' },
    })
    expect((await app.fetch('GET', '/v1/auth/me', { token: agent.token })).status).toBe(401)
    await flush()
    expect((await app.db.pool.query('SELECT count(*)::int AS n FROM token_usage')).rows[0].n).toBe(before)
  })

  test('uses the hour of business time', async () => {
    const { tokenId } = await issuedAgent(app, ['read'])
    app.clock.advance(hour - (app.clock.now().getTime() % hour) - 1)
    count(tokenId)
    app.clock.advance(1)
    count(tokenId, 'writes')
    await flush()
    const now = app.clock.now().getTime()
    expect(await usesOf(tokenId)).toMatchObject([
      { hour: new Date(now - hour), reads: 1, writes: 0 },
      { hour: new Date(now), reads: 0, writes: 1 },
    ])
  })
})

describe('usage counts collected in memory', () => {
  test('usage counts that several processes collected in memory are summed exactly in any order', async () => {
    const tokens = await Promise.all(Array.from({ length: 40 }, () => issuedAgent(app, ['read'])))
    const ids = tokens.map(({ tokenId }) => tokenId)
    const others = [another(), another()]
    try {
      for (let round = 0; round < 10; round++) {
        const shuffled = ids.toSorted(() => Math.random() - 0.5)
        for (const id of shuffled) count(id)
        for (const other of others) for (const id of shuffled.toReversed()) other.tokens.use.count(id, 'writes')
        await Promise.all([flush(), flush(), ...others.map(({ tokens: { use } }) => use.flush())])
      }
      const rows = await usesOf(...ids)
      expect(rows).toHaveLength(40)
      for (const row of rows) expect(row).toMatchObject({ reads: 10, writes: 20, refused: 0 })
    } finally {
      await Promise.all(others.map((other) => other.close()))
    }
  })

  test('are written when the process closes', async () => {
    const { tokenId } = await issuedAgent(app, ['read'])
    const other = another()
    other.tokens.use.count(tokenId, 'refused')
    await other.close()
    expect(await usesOf(tokenId)).toMatchObject([{ reads: 0, writes: 0, refused: 1 }])
  })

  test('are kept while the database rejects them, and written once', async () => {
    const { tokenId } = await issuedAgent(app, ['read'])
    const renamed = (from: string, to: string) =>
      withConnection(app.ownerUrl, (owner) => owner.query(`ALTER TABLE ${from} RENAME TO ${to}`))
    count(tokenId)
    await renamed('token_usage', 'token_usage_away')
    try {
      await expect(flush()).rejects.toThrow()
      count(tokenId)
    } finally {
      await renamed('token_usage_away', 'token_usage')
    }
    await flush()
    expect(await total(tokenId)).toBe(2)
  })

  test('are bounded: counts beyond the maximum are dropped, and later counts are recorded', async () => {
    const { tokenId } = await issuedAgent(app, ['read'])
    for (let n = 0; n < 25_000; n++) count(`tok_of-nobody-${n}`)
    count(tokenId)
    await flush()
    expect(await total(tokenId)).toBe(0)
    count(tokenId)
    await flush()
    expect(await total(tokenId)).toBe(1)
  })
})

describe('erasure and retention of usage counts', () => {
  test('counts collected for an erased token are dropped, and others are written', async () => {
    const deleted = await issuedAgent(app, ['read'])
    const stays = await issuedAgent(app, ['read'])
    count(deleted.tokenId)
    count(stays.tokenId)
    await app.db.prisma.token.delete({ where: { id: deleted.tokenId } })
    await flush()
    expect(await usesOf(deleted.tokenId, stays.tokenId)).toMatchObject([{ token_id: stays.tokenId, reads: 1 }])
  })

  test('counts are dropped when an erasure runs during their write', async () => {
    const deleted = await issuedAgent(app, ['read'])
    const stays = await issuedAgent(app, ['read'])
    count(deleted.tokenId)
    count(stays.tokenId)
    await withConnection(app.ownerUrl, async (owner) => {
      await owner.query('BEGIN')
      await owner.query('DELETE FROM tokens WHERE id = $1', [deleted.tokenId])
      const written = flush()
      await expect
        .poll(
          async () =>
            (
              await app.db.pool.query(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'",
              )
            ).rowCount,
          { timeout: 120_000, interval: 20 },
        )
        .toBe(1)
      await owner.query('COMMIT')
      await written
    })
    expect(await usesOf(deleted.tokenId, stays.tokenId)).toMatchObject([{ token_id: stays.tokenId, reads: 1 }])
  })

  test('the data source erases usage with its token, and reports residue', async () => {
    const agent = await issuedAgent(app, ['read'])
    count(agent.tokenId)
    await flush()
    const dataSource = app.app.dataSources.find(({ name }) => name === 'tokens')
    if (!dataSource) throw new Error('no holder of tokens')
    const subject = { account: null, agents: [agent.id] }
    const now = app.clock.now()
    const { items } = await app.db.transaction((tx) => dataSource.plan({ subject }, tx, now))
    expect(items).toEqual([agent.tokenId])
    expect(await dataSource.residue({ subject: { account: null, agents: [] } }, items, now)).toBe(1)
    await app.db.transaction((tx) => dataSource.erase({ subject }, items, tx))
    expect(await usesOf(agent.tokenId)).toEqual([])
    expect(await dataSource.residue({ subject }, items, now)).toBe(0)
  })

  test('counts are deleted after 90 days, not earlier', async () => {
    const { tokenId } = await issuedAgent(app, ['read'])
    const purge = async () => {
      for (const job of app.app.jobs.filter(({ name }) => name === 'tokens.purge'))
        await job.execute(app.app.pipeline, {})
    }
    count(tokenId)
    await flush()
    app.clock.advance(90 * day - hour)
    await purge()
    expect(await total(tokenId)).toBe(1)
    app.clock.advance(2 * hour)
    await purge()
    expect(await total(tokenId)).toBe(0)
  })
})

test('an agent’s export contains usage as derived data, and an export with scope=provided omits the usage', async () => {
  const agent = await issuedAgent(app, ['read'])
  count(agent.tokenId, 'writes')
  await flush()
  const exported = async (scope: string) =>
    (await app.fetch('GET', `/v1/export/${agent.id}?scope=${scope}`, { token: agent.token })).json
  expect((await exported('all')).token_usage).toEqual([
    { token_id: agent.tokenId, hour: hourOf(app.clock.now()).toISOString(), reads: 0, writes: 1, refused: 0 },
  ])
  expect(await exported('provided')).not.toHaveProperty('token_usage')
})
