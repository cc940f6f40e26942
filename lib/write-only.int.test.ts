import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { issuedAgent, signedIn } from '#lib/testing/people.ts'
import { dataOf, madeConversation, madeMessage, madeProject } from '#lib/testing/projects.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test?.close())

/** Operations that a token reads with for any scope. They return ids, counts, states and settings, never contributed content. */
const withoutContent = new Set([
  'listPrivacyRequests',
  'listTokens',
  'planErasure',
  'queryAudit',
  'exportAudit',
  'readErasure',
  'readInventory',
  'readPrivacyRequest',
  'readRestriction',
  'readSelf',
])
/** Operations that reject every token: prepared exports are for people. */
const forPeople = new Set(['listExports', 'readExport', 'downloadExport'])

const onlyWrites = async (more: Parameters<typeof issuedAgent>[2] = {}) => issuedAgent(test, ['write'], more)
/** A further token of the agent with the scope `write` alone. */
async function writerOf(agent: { id: string; token: string }): Promise<{ token: string }> {
  const made = await dataOf(test, 'POST', '/v1/auth/tokens', agent, { body: { scopes: ['write'] } })
  return { token: made.api_key }
}

describe('a token with the scope write only', () => {
  it('is rejected by every operation that reads, except those without content', async () => {
    const agent = await onlyWrites({ tier: 'enterprise' })
    const allowed: string[] = []
    for (const { operation } of test.app.useCases) {
      if (operation.method !== 'get' || operation.permission === 'public') continue
      const path = operation.path.replaceAll(/\{\w+\}/g, `exp_${'0'.repeat(22)}`)
      const { status } = await test.fetch('GET', path, { token: agent.token })
      if (status !== 403) allowed.push(operation.id)
      else if (operation.permission.endsWith(':self')) expect(forPeople).toContain(operation.id)
    }
    expect(new Set(allowed)).toEqual(withoutContent)
  })

  it('cannot export its agent, which a token with the scope read can', async () => {
    const agent = await issuedAgent(test, ['read', 'write'])
    await dataOf(test, 'POST', '/v1/knowledge', agent, { body: trace({}, { visibility: 'private' }) })
    const writer = await writerOf(agent)
    for (const format of ['json', 'ndjson', 'zip']) {
      const response = await test.fetch('GET', `/v1/export/${agent.id}?format=${format}`, writer)
      expect([response.status, response.json.code]).toEqual([403, 'scope_too_small'])
    }
    const reader = await dataOf(test, 'POST', '/v1/auth/tokens', agent, { body: { scopes: ['read'] } })
    const exported = await test.fetch('GET', `/v1/export/${agent.id}`, { token: reader.api_key })
    expect([exported.status, exported.json.total_units]).toEqual([200, 1])
    const requests = await test.fetch('POST', '/api/privacy/requests', { ...writer, body: { kinds: ['access'] } })
    expect([requests.status, requests.json.code]).toEqual([403, 'scope_too_small'])
    const admin = await issuedAgent(test, ['admin'])
    expect((await test.fetch('GET', `/v1/export/${admin.id}`, admin)).status).toBe(200)
  })

  it('corrects a unit without reading it', async () => {
    const agent = await issuedAgent(test, ['read', 'write'])
    const { id } = await dataOf(test, 'POST', '/v1/knowledge', agent, { body: trace({}, { visibility: 'private' }) })
    const writer = await writerOf(agent)
    const correct = async (who: { token: string }, body: object) => {
      const response = await test.fetch('PATCH', `/v1/knowledge/${id}`, { ...who, body })
      expect(response.status, response.text).toBe(200)
      return response
    }
    for (const body of [{ visibility: 'private' }, { visibility: 'org' }, { unit: { outcome: { confidence: 0.5 } } }]) {
      const response = await correct(writer, body)
      expect(response.json.data).not.toHaveProperty('unit')
      expect(response.text).not.toContain('linker')
    }
    const { unit } = (await correct(agent, { visibility: 'private' })).json.data
    expect(unit.outcome).toEqual({ result_summary: 'A faster linker halved the build.', confidence: 0.5 })
  })

  it('corrects a skill and receives only the texts that it sent', async () => {
    const agent = await issuedAgent(test, ['read', 'write'])
    const files = [{ path: 'notes.txt', content: 'A secret recipe.' }]
    const body = { skill_md: skillMd('builds', { body: 'A secret method.' }), files, visibility: 'private' }
    const { id } = await dataOf(test, 'POST', '/v1/skills', agent, { body })
    const writer = await writerOf(agent)
    const correct = (who: { token: string }, change: object) =>
      dataOf(test, 'PATCH', `/v1/skills/${id}`, who, { body: change })
    expect(await correct(writer, { visibility: 'org' })).toMatchObject({ skill_md: '', files: [], kp: null })
    const sent = await correct(writer, { files: [{ path: 'notes.txt', content: 'Another.' }] })
    expect([sent.skill_md, sent.files.map(({ content }: { content: string }) => content)]).toEqual(['', ['Another.']])
    expect((await correct(agent, { visibility: 'private' })).skill_md).toContain('A secret method.')
  })

  it('cannot read earlier texts, names of participants, or the plan of an erasure in a project', async () => {
    const project = await madeProject(test)
    const writer = await writerOf(project.agent)
    const author = { external_id: 'user-1', name: 'Pat Quill' }
    await dataOf(test, 'POST', `${project.path}/participants`, project.agent, { body: author })
    const known = await dataOf(test, 'POST', `${project.path}/participants`, writer, {
      body: { external_id: 'user-1' },
    })
    expect(known).toMatchObject({ external_id: 'user-1', name: null, email: null })
    const conversation = await madeConversation(test, project, {}, project.agent)
    const message = await madeMessage(test, conversation, project.agent, { content: 'What it said first.' })
    const path = `${conversation.path}/messages/${message.id}`
    const edited = await dataOf(test, 'PATCH', path, writer, { body: { content: 'What it says now.' } })
    expect([edited.content, edited.edits, edited.former]).toEqual(['What it says now.', 1, []])
    expect((await dataOf(test, 'GET', path, project.agent)).former).toHaveLength(1)
    const plan = await test.fetch('DELETE', `${path}?dry_run=true`, writer)
    expect([plan.status, plan.json.code]).toEqual([403, 'scope_too_small'])
    expect((await test.fetch('DELETE', `${path}?dry_run=true`, project.agent)).status).toBe(200)
  })

  it('reads the status of a privacy request without its texts', async () => {
    const agent = await issuedAgent(test, ['read', 'write'], { owner: await signedIn(test) })
    const body = { kinds: ['objection'], statement: 'I object to the ranking.' }
    const { id } = await dataOf(test, 'POST', '/api/privacy/requests', agent, { body })
    const path = `/api/privacy/requests/${id}`
    expect((await dataOf(test, 'GET', path, agent)).statement).toBe('I object to the ranking.')
    const seen = await dataOf(test, 'GET', path, await writerOf(agent))
    expect([seen.id, seen.statement]).toEqual([id, null])
    expect(seen.timeline.map(({ note }: { note: string | null }) => note).filter(Boolean)).toEqual([])
  })
})

it('an anonymous export returns 401, even if anonymous reading is enabled', async () => {
  const agent = await issuedAgent(test, ['read', 'write'])
  const admin = await signedIn(test, 'admin')
  const enabled = await test.fetch('PATCH', '/v1/settings', { ...admin, body: { anonymous_reading: true } })
  expect(enabled.status, enabled.text).toBe(200)
  expect((await test.fetch('GET', `/v1/export/${agent.id}`)).status).toBe(401)
})
