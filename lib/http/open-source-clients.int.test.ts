// Requests of clients of the open-source registry of the same name. docs/migrate-from-open-source-registry.md lists them.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { commandLine } from '#lib/testing/command-line.ts'
import { drain } from '#lib/testing/jobs.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { chosenId, pattern, sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

let registered = 0
async function register(name: string, scopes = ['read', 'write']) {
  const agent_id = `kp:agent:${name}-${++registered}`
  const response = await test.fetch('POST', '/v1/auth/register', { body: { agent_id, scopes, tier: 'free' } })
  expect(response.status).toBe(201)
  expect(response.json.data).toMatchObject({ agent_id, scopes, tier: 'free', key_prefix: expect.any(String) })
  return { id: agent_id, token: response.json.data.api_key as string, prefix: response.json.data.key_prefix as string }
}
type Agent = Awaited<ReturnType<typeof register>>
const contribute = async ({ token }: Agent, unit: unknown): Promise<string> => {
  const response = await test.fetch('POST', '/v1/knowledge', { token, body: unit })
  expect(response.status).toBe(201)
  return response.json.data.id
}

describe('an agent id with colons', () => {
  it('is accepted by registration and returned by GET /v1/auth/me', async () => {
    const { id, token } = await register('scout')
    expect((await test.fetch('GET', '/v1/auth/me', { token })).json.data).toMatchObject({ agent_id: id })
  })

  it('returns 409 for a second registration without a token of the agent', async () => {
    const { id } = await register('taken')
    const response = await test.fetch('POST', '/v1/auth/register', { body: { agent_id: id } })
    expect([response.status, response.json.code]).toEqual([409, 'id_in_use'])
  })

  it.each([
    'user:usr_0123456789abcdefABCDEF',
    'system:erasure.start',
    'kp:trace:x',
    'kp:agent:',
    'kp:agent:a:b',
    'a:b',
  ])('rejects %s with 422', async (agent_id) =>
    expect((await test.fetch('POST', '/v1/auth/register', { body: { agent_id } })).status).toBe(422),
  )

  it('is the author of contributions, in plain and percent-encoded paths and in filters', async () => {
    const agent = await register('author')
    const id = await contribute(agent, trace({}, { agent_id: agent.id }))
    const reader = await register('reader', ['read'])
    const unit = (await test.fetch('GET', `/v1/knowledge/${id}`, reader)).json.data.unit
    expect(unit.metadata.agent_id).toBe(agent.id)
    for (const coded of [agent.id, encodeURIComponent(agent.id)]) {
      expect((await test.fetch('GET', `/v1/knowledge?agent_id=${coded}`, reader)).json.total).toBe(1)
      const { json } = await test.fetch('GET', `/v1/reputation/${coded}`, reader)
      expect(json.data).toMatchObject({ agent_id: agent.id, score: 0.2 })
      const exported = (await test.fetch('GET', `/v1/export/${coded}`, agent)).json
      expect(exported).toMatchObject({ agent_id: agent.id, total_units: 1 })
      expect((await test.fetch('GET', `/v1/agents/${coded}/documents`, agent)).status).toBe(200)
    }
    const { json } = await test.fetch('GET', `/v1/audit?agent_id=${agent.id}&action=create`, agent)
    expect(json.data).toContainEqual(expect.objectContaining({ agentId: agent.id, resourceId: id }))
  })

  it('appears on the leaderboard and in its cursor', async () => {
    const agents = [await register('leader'), await register('leader')]
    for (const agent of agents) await contribute(agent, trace())
    const ids: string[] = []
    for (let cursor = ''; ; ) {
      const path = `/v1/reputation/leaderboard?limit=1${cursor && `&cursor=${encodeURIComponent(cursor)}`}`
      const { status, json } = await test.fetch('GET', path, agents[0])
      expect(status).toBe(200)
      ids.push(...json.data.map(({ agent_id }: { agent_id: string }) => agent_id))
      cursor = json.next_cursor ?? ''
      if (cursor === '') break
    }
    expect(ids).toEqual(expect.arrayContaining(agents.map(({ id }) => id)))
  })

  it('names a voter, and the vote counts', async () => {
    const id = await contribute(await register('voted'), trace())
    const voter = await register('voter')
    const response = await test.fetch('POST', `/v1/knowledge/${id}/validate`, {
      token: voter.token,
      body: { valid: true },
    })
    expect(response.status).toBe(201)
    expect(await test.db.prisma.unitVote.count({ where: { unitId: id, voterId: voter.id } })).toBe(1)
  })

  it('is erased with all data of the agent, and cannot be registered again', async () => {
    const agent = await register('leaver')
    const id = await contribute(agent, trace())
    const { runId } = await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [agent.id] },
        requestedBy: agent.id,
        reason: 'user_request',
        now: test.clock.now(),
      }),
    )
    await drain(test)
    expect((await test.app.subjectErasures.run(runId))?.state).toBe('done')
    expect(await test.db.prisma.agent.count({ where: { id: agent.id } })).toBe(0)
    const reader = await register('reader', ['read'])
    expect((await test.fetch('GET', `/v1/knowledge/${id}`, reader)).status).toBe(404)
    expect((await test.fetch('POST', '/v1/auth/register', { body: { agent_id: agent.id } })).status).toBe(409)
  })

  it('is accepted by kp register, export and import', async () => {
    const line = commandLine(test.url)
    try {
      const made = await line.run(['register', '--agent-id', 'kp:agent:from-kp', '--yes', '--json'])
      expect([made.status, made.json?.data.agent_id]).toEqual([0, 'kp:agent:from-kp'])
      const exported = await line.run(['export', 'kp:agent:from-kp', '--output', 'scout.json', '--json'])
      expect([exported.status, exported.json?.data.agent_id]).toEqual([0, 'kp:agent:from-kp'])
      // The name says nothing about the format.
      const file = join(test.dataDir, 'scout.export')
      const data = { agent_id: 'kp:agent:from-kp', total_contributions: 0, knowledge_units: [] }
      writeFileSync(file, JSON.stringify({ data }))
      const brought = await line.run(['import', file, '--json'])
      expect([brought.status, brought.json?.data]).toEqual([0, expect.objectContaining({ received: 0 })])
    } finally {
      line.close()
    }
  })
})

it('POST /v1/auth/revoke returns data.revoked as true and ends the token', async () => {
  const { token, prefix } = await register('revoker')
  const response = await test.fetch('POST', '/v1/auth/revoke', { token, body: { key_prefix: prefix } })
  expect([response.status, response.json.data.revoked]).toEqual([200, true])
  expect((await test.fetch('GET', '/v1/knowledge', { token })).status).toBe(401)
})

describe('a skill in the form of the other registry', () => {
  const skill = async (agent: Agent, name: string, sent: Record<string, unknown> = {}) =>
    test.fetch('POST', '/v1/skills', {
      token: agent.token,
      body: { skill_md_content: skillMd(name), visibility: 'network', ...sent },
    })

  it('is accepted as skill_md_content and returned by id and in the list', async () => {
    const agent = await register('skilled')
    const { status, json } = await skill(agent, 'slow-builds')
    expect([status, json.data.name, json.data.title]).toEqual([201, 'slow-builds', null])
    expect((await test.fetch('GET', `/v1/skills/${json.data.id}`, agent)).json.data.skill_md).toBe(
      skillMd('slow-builds'),
    )
    const listed = (await test.fetch('GET', '/v1/skills', agent)).json
    expect(listed.data.map(({ id }: { id: string }) => id)).toContain(json.data.id)
  })

  it('keeps a name with spaces and capitals as its title and gets an identifier', async () => {
    const agent = await register('titled')
    const { status, json } = await skill(agent, 'Code Review')
    expect([status, json.data.name, json.data.title]).toEqual([201, 'code-review', 'Code Review'])
    expect(json.data.skill_md).toBe(skillMd('Code Review'))
    expect(json.warnings).toContainEqual(expect.stringContaining('"code-review"'))
    const found = (await test.fetch('GET', '/v1/skills?q=code%20review', agent)).json.data
    expect(found).toContainEqual(expect.objectContaining({ name: 'code-review', title: 'Code Review' }))
    const again = await skill(agent, 'code-review')
    expect([again.status, again.json.code]).toEqual([409, 'conflict'])
  })

  it.each(['Rеview', '../Review', 'Review/Code', '代码审查'])('rejects the name %s with 422', async (name) =>
    expect((await skill(await register('rejected'), name)).status).toBe(422),
  )
})

describe('POST /v1/import of an export of the other registry', () => {
  /** As its GET /v1/export/{agent_id} returns it: units without a wrapper, within `data`. */
  const exportOf = (agentId: string, units: unknown[]) => ({
    data: {
      '@context': 'https://openknowledgepulse.org/export/v1',
      agent_id: agentId,
      exported_at: '2026-02-01T00:00:00.000Z',
      total_contributions: units.length,
      knowledge_units: units,
      reputation: {
        agent_id: agentId,
        score: 4.2,
        contributions: 9,
        validations: 1,
        history: Array.from({ length: 400 }, () => ({
          delta: 0.2,
          reason: 'Contributed knowledge unit',
          timestamp: '',
        })),
      },
      api_keys: [{ key_prefix: 'kp_abcd1234', agent_id: agentId, scopes: ['read'], tier: 'free' }],
    },
  })
  const unitsOf = (author: string, mark: string) => [
    trace({ id: chosenId('trace', `${mark}-1`) }, { agent_id: author, visibility: 'network' }),
    pattern({ id: chosenId('pattern', `${mark}-2`) }, { agent_id: author, visibility: 'org' }),
    sop({ id: chosenId('sop', `${mark}-3`) }, { agent_id: author, visibility: 'private' }),
  ]

  it('stores the units under their ids with their visibility, and ignores reputation and tokens', async () => {
    const agent = await register('mover')
    const units = unitsOf(agent.id, 'moved')
    const body = exportOf(agent.id, units)
    const response = await test.fetch('POST', '/v1/import', { token: agent.token, body })
    expect(response.json.data).toMatchObject({
      received: 3,
      stored: 3,
      failed: 0,
      ignored: { reputation: 1, api_keys: 1 },
    })
    const { id } = agent
    const stored = await test.db.prisma.unit.findMany({ where: { agentId: id }, orderBy: { id: 'asc' } })
    expect(stored.map((row) => [row.id, row.visibility, row.originalAuthor])).toEqual([
      [chosenId('pattern', 'moved-2'), 'org', null],
      [chosenId('sop', 'moved-3'), 'private', null],
      [chosenId('trace', 'moved-1'), 'network', null],
    ])
    expect((await test.fetch('GET', `/v1/reputation/${id}`, agent)).json.data.score).toBe(0)
    const again = await test.fetch('POST', '/v1/import', { token: agent.token, body })
    expect(again.json.data).toMatchObject({ received: 3, stored: 0, known: 3, failed: 0 })
  })

  it('names another author as the original author', async () => {
    const agent = await register('mover')
    const body = exportOf('kp:agent:somebody', unitsOf('kp:agent:somebody', 'renamed'))
    expect((await test.fetch('POST', '/v1/import', { token: agent.token, body })).json.data.stored).toBe(3)
    const [row] = await test.db.prisma.unit.findMany({ where: { agentId: agent.id } })
    expect(row?.originalAuthor).toBe('kp:agent:somebody')
  })

  it('rejects a document with a wrong count, a truncated document, and a document that has properties after data', async () => {
    const agent = await register('mover')
    const body = exportOf(agent.id, unitsOf(agent.id, 'broken'))
    const send = (text: string) => test.fetch('POST', '/v1/import', { token: agent.token, body: text })
    const wrong = { data: { ...body.data, total_contributions: 2 } }
    expect((await send(JSON.stringify(wrong))).json).toMatchObject({ status: 422, code: 'invalid' })
    expect((await send(JSON.stringify(body).slice(0, -1))).json).toMatchObject({ code: 'malformed_json' })
    expect((await send(`${JSON.stringify(body).slice(0, -1)},"more":1}`)).json).toMatchObject({
      code: 'malformed_json',
    })
  })

  it('stores units whose ids contain the time in milliseconds, as published clients generate them', async () => {
    const agent = await register('mover')
    const id = `kp:trace:flowise-${Date.now()}`
    const body = exportOf(agent.id, [trace({ id }, { agent_id: agent.id })])
    expect((await test.fetch('POST', '/v1/import', { token: agent.token, body })).json.data.results).toEqual([
      { id, status: 'stored' },
    ])
  })

  it('reports units whose ids can be guessed, and stores them once an admin assigned a prefix', async () => {
    const agent = await register('mover')
    const unit = trace({ id: 'kp:trace:acme-001' }, { agent_id: agent.id })
    const send = async () =>
      (await test.fetch('POST', '/v1/import', { token: agent.token, body: exportOf(agent.id, [unit]) })).json.data
        .results[0]
    expect(await send()).toMatchObject({ status: 'failed', code: 'invalid', detail: expect.stringMatching(/guessed/) })
    const { organisationId } = await test.db.prisma.agent.findUniqueOrThrow({ where: { id: agent.id } })
    await test.db.prisma.organisation.update({ where: { id: organisationId }, data: { storeNamespaces: ['acme-'] } })
    expect(await send()).toEqual({ id: 'kp:trace:acme-001', status: 'stored' })
  })

  it('rejects the export of an agent of the same owner that was erased here', async () => {
    const owner = await signedIn(test)
    const [agent, mover] = [
      await issuedAgent(test, ['read', 'write'], { owner }),
      await issuedAgent(test, ['read', 'write'], { owner }),
    ]
    await test.db.transaction((tx) =>
      test.app.subjectErasures.begin(tx, {
        requestId: null,
        subject: { account: null, agents: [agent.id] },
        requestedBy: agent.id,
        reason: 'user_request',
        now: test.clock.now(),
      }),
    )
    await drain(test)
    const body = exportOf(agent.id, unitsOf(agent.id, 'gone'))
    const response = await test.fetch('POST', '/v1/import', { token: mover.token, body })
    expect([response.status, response.json.code]).toEqual([410, 'erased'])
  })
})
