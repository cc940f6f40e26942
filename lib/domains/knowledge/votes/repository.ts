import type { Unit } from '#lib/domains/knowledge/contract.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'
import { ownerKeySql, visibleTo } from '../repository.ts'
import { isHeardSql, voteIdentitySql } from './vote-identity.ts'

/**
 * The unit that the voter sees, locked so that its votes are counted one after another. Also locks the agents of author and voter, so that
 * neither is claimed before the vote is stored.
 */
export const lockUnitForVote = statement('knowledge.lock-unit-for-vote', {
  takes: { id: 'text', voter: 'text', agents: 'text[]', organisation: 'text?', admin: 'bool' },
  returns: {
    attributed_to: 'text?',
    original_author: 'text?',
    quality_score: 'float8',
    author_key: 'text',
    voter_key: 'text',
  },
  sql: `SELECT u.attributed_to, u.original_author, u.quality_score,
      (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = u.agent_id FOR KEY SHARE) AS author_key,
      (SELECT ${ownerKeySql('a')} FROM agent_owners a WHERE a.id = $voter FOR KEY SHARE) AS voter_key
    FROM units u WHERE u.id = $id AND ${visibleTo('$agents', '$organisation', '$admin')} FOR NO KEY UPDATE OF u`,
})

/** Stores a vote that does not count yet. Returns 0 if the owner already voted on the unit. */
export const insertVote = statement('knowledge.insert-vote', {
  takes: {
    unit: 'text',
    voter: 'text',
    owner: 'text',
    valid: 'bool',
    feedback: 'text?',
    network: 'bytea?',
    now: 'timestamptz',
  },
  returns: 'count',
  sql: `INSERT INTO unit_votes (unit_id, voter_id, owner_key, valid, weight, feedback, network, at)
    VALUES ($unit, $voter, $owner, $valid, 0, $feedback, $network, $now) ON CONFLICT DO NOTHING`,
})

const [voteIdentity, counted] = [voteIdentitySql('v', 'v.voter_id', 'a'), voteIdentitySql('k', 'k.voter_id', 'b')]
/**
 * Uncounted votes `v` of agents `a` that count by now ($oldEnough is `bornBefore`), unless the same voice already counted on the unit. Votes
 * of erased agents are excluded.
 */
const due = `unit_votes v JOIN agent_owners a ON a.id = v.voter_id
  WHERE v.weight = 0 AND ${isHeardSql('v.voter_id', 'a', '$oldEnough')} AND NOT EXISTS (
    SELECT FROM unit_votes k LEFT JOIN agent_owners b ON b.id = k.voter_id
    WHERE k.unit_id = v.unit_id AND k.weight > 0 AND ${counted} = ${voteIdentity})`

/** The first due vote of each voice on the unit, with the reputation of the voter. */
export const dueVotesOfUnit = statement('knowledge.due-votes-of-unit', {
  takes: { oldEnough: 'timestamptz', unit: 'text' },
  returns: { voter_id: 'text', owner_key: 'text', valid: 'bool', reputation: 'float8' },
  sql: `SELECT DISTINCT ON (${voteIdentity}) v.voter_id, v.owner_key, v.valid,
      coalesce((SELECT score FROM reputation r WHERE r.agent_id = v.voter_id), 0) AS reputation
    FROM ${due} AND v.unit_id = $unit ORDER BY ${voteIdentity}, v.at, v.owner_key`,
})
/** The next units with due votes, in the order of their ids. */
export const unitsWithDueVotes = statement('knowledge.units-with-due-votes', {
  takes: { oldEnough: 'timestamptz', after: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT v.unit_id AS id FROM ${due} AND v.unit_id > $after ORDER BY 1 LIMIT 200`,
})

/** Changes the sums of votes. Returns them with what the quality of the unit depends on. */
export const addToVoteSums = statement('knowledge.add-to-vote-sums', {
  takes: { id: 'text', for: 'float8', against: 'float8' },
  returns: { document: typed<Unit>('jsonb'), novelty: 'float8?', for: 'float8', against: 'float8' },
  sql: `UPDATE units SET votes_for = round(greatest(0, votes_for + $for)::numeric, 4)::float8,
      votes_against = round(greatest(0, votes_against + $against)::numeric, 4)::float8
    WHERE id = $id RETURNING document, novelty, votes_for AS "for", votes_against AS against`,
})
export const setQuality = statement('knowledge.set-quality', {
  takes: { id: 'text', quality: 'float8' },
  returns: 'count',
  sql: 'UPDATE units SET quality_score = $quality WHERE id = $id',
})
/** Resets what depended on the former text of the unit. */
export const resetQuality = statement('knowledge.reset-quality', {
  takes: { id: 'text', quality: 'float8' },
  returns: 'count',
  sql: 'UPDATE units SET votes_for = 0, votes_against = 0, novelty = NULL, quality_score = $quality WHERE id = $id',
})
/** Sets the weight of each owner's vote on the unit. */
export const setVoteWeights = statement('knowledge.set-vote-weights', {
  takes: { unit: 'text', owners: 'text[]', weights: 'float8[]' },
  returns: 'count',
  sql: `UPDATE unit_votes v SET weight = w.weight FROM unnest($owners, $weights) AS w(owner_key, weight)
    WHERE v.unit_id = $unit AND v.owner_key = w.owner_key`,
})
export const lockWaitingVoters = statement('knowledge.lock-waiting-voters', {
  takes: { unit: 'text' },
  returns: 'count',
  sql: `SELECT FROM agent_owners a WHERE a.id IN (SELECT voter_id FROM unit_votes WHERE unit_id = $unit AND weight = 0)
    ORDER BY a.id FOR KEY SHARE`,
})
export const lockVotedUnit = statement('knowledge.lock-voted-unit', {
  takes: { id: 'text' },
  returns: 'count',
  sql: 'SELECT FROM units WHERE id = $id FOR NO KEY UPDATE',
})

/** Serializes the claims of one person, so that the second finds the votes of the first. */
export const lockClaims = statement('knowledge.lock-claims', {
  takes: { account: 'text' },
  returns: 'count',
  sql: "SELECT pg_advisory_xact_lock(hashtextextended('claims:' || $account, 0))",
})
/**
 * Locks the units that the agent voted on, and its own units that the owner voted on, with the lock that votes use, so that no vote is added
 * meanwhile.
 */
export const lockUnitsOfClaim = statement('knowledge.lock-units-of-claim', {
  takes: { agent: 'text', owner: 'text' },
  returns: 'count',
  sql: `SELECT FROM units WHERE id IN (
      SELECT unit_id FROM unit_votes WHERE voter_id = $agent
      UNION SELECT v.unit_id FROM units own JOIN unit_votes v ON v.unit_id = own.id AND v.owner_key = $owner WHERE own.agent_id = $agent)
    ORDER BY id FOR NO KEY UPDATE`,
})
/**
 * Deletes votes that the owner could not have cast: between two of their agents, and the later of two on one unit. Votes of the claimed
 * agent have its id as their key; votes of the owner's other agents have `owner`, which is `user:<account>`.
 */
export const deleteVotesOfClaim = statement('knowledge.delete-votes-of-claim', {
  takes: { agent: 'text', owner: 'text', account: 'text' },
  returns: { unit_id: 'text', voter_id: 'text', valid: 'bool', weight: 'float8' },
  sql: `DELETE FROM unit_votes d USING (
      SELECT v.unit_id, v.owner_key FROM unit_votes v JOIN units u ON u.id = v.unit_id WHERE v.voter_id = $agent AND v.owner_key = $agent
        AND (EXISTS (SELECT FROM agent_owners o WHERE o.id = u.agent_id AND o.owner_id = $account)
          OR EXISTS (SELECT FROM unit_votes k WHERE k.unit_id = v.unit_id AND k.owner_key = $owner AND k.at <= v.at))
      UNION SELECT k.unit_id, k.owner_key FROM unit_votes v JOIN unit_votes k ON k.unit_id = v.unit_id AND k.owner_key = $owner AND k.at > v.at
        WHERE v.voter_id = $agent AND v.owner_key = $agent
      UNION SELECT k.unit_id, k.owner_key FROM units own JOIN unit_votes k ON k.unit_id = own.id AND k.owner_key = $owner WHERE own.agent_id = $agent
    ) AS g WHERE d.unit_id = g.unit_id AND d.owner_key = g.owner_key
    RETURNING d.unit_id, d.voter_id, d.valid, d.weight`,
})

const tables = {
  vote: { table: 'unit_votes', actor: 'voter_id' },
  report: { table: 'unit_reports', actor: 'reporter_id' },
} as const
export type FeedbackKind = keyof typeof tables
const variants = ['vote', 'report'] as const
/**
 * Rows that only the key of a person identifies, because the agent was deleted. Rows of an existing agent outside of the scope, which a
 * legal hold retains, stay.
 */
const orphaned = (kind: FeedbackKind): string =>
  `t.owner_key = ANY($keys) AND NOT EXISTS (SELECT FROM agent_owners a WHERE a.id = t.${tables[kind].actor})`

export const feedbackHolding = statement('knowledge.feedback-holding', {
  takes: { actors: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  variants,
  sql: (kind: FeedbackKind) =>
    `SELECT count(*)::int AS n, min(t.at) AS since FROM ${tables[kind].table} t WHERE t.${tables[kind].actor} = ANY($actors)`,
})
/** The units that the actors or the owners with these keys voted on or reported. */
export const unitsWithFeedback = statement('knowledge.units-with-feedback', {
  takes: { actors: 'text[]', keys: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  variants,
  sql: (kind: FeedbackKind) =>
    `SELECT t.unit_id AS id FROM ${tables[kind].table} t WHERE t.${tables[kind].actor} = ANY($actors)
     UNION SELECT t.unit_id FROM ${tables[kind].table} t WHERE ${orphaned(kind)}`,
})
export const eraseFeedback = statement('knowledge.erase-feedback', {
  takes: { actors: 'text[]', keys: 'text[]', units: 'text[]' },
  returns: 'count',
  isPrepared: true,
  variants,
  sql: (kind: FeedbackKind) => `DELETE FROM ${tables[kind].table} t WHERE t.unit_id = ANY($units)
    AND (t.${tables[kind].actor} = ANY($actors) OR ${orphaned(kind)})`,
})
/** Searches by actor and by owner, regardless of the unit. `keys` includes the actors. */
export const countFeedback = statement('knowledge.count-feedback', {
  takes: { actors: 'text[]', keys: 'text[]' },
  returns: { n: 'int4' },
  variants,
  sql: (kind: FeedbackKind) => {
    const { table, actor } = tables[kind]
    return `SELECT ((SELECT count(*) FROM ${table} t WHERE t.${actor} = ANY($actors))
      + (SELECT count(*) FROM ${table} t WHERE (t.owner_key = ANY($actors) AND t.${actor} = ANY($actors)) OR (${orphaned(kind)})))::int AS n`
  },
})
