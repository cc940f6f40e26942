// Regions of agents, projects and conversations, in an installation in Germany.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createApp } from '#lib/app.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'

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
const reported = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json.code ?? json.data.region]

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
    expect(reported(await project(region))).toEqual([status, answer]),
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
    expect(reported(await converse(id, inner))).toEqual([status, answer])
    expect(await test.db.prisma.conversation.count({ where: { projectId: id } })).toBe(status === 201 ? 1 : 0)
  })

  it('keeps its region, and its project cannot move to a region that excludes it', async () => {
    const { id } = (await project()).json.data
    await converse(id, 'eu')
    expect(reported(await ask('PATCH', `/api/projects/${id}`, { region: 'de' }))).toEqual([409, 'conflict'])
    expect(reported(await ask('PATCH', `/api/projects/${id}`, { region: 'eu' }))).toEqual([200, 'eu'])
    await expect(
      test.db.pool.query("UPDATE conversations SET region = 'de' WHERE project_id = $1", [id]),
    ).rejects.toThrow('fixed at its creation')
  })
})

describe('an exported project', () => {
  type Line = Record<string, unknown>
  /** Makes an import from the export of a project, as an application does. */
  const importOf = (exported: string): Line[] =>
    exported
      .trim()
      .split('\n')
      .map((line): Line => JSON.parse(line))
      .flatMap(({ part, ...record }): Line[] => {
        const { id, title, region, created_at, conversation_id, role, content } = record
        if (part === 'project') return [{ type: 'project', region }]
        if (part === 'conversations') return [{ type: 'conversation', id, title, region, created_at }]
        if (part === 'messages') return [{ type: 'message', id, conversation_id, role, content, created_at }]
        return []
      })
  const exportOf = async (app: TestApp, path: string, cookie: string) =>
    (await app.fetch('GET', `${path}/export?format=ndjson`, { cookie })).text
  const projectIn = async (app: TestApp, region?: string) => {
    const owner = await signedIn(app)
    const made = await app.fetch('POST', '/api/projects', {
      cookie: owner.cookie,
      body: { name: 'A copy', ...(region && { region }) },
    })
    const path = `/api/projects/${made.json.data.id}`
    const agent = await issuedAgent(app, ['read', 'write'], { owner })
    const body = { kind: 'agent', member_id: agent.id }
    await app.fetch('POST', `${path}/members`, { cookie: owner.cookie, body })
    return { path, owner, agent }
  }
  const imported = (app: TestApp, { path, agent }: Awaited<ReturnType<typeof projectIn>>, lines: readonly Line[]) =>
    app.fetch('POST', `${path}/import`, {
      token: agent.token,
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson' },
    })
  const conversationsOf = (app: TestApp) => app.db.prisma.conversation.count()
  let lines: Line[]
  beforeAll(async () => {
    const { path, owner } = await projectIn(test, 'eu')
    for (const [id, region] of [
      ['a-strict', 'de'],
      ['b-inherited', undefined],
    ]) {
      const body = { id, title: `The ${id} one`, ...(region && { region }) }
      await test.fetch('POST', `${path}/conversations`, { cookie: owner.cookie, body })
      const said = { id: `${id}-1`, role: 'user', content: 'Hello.' }
      await test.fetch('POST', `${path}/conversations/${id}/messages`, { cookie: owner.cookie, body: said })
    }
    lines = importOf(await exportOf(test, path, owner.cookie))
  })

  it('has its region and those of its conversations, which an import keeps', async () => {
    expect(lines.map(({ type, id, region }) => [type, id, region])).toEqual([
      ['project', undefined, 'eu'],
      ['conversation', 'a-strict', 'de'],
      ['conversation', 'b-inherited', null],
      ['message', 'a-strict-1', undefined],
      ['message', 'b-inherited-1', undefined],
    ])
    const other = await testApp(settings)
    try {
      const copy = await projectIn(other, 'eu')
      const first = await imported(other, copy, lines)
      expect(first.json.data, first.text).toMatchObject({ failed: 0, stored: { conversations: 2, messages: 2 } })
      expect((await imported(other, copy, lines)).json.data).toMatchObject({ skipped: 5, failed: 0 })
      expect(importOf(await exportOf(other, copy.path, copy.owner.cookie))).toEqual(lines)
      const changed = { type: 'conversation', id: 'a-strict', title: 'The a-strict one', region: null }
      expect((await imported(other, copy, [changed])).json.data.faults).toMatchObject([{ code: 'id_in_use' }])
    } finally {
      await other.close()
    }
  })

  it.each([
    [undefined, 'no region'],
    ['fr', 'the region fr'],
  ])('is rejected before anything is stored by a project in %s', async (region, named) => {
    const french = await testApp({ ...settings, KP_REGIONS: 'files=fr@own,postgresql=fr@own' })
    try {
      const copy = await projectIn(french, region)
      const german = [{ type: 'project', region: 'de' }, ...lines.slice(1)]
      const response = await imported(french, copy, german)
      expect(response.json, response.text).toMatchObject({ status: 409, code: 'conflict' })
      expect(response.json.detail).toContain(`must stay in the region de, and this project has ${named}.`)
      expect(await conversationsOf(french)).toBe(0)
    } finally {
      await french.close()
    }
  })

  it('reports every lost region: conversations with an unavailable region fail with a reason, and the project line must be valid and first', async () => {
    const french = await testApp({ ...settings, KP_REGIONS: 'files=fr@own,postgresql=fr@own' })
    try {
      const copy = await projectIn(french, 'eu')
      const response = await imported(french, copy, lines)
      expect(response.json.data, response.text).toMatchObject({ failed: 2, stored: { conversations: 1, messages: 1 } })
      expect(response.json.data.faults).toEqual([
        { line: 2, code: 'conflict', field: null, detail: expect.stringContaining('in the region de: postgresql') },
        { line: 4, code: 'not_found', field: null, detail: expect.any(String) },
      ])
      const outside = { type: 'conversation', id: 'c', title: 'C', region: 'us' }
      expect((await imported(french, copy, [outside])).json.data.faults).toEqual([
        { line: 1, code: 'invalid', field: 'region', detail: 'is outside of the project’s region, eu' },
      ])
      const conversation = { type: 'conversation', id: 'd', title: 'D' }
      const before = await conversationsOf(french)
      for (const project of [{ type: 'project', region: 'mars' }, { type: 'project' }])
        expect((await imported(french, copy, [project, conversation])).json).toMatchObject({ code: 'invalid' })
      expect(await conversationsOf(french)).toBe(before)
      const late = await imported(french, copy, [conversation, { type: 'project', region: 'fr' }])
      expect(late.json).toMatchObject({ status: 422, code: 'invalid', import: { stored: { conversations: 1 } } })
    } finally {
      await french.close()
    }
  })
})

it('a snapshot is restored only into an agent that is bound to its region', async () => {
  const restored = async (region: string | undefined, from: unknown) => {
    const { agent_id: id, api_key: token } = (
      await test.fetch('POST', '/v1/auth/register', { body: { scopes: ['read', 'write'], ...(region && { region }) } })
    ).json.data
    const lines = [
      { part: 'agent', record: { id: 'another', grimoire_days: null, region: from } },
      { part: 'end', records: 0 },
    ]
    const { status, json } = await test.fetch('POST', `/v1/agents/${id}/snapshots/restore`, {
      token,
      body: lines.map((line) => `${JSON.stringify(line)}\n`).join(''),
      headers: { 'Content-Type': 'application/x-ndjson' },
    })
    return [status, json.code]
  }
  for (const region of [undefined, 'eu']) expect(await restored(region, 'de')).toEqual([409, 'conflict'])
  expect(await restored(undefined, { mars: 1 })).toEqual([422, 'invalid'])
  for (const [region, from] of [
    ['de', 'de'],
    ['de', 'eu'],
    ['de', null],
    [undefined, null],
  ] as const)
    expect(await restored(region, from)).toEqual([200, undefined])
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
    /must contain eu or/,
  ),
)
