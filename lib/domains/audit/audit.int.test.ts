import pg from 'pg'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newUuid } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

const day = 86_400_000
const insert = async (
  entries: { at: Date; agentId?: string; resourceId?: string; details?: object }[],
): Promise<void> => {
  await test.db.prisma.auditEntry.createMany({
    data: entries.map(({ at, agentId = 'tester', resourceId = 'x', details = {} }) => ({
      id: newUuid(),
      at,
      action: 'read',
      agentId,
      resourceType: 'knowledge',
      resourceId,
      ip: '192.0.2.1',
      details,
    })),
  })
}
const adminToken = async (): Promise<string> => {
  const { id } = await test.agent()
  return (
    await test.db.transaction((tx) =>
      test.app.tokens.issue(tx, {
        agentId: id,
        scopes: ['admin', 'read'],
        name: null,
        expiresAt: null,
        now: new Date(),
      }),
    )
  ).key
}

describe('the audit log', () => {
  it('lets the application role insert and read entries, and rejects every other statement', async () => {
    await insert([{ at: new Date() }])
    const partitions = await test.db.pool.query<{ name: string }>(
      "SELECT inhrelid::regclass::text AS name FROM pg_inherits WHERE inhparent = 'audit_entries'::regclass",
    )
    expect(partitions.rows.length).toBeGreaterThan(7)
    const statements = [
      "UPDATE audit_entries SET agent_id = 'x'",
      'DELETE FROM audit_entries',
      'TRUNCATE audit_entries',
      'DROP TABLE audit_entries',
      'ALTER TABLE audit_entries DISABLE TRIGGER ALL',
      ...partitions.rows.map(({ name }) => `DELETE FROM ${name}`),
      ...partitions.rows.map(({ name }) => `INSERT INTO ${name} SELECT * FROM audit_entries LIMIT 1`),
    ]
    for (const sql of statements) await expect(test.db.pool.query(sql), sql).rejects.toMatchObject({ code: '42501' })
  })

  it('stores the entry before the response is sent, also for a read', async () => {
    const { id, token } = await test.agent()
    const { json } = await test.fetch('POST', '/v1/knowledge', { token, body: trace() })
    const unit: string = json.data.id
    await Promise.all(Array.from({ length: 20 }, () => test.fetch('GET', `/v1/knowledge/${unit}`, { token })))
    const found = await test.app.audit.query({ agent_id: id, action: 'read', resource_id: unit }, test.clock.now())
    expect(found).toHaveLength(20)
    expect(found[0]).toMatchObject({ agentId: id, resourceType: 'knowledge', resourceId: unit, ip: '127.0.0.1' })
  })

  it('leaves neither row nor entry when the transaction of a mutation fails', async () => {
    const before = await test.db.prisma.auditEntry.count()
    await expect(
      test.app.pipeline.transaction(async (tx) => {
        await test.app.pipeline.auditWithin(tx, {
          action: 'create',
          actorId: 'a',
          resourceType: 'knowledge',
          resourceId: 'b',
          at: new Date(),
          ip: '',
          details: {},
        })
        throw new Error('no')
      }),
    ).rejects.toThrow('no')
    expect(await test.db.prisma.auditEntry.count()).toBe(before)
  })
})

describe('retention of 90 days', () => {
  it('query hides entries older than 90 days to the millisecond, purged or not', async () => {
    const now = test.clock.now()
    const agentId = 'old-timer'
    await insert([
      { at: new Date(now.getTime() - 90 * day - 1), agentId },
      { at: new Date(now.getTime() - 90 * day), agentId },
      { at: new Date(now.getTime() - 1), agentId },
    ])
    expect(await test.app.audit.query({ agent_id: agentId }, now)).toHaveLength(2)
    expect(await test.app.audit.query({ agent_id: agentId, from: new Date(0) }, now)).toHaveLength(2)
  })

  it('purge deletes only entries older than 90 days, whatever time it is given', async () => {
    const agentId = 'purged'
    const now = Date.now()
    await insert([
      { at: new Date(now - 91 * day), agentId },
      { at: new Date(now - 200 * day), agentId },
      { at: new Date(now - 89 * day), agentId },
      { at: new Date(now), agentId },
    ])
    await test.db.pool.query("SELECT audit_purge(now() + interval '10 years')")
    const left = await test.db.prisma.auditEntry.findMany({ where: { agentId }, orderBy: { at: 'asc' } })
    expect(left.map(({ at }) => Math.round((now - at.getTime()) / day))).toEqual([89, 0])
  })

  it('purge drops whole days as partitions, and a new partition takes over its entries from the default one', async () => {
    const owner = new pg.Client({ connectionString: test.ownerUrl })
    await owner.connect()
    try {
      const old = new Date(Date.now() - 100 * day).toISOString().slice(0, 10)
      const next = new Date(Date.now() - 99 * day).toISOString().slice(0, 10)
      const name = `audit_entries_${old.replaceAll('-', '')}`
      await owner.query(
        `CREATE TABLE ${name} PARTITION OF audit_entries FOR VALUES FROM ('${old} 00:00:00+00') TO ('${next} 00:00:00+00')`,
      )
      await insert([{ at: new Date(`${old}T12:00:00Z`), agentId: 'whole-day' }])
      await test.db.pool.query('SELECT audit_purge(now())')
      expect((await owner.query('SELECT to_regclass($1) AS t', [name])).rows[0].t).toBeNull()

      const ahead = new Date(Date.now() + 20 * day)
      await insert([{ at: ahead, agentId: 'from-default' }])
      await test.db.pool.query('SELECT audit_ensure_partitions(21)')
      const { rows } = await owner.query(
        "SELECT tableoid::regclass::text AS t FROM audit_entries WHERE agent_id = 'from-default'",
      )
      expect(rows.map(({ t }) => t)).toEqual([`audit_entries_${ahead.toISOString().slice(0, 10).replaceAll('-', '')}`])
    } finally {
      await owner.end()
    }
  })

  it('the upkeep job purges and creates partitions', async () => {
    await insert([{ at: new Date(Date.now() - 95 * day), agentId: 'by-job' }])
    for (const job of test.app.jobs.filter(({ name }) => name === 'audit.upkeep'))
      await job.execute(test.app.pipeline, {})
    expect(await test.db.prisma.auditEntry.count({ where: { agentId: 'by-job' } })).toBe(0)
  })
})

describe('query', () => {
  it('returns only its own entries to an agent, whatever the filters, and all entries to an admin', async () => {
    const mine = await test.agent()
    await insert([{ at: new Date(), agentId: 'somebody-else', resourceId: 'theirs' }])
    for (const path of ['/v1/audit', '/v1/audit?agent_id=somebody-else', '/v1/audit?resource_id=theirs']) {
      const { json } = await test.fetch('GET', path, { token: mine.token })
      expect(json.data.filter(({ agentId }: { agentId: string }) => agentId !== mine.id)).toEqual([])
    }
    const seen = await test.fetch('GET', '/v1/audit?resource_id=theirs', { token: await adminToken() })
    expect(seen.json.data).toHaveLength(1)
  })

  it('pages through every entry once, newest first, also when times are equal', async () => {
    const at = new Date(Date.now() - 3 * day)
    await insert(
      Array.from({ length: 55 }, (_, i) => ({ at: i < 30 ? at : new Date(at.getTime() + i), agentId: 'paged' })),
    )
    const token = await adminToken()
    const ids: string[] = []
    let cursor: string | null = ''
    while (cursor !== null) {
      const { json } = await test.fetch('GET', `/v1/audit?agent_id=paged&limit=10${cursor && `&cursor=${cursor}`}`, {
        token,
      })
      expect(json.total).toBe(55)
      ids.push(...json.data.map(({ id }: { id: string }) => id))
      cursor = json.next_cursor
    }
    expect([ids.length, new Set(ids).size]).toEqual([55, 55])
  })

  it.each([
    'limit=0',
    'limit=101',
    'limit=999999999999',
    'limit=x',
    'cursor=abc',
    'cursor=%00',
    'from=yesterday',
    'action=destroy',
    'surprise=1',
    'limit=1&limit=2',
  ])('rejects %s', async (query) => {
    const { token } = await test.agent()
    const response = await test.fetch('GET', `/v1/audit?${query}`, { token })
    expect([response.status, response.json.code]).toEqual([422, 'invalid'])
  })

  it('matches text literally: wildcards and quotes match only themselves', async () => {
    await insert([
      { at: new Date(), agentId: 'texts', resourceId: "100%_o'clock" },
      { at: new Date(), agentId: 'texts', resourceId: 'plain' },
    ])
    const token = await adminToken()
    for (const [q, n] of [
      ['%', 1],
      ["o'clock", 1],
      ['_', 1],
      ['PLAIN', 1],
      ['\\', 0],
    ] as const) {
      const { json } = await test.fetch('GET', `/v1/audit?agent_id=texts&q=${encodeURIComponent(q)}`, { token })
      expect([q, json.data.length]).toEqual([q, n])
    }
  })

  it('exports the filtered entries as JSON Lines and as CSV without formulas', async () => {
    await insert([
      { at: new Date(), agentId: 'exported', resourceId: '=HYPERLINK("http://x")', details: { n: 1 } },
      { at: new Date(), agentId: 'exported', resourceId: 'a,"b"\nc' },
    ])
    const token = await adminToken()
    const jsonl = await test.fetch('GET', '/v1/audit/export?agent_id=exported', { token })
    expect(jsonl.headers.get('content-type')).toContain('application/jsonl')
    expect(
      jsonl.text
        .trim()
        .split('\n')
        .map((line) => JSON.parse(line).agentId),
    ).toEqual(['exported', 'exported'])
    const csv = await test.fetch('GET', '/v1/audit/export?agent_id=exported&format=csv', { token })
    expect(csv.headers.get('content-type')).toContain('text/csv')
    const headers = { Authorization: `Bearer ${token}` }
    const raw = await fetch(`${test.url}/v1/audit/export?agent_id=nobody&format=csv`, { headers })
    expect([...Buffer.from(await raw.arrayBuffer()).subarray(0, 5)]).toEqual([0xef, 0xbb, 0xbf, 0x69, 0x64])
    expect(csv.text).toContain(`"'=HYPERLINK(""http://x"")"`)
    expect(csv.text).toContain('"a,""b""\nc"')
    const entries = await test.app.audit.query({ action: 'export', resource_type: 'audit' }, test.clock.now())
    expect(entries.length).toBe(3)
  })

  it('stores.auditLog.query returns every entry page by page, and rejects other limits', async () => {
    const agentId = `paged-${Date.now()}`
    await insert(Array.from({ length: 23 }, (_, n) => ({ at: new Date(), agentId, resourceId: `entry-${n}` })))
    const found: string[] = []
    let pages = 0
    for (let cursor: string | null | undefined; cursor !== null; pages += 1) {
      const page = await test.app.stores.auditLog.query({ agentId, limit: 10, ...(cursor && { cursor }) })
      found.push(...page.map(({ resourceId }) => resourceId))
      cursor = page.nextCursor
    }
    expect([pages, new Set(found).size, found.length]).toEqual([3, 23, 23])
    await expect(test.app.stores.auditLog.query({ agentId, limit: 501 })).rejects.toThrow(RangeError)
  })

  it('exports hold neither a connection nor a lock when readers stop reading', async () => {
    const { id, token } = await test.agent()
    await insert(
      Array.from({ length: 20_000 }, () => ({ at: new Date(), agentId: id, details: { filler: 'x'.repeat(100) } })),
    )
    const stalled = await Promise.all(
      Array.from({ length: 12 }, () =>
        fetch(`${test.url}/v1/audit/export`, { headers: { Authorization: `Bearer ${token}` } }),
      ),
    )
    // There are more readers than connections: if each reader held one, this request would time out with 503.
    expect((await test.fetch('GET', '/v1/auth/me', { token })).status).toBe(200)
    const idleTransactions = async () =>
      (
        await test.db.pool.query(
          "SELECT FROM pg_stat_activity WHERE state = 'idle in transaction' AND datname = current_database()",
        )
      ).rowCount
    await expect.poll(idleTransactions, { timeout: 120_000 }).toBe(0)
    await Promise.all(stalled.map((response) => response.body?.cancel()))
  })

  it('hides the address of others who acted as an agent from its owner', async () => {
    const person = await signedIn(test)
    const owned = await issuedAgent(test, ['read'], { owner: person })
    await test.fetch('GET', '/v1/auth/me', { token: owned.token })
    const { json } = await test.fetch('GET', '/v1/audit', { cookie: person.cookie })
    const theirs = json.data.filter(({ agentId }: { agentId: string }) => agentId === owned.id)
    expect(theirs.length).toBeGreaterThan(0)
    expect(new Set(theirs.map(({ ip }: { ip: string }) => ip))).toEqual(new Set(['']))
    const own = await test.fetch('GET', '/v1/audit', { token: owned.token })
    expect(own.json.data[0].ip).toBe('127.0.0.1')
  })

  it('rejects forged cursors', async () => {
    const forged = (value: unknown) => Buffer.from(JSON.stringify(value)).toString('base64url')
    for (const path of ['/v1/audit', '/v1/auth/tokens'])
      for (const value of [
        [0, 'x'],
        [Date.now(), 'a\u0000b'],
        [-8.64e15, 'x'],
        [Date.now(), "x' OR 1=1"],
      ]) {
        const response = await test.fetch('GET', `${path}?cursor=${forged(value)}`, {
          token: (await test.agent()).token,
        })
        expect([path, value, response.status]).toEqual([path, value, 422])
      }
  })
})
