import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf, type ProjectClient } from '#lib/testing/projects.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp({ KP_POINTER_PREFIXES: 'app:answers:,uploads/' })
})
afterAll(() => test?.close())

const created = (asker: ProjectClient, body: object = {}) =>
  test.fetch('POST', '/api/projects', { ...asker, body: { name: 'A project', ...body } })
const namespaceOf = (asker: ProjectClient) => dataOf(test, 'GET', '/api/stores/namespace', asker)
/** Reports the keys, each for a new message of a new project, and returns the answers. */
async function reportedKeys(asker: ProjectClient, ...keys: string[]) {
  const path = `/api/projects/${(await created(asker)).json.data.id}`
  const { id } = await dataOf(test, 'POST', `${path}/conversations`, asker, { body: { title: 'x' } })
  const answers = []
  for (const ref of keys) {
    const message = await dataOf(test, 'POST', `${path}/conversations/${id}/messages`, asker, {
      body: { role: 'user', content: 'x' },
    })
    const pointer = { store: ref.startsWith('uploads/') ? 'objects' : 'cache', ref }
    const one = await test.fetch('POST', `${path}/provenance`, {
      ...asker,
      body: { entries: [{ source_id: message.id, ...pointer }] },
    })
    const other = await test.fetch('POST', `${path}/conversations/${id}/messages`, {
      ...asker,
      body: { role: 'user', content: 'x', provenance: [pointer] },
    })
    expect([ref, other.status]).toEqual([ref, one.status === 200 ? 201 : one.status])
    answers.push(one)
  }
  return answers
}
const statuses = (answers: readonly { status: number }[]) => answers.map(({ status }) => status)
const assigned = (admin: ProjectClient, organisation: string, namespaces: string[]) =>
  test.fetch('PUT', `/api/admin/organisations/${organisation}/namespaces`, { ...admin, body: { namespaces } })

describe('while all people belong to one organization', () => {
  let admin: Person
  let stranger: Issued
  beforeAll(async () => {
    admin = await signedIn(test, 'admin')
    stranger = await issuedAgent(test, ['read', 'write'])
  })

  it('every id can be claimed by this organization, while an unclaimed agent can claim only ids with its own prefix', async () => {
    const person = await signedIn(test, 'person', admin.organisationId)
    expect(await namespaceOf(person)).toEqual({
      organisation_id: admin.organisationId,
      prefix: `${admin.organisationId}_`,
      namespaces: [],
      is_any: true,
    })
    expect((await created(stranger, { group_id: 'support' })).status).toBe(422)
    expect((await created(person, { group_id: 'support' })).status).toBe(201)
    const { prefix, is_any } = await namespaceOf(stranger)
    expect(is_any).toBe(false)
    expect((await created(person, { group_id: `${prefix}support` })).status).toBe(422)
    expect((await created(stranger, { group_id: `${prefix}support` })).status).toBe(201)
  })

  it('every key with a common prefix can be reported by this organization, while an unclaimed agent can report only keys with its own id', async () => {
    const person = await signedIn(test, 'person', admin.organisationId)
    expect(statuses(await reportedKeys(person, 'app:answers:7', 'uploads/7', 'other:7'))).toEqual([200, 200, 422])
    const { organisation_id } = await namespaceOf(stranger)
    const own = [`app:answers:${organisation_id}:7`, `uploads/v2/${organisation_id}_7`]
    expect(statuses(await reportedKeys(stranger, 'app:answers:8', 'uploads/8', ...own))).toEqual([422, 422, 200, 200])
    expect(statuses(await reportedKeys(person, `app:answers:${organisation_id}:8`))).toEqual([422])
  })
})

describe('while people belong to several organizations', () => {
  let admin: Person
  let one: Person
  let two: Person
  let legacy: { project: string; conversation: string }
  beforeAll(async () => {
    admin = await signedIn(test, 'admin')
    one = await signedIn(test)
    // Claims from the time when every id could be claimed.
    const project = (await created(one)).json.data.id
    const conversation = await dataOf(test, 'POST', `/api/projects/${project}/conversations`, one, {
      body: { title: 'A conversation' },
    })
    await test.db.prisma.conversation.update({
      where: { id: conversation.id },
      data: { threads: [conversation.id, 'legacy-thread'] },
    })
    await test.db.prisma.project.update({ where: { id: project }, data: { groupId: 'legacy-group' } })
    legacy = { project, conversation: conversation.id }
    two = await signedIn(test)
  })

  it('POST /api/projects rejects a group outside the namespace, and names the prefix to use', async () => {
    for (const who of [one, two, await issuedAgent(test, ['read', 'write'], { owner: two })]) {
      const { prefix } = await namespaceOf(who)
      for (const group_id of ['acme-support', (await namespaceOf(who === one ? two : one)).prefix]) {
        const { status, json } = await created(who, { group_id })
        expect([status, json.code]).toEqual([422, 'invalid'])
        expect(json.issues).toMatchObject([{ path: ['group_id'] }])
        expect(JSON.stringify(json)).toContain(`begins with ${prefix}`)
      }
      expect((await created(who, { group_id: `${prefix}support-${who === one}-${'id' in who}` })).status).toBe(201)
    }
  })

  it('all endpoints reject threads outside the namespace, even when a manager names them', async () => {
    const manager = await signedIn(test, 'manager', two.organisationId)
    for (const who of [two, manager]) {
      const { prefix } = await namespaceOf(who)
      const path = `/api/projects/${(await created(who)).json.data.id}`
      const conversation = await dataOf(test, 'POST', `${path}/conversations`, who, { body: { title: 'x' } })
      const at = `${path}/conversations/${conversation.id}`
      const message = await dataOf(test, 'POST', `${at}/messages`, who, { body: { role: 'user', content: 'x' } })
      const pointer = (place: string) => ({ store: 'checkpoints', ref: 'm', place })
      const foreign = ['user-42', `${one.organisationId}_user-42`, 'legacy-thread']
      for (const thread of foreign) {
        const answers = [
          await test.fetch('POST', `${path}/conversations`, { ...who, body: { title: 'x', threads: [thread] } }),
          await test.fetch('PATCH', at, { ...who, body: { threads: [thread] } }),
          await test.fetch('POST', `${path}/provenance`, {
            ...who,
            body: { entries: [{ source_id: message.id, ...pointer(thread) }] },
          }),
          await test.fetch('POST', `${at}/messages`, {
            ...who,
            body: { role: 'user', content: 'x', provenance: [pointer(thread)] },
          }),
        ]
        expect(answers.map(({ status }) => status)).toEqual([422, 422, 422, 422])
        expect(answers[0]?.json.detail).toContain(`begins with ${prefix}`)
      }
      const added = await dataOf(test, 'PATCH', at, who, { body: { threads: [`${prefix}${message.id}`] } })
      expect(added.threads).toEqual([conversation.id, `${prefix}${message.id}`])
      // A generated id proves who owns the thread.
      await dataOf(test, 'PATCH', at, who, { body: { threads: [`runs/${conversation.id}`] } })
    }
  })

  it('a conversation id that the client chose claims a thread only inside the namespace', async () => {
    const { prefix } = await namespaceOf(two)
    const path = `/api/projects/${(await created(two)).json.data.id}/conversations`
    const free = await dataOf(test, 'POST', path, two, { body: { title: 'x', id: 'user-43' } })
    expect(free.threads).toEqual([])
    const own = await dataOf(test, 'POST', path, two, { body: { title: 'x', id: `${prefix}user-43` } })
    expect(own.threads).toEqual([`${prefix}user-43`])
  })

  it('earlier claims stay valid, and threads can be added to them', async () => {
    const at = `/api/projects/${legacy.project}/conversations/${legacy.conversation}`
    const threads = ['legacy-thread', `${one.organisationId}_more`]
    const changed = await dataOf(test, 'PATCH', at, one, { body: { threads } })
    expect(changed.threads).toEqual([legacy.conversation, ...threads])
    const message = await dataOf(test, 'POST', `${at}/messages`, one, {
      body: { role: 'user', content: 'x', provenance: [{ store: 'checkpoints', ref: 'm', place: 'legacy-thread' }] },
    })
    expect(message.id).toBeDefined()
    expect((await dataOf(test, 'GET', `/api/projects/${legacy.project}`, one)).group_id).toBe('legacy-group')
  })

  it('an admin can assign a prefix or *, and cannot claim ids without it', async () => {
    expect((await created(one, { group_id: 'acme:sales' })).status).toBe(422)
    expect((await assigned(admin, one.organisationId, ['acme:'])).json.data).toMatchObject({ namespaces: ['acme:'] })
    const listed = await dataOf(test, 'GET', '/api/admin/organisations', admin)
    const namespacesOf = ({ organisationId }: Person) =>
      listed.find(({ organisation_id }: { organisation_id: string }) => organisation_id === organisationId).namespaces
    expect([namespacesOf(one), namespacesOf(two)]).toEqual([['acme:'], []])
    expect((await created(one, { group_id: 'acme:sales' })).status).toBe(201)
    await assigned(admin, two.organisationId, ['*'])
    expect(await namespaceOf(two)).toMatchObject({ namespaces: ['*'], is_any: true })
    expect((await created(two, { group_id: 'anything' })).status).toBe(201)
    for (const foreign of ['acme:purchase', `${one.organisationId}_x`])
      expect((await created(two, { group_id: foreign })).status).toBe(422)
    for (const overlapping of ['acme', 'acme:sales', 'org_', `${one.organisationId}_`, 'prj_x'])
      expect((await assigned(admin, two.organisationId, [overlapping])).status).toBe(409)
    expect((await assigned(admin, two.organisationId, [])).json.data).toMatchObject({ is_any: false })
    expect((await created(two, { group_id: 'something-else' })).status).toBe(422)
    expect((await created(admin, { group_id: 'something-else' })).status).toBe(422)
  })

  it('keys with a common prefix need the id or an assigned prefix of the organization', async () => {
    const answers = await reportedKeys(
      one,
      'app:answers:42',
      'uploads/42',
      `app:answers:${two.organisationId}:42`,
      `app:answers:${one.organisationId}:42`,
    )
    expect(statuses(answers)).toEqual([422, 422, 422, 200])
    expect(answers[0]?.json.issues[0]).toMatchObject({ path: ['entries', 0, 'ref'] })
    expect(answers[0]?.json.issues[0].message).toContain(one.organisationId)
    await assigned(admin, one.organisationId, ['acme:', 'acme-'])
    expect(statuses(await reportedKeys(one, 'app:answers:acme:42', 'uploads/acme-42', 'uploads/42'))).toEqual([
      200, 200, 422,
    ])
    await assigned(admin, two.organisationId, ['*'])
    expect(statuses(await reportedKeys(two, 'app:answers:43', 'app:answers:acme:43'))).toEqual([200, 422])
    await assigned(admin, two.organisationId, [])
    expect(statuses(await reportedKeys(two, 'app:answers:44'))).toEqual([422])
    expect(statuses(await reportedKeys(admin, 'app:answers:44'))).toEqual([422])
  })

  it('only admins can assign namespaces', async () => {
    const revoked = await issuedAgent(test, ['admin'])
    await test.db.prisma.token.update({ where: { id: revoked.tokenId }, data: { revokedAt: test.clock.now() } })
    const cases = [
      [{}, 401],
      [two, 403],
      [await signedIn(test, 'manager'), 403],
      [await signedIn(test, 'auditor'), 403],
      [await issuedAgent(test, ['read', 'write']), 403],
      [revoked, 401],
      [await issuedAgent(test, ['admin']), 403],
      [admin, 200],
    ] as const
    for (const [who, status] of cases)
      expect((await assigned(who as ProjectClient, two.organisationId, [])).status).toBe(status)
    expect((await assigned(admin, `org_${'0'.repeat(22)}`, [])).status).toBe(404)
    for (const bad of ['', 'ab', 'a b', '**'])
      expect((await assigned(admin, two.organisationId, [bad])).status).toBe(422)
    const [entry] = await test.app.audit.query({ resource_type: 'organisation' }, test.clock.now())
    expect(entry).toMatchObject({ action: 'update', resourceId: two.organisationId, details: { namespaces: 0 } })
  })
})
