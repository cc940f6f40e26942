import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { get } from 'node:http'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { TextWriter, Uint8ArrayReader, Uint8ArrayWriter, ZipReader } from '@zip.js/zip.js'
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest'
import { z } from 'zod'
import { type TestApp, type TestResponse, testApp } from '#lib/testing/app.ts'
import { type Issued, issuedAgent, signedIn } from '#lib/testing/people.ts'
import { sop, trace } from '#lib/testing/units.ts'

let test: TestApp
beforeAll(async () => {
  test = await testApp()
})
afterAll(() => test.close())

type Who = { token: string } | { cookie: string }
const exported = (agentId: string, who: Who, query = ''): Promise<TestResponse> =>
  test.fetch('GET', `/v1/export/${agentId}${query}`, who)
const contribute = async (token: string, unit: unknown): Promise<string> => {
  const { json, status, text } = await test.fetch('POST', '/v1/knowledge', { token, body: unit })
  if (status !== 201) throw new Error(text)
  return json.data.id
}
const linesOf = (text: string) =>
  text
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line))

/** Inserts many units of a few kilobytes each directly. */
const fill = (agentId: string, count: number, words = 60) =>
  test.db.pool.query(
    `INSERT INTO units (id, type, agent_id, organisation_id, visibility, document, domain, quality_score, created_at, updated_at)
     SELECT 'kp:trace:' || md5($1 || g), 'ReasoningTrace', a.id, a.organisation_id, 'network',
       jsonb_build_object('id', 'kp:trace:' || md5($1 || g), '@type', 'ReasoningTrace', 'text', (SELECT string_agg(md5(g::text || w), ' ') FROM generate_series(1, $3::int) w)),
       'code', 0.5, $4, $4 FROM agents a, generate_series(1, $2::int) g WHERE a.id = $1`,
    [agentId, count, words, test.clock.now()],
  )

describe('the content of an export', () => {
  it('JSON contains all units as in the API, their count, and all other records', async () => {
    const { id, token } = await test.agent()
    const ids = [await contribute(token, trace()), await contribute(token, sop({}, { visibility: 'private' }))]
    const { status, headers, json } = await exported(id, { token })
    expect(status).toBe(200)
    expect(headers.get('content-type')).toBe('application/json')
    expect(headers.get('content-disposition')).toBe(`attachment; filename="export-${id}.json"`)
    expect(Object.keys(json).slice(0, 6)).toEqual([
      'agent_id',
      'exported_at',
      'schema_version',
      'scope',
      'knowledge_units',
      'total_units',
    ])
    expect(json).toMatchObject({
      agent_id: id,
      exported_at: test.clock.now().toISOString(),
      schema_version: 'v1',
      scope: 'all',
      total_units: 2,
    })
    for (const unit of json.knowledge_units) {
      expect(Object.keys(unit)).toEqual(['id', 'unit', 'visibility', 'quality_score', 'created_at', 'updated_at'])
      expect(unit).toEqual((await test.fetch('GET', `/v1/knowledge/${unit.id}`, { token })).json.data)
    }
    expect(json.knowledge_units.map((unit: { id: string }) => unit.id).sort()).toEqual(ids.sort())
    expect(json.agent).toMatchObject([{ agent_id: id, tier: 'free', consent_via: 'registration' }])
    expect(json.tokens).toMatchObject([{ prefix: token.slice(0, 11), scopes: ['read', 'write'], revoked_at: null }])
    expect(json.reputation_ledger).toHaveLength(2)
    expect(json.sop_versions).toMatchObject([{ version: 1 }])
    expect(json.export_runs).toMatchObject([{ requested_by: 'itself', format: 'json', scope: 'all' }])
    expect(json.audit_entries.map((entry: { action: string }) => entry.action)).toEqual(['create', 'create', 'export'])
    for (const [part, total] of Object.entries(json.totals)) expect(json[part]).toHaveLength(Number(total))
  })

  it('contains no token and no hash of a token', async () => {
    const { id, token } = await test.agent()
    const { text } = await exported(id, { token })
    expect(text).not.toContain(token)
    expect(text).not.toContain(createHash('sha256').update(token).digest('hex'))
    expect(text).not.toMatch(/"hash"/)
  })

  it('NDJSON contains a header, a line for each record with its part, and the totals, with the same records as JSON', async () => {
    const { id, token } = await test.agent()
    await contribute(token, trace())
    await contribute(token, trace())
    const { headers, text } = await exported(id, { token }, '?format=ndjson')
    expect(headers.get('content-type')).toBe('application/x-ndjson')
    const lines = linesOf(text)
    expect(lines[0]).toEqual({
      agent_id: id,
      exported_at: test.clock.now().toISOString(),
      schema_version: 'v1',
      scope: 'all',
    })
    const { json } = await exported(id, { token })
    const units = lines.filter(({ part }) => part === 'knowledge_units').map(({ part: _, ...unit }) => unit)
    expect(units).toEqual(json.knowledge_units)
    expect(lines.at(-1)).toMatchObject({ total_units: 2, totals: { knowledge_units: 2, agent: 1 } })
  })

  it('ZIP contains each part as JSON and CSV, with the counts and hashes of the manifest', async () => {
    const { id, token } = await test.agent()
    await contribute(token, trace())
    const response = await fetch(`${test.url}/v1/export/${id}?format=zip`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    expect(response.headers.get('content-type')).toBe('application/zip')
    const reader = new ZipReader(new Uint8ArrayReader(new Uint8Array(await response.arrayBuffer())))
    const entries = (await reader.getEntries()).filter((entry) => !entry.directory)
    const manifestEntry = entries.find(({ filename }) => filename === 'manifest.json')
    const manifest = JSON.parse((await manifestEntry?.getData(new TextWriter())) ?? '')
    expect(manifest).toMatchObject({ agent_id: id, schema_version: 'v1', scope: 'all' })
    expect(Object.keys(manifest.files).sort()).toEqual(
      entries
        .map(({ filename }) => filename)
        .filter((name) => name !== 'manifest.json')
        .sort(),
    )
    for (const entry of entries.filter((one) => one !== manifestEntry)) {
      const bytes = await entry.getData(new Uint8ArrayWriter(), { checkSignature: true })
      const { sha256, records, bytes: size } = manifest.files[entry.filename]
      expect([entry.filename, createHash('sha256').update(bytes).digest('hex'), bytes.byteLength]).toEqual([
        entry.filename,
        sha256,
        size,
      ])
      const text = Buffer.from(bytes).toString()
      if (entry.filename.endsWith('.json')) expect(JSON.parse(text)).toHaveLength(records)
      else if (entry.filename === 'index.html') expect(text).toMatch(/^<!doctype html>[\s\S]*<\/html>\s*$/)
      else expect(text.trimEnd().split('\r\n')).toHaveLength(records + 1)
      expect(entry.lastModDate.getTime()).toBe(Math.floor(test.clock.now().getTime() / 1000) * 1000)
    }
    expect(manifest.files['knowledge_units.csv']).toMatchObject({ records: 1 })
  })

  it('CSV cells are quoted where necessary and never start a formula', async () => {
    const { id, token } = await test.agent(['read', 'write'], { name: '=HYPERLINK("x","y")' })
    const response = await fetch(`${test.url}/v1/export/${id}?format=zip&scope=provided`, {
      headers: { Authorization: `Bearer ${token}` },
    })
    const reader = new ZipReader(new Uint8ArrayReader(new Uint8Array(await response.arrayBuffer())))
    const entry = (await reader.getEntries()).find(({ filename }) => filename === 'agent.csv')
    const csv = entry && !entry.directory ? await entry.getData(new TextWriter()) : ''
    expect(csv).toContain(`${id},"'=HYPERLINK(""x"",""y"")",`)
  })

  it('scope=provided omits derived data, and an unknown scope or format returns 422', async () => {
    const { id, token } = await test.agent()
    const other = await test.agent()
    const mine = await contribute(token, trace())
    const theirs = await contribute(other.token, trace())
    const vote = (unit: string, who: string) =>
      test.fetch('POST', `/v1/knowledge/${unit}/validate`, {
        token: who,
        body: { valid: true, feedback: 'It worked for us.' },
      })
    expect([(await vote(theirs, token)).status, (await vote(mine, other.token)).status]).toEqual([201, 201])
    const { json } = await exported(id, { token }, '?scope=provided')
    expect(json.scope).toBe('provided')
    expect(json.knowledge_units[0]).not.toHaveProperty('quality_score')
    expect(json.votes).toEqual([
      { unit_id: theirs, valid: true, feedback: 'It worked for us.', at: test.clock.now().toISOString() },
    ])
    for (const part of ['reputation', 'reputation_ledger', 'audit_entries', 'votes_received', 'tokens'])
      expect(json).not.toHaveProperty(part)
    const all = (await exported(id, { token })).json
    expect(all.votes[0]).toHaveProperty('weight')
    expect(all.votes_received).toEqual([{ unit_id: mine, valid: 1, invalid: 0 }])
    expect(JSON.stringify(all)).not.toContain(other.id)
    for (const query of ['?scope=some', '?format=xml', '?more=1'])
      expect((await exported(id, { token }, query)).status).toBe(422)
  })

  it("contains the agent's own reports, and only counts of reports about its units", async () => {
    const { id, token } = await test.agent()
    const other = await test.agent()
    const unit = await contribute(other.token, trace())
    expect(
      (await test.fetch('POST', `/v1/knowledge/${unit}/report`, { token, body: { reason: 'It names somebody.' } }))
        .status,
    ).toBe(202)
    expect((await exported(id, { token })).json.reports).toMatchObject([
      { unit_id: unit, reason: 'It names somebody.' },
    ])
    const theirs = await exported(other.id, other)
    expect(theirs.json.reports_received).toEqual([{ unit_id: unit, reports: 1, quarantined_at: null }])
    expect([theirs.text.includes('It names somebody.'), theirs.text.includes(id)]).toEqual([false, false])
  })

  it('contains the id and receipt of an erased unit, but not the unit', async () => {
    const { id, token } = await test.agent()
    const unit = await contribute(token, trace())
    const deleted = await test.fetch('DELETE', `/v1/knowledge/${unit}`, { token })
    const { json } = await exported(id, { token })
    expect([json.total_units, json.erasures]).toMatchObject([
      0,
      [{ deleted_id: unit, receipt_id: deleted.headers.get('x-deletion-receipt') }],
    ])
  })

  it('omits units that are stored after the export started', async () => {
    const { id, token } = await test.agent()
    await contribute(token, trace())
    await test.db.pool.query("UPDATE units SET created_at = created_at + interval '1 second' WHERE agent_id = $1", [id])
    expect((await exported(id, { token })).json.total_units).toBe(0)
  })
})

describe('access to an export', () => {
  it('is granted to the agent, its owner and admins who signed in; all others get the same 404 as for an unknown agent', async () => {
    const owner = await signedIn(test)
    const mine = await issuedAgent(test, ['read'], { owner })
    const sibling = await issuedAgent(test, ['read'], { owner })
    const [stranger, admin, auditor] = [
      await test.agent(),
      await signedIn(test, 'admin'),
      await signedIn(test, 'auditor'),
    ]
    const manager = await signedIn(test, 'manager', owner.organisationId)
    const rooted = await issuedAgent(test, ['admin'])
    for (const who of [mine, owner, admin]) expect((await exported(mine.id, who)).status).toBe(200)
    const byToken = await exported(mine.id, rooted)
    expect([byToken.status, byToken.json.code]).toEqual([403, 'forbidden'])
    const refused = []
    for (const who of [stranger, sibling, auditor, manager, await signedIn(test)])
      refused.push(await exported(mine.id, who))
    refused.push(await exported('nobody-at-all', stranger))
    for (const response of refused)
      expect([response.status, response.json.detail]).toEqual([404, refused[0]?.json.detail])
    expect((await exported('nobody-at-all', admin)).status).toBe(404)
  })

  it('is rejected with token_revoked for a revoked token', async () => {
    const { id, token } = await test.agent()
    await test.db.prisma.token.updateMany({
      where: { agentId: id },
      data: { revokedAt: test.clock.now(), revokedReason: 'owner' },
    })
    expect((await exported(id, { token })).json.code).toBe('token_revoked')
  })

  it('is audited with format and scope', async () => {
    const { id, token } = await test.agent()
    await exported(id, { token }, '?format=ndjson&scope=provided')
    const { rows } = await test.db.pool.query(
      "SELECT action, resource_type, resource_id, details FROM audit_entries WHERE agent_id = $1 AND action = 'export'",
      [id],
    )
    expect(rows).toEqual([
      {
        action: 'export',
        resource_type: 'agent',
        resource_id: id,
        details: { operation: 'exportAgent', format: 'ndjson', scope: 'provided' },
      },
    ])
  })

  it("the owner's export omits IP addresses of the agent's audit entries", async () => {
    const owner = await signedIn(test)
    const { id, token } = await issuedAgent(test, ['read', 'write'], { owner })
    await contribute(token, trace())
    expect((await exported(id, { token })).json.audit_entries[0].ip).toBe('127.0.0.1')
    expect((await exported(id, owner)).json.audit_entries[0].ip).toBe('')
  })
})

describe('units attributed to an agent', () => {
  it('units that name it as their expert are included if it can read them, and admins get all that are not private', async () => {
    const expert = await issuedAgent(test, ['read', 'write'])
    const author = await test.agent()
    const ids: Record<string, string> = {}
    for (const visibility of ['network', 'org', 'private'])
      ids[visibility] = await contribute(
        author.token,
        sop({ source: { type: 'human_expert', expert_id: expert.id, credentials: [] } }, { visibility }),
      )
    const idsOf = async (who: Who) =>
      (await exported(expert.id, who)).json.knowledge_units.map((unit: { id: string }) => unit.id)
    expect(await idsOf(expert)).toEqual([ids.network])
    expect((await idsOf(await signedIn(test, 'admin'))).sort()).toEqual([ids.network, ids.org].sort())
    await test.db.pool.query('UPDATE units SET quarantined_at = now() WHERE id = $1', [ids.network])
    expect(await idsOf(expert)).toEqual([])
  })

  it('units that name it as a validator are listed as references if the reader can see them, except with scope=provided', async () => {
    const named = await issuedAgent(test, ['read', 'write'])
    const author = await test.agent()
    const ids: Record<string, string> = {}
    for (const visibility of ['network', 'org', 'private'])
      ids[visibility] = await contribute(
        author.token,
        trace({ task: { objective: 'a secretword' } }, { visibility, validated_by: ['somebody', named.id] }),
      )
    await contribute(author.token, trace({}, { validated_by: [`${named.id}-other`] }))
    await contribute(named.token, trace({}, { validated_by: [named.id] }))
    const referencesOf = async (who: Who) =>
      (await exported(named.id, who)).json.references.map((one: { unit_id: string }) => one.unit_id)
    const { json, text } = await exported(named.id, named)
    expect(json.references).toEqual([
      { unit_id: ids.network, field: 'metadata.validated_by', created_at: test.clock.now().toISOString() },
    ])
    expect(json.total_units).toBe(1)
    expect(text).not.toContain('secretword')
    expect((await referencesOf(await signedIn(test, 'admin'))).sort()).toEqual([ids.network, ids.org].sort())
    expect((await exported(named.id, named, '?scope=provided')).json.references).toBeUndefined()
    await test.db.pool.query('UPDATE units SET quarantined_at = now() WHERE id = $1', [ids.network])
    expect(await referencesOf(named)).toEqual([])
  })

  it('an admin can export a validator who is not an agent', async () => {
    const author = await test.agent()
    const id = await contribute(author.token, trace({}, { validated_by: ['Dr Grace Murray'] }))
    const { status, json } = await exported(encodeURIComponent('Dr Grace Murray'), await signedIn(test, 'admin'))
    expect([status, json.total_units, json.references[0].unit_id]).toEqual([200, 0, id])
    expect((await exported('Dr%20Nobody', await signedIn(test, 'admin'))).status).toBe(404)
  })

  it('an admin can export an expert who is not an agent', async () => {
    const author = await test.agent()
    const id = await contribute(
      author.token,
      sop({ source: { type: 'human_expert', expert_id: 'Dr Ada Byron', credentials: [] } }, { visibility: 'org' }),
    )
    const { status, json } = await exported(encodeURIComponent('Dr Ada Byron'), await signedIn(test, 'admin'))
    expect([status, json.knowledge_units[0].id, json.agent]).toEqual([200, id, []])
  })
})

describe('the daily export quota', () => {
  it('is not used by a HEAD request, which returns 405', async () => {
    const { id, token } = await issuedAgent(test, ['read'])
    const response = await test.fetch('HEAD', `/v1/export/${id}`, { token })
    expect([response.status, response.headers.get('allow')]).toEqual([405, 'GET'])
    expect(await test.db.prisma.exportRun.count({ where: { subjectId: id } })).toBe(0)
    expect(await test.db.prisma.auditEntry.count({ where: { agentId: id, action: 'export' } })).toBe(0)
    const got = await exported(id, { token })
    expect([got.status, got.headers.get('kp-schema-version')]).toEqual([200, 'v1'])
  })

  it('allows a restricted agent to export (GDPR art. 18)', async () => {
    const { id, token } = await test.agent()
    const unit = await contribute(token, trace())
    await test.db.prisma.agent.update({ where: { id }, data: { restrictedAt: test.clock.now() } })
    expect((await test.fetch('POST', '/v1/knowledge', { token, body: trace() })).json.code).toBe('restricted')
    const { status, json } = await exported(id, { token })
    expect([status, json.knowledge_units.map((one: { id: string }) => one.id)]).toEqual([200, [unit]])
  })

  it('is exact for concurrent requests, is shared by the agent and its owner, and resets at midnight UTC', async () => {
    const owner = await signedIn(test)
    const { id, token } = await issuedAgent(test, ['read'], { owner })
    const answers = await Promise.all(
      Array.from({ length: 14 }, (_, n) => exported(id, n % 2 === 0 ? { token } : owner)),
    )
    expect(answers.map(({ status }) => status).sort()).toEqual([...Array(10).fill(200), ...Array(4).fill(429)])
    const refused = answers.find(({ status }) => status === 429)
    const midnight = new Date(test.clock.now()).setUTCHours(24, 0, 0, 0)
    expect(refused?.json).toMatchObject({ code: 'quota_exceeded', limit: 10, used: 10 })
    expect(Number(refused?.headers.get('retry-after'))).toBe(Math.ceil((midnight - test.clock.now().getTime()) / 1000))
    const { status } = await exported(id, await signedIn(test, 'admin'))
    expect(status).toBe(200)
    test.clock.advance(midnight - test.clock.now().getTime())
    expect((await exported(id, { token })).status).toBe(200)
  })

  it('is 100 for pro and unlimited for enterprise, and exceeding it revokes no token', async () => {
    const pro = await issuedAgent(test, ['read'], { tier: 'pro' })
    const noted = (agentId: string, count: number) =>
      test.db.prisma.exportRun.createMany({
        data: Array.from({ length: count }, (_, n) => ({
          id: `exp_${agentId}_${n}`,
          subjectId: agentId,
          agentId,
          requestedBy: agentId,
          format: 'json',
          basis: 'all',
          at: test.clock.now(),
        })),
      })
    await noted(pro.id, 100)
    for (let n = 0; n < 5; n++) expect((await exported(pro.id, pro)).json.code).toBe('quota_exceeded')
    expect((await test.fetch('GET', '/v1/auth/me', pro)).status).toBe(200)
    const enterprise = await issuedAgent(test, ['read'], { tier: 'enterprise' })
    await noted(enterprise.id, 500)
    expect((await exported(enterprise.id, enterprise)).status).toBe(200)
  })
})

describe('a large export', () => {
  let large: Issued
  /** The same installation, with a short timeout for clients that stop reading. */
  let impatient: TestApp
  beforeAll(async () => {
    const database = { ownerUrl: test.ownerUrl, appUrl: test.app.env.DATABASE_URL ?? '', drop: async () => {} }
    impatient = await testApp({}, database, { patience: 5_000 })
    // Other tests moved the clock. An export leaves out units that are newer than its own clock.
    impatient.clock.advance(test.clock.now().getTime() - impatient.clock.now().getTime())
    large = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    await fill(large.id, 20_000)
  })
  afterAll(() => impatient?.close())

  it('streams 20,000 units with constant memory', async () => {
    setFlagsFromString('--expose-gc')
    const gc = z.function({ input: [], output: z.void() }).implement(runInNewContext('gc'))
    // The second run completes the sweep of the first, which other threads may still execute.
    const held = () => {
      gc()
      gc()
      const { heapUsed, arrayBuffers } = process.memoryUsage()
      return heapUsed + arrayBuffers
    }
    const samples = [held()]
    let [bytes, breaks] = [0, 0]
    const response = await fetch(`${test.url}/v1/export/${large.id}?format=ndjson`, {
      headers: { Authorization: `Bearer ${large.token}` },
    })
    for await (const chunk of response.body ?? []) {
      if (bytes % (8 * 2 ** 20) > (bytes + chunk.byteLength) % (8 * 2 ** 20)) samples.push(held())
      bytes += chunk.byteLength
      for (let at = chunk.indexOf(10); at >= 0; at = chunk.indexOf(10, at + 1)) breaks++
    }
    expect(breaks).toBeGreaterThan(20_000)
    expect(bytes).toBeGreaterThan(40 * 2 ** 20)
    expect(samples.length).toBeGreaterThan(5)
    // Compared with the smallest sample, because memory of earlier tests may be released meanwhile.
    expect(Math.max(...samples) - Math.min(...samples)).toBeLessThan(16 * 2 ** 20)
  })

  /** Starts an export and stops reading after the first bytes. */
  async function begun(id: string, token: string, { url } = test) {
    const request = get(`${url}/v1/export/${id}`, { headers: { Authorization: `Bearer ${token}` }, agent: false })
    const [response] = await once(request, 'response')
    await once(response, 'data')
    response.pause()
    response.on('error', () => {})
    return { request, response }
  }
  /** Autovacuum is ignored. */
  const isIdle = async ({ db: { pool } } = test) => {
    const { rows } = await test.db.pool.query(
      "SELECT count(*)::int AS n FROM pg_stat_activity WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid() AND state <> 'idle'",
    )
    return rows[0].n === 0 && pool.idleCount === pool.totalCount && pool.waitingCount === 0
  }

  it.each(['json', 'zip'])(
    '%s: a client that stops reading holds no database connection, and is disconnected after a timeout',
    async (format) => {
      const { id, token } = large
      const before = await impatient.connections()
      const { request } = await begun(`${id}?format=${format}`, token, impatient)
      await vi.waitUntil(() => isIdle(impatient), 120_000)
      expect(await impatient.connections()).toBe(before + 1)
      await vi.waitUntil(async () => (await impatient.connections()) <= before, 120_000)
      request.destroy()
      await vi.waitUntil(() => isIdle(impatient), 120_000)
    },
  )

  it.each(['json', 'zip'])('%s: a client that disconnects ends the export', async (format) => {
    const { id, token } = large
    const before = await test.connections()
    const { request } = await begun(`${id}?format=${format}`, token)
    request.destroy()
    await vi.waitUntil(async () => (await test.connections()) <= before && (await isIdle()), 120_000)
  })

  it('omits units that are erased before the export reads them, and counts only the included units', async () => {
    const { id, token } = large
    const { rows } = await test.db.pool.query<{ id: string }>(
      'SELECT id FROM units WHERE agent_id = $1 ORDER BY created_at DESC, id DESC LIMIT 1',
      [id],
    )
    const last = rows[0]?.id ?? ''
    const { response } = await begun(id, token)
    expect((await test.fetch('DELETE', `/v1/knowledge/${last}`, { token })).status).toBe(204)
    let text = ''
    response.setEncoding('utf8').on('data', (piece: string) => {
      text += piece
    })
    response.resume()
    await once(response, 'end')
    expect(text).not.toContain(`{"id":"${last}"`)
    expect(text).toContain('"total_units":19999')
  })
})
