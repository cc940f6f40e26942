import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suppressions } from '#lib/domains/erasure/suppression/suppressions.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { chosenId, sop, trace } from '#lib/testing/units.ts'

const deleted = 'agent-that-was-erased'
let test: TestApp
let me: Issued
beforeAll(async () => {
  test = await testApp()
  me = await issuedAgent(test, ['read', 'write'], { tier: 'pro' })
  await test.db.transaction((tx) =>
    suppressions(test.app.suppressionKeys).add(tx, [{ kind: 'agent', value: deleted }], {
      runId: 'run_test',
      since: test.clock.now(),
    }),
  )
})
afterAll(() => test.close())

const from = (expert_id: string) => ({ source: { type: 'human_expert', expert_id, credentials: [] } })
const ask = async (method: string, path: string, body: unknown) => {
  const { status, json } = await test.fetch(method, path, { token: me.token, body })
  return { status, code: json.code, paths: json.errors?.map(({ path: at }: { path: string[] }) => at), json }
}
const rows = async (): Promise<number> =>
  (await test.db.prisma.unit.count()) + (await test.db.prisma.skill.count()) + (await test.db.prisma.sopVersion.count())

describe('the name of an erased agent in contributions of others', () => {
  it.each([
    ['the expert of an SOP', '/v1/knowledge', () => sop(from(deleted))],
    ['the expert of an SOP, at its own route', '/v1/sop', () => sop(from(deleted))],
    ['a validator of a unit', '/v1/knowledge', () => trace({}, { validated_by: ['somebody', deleted] })],
    [
      'the author of a skill',
      '/v1/skills',
      () => ({ skill_md: skillMd('of-somebody', { front: `author: ${deleted}` }) }),
    ],
  ])('is stored as plain text by a POST of %s', async (_what, path, body) => {
    const before = await rows()
    const { status, json } = await ask('POST', path, body())
    expect(status, JSON.stringify(json)).toBe(201)
    expect(await rows()).toBeGreaterThan(before)
  })

  it('is stored as plain text by a batch, a correction and a new version', async () => {
    const units = [sop(from(deleted)), trace({}, { validated_by: [deleted] }), sop(from('somebody-else'))]
    const { json } = await ask('POST', '/v1/knowledge/batch', { units })
    expect([json.stored, json.failed]).toEqual([3, 0])
    const { id } = (await ask('POST', '/v1/knowledge', sop(from('somebody-else')))).json.data
    expect((await ask('PATCH', `/v1/knowledge/${id}`, { unit: { source: { expert_id: deleted } } })).status).toBe(200)
    expect((await ask('PUT', `/v1/sop/${id}`, sop({ ...from(deleted), name: 'Another name' }))).status).toBe(200)
    const skill = (await ask('POST', '/v1/skills', { skill_md: skillMd('mine') })).json.data.id
    const skill_md = skillMd('mine', { front: `author: ${deleted}` })
    expect((await ask('PATCH', `/v1/skills/${skill}`, { skill_md })).status).toBe(200)
  })
})

it('an import rejects units by an erased agent, and stores others’ units that contain the name', async () => {
  const record = (id: string, unit: unknown) => ({ id, unit: Object.assign({}, unit, { id }), visibility: 'network' })
  const document = {
    agent_id: 'elsewhere',
    exported_at: '2026-02-01T00:00:00Z',
    schema_version: 'v1',
    scope: 'all',
    knowledge_units: [
      record(chosenId('trace', 'suppressed-1'), trace({}, { agent_id: deleted })),
      record(chosenId('sop', 'suppressed-2'), sop(from(deleted))),
      record(chosenId('trace', 'suppressed-3'), trace({}, { validated_by: ['somebody', deleted] })),
    ],
    total_units: 3,
    skills: [
      {
        id: chosenId('skill', 'suppressed-4'),
        skill_md: skillMd('imported', { front: `author: ${deleted}` }),
        files: [],
        visibility: 'network',
      },
    ],
  }
  const { json } = await ask('POST', '/v1/import', document)
  const results = json.data.results.map(({ id, status, code }: { id: string; status: string; code?: string }) => [
    id,
    code ?? status,
  ])
  expect(results).toEqual([
    [chosenId('trace', 'suppressed-1'), 'erased'],
    [chosenId('sop', 'suppressed-2'), 'stored'],
    [chosenId('trace', 'suppressed-3'), 'stored'],
    [chosenId('skill', 'suppressed-4'), 'stored'],
  ])
  const [row] = await test.db.query<{ document: string }>(
    undefined,
    'SELECT document::text AS document FROM units WHERE id = $1',
    [chosenId('trace', 'suppressed-3')],
  )
  expect(JSON.parse(row?.document ?? '').metadata.validated_by).toEqual(['somebody', deleted])
  const whole = await ask('POST', '/v1/import', { ...document, agent_id: deleted })
  expect([whole.status, whole.code]).toEqual([410, 'erased'])
})
