import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { blockedBy } from '#lib/testing/blocked.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { personWithPassword } from '#lib/testing/subjects.ts'

let kit: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  kit = await privacyTest()
  test = kit.test
})
afterAll(() => kit.close())

const hour = 3_600_000

describe('a flood of requests', () => {
  it('is limited to five of a kind per token and day, causes no emails to the owner, and does not block the owner', async () => {
    const owner = await personWithPassword(test)
    const agent = await issuedAgent(test, ['read'], { owner })
    const ask = () => test.fetch('POST', '/api/privacy/requests', { token: agent.token, body: { kinds: ['access'] } })
    const responses = await Promise.all(Array.from({ length: 8 }, ask))
    expect(responses.map(({ status }) => status).sort()).toEqual([201, 201, 201, 201, 201, 429, 429, 429])
    const refused = responses.find(({ status }) => status === 429)
    expect([refused?.json.code, refused?.headers.get('retry-after')]).toEqual(['rate_limited', String(24 * 3600)])
    expect(
      (await test.fetch('POST', '/api/privacy/requests', { token: agent.token, body: { kinds: ['portability'] } }))
        .status,
    ).toBe(201)
    await kit.work()
    expect(kit.emailsTo(owner.email)).toEqual([])
    const rows = await test.db.prisma.privacyRequest.findMany({ where: { agentId: agent.id } })
    expect(rows.map(({ state, contact }) => [state, contact])).toEqual(rows.map(() => ['completed', null]))
    const own = await kit.file(owner.cookie, { kinds: ['access'], agent_id: agent.id, password: owner.password })
    expect([own.status, own.json.data.state]).toEqual([201, 'completed'])
    test.clock.advance(24 * hour)
    expect((await ask()).status).toBe(201)
  })

  it('without proof of identity does not block a request with a password', async () => {
    const person = await personWithPassword(test)
    const kinds = ['restriction']
    const statuses = []
    for (let n = 0; n < 6; n++) {
      const made = await kit.file(person.cookie, { kinds })
      statuses.push(made.status)
      if (made.status === 201) await kit.act(person.cookie, made.json.data.id, 'cancel')
      // Also limited: three emails with a link per hour.
      test.clock.advance(hour)
    }
    expect(statuses).toEqual([201, 201, 201, 201, 201, 429])
    expect((await kit.file(person.cookie, { kinds, password: person.password })).status).toBe(201)
  })

  it('for copies counts against the daily export quota, which never rejects a verified request', async () => {
    const person = await signedIn(test)
    const used = async () =>
      (await test.fetch('GET', '/api/privacy/exports', { cookie: person.cookie })).json.quota.used
    const made = await kit.file(person.cookie, { kinds: ['access', 'portability'] })
    expect(await used()).toBe(0)
    expect((await kit.asAdmin(made.json.data.id, 'verify', { note: 'In person.' })).status).toBe(200)
    expect(await used()).toBe(2)
    const { limit } = (await test.fetch('GET', '/api/privacy/exports', { cookie: person.cookie })).json.quota
    const begin = () => test.fetch('POST', '/api/privacy/exports', { cookie: person.cookie, body: {} })
    const run = await test.db.prisma.exportRun.findFirstOrThrow({ where: { subjectId: person.accountId } })
    await test.db.prisma.exportRun.createMany({
      data: Array.from({ length: limit - 2 }, () => ({ ...run, id: newId('exp') })),
    })
    expect((await begin()).json.code).toBe('quota_exceeded')
    await kit.work()
    const more = await kit.file(person.cookie, { kinds: ['access'] })
    const response = await kit.asAdmin(more.json.data.id, 'verify', { note: 'In person.' })
    expect([response.status, response.json.data.state]).toEqual([200, 'running'])
  })
})

describe('a copy that failed', () => {
  /** Simulates a job that the queue has given up. */
  async function givenUp(exportId: string): Promise<void> {
    await test.db.pool.query('DELETE FROM graphile_worker._private_jobs WHERE key = $1', [
      `exports.prepare:${exportId}`,
    ])
    test.clock.advance(3 * 60_000)
    const upkeep = test.app.jobs.find(({ name }) => name === 'exports.upkeep')
    await upkeep?.execute(test.app.pipeline, {})
  }
  const access = async (cookie: string, id: string) => (await kit.read(cookie, id)).parts[0]
  const asked = async () => {
    const person = await personWithPassword(test)
    const body = { kinds: ['access', 'erasure'], grace: 'now', password: person.password }
    const { id } = (await kit.file(person.cookie, body)).json.data
    await givenUp((await access(person.cookie, id)).outcome.export_id)
    expect((await access(person.cookie, id)).state).toBe('failed')
    return { person, id }
  }

  it('is reported to admins and retried, and the erasure begins after the copy is fetched', async () => {
    const admin = await test.db.prisma.account.findUniqueOrThrow({ where: { id: kit.admin.accountId } })
    const { person, id } = await asked()
    await kit.work()
    expect(kit.emailsTo(admin.email).at(-1)?.text).toContain('Failed, retry needed: 1.')
    await kit.tick()
    expect((await access(person.cookie, id)).state).toBe('failed')
    test.clock.advance(hour)
    await kit.tick()
    const copy = await access(person.cookie, id)
    expect([copy.state, copy.outcome.copy]).toEqual(['done', 'ready'])
    const path = `/api/privacy/exports/${copy.outcome.export_id}/file`
    expect((await test.fetch('GET', path, { cookie: person.cookie })).status).toBe(200)
    // The server records the end of a download slightly later than the client.
    await expect
      .poll(
        async () => {
          await kit.tick()
          return (await kit.adminRead(id)).state
        },
        { timeout: 120_000 },
      )
      .toBe('completed')
  })

  it('is retried until five attempts have failed, with one email to the subject', async () => {
    const { person, id } = await asked()
    for (let n = 1; n < 7; n++) {
      test.clock.advance(hour)
      await kit.clockJob()
      const copy = await access(person.cookie, id)
      expect([n, copy.state]).toEqual([n, n < 5 ? 'running' : 'failed'])
      if (copy.state === 'running') await givenUp(copy.outcome.export_id)
    }
    await kit.work()
    const notified = kit.emailsTo(person.email).filter(({ text }) => text.includes('We could not create the copy'))
    expect(notified).toHaveLength(1)
  })

  it('is abandoned when the subject expedites the erasure, and the request completes', async () => {
    const { person, id } = await asked()
    expect((await kit.act(person.cookie, id, 'expedite', { password: person.password })).status).toBe(200)
    await kit.work()
    const done = await kit.adminRead(id)
    expect([done.state, done.parts.map(({ state }: { state: string }) => state)]).toEqual([
      'completed',
      ['cancelled', 'done'],
    ])
  })
})

describe('actions of admins', () => {
  it('are executed once when a bulk action is repeated with the same Idempotency-Key', async () => {
    const person = await personWithPassword(test)
    const { id } = (await kit.file(person.cookie, { kinds: ['objection'], statement: 'I object.' })).json.data
    const bulk = () =>
      test.fetch('POST', '/api/admin/privacy/bulk', {
        cookie: kit.admin.cookie,
        body: { ids: [id], action: 'comment', note: 'Called.' },
        headers: { 'Idempotency-Key': 'bulk-1' },
      })
    const [first, second] = [await bulk(), await bulk()]
    expect([first.status, second.status, second.headers.get('idempotency-replayed')]).toEqual([200, 200, 'true'])
    expect(second.json).toEqual(first.json)
    expect(await test.db.prisma.privacyRequestEvent.count({ where: { requestId: id, event: 'comment' } })).toBe(1)
  })

  it('retry locks the erasure run before the request, like the erasure engine', async () => {
    const person = await personWithPassword(test)
    const body = { kinds: ['erasure'], grace: 'now', password: person.password }
    const { id } = (await kit.file(person.cookie, body)).json.data
    const { runId } = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id } })
    const engine = await test.db.pool.connect()
    try {
      await engine.query('BEGIN')
      await engine.query('SELECT 1 FROM erasure_runs WHERE id = $1 FOR UPDATE', [runId])
      const retried = kit.asAdmin(id, 'retry', {})
      await blockedBy(engine)
      // The engine locks the request next; a waiting retry must not hold that lock.
      await engine.query('SELECT 1 FROM privacy_requests WHERE id = $1 FOR NO KEY UPDATE NOWAIT', [id])
      await engine.query('COMMIT')
      expect((await retried).json.code).toBe('wrong_state')
    } finally {
      engine.release()
    }
    await kit.work()
    expect((await kit.adminRead(id)).state).toBe('completed')
  })
})
