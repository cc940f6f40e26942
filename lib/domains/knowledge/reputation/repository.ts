import { type AuditValues, auditRows } from '#lib/domains/audit/log.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { erasedSubject, type ReputationReason } from './rules.ts'

/** Totals stop counting at this number. */
const countedTo = 1_001

/** Scores and gains are hundredths; rounding removes errors of binary fractions. */
const exact = (sum: string): string => `round((${sum})::numeric, 4)::float8`
const dayOf = (at: string): string => `(${at}::timestamptz AT TIME ZONE 'UTC')::date`

/**
 * A CTE that writes one audit entry for each agent whose reputation changed: the reason and a count. It has no subject id: the ledger drops
 * it when the subject's author is erased, but the audit log is append-only.
 */
const auditChanges = (of: string, at: Pick<AuditValues, 'uuids' | 'at' | 'details'>): string =>
  auditRows(of, { ...at, action: "'update'", actorId: "'system:reputation'", resourceType: "'reputation'", ip: "''" })

/** Placeholders of the statement that {@link awardOne} extends, such as `$1`. */
interface AwardPlaceholders {
  agent: string
  at: string
  subject: string
  gain: string
  reason: string
  entry: string
  full: string
  /** New UUIDs, from `uuidsInSql.value()`. */
  uuids: string
}

/**
 * CTEs that award the row inserted by the CTE `stored`, for a statement that stores one unit in one round trip. `stored` returns
 * `quarantined`; quarantined units earn nothing yet. An agent that reached the daily cap is recognized from the snapshot without a lock.
 * Otherwise its row is locked before the check, so concurrent requests cannot exceed the cap. Not for votes.
 */
export const awardOne = ({ agent, at, subject, gain, reason, entry, full, uuids }: AwardPlaceholders): string =>
  `gained AS (
  INSERT INTO reputation AS r (agent_id, score, day, gained_today, voted_today)
  SELECT ${agent}, ${gain}::float8, ${dayOf(at)}, ${gain}::float8, 0 FROM stored
  WHERE NOT stored.quarantined AND NOT EXISTS (
    SELECT FROM reputation p WHERE p.agent_id = ${agent} AND p.day >= ${dayOf(at)} AND p.gained_today > ${full}::float8)
  ON CONFLICT (agent_id) DO UPDATE SET score = ${exact('r.score + excluded.score')},
    gained_today = CASE WHEN r.day >= excluded.day THEN ${exact('r.gained_today + excluded.score')} ELSE excluded.score END,
    voted_today = CASE WHEN r.day >= excluded.day THEN r.voted_today ELSE 0 END,
    day = greatest(r.day, excluded.day)
  WHERE r.day < excluded.day OR r.gained_today <= ${full}::float8
  RETURNING agent_id, agent_id AS id),
ledger AS (
  INSERT INTO reputation_ledger (id, agent_id, at, change, reason, subject_id)
  SELECT ${entry}::text, agent_id, ${at}::timestamptz, ${gain}::float8, ${reason}::text, ${subject} FROM gained),
${auditChanges('gained', { uuids, at, details: `jsonb_build_object('reason', ${reason}::text, 'gains', 1)` })}`

/**
 * Locks the agent's reputation, starts its day if necessary, and returns the points gained that day. Returns no row for an agent that
 * already exceeds one of the limits.
 */
export const lockReputationDay = statement('knowledge.lock-reputation-day', {
  takes: { agent: 'text', now: 'timestamptz', fullAll: 'float8', fullVotes: 'float8' },
  returns: { all: 'float8', votes: 'float8' },
  sql: `INSERT INTO reputation AS r (agent_id, score, day, gained_today, voted_today)
    SELECT $agent, 0, ${dayOf('$now')}, 0, 0
    WHERE NOT EXISTS (SELECT FROM reputation p WHERE p.agent_id = $agent AND p.day >= ${dayOf('$now')}
      AND (p.gained_today > $fullAll OR p.voted_today > $fullVotes))
    ON CONFLICT (agent_id) DO UPDATE SET
      gained_today = CASE WHEN r.day >= excluded.day THEN r.gained_today ELSE 0 END,
      voted_today = CASE WHEN r.day >= excluded.day THEN r.voted_today ELSE 0 END,
      day = greatest(r.day, excluded.day)
    RETURNING gained_today AS "all", voted_today AS votes`,
})

/** Adds at most `room` gains for subjects that were not awarded for this reason yet, and returns their number. */
export const awardGains = statement('knowledge.award-gains', {
  takes: {
    agent: 'text',
    now: 'timestamptz',
    gain: 'float8',
    reason: 'text',
    subjects: 'text[]',
    entries: 'text[]',
    room: 'int4',
    isVote: 'bool',
    uuids: 'text',
  },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `WITH entries AS (
      INSERT INTO reputation_ledger (id, agent_id, at, change, reason, subject_id)
      SELECT a.entry, $agent, $now, $gain, $reason, a.id
      FROM unnest($subjects, $entries) WITH ORDINALITY AS a(id, entry, n)
      WHERE NOT EXISTS (SELECT FROM reputation_ledger l WHERE l.subject_id = a.id AND l.agent_id = $agent AND l.reason = $reason)
      ORDER BY a.n LIMIT $room
      RETURNING change),
    given AS (SELECT count(*)::int AS n, coalesce(sum(change), 0) AS gained FROM entries),
    changed AS (SELECT $agent AS id, n FROM given WHERE n > 0),
    ${auditChanges('changed', { uuids: '$uuids', at: '$now', details: "jsonb_build_object('reason', $reason, 'gains', changed.n)" })}
    UPDATE reputation r SET score = ${exact('r.score + gained')}, gained_today = ${exact('r.gained_today + gained')},
      voted_today = ${exact('r.voted_today + CASE WHEN $isVote THEN gained ELSE 0 END')}
    FROM given WHERE r.agent_id = $agent RETURNING given.n`,
})

/** Locks in the order of ids to avoid deadlocks. */
export const lockReputationsBySubject = statement('knowledge.lock-reputations-by-subject', {
  takes: { subjects: 'text[]' },
  returns: 'count',
  sql: `SELECT FROM reputation WHERE agent_id IN (SELECT agent_id FROM reputation_ledger WHERE subject_id = ANY($subjects))
    ORDER BY agent_id FOR UPDATE`,
})
/** Locks in the order of ids to avoid deadlocks. */
export const lockReputations = statement('knowledge.lock-reputations', {
  takes: { agents: 'text[]' },
  returns: 'count',
  sql: 'SELECT FROM reputation WHERE agent_id = ANY($agents) ORDER BY agent_id FOR UPDATE',
})

/** SQL that revokes the ledger rows deleted by the CTE `gone` and lowers the scores accordingly. */
const withdrawal = (deleted: string, reason: string): string => `WITH gone AS (${deleted}),
  lost AS (SELECT agent_id AS id, sum(change) AS change, count(*)::int AS n FROM gone GROUP BY agent_id),
  ${auditChanges('lost', { uuids: '$uuids', at: '$now', details: `jsonb_build_object('reason', '${reason}', 'withdrawn', lost.n)` })},
  lowered AS (UPDATE reputation r SET score = ${exact('r.score - lost.change')} FROM lost WHERE r.agent_id = lost.id)
  SELECT count(*)::int AS n FROM gone`

/** Revokes all gains for the subjects. Returns the number of ledger rows. */
export const withdrawGains = statement('knowledge.withdraw-gains', {
  takes: { subjects: 'text[]', now: 'timestamptz', uuids: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: withdrawal(
    'DELETE FROM reputation_ledger WHERE subject_id = ANY($subjects) RETURNING agent_id, change',
    'erased',
  ),
})

/** Revokes the gain of each agent for its vote on the subject at the same position. Returns the number of ledger rows. */
export const withdrawVoteGains = statement('knowledge.withdraw-vote-gains', {
  takes: { subjects: 'text[]', agents: 'text[]', now: 'timestamptz', uuids: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: withdrawal(
    `DELETE FROM reputation_ledger l USING unnest($subjects, $agents) AS v(subject, agent)
      WHERE l.subject_id = v.subject AND l.agent_id = v.agent AND l.reason = 'vote' RETURNING l.agent_id, l.change`,
    'vote',
  ),
})

/** Deletes what the agents gained by the subjects. Scores do not change. */
export const deleteGains = statement('knowledge.delete-gains', {
  takes: { subjects: 'text[]', agents: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM reputation_ledger WHERE subject_id = ANY($subjects) AND agent_id = ANY($agents)',
})
/** Removes the ids of erased subjects from the ledger. */
export const anonymizeGains = statement('knowledge.anonymize-gains', {
  takes: { subjects: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE reputation_ledger SET subject_id = '${erasedSubject}' WHERE subject_id = ANY($subjects)`,
})

export const reputationOf = statement('knowledge.reputation-of', {
  takes: { agent: 'text' },
  returns: { score: 'float8', is_restricted: 'bool' },
  isPrepared: true,
  sql: `SELECT coalesce(r.score, 0) AS score, EXISTS (SELECT FROM restricted_agents x WHERE x.id = a.id) AS is_restricted
    FROM agent_owners a LEFT JOIN reputation r ON r.agent_id = a.id WHERE a.id = $agent`,
})
/** Ledger entries, newest first, that follow the entry with the given time and id, if any. */
export const ledgerPage = statement('knowledge.ledger-page', {
  takes: { agent: 'text', at: 'timestamptz?', id: 'text?', offset: 'int4', limit: 'int4' },
  returns: {
    id: 'text',
    at: 'timestamptz',
    change: 'float8',
    subject_id: 'text',
    reason: typed<ReputationReason>('text'),
  },
  isPrepared: true,
  sql: `SELECT id, at, change, reason, subject_id FROM reputation_ledger
    WHERE agent_id = $agent AND ($at IS NULL OR (at, id) < ($at, $id)) ORDER BY at DESC, id DESC OFFSET $offset LIMIT $limit`,
})
export const countLedger = statement('knowledge.count-ledger', {
  takes: { agent: 'text' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (SELECT FROM reputation_ledger WHERE agent_id = $agent LIMIT ${countedTo}) AS counted`,
})

const unrestricted = 'NOT EXISTS (SELECT FROM restricted_agents x WHERE x.id = r.agent_id)'
/** Leaders that follow the given score and agent, if any, in the order of the index: highest score first, equal scores by agent id. */
export const leadersPage = statement('knowledge.leaders-page', {
  takes: { score: 'float8?', agent: 'text?', offset: 'int4', limit: 'int4' },
  returns: { agent_id: 'text', score: 'float8' },
  isPrepared: true,
  sql: `SELECT r.agent_id, r.score FROM reputation r
    WHERE r.score > 0 AND ($score IS NULL OR (r.score <= $score AND (r.score < $score OR r.agent_id > $agent))) AND ${unrestricted}
    ORDER BY r.score DESC, r.agent_id OFFSET $offset LIMIT $limit`,
})
/** Number of agents listed before this one, and how many of them have a higher score. */
export const countLeadersBefore = statement('knowledge.count-leaders-before', {
  takes: { score: 'float8', agent: 'text' },
  returns: { before: 'int4', above: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS before, (count(*) FILTER (WHERE r.score > $score))::int AS above FROM reputation r
    WHERE r.score >= $score AND (r.score > $score OR r.agent_id < $agent) AND ${unrestricted}`,
})
export const countLeaders = statement('knowledge.count-leaders', {
  takes: {},
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int AS n FROM (
    SELECT FROM reputation r WHERE r.score > 0 AND ${unrestricted} ORDER BY r.score DESC, r.agent_id LIMIT ${countedTo}) AS counted`,
})

/** Prefix of items that denote the total of an agent; ids of ledger rows contain no colon. */
export const totalPrefix = 'agent:'

export const reputationHolding = statement('knowledge.reputation-holding', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT (count(*) + (SELECT count(*) FROM reputation WHERE agent_id = ANY($agents)))::int AS n, min(at) AS since
    FROM reputation_ledger WHERE agent_id = ANY($agents)`,
})
/** Ids of ledger rows, and the agents of totals with {@link totalPrefix}. */
export const planReputation = statement('knowledge.plan-reputation', {
  takes: { agents: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT id FROM reputation_ledger WHERE agent_id = ANY($agents)
    UNION ALL SELECT '${totalPrefix}' || agent_id FROM reputation WHERE agent_id = ANY($agents)`,
})
export const eraseLedger = statement('knowledge.erase-ledger', {
  takes: { items: 'text[]', agents: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: 'DELETE FROM reputation_ledger WHERE id = ANY($items) AND agent_id = ANY($agents)',
})
export const countReputation = statement('knowledge.count-reputation', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT ((SELECT count(*) FROM reputation_ledger WHERE agent_id = ANY($agents))
    + (SELECT count(*) FROM reputation WHERE agent_id = ANY($agents)))::int AS n`,
})
