import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { suppressions } from '#lib/domains/erasure/suppressions.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent } from '#lib/testing/people.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { refuseErasedNames } from './suppression.ts'

const gone = 'agent-that-was-erased'
let test: TestApp
let me: Issued
beforeAll(async () => {
  test = await testApp()
  me = await issuedAgent(test, ['read', 'write'], { tier: 'pro' })
  await test.db.transaction((tx) =>
    suppressions(test.app.suppressionKeys).add(tx, [{ kind: 'agent', value: gone }], {
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

describe('who was erased comes back by no contribution', () => {
  it.each([
    ['the expert of an SOP', '/v1/knowledge', sop(from(gone))],
    ['the expert of an SOP, at its own door', '/v1/sop', sop(from(gone))],
    ['somebody who validated a unit', '/v1/knowledge', trace({}, { validated_by: ['somebody', gone] })],
    ['the author of a skill', '/v1/skills', { skill_md: skillMd('of-somebody', { front: `author: ${gone}` }) }],
  ])('%s', async (_what, path, body) => {
    const before = await rows()
    const told = await ask('POST', path, body)
    expect([told.status, told.code]).toEqual([410, 'erased'])
    expect(JSON.stringify(told.json)).not.toContain(gone)
    expect(await rows()).toBe(before)
  })

  it('nor in a batch: what names them is refused, the rest is stored', async () => {
    const units = [trace(), sop(from(gone)), trace({}, { validated_by: [gone] }), sop(from('somebody-else'))]
    const { json } = await ask('POST', '/v1/knowledge/batch', { units })
    expect(json.data.map(({ status }: { status: number }) => status)).toEqual([201, 410, 410, 201])
    expect([json.stored, json.failed]).toEqual([2, 2])
    const atomic = await ask('POST', '/v1/knowledge/batch?atomic=true', { units })
    expect(atomic.code).toBe('batch_rejected')
  })

  it('nor by a correction or a new wording; what named them before may be corrected elsewhere', async () => {
    const { id } = (await ask('POST', '/v1/knowledge', sop(from('somebody-else')))).json.data
    const unit = { source: { expert_id: gone } }
    expect((await ask('PATCH', `/v1/knowledge/${id}`, { unit })).code).toBe('erased')
    expect((await ask('PUT', `/v1/sop/${id}`, sop(from(gone)))).code).toBe('erased')
    await test.db.query(
      undefined,
      `UPDATE units SET document = jsonb_set(document, '{source,expert_id}', to_jsonb($2::text)), attributed_to = $2 WHERE id = $1`,
      [id, gone],
    )
    expect((await ask('PATCH', `/v1/knowledge/${id}`, { unit: { name: 'Another name' } })).status).toBe(200)
    const skill = (await ask('POST', '/v1/skills', { skill_md: skillMd('mine') })).json.data.id
    const skill_md = skillMd('mine', { front: `author: ${gone}` })
    expect((await ask('PATCH', `/v1/skills/${skill}`, { skill_md })).code).toBe('erased')
  })

  it('nor by an import: their own records are refused, and in others’ a pseudonym stands for them', async () => {
    const record = (id: string, unit: unknown) => ({ id, unit: Object.assign({}, unit, { id }), visibility: 'network' })
    const document = {
      ...{ agent_id: 'elsewhere', exported_at: '2026-02-01T00:00:00Z', schema_version: 'v1', scope: 'all' },
      knowledge_units: [
        record('kp:trace:suppressed-1', trace({}, { agent_id: gone })),
        record('kp:sop:suppressed-2', sop(from(gone))),
        record('kp:trace:suppressed-3', trace({}, { validated_by: ['somebody', gone] })),
      ],
      total_units: 3,
      skills: [
        {
          id: 'kp:skill:suppressed-4',
          skill_md: skillMd('imported', { front: `author: ${gone}` }),
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
      ['kp:trace:suppressed-1', 'erased'],
      ['kp:sop:suppressed-2', 'erased'],
      ['kp:trace:suppressed-3', 'stored'],
      ['kp:skill:suppressed-4', 'erased'],
    ])
    const [row] = await test.db.query<{ document: string }>(
      undefined,
      "SELECT document::text AS document FROM units WHERE id = 'kp:trace:suppressed-3'",
    )
    expect(row?.document).not.toContain(gone)
    expect(JSON.parse(row?.document ?? '').metadata.validated_by).toEqual([
      'somebody',
      expect.stringMatching(/^erased-[0-9A-Za-z]{12}$/),
    ])
    const whole = await ask('POST', '/v1/import', { ...document, agent_id: gone })
    expect([whole.status, whole.code]).toEqual([410, 'erased'])
  })
})

it('nothing is asked where a unit names nobody but its author', async () => {
  const asked: string[] = []
  const isSuppressed = async (_kind: 'agent', values: readonly string[]) => {
    asked.push(...values)
    return []
  }
  await refuseErasedNames(isSuppressed, trace(), { author: 'me' })
  await refuseErasedNames(isSuppressed, sop(from('me')), { author: 'me' })
  await refuseErasedNames(isSuppressed, sop(from('former')), { author: 'me', before: ['former'] })
  expect(asked).toEqual([])
  await refuseErasedNames(isSuppressed, trace({}, { validated_by: ['one', 'me', 'two', 'one'] }), { author: 'me' })
  expect(asked).toEqual(['one', 'two'])
})
