import { type AuditValues, auditRows } from '#lib/domains/audit/log.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { newId, uuidsInSql } from '#lib/kernel/ids.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { erasedSubject, fullFrom, gains, type ReputationReason, roomFor } from './rules.ts'

/** Placeholders of the caller's statement, such as `$1`. */
interface Places {
  agent: string
  at: string
  subject: string
  gain: string
  reason: string
  entry: string
  full: string
  /** `uuidsInSql.value()`. */
  uuids: string
}

/** Scores and gains are hundredths; rounding removes errors of binary fractions. */
const exact = (sum: string): string => `round((${sum})::numeric, 4)::float8`
const dayOf = (at: string): string => `(${at}::timestamptz AT TIME ZONE 'UTC')::date`

/**
 * A CTE that writes one audit entry for each agent whose reputation changed: the reason and a count. It has no subject id: the ledger drops
 * it when the subject's author is erased, but the audit log is append-only.
 */
const auditChanges = (of: string, at: Pick<AuditValues, 'uuids' | 'at' | 'details'>): string =>
  auditRows(of, { ...at, action: "'update'", actorId: "'system:reputation'", resourceType: "'reputation'", ip: "''" })

/**
 * CTEs that award the row inserted by the CTE `stored`, for a statement that stores one unit in one round trip. `stored` returns
 * `quarantined`; quarantined units earn nothing yet. An agent that reached the daily cap is recognized from the snapshot without a lock.
 * Otherwise its row is locked before the check, so concurrent requests cannot exceed the cap. Not for votes.
 */
export const awardOne = ({ agent, at, subject, gain, reason, entry, full, uuids }: Places): string => `gained AS (
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

/** Values that {@link awardOne} needs besides the caller's: `gain`, `reason`, `entry`, `full` and `uuids`. */
export const awardValues = (reason: Exclude<ReputationReason, 'vote'>): [number, string, string, number, string] => [
  gains[reason],
  reason,
  newId('rep'),
  fullFrom(reason).all,
  uuidsInSql.value(),
]

const awardGains = `WITH entries AS (
    INSERT INTO reputation_ledger (id, agent_id, at, change, reason, subject_id)
    SELECT a.entry, $1::text, $2::timestamptz, $3::float8, $4::text, a.id
    FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS a(id, entry, n)
    WHERE NOT EXISTS (SELECT FROM reputation_ledger l WHERE l.subject_id = a.id AND l.agent_id = $1::text AND l.reason = $4::text)
    ORDER BY a.n LIMIT $7::int
    RETURNING change),
  given AS (SELECT count(*)::int AS n, coalesce(sum(change), 0) AS gained FROM entries),
  changed AS (SELECT $1::text AS id, n FROM given WHERE n > 0),
  ${auditChanges('changed', { uuids: '$9', at: '$2', details: `jsonb_build_object('reason', $4::text, 'gains', changed.n)` })}
  UPDATE reputation r SET score = ${exact('r.score + gained')}, gained_today = ${exact('r.gained_today + gained')},
    voted_today = ${exact('r.voted_today + CASE WHEN $8::boolean THEN gained ELSE 0 END')}
  FROM given WHERE r.agent_id = $1::text RETURNING given.n`

/** A statement that revokes the ledger rows deleted by the CTE `gone` and lowers the scores accordingly. */
const takeBack = (
  gone: string,
  { at, uuids, reason }: { at: string; uuids: string; reason: string },
): string => `WITH gone AS (${gone}),
  lost AS (SELECT agent_id AS id, sum(change) AS change, count(*)::int AS n FROM gone GROUP BY agent_id),
  ${auditChanges('lost', { uuids, at, details: `jsonb_build_object('reason', '${reason}', 'withdrawn', lost.n)` })},
  lowered AS (UPDATE reputation r SET score = ${exact('r.score - lost.change')} FROM lost WHERE r.agent_id = lost.id)
  SELECT count(*)::int AS n FROM gone`
const takeBackSubjects = takeBack(
  'DELETE FROM reputation_ledger WHERE subject_id = ANY($1::text[]) RETURNING agent_id, change',
  { at: '$2', uuids: '$3', reason: 'erased' },
)
const takeBackVotes = takeBack(
  `DELETE FROM reputation_ledger l USING unnest($1::text[], $2::text[]) AS v(subject, agent)
    WHERE l.subject_id = v.subject AND l.agent_id = v.agent AND l.reason = 'vote' RETURNING l.agent_id, l.change`,
  { at: '$3', uuids: '$4', reason: 'vote' },
)

/**
 * Awards one gain per subject, in order, until the daily cap is reached; a subject is awarded once per reason. Do not call it for
 * quarantined or imported records. The agent's row stays locked until the transaction ends, so call it last. Returns the number of gains.
 */
export async function award(
  tx: Transaction,
  agentId: string,
  reason: ReputationReason,
  subjectIds: readonly string[],
  now: Date,
): Promise<number> {
  const subjects = [...new Set(subjectIds)]
  if (subjects.length === 0) return 0
  const full = fullFrom(reason)
  const [day] = await tx.$queryRaw<{ all: number; votes: number }[]>`
    INSERT INTO reputation AS r (agent_id, score, day, gained_today, voted_today)
    SELECT ${agentId}, 0, (${now}::timestamptz AT TIME ZONE 'UTC')::date, 0, 0
    WHERE NOT EXISTS (SELECT FROM reputation p WHERE p.agent_id = ${agentId} AND p.day >= (${now}::timestamptz AT TIME ZONE 'UTC')::date
      AND (p.gained_today > ${full.all}::float8 OR p.voted_today > ${full.votes}::float8))
    ON CONFLICT (agent_id) DO UPDATE SET
      gained_today = CASE WHEN r.day >= excluded.day THEN r.gained_today ELSE 0 END,
      voted_today = CASE WHEN r.day >= excluded.day THEN r.voted_today ELSE 0 END,
      day = greatest(r.day, excluded.day)
    RETURNING gained_today AS "all", voted_today AS votes`
  const room = day ? roomFor(reason, day) : 0
  if (room === 0) return 0
  const [given] = await queryWithin<{ n: number }>(tx, 'award-gains', awardGains, [
    agentId,
    now,
    gains[reason],
    reason,
    subjects,
    subjects.map(() => newId('rep')),
    room,
    reason === 'vote',
    uuidsInSql.value(),
  ])
  return given?.n ?? 0
}

/**
 * Revokes all reputation gained by erased units or skills: deletes the ledger rows and lowers the scores. Revoked gains cannot be earned
 * again on the same day. Returns the number of deleted rows.
 */
export async function withdraw(tx: Transaction, subjectIds: readonly string[], now: Date): Promise<number> {
  const ids = [...subjectIds]
  // Lock in the order of ids to avoid deadlocks.
  await tx.$queryRaw`SELECT 1 FROM reputation WHERE agent_id IN (SELECT agent_id FROM reputation_ledger WHERE subject_id = ANY(${ids}::text[]))
    ORDER BY agent_id FOR UPDATE`
  const [row] = await queryWithin<{ n: number }>(tx, 'withdraw-gains', takeBackSubjects, [ids, now, uuidsInSql.value()])
  return row?.n ?? 0
}

/**
 * Keeps what other agents gained by records of an erased author: their ledger rows remain without naming the record. Deletes the gains of
 * the given agents themselves. Needs no lock on reputations, because no remaining score changes.
 */
export async function storeGains(
  tx: Transaction,
  subjectIds: readonly string[],
  agents: readonly string[],
): Promise<void> {
  await queryWithin(
    tx,
    'forget-gains',
    'DELETE FROM reputation_ledger WHERE subject_id = ANY($1::text[]) AND agent_id = ANY($2::text[])',
    [subjectIds, agents],
  )
  await queryWithin(
    tx,
    'keep-gains',
    'UPDATE reputation_ledger SET subject_id = $2 WHERE subject_id = ANY($1::text[])',
    [subjectIds, erasedSubject],
  )
}

/** Revokes what agents gained by votes that no longer count. */
export async function withdrawVotes(
  tx: Transaction,
  votes: readonly { subjectId: string; agentId: string }[],
  now: Date,
): Promise<void> {
  if (votes.length === 0) return
  const [subjects, agents] = [votes.map(({ subjectId }) => subjectId), votes.map(({ agentId }) => agentId)]
  await tx.$queryRaw`SELECT 1 FROM reputation WHERE agent_id = ANY(${agents}::text[]) ORDER BY agent_id FOR UPDATE`
  await queryWithin(tx, 'withdraw-votes', takeBackVotes, [subjects, agents, now, uuidsInSql.value()])
}
