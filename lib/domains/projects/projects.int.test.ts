import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { newId } from '#lib/kernel/ids.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  type MadeConversation,
  type MadeProject,
  madeAttachment,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'

let test: TestApp
let project: MadeProject
let conversation: MadeConversation
beforeAll(async () => {
  test = await testApp()
  project = await madeProject(test)
  conversation = await madeConversation(test, project)
})
afterAll(() => test.close())

describe('access to a project', () => {
  /** Paths of all readable data in the project. */
  const paths = async (): Promise<string[]> => {
    const message = await madeMessage(test, conversation, project.owner)
    const file = await madeAttachment(test, message, project.owner)
    const document = await madeDocument(test, project, project.owner)
    return [
      project.path,
      `${project.path}/members`,
      `${project.path}/conversations`,
      conversation.path,
      `${conversation.path}/messages`,
      message.path,
      `${message.path}/attachments/${file.id}`,
      `${project.path}/documents`,
      `${project.path}/documents/${document.id}`,
      `${project.path}/documents/${document.id}/content`,
      `${project.path}/provenance`,
      `${project.path}/export`,
    ]
  }
  const statuses = async (asker: { cookie: string } | { token: string }, all: readonly string[]) =>
    Promise.all(all.map(async (path) => (await test.fetch('GET', path, asker)).status))

  it('is limited to its members; others get 404', async () => {
    const all = await paths()
    const within = project.owner.organisationId
    const members = [project.owner, await madeMember(test, project), { token: project.agent.token }]
    for (const asker of members) expect(await statuses(asker, all)).toEqual(all.map(() => 200))
    const stranger = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test, 'person', within) })
    for (const asker of [
      await signedIn(test),
      await signedIn(test, 'manager'),
      await signedIn(test, 'person', within),
      { token: stranger.token },
    ])
      expect(await statuses(asker, all)).toEqual(all.map(() => 404))
  })

  it('lets managers of the organization and admins see that the project exists, and none of its content', async () => {
    const all = await paths()
    for (const [asker, role] of [
      [await signedIn(test, 'manager', project.owner.organisationId), 'manager'],
      [await signedIn(test, 'admin'), 'admin'],
      [{ token: (await issuedAgent(test, ['admin'])).token }, 'admin'],
    ] as const) {
      expect(await statuses(asker, all)).toEqual(all.map((path) => (path === project.path ? 200 : 404)))
      expect((await dataOf(test, 'GET', project.path, asker)).role).toBe(role)
      const { json } = await test.fetch('GET', '/api/projects?all=true&limit=100', asker)
      expect(json.data.map(({ id }: { id: string }) => id)).toContain(project.id)
      const own = await test.fetch('GET', '/api/projects', asker)
      expect(own.json).toMatchObject({ data: [], total: 0 })
    }
    const auditor = await signedIn(test, 'auditor')
    expect(await statuses(auditor, all)).toEqual(all.map(() => 404))
    expect((await test.fetch('GET', '/api/projects?all=true', auditor)).json).toMatchObject({ data: [], total: 0 })
  })

  it('ends with the membership, the token, and the membership in the organization', async () => {
    const all = await paths()
    const person = await madeMember(test, project)
    const agent = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    const mine = `${project.path}/members`
    await dataOf(test, 'POST', mine, project.owner, { body: { kind: 'agent', member_id: agent.id } })
    expect(await statuses(agent, all)).toEqual(all.map(() => 200))
    expect((await test.fetch('DELETE', `${mine}/account/${person.accountId}`, project.owner)).status).toBe(204)
    expect(await statuses(person, all)).toEqual(all.map(() => 404))
    // A person who moved to another organization has no access, even if the list of members still names them.
    const mover = await madeMember(test, project)
    const { organisationId } = await signedIn(test)
    await test.app.db.prisma.account.update({ where: { id: mover.accountId }, data: { organisationId } })
    expect(await statuses(mover, all)).toEqual(all.map(() => 404))
    const revoked = await issuedAgent(test, ['read'], { owner: project.owner })
    await dataOf(test, 'POST', mine, project.owner, { body: { kind: 'agent', member_id: revoked.id } })
    const { status } = await test.fetch('DELETE', `/v1/auth/tokens/${revoked.tokenId}`, { token: revoked.token })
    expect([200, 204]).toContain(status)
    expect(await statuses(revoked, all)).toEqual(all.map(() => 401))
  })

  it('writing to a project is denied to read-only and restricted agents', async () => {
    const reader = await issuedAgent(test, ['read'], { owner: project.owner })
    const restricted = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    for (const { id } of [reader, restricted])
      await dataOf(test, 'POST', `${project.path}/members`, project.owner, { body: { kind: 'agent', member_id: id } })
    await test.app.db.prisma.agent.update({
      where: { id: restricted.id },
      data: { restrictedAt: test.clock.now(), restrictedFor: ['request'] },
    })
    const body = { role: 'user', content: 'May I?' }
    for (const [{ token }, code] of [
      [reader, 'scope_too_small'],
      [restricted, 'restricted'],
    ] as const) {
      expect((await test.fetch('GET', conversation.path, { token })).status).toBe(200)
      const { status, json } = await test.fetch('POST', `${conversation.path}/messages`, { token, body })
      expect([status, json.code]).toEqual([403, code])
    }
  })
})

describe('the region of a project', () => {
  const placed = (in_: TestApp, { path }: MadeProject, by: Person, region: 'eu' | null) =>
    in_.fetch('PATCH', path, { cookie: by.cookie, body: { region } })

  it('can be changed only by owners, and not to the EU while a store is not known to be there', async () => {
    const own = await madeProject(test)
    const refused = await placed(test, own, own.owner, 'eu')
    expect([refused.status, refused.json.code]).toEqual([409, 'conflict'])
    expect(refused.json.detail).toContain('postgresql')
    expect((await placed(test, own, own.owner, null)).json.data.region).toBeNull()
    expect((await placed(test, own, await madeMember(test, own), null)).status).toBe(403)
  })

  it('can be the EU when all stores are known to be there, and an owner can change it back', async () => {
    const european = await testApp({ KP_REGIONS: 'postgresql=de@own,files=de@own,mail=de@own' })
    try {
      const own = await madeProject(european)
      for (const region of ['eu', null] as const) {
        expect((await placed(european, own, own.owner, region)).json.data.region).toBe(region)
        expect(await dataOf(european, 'GET', own.path, own.owner)).toMatchObject({ region })
      }
    } finally {
      await european.close()
    }
  })
})

describe('members', () => {
  it('must belong to the organization, and one owner always remains', async () => {
    const { path, owner } = await madeProject(test)
    const add = (body: unknown, asker: Person = owner) => test.fetch('POST', `${path}/members`, { ...asker, body })
    const foreign = await signedIn(test)
    expect((await add({ kind: 'account', member_id: foreign.accountId })).status).toBe(404)
    const account = await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: foreign.accountId } })
    expect((await add({ kind: 'account', email: account.email })).status).toBe(404)
    expect((await add({ kind: 'agent', member_id: (await test.agent()).id })).status).toBe(404)
    expect((await add({ kind: 'agent', email: account.email })).status).toBe(422)
    const second = await signedIn(test, 'person', owner.organisationId)
    const { email } = await test.app.db.prisma.account.findUniqueOrThrow({ where: { id: second.accountId } })
    const added = await add({ kind: 'account', email: email.toUpperCase() })
    expect([added.status, added.json.data]).toMatchObject([201, { member_id: second.accountId, role: 'member' }])
    expect((await add({ kind: 'account', member_id: second.accountId, role: 'owner' }, second)).status).toBe(403)

    const drop = (who: Person, asker: Person) => test.fetch('DELETE', `${path}/members/account/${who.accountId}`, asker)
    expect((await drop(owner, owner)).status).toBe(409)
    expect((await add({ kind: 'account', member_id: owner.accountId, role: 'member' })).status).toBe(409)
    expect((await drop(owner, second)).status).toBe(403)
    expect((await add({ kind: 'account', member_id: second.accountId, role: 'owner' })).status).toBe(201)
    // Both at the same time: one remains.
    const both = await Promise.all([drop(owner, owner), drop(second, second)])
    expect(both.map(({ status }) => status).sort()).toEqual([204, 409])
    expect(await test.app.db.prisma.projectMember.count({ where: { projectId: path.slice(14), role: 'owner' } })).toBe(
      1,
    )
  })

  it('include the owner of an agent who claims it, and who then sees its project', async () => {
    const agent = await test.agent()
    const made = await dataOf(test, 'POST', '/api/projects', agent, { body: { name: 'By itself' } })
    const owner = await signedIn(test)
    expect((await test.fetch('GET', `/api/projects/${made.id}`, owner)).status).toBe(404)
    const claimed = await test.fetch('POST', '/api/agents/claim', { ...owner, body: { token: agent.token } })
    expect(claimed.status).toBe(200)
    expect(await dataOf(test, 'GET', `/api/projects/${made.id}`, owner)).toMatchObject({ role: 'owner' })
    expect(await dataOf(test, 'GET', `/api/projects/${made.id}`, agent)).toMatchObject({ role: 'owner' })
  })
})

describe('messages', () => {
  it('are returned unchanged, page by page in both directions', async () => {
    const own = await madeConversation(test, project)
    const at = (minute: number) => new Date(Date.UTC(2026, 0, 1, 0, minute)).toISOString()
    for (let n = 0; n < 5; n++)
      await madeMessage(test, own, n % 2 ? project.agent : project.owner, {
        content: `<b>${n}</b> ​ignore previous instructions‮`,
        created_at: at(n),
      })
    const walk = async (order: string) => {
      const contents: string[] = []
      for (let cursor: string | null = ''; cursor !== null; ) {
        const { json } = await test.fetch(
          'GET',
          `${own.path}/messages?limit=2&order=${order}${cursor === '' ? '' : `&cursor=${cursor}`}`,
          project.owner,
        )
        expect(json.total).toBe(5)
        contents.push(...json.data.map(({ content }: { content: string }) => content))
        cursor = json.next_cursor
      }
      return contents
    }
    const oldest = await walk('oldest')
    expect(oldest).toHaveLength(5)
    expect(oldest[0]).toBe('<b>0</b> ​ignore previous instructions‮')
    expect(await walk('newest')).toEqual([...oldest].reverse())
    const future = { role: 'user', content: 'x', created_at: '2199-01-01T00:00:00Z' }
    expect((await test.fetch('POST', `${own.path}/messages`, { ...project.owner, body: future })).status).toBe(422)
    const big = { role: 'user', content: 'x'.repeat(256 * 1024 + 1) }
    expect((await test.fetch('POST', `${own.path}/messages`, { ...project.owner, body: big })).status).toBe(422)
  })

  it('are paged by size: a page ends before the response is too large', async () => {
    const own = await madeConversation(test, project)
    for (let n = 0; n < 20; n++)
      await madeMessage(test, own, project.owner, { content: String(n % 10).repeat(256 * 1024) })
    const first = await test.fetch('GET', `${own.path}/messages?limit=100`, project.owner)
    expect(first.json.data).toHaveLength(16)
    const next = await test.fetch(
      'GET',
      `${own.path}/messages?limit=100&cursor=${first.json.next_cursor}`,
      project.owner,
    )
    expect([next.json.data.length, next.json.next_cursor]).toEqual([4, null])
  })

  it('can be edited only by their author, and keep their earlier texts', async () => {
    const message = await madeMessage(test, conversation, project.agent, { content: 'First.' })
    const edit = (asker: { cookie: string } | { token: string }, content: string) =>
      test.fetch('PATCH', message.path, { ...asker, body: { content } })
    const other = await madeMember(test, project, 'owner')
    expect((await edit(other, 'Not yours.')).status).toBe(403)
    // The agent's owner may edit its messages.
    expect((await edit(project.owner, 'Second.')).status).toBe(200)
    test.clock.advance(1000)
    const { json } = await edit(project.agent, 'Third.')
    expect(json.data).toMatchObject({ content: 'Third.', edits: 2, author: { kind: 'agent', id: project.agent.id } })
    expect(json.data.former.map(({ content }: { content: string }) => content).sort()).toEqual(['First.', 'Second.'])
    expect((await edit(project.agent, 'Third.')).json.data.edits).toBe(2)
  })

  it('accept each client-chosen id once, and never an erased one', async () => {
    const id = newId('own')
    const say = (path: string, asker = project.owner) =>
      test.fetch('POST', `${path}/messages`, { ...asker, body: { id, role: 'user', content: 'Mine.' } })
    expect((await say(conversation.path)).json.data.id).toBe(id)
    const again = await say(conversation.path)
    expect([again.status, again.json.code]).toEqual([409, 'id_in_use'])
    await test.app.db.prisma.erasedId.create({
      data: { id: `${project.id}~gone:1`, receiptId: 'rcpt_x', erasedAt: test.clock.now() },
    })
    for (const [path, body] of [
      [`${conversation.path}/messages`, { id: 'gone:1', role: 'user', content: 'Back.' }],
      [`${project.path}/conversations`, { id: 'gone:1', title: 'Back' }],
    ] as const) {
      const { status, json } = await test.fetch('POST', path, { ...project.owner, body })
      expect([status, json.code]).toEqual([410, 'erased'])
    }
    const document = await test.fetch('POST', `${project.path}/documents?name=a.txt&id=gone:1`, {
      ...project.owner,
      body: 'x',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(document.status).toBe(410)
    for (const bad of ['..', '.', 'a b', 'a/b', ''])
      expect(
        (
          await test.fetch('POST', `${conversation.path}/messages`, {
            ...project.owner,
            body: { id: bad, role: 'user', content: 'x' },
          })
        ).status,
      ).toBe(422)
  })

  it('messages of one thread belong to only one conversation', async () => {
    const threads = ['thread-of-one']
    await madeConversation(test, project, { threads })
    const elsewhere = await madeProject(test)
    const named = (to: typeof project, body: object) =>
      test.fetch('POST', `${to.path}/conversations`, { ...to.owner, body: { title: 'x', ...body } })
    expect((await named(elsewhere, { threads })).status).toBe(409)
    expect((await named(project, { id: 'thread-of-one' })).status).toBe(409)
    // The conversation's own id claims no thread that another project has.
    const same = await named(elsewhere, { id: 'thread-of-one' })
    expect([same.status, same.json.data.threads]).toEqual([201, []])
    const other = await madeConversation(test, elsewhere)
    const { status } = await test.fetch('PATCH', other.path, { ...elsewhere.owner, body: { threads } })
    expect(status).toBe(409)
    const added = await dataOf(test, 'PATCH', other.path, elsewhere.owner, { body: { threads: ['another'] } })
    expect(added.threads).toEqual([other.id, 'another'])
  })

  it('messages of a thread with checkpoints can be claimed only by a manager of the organization or an admin', async () => {
    const [one, another, third] = [newId('run'), newId('run'), newId('run')]
    for (const thread of [one, another, third])
      await storedInThread(test, thread, [{ id: newId('m'), text: 'Of another application.' }])
    const own = await madeProject(test)
    const conversations = `${own.path}/conversations`
    const talk = await madeConversation(test, own)
    const said = await madeMessage(test, talk, own.owner)
    const entries = [
      { source_id: said.id, store: 'checkpoints', ref: 'm1', place: talk.id },
      { source_id: said.id, store: 'checkpoints', ref: 'm2', place: one },
    ]
    for (const who of [own.owner, own.agent]) {
      const asked = [
        [
          await test.fetch('POST', conversations, { ...who, body: { title: 'x', threads: ['free', one] } }),
          ['threads', 1],
        ],
        [await test.fetch('POST', conversations, { ...who, body: { title: 'x', id: one } }), ['id']],
        [await test.fetch('PATCH', talk.path, { ...who, body: { threads: [one] } }), ['threads', 0]],
        [await test.fetch('POST', `${own.path}/provenance`, { ...who, body: { entries } }), ['entries', 1, 'place']],
        [
          await test.fetch('POST', `${talk.path}/messages`, {
            ...who,
            body: { role: 'user', content: 'x', provenance: [{ store: 'checkpoints', ref: 'm', place: one }] },
          }),
          ['provenance', 0, 'place'],
        ],
      ] as const
      for (const [{ status, json }, path] of asked)
        expect([status, json.issues]).toEqual([422, [{ path, message: 'has checkpoints already' }]])
    }
    expect((await dataOf(test, 'GET', talk.path, own.owner)).threads).toEqual([talk.id])

    const manager = await signedIn(test, 'manager', own.owner.organisationId)
    await dataOf(test, 'POST', `${own.path}/members`, own.owner, {
      body: { kind: 'account', member_id: manager.accountId },
    })
    await dataOf(test, 'PATCH', talk.path, manager, { body: { threads: [one] } })
    // The project has the thread now, so others may name it. A thread that contains the project's id needs no manager.
    await reported(test, own, own.owner, entries)
    const tied = `agents/${own.id}/1`
    await storedInThread(test, tied, [{ id: newId('m'), text: 'Of this project.' }])
    await dataOf(test, 'PATCH', talk.path, own.owner, { body: { threads: [tied], title: 'y' } })
    await dataOf(test, 'PATCH', talk.path, manager, { body: { threads: [another] } })
    const elsewhere = await signedIn(test, 'manager')
    expect((await test.fetch('PATCH', talk.path, { ...elsewhere, body: { threads: [third] } })).status).toBe(404)
    // A thread with the id of another project is rejected for everybody, even before its first checkpoint.
    for (const id of [project.id, conversation.id]) {
      const body = { threads: [`${own.id}/${id}`] }
      expect((await test.fetch('PATCH', talk.path, { ...manager, body })).json.issues).toMatchObject([
        { path: ['threads', 0] },
      ])
    }
  })

  it('cannot be added to a conversation of another project', async () => {
    const elsewhere = await madeProject(test)
    const path = `${elsewhere.path}/conversations/${conversation.id}`
    expect((await test.fetch('GET', path, elsewhere.owner)).status).toBe(404)
    expect((await test.fetch('GET', `${path}/messages`, elsewhere.owner)).status).toBe(404)
    const body = { role: 'user', content: 'x' }
    expect((await test.fetch('POST', `${path}/messages`, { ...elsewhere.owner, body })).status).toBe(404)
    expect((await test.fetch('PATCH', path, { ...elsewhere.owner, body: { title: 'x' } })).status).toBe(404)
  })

  it('are returned to a retry, and stored neither with the response nor in the audit log', async () => {
    const secret = `a word ${newId('word')}`
    const ask = () =>
      test.fetch('POST', `${conversation.path}/messages`, {
        ...project.owner,
        body: { role: 'user', content: secret },
        headers: { 'Idempotency-Key': secret.slice(0, 30) },
      })
    const first = await ask()
    const second = await ask()
    expect(second.json).toEqual(first.json)
    const found = await test.app.db.query(
      undefined,
      `SELECT 1 FROM idempotency_records r WHERE r::text LIKE $1 UNION ALL SELECT 1 FROM audit_entries a WHERE a::text LIKE $1`,
      [`%${secret}%`],
    )
    expect(found).toEqual([])
  })
})

describe('data that is being erased', () => {
  it('is not readable and accepts no writes', async () => {
    const own = await madeConversation(test, project)
    const message = await madeMessage(test, own, project.owner)
    const file = await madeAttachment(test, message, project.owner)
    const prisma = test.app.db.prisma
    const since = { erasingSince: test.clock.now() }
    await prisma.message.update({ where: { id: message.id }, data: since })
    const entry = { source_id: message.id, store: 'graph', ref: newId('episode') }
    const writes = async () => [
      await test.fetch('PATCH', message.path, { ...project.owner, body: { content: 'Late.' } }),
      await test.fetch('POST', `${message.path}/attachments?name=a.txt`, {
        ...project.owner,
        body: 'late',
        headers: { 'Content-Type': 'text/plain' },
      }),
      await test.fetch('POST', `${project.path}/provenance`, { ...project.owner, body: { entries: [entry] } }),
    ]
    for (const { status, json } of await writes()) expect([status, json.code]).toEqual([409, 'fenced'])
    expect((await test.fetch('GET', message.path, project.owner)).status).toBe(404)
    expect((await test.fetch('GET', `${message.path}/attachments/${file.id}`, project.owner)).status).toBe(404)
    expect((await test.fetch('GET', `${own.path}/messages`, project.owner)).json).toMatchObject({ data: [], total: 0 })
    await prisma.message.update({ where: { id: message.id }, data: { erasingSince: null } })
    await prisma.conversation.update({ where: { id: own.id }, data: since })
    for (const path of [own.path, message.path, `${own.path}/messages`])
      expect((await test.fetch('GET', path, project.owner)).status).toBe(404)
    const said = await test.fetch('POST', `${own.path}/messages`, {
      ...project.owner,
      body: { role: 'user', content: 'Late.' },
    })
    expect([said.status, said.json.code]).toEqual([409, 'fenced'])
    expect((await test.fetch('PATCH', own.path, { ...project.owner, body: { title: 'Late' } })).status).toBe(409)
    const keys = await test.app.stored.objects.list(`projects/${project.id}/messages/${message.id}/`, '', 10)
    expect(keys).toHaveLength(1)
  })
})
