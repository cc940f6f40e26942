import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { deriveKey, unsealed } from '#lib/config/secret.ts'
import { sealedDocumentBodies } from '#lib/domains/agents/life/document-seals.ts'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'
import { type TestApp, testApp } from '#lib/testing/app.ts'
import { rowsOf } from '#lib/testing/everything.ts'
import { drain } from '#lib/testing/jobs.ts'
import { type Issued, issuedAgent, passwordEntered, releaseInPerson, signedIn } from '#lib/testing/people.ts'
import {
  dataOf,
  eraseWholeProject,
  madeConversation,
  madeMember,
  madeMessage,
  madeProject,
} from '#lib/testing/projects.ts'
import { skillMd } from '#lib/testing/skills.ts'
import { type MadeSubject, madeSubject } from '#lib/testing/subjects.ts'
import { sop, trace } from '#lib/testing/units.ts'
import { heldVersionPersonExporters, resealHeldVersions } from './personal-data.ts'
import { holdsInForce } from './queries.ts'
import { lockChangesExclusively, lockHoldsExclusively } from './repository.ts'
import { heldVersionsJob } from './service.ts'

let test: TestApp
let admin: Issued
beforeAll(async () => {
  test = await testApp()
  admin = await issuedAgent(test, ['admin', 'read', 'write'], { tier: 'enterprise' })
})
afterAll(() => test?.close())

const ask = (method: string, path: string, by: { token: string } | { cookie: string }, body?: unknown) =>
  test.fetch(method, path, { ...by, ...(body !== undefined && { body }) })
async function holdOn(kind: string, target_id: string, more: Record<string, unknown> = {}): Promise<string> {
  const body = { kind, target_id, reason: 'a court asked for it', ...more }
  const { status, json, text } = await ask('POST', '/v1/holds', admin, body)
  if (status !== 201) throw new Error(`the hold answered ${status}: ${text}`)
  return json.data.id
}
async function released(id: string): Promise<void> {
  expect((await releaseInPerson(test, id)).status).toBe(200)
}
interface Version {
  table_name: string
  content: Record<string, unknown>
}
/** The versions whose content contains the text, oldest first. */
const versionsWith = async (text: string): Promise<Version[]> =>
  (
    await test.db.pool.query<Version>(
      "SELECT table_name, content FROM held_versions WHERE content::text LIKE '%' || $1 || '%' ORDER BY at, id",
      [text],
    )
  ).rows
const tablesWith = async (text: string) => [...new Set((await versionsWith(text)).map((version) => version.table_name))]

/** Tables of personal data without preserved versions, each with the reason. Every other table has the trigger. */
const unpreserved: Record<string, string> = {
  organisations: 'the name of an organization; no kind of hold covers one',
  sessions: 'credentials; they end',
  known_sign_ins: 'keyed hashes of networks; a change of address deletes them for security',
  account_links: 'hashes of single-use links',
  account_factors: 'credentials, whose former versions would weaken the sign-in',
  account_recovery_codes: 'hashes of single-use codes',
  approval_proposals: 'sealed copies of input until it is decided; the audit log records the decision',
  tokens: 'credentials; a revoked token stays as a row',
  token_usage: 'counts by hour',
  read_notices: 'which notifications a person has read: kinds and ids',
  rate_limit_refusals: 'counts by minute',
  content_rejections: 'the stage of a check and its time, never content',
  reputation: 'sums, computed from the ledger',
  reputation_ledger: 'numbers, appended and never changed',
  search_words: 'computed from the held records',
  search_news: 'ids of records whose words are computed next',
  keyrings: 'wrapped keys: a former version would let a former passphrase open the present entries',
  clade_deltas: 'states and times of deliveries',
  snapshots: 'sealed copies whose bytes are in the object store',
  snapshot_links: 'hashes of links',
  state_bundles: 'bytes in the object store: replacing or deleting them is refused under a hold',
  telemetry_keys: 'keys that must be destroyable at any time; without content',
  export_runs: 'times and counts of exports',
  prepared_exports: 'copies for the subject, which expire',
  idempotency_records: 'copies of answers, for 24 hours',
  privacy_requests: 'records of the rights themselves, retained for years',
  privacy_request_parts: 'records of the rights themselves',
  privacy_request_events: 'appended and never changed',
  privacy_links: 'hashes of single-use links',
  unconfirmed_requests: 'unconfirmed forms, which expire',
  provenance: 'pointers without content',
  graph_episodes: 'derived from held messages and documents',
  graph_entities: 'derived from held messages and documents',
  graph_facts: 'derived from held messages and documents',
  graph_mentions: 'derived from held messages and documents',
  graph_gatherings: 'derived from held messages and documents',
  graph_links: 'derived from held messages and documents',
  held_versions: 'the versions themselves',
}

const triggered = async (): Promise<string[]> =>
  (
    await test.db.pool.query<{ name: string }>(
      "SELECT tgrelid::regclass::text AS name FROM pg_trigger WHERE tgname = 'a_preserve_held' ORDER BY 1",
    )
  ).rows.map(({ name }) => name)

it('every table of a data source preserves versions or is listed with a reason, and the list has no other tables', async () => {
  const tables = test.app.dataSources.flatMap((source) => source.tables).filter((name) => !name.includes('.'))
  expect([...(await triggered()), ...Object.keys(unpreserved)].sort()).toEqual([...new Set(tables)].sort())
})

/** A change of each preserved table that loses something, as SQL. */
const overwrites: Record<string, string> = {
  units: `document = '{}', visibility = 'private'`,
  skills: `document = '', name = name || 'x'`,
  skill_files: `content = ''`,
  sop_versions: `document = '{}'`,
  unit_votes: 'feedback = NULL, valid = NOT valid',
  unit_reports: `reason = ''`,
  agents: `name = 'Other'`,
  agent_documents: 'revision = revision + 1',
  chain_references: `reference = ''`,
  heartbeats: `state = 'idle', counts = '{}'`,
  performance_cards: 'returns = returns + 1',
  grimoire_entries: 'revision = revision + 1',
  clade_shares: `recalled_at = '2026-01-01'`,
  llm_log_entries: `model = 'other'`,
  accounts: `name = 'Other'`,
  account_identities: `linked_at = '2020-01-01'`,
  email_choices: `delivery = 'never'`,
  saved_searches: `query = ''`,
  projects: `name = ''`,
  project_members: `role = 'member', added_at = '2020-01-01'`,
  project_participants: 'name = NULL, email = NULL, account_id = NULL',
  conversations: `title = ''`,
  messages: `content = ''`,
  message_edits: `content = ''`,
  attachments: `name = ''`,
  documents: `name = ''`,
  document_chunks: `content = ''`,
}

describe('a hold on a person', () => {
  let subject: MadeSubject
  let hold: string
  beforeAll(async () => {
    subject = await madeSubject(test)
    const { accountId } = subject
    const [first] = subject.agents
    await dataOf(
      test,
      'POST',
      '/v1/skills',
      { token: first?.token ?? '' },
      {
        body: { skill_md: skillMd('with-file'), files: [{ path: 'notes.md', content: `# ${subject.marker}\n` }] },
      },
    )
    const project = await madeProject(test, { owner: subject })
    const participant = newId('ptp')
    const at = test.clock.now()
    await test.db.prisma.projectParticipant.create({
      data: {
        id: participant,
        projectId: project.id,
        externalId: 'x-1',
        name: subject.marker,
        accountId,
        claimedAt: at,
        createdBy: `user:${accountId}`,
        createdAt: at,
        updatedAt: at,
      },
    })
    await test.db.prisma.emailChoice.upsert({
      where: { accountId_kind: { accountId, kind: 'held-test' } },
      create: { id: newId('emc'), accountId, kind: 'held-test', delivery: 'daily', updatedAt: at },
      update: {},
    })
    await test.db.prisma.savedSearch.create({
      data: { id: newId('src'), accountId, name: 'Held', query: 'q=1', createdAt: at },
    })
    hold = await holdOn('account', accountId)
  })

  it('this test changes every table whose versions a hold preserves', async () => {
    expect(Object.keys(overwrites).sort()).toEqual(await triggered())
  })

  it.each(Object.entries(overwrites))(
    '%s keep the version before a change and before a deletion',
    async (table, change) => {
      await withConnection(test.ownerUrl, async (client) => {
        const row = `SELECT t.ctid::text AS place FROM ${table} t WHERE hold_on(hold_anchors('${table}', to_jsonb(t)), NULL) = '${hold}' LIMIT 1`
        const count = async () =>
          (
            await client.query<{ n: number }>(
              `SELECT count(*)::int AS n FROM held_versions WHERE table_name = '${table}'`,
            )
          ).rows[0]?.n ?? 0
        for (const statement of [`UPDATE ${table} SET ${change}`, `DELETE FROM ${table}`]) {
          await client.query('BEGIN')
          const [found] = (await client.query<{ place: string }>(row)).rows
          expect(found, 'the subject has a row').toBeDefined()
          const before = await count()
          try {
            await client.query(`${statement} WHERE ctid = '${found?.place}'::tid`)
            expect((await count()) - before, statement).toBe(1)
          } catch (error) {
            // A row with dependent rows cannot be deleted, so it is not lost.
            if (!/foreign key constraint/.test(String(error))) throw error
          }
          await client.query('ROLLBACK')
        }
      })
    },
  )

  it.each(Object.keys(overwrites))('%s keep no version when nothing changes', async (table) => {
    await withConnection(test.ownerUrl, async (client) => {
      const count = async () =>
        (await client.query<{ n: number }>('SELECT count(*)::int AS n FROM held_versions')).rows[0]?.n ?? 0
      const before = await count()
      const [column] = (
        await client.query<{ name: string }>(
          `SELECT attname AS name FROM pg_attribute WHERE attrelid = '${table}'::regclass AND attnum > 0 AND NOT attisdropped AND attgenerated = '' ORDER BY attnum LIMIT 1`,
        )
      ).rows
      await client.query(`UPDATE ${table} SET "${column?.name}" = "${column?.name}"`)
      expect(await count()).toBe(before)
    })
  })

  it('preserves no credentials', async () => {
    const { accountId } = subject
    await test.db.prisma.account.update({
      where: { id: accountId },
      data: { name: 'Changed', passwordHash: 'former-hash' },
    })
    await test.db.prisma.account.update({ where: { id: accountId }, data: { name: 'Changed again' } })
    const versions = await versionsWith(accountId)
    expect(versions.filter(({ table_name: table }) => table === 'accounts')).toHaveLength(2)
    expect(JSON.stringify(versions)).not.toMatch(/password|former-hash/)
  })
})

describe('a change of a held record', () => {
  it('keeps the held text of a unit, of a skill with its files and of a procedure, and is accepted', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const unit = (
      await dataOf(test, 'POST', '/v1/knowledge', own, { body: trace({ task: { objective: 'Held trace text' } }) })
    ).id
    const skill = (
      await dataOf(test, 'POST', '/v1/skills', own, {
        body: {
          skill_md: skillMd('held', { body: '# Held skill text\n' }),
          files: [{ path: 'a.md', content: 'Held file text' }],
        },
      })
    ).id
    const procedure = (await dataOf(test, 'POST', '/v1/sop', own, { body: sop({ name: 'Held procedure text' }) })).id
    await holdOn('unit', unit)
    await holdOn('skill', skill)
    await holdOn('unit', procedure)
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, {
      body: { unit: { task: { objective: 'Other words' } } },
    })
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, { body: { visibility: 'private' } })
    await dataOf(test, 'PATCH', `/v1/skills/${skill}`, own, {
      body: { skill_md: skillMd('held', { body: '# Other\n' }), files: [{ path: 'a.md', content: 'Other' }] },
    })
    await dataOf(test, 'PATCH', `/v1/knowledge/${procedure}`, own, { body: { unit: { name: 'Other procedure' } } })
    expect(await tablesWith('Held trace text')).toEqual(['units'])
    expect((await versionsWith('Other words')).map(({ content }) => content.visibility)).toEqual(['network'])
    expect(await tablesWith('Held skill text')).toEqual(['skills'])
    expect(await tablesWith('Held file text')).toEqual(['skill_files'])
    expect((await tablesWith('Held procedure text')).sort()).toEqual(['sop_versions', 'units'])
  })

  it('keeps the held version of project records: names, titles, messages and participants', async () => {
    const project = await madeProject(test, { name: 'Held project name' })
    const { owner } = project
    const conversation = await madeConversation(test, project, { title: 'Held title' })
    const message = await madeMessage(test, conversation, owner, { content: 'Held message text' })
    const participant = await dataOf(test, 'POST', `${project.path}/participants`, project.agent, {
      body: { external_id: 'x-held', name: 'Held participant' },
    })
    await holdOn('project', project.id)
    await dataOf(test, 'PATCH', project.path, owner, { body: { name: 'Other' } })
    await dataOf(test, 'PATCH', conversation.path, owner, { body: { title: 'Other' } })
    await dataOf(test, 'PATCH', message.path, owner, { body: { content: 'Other' } })
    await dataOf(test, 'PATCH', `${project.path}/participants/${participant.id}`, owner, { body: { name: 'Other' } })
    expect(await tablesWith('Held project name')).toEqual(['projects'])
    expect(await tablesWith('Held title')).toEqual(['conversations'])
    expect(await tablesWith('Held message text')).toEqual(['messages'])
    expect(await tablesWith('Held participant')).toEqual(['project_participants'])
  })

  it('keeps the held version of an agent’s records and name, and refuses to replace its state', async () => {
    const owner = await signedIn(test)
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner })
    const at = `/v1/agents/${own.id}`
    const document = await dataOf(test, 'POST', `${at}/documents`, own, {
      body: { kind: 'playbook', title: 'Held playbook', body: '# Held body\n' },
    })
    const card = {
      from: '2026-01-01T00:00:00Z',
      until: '2026-06-30T00:00:00Z',
      returns: 0.1234,
      sharpe: 1,
      drawdown: 0.1,
    }
    await dataOf(test, 'PUT', `${at}/card`, own, { body: card })
    await dataOf(test, 'PUT', `${at}/state`, own, { body: { seen: 1 } })
    const hold = await holdOn('account', owner.accountId)
    await dataOf(test, 'PUT', `${at}/documents/${document.id}`, own, {
      body: { revision: 1, title: 'Other', body: 'Other' },
    })
    await dataOf(test, 'PUT', `${at}/card`, own, { body: { ...card, returns: 0.5 } })
    const state = await ask('PUT', `${at}/state`, own, { seen: 2 })
    expect([state.status, state.json.code, state.json.hold_id]).toEqual([409, 'held', hold])
    expect(state.json.detail).toContain('the state was not replaced')
    const exported = await ask('GET', `/v1/export/${own.id}`, own)
    expect(await tablesWith('Held playbook')).toEqual([])
    expect(exported.json.held_versions).toContainEqual(
      expect.objectContaining({
        table: 'agent_documents',
        record: expect.objectContaining({ title: 'Held playbook', body: '# Held body\n', revision: 1 }),
      }),
    )
    expect(await tablesWith('0.1234')).toEqual(['performance_cards'])

    // A rotation of the secret seals preserved versions again.
    const next = 'a secret that follows the present one'
    const renewed = await withConnection(test.ownerUrl, async (owner) => {
      await owner.query('BEGIN')
      await resealHeldVersions(owner, sealedDocumentBodies, { from: [test.app.env.KP_SECRET ?? ''], to: next })
      const { rows } = await owner.query<{ body: string }>(
        "SELECT content->>'sealed_body' AS body FROM held_versions WHERE content->>'id' = $1",
        [document.id],
      )
      await owner.query('ROLLBACK')
      return rows.map(({ body }) =>
        unsealed(
          deriveKey(next, sealedDocumentBodies.purpose),
          Buffer.from(body.slice(2), 'hex'),
          document.id,
        )?.toString(),
      )
    })
    expect(renewed).toEqual(['# Held body\n'])
  })

  it('preserves nothing without a hold, or under a hold on another record', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const [one, other] = [
      trace({ task: { objective: 'Free text one' } }),
      trace({ task: { objective: 'Free text two' } }),
    ]
    const first = (await dataOf(test, 'POST', '/v1/knowledge', own, { body: one })).id
    const second = (await dataOf(test, 'POST', '/v1/knowledge', own, { body: other })).id
    await holdOn('unit', second)
    await dataOf(test, 'PATCH', `/v1/knowledge/${first}`, own, { body: { unit: { task: { objective: 'New' } } } })
    expect(await tablesWith('Free text one')).toEqual([])
  })

  it('waits for a hold that is being placed, and keeps the version', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const unit = (
      await dataOf(test, 'POST', '/v1/knowledge', own, { body: trace({ task: { objective: 'Raced text' } }) })
    ).id
    await withConnection(test.ownerUrl, async (placing) => {
      await placing.query('BEGIN')
      await lockHoldsExclusively(placing, {})
      await lockChangesExclusively(placing, {})
      await placing.query(
        "INSERT INTO legal_holds (id, kind, target_id, reason, created_by, created_at) VALUES ($1, 'unit', $2, 'r', $3, now())",
        [newId('hold'), unit, admin.id],
      )
      const changing = dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, {
        body: { unit: { task: { objective: 'Late' } } },
      })
      const isWaiting = "SELECT count(*)::int AS n FROM pg_locks WHERE locktype = 'advisory' AND NOT granted"
      await expect.poll(async () => (await placing.query(isWaiting)).rows[0].n, { timeout: 60_000 }).toBeGreaterThan(0)
      await placing.query('COMMIT')
      await changing
    })
    expect(await tablesWith('Raced text')).toEqual(['units'])
  })
})

describe('held versions', () => {
  /** Erases the person without grace. Returns the run and its step of held versions. */
  async function erasedNow(subject: MadeSubject) {
    await passwordEntered(test, subject)
    const filed = await ask('POST', '/api/privacy/requests', subject, {
      kinds: ['erasure'],
      grace: 'now',
      password: subject.password,
    })
    expect(filed.status, filed.text).toBe(201)
    await drain(test)
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { requestId: filed.json.data.id } })
    const step = await test.db.prisma.erasureStep.findFirstOrThrow({
      where: { runId: run.id, holder: 'holds.versions' },
    })
    return { run, step }
  }

  it('are deleted with a record in the deletion log once no hold covers the record', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const unit = (
      await dataOf(test, 'POST', '/v1/knowledge', own, { body: trace({ task: { objective: 'Twice held' } }) })
    ).id
    const [first, second] = [await holdOn('unit', unit), await holdOn('agent', own.id)]
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, { body: { unit: { task: { objective: 'New' } } } })
    await released(first)
    await drain(test)
    expect(await tablesWith('Twice held')).toEqual(['units'])
    await released(second)
    await drain(test)
    expect(await tablesWith('Twice held')).toEqual([])
    const { rows } = await test.db.pool.query(
      "SELECT FROM deletion_audit_log WHERE scope->>'subject' = 'held versions of records that no legal hold covers any more'",
    )
    expect(rows.length).toBeGreaterThan(0)
  })

  it('held versions of an expired hold are deleted by the scheduled job', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const unit = (
      await dataOf(test, 'POST', '/v1/knowledge', own, { body: trace({ task: { objective: 'Briefly held' } }) })
    ).id
    const ends = new Date(test.clock.now().getTime() + 3_600_000)
    await holdOn('unit', unit, { expires_at: ends.toISOString() })
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, { body: { unit: { task: { objective: 'New' } } } })
    const sweep = test.app.jobs.find(({ name }) => name === heldVersionsJob)
    expect(sweep?.cron).toBeDefined()
    await sweep?.execute(test.app.pipeline, {})
    expect(await tablesWith('Briefly held')).toEqual(['units'])
    const tomorrow = { ...test.app.pipeline, clock: { now: () => new Date(ends.getTime() + 1) } }
    await sweep?.execute(tomorrow, {})
    expect(await tablesWith('Briefly held')).toEqual([])
  })

  it('are in the access export of the author and in no other export', async () => {
    const owner = await signedIn(test)
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise', owner })
    const colleague = await issuedAgent(test, ['read', 'write'], {
      tier: 'enterprise',
      owner: await signedIn(test, 'person', owner.organisationId),
    })
    const body = trace({ task: { objective: 'Private held text' } }, { visibility: 'private' })
    const unit = (await dataOf(test, 'POST', '/v1/knowledge', own, { body })).id
    const hold = await holdOn('agent', own.id)
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, { body: { unit: { task: { objective: 'New' } } } })
    const exported = await ask('GET', `/v1/export/${own.id}`, own)
    expect(exported.json.held_versions).toMatchObject([{ table: 'units', record: { id: unit } }])
    expect(exported.text).toContain('Private held text')
    expect(exported.text).not.toContain('court')
    for (const other of [colleague, admin])
      expect((await ask('GET', `/v1/export/${own.id}`, other)).text).not.toContain('Private held text')
    await released(hold)
  })

  it('export no account of others who acted on the record', async () => {
    const on = await madeProject(test)
    const { owner } = on
    const other = await madeMember(test, on, 'owner')
    const hold = await holdOn('account', owner.accountId)
    await dataOf(test, 'POST', `${on.path}/close`, other, { body: {} })
    await dataOf(test, 'PATCH', on.path, owner, { body: { name: 'Another name' } })
    const [exporter] = heldVersionPersonExporters({ db: test.db, sealed: [] })
    const lines: string[] = []
    const reader = {
      basis: 'all',
      id: `user:${owner.accountId}`,
      agents: [],
      organisationId: owner.organisationId,
      isAdmin: false,
      seesPrivate: true,
      until: test.clock.now(),
    } as const
    for await (const page of exporter?.pages(owner.accountId, reader) ?? []) lines.push(page.lines)
    const text = lines.join('\n')
    expect(text).toContain('"name":"A project"')
    expect(text).toContain(`"created_by":"user:${owner.accountId}"`)
    expect(text).not.toContain(other.accountId)
    await released(hold)
  })

  it('held versions of an erased person are counted as held on the first receipt, and are erased when the hold ends', async () => {
    const subject = await madeSubject(test)
    const [agent] = subject.agents
    const [unit] = subject.units
    if (!agent || unit === undefined) throw new Error('the subject has an agent and a unit')
    const hold = await holdOn('unit', unit)
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, agent, {
      body: { unit: { task: { objective: `${subject.marker} again` } } },
    })
    expect(await tablesWith(subject.marker)).toEqual(['units'])
    await passwordEntered(test, subject)
    const filed = await ask('POST', '/api/privacy/requests', subject, {
      kinds: ['erasure'],
      grace: 'now',
      password: subject.password,
    })
    expect(filed.status, filed.text).toBe(201)
    await drain(test)
    const run = await test.db.prisma.erasureRun.findFirstOrThrow({ where: { requestId: filed.json.data.id } })
    const step = await test.db.prisma.erasureStep.findFirstOrThrow({
      where: { runId: run.id, holder: 'holds.versions' },
    })
    expect(step.held).toEqual({ [hold]: 1 })
    await released(hold)
    await drain(test)
    const done = await test.db.prisma.erasureRun.findUniqueOrThrow({ where: { id: run.id } })
    expect(done.state).toBe('done')
    expect(await versionsWith(subject.marker)).toEqual([])
    expect([...(await rowsOf(test.ownerUrl))].filter(([, text]) => text.includes(subject.marker))).toEqual([])
  })

  it.each(['account', 'agent', 'unit'] as const)(
    'are not made by an erasure after the hold on the %s has ended',
    async (kind) => {
      const subject = await madeSubject(test)
      const [unit] = subject.units
      const [agent] = subject.agents
      if (!agent || unit === undefined) throw new Error('the subject has an agent and a unit')
      const ends = new Date(test.clock.now().getTime() + 3_600_000)
      const target = { account: subject.accountId, agent: agent.id, unit }[kind]
      const hold = await holdOn(kind, target, { expires_at: ends.toISOString() })
      await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, agent, {
        body: { unit: { task: { objective: `${subject.marker} again` } } },
      })
      test.clock.advance(3_600_000)
      const { run, step } = await erasedNow(subject)
      // The version of the time of the hold, and none of the erasure.
      expect([run.state, run.rounds, step.held, step.planned, step.erased]).toEqual(['done', 0, {}, 1, 1])
      const { rows } = await test.db.pool.query(
        'SELECT table_name FROM held_versions v WHERE hold_on(v.anchors, NULL) = $1',
        [hold],
      )
      expect(rows).toEqual([])
      expect([...(await rowsOf(test.ownerUrl))].filter(([, text]) => text.includes(subject.marker))).toEqual([])
    },
  )

  it('are not made by the deletion of a unit after its hold has ended', async () => {
    const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
    const body = trace({ task: { objective: 'Held until noon' } })
    const unit = (await dataOf(test, 'POST', '/v1/knowledge', own, { body })).id
    const ends = new Date(test.clock.now().getTime() + 3_600_000)
    await holdOn('unit', unit, { expires_at: ends.toISOString() })
    expect((await ask('DELETE', `/v1/knowledge/${unit}`, own)).status).toBe(409)
    test.clock.advance(3_600_000)
    expect((await ask('DELETE', `/v1/knowledge/${unit}`, own)).status).toBe(204)
    expect(await versionsWith('Held until noon')).toEqual([])
  })

  it('held versions of files and chunks belong to the author of their document, and are erased with the author', async () => {
    const subject = await madeSubject(test)
    const hold = await holdOn('account', subject.accountId)
    await test.db.pool.query(
      "DELETE FROM documents WHERE id IN (SELECT document_id FROM document_chunks WHERE content LIKE '%' || $1 || '%')",
      [subject.marker],
    )
    const { rows } = await test.db.pool.query(
      `SELECT count(*)::int AS n, count(*) FILTER (WHERE coalesce(agent_id, account_id, participant_id) IS NOT NULL)::int AS owned
       FROM held_versions WHERE table_name = 'document_chunks' AND hold_on(anchors, NULL) = $1`,
      [hold],
    )
    expect(rows[0].n).toBeGreaterThan(0)
    expect(rows[0].owned).toBe(rows[0].n)
    // As earlier releases stored them.
    await withConnection(test.ownerUrl, (owner) =>
      owner.query(
        "UPDATE held_versions SET agent_id = NULL, account_id = NULL, participant_id = NULL WHERE table_name = 'document_chunks'",
      ),
    )
    await test.db.prisma.legalHold.update({ where: { id: hold }, data: { expiresAt: test.clock.now() } })
    const { run } = await erasedNow(subject)
    expect(run.state).toBe('done')
    expect(await versionsWith(subject.marker)).toEqual([])
  })
})

it('words of an erased message in versions of others are counted as left on its receipt until the hold ends', async () => {
  const project = await madeProject(test)
  const conversation = await madeConversation(test, project)
  const content = `My granite${newId('g')} kettle boiled over in the summer house${newId('h')} by the river last Thursday.`
  const message = await madeMessage(test, conversation, project.owner, { content })
  const other = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const unit = (
    await dataOf(test, 'POST', '/v1/knowledge', other, { body: trace({ task: { objective: `Told: ${content}` } }) })
  ).id
  const hold = await holdOn('unit', unit)
  await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, other, { body: { unit: { task: { objective: 'Rewritten' } } } })
  const receiptId = await eraseWholeProject(test, message.path, project.owner)
  const read = async () => {
    expect(await test.app.completeReadings.read({ rests: false })).toBe('completed')
    const { json } = await test.fetch('GET', `/v1/receipts/${receiptId}`)
    return json.complete_reading.stores.find(({ holder }: { holder: string }) => holder === 'holds.versions')
  }
  expect(await read()).toMatchObject({ store: 'postgresql', found: 1, erased: 0, left: 1 })
  expect(await tablesWith('kettle boiled over')).toEqual(['units'])
  await released(hold)
  await drain(test)
  expect(await versionsWith('kettle boiled over')).toEqual([])
})

it('holdsInForce.lock does not block changes of records', async () => {
  const own = await issuedAgent(test, ['read', 'write'], { tier: 'enterprise' })
  const unit = (await dataOf(test, 'POST', '/v1/knowledge', own, { body: trace() })).id
  await test.db.transaction(async (tx) => {
    await holdsInForce.lock(tx, test.clock.now())
    await dataOf(test, 'PATCH', `/v1/knowledge/${unit}`, own, { body: { visibility: 'private' } })
  })
})
