import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Mailbox, mailbox } from '#lib/testing/mailbox.ts'
import { type Issued, issuedAgent, type Person, signedIn } from '#lib/testing/people.ts'
import { dataOf, madeProject } from '#lib/testing/projects.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { sop, trace } from '#lib/testing/units.ts'

let test: TestApp
let mail: Mailbox
let admin: Person
beforeAll(async () => {
  mail = await mailbox()
  test = await testApp({ KP_SMTP_URL: mail.url, KP_TRUSTED_PROXIES: '127.0.0.1' })
  admin = await signedIn(test, 'admin')
})
afterAll(async () => {
  await test?.close()
  await mail?.close()
})

type Who = { cookie?: string; token?: string }
const contribute = (who: Who, more: Record<string, unknown> = {}, headers: Record<string, string> = {}) =>
  test.fetch('POST', '/v1/knowledge', { ...who, body: trace(more), headers })
const setQuota = (organisation: string, bytes: number | null, rows: number | null, who: Who = admin) =>
  test.fetch('PUT', `/api/admin/organisations/${organisation}/storage`, { ...who, body: { bytes, rows } })
const storage = async (who: Who) => (await test.fetch('GET', '/api/storage', who)).json.data
const answer = ({ status, json }: TestResponse) => [status, json?.code]
const full = [413, 'quota_exceeded']

async function organisationWith(
  rows: number | null,
  bytes: number | null = null,
): Promise<{ owner: Person; agent: Issued }> {
  const owner = await signedIn(test)
  const agent = await issuedAgent(test, ['read', 'write'], { owner, tier: 'enterprise' })
  expect((await setQuota(owner.organisationId, bytes, rows)).status).toBe(200)
  return { owner, agent }
}
const registered = async (address: string) => {
  const { json, status, text } = await test.fetch('POST', '/v1/auth/register', {
    body: { scopes: ['read', 'write'] },
    headers: { 'X-Forwarded-For': address },
  })
  expect(status, text).toBe(201)
  return { id: json.data.agent_id, token: json.data.api_key, organisation: json.data.organisation_id }
}

describe('a storage quota', () => {
  it('rejects writes above it with 413, stores nothing, and accepts writes again after a deletion', async () => {
    const { agent, owner } = await organisationWith(2)
    const first = await contribute(agent)
    expect([first.status, (await contribute(agent)).status]).toEqual([201, 201])
    const refused = await contribute(agent)
    expect(answer(refused)).toEqual(full)
    expect(refused.json.storage).toMatchObject({ rows_used: 2, rows_limit: 2 })
    const bulk = await test.fetch('POST', '/v1/knowledge/batch', { ...agent, body: { units: [trace(), trace()] } })
    expect(answer(bulk)).toEqual(full)
    expect(await test.db.prisma.unit.count({ where: { agentId: agent.id } })).toBe(2)
    // Reading, export and deletion still work.
    expect((await test.fetch('GET', `/v1/export/${agent.id}`, agent)).status).toBe(200)
    expect((await test.fetch('DELETE', `/v1/knowledge/${first.json.data.id}`, agent)).status).toBe(204)
    expect((await contribute(agent)).status).toBe(201)
    expect(answer(await contribute(agent))).toEqual(full)
    // A full organization does not revoke the token.
    for (let n = 0; n < 4; n++) await contribute(agent)
    expect(await storage(owner)).toMatchObject({ rows_used: 2, rows_limit: 2, percent_used: 100, is_override: true })
  })

  it('counts bytes, also of uploads without a Content-Length', async () => {
    const { agent, owner } = await organisationWith(null, 50_000)
    const project = await madeProject(test, { owner, agent })
    const upload = (size: number, headers: Record<string, string> = {}) =>
      fetch(`${test.url}${project.path}/documents?kind=document&name=file.txt`, {
        method: 'POST',
        headers: { Authorization: `Bearer ${agent.token}`, 'Content-Type': 'text/plain', ...headers },
        body: new ReadableStream({
          start(controller) {
            for (let left = size; left > 0; left -= 10_000)
              controller.enqueue(Buffer.alloc(Math.min(left, 10_000), 'words '))
            controller.close()
          },
        }),
        duplex: 'half',
      } as RequestInit)
    expect((await upload(60_000)).status).toBe(413)
    expect((await upload(40_000)).status).toBe(201)
    expect((await upload(20_000)).status).toBe(413)
    expect(answer(await contribute(agent, { task: { objective: 'x'.repeat(12_000) } }))).toEqual(full)
    expect(await test.db.prisma.document.count({ where: { projectId: project.id } })).toBe(1)
  })

  it('is not exceeded by concurrent writes', async () => {
    const { agent } = await organisationWith(10)
    const responses = await Promise.all(Array.from({ length: 40 }, () => contribute(agent)))
    expect(responses.filter(({ status }) => status === 201).length).toBeLessThanOrEqual(10)
    for (const one of responses.filter(({ status }) => status !== 201)) expect(answer(one)).toEqual(full)
    while ((await contribute(agent)).status === 201);
    expect(await test.db.prisma.unit.count({ where: { agentId: agent.id } })).toBe(10)
  })

  it('returns the stored response for a repeated Idempotency-Key when the quota is used up', async () => {
    const { agent } = await organisationWith(1)
    const headers = { 'Idempotency-Key': 'once' }
    const first = await contribute(agent, {}, headers)
    const again = await contribute(agent, {}, headers)
    expect([first.status, again.status, again.json.data.id]).toEqual([201, 201, first.json.data.id])
    expect(answer(await contribute(agent, {}, { 'Idempotency-Key': 'other' }))).toEqual(full)
  })

  it('is separate for each organization, and only an admin can read and change it', async () => {
    const { agent, owner } = await organisationWith(1)
    const other = await organisationWith(1)
    expect((await contribute(agent)).status).toBe(201)
    expect((await contribute(other.agent)).status).toBe(201)
    const path = `/api/admin/organisations/${owner.organisationId}/storage`
    for (const who of [owner, agent, other.owner, await signedIn(test, 'manager'), await signedIn(test, 'auditor')]) {
      expect((await test.fetch('GET', path, who)).status).toBe(403)
      expect((await setQuota(owner.organisationId, null, 1_000, who)).status).toBe(403)
    }
    expect((await test.fetch('GET', path)).status).toBe(401)
    expect((await test.fetch('GET', '/api/storage')).status).toBe(401)
    expect((await setQuota('org_0123456789abcdefghijkl', 1, 1)).status).toBe(404)
    expect((await test.fetch('GET', path, admin)).json.data).toMatchObject({ rows_used: 1, rows_limit: 1 })
    expect((await setQuota(owner.organisationId, null, null)).json.data).toMatchObject({
      rows_limit: null,
      is_override: false,
    })
  })

  it('is made so small that writes can stop only by an admin in person, with a recently entered password', async () => {
    const { owner } = await organisationWith(null)
    const { token } = await issuedAgent(test, ['admin'])
    const stale = await signedIn(test, 'admin')
    await test.db.prisma.session.updateMany({ where: { accountId: stale.accountId }, data: { passwordAt: null } })
    const id = owner.organisationId
    const limits = async () => {
      const { bytes_limit, rows_limit } = await storage(owner)
      return [bytes_limit, rows_limit]
    }
    const before = await limits()
    expect(answer(await setQuota(id, 0, 0, { token }))).toEqual([403, 'forbidden'])
    expect(answer(await setQuota(id, 0, 0, stale))).toEqual([403, 'step_up_required'])
    expect(await limits()).toEqual(before)
    // Quotas above the free ones, and larger ones, stop nobody.
    const gibibyte = 1024 ** 3
    for (const who of [{ token }, stale]) expect((await setQuota(id, gibibyte, 100_000, who)).status).toBe(200)
    expect((await setQuota(id, 0, 0)).status).toBe(200)
    for (const [bytes, rows] of [
      [1, 1],
      [2, 1],
      [null, null],
    ] as const)
      expect((await setQuota(id, bytes, rows, { token })).status).toBe(200)
  })

  it('adds a header to responses from 80 % on and sends one email', async () => {
    const { agent, owner } = await organisationWith(10)
    const headers: (string | null)[] = []
    for (let n = 0; n < 8; n++) headers.push((await contribute(agent)).headers.get('kp-storage-used'))
    expect(headers).toEqual([null, null, null, null, null, null, null, '80%'])
    const { email } = await test.db.prisma.account.findUniqueOrThrow({ where: { id: owner.accountId } })
    const emails = async () => {
      const job = test.app.jobs.find(({ name }) => name === 'quotas.warn')
      await test.db.transaction(async (tx) => tx.$executeRaw`SELECT graphile_worker.add_job(${job?.name}, '{}'::json)`)
      await drain(test)
      return mail.letters.filter(({ to }) => to === email).map(({ subject }) => subject)
    }
    expect(await emails()).toEqual(['80% of your storage quota is used'])
    expect(await emails()).toHaveLength(1)
  })
})

describe('unclaimed agents of one network', () => {
  it('share one free quota until a person claims them', async () => {
    const [one, other, elsewhere] = [
      await registered('203.0.113.5'),
      await registered('203.0.113.99'),
      await registered('198.51.100.1'),
    ]
    await test.db.pool.query('INSERT INTO storage_counts (agent_id, bytes, rows) VALUES ($1, 0, 9999)', [one.id])
    expect((await contribute(other)).status).toBe(201)
    for (const { token } of [one, other]) expect(answer(await contribute({ token }))).toEqual(full)
    expect(await storage(one)).toMatchObject({ shared_by_network: true, rows_used: 10_000, rows_limit: 10_000 })
    expect((await contribute(elsewhere)).status).toBe(201)
    const person = await signedIn(test)
    expect((await test.fetch('POST', '/api/agents/claim', { ...person, body: { token: other.token } })).status).toBe(
      200,
    )
    expect((await contribute(other)).status).toBe(201)
    expect(await storage(other)).toMatchObject({ shared_by_network: false, rows_used: 2, rows_limit: 10_000 })
  })

  it('share one rate-limit window above 60 registrations an hour, and registration is never rejected', async () => {
    const agents: Awaited<ReturnType<typeof registered>>[] = []
    for (let n = 0; n < 63; n++) agents.push(await registered(`2001:db8:7:${n.toString(16)}::1`))
    const left = async ({ token }: { token: string }) =>
      Number((await test.fetch('GET', '/v1/auth/me', { token })).headers.get('x-ratelimit-remaining'))
    const [before, first, second, third] = [agents[59], agents[60], agents[61], agents[62]]
    if (!before || !first || !second || !third) throw new Error('they were registered')
    expect(await left(before)).toBe(299)
    expect([await left(first), await left(second), await left(third)]).toEqual([299, 298, 297])
    // Requests that the shared window rejects revoke no token.
    for (let n = 0; n < 30; n++) await test.fetch('POST', '/v1/knowledge', { token: first.token, body: {} })
    for (let n = 0; n < 4; n++) expect((await contribute(second)).status).toBe(429)
    expect((await test.fetch('GET', '/v1/auth/me', { token: second.token })).status).toBe(200)
    // A claimed agent has its own window.
    const person = await signedIn(test)
    await test.fetch('POST', '/api/agents/claim', { ...person, body: { token: second.token } })
    expect((await contribute(second)).status).toBe(201)
    // Erasing agents does not lower the count of registrations. It expires after an hour.
    await test.db.prisma.agent.updateMany({ where: { id: first.id }, data: { network: null, sharesWindow: false } })
    expect(
      await test.db.prisma.agent.findUnique({ where: { id: (await registered('2001:db8:7::ffff')).id } }),
    ).toMatchObject({ sharesWindow: true })
    test.clock.advance(3_600_001)
    expect(
      await test.db.prisma.agent.findUnique({ where: { id: (await registered('2001:db8:7::ffff')).id } }),
    ).toMatchObject({ sharesWindow: false })
  })
})

describe('the counts', () => {
  const counted = async (agentIds: string[], projectIds: string[] = []) => {
    const { rows } = await test.db.pool.query(
      `SELECT coalesce(sum(bytes), 0)::int AS bytes, coalesce(sum(rows), 0)::int AS rows FROM storage_counts
       WHERE agent_id = ANY($1) OR project_id = ANY($2)`,
      [agentIds, projectIds],
    )
    return rows[0]
  }

  it('match the stored contents after each change, cascade and merge', async () => {
    const { agent, owner } = await organisationWith(null)
    const project = await madeProject(test, { owner, agent })
    expect(await counted([agent.id], [project.id])).toEqual({ bytes: 0, rows: 0 })
    const made = await test.fetch('POST', '/v1/sop', { ...agent, body: sop() })
    expect(made.status, made.text).toBe(201)
    const revised = await test.fetch('PUT', `/v1/sop/${made.json.data.id}`, {
      ...agent,
      body: sop({ name: 'Restore it all' }),
    })
    expect(revised.status, revised.text).toBe(200)
    const skill = await test.fetch('POST', '/v1/skills', {
      ...agent,
      body: { skill_md: skillMd('counted'), files: [{ path: 'a.txt', content: 'twelve bytes' }] },
    })
    expect(skill.status, skill.text).toBe(201)
    const conversation = await dataOf(test, 'POST', `${project.path}/conversations`, owner, { body: { title: 'Talk' } })
    const messages = `${project.path}/conversations/${conversation.id}/messages`
    const message = await dataOf(test, 'POST', messages, owner, {
      body: { role: 'user', content: 'four words are here' },
    })
    await dataOf(test, 'PATCH', `${messages}/${message.id}`, owner, { body: { content: 'now it has five words' } })
    const { rows: sizes } = await test.db.pool.query(
      `SELECT (SELECT sum(octet_length(document::text)) FROM units WHERE agent_id = $1)
        + (SELECT sum(octet_length(v.document::text)) FROM sop_versions v JOIN units u ON u.id = v.unit_id WHERE u.agent_id = $1)
        + (SELECT sum(octet_length(document)) FROM skills WHERE agent_id = $1) + 12
        + 200 + 4 + octet_length('now it has five words') + octet_length('four words are here')
        + (SELECT coalesce(sum(100 + octet_length(ref)), 0) FROM provenance WHERE project_id = $2) AS bytes`,
      [agent.id, project.id],
    )
    const before = await counted([agent.id], [project.id])
    // One SOP with two versions, one skill with a file, a conversation, and a message with its previous version.
    expect(before).toEqual({ bytes: Number(sizes[0].bytes), rows: 8 })
    await test.db.transaction(
      async (tx) => tx.$executeRaw`SELECT graphile_worker.add_job('quotas.merge-counts', '{}'::json)`,
    )
    await drain(test)
    expect(
      await test.db.prisma.storageCount.count({ where: { OR: [{ agentId: agent.id }, { projectId: project.id }] } }),
    ).toBe(2)
    expect(await counted([agent.id], [project.id])).toEqual(before)
    for (const path of [`/v1/knowledge/${made.json.data.id}`, `/v1/skills/${skill.json.data.id}`])
      expect((await test.fetch('DELETE', path, agent)).status, path).toBe(204)
    expect((await test.fetch('DELETE', `${messages}/${message.id}`, owner)).status).toBe(200)
    const rest = await counted([agent.id], [project.id])
    expect(rest).toEqual({ bytes: 204, rows: 1 })
  })

  it('cover every table of an agent or a project that is not listed as an exception', async () => {
    const uncounted: Record<string, string> = {
      agents: 'the agent itself',
      audit_entries: 'kept for 90 days by law',
      tokens: 'bounded by the tier',
      keyrings: 'one per agent',
      performance_cards: 'one per agent',
      reputation: 'one per agent',
      reputation_ledger: 'written by the registry',
      snapshot_links: 'gone after four hours',
      clade_shares: 'copies of grimoire entries, which count',
      clade_deltas: 'copies of grimoire entries, which count',
      content_rejections: 'written by the registry, without content',
      export_runs: 'counts of exports',
      prepared_exports: 'gone after four hours',
      privacy_requests: 'a right, never limited by storage',
      projects: 'the project itself',
      project_members: 'people and agents that exist',
      erasure_runs: 'proof of erasures',
      held_versions: 'preserved because of a legal hold, not by a choice of the owner',
      storage_counts: 'the counts themselves',
    }
    const { rows } = await test.db.pool.query<{ name: string; counted: boolean }>(
      `SELECT c.relname AS name, EXISTS (SELECT FROM pg_trigger t WHERE t.tgrelid = c.oid AND t.tgname LIKE '%_count_stored') AS counted
       FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition
         AND EXISTS (SELECT FROM pg_attribute a WHERE a.attrelid = c.oid AND a.attname IN ('agent_id', 'project_id'))`,
    )
    const missing = rows.filter(({ name, counted: has }) => !has && !(name in uncounted)).map(({ name }) => name)
    expect(missing).toEqual([])
  })
})
