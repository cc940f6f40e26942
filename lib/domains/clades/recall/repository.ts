import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { statement } from '#lib/stores/postgres/statement.ts'

/** Active shares of these agents, and active shares with these ids. */
export const activeShares = statement('clades.active-shares', {
  takes: { agents: 'text[]', ids: 'text[]' },
  returns: { id: 'text', clade_id: 'text' },
  isPrepared: true,
  sql: 'SELECT id, clade_id FROM clade_shares WHERE recalled_at IS NULL AND (agent_id = ANY($agents) OR id = ANY($ids))',
})

/** Recalls shares and the shares that siblings derived from them. Destroys their payloads, except those under a legal hold. */
export const markRecalled = statement('clades.mark-recalled', {
  takes: { ids: 'text[]', now: 'timestamptz' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `WITH RECURSIVE recalled AS (
      SELECT unnest($ids) AS id UNION SELECT s.id FROM clade_shares s JOIN recalled r ON s.parents @> ARRAY[r.id])
    UPDATE clade_shares s SET recalled_at = $now,
      sealed = CASE WHEN s.agent_id IN (${agentsUnderLegalHold('$now')}) THEN s.sealed END
    FROM recalled WHERE s.id = recalled.id AND s.recalled_at IS NULL RETURNING s.id`,
})

/** Destroys the payloads of recalled shares whose legal hold has ended. */
export const destroyRecalledPayloads = statement('clades.destroy-recalled-payloads', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `UPDATE clade_shares SET sealed = NULL WHERE id IN (
    SELECT id FROM clade_shares WHERE recalled_at IS NOT NULL AND sealed IS NOT NULL
      AND agent_id NOT IN (${agentsUnderLegalHold('$now')}) LIMIT $limit FOR UPDATE SKIP LOCKED)`,
})

/** Deletes the deltas or cards of one retired agent, or of all. Data under a legal hold remains. */
export const deleteOfRetired = statement('clades.delete-of-retired', {
  takes: { agent: 'text?', now: 'timestamptz' },
  returns: 'count',
  variants: ['clade_deltas', 'performance_cards'],
  sql: (table: 'clade_deltas' | 'performance_cards') =>
    `DELETE FROM ${table} WHERE agent_id IN (SELECT id FROM agent_states
      WHERE CASE WHEN $agent IS NULL THEN status = 'dead' ELSE id = $agent END AND id NOT IN (${agentsUnderLegalHold('$now')}))`,
})

/** Deletes the unfetched deltas of shares. */
export const withdrawDeltas = statement('clades.withdraw', {
  takes: { shares: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: "DELETE FROM clade_deltas WHERE share_id = ANY($shares) AND delivered_at IS NULL AND state IN ('pending', 'expired')",
})

/** Turns fetched deltas into orders to remove the share, with a new highest number. */
export const recallDeltas = statement('clades.recall-deltas', {
  takes: { shares: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE clade_deltas SET state = 'recalling', seq = nextval(pg_get_serial_sequence('clade_deltas', 'seq'))
    WHERE share_id = ANY($shares) AND state IN ('pending', 'delivered', 'expired')`,
})

export const expireDeltas = statement('clades.expire-deltas', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `UPDATE clade_deltas SET state = 'expired' WHERE seq IN (
    SELECT seq FROM clade_deltas WHERE state = 'pending' AND delivered_at IS NULL AND expires_at <= $now LIMIT $limit FOR UPDATE SKIP LOCKED)`,
})

/** Active shares of restricted or retired agents. */
export const sharesOfRestricted = statement('clades.shares-of-restricted', {
  takes: { limit: 'int4' },
  returns: { id: 'text' },
  sql: `SELECT s.id FROM clade_shares s JOIN agent_states a ON a.id = s.agent_id
    WHERE s.recalled_at IS NULL AND (a.restricted_at IS NOT NULL OR a.status = 'dead') ORDER BY s.id LIMIT $limit`,
})

/** Deletes deltas that were recalled, or expired unfetched, before `before`, and those without a share. */
export const deleteEndedDeltas = statement('clades.delete-ended-deltas', {
  takes: { before: 'timestamptz', now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM clade_deltas WHERE seq IN (SELECT d.seq FROM clade_deltas d LEFT JOIN clade_shares s ON s.id = d.share_id
    WHERE ((d.state = 'recalled' AND d.acknowledged_at <= $before) OR (d.state = 'expired' AND d.delivered_at IS NULL AND d.expires_at <= $before)
        OR (s.id IS NULL AND d.state IN ('recalled', 'expired')))
      AND d.agent_id NOT IN (${agentsUnderLegalHold('$now')}) AND coalesce(s.agent_id, '') NOT IN (${agentsUnderLegalHold('$now')})
    LIMIT $limit FOR UPDATE OF d SKIP LOCKED)`,
})

/** Deletes shares that were recalled before `before` and that no agent still has to remove. */
export const deleteEndedShares = statement('clades.delete-ended-shares', {
  takes: { before: 'timestamptz', now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM clade_shares WHERE id IN (SELECT s.id FROM clade_shares s
    WHERE s.recalled_at <= $before AND s.agent_id NOT IN (${agentsUnderLegalHold('$now')})
      AND NOT EXISTS (SELECT 1 FROM clade_deltas d WHERE d.share_id = s.id AND d.state <> 'recalled')
    LIMIT $limit FOR UPDATE OF s SKIP LOCKED)`,
})

/** Deletes clades without agents and shares: they contain an id and a time, no personal data. */
export const deleteEmptyClades = statement('clades.delete-empty', {
  takes: { limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM clades WHERE id IN (SELECT c.id FROM clades c WHERE NOT EXISTS (SELECT 1 FROM agent_states a WHERE a.clade_id = c.id)
    AND NOT EXISTS (SELECT 1 FROM clade_shares s WHERE s.clade_id = c.id) LIMIT $limit FOR UPDATE SKIP LOCKED)`,
})
