import { isOwed, nearlyDueSql, nextDueSql } from '#lib/domains/privacy-requests/queue/due-sql.ts'
import { copyTries } from '#lib/domains/privacy-requests/rules.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

/** The work of the clock, and which requests need it. */
const clockConditions = {
  erasure: "state = 'waiting' AND paused_at IS NULL AND waiting_until <= $now",
  copies: `closed_at IS NULL AND run_id IS NULL AND EXISTS (SELECT FROM privacy_request_parts p
    WHERE p.request_id = privacy_requests.id AND p.kind IN ('access', 'portability') AND p.state = 'failed'
      AND p.finished_at <= $now - interval '${copyTries.after} milliseconds'
      AND coalesce((p.outcome->>'tries')::int, 0) < ${copyTries.most})`,
  reminder: `state = 'waiting' AND paused_at IS NULL AND reminded_at IS NULL AND grace IN ('7d', '14d')
    AND waiting_until > $now AND waiting_until <= $now + interval '1 day'`,
  // Requests from the form wait for an admin until they are connected to an account, whose owner then confirms them.
  expiry:
    "state = 'received' AND paused_at IS NULL AND legal_due_at <= $now AND (channel <> 'form' OR account_id IS NOT NULL)",
  overdue: `${isOwed()} AND overdue_told_at IS NULL AND ${nextDueSql} < $now`,
  nearlyDue: `${isOwed()} AND nearly_told_at IS NULL AND ${nearlyDueSql} < $now`,
} as const
export type ClockWork = keyof typeof clockConditions
const variants = Object.keys(clockConditions) as ClockWork[]

/** Requests after this id that need the work. */
export const requestsDue = statement('privacy.clock-list', {
  takes: { now: 'timestamptz', after: 'text', limit: 'int4' },
  returns: { id: 'text' },
  variants,
  sql: (work: ClockWork) =>
    `SELECT id FROM privacy_requests WHERE id > $after AND ${clockConditions[work]} ORDER BY id LIMIT $limit`,
})

/** Like {@link requestsDue}, or `only` one request. Locks the requests, and skips those that other transactions have locked. */
export const lockRequestsDue = statement('privacy.clock-lock', {
  takes: { now: 'timestamptz', after: 'text', only: 'text?', limit: 'int4' },
  returns: { id: 'text' },
  variants,
  sql: (work: ClockWork) => `SELECT id FROM privacy_requests
    WHERE id > $after AND id = coalesce($only, id) AND ${clockConditions[work]}
    ORDER BY id LIMIT $limit FOR NO KEY UPDATE SKIP LOCKED`,
})

/** Locks the other open requests of the subject that have no erasure run, and skips those that other transactions have locked. */
export const lockOtherRequests = statement('privacy.lock-others', {
  takes: { id: 'text', account: 'text?', agents: 'text[]', participants: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT id FROM privacy_requests
    WHERE (account_id = $account OR agent_id = ANY($agents) OR participant_id = ANY($participants))
      AND id <> $id AND run_id IS NULL AND closed_at IS NULL
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED`,
})
