import { statement } from '#lib/stores/postgres/statement.ts'

/** Whether an admin or a manager worked on the request `r`: not one that was carried out automatically. */
export const isStaffed = `EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = r.id AND e.by IN ('admin', 'manager'))`

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

/**
 * Closed requests that were answered, in each week before `now`: within the legal deadline or not, and the median time from receipt of those
 * that an admin or a manager worked on, in days. Weeks without any are absent.
 */
export const answersByWeek = statement('privacy.answers-by-week', {
  takes: { now: 'timestamptz', from: 'timestamptz' },
  returns: { weeks_ago: 'int4', answered: 'int4', on_time: 'int4', median_days: 'float8?' },
  sql: `SELECT floor(extract(epoch FROM $now - closed_at) / extract(epoch FROM ${week}))::int AS weeks_ago, count(*)::int AS answered,
      (count(*) FILTER (WHERE closed_at <= legal_due_at))::int AS on_time,
      (percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM closed_at - received_at) / 86400)
        FILTER (WHERE ${isStaffed}))::float8 AS median_days
    FROM privacy_requests r WHERE closed_at > $from AND closed_at <= $now AND state <> 'cancelled' GROUP BY 1`,
})

/** Requests received and closed after a time. */
export const requestsSince = statement('privacy.requests-since', {
  takes: { since: 'timestamptz' },
  returns: { received: 'int4', closed: 'int4' },
  sql: `SELECT (count(*) FILTER (WHERE received_at > $since))::int AS received, (count(*) FILTER (WHERE closed_at > $since))::int AS closed
    FROM privacy_requests WHERE received_at > $since OR closed_at > $since`,
})
