import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { copyTries, ourTerm } from './rules.ts'

/** Serializes filing for one subject until the end of the transaction, so that the second of two concurrent requests joins the first. */
export const lockSubject = statement('privacy.lock-subject', {
  takes: { subjectKey: 'text' },
  returns: { lock: 'text' },
  sql: `SELECT pg_advisory_xact_lock(hashtextextended('privacy:' || $subjectKey, 0))::text AS lock`,
})

/** Locks the requests for changes, in the lock order. */
export const lockRequests = statement('privacy.lock-requests', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  sql: 'SELECT id FROM privacy_requests WHERE id = ANY($ids) ORDER BY id FOR NO KEY UPDATE',
})

/** Deletes the statements and the requested changes of a request. */
export const deletePayload = statement('privacy.delete-payload', {
  takes: { id: 'text' },
  returns: 'count',
  sql: 'UPDATE privacy_requests SET payload = NULL WHERE id = $id',
})

/** `addresses`: keyed hashes of the subject's address, by which its requests from the form are found. */
const subject = { account: 'text?', agents: 'text[]', participants: 'text[]', addresses: 'text[]' } as const
const isAboutSubject =
  '(account_id = $account OR agent_id = ANY($agents) OR participant_id = ANY($participants) OR address_key = ANY($addresses))'
/** SQL condition: the request's own erasure is running, so its address is retained until the last email. */
const isBeingErased = '(run_id IS NOT NULL AND closed_at IS NULL)'

/** Requests about the subject, and requests of others that it filed or was assigned to. */
export const inventoryOfRequests = statement('privacy.inventory', {
  takes: { ...subject, actors: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?', closed: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n, min(received_at) AS since, max(closed_at) AS closed
    FROM privacy_requests WHERE ${isAboutSubject} OR filed_by = ANY($actors) OR assigned_to = $account`,
})

/**
 * Requests that name the subject. `actors` are its ids in the audit log, and `hashes` its keyed hashes. A pseudonymous request is
 * included while it has an address or is open, except a request whose own erasure is running.
 */
export const requestsNaming = statement('privacy.plan', {
  takes: { ...subject, actors: 'text[]', hashes: 'text[]' },
  returns: { id: 'text' },
  sql: `SELECT id FROM privacy_requests
    WHERE ${isAboutSubject} OR filed_by = ANY($actors) OR assigned_to = $account
      OR (subject_key = ANY($hashes) AND (contact IS NOT NULL OR closed_at IS NULL) AND NOT ${isBeingErased})
    ORDER BY id`,
})

/** The requests among these that are about the subject. Open requests are obsolete, except a request whose erasure is running. */
export const requestsAbout = statement('privacy.about', {
  takes: { ...subject, ids: 'text[]', hashes: 'text[]' },
  returns: { id: 'text', isObsolete: 'bool' },
  sql: `SELECT id, run_id IS NULL AND closed_at IS NULL AS "isObsolete" FROM privacy_requests
    WHERE id = ANY($ids) AND (${isAboutSubject} OR subject_key = ANY($hashes))`,
})

export const deleteNotes = statement('privacy.delete-notes', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: 'UPDATE privacy_request_events SET note = NULL WHERE request_id = ANY($ids) AND note IS NOT NULL',
})

export const deleteExportPaths = statement('privacy.delete-export-paths', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_request_parts SET outcome = outcome - 'export' WHERE request_id = ANY($ids) AND outcome ? 'export'`,
})

/** Makes the requests pseudonymous. A request whose erasure is running keeps its address for the last email. */
export const deleteSubjects = statement('privacy.delete-subjects', {
  takes: { ids: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET account_id = NULL, agent_id = NULL, participant_id = NULL, payload = NULL, address_key = NULL, version = version + 1,
      contact = CASE WHEN ${isBeingErased} THEN contact END
    WHERE id = ANY($ids)`,
})

/** Counts requests from the form under the subject's hash, so that verification searches them by it. */
export const assignToSubject = statement('privacy.assign-to-subject', {
  takes: { ids: 'text[]', subjectKey: 'text' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET subject_key = $subjectKey WHERE id = ANY($ids) AND subject_kind = 'requester'`,
})

/** Deletes the subject's name from the requests that it filed or was assigned to. */
export const deleteActors = statement('privacy.delete-actors', {
  takes: { ids: 'text[]', actors: 'text[]', account: 'text?' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET filed_by = CASE WHEN filed_by = ANY($actors) THEN NULL ELSE filed_by END,
      assigned_to = nullif(assigned_to, $account)
    WHERE id = ANY($ids)`,
})

/** Counts rows that still name the subject, by its keyed hash and by remaining texts. */
export const countResidue = statement('privacy.residue', {
  takes: { hashes: 'text[]', items: 'text[]', actors: 'text[]', account: 'text?' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT ((SELECT count(*) FROM privacy_requests WHERE subject_key = ANY($hashes)
        AND (account_id IS NOT NULL OR agent_id IS NOT NULL OR participant_id IS NOT NULL OR payload IS NOT NULL
          OR (run_id IS NULL AND closed_at IS NULL) OR (contact IS NOT NULL AND NOT ${isBeingErased})))
      + (SELECT count(*) FROM privacy_requests WHERE id = ANY($items) AND (filed_by = ANY($actors) OR assigned_to = $account))
      + (SELECT count(*) FROM privacy_request_events e JOIN privacy_requests q ON q.id = e.request_id
         WHERE q.subject_key = ANY($hashes) AND e.note IS NOT NULL)
      + (SELECT count(*) FROM privacy_links l JOIN privacy_requests q ON q.id = l.request_id WHERE q.subject_key = ANY($hashes)))::int AS n`,
})

/** Counts the requests of erased subjects that keep an address for the last email. */
export const countRetainedAddresses = statement('privacy.retained-addresses', {
  takes: { hashes: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM privacy_requests
    WHERE subject_key = ANY($hashes) AND contact IS NOT NULL AND ${isBeingErased}`,
})

/** Counts the open requests about the person or one of their agents. */
export const countOpenRequests = statement('privacy.count-open', {
  takes: { account: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM privacy_requests r WHERE r.closed_at IS NULL
    AND (r.account_id = $account OR r.agent_id IN (SELECT id FROM agent_owners WHERE owner_id = $account))`,
})

/** The erasure runs of open requests about the person or these agents. */
export const openRuns = statement('privacy.open-runs', {
  takes: { account: 'text?', agents: 'text[]' },
  returns: { requestId: 'text', runId: 'text!' },
  isPrepared: true,
  sql: `SELECT id AS "requestId", run_id AS "runId" FROM privacy_requests
    WHERE (account_id = $account OR agent_id = ANY($agents)) AND closed_at IS NULL AND run_id IS NOT NULL`,
})

/** The erasure runs of agents that this actor requested in the console. */
export const runsFiledBy = statement('privacy.runs-filed-by', {
  takes: { actor: 'text' },
  returns: { id: 'text!' },
  isPrepared: true,
  sql: `SELECT run_id AS id FROM privacy_requests
    WHERE filed_by = $actor AND channel = 'console' AND subject_kind = 'agent' AND run_id IS NOT NULL`,
})

/** Verified requests for a copy of the participant's data. */
export const copyRequests = statement('privacy.copy-requests', {
  takes: { participant: 'text', after: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM privacy_requests WHERE participant_id = $participant AND kinds && ARRAY['access', 'portability']
    AND state NOT IN ('cancelled', 'rejected') AND verified_at > $after LIMIT 1`,
})

/**
 * Requests for a copy of the agent's data that the agent or its owner confirmed. A confirmation by an admin does not count, because it
 * would let the admin read private content without the owner.
 */
export const agentCopyRequests = statement('privacy.agent-copy-requests', {
  takes: { agent: 'text', after: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM privacy_requests WHERE agent_id = $agent AND kinds && ARRAY['access', 'portability']
    AND state NOT IN ('cancelled', 'rejected') AND verified_at > $after AND verified_by IN ('password', 'token', 'link')
    ORDER BY verified_at DESC LIMIT 1`,
})

/** All requests whose subject is known. */
export const knownSubjects = statement('privacy.known-subjects', {
  takes: {},
  returns: { id: 'text', kind: typed<'account' | 'agent' | 'participant'>('text'), subject: 'text' },
  sql: `SELECT r.id, s.kind, s.subject FROM privacy_requests r CROSS JOIN LATERAL (
      SELECT * FROM (VALUES ('account', r.account_id), ('participant', r.participant_id), ('agent', r.agent_id)) AS v (kind, subject)
      WHERE v.subject IS NOT NULL LIMIT 1) AS s`,
})

export const storeSubjectKeys = statement('privacy.store-subject-keys', {
  takes: { ids: 'text[]', keys: 'text[]' },
  returns: 'count',
  sql: `UPDATE privacy_requests SET subject_key = hashed.subject_key
    FROM unnest($ids, $keys) AS hashed (id, subject_key)
    WHERE privacy_requests.id = hashed.id AND privacy_requests.subject_key <> hashed.subject_key`,
})

// The clock rules of `rules.ts` as SQL over privacy_requests; the only SQL copy of these rules.

/** An answer is still due, and the clocks run. `row` is the prefix of the columns. */
const isOwed = (row = ''): string =>
  `${row}closed_at IS NULL AND ${row}paused_at IS NULL AND ${row}state <> 'partly_completed'`
/** Whether a confirmation of the request was withdrawn. */
const isDoubted =
  "EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = privacy_requests.id AND e.event = 'doubted')"
/** Like `nextDue`: the earlier deadline. */
export const nextDueSql = 'least(legal_due_at, due_at)'
/**
 * Sorts by the earlier deadline. Paused requests follow, by the remaining time, because a pause moves their deadlines. Requests without a
 * deadline are last, the newest first. The keys of both groups are dates after the years 5900 and 9000, which cursors can still contain.
 */
const dueOrderSql = `CASE WHEN closed_at IS NOT NULL OR state = 'partly_completed'
    THEN timestamptz '9000-01-01' + (timestamptz '2500-01-01' - received_at)
  WHEN paused_at IS NOT NULL THEN timestamptz '6000-01-01' + (${nextDueSql} - paused_at)
  ELSE ${nextDueSql} END`
/** Like `nearlyDueAt`: when less than a quarter of the time until a deadline remains. */
export const nearlyDueSql = `least(legal_due_at - (legal_due_at - received_at) / 4, due_at - interval '${ourTerm / 4} milliseconds')`
/** Whether an erasure that is done was completed in time. `part` and `row` are prefixes of the columns of the part and of its request. */
const isErasedInTime = (part: string, row: string): string =>
  `coalesce(${part}finished_at - greatest(${row}verified_at, coalesce(${row}waiting_until, ${row}verified_at)) <= interval '${ourTerm} milliseconds', false)`

const conditions = {
  state: 'state = $state::request_state',
  kind: '$kind = ANY(kinds)',
  channel: 'channel = $channel',
  assignee: 'assigned_to = $assignee',
  unassigned: 'assigned_to IS NULL',
  q: `(starts_with(id, $q) OR account_id = ANY($accounts) OR address_key = ANY($addresses)
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
  addresses: 'text[]',
  hold: 'text?',
  now: 'timestamptz',
} as const

/** Counts the matching requests up to `max`. */
export const countQueue = statement('privacy.count-queue', {
  takes: { ...filters, max: 'int4' },
  returns: { n: 'int4' },
  variants: [[], ...allConditions.map((one) => [one]), allConditions],
  sql: (given: readonly QueueCondition[]) =>
    `SELECT count(*)::int AS n FROM (SELECT FROM privacy_requests WHERE ${matches(given)} LIMIT $max) AS counted`,
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

/** Whether an admin or a manager worked on the request `r`: not one that was carried out automatically. */
const isStaffed = `EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = r.id AND e.by IN ('admin', 'manager'))`

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
export const countRequestsForAttention = statement('privacy.count-needing-attention', {
  takes: { now: 'timestamptz' },
  returns: { near: 'int4', overdue: 'int4', failed: 'int4', doubted: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*) FILTER (WHERE near < $now AND due >= $now)::int AS near, count(*) FILTER (WHERE due < $now)::int AS overdue,
      count(*) FILTER (WHERE has_failed)::int AS failed, count(*) FILTER (WHERE is_doubted)::int AS doubted
    FROM (SELECT EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = privacy_requests.id AND p.state = 'failed') AS has_failed,
        state = 'received' AND ${isDoubted} AS is_doubted,
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

/** The work of the clock, and which requests need it. */
const clockConditions = {
  erasure: "state = 'waiting' AND paused_at IS NULL AND waiting_until <= $now",
  copies: `closed_at IS NULL AND run_id IS NULL AND EXISTS (SELECT FROM privacy_request_parts p
    WHERE p.request_id = privacy_requests.id AND p.kind IN ('access', 'portability') AND p.state = 'failed'
      AND p.finished_at <= $now - interval '${copyTries.after} milliseconds'
      AND coalesce((p.outcome->>'tries')::int, 0) < ${copyTries.max})`,
  reminder: `state = 'waiting' AND paused_at IS NULL AND reminded_at IS NULL AND grace IN ('7d', '14d')
    AND waiting_until > $now AND waiting_until <= $now + interval '1 day'`,
  // Requests from the form wait for an admin until they are connected to an account, whose owner then confirms them. A request whose
  // confirmation was withdrawn waits for an admin too.
  expiry: `state = 'received' AND paused_at IS NULL AND legal_due_at <= $now AND (channel <> 'form' OR account_id IS NOT NULL)
    AND NOT ${isDoubted}`,
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

/**
 * The erasures of a person and their agents that wait or run: at most three, the person's own first, and the number of all. Read for
 * every page of the console: one indexed query.
 */
export const erasuresOfPerson = statement('privacy.erasures-ahead', {
  takes: { account: 'text' },
  returns: {
    id: 'text',
    agent: 'text?',
    is_running: 'bool',
    is_paused: 'bool',
    is_blocked: 'bool',
    from: 'timestamptz?',
    until: 'timestamptz?',
    is_mixed: 'bool',
    total: 'int4',
    waits_for_copy: 'bool',
  },
  isPrepared: true,
  sql: `SELECT r.id, coalesce(a.name, r.agent_id) AS agent, r.run_id IS NOT NULL AS is_running, r.paused_at IS NOT NULL AS is_paused,
      EXISTS (SELECT FROM privacy_request_events e WHERE e.request_id = r.id AND e.event = 'blocked') AS is_blocked,
      r.verified_at AS "from", r.waiting_until AS until, cardinality(r.kinds) > 1 AS is_mixed, count(*) OVER ()::int AS total,
      EXISTS (SELECT FROM privacy_request_parts p WHERE p.request_id = r.id AND p.outcome ? 'export_id'
        AND coalesce(p.outcome->>'copy', '') NOT IN ('fetched', 'gone')) AS waits_for_copy
    FROM privacy_requests r LEFT JOIN agent_names a ON a.id = r.agent_id
    WHERE r.id IN (
        SELECT id FROM privacy_requests WHERE account_id = $account
        UNION ALL SELECT q.id FROM agent_owners o JOIN privacy_requests q ON q.agent_id = o.id WHERE o.owner_id = $account)
      AND r.closed_at IS NULL AND 'erasure' = ANY(r.kinds)
      AND (r.state IN ('verified', 'waiting') OR r.run_id IS NOT NULL AND r.state IN ('running', 'verifying', 'failed'))
    ORDER BY r.agent_id IS NOT NULL, r.waiting_until, r.id LIMIT 3`,
})

/** Requests with an erasure of one of these accounts, of their agents, or of an agent whose id or name contains the text. */
export const requestsOfSubjects = statement('privacy.requests-of-subjects', {
  takes: { text: 'text', accounts: 'text[]', max: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT id FROM privacy_requests WHERE run_id IS NOT NULL AND (account_id = ANY($accounts)
      OR agent_id IN (SELECT a.id FROM agent_names a
        WHERE a.owner_id = ANY($accounts) OR strpos(a.id, $text) > 0 OR strpos(lower(a.name), lower($text)) > 0))
    ORDER BY received_at DESC LIMIT $max`,
})

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

/** Requests of a period, for the report; `open` and `late` are those at its end. `late`: past the legal deadline that they have now. */
export const requestsReported = statement('privacy.reported', {
  takes: { from: 'timestamptz', until: 'timestamptz' },
  returns: {
    received: 'int4',
    closed: 'int4',
    answered: 'int4',
    refused: 'int4',
    on_time: 'int4',
    median_days: 'float8?',
    longest_days: 'float8?',
    open: 'int4',
    late: 'int4',
    failed: 'int4',
  },
  sql: `SELECT count(*) FILTER (WHERE received_at >= $from)::int AS received, count(*) FILTER (WHERE is_closed)::int AS closed,
      count(*) FILTER (WHERE is_answered)::int AS answered, count(*) FILTER (WHERE is_closed AND state = 'rejected')::int AS refused,
      count(*) FILTER (WHERE is_answered AND closed_at <= legal_due_at)::int AS on_time,
      (percentile_cont(0.5) WITHIN GROUP (ORDER BY days) FILTER (WHERE is_answered AND is_staffed))::float8 AS median_days,
      (max(days) FILTER (WHERE is_answered AND is_staffed))::float8 AS longest_days,
      count(*) FILTER (WHERE is_open)::int AS open, count(*) FILTER (WHERE is_open AND legal_due_at < $until)::int AS late,
      (SELECT count(DISTINCT request_id)::int FROM privacy_request_events
        WHERE event IN ('failed', 'copy_failed') AND at >= $from AND at < $until) AS failed
    FROM (SELECT r.*, extract(epoch FROM closed_at - received_at) / 86400 AS days, ${isStaffed} AS is_staffed,
        coalesce(closed_at >= $from AND closed_at < $until, false) AS is_closed,
        coalesce(closed_at >= $from AND closed_at < $until, false) AND state <> 'cancelled' AS is_answered,
        closed_at IS NULL OR closed_at >= $until AS is_open
      FROM privacy_requests r WHERE received_at < $until AND (closed_at IS NULL OR closed_at >= $from)) AS known`,
})

/** Requests of a period by kind. A request with several kinds counts for each. */
export const kindsReported = statement('privacy.kinds-reported', {
  takes: { from: 'timestamptz', until: 'timestamptz' },
  returns: { kind: 'text', received: 'int4', done: 'int4', refused: 'int4' },
  sql: `SELECT p.kind, count(*) FILTER (WHERE q.received_at >= $from AND q.received_at < $until)::int AS received,
      count(*) FILTER (WHERE is_finished AND p.state IN ('done', 'partly_done'))::int AS done,
      count(*) FILTER (WHERE is_finished AND p.state = 'refused')::int AS refused
    FROM ${parts} CROSS JOIN LATERAL (SELECT coalesce(p.finished_at >= $from AND p.finished_at < $until, false) AS is_finished) AS f
    WHERE is_finished OR (q.received_at >= $from AND q.received_at < $until) GROUP BY p.kind`,
})
