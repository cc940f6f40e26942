// Regions of agents, projects and conversations, in an installation in Germany.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Person, signedIn } from '#lib/testing/people.ts'

const settings = { KP_DATA_REGIONS: 'eu,de,fr', KP_REGIONS: 'files=de@own,postgresql=de@own' }
let test: TestApp
let person: Person
beforeAll(async () => {
  test = await testApp(settings)
  person = await signedIn(test)
})
afterAll(() => test?.close())

const ask = (method: string, path: string, body?: unknown) => test.fetch(method, path, { cookie: person.cookie, body })
const register = (region: string) => test.fetch('POST', '/v1/auth/register', { body: { region } })
const project = (region?: string) => ask('POST', '/api/projects', { name: 'A project', ...(region && { region }) })
const converse = (projectId: string, region?: string) =>
  ask('POST', `/api/projects/${projectId}/conversations`, { title: 'A talk', ...(region && { region }) })
const told = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json.code ?? json.data.region]

describe('an agent', () => {
  it.each(['eu', 'de'])('is created in the region %s, which the installation is in', async (region) => {
    const { status, json } = await register(region)
    expect(status).toBe(201)
    const shown = await test.fetch('GET', `/v1/agents/${json.data.agent_id}`, { token: json.data.api_key })
    expect(shown.json.data.region).toBe(region)
  })
  it('is rejected with outside_region for a region that a store is not in', async () => {
    const before = await test.db.prisma.agent.count()
    expect((await register('fr')).json).toMatchObject({ status: 422, code: 'outside_region' })
    expect(await test.db.prisma.agent.count()).toBe(before)
  })
  it.each(['us', 'mars', 'DE'])('is rejected with invalid for %s, which cannot be chosen', async (region) =>
    expect((await register(region)).json).toMatchObject({ status: 422, code: 'invalid' }),
  )
})

describe('a project', () => {
  it.each([
    ['eu', 201, 'eu'],
    ['de', 201, 'de'],
    ['fr', 409, 'conflict'],
    ['us', 422, 'invalid'],
  ])('with the region %s returns %i %s', async (region, status, answer) =>
    expect(told(await project(region))).toEqual([status, answer]),
  )
})

describe('a conversation', () => {
  it.each([
    [undefined, 'de', 201, 'de'],
    [undefined, undefined, 201, null],
    ['eu', 'de', 201, 'de'],
    ['eu', 'eu', 201, 'eu'],
    ['eu', undefined, 201, null],
    ['de', 'eu', 422, 'invalid'],
    ['de', 'fr', 422, 'invalid'],
    ['eu', 'fr', 409, 'conflict'],
    [undefined, 'us', 422, 'invalid'],
  ])('of a project in %s with the region %s returns %i %s', async (outer, inner, status, answer) => {
    const { id } = (await project(outer)).json.data
    expect(told(await converse(id, inner))).toEqual([status, answer])
    expect(await test.db.prisma.conversation.count({ where: { projectId: id } })).toBe(status === 201 ? 1 : 0)
  })

  it('keeps its region, and its project cannot move to a region that excludes it', async () => {
    const { id } = (await project()).json.data
    await converse(id, 'eu')
    expect(told(await ask('PATCH', `/api/projects/${id}`, { region: 'de' }))).toEqual([409, 'conflict'])
    expect(told(await ask('PATCH', `/api/projects/${id}`, { region: 'eu' }))).toEqual([200, 'eu'])
    await expect(
      test.db.pool.query("UPDATE conversations SET region = 'de' WHERE project_id = $1", [id]),
    ).rejects.toThrow('fixed at its creation')
  })
})

it('after a change of settings, no conversation is stored in the region, and the stores page names agents and projects', async () => {
  const { id } = (await project('de')).json.data
  const european = (await project('eu')).json.data.id
  const mixed = (await project()).json.data.id
  await converse(mixed, 'de')
  const agent = (await register('de')).json.data.agent_id
  const admin = await signedIn(test, 'admin')
  const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
  const moved = await testApp(
    { ...settings, KP_DATA_DIR: test.dataDir, KP_REGIONS: 'files=fr@own,postgresql=de@own' },
    database,
  )
  try {
    const path = `/api/projects/${id}/conversations`
    const refused = await moved.fetch('POST', path, { cookie: person.cookie, body: { title: 'A talk' } })
    expect(refused.json).toMatchObject({ status: 409, code: 'conflict', detail: expect.stringContaining('files') })
    const { data } = (await moved.fetch('GET', '/api/stores', { cookie: admin.cookie })).json
    expect(data.projects_outside.project_ids).toEqual(expect.arrayContaining([id, mixed]))
    expect(data.agents_outside.agent_ids).toContain(agent)
    // France and Germany are both in the EEA.
    expect(data.projects_outside.project_ids).not.toContain(european)
  } finally {
    await moved.close()
  }
  const { data } = (await test.fetch('GET', '/api/stores', { cookie: admin.cookie })).json
  expect([data.projects_outside.total, data.agents_outside.total]).toEqual([0, 0])
})

it.each(['mars', 'eu,uk', 'de;fr', 'xx'])('KP_DATA_REGIONS=%s is rejected at the start', (text) =>
  expect(() => createApp({ env: { ...test.app.env, KP_DATA_REGIONS: text }, clock: test.clock })).toThrow(
    /takes eu or/,
  ),
)
