import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type Issued, issuedAgent, passwordEntered, signedIn } from '#lib/testing/people.ts'
import { type PrivacyTest, privacyTest } from '#lib/testing/privacy.ts'
import { dataOf } from '#lib/testing/projects.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { type MadePerson, personWithPassword } from '#lib/testing/subjects.ts'
import { sop, trace } from '#lib/testing/units.ts'

let kit: PrivacyTest
let owner: MadePerson
let agent: Issued
const secret = 'quokkaburrow'
const formats = ['json', 'ndjson', 'zip']

/** Stores the secret word in every kind of private record of the agent, and one record that is shared. */
async function plantSecrets(): Promise<void> {
  const { test } = kit
  const post = (path: string, body: object) => dataOf(test, 'POST', path, agent, { body })
  const objective = { task: { objective: `Why ${secret} matters` } }
  await post('/v1/knowledge', trace(objective, { visibility: 'private' }))
  await post('/v1/knowledge', sop({ name: secret }, { visibility: 'private' }))
  await post('/v1/knowledge', trace({ task: { objective: 'Everybody may read this' } }, { visibility: 'network' }))
  await post('/v1/skills', { skill_md: skillMd('hidden', { body: `# ${secret}\n` }), visibility: 'private' })
  await post(`/v1/agents/${agent.id}/documents`, { kind: 'playbook', title: 'Plan', body: secret })
  await post('/v1/llm-log', { messages: [{ role: 'user', content: secret }] })
  await post(`/v1/agents/${agent.id}/grimoire`, {
    kind: 'insight',
    scope: 'clade',
    content: { claim: secret },
    confidence: 0.5,
  })
  // A private unit of a third person names the agent as its expert.
  const third = await issuedAgent(test, ['read', 'write'])
  const naming = { source: { type: 'human_expert', expert_id: agent.id, credentials: [] }, name: secret }
  await dataOf(test, 'POST', '/v1/knowledge', third, { body: sop(naming, { visibility: 'private' }) })
}

const exported = (who: { token: string } | { cookie: string }, query = '') =>
  kit.test.fetch('GET', `/v1/export/${agent.id}${query}`, who)

beforeAll(async () => {
  kit = await privacyTest()
  owner = await personWithPassword(kit.test)
  agent = await issuedAgent(kit.test, ['read', 'write'], { owner })
  await plantSecrets()
})
afterAll(async () => {
  await kit?.test.close()
  await kit?.post.close()
})

describe('the export of an agent of somebody else', () => {
  it('leaves out private content for an admin, in every format, and says so', async () => {
    expect((await exported({ token: agent.token })).text).toContain(secret)
    for (const format of formats) {
      await passwordEntered(kit.test, kit.admin)
      const { status, text } = await exported(kit.admin, `?format=${format}`)
      expect(status, text).toBe(200)
      if (format !== 'zip') expect(text).not.toContain(secret)
    }
    const { json } = await exported(kit.admin)
    expect(json).toMatchObject({ exported_by: `user:${kit.admin.accountId}`, private_content: 'left_out' })
    expect(json.knowledge_units).toMatchObject([{ visibility: 'network' }])
    for (const part of ['agent_documents', 'llm_log', 'grimoire_entries', 'keyrings', 'snapshots'])
      expect(json[part]).toBeUndefined()
    expect(kit.emailsTo(owner.email)).toEqual([])
  })

  it('is rejected for an admin whose password was not entered within ten minutes, and for a token of scope admin', async () => {
    kit.test.clock.advance(11 * 60_000)
    const stale = await exported(kit.admin)
    expect([stale.status, stale.json.code]).toEqual([403, 'step_up_required'])
    const token = await exported(await issuedAgent(kit.test, ['admin']))
    expect([token.status, token.json.code]).toEqual([403, 'forbidden'])
    expect((await exported(await signedIn(kit.test, 'manager', owner.organisationId))).status).toBe(404)
  })

  it('leaves out private content after a request that only an admin verified', async () => {
    const filed = await kit.fileAsAdmin({ kinds: ['access'], agent_id: agent.id, received_at: kit.test.clock.now() })
    expect(filed.status, filed.text).toBe(201)
    expect((await kit.asAdmin(filed.json.data.id, 'verify', { note: 'On the phone.' })).status).toBe(200)
    const { json, text } = await exported(kit.admin)
    expect(json.private_content).toBe('left_out')
    expect(text).not.toContain(secret)
  })

  it('contains private content for 30 days after the owner confirmed a request, names it, and sends the owner an email', async () => {
    const filed = await kit.file(owner.cookie, { kinds: ['access'], agent_id: agent.id, password: owner.password })
    expect(filed.status, filed.text).toBe(201)
    await passwordEntered(kit.test, kit.admin)
    const { json, text } = await exported(kit.admin)
    expect(json).toMatchObject({ private_content: 'included', request_id: filed.json.data.id })
    expect(text).toContain(secret)
    await kit.work()
    expect(kit.emailsTo(owner.email).map(({ subject }) => subject)).toContain(
      'An admin exported the data of your agent',
    )
    const token = await exported(await issuedAgent(kit.test, ['admin']))
    expect(token.status).toBe(403)
    kit.test.clock.advance(31 * 86_400_000)
    await passwordEntered(kit.test, kit.admin)
    expect((await exported(kit.admin)).json.private_content).toBe('left_out')
  })
})
