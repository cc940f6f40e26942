// Hostile requests: claims, restrictions and erasures of participants of others, floods, repetition, and crashes.
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { filingsPerDay } from '#lib/domains/privacy-requests/rules.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { type MadeProject, madeConversation, madeMember, madeMessage, madeProject } from '#lib/testing/projects.ts'

let stage: PrivacyTest
let test: PrivacyTest['test']
let project: MadeProject
beforeAll(async () => {
  stage = await privacyTest()
  test = stage.test
  project = await madeProject(test)
})
afterAll(() => stage?.close())

let made = 0
/** A participant with one message. */
async function participant(email?: string) {
  const external_id = `hostile-${++made}`
  const conversation = await madeConversation(test, project, {}, project.agent)
  const author = { external_id, ...(email !== undefined && { email }) }
  const message = await madeMessage(test, conversation, project.agent, { author })
  const { id } = await test.db.prisma.projectParticipant.findFirstOrThrow({ where: { externalId: external_id } })
  return { id, path: `${project.path}/participants/${id}`, conversation, message, external_id }
}
async function verified(): Promise<Person & { email: string }> {
  const person = await signedIn(test)
  const { email } = await test.db.prisma.account.update({
    where: { id: person.accountId },
    data: { emailVerifiedAt: test.clock.now() },
  })
  return { ...person, email }
}
/** All data that a rejected request could have changed. */
const stored = async (id: string) => ({
  participant: await test.db.prisma.projectParticipant.findUnique({ where: { id } }),
  requests: await test.db.prisma.privacyRequest.count({ where: { participantId: id } }),
  runs: await test.db.prisma.erasureRun.count({ where: { participants: { has: id } } }),
})

describe('the requests and the restriction of a participant', () => {
  it('return 401 without a valid token, 403 to agents and members, 404 to strangers and other tenants, and change nothing', async () => {
    const { id, path } = await participant()
    const before = await stored(id)
    const elsewhere = await madeProject(test)
    const revoked = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    await test.db.prisma.token.update({ where: { id: revoked.tokenId }, data: { revokedAt: test.clock.now() } })
    const askers: [string, object, number[]][] = [
      ['nobody', {}, [401]],
      ['a revoked token', revoked, [401]],
      ['the agent of the project', project.agent, [403]],
      ['an agent of another tenant', elsewhere.agent, [403, 404]],
      ['a member', await madeMember(test, project), [403]],
      ['a stranger', await signedIn(test), [404]],
      ['an owner elsewhere', elsewhere.owner, [404]],
      ['a manager elsewhere', await signedIn(test, 'manager'), [404]],
    ]
    const calls: [string, string, object?][] = [
      ['POST', `${path}/requests`, { kinds: ['restriction'] }],
      ['POST', `${path}/requests`, { kinds: ['erasure'], grace: 'now' }],
      ['POST', `${path}/requests`, { kinds: ['rectification'], changes: { name: 'Mallory' } }],
      ['GET', `${path}/requests`],
      ['DELETE', `${path}/restriction`],
    ]
    for (const [who, asker, statuses] of askers)
      for (const [method, to, body] of calls) {
        const { status, text } = await test.fetch(method, to, { ...asker, ...(body && { body }) })
        expect(statuses, `${who}: ${method} ${to}`).toContain(status)
        expect(text).not.toContain('hostile-')
      }
    // The participant of one project, in the path of another project of the requester.
    for (const [method, to, body] of calls) {
      const swapped = to.replace(project.path, elsewhere.path)
      expect((await test.fetch(method, swapped, { ...elsewhere.owner, ...(body && { body }) })).status).toBe(404)
    }
    expect(await stored(id)).toEqual(before)
  }, 60_000)

  it('have one effect when they are replayed or sent concurrently', async () => {
    const { id, path } = await participant()
    const file = (key?: string) =>
      test.fetch('POST', `${path}/requests`, {
        ...project.owner,
        body: { kinds: ['erasure'] },
        ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
      })
    const first = await file('one')
    expect((await file('one')).headers.get('idempotency-replayed')).toBe('true')
    const others = await Promise.all(Array.from({ length: 4 }, () => file()))
    expect(others.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    for (const { json } of others) expect(json.data.id).toBe(first.json.data.id)
    expect((await stored(id)).requests).toBe(1)
  })

  it('return 429 when there are too many, and keep the participant unchanged', async () => {
    const { id, path } = await participant()
    const file = () => test.fetch('POST', `${path}/requests`, { ...project.owner, body: { kinds: ['restriction'] } })
    for (let n = 0; n < filingsPerDay; n++) expect((await file()).status).toBe(201)
    await test.fetch('DELETE', `${path}/restriction`, project.owner)
    const before = await stored(id)
    const refused = await file()
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited'])
    expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(0)
    expect(await stored(id)).toEqual(before)
    test.clock.advance(25 * 3_600_000)
    expect((await file()).status).toBe(201)
  })
})

describe('POST /api/participations/{id}/claim', () => {
  const claim = (id: string, asker: object, key?: string) =>
    test.fetch('POST', `/api/participations/${id}/claim`, {
      ...asker,
      ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
    })

  it('changes nothing when the database connection breaks, and works when it is repeated', async () => {
    const person = await verified()
    const { id } = await participant(person.email)
    const before = await stored(id)
    const broken = await withConnection(test.ownerUrl, async (owner) => {
      await owner.query('BEGIN')
      await owner.query('SELECT 1 FROM project_participants WHERE id = $1 FOR UPDATE', [id])
      const waits = claim(id, person, 'claim-once')
      const blocked = `SELECT pid FROM pg_stat_activity WHERE pid <> pg_backend_pid() AND pg_backend_pid() = ANY(pg_blocking_pids(pid))`
      const pid = await vi.waitUntil(async () => (await owner.query(blocked)).rows[0]?.pid, {
        timeout: 60_000,
        interval: 20,
      })
      await owner.query('SELECT pg_terminate_backend($1)', [pid])
      const answer = await waits
      await owner.query('ROLLBACK')
      return answer
    })
    expect([broken.status, broken.json.code]).toEqual([503, 'unavailable'])
    expect(await stored(id)).toEqual(before)
    expect((await claim(id, person, 'claim-once')).status).toBe(200)
    expect((await stored(id)).participant).toMatchObject({ accountId: person.accountId })
  })

  it('returns 404 or 409 while the participant is being erased, and 404 afterwards; the erasure ends', async () => {
    const person = await verified()
    const { id, path } = await participant(person.email)
    await test.fetch('POST', `${path}/requests`, { ...project.owner, body: { kinds: ['erasure'], grace: 'now' } })
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { participants: { has: id } } })
    await test.app.jobs.find(({ name }) => name === 'erasure.start')?.execute(test.app.pipeline, { runId: run.id })
    const during = await claim(id, person)
    expect([404, 409]).toContain(during.status)
    await stage.work()
    expect((await claim(id, person)).status).toBe(404)
    expect(await test.app.subjectErasures.run(run.id)).toMatchObject({ state: 'done' })
    expect((await stored(id)).participant).toBeNull()
  })

  it('gives the participation to one account when two claim it concurrently', async () => {
    const [person, thief] = [await verified(), await verified()]
    const { id } = await participant(person.email)
    const answers = await Promise.all([claim(id, person), claim(id, thief), claim(id, person), claim(id, thief)])
    expect(answers.map(({ status }) => status)).toEqual([200, 404, 200, 404])
    expect((await stored(id)).participant).toMatchObject({ accountId: person.accountId })
  })
})

it('a report of a victim’s address for a participant gives neither the victim nor the attacker data of others', async () => {
  const victim = await verified()
  const own = await participant(victim.email)
  // Another participant cannot be changed to that address, and its messages cannot be moved.
  const other = await participant('other@example.org')
  const stolen = await test.fetch('POST', `${project.path}/participants`, {
    ...project.agent,
    body: { external_id: other.external_id, email: victim.email },
  })
  expect([stolen.status, stolen.json.code]).toEqual([409, 'conflict'])
  const listed = await test.fetch('GET', '/api/participations', victim)
  expect(listed.json.data.map(({ id }: { id: string }) => id)).toEqual([own.id])
  // Until the person claims it, their export and rights do not change.
  expect((await stored(own.id)).participant).toMatchObject({ accountId: null })
})
