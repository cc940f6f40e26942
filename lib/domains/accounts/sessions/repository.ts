import type { Role } from '#lib/domains/accounts/rules.ts'
import type { SignInWay } from '#lib/domains/accounts/second-factors/rules.ts'
import { accountRows } from '#lib/stores/postgres/account-rows.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

/** An open session with its account, which is open too. Read for every request of a person: one indexed query. */
export const openSession = statement('sessions.open', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: {
    session_id: 'text',
    last_seen_at: 'timestamptz',
    password_at: 'timestamptz?',
    account_id: 'text',
    organisation_id: 'text',
    role: typed<Role>('text'),
    must_change_password: 'bool',
    signed_in_with: typed<SignInWay | null>('text?'),
    has_factor: 'bool',
    /** Ids of the person's agents, sorted. */
    agents: 'text[]',
  },
  isPrepared: true,
  sql: `SELECT s.id AS session_id, s.last_seen_at, s.password_at, a.id AS account_id, a.organisation_id, a.role::text AS role,
      a.must_change_password, s.signed_in_with,
      EXISTS (SELECT FROM account_factors f WHERE f.account_id = a.id AND f.confirmed_at IS NOT NULL) AS has_factor,
      ARRAY(SELECT g.id FROM agent_owners g WHERE g.owner_id = a.id ORDER BY g.id) AS agents
    FROM sessions s JOIN accounts a ON a.id = s.account_id
    WHERE s.id = $id AND s.revoked_at IS NULL AND s.expires_at > $now AND a.deactivated_at IS NULL`,
})
export type SessionRow = Awaited<ReturnType<typeof openSession>>[number]

export const noteSessionSeen = statement('sessions.note-seen', {
  takes: { id: 'text', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'UPDATE sessions SET last_seen_at = $now WHERE id = $id AND last_seen_at < $now',
})

/** When and with which browser a person signed in last, newest first, as far as sessions are retained. */
export const newestSignIns = statement('sessions.newest', {
  takes: { account: 'text', current: 'text' },
  returns: { at: 'timestamptz', browser: 'text', isCurrent: 'bool' },
  isPrepared: true,
  sql: `SELECT created_at AS at, user_agent AS browser, id = $current AS "isCurrent"
    FROM sessions WHERE account_id = $account ORDER BY created_at DESC, id DESC LIMIT 3`,
})

/** A page of a person's open sessions, newest first, with the number of all. A page after a cursor begins after `at` and `id`. */
export const listOpenSessions = statement('sessions.list', {
  takes: { account: 'text', now: 'timestamptz', at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: {
    id: 'text',
    user_agent: 'text',
    created_at: 'timestamptz',
    last_seen_at: 'timestamptz',
    expires_at: 'timestamptz',
    total: 'int4',
  },
  isPrepared: true,
  sql: `SELECT id, user_agent, created_at, last_seen_at, expires_at, total FROM (SELECT *, count(*) OVER ()::int AS total FROM sessions
      WHERE account_id = $account AND revoked_at IS NULL AND expires_at > $now) AS open
    WHERE $at IS NULL OR (created_at, id) < ($at, $id) ORDER BY created_at DESC, id DESC LIMIT $limit`,
})

export const deleteEndedSessions = statement('sessions.purge', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM sessions WHERE expires_at < $before OR revoked_at < $before',
})

export const signInMark = statement('sessions.sign-in-mark', {
  takes: { mark: 'bytea', after: 'timestamptz' },
  returns: { last_at: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT last_at FROM known_sign_ins WHERE mark = $mark AND last_at > $after',
})

export const deleteSignInMarks = statement('sessions.purge-sign-in-marks', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM known_sign_ins WHERE last_at < $before',
})

export const sessionRows = accountRows({
  ...{ table: 'sessions', id: 'id' },
  ...{ at: 'created_at', endsAt: 'coalesce(revoked_at, expires_at)' },
})
export const signInRows = accountRows({
  ...{ table: 'known_sign_ins', id: 'mark', isBytes: true },
  ...{ at: 'last_at', endsAt: 'last_at' },
})
