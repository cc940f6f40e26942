// An application files privacy requests for the people who use it, with a backend token of the scope `privacy`.
import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { type Issued, issuedAgent, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { openTestSession } from '#lib/testing/subjects.ts'

let stage: PrivacyTest
let test: PrivacyTest['test']
beforeAll(async () => {
  stage = await privacyTest()
  test = stage.test
})
afterAll(() => stage?.close())

const scopes = ['read', 'write', 'privacy'] as const
let people = 0
async function application(project?: MadeProject) {
  const own = project ?? (await madeProject(test))
  const backend = await issuedAgent(test, [...scopes], { tier: 'enterprise', owner: own.owner })
  await dataOf(test, 'POST', `${own.path}/members`, own.owner, { body: { kind: 'agent', member_id: backend.id } })
  return { project: own, backend }
}
async function participant(project: MadeProject, more: object = {}) {
  const external = `customer-${++people}`
  const author = { external_id: external, name: 'Ida Beispiel', email: `${external}@example.org`, ...more }
  const conversation = await madeConversation(test, project, {}, project.agent)
  const message = await madeMessage(test, conversation, project.agent, { author, content: 'Words of a customer.' })
  const [found] = await dataOf(test, 'GET', `${project.path}/participants?external_id=${external}`, project.owner)
  return { id: String(found.id), email: author.email, message, path: `${project.path}/participants/${found.id}` }
}
const erasure = { kinds: ['erasure'], identity: 'signed_in' }
const file = (path: string, asker: { token: string } | { cookie: string }, body: object = erasure, key?: string) =>
  test.fetch('POST', `${path}/requests`, {
    ...asker,
    body,
    ...(key !== undefined && { headers: { 'Idempotency-Key': key } }),
  })

const emailOf = async (id: string) => (await test.db.prisma.account.findUniqueOrThrow({ where: { id } })).email

describe('a token with the scope privacy', () => {
  it('files an erasure with a day to cancel it, tells the person, and reads its state and receipt', async () => {
    const { project, backend } = await application()
    const { email, message, path } = await participant(project)
    const filed = await file(path, backend)
    expect(filed.status, filed.text).toBe(201)
    const { id, receipt_id: receipt } = filed.json.data
    expect(filed.json.data).toMatchObject({ state: 'waiting', grace: '24h', channel: 'api', verified_by: 'token' })
    await stage.work()
    const [letter] = stage.emailsTo(email)
    expect(letter?.text).toContain('/privacy/confirm#cancel.')
    expect((await dataOf(test, 'GET', `${path}/requests`, backend)).map((one: { id: string }) => one.id)).toEqual([id])
    const details = await test.db.prisma.privacyRequestEvent.findFirstOrThrow({
      where: { requestId: id, event: 'verified' },
    })
    expect(details.details).toEqual({ by: 'token', identity: 'signed_in' })

    test.clock.advance(25 * 3_600_000)
    await stage.tick()
    const read = await dataOf(test, 'GET', `/api/privacy/requests/${id}`, backend)
    expect(read).toMatchObject({ state: 'completed', receipt_id: receipt, statement: null })
    expect((await test.fetch('GET', `/v1/receipts/${receipt}`)).json.stores.length).toBeGreaterThan(0)
    expect((await test.fetch('GET', message.path, project.owner)).status).toBe(404)
    expect(await test.db.prisma.projectParticipant.count({ where: { email } })).toBe(0)
  })

  it('cancels its own request, and the link in the email cancels it too', async () => {
    const { project, backend } = await application()
    const one = await participant(project)
    const { id } = (await file(one.path, backend)).json.data
    expect((await test.fetch('POST', `${one.path}/requests/${id}/cancel`, backend)).json.data.state).toBe('cancelled')
    const other = await participant(project)
    await file(other.path, backend)
    await stage.work()
    const used = await stage.use(stage.linkTo(other.email, 'cancel'), 'cancel')
    expect(used.json.data).toMatchObject({ state: 'cancelled' })
    test.clock.advance(25 * 3_600_000)
    await stage.tick()
    expect((await test.fetch('GET', other.message.path, project.owner)).status).toBe(200)
  })

  it('exports a participant after it filed a request for access, and not before', async () => {
    const { project, backend } = await application()
    const { path } = await participant(project)
    expect((await test.fetch('GET', `${path}/export`, backend)).status).toBe(403)
    expect((await file(path, backend, { kinds: ['access'], identity: 'email' })).json.data.state).toBe('completed')
    const copy = await test.fetch('GET', `${path}/export`, backend)
    expect([copy.status, copy.text.includes('Words of a customer.')]).toEqual([200, true])
    expect((await dataOf(test, 'GET', `${path}/plan`, backend)).total).toBeGreaterThan(0)
  })

  it('files and exports nothing after its owner changed the password, until the owner rotates it', async () => {
    const { project, backend } = await application()
    const { path, message } = await participant(project)
    expect((await file(path, backend, { kinds: ['access'], identity: 'email' })).status).toBe(201)
    await test.app.accounts.resetPassword(await emailOf(project.owner.accountId))
    for (const refused of [await file(path, backend), await test.fetch('GET', `${path}/export`, backend)]) {
      expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
      expect(refused.json.detail).toContain('the owner rotated it')
    }
    // It still reads and contributes.
    expect((await test.fetch('GET', message.path, backend)).status).toBe(200)
    const owner = { cookie: await openTestSession(test, project.owner.accountId) }
    await test.db.prisma.account.update({ where: { id: project.owner.accountId }, data: { mustChangePassword: false } })
    const rotated = await dataOf(test, 'POST', `/v1/auth/tokens/${backend.tokenId}/rotate`, owner, { body: {} })
    expect((await file(path, { token: rotated.api_key })).status).toBe(201)
  })

  it('files an erasure that the owner of the agent cancels, and nobody else in the project', async () => {
    const { project, backend } = await application()
    const { path } = await participant(project)
    const { id } = (await file(path, backend)).json.data
    const colleague = await madeMember(test, project, 'owner')
    const cancel = (by: { cookie: string }) => test.fetch('POST', `${path}/requests/${id}/cancel`, by)
    expect((await cancel(colleague)).status).toBe(403)
    expect((await cancel(project.owner)).json.data.state).toBe('cancelled')
  })

  it('returns the first answer to a repetition, and joins its own open request', async () => {
    const { project, backend } = await application()
    const { id, path } = await participant(project)
    const [first, again] = [await file(path, backend, erasure, 'one'), await file(path, backend, erasure, 'one')]
    expect(again.json.data.id).toBe(first.json.data.id)
    expect(again.headers.get('idempotency-replayed')).toBe('true')
    expect((await file(path, backend)).status).toBe(200)
    expect(await test.db.prisma.privacyRequest.count({ where: { participantId: id } })).toBe(1)
  })

  it('is limited in a flood, which does not limit the owner of the project', async () => {
    const { project, backend } = await application()
    const { path } = await participant(project)
    const statuses: number[] = []
    for (let n = 0; n < 15; n++) {
      const { status, json } = await file(path, backend)
      statuses.push(status)
      if (status === 201) await test.fetch('POST', `${path}/requests/${json.data.id}/cancel`, backend)
    }
    expect(statuses.at(-1)).toBe(429)
    expect((await file(path, project.owner, { kinds: ['erasure'] })).status).toBe(201)
  })

  it.each([
    ['without the identity of the person', { kinds: ['erasure'] }, 'identity'],
    ['without a day to cancel it', { ...erasure, grace: 'now' }, 'grace'],
    ['for a correction', { kinds: ['rectification'], identity: 'email', statement: 'The date is wrong.' }, 'kinds'],
    ['for a restriction', { kinds: ['erasure', 'restriction'], identity: 'email' }, 'kinds'],
  ])('is refused a request %s', async (_, body, field) => {
    const { project, backend } = await application()
    const { id, path } = await participant(project)
    const refused = await file(path, backend, body)
    expect([refused.status, refused.json.issues[0].path]).toEqual([422, [field]])
    expect(await test.db.prisma.privacyRequest.count({ where: { participantId: id } })).toBe(0)
  })

  it('cannot act for a person who claimed the participation', async () => {
    const { project, backend } = await application()
    const { id, path } = await participant(project)
    const { accountId } = await signedIn(test)
    await test.db.prisma.projectParticipant.update({ where: { id }, data: { accountId, claimedAt: test.clock.now() } })
    expect((await file(path, backend)).status).toBe(409)
    expect((await test.fetch('GET', `${path}/export`, backend)).status).toBe(403)
    expect(await test.db.prisma.privacyRequest.count({ where: { accountId } })).toBe(0)
  })
})

describe('requests for participants by tokens without the right', () => {
  /** Every operation that the scope opens, for one participant and one request. */
  const attempts = (path: string, request: string) =>
    [
      ['POST', `${path}/requests`, erasure],
      ['GET', `${path}/requests`],
      ['POST', `${path}/requests/${request}/cancel`, {}],
      ['GET', `${path}/plan`],
      ['GET', `${path}/export`],
      ['GET', `/api/privacy/requests/${request}`],
    ] as const
  it.each([
    ['another project', async () => (await application()).backend, [404, 403]],
    ['no scope privacy', async ({ owner }: MadeProject) => issuedAgent(test, ['read', 'write'], { owner }), [403, 404]],
    ['no membership', async ({ owner }: MadeProject) => issuedAgent(test, [...scopes], { owner }), [403, 404]],
    [
      'an owner who only is a member',
      async (project: MadeProject) => {
        const agent = await issuedAgent(test, [...scopes], { owner: await madeMember(test, project) })
        await dataOf(test, 'POST', `${project.path}/members`, project.owner, {
          body: { kind: 'agent', member_id: agent.id },
        })
        return agent
      },
      [403, 404],
    ],
    [
      'a revoked token',
      async (project: MadeProject) => {
        const { backend } = await application(project)
        await test.db.prisma.token.update({ where: { id: backend.tokenId }, data: { revokedAt: test.clock.now() } })
        return backend
      },
      [401, 401],
    ],
  ] as [string, (project: MadeProject) => Promise<Issued>, number[]][])(
    'are refused to a token with %s',
    async (_, of, expected) => {
      const { project, backend } = await application()
      const { id, path } = await participant(project)
      const request = (await file(path, backend, { kinds: ['access'], identity: 'email' })).json.data.id
      const token = await of(project)
      for (const [method, url, body] of attempts(path, request)) {
        const { status, text } = await test.fetch(method, url, { token: token.token, ...(body && { body }) })
        expect(expected, `${method} ${url}: ${text}`).toContain(status)
      }
      expect(await test.db.prisma.privacyRequest.count({ where: { participantId: id } })).toBe(1)
    },
  )

  it('are refused for a participant of another project through the path of an own one', async () => {
    const { project, backend } = await application()
    const theirs = await participant(await madeProject(test))
    expect((await file(`${project.path}/participants/${theirs.id}`, backend)).status).toBe(404)
    expect(await test.db.prisma.privacyRequest.count({ where: { participantId: theirs.id } })).toBe(0)
  })

  it('a token cannot be given the scope by a registration or by a token without it', async () => {
    const registered = await test.fetch('POST', '/v1/auth/register', { body: { scopes: ['privacy'] } })
    expect(registered.status).toBe(403)
    const { project } = await application()
    const own = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    const asked = await test.fetch('POST', '/v1/auth/tokens', { token: own.token, body: { scopes: ['privacy'] } })
    expect(asked.status).toBe(403)
    await passwordEntered(test, project.owner)
    const granted = await test.fetch('POST', '/v1/auth/tokens', {
      ...project.owner,
      body: { agent_id: own.id, scopes: ['read', 'privacy'] },
    })
    expect(granted.status, granted.text).toBe(201)
  })
})
