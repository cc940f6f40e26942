import { encode } from 'next-auth/jwt'
import { z } from 'zod'
import { sessionSecret } from '#lib/access/sessions.ts'
import type { App } from '#lib/app.ts'
import { newId } from '#lib/kernel/ids.ts'
import { withConnection } from '#lib/stores/postgres/connection.ts'

const day = 86_400_000
/** Clock offset of workers at which all requests of {@link fileForOneDay} are due; milliseconds. */
export const beforeDueDay = day + 60_000
export const jobsOfDueDay = { jobs: ['privacy.clock', 'erasure.watch'], every: 1_000 }

/** Creates people, each with an agent, units, a vote for the next one's unit and a token, in one statement for speed. */
const people = `
  WITH p AS (SELECT n, lpad(n::text, 22, '0') AS id FROM generate_series(1, $1::int) AS n),
    o AS (INSERT INTO organisations (id, name, created_at) SELECT 'org_' || id, 'Test', $2 FROM p),
    a AS (INSERT INTO accounts (id, organisation_id, email, name, role, password_hash, created_at, updated_at)
      SELECT 'usr_' || id, 'org_' || id, 'person' || n || '@example.org', 'Person ' || n, 'person', '-', $2, $2 FROM p),
    g AS (INSERT INTO agents (id, organisation_id, owner_id, lawful_basis, notice_version, created_at)
      SELECT 'due-' || n, 'org_' || id, 'usr_' || id, 'consent', '1', $2 FROM p),
    t AS (INSERT INTO tokens (id, agent_id, limit_key, hash, prefix, scopes, created_at)
      SELECT 'tok_' || id, 'due-' || n, 'tok_' || id, sha256(id::bytea), 'kp_' || id, ARRAY['read'], $2 FROM p),
    u AS (INSERT INTO units (id, type, agent_id, organisation_id, visibility, domain, document, search, quality_score, novelty, created_at, updated_at)
      SELECT 'kp:trace:due-' || n || '-' || m, 'ReasoningTrace', 'due-' || n, 'org_' || id, 'network', 'code',
        jsonb_build_object('@type', 'ReasoningTrace', 'metadata', jsonb_build_object('validated_by', jsonb_build_array('due-' || (n % $1 + 1)))),
        array_to_tsvector(ARRAY['word']), 0.5, 0.5, $2, $2 FROM p, generate_series(1, 3) AS m)
  SELECT 'usr_' || id AS account FROM p ORDER BY n`
const votes = `INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, at)
  SELECT 'kp:trace:due-' || n || '-1', 'due-' || (n % $1 + 1), 'user:usr_' || lpad((n % $1 + 1)::text, 22, '0'), true, 1, $2
  FROM generate_series(1, $1::int) AS n`

/** Creates people and files a verified erasure for each, with a day of grace. Returns the account ids. */
export async function fileForOneDay(app: App, ownerUrl: string, count: number): Promise<string[]> {
  const now = app.pipeline.clock.now()
  const accounts = await withConnection(ownerUrl, async (client) => {
    await client.query('SET session_replication_role = replica')
    const { rows } = await client.query<{ account: string }>(people, [count, now])
    await client.query(votes, [count, now])
    return rows.map(({ account }) => account)
  })
  const cookie = await adminSession(app)
  for (const account of accounts) await fileErasure(app, cookie, account, '24h')
  return accounts
}

const Filed = z.object({ data: z.object({ id: z.string() }) })
/** Files and verifies the erasure of a person as an admin. Returns the request id. */
export async function fileErasure(app: App, cookie: string, account: string, grace: 'now' | '24h'): Promise<string> {
  const operationCalled = (id: string) => {
    const found = app.useCases.find(({ operation }) => operation.id === id)
    if (!found) throw new Error(`there is no operation ${id}`)
    return found
  }
  const received_at = app.pipeline.clock.now().toISOString()
  const body = { kinds: ['erasure'], account_id: account, grace, received_at }
  const { data } = Filed.parse(await app.asPerson(cookie, operationCalled('filePrivacyRequestForSubject'), { body }))
  const params = { id: data.id }
  await app.asPerson(cookie, operationCalled('verifyPrivacyRequestByAdmin'), {
    params,
    body: { note: 'Known in person.' },
  })
  return data.id
}

/** Creates an admin with a session. Returns the cookie. */
export async function adminSession({ db, pipeline, env }: App): Promise<string> {
  const now = pipeline.clock.now()
  const id = newId('ses')
  await db.transaction(async (tx) => {
    const organisationId = newId('org')
    await tx.organisation.create({ data: { id: organisationId, name: 'Office', createdAt: now } })
    const account = { email: 'admin@example.org', name: 'Admin', role: 'admin', passwordHash: '-' } as const
    const accountId = newId('usr')
    await tx.account.create({ data: { ...account, id: accountId, organisationId, createdAt: now, updatedAt: now } })
    const expiresAt = new Date(now.getTime() + 2 * day)
    await tx.session.create({ data: { id, accountId, createdAt: now, lastSeenAt: now, passwordAt: now, expiresAt } })
  })
  const secret = sessionSecret(env.KP_SECRET ?? '')
  return `next-auth.session-token=${await encode({ token: { sid: id }, secret, maxAge: 3600 })}`
}

export interface DueDay {
  requests: number
  open: number
  completed: number
  /** Requests that were closed after a deadline or reported as overdue. */
  overdue: number
  /** Accounts with exactly one signed receipt and one entry in the deletion log. */
  proven: number
  /** Remaining rows of the people: accounts, agents, units, votes, tokens. */
  left: number
}
const count = `SELECT
  (SELECT count(*) FROM privacy_requests)::int AS requests,
  (SELECT count(*) FROM privacy_requests WHERE closed_at IS NULL)::int AS open,
  (SELECT count(*) FROM privacy_requests WHERE state = 'completed')::int AS completed,
  (SELECT count(*) FROM privacy_requests WHERE overdue_told_at IS NOT NULL OR closed_at > least(due_at, legal_due_at))::int AS overdue,
  (SELECT count(*) FROM unnest($1::text[]) AS p(account)
    WHERE (SELECT count(*) FROM erasures e WHERE e.deleted_id = p.account AND e.state = 'signed') = 1
      AND (SELECT count(*) FROM deletion_audit_log d WHERE d.scope->>'subject' = p.account) = 1)::int AS proven,
  ((SELECT count(*) FROM accounts WHERE id = ANY($1)) + (SELECT count(*) FROM agents WHERE id LIKE 'due-%')
    + (SELECT count(*) FROM units WHERE agent_id LIKE 'due-%') + (SELECT count(*) FROM unit_votes WHERE voter_id LIKE 'due-%')
    + (SELECT count(*) FROM tokens WHERE agent_id LIKE 'due-%') + (SELECT count(*) FROM write_fences))::int AS left`

/** Current counts of the day. */
export const dueDayOf = (ownerUrl: string, accounts: readonly string[]): Promise<DueDay> =>
  withConnection(ownerUrl, async (client) => {
    const { rows } = await client.query<DueDay>(count, [[...accounts]])
    const [row] = rows
    if (!row) throw new Error('the day cannot be counted')
    return row
  })

/** The number of open requests. */
export const openOn = (ownerUrl: string): Promise<number> =>
  withConnection(ownerUrl, async (client) => {
    const open = 'SELECT count(*)::int AS n FROM privacy_requests WHERE closed_at IS NULL'
    return (await client.query<{ n: number }>(open)).rows[0]?.n ?? 0
  })
