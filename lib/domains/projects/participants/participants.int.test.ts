import { afterAll, beforeAll, describe, expect, test as it } from 'vitest'
import { openArchive } from '#lib/testing/archives.ts'
import { storedInThread } from '#lib/testing/checkpoints.ts'
import { episode } from '#lib/testing/graphs.ts'
import { issuedAgent, type Person, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { postgresPlanting } from '#lib/testing/postgres-planting.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import {
  dataOf,
  type MadeProject,
  madeConversation,
  madeDocument,
  madeMember,
  madeMessage,
  madeProject,
  reported,
} from '#lib/testing/projects.ts'
import { sampledRuns } from '#lib/testing/sampling.ts'

let stage: PrivacyTest
let test: PrivacyTest['test']
let project: MadeProject
beforeAll(async () => {
  stage = await privacyTest()
  test = stage.test
  project = await madeProject(test)
})
afterAll(() => stage?.close())

const said = async (on: MadeProject, author: object, content = 'Something was said.', more: object = {}) => {
  const conversation = await madeConversation(test, on, {}, on.agent)
  const message = await madeMessage(test, conversation, on.agent, { author, content, ...more })
  return { conversation, ...message }
}
const participantOf = async (on: MadeProject, externalId: string) =>
  (await dataOf(test, 'GET', `${on.path}/participants?external_id=${encodeURIComponent(externalId)}`, on.owner))[0]
const addressOf = async ({ accountId }: Person): Promise<string> =>
  (await test.db.prisma.account.findUniqueOrThrow({ where: { id: accountId } })).email
const verify = ({ accountId }: Person) =>
  test.db.prisma.account.update({ where: { id: accountId }, data: { emailVerifiedAt: test.clock.now() } })
const claim = (id: string, person: Person) => test.fetch('POST', `/api/participations/${id}/claim`, person)
const requestsOf = (on: MadeProject, id: string) => `${on.path}/participants/${id}/requests`
const linesOf = (text: string): Record<string, unknown>[] =>
  text
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line))

describe('the plan of an erasure of an account', () => {
  it('counts unclaimed participations with the verified address, which the erasure keeps', async () => {
    const person = await signedIn(test)
    const email = await addressOf(person)
    await said(project, { external_id: 'plan-1', email })
    const planned = async () => (await dataOf(test, 'GET', '/api/privacy/plan', person)).unclaimed_participations
    expect(await planned()).toBeUndefined()
    await verify(person)
    expect(await planned()).toBe(1)
    await claim((await participantOf(project, 'plan-1')).id, person)
    expect(await planned()).toBeUndefined()
  })

  it('counts those apart whose address nobody confirmed, which the account cannot claim', async () => {
    const person = await signedIn(test)
    await verify(person)
    const email = await addressOf(person)
    await said(project, { external_id: 'plan-2' })
    await said(project, { external_id: 'plan-2', email })
    const planned = async () => {
      const plan = await dataOf(test, 'GET', '/api/privacy/plan', person)
      return [plan.unclaimed_participations, plan.unconfirmed_participations]
    }
    expect(await planned()).toEqual([undefined, 1])
    const { id } = await participantOf(project, 'plan-2')
    await dataOf(test, 'PATCH', `${project.path}/participants/${id}`, project.owner, { body: { email } })
    expect(await planned()).toEqual([1, undefined])
  })
})

describe('POST of a message with an author', () => {
  it('stores the participant as the author and the agent as the writer', async () => {
    const { path } = await said(project, { external_id: 'u-1', name: 'Ada', email: 'Ada@Example.org' })
    const message = await dataOf(test, 'GET', path, project.owner)
    const participant = await participantOf(project, 'u-1')
    expect(participant).toMatchObject({ external_id: 'u-1', name: 'Ada', email: 'ada@example.org', claimed: false })
    expect(message).toMatchObject({
      author: { kind: 'participant', id: participant.id, name: 'Ada' },
      written_by: project.agent.id,
      is_mine: true,
    })
    const own = await madeMessage(test, await madeConversation(test, project), project.owner)
    expect(await dataOf(test, 'GET', own.path, project.owner)).toMatchObject({ written_by: null })
  })

  it('uses the same participant for the same external_id, and a different one in another project', async () => {
    const other = await madeProject(test)
    await said(project, { external_id: 'u-2' })
    await said(project, { external_id: 'u-2', name: 'Second' })
    await said(other, { external_id: 'u-2' })
    const [here, there] = [await participantOf(project, 'u-2'), await participantOf(other, 'u-2')]
    expect(here).toMatchObject({ name: 'Second' })
    expect(there.id).not.toBe(here.id)
    expect(await test.db.prisma.projectParticipant.count({ where: { externalId: 'u-2' } })).toBe(2)
  })

  it('creates one participant when requests are concurrent', async () => {
    const conversation = await madeConversation(test, project, {}, project.agent)
    await Promise.all(
      Array.from({ length: 8 }, () =>
        madeMessage(test, conversation, project.agent, { author: { external_id: 'u-8' } }),
      ),
    )
    const { id } = await participantOf(project, 'u-8')
    expect(await test.db.prisma.message.count({ where: { authorKind: 'participant', authorId: id } })).toBe(8)
  })

  it('returns 403 to a person, 409 for another address of a participant, 422 for a malformed author, and stores nothing', async () => {
    const conversation = await madeConversation(test, project)
    const send = (asker: { cookie: string } | { token: string }, author: unknown) =>
      test.fetch('POST', `${conversation.path}/messages`, {
        ...asker,
        body: { role: 'user', content: 'Words.', author },
      })
    await said(project, { external_id: 'u-3', email: 'third@example.org' })
    expect((await send(project.owner, { external_id: 'u-new' })).status).toBe(403)
    const changed = await send(project.agent, { external_id: 'u-3', email: 'thief@example.org' })
    expect([changed.status, changed.json.code]).toEqual([409, 'conflict'])
    expect(changed.text).not.toMatch(/third@|thief@/)
    for (const author of [
      {},
      { external_id: '' },
      { external_id: 'x'.repeat(201) },
      { external_id: 'a\nb' },
      { external_id: 'u', email: 'none' },
      { external_id: 'u', account_id: 'usr_x' },
      'u-3',
    ])
      expect((await send(project.agent, author)).status, JSON.stringify(author)).toBe(422)
    expect(await test.db.prisma.message.count({ where: { conversationId: conversation.id } })).toBe(0)
    expect(await participantOf(project, 'u-new')).toBeUndefined()
    expect(await participantOf(project, 'u-3')).toMatchObject({ email: 'third@example.org' })
  })

  it('does not assign the message to an account whose id or address the author names', async () => {
    const victim = await madeMember(test, project)
    const address = await addressOf(victim)
    const { path } = await said(project, { external_id: victim.accountId, email: address })
    const message = await dataOf(test, 'GET', path, victim)
    expect(message).toMatchObject({ author: { kind: 'participant' }, is_mine: false })
    expect(message.author.id).not.toBe(victim.accountId)
    expect(await participantOf(project, victim.accountId)).toMatchObject({ claimed: false })
  })

  it('returns 404 to a stranger and 401 to a revoked token; a retry with the same key has one effect', async () => {
    const conversation = await madeConversation(test, project, {}, project.agent)
    const stranger = await issuedAgent(test, ['read', 'write'])
    const body = { role: 'user', content: 'Words.', author: { external_id: 'u-4' } }
    const send = (token: string, key = 'one') =>
      test.fetch('POST', `${conversation.path}/messages`, { token, body, headers: { 'Idempotency-Key': key } })
    expect((await send(stranger.token)).status).toBe(404)
    const reader = await issuedAgent(test, ['read'], { owner: project.owner })
    expect((await send(reader.token)).status).toBe(403)
    expect((await send(project.agent.token)).status).toBe(201)
    expect((await send(project.agent.token)).headers.get('idempotency-replayed')).toBe('true')
    expect(await test.db.prisma.message.count({ where: { conversationId: conversation.id } })).toBe(1)
    const deleted = await issuedAgent(test, ['read', 'write'], { owner: project.owner })
    await test.db.prisma.token.update({ where: { id: deleted.tokenId }, data: { revokedAt: test.clock.now() } })
    expect((await send(deleted.token, 'two')).status).toBe(401)
  })

  it('stores a document with a participant as its author', async () => {
    const { status, json } = await test.fetch('POST', `${project.path}/documents?name=a.txt&author=u-5`, {
      ...project.agent,
      body: 'Text.',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(status).toBe(201)
    const { id } = await participantOf(project, 'u-5')
    expect(json.data).toMatchObject({ author: { kind: 'participant', id, name: 'u-5' }, written_by: project.agent.id })
    const person = await test.fetch('POST', `${project.path}/documents?name=a.txt&author=u-5`, {
      ...project.owner,
      body: 'Text.',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(person.status).toBe(403)
  })
})

describe('participants of a project', () => {
  it('show email addresses only to owners, managers and admins; strangers get 404', async () => {
    await said(project, { external_id: 'u-6', email: 'sixth@example.org' })
    const path = `${project.path}/participants?external_id=u-6`
    const member = await madeMember(test, project)
    const manager = await signedIn(test, 'manager', project.owner.organisationId)
    const emails = async (asker: Person) => (await dataOf(test, 'GET', path, asker))[0].email
    expect(await emails(project.owner)).toBe('sixth@example.org')
    expect(await emails(manager)).toBe('sixth@example.org')
    expect(await emails(stage.admin)).toBe('sixth@example.org')
    expect(await emails(member)).toBeNull()
    expect((await test.fetch('GET', path, await signedIn(test))).status).toBe(404)
    expect((await test.fetch('GET', path, await signedIn(test, 'manager'))).status).toBe(404)
  })

  it('can be corrected by owners, but not by members or the agent', async () => {
    await said(project, { external_id: 'u-7', name: 'Wrong' })
    const { id } = await participantOf(project, 'u-7')
    const edit = (asker: object, body: object) =>
      test.fetch('PATCH', `${project.path}/participants/${id}`, { ...asker, body })
    expect((await edit(project.owner, { name: 'Right', email: 'right@example.org' })).json.data).toMatchObject({
      name: 'Right',
      email: 'right@example.org',
    })
    expect((await edit(await madeMember(test, project), { name: 'x' })).status).toBe(403)
    expect((await edit(project.agent, { name: 'x' })).status).toBe(403)
    expect((await edit(await signedIn(test), { name: 'x' })).status).toBe(404)
    const outsider = await signedIn(test)
    expect((await edit(project.owner, { account_id: outsider.accountId })).status).toBe(404)
  })

  it('shows their email addresses in an export of the project only to those who act for participants', async () => {
    const email = `exported-${project.id}@example.org`.toLowerCase()
    await said(project, { external_id: 'exported', email })
    const exportedTo = async (asker: object) => {
      const { status, text } = await test.fetch('GET', `${project.path}/export`, asker)
      expect(status).toBe(200)
      return linesOf(text).find(({ part, external_id }) => part === 'participants' && external_id === 'exported')
    }
    expect(await exportedTo(project.owner)).toMatchObject({ email })
    for (const asker of [await madeMember(test, project), project.agent])
      expect(await exportedTo(asker)).toMatchObject({ email: null })
  })

  it('lets only an owner connect accounts and replace addresses, never their own, and only an admin disconnect them', async () => {
    const email = `somebody-${project.id}@example.org`
    await said(project, { external_id: 'taken', email })
    const { id } = await participantOf(project, 'taken')
    const edit = async (asker: object, body: object) =>
      (await test.fetch('PATCH', `${project.path}/participants/${id}`, { ...asker, body })).status
    const { organisationId } = project.owner
    const manager = await signedIn(test, 'manager', organisationId)
    const member = await madeMember(test, project)
    expect(await edit(manager, { account_id: manager.accountId })).toBe(403)
    expect(await edit(manager, { account_id: member.accountId })).toBe(403)
    expect(await edit(manager, { email: await addressOf(manager) })).toBe(403)
    expect(await edit(project.owner, { account_id: project.owner.accountId })).toBe(403)
    expect(await edit(project.owner, { email: await addressOf(project.owner) })).toBe(403)
    // The token of an agent acts for the person who owns the agent.
    const agent = await issuedAgent(test, ['read', 'write', 'privacy'], { owner: project.owner })
    await dataOf(test, 'POST', `${project.path}/members`, project.owner, {
      body: { kind: 'agent', member_id: agent.id, role: 'owner' },
    })
    expect(await edit(agent, { account_id: project.owner.accountId })).toBe(403)
    expect(await edit(agent, { email: await addressOf(project.owner) })).toBe(403)
    expect(await edit(agent, { name: 'Wrong' })).toBe(200)
    expect(await edit(manager, { name: 'Right' })).toBe(200)
    await said(project, { external_id: 'no-address' })
    const withoutAddress = `${project.path}/participants/${(await participantOf(project, 'no-address')).id}`
    const address = { email: `added-${project.id}@example.org` }
    for (const [asker, status] of [
      [manager, 403],
      [await signedIn(test, 'admin'), 200],
    ] as const)
      expect((await test.fetch('PATCH', withoutAddress, { ...asker, body: address })).status).toBe(status)
    expect(await edit(project.owner, { account_id: member.accountId })).toBe(200)
    for (const asker of [manager, project.owner, member]) expect(await edit(asker, { account_id: null })).toBe(403)
    expect(await edit(await signedIn(test, 'admin'), { account_id: null })).toBe(200)
    expect(await participantOf(project, 'taken')).toMatchObject({ claimed: false })
  })
})

describe('POST /api/participations/{id}/claim', () => {
  it('requires the verified address that the participation names, and assigns it to one account permanently', async () => {
    const person = await signedIn(test)
    const address = await addressOf(person)
    const { id } = await (async () => {
      await said(project, { external_id: 'c-1', email: address })
      return participantOf(project, 'c-1')
    })()
    expect((await claim(id, person)).status).toBe(403)
    expect((await dataOf(test, 'GET', '/api/participations', person)).length).toBe(0)
    await verify(person)
    expect(await dataOf(test, 'GET', '/api/participations', person)).toMatchObject([
      { id, claimed: false, messages: 1 },
    ])
    const thief = await signedIn(test)
    await verify(thief)
    expect((await claim(id, thief)).status).toBe(404)
    expect((await claim(id, person)).status).toBe(200)
    expect((await claim(id, person)).status).toBe(200)
    expect(await participantOf(project, 'c-1')).toMatchObject({ claimed: true })
    // Its address and account cannot be changed by anybody.
    const edit = (body: object) => test.fetch('PATCH', `${project.path}/participants/${id}`, { ...project.owner, body })
    expect((await edit({ email: await addressOf(thief) })).status).toBe(409)
    const member = await madeMember(test, project)
    expect((await edit({ account_id: member.accountId })).status).toBe(409)
    await test.db.prisma.account.update({ where: { id: person.accountId }, data: { email: 'moved@example.org' } })
    await test.db.prisma.account.update({ where: { id: thief.accountId }, data: { email: address } })
    expect((await claim(id, thief)).status).toBe(409)
    expect((await test.fetch('POST', `/api/participations/${id}/claim`, project.agent)).status).toBe(403)
    expect((await test.fetch('POST', `/api/participations/${id}/claim`)).status).toBe(401)
  })

  it('accepts an address that was verified by a link in an email', async () => {
    const person = await signedIn(test)
    const email = await addressOf(person)
    await said(project, { external_id: 'c-2', email })
    const { id } = await participantOf(project, 'c-2')
    await test.fetch('POST', '/api/account/reset', { body: { email } })
    await stage.work()
    const code = /password\/new#(\w+)/.exec(stage.emailsTo(email).at(-1)?.text ?? '')?.[1]
    const used = await test.fetch('POST', '/api/account/password/link', {
      body: { code, new_password: 'correct horse battery staple 7' },
    })
    expect(used.status).toBe(200)
    const account = await test.db.prisma.account.findUniqueOrThrow({ where: { id: person.accountId } })
    expect(account.emailVerifiedAt).not.toBeNull()
    await test.db.prisma.session.updateMany({ where: { accountId: person.accountId }, data: { revokedAt: null } })
    expect((await claim(id, person)).status).toBe(200)
  })
})

describe('a person for whom a backend with one token writes in many conversations', () => {
  it('finds, exports and erases everything that was written on their behalf, and nothing of others', async () => {
    const count = sampledRuns('conversations of one participant', 200, 40)
    const backend = await madeProject(test)
    const person = await signedIn(test)
    await verify(person)
    const email = await addressOf(person)
    const name = 'Wilhelmina Thistlewood'
    const marker = 'the red kettle whistles twice before the morning train'
    const other = { external_id: 'other', name: 'Somebody Else' }
    const retained: string[] = []
    const sources: { id: string; text: string }[] = []
    for (let n = 0; n < count; n++) {
      const conversation = await madeConversation(test, backend, {}, backend.agent)
      const text = `${marker}, ${n}`
      const { id: source } = await madeMessage(test, conversation, backend.agent, {
        author: { external_id: 'wt', name, email },
        content: text,
      })
      sources.push({ id: source, text })
      await storedInThread(test, conversation.id, [{ id: source, text }])
      await madeMessage(test, conversation, backend.agent, { role: 'assistant', content: `An answer, ${n}.` })
      if (n % 20 === 0)
        retained.push(
          (await madeMessage(test, conversation, backend.agent, { author: other, content: `Others, ${n}.` })).id,
        )
    }
    await postgresPlanting(test.db).plant({
      group: backend.groupId,
      entities: [],
      facts: [],
      mentions: [],
      communities: [],
      sagas: [],
      next: [],
      episodes: sources.map(({ id, text }, n) => ({ ...episode(`${id}-episode`, n), content: `${name}: ${text}` })),
    })
    await reported(
      test,
      backend,
      backend.agent,
      sources.map(({ id }) => ({ source_id: id, store: 'graph', ref: `${id}-episode` })),
    )
    const upload = await test.fetch('POST', `${backend.path}/documents?name=notes.txt&author=wt`, {
      ...backend.agent,
      body: marker,
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(upload.status).toBe(201)
    await madeDocument(test, backend, backend.agent)
    const { id } = await participantOf(backend, 'wt')
    const inventoried = async () => {
      const { json } = await test.fetch('GET', '/api/privacy/inventory', person)
      return Object.fromEntries(
        json.data.map(({ holder, count }: { holder: string; count: number }) => [holder, count]),
      )
    }
    expect(await inventoried()).toMatchObject({ 'projects.messages': 0, 'projects.participants': 0 })
    expect((await claim(id, person)).status).toBe(200)

    expect(await inventoried()).toMatchObject({
      'projects.messages': count,
      'projects.documents': 1,
      'projects.participants': 1,
      'objects.bytes': 1,
      'checkpoints.messages': count,
      'graph.episodes': count,
    })
    const asked = await test.fetch('POST', '/api/privacy/exports', { ...person, body: {} })
    await stage.work()
    const file = await fetch(`${test.url}/api/privacy/exports/${asked.json.data.id}/file`, {
      headers: { Cookie: person.cookie },
    })
    const { files } = await openArchive(new Uint8Array(await file.arrayBuffer()))
    const messages: { content: string }[] = JSON.parse(files['project_messages.json'] ?? '[]')
    expect(messages).toHaveLength(count)
    expect(messages.every(({ content }) => content.startsWith(marker))).toBe(true)
    expect(JSON.parse(files['project_participations.json'] ?? '[]')).toMatchObject([{ external_id: 'wt', name, email }])
    expect(JSON.parse(files['graph_episodes.json'] ?? '[]')).toHaveLength(count)
    expect(JSON.parse(files['project_documents.json'] ?? '[]')).toHaveLength(1)
    expect(JSON.parse(files['project_document_texts.json'] ?? '[]')).toMatchObject([{ content: marker }])
    expect(Object.values(files).join()).not.toMatch(/Others, |Somebody Else|An answer/)

    const ahead = await dataOf(test, 'GET', '/api/privacy/erasure-plan', person).catch(() => undefined)
    if (ahead) expect(JSON.stringify(ahead)).toContain('projects.participants')
    const before = await test.app.subjectErasures.dryRun({ account: person.accountId, agents: [] }, test.clock.now())
    expect(before.find(({ holder }) => holder === 'projects.messages')?.items).toBe(count)
    const run = await test.app.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: person.accountId, agents: [] },
        requestedBy: 'user:test',
        reason: 'gdpr_erasure',
        now: test.clock.now(),
      }),
    )
    await stage.work()
    expect(await test.app.subjectErasures.run(run.runId)).toMatchObject({ state: 'done', participants: [] })
    const left = await test.app.db.query<{ n: number }>(
      undefined,
      `SELECT count(*)::int AS n FROM (SELECT x::text AS t FROM messages x UNION ALL SELECT x::text FROM documents x UNION ALL SELECT x::text FROM document_chunks x
         UNION ALL SELECT x::text FROM project_participants x UNION ALL SELECT x::text FROM provenance x UNION ALL SELECT x::text FROM erasure_runs x
         UNION ALL SELECT x::text FROM graph_episodes x UNION ALL SELECT encode(x.blob, 'escape') FROM langgraph.checkpoint_blobs x
         UNION ALL SELECT encode(x.blob, 'escape') FROM langgraph.checkpoint_writes x UNION ALL SELECT x::text FROM langgraph.store x) AS f
       WHERE t LIKE ANY($1::text[])`,
      [[`%${marker}%`, `%${name}%`, `%${email}%`, `%${id}%`]],
    )
    expect(left).toEqual([{ n: 0 }])
    const { prisma } = test.app.db
    expect(await prisma.message.count({ where: { id: { in: retained } } })).toBe(retained.length)
    expect(await prisma.message.count({ where: { projectId: backend.id } })).toBe(count + retained.length)
    expect(await prisma.document.count({ where: { projectId: backend.id } })).toBe(1)
    const receipt = (await test.fetch('GET', `/v1/receipts/${run.receiptId}`)).json
    expect(receipt.stores.find(({ holder }: { holder: string }) => holder === 'projects.messages')).toMatchObject({
      found: count,
      deleted: count,
      residue: 0,
    })
    // The project and external_id stay on the suppression list.
    const conversation = await madeConversation(test, backend, {}, backend.agent)
    const again = await test.fetch('POST', `${conversation.path}/messages`, {
      ...backend.agent,
      body: { role: 'user', content: 'Back.', author: { external_id: 'wt' } },
    })
    expect([again.status, again.json.code]).toEqual([410, 'erased'])
    expect(await participantOf(backend, 'wt')).toBeUndefined()
  }, 600_000)
})

describe('a participant without an account', () => {
  const filed = (on: MadeProject, id: string, asker: object, body: object) =>
    test.fetch('POST', requestsOf(on, id), { ...asker, body })

  it('is represented by an admin only after the admin entered the password', async () => {
    const on = await madeProject(test)
    await said(on, { external_id: 'p', name: 'Pat Quill' })
    const { id } = await participantOf(on, 'p')
    const admin = await signedIn(test, 'admin')
    const erasure = { kinds: ['erasure'], grace: '24h' }
    await test.db.prisma.session.updateMany({ where: { accountId: admin.accountId }, data: { passwordAt: null } })
    const refused = await filed(on, id, admin, erasure)
    expect([refused.status, refused.json.code]).toEqual([403, 'step_up_required'])
    expect(await test.db.prisma.privacyRequest.count({ where: { participantId: id } })).toBe(0)
    await passwordEntered(test, admin)
    expect((await filed(on, id, admin, erasure)).status).toBe(201)
  })

  it('is erased on request of an owner, a manager or an admin, with a receipt; others cannot file the request', async () => {
    for (const who of ['owner', 'manager', 'admin'] as const) {
      const on = await madeProject(test)
      const { id: message, conversation } = await said(
        on,
        { external_id: 'p', name: 'Pat Quill' },
        'Pat said this long sentence here today.',
      )
      await said(on, { external_id: 'stays' })
      const { id } = await participantOf(on, 'p')
      const member = await madeMember(test, on)
      const askers = {
        owner: on.owner,
        manager: await signedIn(test, 'manager', on.owner.organisationId),
        admin: stage.admin,
      }
      const body = { kinds: ['erasure'], grace: 'now' }
      expect((await filed(on, id, member, body)).status).toBe(403)
      expect((await filed(on, id, on.agent, body)).status).toBe(403)
      expect((await filed(on, id, await signedIn(test), body)).status).toBe(404)
      expect((await filed(on, id, await signedIn(test, 'manager'), body)).status).toBe(404)
      const elsewhere = await madeProject(test)
      expect((await filed(elsewhere, id, elsewhere.owner, body)).status).toBe(404)
      await passwordEntered(test, askers[who])
      const { status, json } = await filed(on, id, askers[who], body)
      expect(status, who).toBe(201)
      expect(json.data).toMatchObject({
        subject: 'participant',
        participant_id: id,
        state: who === 'owner' ? 'running' : 'waiting',
        verified_by: who === 'admin' ? 'admin' : 'manager',
      })
      // A person for whom a manager or an admin acts has 24 hours to cancel.
      if (who !== 'owner') test.clock.advance(86_400_000)
      await stage.tick()
      const row = await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: json.data.id } })
      expect(row).toMatchObject({ state: 'completed', participantId: null })
      const receipt = (await test.fetch('GET', `/v1/receipts/${row.receiptId}`)).json
      expect(receipt).toMatchObject({ deleted_id: id, subject_kind: 'participant' })
      const { prisma } = test.app.db
      expect(await prisma.message.count({ where: { id: message } })).toBe(0)
      expect(await prisma.projectParticipant.count({ where: { id } })).toBe(0)
      expect(await participantOf(on, 'stays')).toBeDefined()
      const again = await test.fetch('POST', `${on.path}/participants`, { ...on.agent, body: { external_id: 'p' } })
      expect([again.status, again.json.code]).toEqual([410, 'erased'])
      expect((await filed(on, id, askers[who], body)).status).toBe(404)
      expect((await test.fetch('GET', conversation.path, on.owner)).status).toBe(404)
    }
  }, 300_000)

  it('gets no new messages while its erasure runs', async () => {
    const on = await madeProject(test)
    const { conversation } = await said(on, { external_id: 'p' })
    const { id } = await participantOf(on, 'p')
    await filed(on, id, on.owner, { kinds: ['erasure'], grace: 'now' })
    // Run the jobs until the fence is raised.
    const started = test.app.jobs.find(({ name }) => name === 'erasure.start')
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { participants: { has: id } } })
    await started?.execute(test.app.pipeline, { runId: run.id })
    expect(await test.db.prisma.writeFence.count({ where: { kind: 'participant', id } })).toBe(1)
    const send = () =>
      test.fetch('POST', `${conversation.path}/messages`, {
        ...on.agent,
        body: { role: 'user', content: 'More.', author: { external_id: 'p' } },
      })
    const refused = await send()
    expect([refused.status, refused.json.code]).toEqual([409, 'fenced'])
    // The database rejects a write that bypasses the check of the application.
    await expect(
      test.db.prisma.message.create({
        data: {
          id: 'msg_late',
          projectId: on.id,
          conversationId: conversation.id,
          role: 'user',
          content: 'Late.',
          authorKind: 'participant',
          authorId: id,
          createdAt: test.clock.now(),
          updatedAt: test.clock.now(),
        },
      }),
    ).rejects.toThrow()
    await stage.work()
    expect((await send()).status).toBe(404)
    const next = await said(on, { external_id: 'q' })
    const after = await test.fetch('POST', `${next.conversation.path}/messages`, {
      ...on.agent,
      body: { role: 'user', content: 'More.', author: { external_id: 'p' } },
    })
    expect([after.status, after.json.code]).toEqual([410, 'erased'])
  })

  it('has a grace period in which the request can be cancelled; a repeated request joins the open one', async () => {
    const on = await madeProject(test)
    await said(on, { external_id: 'p' })
    const { id } = await participantOf(on, 'p')
    const first = await filed(on, id, on.owner, { kinds: ['erasure'] })
    expect(first.json.data).toMatchObject({ state: 'waiting', grace: '24h' })
    const second = await filed(on, id, on.owner, { kinds: ['erasure'] })
    expect([second.status, second.json.data.id]).toEqual([200, first.json.data.id])
    const cancel = (asker: object, request = first.json.data.id) =>
      test.fetch('POST', `${requestsOf(on, id)}/${request}/cancel`, asker)
    expect((await cancel(await madeMember(test, on))).status).toBe(403)
    const foreign = await madeProject(test)
    await said(foreign, { external_id: 'p' })
    const theirs = await participantOf(foreign, 'p')
    const stolen = `${requestsOf(foreign, theirs.id)}/${first.json.data.id}/cancel`
    expect((await test.fetch('POST', stolen, foreign.owner)).status).toBe(404)
    // What somebody else filed can only be refused, with a reason and the remedies.
    for (const other of [
      await signedIn(test, 'manager', on.owner.organisationId),
      await madeMember(test, on, 'owner'),
    ]) {
      const refused = await cancel(other)
      expect([refused.status, refused.json.code]).toEqual([403, 'forbidden'])
      expect(refused.json.detail).toContain('An admin can refuse it with the reason')
    }
    expect((await cancel(on.owner)).json.data.state).toBe('cancelled')
    test.clock.advance(25 * 3_600_000)
    await stage.tick()
    expect(await participantOf(on, 'p')).toBeDefined()
    expect(await dataOf(test, 'GET', requestsOf(on, id), on.owner)).toHaveLength(1)
  })

  it('can be exported by owners, and by managers and admins after a request for a copy was filed', async () => {
    const on = await madeProject(test)
    const { path } = await said(on, { external_id: 'p', name: 'Pat' }, 'Words of Pat.')
    await test.fetch('PATCH', path, { ...on.agent, body: { content: 'Better words of Pat.' } })
    await said(on, { external_id: 'q' }, 'Words of Q.')
    const { id } = await participantOf(on, 'p')
    const exported = `${on.path}/participants/${id}/export`
    const manager = await signedIn(test, 'manager', on.owner.organisationId)
    expect((await test.fetch('GET', exported, manager)).status).toBe(403)
    expect((await test.fetch('GET', exported, stage.admin)).status).toBe(403)
    expect((await test.fetch('GET', exported, await madeMember(test, on))).status).toBe(403)
    expect((await test.fetch('GET', exported, await signedIn(test))).status).toBe(404)
    const request = await filed(on, id, manager, { kinds: ['access'] })
    expect(request.json.data).toMatchObject({
      state: 'completed',
      parts: [{ kind: 'access', state: 'done', outcome: { export: `${exported}?scope=all` } }],
    })
    const stale = await test.fetch('GET', exported, stage.admin)
    expect([stale.status, stale.json.code]).toEqual([403, 'step_up_required'])
    await passwordEntered(test, stage.admin)
    for (const asker of [on.owner, manager, stage.admin]) {
      const { status, text } = await test.fetch('GET', exported, asker)
      expect(status).toBe(200)
      const lines = linesOf(text)
      expect(lines.filter(({ part }) => part === 'project_messages')).toMatchObject([
        { content: 'Better words of Pat.' },
      ])
      expect(lines.filter(({ part }) => part === 'project_message_edits')).toMatchObject([{ content: 'Words of Pat.' }])
      expect(lines.filter(({ part }) => part === 'project_participations')).toMatchObject([{ external_id: 'p' }])
      expect(text).not.toContain('Words of Q')
    }
    test.clock.advance(31 * 86_400_000)
    expect((await test.fetch('GET', exported, manager)).status).toBe(403)
  })

  it('needs confirmation by the person who claimed the participation', async () => {
    const on = await madeProject(test)
    const person = await signedIn(test)
    const email = await addressOf(person)
    await verify(person)
    await said(on, { external_id: 'p', email })
    const { id } = await participantOf(on, 'p')
    await claim(id, person)
    const { status, json } = await filed(on, id, on.owner, { kinds: ['erasure'], grace: 'now' })
    expect(status).toBe(201)
    expect(json.data).toMatchObject({ subject: 'person', state: 'received', for_member: true, receipt_id: null })
    await stage.work()
    expect(stage.linkTo(email, 'verify')).not.toBe('no link')
    expect(await participantOf(on, 'p')).toBeDefined()
  })

  it('is retained under a legal hold on the project, or on the account that claimed the participation', async () => {
    const on = await madeProject(test)
    const person = await signedIn(test)
    await verify(person)
    const { id: message } = await said(on, { external_id: 'p', email: await addressOf(person) })
    const { id } = await participantOf(on, 'p')
    await claim(id, person)
    await dataOf(test, 'POST', '/v1/holds', stage.admin, {
      body: { kind: 'account', target_id: person.accountId, reason: 'A dispute' },
    })
    const run = await test.app.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [], participants: [id] },
        requestedBy: 'user:test',
        reason: 'gdpr_erasure',
        now: test.clock.now(),
      }),
    )
    await stage.work()
    expect(await test.app.subjectErasures.run(run.runId)).toMatchObject({ state: 'held' })
    expect(await test.db.prisma.message.count({ where: { id: message } })).toBe(1)
    expect(await participantOf(on, 'p')).toBeDefined()
  })
})

describe('the restriction of a participant', () => {
  const file = (on: MadeProject, id: string, asker: object, body: object) =>
    test.fetch('POST', requestsOf(on, id), { ...asker, body })
  const lift = (on: MadeProject, id: string, asker: object) =>
    test.fetch('DELETE', `${on.path}/participants/${id}/restriction`, asker)
  const spoken = async () => {
    const on = await madeProject(test)
    const first = await said(on, { external_id: 'p', name: 'Pat' }, 'Words of Pat.')
    const other = await madeMessage(test, first.conversation, on.agent, { author: { external_id: 'q' } })
    const attached = await test.fetch('POST', `${first.path}/attachments?name=a.txt`, {
      ...on.agent,
      body: 'Attached words.',
      headers: { 'Content-Type': 'text/plain' },
    })
    const document = await test.fetch('POST', `${on.path}/documents?name=d.txt&author=p`, {
      ...on.agent,
      body: 'Words of a document of Pat.',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect([attached.status, document.status]).toEqual([201, 201])
    const paths = [
      first.path,
      `${first.path}/attachments/${attached.json.data.id}`,
      `${on.path}/documents/${document.json.data.id}`,
      `${on.path}/documents/${document.json.data.id}/content`,
    ]
    return { on, first, other, paths, ...(await participantOf(on, 'p')) }
  }
  /** What the agent can read: the status of each path, the lists, and the export. */
  const served = async ({ on, first, paths }: Awaited<ReturnType<typeof spoken>>, asker: object) => {
    const states: number[] = []
    for (const path of paths) states.push((await test.fetch('GET', path, asker)).status)
    const list = async (path: string) => (await test.fetch('GET', path, asker)).json.total
    const { text } = await test.fetch('GET', `${on.path}/export`, asker)
    return {
      states: [...new Set(states)],
      messages: await list(`${first.conversation.path}/messages`),
      newest: (await test.fetch('GET', `${first.conversation.path}/messages?order=newest`, asker)).json.data.length,
      documents: await list(`${on.path}/documents`),
      isExported: /Words of Pat|Words of a document/.test(text),
    }
  }
  const all = { states: [200], messages: 2, newest: 2, documents: 1, isExported: true }
  const none = { states: [403], messages: 1, newest: 1, documents: 0, isExported: false }

  it('hides the participant’s messages from agents, and only stores what agents add on their behalf, until it is lifted', async () => {
    const given = await spoken()
    const { on, first, id } = given
    expect(await served(given, on.agent)).toEqual(all)
    const filed = await file(on, id, on.owner, { kinds: ['restriction'] })
    expect([filed.status, filed.json.data.state]).toEqual([201, 'completed'])
    expect(await participantOf(on, 'p')).toMatchObject({
      restricted_at: test.clock.now().toISOString(),
      restricted_for: ['request'],
    })
    expect(await served(given, on.agent)).toEqual(none)
    expect(await served(given, on.owner)).toEqual(all)
    const author = { external_id: 'p' }
    const added = { role: 'user', content: 'More words of Pat.', author: { ...author, name: 'Other' } }
    const key = { 'Idempotency-Key': 'restricted' }
    const add = () =>
      test.fetch('POST', `${first.conversation.path}/messages`, { ...on.agent, body: added, headers: key })
    const more = await add()
    expect([more.status, more.json.data.content]).toEqual([201, added.content])
    expect([(await add()).json.code, (await participantOf(on, 'p')).name]).toEqual(['restricted', 'Pat'])
    expect(await served(given, on.agent)).toEqual(none)
    expect(await served(given, on.owner)).toEqual({ ...all, messages: 3, newest: 3 })
    const writes: [string, string, object][] = [
      ['GET', `${first.conversation.path}/messages/${more.json.data.id}`, {}],
      ['PATCH', first.path, { content: 'Other words.' }],
      ['POST', `${on.path}/participants`, { ...author, name: 'Other' }],
    ]
    for (const [method, path, body] of writes) {
      const { status, json } = await test.fetch(method, path, { ...on.agent, ...(method !== 'GET' && { body }) })
      expect([status, json.code], path).toEqual([403, 'restricted'])
    }
    const refused = await test.fetch('POST', `${on.path}/documents?name=e.txt&author=p`, {
      ...on.agent,
      body: 'More words.',
      headers: { 'Content-Type': 'text/plain' },
    })
    expect(refused.json.code).toBe('restricted')
    const line = JSON.stringify({ type: 'participant', ...author })
    const imported = await test.fetch('POST', `${on.path}/import`, {
      ...on.agent,
      body: line,
      headers: { 'Content-Type': 'application/x-ndjson' },
    })
    expect(imported.json.data.faults).toMatchObject([{ line: 1, code: 'restricted' }])
    expect(await test.db.prisma.message.count({ where: { projectId: on.id } })).toBe(3)
    // Exports and erasure still work.
    expect((await test.fetch('GET', `${on.path}/participants/${id}/export`, on.owner)).text).toContain('Words of Pat.')

    expect((await lift(on, id, on.agent)).status).toBe(403)
    expect((await lift(on, id, await madeMember(test, on))).status).toBe(403)
    expect((await lift(on, id, await signedIn(test, 'manager'))).status).toBe(404)
    expect((await lift(await madeProject(test), id, on.owner)).status).toBe(404)
    expect(await served(given, on.agent)).toEqual(none)
    const manager = await signedIn(test, 'manager', on.owner.organisationId)
    expect((await lift(on, id, manager)).json.data).toMatchObject({ restricted_at: null, restricted_for: [] })
    await test.db.prisma.session.updateMany({ where: { accountId: stage.admin.accountId }, data: { passwordAt: null } })
    expect((await lift(on, id, stage.admin)).json.code).toBe('step_up_required')
    await passwordEntered(test, stage.admin)
    expect((await lift(on, id, stage.admin)).status).toBe(200)
    expect(await served(given, on.agent)).toEqual({ ...all, messages: 3, newest: 3 })
  }, 60_000)

  it('the restriction after a participant’s objection ends when an admin refuses the objection, and remains when the admin upholds it', async () => {
    const decide = async (request: string, act: string, body: object) => {
      await passwordEntered(test, stage.admin)
      await dataOf(test, 'POST', `/api/admin/privacy/requests/${request}/${act}`, stage.admin, { body })
    }
    for (const isUpheld of [false, true]) {
      const given = await spoken()
      const { on, id } = given
      const { json } = await file(on, id, on.owner, { kinds: ['objection'], statement: 'No training with my words.' })
      expect(json.data).toMatchObject({ state: 'running', subject: 'participant' })
      expect(await served(given, on.agent)).toEqual(none)
      expect((await lift(on, id, on.owner)).status).toBe(409)
      if (isUpheld) await decide(json.data.id, 'complete', { kind: 'objection', note: 'Upheld.' })
      else await decide(json.data.id, 'refuse', { ground: 'legal_obligation', reason: 'A contract needs it.' })
      expect(await served(given, on.agent)).toEqual(isUpheld ? none : all)
    }
  }, 60_000)

  it('applies with the account that claimed the participation, and only that person can lift it', async () => {
    const given = await spoken()
    const { on, id } = given
    await file(on, id, on.owner, { kinds: ['restriction'] })
    const person = await signedIn(test)
    await test.db.prisma.projectParticipant.update({
      where: { id },
      data: { email: await addressOf(person), emailConfirmed: true },
    })
    await verify(person)
    expect((await claim(id, person)).status).toBe(200)
    expect((await lift(on, id, on.owner)).status).toBe(409)
    expect((await lift(on, id, person)).status).toBe(200)
    expect(await served(given, on.agent)).toEqual(all)
    await dataOf(test, 'POST', '/api/privacy/restriction', person, { body: { restricted: true } })
    expect(await served(given, on.agent)).toEqual(none)
    expect(await participantOf(on, 'p')).toMatchObject({ restricted_at: expect.any(String), restricted_for: [] })
    await dataOf(test, 'POST', '/api/privacy/restriction', person, { body: { restricted: false } })
    expect(await served(given, on.agent)).toEqual(all)
  }, 60_000)

  it('does not block the erasure of the participant', async () => {
    const { on, id } = await spoken()
    await file(on, id, on.owner, { kinds: ['restriction'] })
    const { json } = await file(on, id, on.owner, { kinds: ['erasure'], grace: 'now' })
    await stage.work()
    expect(await test.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: json.data.id } })).toMatchObject({
      state: 'completed',
    })
    expect(await participantOf(on, 'p')).toBeUndefined()
  }, 60_000)
})

describe('the rectification of a participant', () => {
  it('corrects name and email address immediately, and waits for an admin when the request describes the error in words', async () => {
    const on = await madeProject(test)
    await said(on, { external_id: 'p', name: 'Pet', email: 'pet@example.org' })
    const { id } = await participantOf(on, 'p')
    const file = (body: object) =>
      test.fetch('POST', requestsOf(on, id), { ...on.owner, body: { kinds: ['rectification'], ...body } })
    const done = await file({ changes: { name: 'Pat', email: 'Pat@Example.org' } })
    expect([done.status, done.json.data.state]).toEqual([201, 'completed'])
    expect(await participantOf(on, 'p')).toMatchObject({ name: 'Pat', email: 'pat@example.org' })
    expect((await file({})).status).toBe(422)
    expect((await file({ changes: {} })).status).toBe(422)
    expect((await file({ changes: { name: 'a\nb' } })).status).toBe(422)
    const response = await file({ statement: 'The date in my second message is wrong.' })
    expect(response.json.data.state).toBe('running')
    await passwordEntered(test, stage.admin)
    await dataOf(test, 'POST', `/api/admin/privacy/requests/${response.json.data.id}/complete`, stage.admin, {
      body: { kind: 'rectification', note: 'Corrected.' },
    })
    expect((await dataOf(test, 'GET', requestsOf(on, id), on.owner))[0]).toMatchObject({ state: 'completed' })
    // After a claim, only the person corrects the data, in their account.
    const person = await signedIn(test)
    await test.db.prisma.projectParticipant.update({ where: { id }, data: { email: await addressOf(person) } })
    await verify(person)
    await claim(id, person)
    expect((await file({ changes: { name: 'Other' } })).status).toBe(422)
    expect(await participantOf(on, 'p')).toMatchObject({ name: 'Pat' })
  })
})

it("a request of a project's owner for a member needs the member's confirmation by a link; other members and owners of other projects get 404", async () => {
  const on = await madeProject(test)
  const member = await madeMember(test, on)
  const file = (asker: Person) => stage.file(asker.cookie, { kinds: ['erasure'], member: member.accountId })
  expect((await file(await madeMember(test, on))).status).toBe(404)
  expect((await file((await madeProject(test)).owner)).status).toBe(404)
  const { status, json } = await file(on.owner)
  expect(status).toBe(201)
  expect(json.data).toMatchObject({ state: 'received', channel: 'manager', for_member: true, receipt_id: null })
  await stage.work()
  expect(stage.linkTo(await addressOf(member), 'verify')).not.toBe('no link')
  expect(await dataOf(test, 'GET', `/api/privacy/requests/${json.data.id}`, on.owner)).toMatchObject({
    for_member: true,
  })
})

it('the erasure of the agent keeps the messages of participants and removes the agent’s name', async () => {
  const on = await madeProject(test)
  const { path } = await said(on, { external_id: 'p' }, 'Words of a participant.')
  const run = await test.app.db.transaction((tx) =>
    test.app.subjectErasures.begin(tx, {
      requestId: null,
      subject: { account: null, agents: [on.agent.id] },
      requestedBy: 'user:test',
      reason: 'gdpr_erasure',
      now: test.clock.now(),
    }),
  )
  await stage.work()
  expect(await test.app.subjectErasures.run(run.runId)).toMatchObject({ state: 'done' })
  const message = await dataOf(test, 'GET', path, on.owner)
  expect(message).toMatchObject({ content: 'Words of a participant.', written_by: expect.stringMatching(/^erased-/) })
  const row = await test.db.prisma.projectParticipant.findFirstOrThrow({ where: { projectId: on.id } })
  expect(row.createdBy).toMatch(/^erased-/)
})
