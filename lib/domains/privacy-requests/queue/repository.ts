import { isStaffed } from '#lib/domains/privacy-requests/statistics/repository.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { dueOrderSql, isErasedInTime, isOwed, nearlyDueSql, nextDueSql } from './due-sql.ts'

const conditions = {
  state: 'state = $state::request_state',
  kind: '$kind = ANY(kinds)',
  channel: 'channel = $channel',
  assignee: 'assigned_to = $assignee',
  unassigned: 'assigned_to IS NULL',
  q: `(starts_with(id, $q) OR account_id = ANY($accounts) OR address_key = $address
    OR agent_id IN (SELECT a.id FROM agent_names a
      WHERE a.owner_id = ANY($accounts) OR strpos(a.id, $q) > 0 OR strpos(lower(a.name), lower($q)) > 0))`,
  hold: `EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = privacy_requests.id
    AND p.state = 'partly_done' AND $hold = ANY(string_to_array(p.outcome->>'holds', ',')))`,
  open: 'closed_at IS NULL',
  closed: 'closed_at IS NOT NULL',
  overdue: `${isOwed()} AND ${nextDueSql} < $now`,
  near: `${isOwed()} AND ${nearlyDueSql} < $now AND ${nextDueSql} >= $now`,
  late: `EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = privacy_requests.id AND p.kind = 'erasure'
    AND p.state = 'done' AND NOT ${isErasedInTime('p.', 'privacy_requests.')})`,
  week: `${isOwed()} AND ${nextDueSql} >= $now AND ${nextDueSql} < $now + interval '7 days'`,
} as const
export type QueueCondition = keyof typeof conditions
const allConditions = Object.keys(conditions) as QueueCondition[]
const matches = (given: readonly QueueCondition[]): string =>
  ['TRUE', ...given.map((name) => conditions[name])].join(' AND ')
const filters = {
  state: 'text?',
  kind: 'text?',
  channel: 'text?',
  assignee: 'text?',
  q: 'text?',
  accounts: 'text[]?',
  /** The hash of the whole text as the address of a requester from the form. */
  address: 'text?',
  hold: 'text?',
  now: 'timestamptz',
} as const

/** Counts the matching requests up to `most`. */
export const countQueue = statement('privacy.count-queue', {
  takes: { ...filters, most: 'int4' },
  returns: { n: 'int4' },
  variants: [[], ...allConditions.map((one) => [one]), allConditions],
  sql: (given: readonly QueueCondition[]) =>
    `SELECT count(*)::int AS n FROM (SELECT FROM privacy_requests WHERE ${matches(given)} LIMIT $most) AS counted`,
})

interface QueueOrder {
  conditions: readonly QueueCondition[]
  /** By deadline, the earliest first, then paused requests, then those without a deadline; or by the time of receipt, the newest first. */
  isByDue: boolean
}
/** A page of the matching requests. A page after a cursor begins after `at` and `id`. */
export const listQueue = statement('privacy.list-queue', {
  takes: { ...filters, at: 'timestamptz?', id: 'text?', limit: 'int4' },
  returns: { id: 'text', at: 'timestamptz' },
  variants: [
    ...allConditions.map((one): QueueOrder => ({ conditions: [one], isByDue: true })),
    { conditions: [], isByDue: false },
  ],
  sql: ({ conditions: given, isByDue }: QueueOrder) => {
    const [at, beyond, way] = isByDue ? [dueOrderSql, '>', 'ASC'] : ['received_at', '<', 'DESC']
    return `SELECT id, ${at} AS at FROM privacy_requests
      WHERE ${matches(given)} AND ($at IS NULL OR (${at}, id) ${beyond} ($at, $id))
      ORDER BY ${at} ${way}, id ${way} LIMIT $limit`
  },
})

/** Counts the open requests, those that are nearly due, due within seven days, and overdue. */
export const countWaiting = statement('privacy.count-waiting', {
  takes: { now: 'timestamptz' },
  returns: { open: 'int4', near: 'int4', week: 'int4', overdue: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS open, (count(*) FILTER (WHERE ${conditions.near}))::int AS near,
      (count(*) FILTER (WHERE ${conditions.week}))::int AS week,
      (count(*) FILTER (WHERE ${conditions.overdue}))::int AS overdue
    FROM privacy_requests WHERE closed_at IS NULL`,
})

/**
 * Numbers for the head of the queue. The median is of the requests that were closed since `from` and that an admin or a manager worked on,
 * in days from receipt; null if there are none. Requests that were carried out automatically would make it look better.
 */
export const queueStatistics = statement('privacy.queue-statistics', {
  takes: { now: 'timestamptz', from: 'timestamptz' },
  returns: {
    open: 'int4',
    unassigned: 'int4',
    overdue: 'int4',
    /** Overdue by the legal deadline, not only by our own. */
    legally_overdue: 'int4',
    week: 'int4',
    closed: 'int4',
    median_days: 'float8?',
  },
  sql: `SELECT o.*, c.* FROM
    (SELECT count(*)::int AS open, (count(*) FILTER (WHERE assigned_to IS NULL))::int AS unassigned,
        (count(*) FILTER (WHERE ${conditions.overdue}))::int AS overdue,
        (count(*) FILTER (WHERE ${isOwed()} AND legal_due_at < $now))::int AS legally_overdue,
        (count(*) FILTER (WHERE ${conditions.week}))::int AS week
      FROM privacy_requests WHERE closed_at IS NULL) AS o,
    (SELECT count(*)::int AS closed,
        percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM closed_at - received_at) / 86400)::float8 AS median_days
      FROM privacy_requests r WHERE closed_at >= $from AND state <> 'cancelled' AND ${isStaffed}) AS c`,
})

/** Counts the open requests that are nearly due, overdue, or have a failed part, for which an erasure may wait. */
export const countNeedingAttention = statement('privacy.count-needing-attention', {
  takes: { now: 'timestamptz' },
  returns: { near: 'int4', overdue: 'int4', failed: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*) FILTER (WHERE near < $now AND due >= $now)::int AS near, count(*) FILTER (WHERE due < $now)::int AS overdue,
      count(*) FILTER (WHERE has_failed)::int AS failed
    FROM (SELECT EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = privacy_requests.id AND p.state = 'failed') AS has_failed,
        ${nextDueSql} AS due, ${nearlyDueSql} AS near FROM privacy_requests WHERE ${isOwed()}) AS open`,
})

/** All requests by state, and the numbers of overdue and nearly due requests. Reads only open requests for the latter. */
export const measureRequests = statement('privacy.measure', {
  takes: { now: 'timestamptz' },
  returns: { by_state: typed<Partial<Record<string, number>> | null>('json?'), overdue: 'int4', near: 'int4' },
  isPrepared: true,
  sql: `SELECT (SELECT json_object_agg(state, requests) FROM (SELECT state, count(*) AS requests FROM privacy_requests GROUP BY state) AS s) AS by_state,
      count(*) FILTER (WHERE is_over)::int AS overdue,
      count(*) FILTER (WHERE NOT is_over AND is_near)::int AS near
    FROM (SELECT ${nextDueSql} < $now AS is_over, ${nearlyDueSql} < $now AS is_near FROM privacy_requests WHERE ${isOwed()}) AS clocks`,
})

const parts = 'privacy_request_parts p JOIN privacy_requests q ON q.id = p.request_id'
const isPartOverdue = `${isOwed('q.')} AND ${nextDueSql} < $now`

/** Counts answered, open and overdue requests of one kind. */
export const answersOfKind = statement('privacy.answers', {
  takes: { kind: 'text', now: 'timestamptz' },
  returns: { asked: 'int4', done: 'int4', refused: 'int4', open: 'int4', overdue: 'int4', last: 'timestamptz?' },
  sql: `SELECT count(*)::int AS asked, count(*) FILTER (WHERE p.state IN ('done', 'partly_done'))::int AS done,
      count(*) FILTER (WHERE p.state = 'refused')::int AS refused,
      count(*) FILTER (WHERE q.closed_at IS NULL)::int AS open,
      count(*) FILTER (WHERE ${isPartOverdue})::int AS overdue,
      max(p.finished_at) FILTER (WHERE p.state = 'done') AS last
    FROM ${parts} WHERE p.kind = $kind`,
})

/** Counts erasures: done, done within the term, open and overdue. */
export const erasuresInTime = statement('privacy.erasures-in-time', {
  takes: { now: 'timestamptz' },
  returns: { done: 'int4', in_time: 'int4', open: 'int4', overdue: 'int4' },
  sql: `SELECT count(*) FILTER (WHERE p.state = 'done')::int AS done,
      count(*) FILTER (WHERE p.state = 'done' AND ${isErasedInTime('p.', 'q.')})::int AS in_time,
      count(*) FILTER (WHERE q.closed_at IS NULL)::int AS open,
      count(*) FILTER (WHERE ${isPartOverdue})::int AS overdue
    FROM ${parts} WHERE p.kind = 'erasure'`,
})

/** Counts erasures: in their grace period, begun, begun before its end, and cancelled. */
export const gracePeriods = statement('privacy.grace-periods', {
  takes: { now: 'timestamptz' },
  returns: { waiting: 'int4', begun: 'int4', early: 'int4', cancelled: 'int4' },
  sql: `SELECT count(*) FILTER (WHERE q.state = 'waiting' AND q.waiting_until > $now)::int AS waiting,
      count(*) FILTER (WHERE p.started_at IS NOT NULL)::int AS begun,
      count(*) FILTER (WHERE q.run_id IS NOT NULL AND p.started_at < q.waiting_until)::int AS early,
      count(*) FILTER (WHERE p.state = 'cancelled')::int AS cancelled
    FROM ${parts} WHERE p.kind = 'erasure'`,
})

/** Counts closed requests, those with content, and those closed before the time that still have an address. */
export const dataOfClosedRequests = statement('privacy.data-of-closed', {
  takes: { before: 'timestamptz' },
  returns: { closed: 'int4', payloads: 'int4', contacts: 'int4' },
  sql: `SELECT count(*)::int AS closed, count(*) FILTER (WHERE payload IS NOT NULL)::int AS payloads,
      count(*) FILTER (WHERE contact IS NOT NULL AND closed_at < $before)::int AS contacts
    FROM privacy_requests WHERE closed_at IS NOT NULL`,
})
