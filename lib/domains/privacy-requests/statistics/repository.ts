import { statement } from '#lib/stores/postgres/statement.ts'

const week = "interval '7 days'"
/** Requests received and closed in each week before `now`, from `from`. Weeks without any are absent. */
export const requestsByWeek = statement('privacy.requests-by-week', {
  takes: { now: 'timestamptz', from: 'timestamptz' },
  returns: { weeks_ago: 'int4', received: 'int4', closed: 'int4' },
  sql: `SELECT floor(extract(epoch FROM $now - at) / extract(epoch FROM ${week}))::int AS weeks_ago,
      (count(*) FILTER (WHERE is_received))::int AS received, (count(*) FILTER (WHERE NOT is_received))::int AS closed
    FROM (SELECT received_at AS at, true AS is_received FROM privacy_requests
      UNION ALL SELECT closed_at, false FROM privacy_requests WHERE closed_at IS NOT NULL) AS moments
    WHERE at > $from AND at <= $now GROUP BY 1`,
})

/** Requests received and closed after a time. */
export const requestsSince = statement('privacy.requests-since', {
  takes: { since: 'timestamptz' },
  returns: { received: 'int4', closed: 'int4' },
  sql: `SELECT (count(*) FILTER (WHERE received_at > $since))::int AS received, (count(*) FILTER (WHERE closed_at > $since))::int AS closed
    FROM privacy_requests WHERE received_at > $since OR closed_at > $since`,
})
