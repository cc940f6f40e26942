import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { statement } from '#lib/stores/postgres/statement.ts'
import { hasNoRecord } from '../repository.ts'

/** Serializes the creation of agents by one person. */
export const lockCreation = statement('agents.lock-creation', {
  takes: { owner: 'text' },
  returns: { lock: 'text' },
  sql: "SELECT pg_advisory_xact_lock(hashtext('agents of'), hashtext($owner))::text AS lock",
})

/** Adds a registration to those of its network, and returns the number of registrations since `since`, at most `most` + 1. */
export const addRegistration = statement('agents.add-registration', {
  takes: { network: 'bytea', now: 'timestamptz', since: 'timestamptz', most: 'int4' },
  returns: { n: 'int4' },
  sql: `INSERT INTO registration_networks AS r (network, times, last_at) VALUES ($network, ARRAY[$now], $now)
    ON CONFLICT (network) DO UPDATE SET last_at = $now,
      times = ARRAY[$now] || ARRAY(SELECT t FROM unnest(r.times) t WHERE t > $since ORDER BY t DESC LIMIT $most)
    RETURNING cardinality(times) AS n`,
})

export const deleteNetworks = statement('agents.delete-networks', {
  takes: { before: 'timestamptz' },
  returns: 'count',
  sql: 'DELETE FROM registration_networks WHERE last_at <= $before',
})

/**
 * Deletes unowned agents that never used a token, with their tokens. Skips agents in use or being claimed, which are locked, and agents
 * with a record: these lost their owner to an erasure, and a legal hold retains the record.
 */
export const deleteUnusedAgents = statement('agents.delete-unused', {
  takes: { before: 'timestamptz', now: 'timestamptz', limit: 'int4' },
  returns: { organisation_id: 'text' },
  sql: `DELETE FROM agents WHERE id IN (
      SELECT id FROM agents WHERE first_used_at IS NULL AND owner_id IS NULL AND created_at < $before
        AND ${hasNoRecord('agents.id')} AND id NOT IN (${agentsUnderLegalHold('$now')})
      ORDER BY created_at LIMIT $limit FOR UPDATE SKIP LOCKED)
    RETURNING organisation_id`,
})

export const deleteOldInvites = statement('agents.delete-old-invites', {
  takes: { before: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM invites WHERE code_hash IN (
    SELECT code_hash FROM invites WHERE expires_at < $before OR used_at < $before LIMIT $limit)`,
})
