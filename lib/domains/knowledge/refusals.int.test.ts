import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { chosenId, sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

type Asker = Pick<Issued, 'token'>
const contribute = async ({ token }: Asker, id: string, path = '/v1/knowledge') => {
  const body = id.startsWith('kp:sop:') ? sop({ id }) : trace({ id })
  const { status, json } = await test.fetch('POST', path, { token, body })
  return { status, code: json.code, detail: json.detail, issues: json.issues, id: json.data?.id }
}
const inBatch = async ({ token }: Asker, ...ids: string[]) => {
  const body = { units: ids.map((id) => trace({ id })) }
  const { status, json } = await test.fetch('POST', '/v1/knowledge/batch', { token, body })
  expect(status).toBe(200)
  return json.data.map(({ status, problem }: { status: number; problem?: object }) => ({ status, problem }))
}
const skillOf = (id: string) => ({ id, skill_md: skillMd('a-skill'), files: [], visibility: 'private' })
const imported = async ({ token }: Asker, units: string[], skills: string[] = []) => {
  const body = {
    agent_id: 'elsewhere',
    schema_version: 'v1',
    total_units: units.length,
    knowledge_units: units.map((id) => ({ id, unit: trace({ id }), visibility: 'private' })),
    skills: skills.map(skillOf),
  }
  const { json } = await test.fetch('POST', '/v1/import', { token, body })
  return json.data.results.map(({ id: _, ...result }: { id: string }) => result)
}
const erase = async ({ token }: Asker, id: string) =>
  expect((await test.fetch('DELETE', `/v1/knowledge/${id}`, { token })).status).toBe(204)
const agentOf = (owner: Person) => issuedAgent(test, ['read', 'write'], { owner })

describe('an id that can be guessed, while all people belong to one organization', () => {
  let owner: Person
  let own: Issued
  let stranger: Issued
  beforeAll(async () => {
    owner = await signedIn(test, 'admin')
    own = await agentOf(owner)
    stranger = await issuedAgent(test, ['read', 'write'])
    for (const id of ['kp:trace:used', 'kp:trace:erased', 'kp:sop:used'])
      expect(await contribute(own, id)).toMatchObject({ status: 201, id })
    await erase(own, 'kp:trace:erased')
    const skills = ['kp:skill:used', 'kp:skill:erased']
    const stored = []
    for (const id of skills) {
      stored.push(...(await imported(own, [], [id])))
      if (id === 'kp:skill:erased') continue
      // The next skill has the same name.
      const skill_md = skillMd('another-name')
      await test.fetch('PATCH', `/v1/skills/${id}`, { token: own.token, body: { skill_md } })
    }
    expect(stored).toEqual([{ status: 'stored' }, { status: 'stored' }])
    expect((await test.fetch('DELETE', '/v1/skills/kp:skill:erased', { token: own.token })).status).toBe(204)
  })

  it('is accepted from this organization, returns 409 when it is used, and 410 forever when it was erased', async () => {
    const colleague = await agentOf(await signedIn(test, 'person', owner.organisationId))
    for (const who of [own, colleague]) {
      expect(await contribute(who, 'kp:trace:used')).toMatchObject({ status: 409, code: 'id_in_use' })
      expect(await contribute(who, 'kp:trace:erased')).toMatchObject({ status: 410, code: 'erased' })
      expect(await inBatch(who, 'kp:trace:used', 'kp:trace:erased')).toMatchObject([{ status: 409 }, { status: 410 }])
      expect(await imported(who, ['kp:trace:erased'], ['kp:skill:erased'])).toMatchObject([
        { status: 'failed', code: 'erased' },
        { status: 'failed', code: 'erased' },
      ])
    }
  })

  it('returns the same 422 to a stranger whether it is used, erased or free, and the stranger cannot block it', async () => {
    const answers = []
    for (const id of ['kp:trace:used', 'kp:trace:erased', 'kp:trace:free']) answers.push(await contribute(stranger, id))
    const [first] = answers
    expect(first).toMatchObject({ status: 422, code: 'invalid', issues: [{ path: ['id'] }] })
    expect(first?.detail).toMatch(/can be guessed.*Omit the id/)
    expect(answers).toEqual([first, first, first])
    const sops = [
      await contribute(stranger, 'kp:sop:used', '/v1/sop'),
      await contribute(stranger, 'kp:sop:free', '/v1/sop'),
    ]
    expect(sops).toEqual([first, first])
    const [used, ...others] = await inBatch(stranger, 'kp:trace:used', 'kp:trace:erased', 'kp:trace:free')
    expect(used).toMatchObject({ status: 422, problem: { code: 'invalid', issues: [{ path: ['id'] }] } })
    expect(others).toEqual([used, used])
    for (const state of ['used', 'erased', 'free'])
      expect(await imported(stranger, [`kp:trace:${state}`], [`kp:skill:${state}`]), state).toEqual([
        { status: 'failed', code: 'invalid', detail: first?.detail },
        { status: 'failed', code: 'invalid', detail: first?.detail },
      ])
    expect(await test.db.prisma.unit.count({ where: { agentId: stranger.id } })).toBe(0)
    expect(await contribute(own, 'kp:trace:free')).toMatchObject({ status: 201 })
  })

  it('an atomic batch of a stranger stores nothing, and names the id', async () => {
    const { status, json } = await test.fetch('POST', '/v1/knowledge/batch?atomic=true', {
      token: stranger.token,
      body: { units: [trace(), trace({ id: 'kp:trace:used' })] },
    })
    expect([status, json.code, json.results[1].problem.code]).toEqual([422, 'batch_rejected', 'invalid'])
    expect(await test.db.prisma.unit.count({ where: { agentId: stranger.id } })).toBe(0)
  })

  it('an import reports a unit with the same content as known if the importer may read it', async () => {
    await test.fetch('PATCH', '/v1/knowledge/kp:trace:free', { token: own.token, body: { visibility: 'private' } })
    const document = (visibility: string) => ({
      agent_id: 'elsewhere',
      total_units: 1,
      knowledge_units: [{ id: 'kp:trace:used', unit: trace({ id: 'kp:trace:used' }, { visibility }), visibility }],
    })
    const { json } = await test.fetch('POST', '/v1/import', { token: stranger.token, body: document('network') })
    expect(json.data.results).toEqual([{ id: 'kp:trace:used', status: 'known' }])
  })
})

describe('an id that can be guessed, while people belong to several organizations', () => {
  let admin: Person
  let one: { person: Person; agent: Issued }
  let two: { person: Person; agent: Issued }
  const assigned = async (organisation: string, namespaces: string[]) =>
    expect(
      (
        await test.fetch('PUT', `/api/admin/organisations/${organisation}/namespaces`, {
          cookie: admin.cookie,
          body: { namespaces },
        })
      ).status,
    ).toBe(200)
  const member = async () => {
    const person = await signedIn(test)
    return { person, agent: await agentOf(person) }
  }
  beforeAll(async () => {
    admin = await signedIn(test, 'admin')
    one = await member()
    two = await member()
  })

  it("is accepted only with the prefix of the caller's organization", async () => {
    const { organisationId } = one.person
    const id = `kp:trace:${organisationId}_report-1`
    expect(await contribute(two.agent, id)).toMatchObject({ status: 422, issues: [{ path: ['id'] }] })
    expect(await contribute(one.agent, id)).toMatchObject({ status: 201, id })
    expect(await contribute(one.agent, id)).toMatchObject({ status: 409 })
    await erase(one.agent, id)
    expect(await contribute(one.agent, id)).toMatchObject({ status: 410 })
    expect(await contribute(two.agent, id)).toMatchObject({ status: 422 })
  })

  it('is accepted with a prefix that an admin assigned, and no other organization can use this prefix', async () => {
    await assigned(one.person.organisationId, ['acme-'])
    await assigned(two.person.organisationId, ['*'])
    expect(await contribute(one.agent, 'kp:trace:acme-1')).toMatchObject({ status: 201 })
    expect(await contribute(one.agent, 'kp:trace:other-1')).toMatchObject({ status: 422 })
    expect(await contribute(two.agent, 'kp:trace:other-1')).toMatchObject({ status: 201 })
    for (const id of ['kp:trace:acme-1', 'kp:trace:acme-2'])
      expect(await contribute(two.agent, id)).toMatchObject({ status: 422 })
  })

  it('returns 409 or 410 when the organization that used the id contributes it again, even without its namespace', async () => {
    for (const id of ['kp:trace:acme-3', 'kp:trace:acme-4'])
      expect(await contribute(one.agent, id)).toMatchObject({ status: 201 })
    await erase(one.agent, 'kp:trace:acme-4')
    await assigned(one.person.organisationId, [])
    expect(await contribute(one.agent, 'kp:trace:acme-3')).toMatchObject({ status: 409 })
    expect(await contribute(one.agent, 'kp:trace:acme-4')).toMatchObject({ status: 410 })
    expect(await contribute(one.agent, 'kp:trace:acme-5')).toMatchObject({ status: 422 })
    expect(await inBatch(one.agent, 'kp:trace:acme-3', 'kp:trace:acme-4')).toMatchObject([
      { status: 409 },
      { status: 410 },
    ])
    expect(await imported(one.agent, ['kp:trace:acme-4'])).toMatchObject([{ status: 'failed', code: 'erased' }])
  })

  it('is refused from a token of scope admin too', async () => {
    const agent = await issuedAgent(test, ['admin', 'write'])
    expect(await contribute(agent, 'kp:trace:by-an-admin')).toMatchObject({ status: 422 })
  })
})

it('an id that cannot be guessed is accepted once, returns 409 while it is used, and 410 to everyone after its erasure', async () => {
  const [author, stranger] = [await issuedAgent(test, ['read', 'write']), await issuedAgent(test, ['read', 'write'])]
  const id = chosenId('trace', 'own')
  expect(await contribute(author, id)).toMatchObject({ status: 201, id })
  for (const who of [author, stranger]) expect(await contribute(who, id)).toMatchObject({ status: 409 })
  await erase(author, id)
  for (const who of [author, stranger]) expect(await contribute(who, id)).toMatchObject({ status: 410 })
})
