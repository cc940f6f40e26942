// Data of agents, projects and conversations whose region the installation no longer ensures, after a change of its settings.
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { noticeVersion } from '#lib/domains/agents/rules.ts'
import { type TestApp, type TestRequest, testApp } from '#lib/testing/app.ts'
import { giveKeyring } from '#lib/testing/keyrings.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import {
  allowAnyClaim,
  dataOf,
  eraseWholeProject,
  type MadeConversation,
  type MadeMessage,
  madeConversation,
  madeDocument,
  madeMessage,
} from '#lib/testing/projects.ts'
import { trace } from '#lib/testing/units.ts'

const germany = { KP_DATA_REGIONS: 'eu,de,fr', KP_REGIONS: 'files=de@own,postgresql=de@own' }

describe.each([
  ['a store is moved outside of it', { KP_REGIONS: 'files=fr@own,postgresql=de@own' }, 'files'],
  ['the settings no longer name it', { KP_DATA_REGIONS: 'eu,fr' }, 'KP_DATA_REGIONS'],
])('a region, after %s', (_change, change, named) => {
  let before: TestApp
  let now: TestApp
  let owner: Person
  let admin: Person
  /** Without a region. */
  let writer: Issued
  /** Data in the region: of a project, and of a conversation in a project without a region. */
  let strict: { path: string; conversation: MadeConversation; message: MadeMessage; document: string }
  let mixed: { path: string; conversation: MadeConversation; message: MadeMessage; document: string }
  /** An agent with the region. */
  let regional: { id: string; token: string; document: string; unit: string }

  async function made(region: string | undefined, inner: string | undefined): Promise<typeof strict> {
    const { id } = await dataOf(before, 'POST', '/api/projects', owner, {
      body: { name: 'A project', ...(region && { region }) },
    })
    const path = `/api/projects/${id}`
    for (const member_id of [writer.id, regional.id])
      await dataOf(before, 'POST', `${path}/members`, owner, { body: { kind: 'agent', member_id } })
    const project = { id, groupId: id, path, owner, agent: writer }
    const begun = await dataOf(before, 'POST', `${path}/conversations`, owner, {
      body: { title: 'A talk', ...(inner && { region: inner }) },
    })
    const conversation = { id: begun.id, path: `${path}/conversations/${begun.id}` }
    const message = await madeMessage(before, conversation, owner)
    return { path, conversation, message, document: (await madeDocument(before, project, owner)).id }
  }
  const ask = (method: string, path: string, body?: unknown, by: TestRequest = owner) =>
    now.fetch(method, path, { ...by, ...(body !== undefined && { body }) })
  const upload = (path: string, by: TestRequest = owner, type = 'text/plain') =>
    now.fetch('POST', path, { ...by, body: 'Some words.', headers: { 'Content-Type': type } })
  const imported = (path: string, lines: readonly object[]) =>
    now.fetch('POST', `${path}/import`, {
      token: writer.token,
      body: lines.map((line) => JSON.stringify(line)).join('\n'),
      headers: { 'Content-Type': 'application/x-ndjson' },
    })
  const refusal = ({ status, json }: Awaited<ReturnType<typeof ask>>) => [status, json?.code, json?.region]
  const refused = [409, 'conflict', 'de']
  const rows = async () => {
    const { conversation, message, messageEdit, document, attachment, projectParticipant } = now.db.prisma
    const counts = [conversation, message, messageEdit, document, attachment, projectParticipant].map((table) =>
      (table.count as () => Promise<number>)(),
    )
    return [...(await Promise.all(counts)), (await now.app.stored.objects.list('projects/', '', 1_000)).length]
  }

  beforeAll(async () => {
    before = await testApp(germany)
    owner = await signedIn(before)
    admin = await signedIn(before, 'admin')
    await allowAnyClaim(before, owner.organisationId)
    writer = await issuedAgent(before, ['read', 'write'], { tier: 'enterprise', owner })
    const consent = { policy_version: noticeVersion }
    const { agent_id: id, api_key: token } = await dataOf(before, 'POST', '/api/agents', owner, {
      body: { name: 'Regional', region: 'de', consent },
    })
    await giveKeyring(before, id)
    const written = await dataOf(
      before,
      'POST',
      `/v1/agents/${id}/documents`,
      { token },
      {
        body: { kind: 'playbook', title: 'A plan', body: 'Wait for it.\n' },
      },
    )
    const unit = await dataOf(before, 'POST', '/v1/knowledge', { token }, { body: trace() })
    regional = { id, token, document: written.id, unit: unit.id }
    strict = await made('de', undefined)
    mixed = await made(undefined, 'de')
    const database = { ownerUrl: before.ownerUrl, appUrl: before.app.env.DATABASE_URL ?? '', drop: async () => {} }
    now = await testApp({ ...germany, ...change, KP_DATA_DIR: before.dataDir }, database)
  })
  afterAll(async () => {
    await now?.close()
    await before?.close()
  })

  it('rejects new content of its projects and conversations', async () => {
    const count = await rows()
    for (const { conversation, message } of [strict, mixed]) {
      const said = await ask('POST', `${conversation.path}/messages`, { role: 'user', content: 'More.' })
      expect(refusal(said)).toEqual(refused)
      expect(said.json.detail).toContain(named)
      const byAgent = await ask('POST', `${conversation.path}/messages`, { role: 'user', content: 'More.' }, writer)
      expect(refusal(byAgent)).toEqual(refused)
      expect(refusal(await ask('PATCH', message.path, { content: 'Otherwise.' }))).toEqual(refused)
      expect(refusal(await upload(`${message.path}/attachments?name=a.txt`))).toEqual(refused)
      expect(refusal(await ask('PATCH', conversation.path, { title: 'Another' }))).toEqual(refused)
    }
    expect(refusal(await ask('POST', `${strict.path}/conversations`, { title: 'New' }))).toEqual(refused)
    expect(refusal(await upload(`${strict.path}/documents?name=a.txt`))).toEqual(refused)
    expect(refusal(await upload(`${mixed.path}/documents?name=a.txt&made_from=${mixed.message.id}`))).toEqual(refused)
    expect(refusal(await ask('POST', `${strict.path}/participants`, { external_id: 'p' }, writer))).toEqual(refused)
    expect(refusal(await ask('PATCH', strict.path, { name: 'Another' }))).toEqual(refused)
    expect(refusal(await imported(strict.path, [{ type: 'participant', external_id: 'p' }]))).toEqual(refused)
    expect(await rows()).toEqual(count)
  })

  it('rejects imported lines of its conversations with a reason, and stores the others', async () => {
    const [id, other] = ['m-1', 'c-1']
    const line = { type: 'message', id, conversation_id: mixed.conversation.id, role: 'user', content: 'More.' }
    const { json, text } = await imported(mixed.path, [
      line,
      { type: 'conversation', id: other, title: 'Anywhere' },
      { type: 'conversation', id: 'c-2', title: 'There', region: 'de' },
    ])
    expect(json.data, text).toMatchObject({ failed: 2, stored: { conversations: 1, messages: 0 } })
    const [ofMessage, ofConversation] = json.data.faults
    expect(ofMessage).toEqual({ line: 1, code: 'conflict', field: null, detail: expect.stringContaining(named) })
    // A region that cannot be chosen is invalid, as for POST …/conversations.
    const code = named === 'files' ? 'conflict' : 'invalid'
    expect(ofConversation).toMatchObject({ line: 3, code, detail: expect.any(String) })
  })

  it('keeps its data readable and exportable, and accepts the pointers that an erasure needs', async () => {
    for (const { path, conversation, message, document } of [strict, mixed]) {
      for (const read of [conversation.path, `${conversation.path}/messages`, message.path, `${path}/export`])
        expect((await ask('GET', read)).status, read).toBe(200)
      expect((await ask('GET', `${path}/documents/${document}/content`)).status).toBe(200)
      const entries = [{ source_id: message.id, store: 'graph', ref: `episode-${message.id}` }]
      const pointers = await ask('POST', `${path}/provenance`, { entries }, writer)
      expect(pointers.json.data, pointers.text).toEqual({ received: 1, stored: 1, known: 0 })
      const threads = await ask('PATCH', conversation.path, { threads: [`${conversation.id}-2`] })
      expect(threads.json.data?.threads, threads.text).toContain(`${conversation.id}-2`)
    }
  })

  it('does not affect data of other regions', async () => {
    expect((await ask('POST', `${mixed.path}/conversations`, { title: 'Anywhere' })).status).toBe(201)
    expect((await upload(`${mixed.path}/documents?name=b.txt`)).status).toBe(201)
    expect((await ask('POST', '/v1/auth/register', { region: 'eu' }, {})).status).toBe(201)
  })

  it('is not revealed to strangers', async () => {
    const stranger = await signedIn(now)
    const body = { role: 'user', content: 'More.' }
    expect((await ask('POST', `${strict.conversation.path}/messages`, body, stranger)).status).toBe(404)
    expect((await ask('PATCH', strict.path, { name: 'Another' }, stranger)).status).toBe(404)
  })

  it('rejects new data of its agents, from the agents and from their owner', async () => {
    const at = `/v1/agents/${regional.id}`
    const document = { kind: 'playbook', title: 'Another plan', body: 'Wait.\n' }
    const outside = [422, 'outside_region', 'de']
    for (const by of [regional, owner]) {
      expect(refusal(await ask('POST', `${at}/documents`, document, by))).toEqual(outside)
      expect(
        refusal(
          await ask(
            'PUT',
            `${at}/documents/${regional.document}`,
            { title: 'A plan', body: 'Other.\n', revision: 1 },
            by,
          ),
        ),
      ).toEqual(outside)
    }
    const exchange = { messages: [{ role: 'user', content: 'A question' }] }
    const anywhere = `${mixed.path}/conversations`
    for (const [path, body] of [
      ['/v1/llm-log', exchange],
      ['/v1/knowledge', trace()],
      ['/v1/knowledge/batch', { units: [trace()] }],
      [`${at}/heartbeats`, { state: 'ok', counts: {} }],
      ['/v1/knowledge/kp:trace:6d961dbbe7e99e7f7c2cc1f2/report', { reason: 'It is wrong.' }],
      ['/v1/knowledge/kp:trace:6d961dbbe7e99e7f7c2cc1f2/validate', { valid: true }],
      [anywhere, { title: 'By the agent' }],
      ['/api/projects', { name: 'By the agent' }],
    ] as const)
      expect(refusal(await ask('POST', path, body, regional)).slice(0, 2), path).toEqual([422, 'outside_region'])
  })

  it('lets owners correct units of its agents and shorten their retention', async () => {
    const path = `/v1/knowledge/${regional.unit}`
    const body = { unit: { task: { objective: 'Find out why the test is slow' } } }
    expect(refusal(await ask('PATCH', path, body, regional))).toEqual([422, 'outside_region', 'de'])
    const corrected = await ask('PATCH', path, body)
    expect(corrected.status, corrected.text).toBe(200)
    const settings = await ask('PATCH', `/v1/agents/${regional.id}/settings`, { grimoire_days: 30 })
    expect(settings.json.data, settings.text).toMatchObject({ grimoire_days: 30 })
  })

  it('keeps the data of its agents readable, exportable and erasable, and makes no automatic snapshots', async () => {
    const at = `/v1/agents/${regional.id}`
    const insure = async (app: TestApp) => {
      await app.app.jobs.find(({ name }) => name === 'snapshots.insure')?.execute(app.app.pipeline, {})
      return app.db.prisma.snapshot.count({ where: { agentId: regional.id, kind: 'insurance' } })
    }
    expect(await insure(now)).toBe(0)
    const shown = async (app: TestApp) =>
      (await app.fetch('GET', at, { token: regional.token })).json.data.automatic_snapshots
    expect([await shown(now), await shown(before)]).toEqual([false, true])
    // An order from before the change is dropped.
    expect(await insure(before)).toBe(1)
    const { id } = await now.db.prisma.snapshot.findFirstOrThrow({ where: { agentId: regional.id, kind: 'insurance' } })
    await now.app.jobs.find(({ name }) => name === 'snapshots.make')?.execute(now.app.pipeline, { id })
    expect(await now.db.prisma.snapshot.count({ where: { id } })).toBe(0)
    expect((await ask('POST', `${at}/snapshots`, undefined, regional)).status).toBe(202)
    expect((await ask('GET', `/v1/export/${regional.id}`, undefined, regional)).status).toBe(200)
    expect((await ask('GET', `${at}/documents/${regional.document}`, undefined, owner)).status).toBe(200)
    expect((await ask('DELETE', `${at}/documents/${regional.document}`, undefined, regional)).status).toBe(204)
  })

  it('is reported on the stores page and fails the compliance check', async () => {
    const { data } = (await ask('GET', '/api/stores', undefined, admin)).json
    const ids = [strict, mixed].map(({ path }) => path.slice(path.lastIndexOf('/') + 1))
    expect(data.projects_outside.project_ids).toEqual(expect.arrayContaining(ids))
    expect(data.agents_outside.agent_ids).toEqual([regional.id])
    const stateOf = async (app: TestApp) => {
      const { text } = await app.fetch('GET', '/api/admin/compliance', admin)
      return /"name":"residency\.places","state":"(\w+)"/.exec(text)?.[1] ?? text
    }
    expect([await stateOf(now), await stateOf(before)]).toEqual(['fails', 'holds'])
  })

  it('keeps its data erasable', async () => {
    expect(await eraseWholeProject(now, strict.message.path, owner)).toMatch(/^rcpt_/)
    expect(await eraseWholeProject(now, mixed.conversation.path, owner)).toMatch(/^rcpt_/)
  })

  it('accepts content again after an owner chooses another region', async () => {
    const chosen = await ask('PATCH', strict.path, { region: 'eu', name: 'In the EEA' })
    expect(chosen.json.data, chosen.text).toMatchObject({ region: 'eu', name: 'In the EEA' })
    const said = await ask('POST', `${strict.conversation.path}/messages`, { role: 'user', content: 'More.' })
    expect(said.status, said.text).toBe(201)
  })
})

it('a repeated request returns the stored response after the change of settings, and nothing is stored again', async () => {
  const before = await testApp(germany)
  const owner = await signedIn(before)
  const { id } = await dataOf(before, 'POST', '/api/projects', owner, { body: { name: 'A project', region: 'de' } })
  const project = { id, groupId: id, path: `/api/projects/${id}`, owner, agent: { id: '', token: '', tokenId: '' } }
  const { path } = await madeConversation(before, project)
  const sent = { ...owner, body: { role: 'user', content: 'Once.' }, headers: { 'Idempotency-Key': 'once' } }
  const first = await before.fetch('POST', `${path}/messages`, sent)
  const database = { ownerUrl: before.ownerUrl, appUrl: before.app.env.DATABASE_URL ?? '', drop: async () => {} }
  const now = await testApp(
    { ...germany, KP_DATA_DIR: before.dataDir, KP_REGIONS: 'files=fr@own,postgresql=de@own' },
    database,
  )
  try {
    const again = await now.fetch('POST', `${path}/messages`, sent)
    expect([again.status, again.json], again.text).toEqual([201, first.json])
    expect(await now.db.prisma.message.count({ where: { projectId: id } })).toBe(1)
  } finally {
    await now.close()
    await before.close()
  }
})
