import { sealedPurposes } from '#lib/config/secret.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import type { DeltaState, SharedKind } from './rules.ts'

/**
 * Serializes changes to the deltas of a clade: delta numbers become visible in order, so that an acknowledgement never covers an unread
 * delta. Lock order: after the agent's own row and before everything else.
 */
export const lockClades = statement('clades.lock', {
  takes: { ids: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: 'SELECT id FROM clades WHERE id = ANY($ids) ORDER BY id FOR NO KEY UPDATE',
})

const deltaColumns = {
  seq: 'text',
  share_id: 'text',
  state: 'text',
  sender: 'text?',
  sealed: typed<Buffer | null>('bytea?'),
  digest: typed<Buffer | null>('bytea?'),
  manifest: 'text?',
  shared_at: 'timestamptz?',
} as const
export type DeltaRow = RowOf<typeof deltaColumns>
const selectDeltas = `SELECT d.seq::text AS seq, d.share_id, d.state::text AS state, s.agent_id AS sender, s.sealed, s.digest, s.manifest, s.shared_at
  FROM clade_deltas d LEFT JOIN clade_shares s ON s.id = d.share_id LEFT JOIN agent_states a ON a.id = s.agent_id`
const isOpen = "s.sealed IS NOT NULL AND s.recalled_at IS NULL AND a.restricted_at IS NULL AND a.status <> 'dead'"

/**
 * Deltas to deliver to an agent: shares, and orders to remove a share. Shares of restricted agents, and recalled shares under legal hold,
 * are not delivered.
 */
export const deltasToDeliver = statement('clades.deltas-to-deliver', {
  takes: { agent: 'text', after: 'int8', now: 'timestamptz', limit: 'int4' },
  returns: deltaColumns,
  isPrepared: true,
  sql: `${selectDeltas} WHERE d.agent_id = $agent AND d.seq > $after
    AND (d.state = 'recalling' OR (d.state = 'pending' AND d.expires_at > $now AND ${isOpen})) ORDER BY d.seq LIMIT $limit`,
})

export const recordDelivery = statement('clades.record-delivery', {
  takes: { seqs: 'int8[]', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: "UPDATE clade_deltas SET delivered_at = $now WHERE seq = ANY($seqs) AND state = 'pending' AND delivered_at IS NULL",
})

/** Sets the state of the deltas up to a number that the agent has read. */
export const markAcknowledged = statement('clades.acknowledge', {
  takes: { agent: 'text', through: 'int8', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  variants: ['delivered', 'recalled'],
  sql: (next: 'delivered' | 'recalled') =>
    `UPDATE clade_deltas SET state = '${next}', acknowledged_at = $now WHERE agent_id = $agent AND seq <= $through
      AND ${next === 'delivered' ? "state = 'pending' AND delivered_at IS NOT NULL" : "state = 'recalling'"}`,
})

/** Shares that an agent received and may use. */
export const receivedShares = statement('clades.received', {
  takes: { agent: 'text', after: 'int8', limit: 'int4' },
  returns: deltaColumns,
  isPrepared: true,
  sql: `${selectDeltas} WHERE d.agent_id = $agent AND d.seq > $after AND d.state = 'delivered' AND ${isOpen} ORDER BY d.seq LIMIT $limit`,
})

/** Number of deltas that each sibling has not fetched from the agent. */
export const countUnfetched = statement('clades.count-unfetched', {
  takes: { agent: 'text' },
  returns: { agent_id: 'text', n: 'int4' },
  isPrepared: true,
  sql: `SELECT d.agent_id, count(*)::int4 AS n FROM clade_deltas d JOIN clade_shares s ON s.id = d.share_id
    WHERE s.agent_id = $agent AND d.state = 'pending' AND d.delivered_at IS NULL GROUP BY d.agent_id`,
})

/** Number of deltas that wait for the agent. */
export const countWaiting = statement('clades.count-waiting', {
  takes: { agent: 'text', now: 'timestamptz' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM clade_deltas
    WHERE agent_id = $agent AND (state = 'recalling' OR (state = 'pending' AND expires_at > $now))`,
})

/** Deletes the unfetched deltas of an agent that turns sharing off. */
export const withdrawUnfetched = statement('clades.withdraw-unfetched', {
  takes: { agent: 'text' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM clade_deltas d USING clade_shares s
    WHERE s.id = d.share_id AND s.agent_id = $agent AND d.state = 'pending' AND d.delivered_at IS NULL`,
})

/** The shares among these that exist in the clade. */
export const sharesOfClade = statement('clades.shares-of-clade', {
  takes: { ids: 'text[]', clade: 'text?' },
  returns: { id: 'text', recalled: 'bool' },
  isPrepared: true,
  sql: 'SELECT id, recalled_at IS NOT NULL AS recalled FROM clade_shares WHERE id = ANY($ids) AND clade_id = $clade ORDER BY id',
})

const shareColumns = {
  id: 'text',
  agent_id: 'text',
  entry_id: 'text',
  kind: typed<SharedKind>('entry_kind'),
  digest: typed<Buffer>('bytea'),
  manifest: 'text',
  shared_at: 'timestamptz',
  recalled_at: 'timestamptz?',
} as const
export type ShareRow = RowOf<typeof shareColumns>
const selectShares =
  'SELECT s.id, s.agent_id, s.entry_id, s.kind, s.digest, s.manifest, s.shared_at, s.recalled_at FROM clade_shares s'

/** A page of an agent's shares, newest first, after the position (`at`, `id`). */
export const sharesPage = statement('clades.shares-page', {
  takes: { agent: 'text', at: 'timestamptz?', id: 'text', limit: 'int4' },
  returns: shareColumns,
  isPrepared: true,
  sql: `${selectShares} WHERE s.agent_id = $agent AND (s.shared_at, s.id) < (coalesce($at, 'infinity'), $id)
    ORDER BY s.shared_at DESC, s.id DESC LIMIT $limit`,
})

export const shareOfAgent = statement('clades.share', {
  takes: { agent: 'text', id: 'text' },
  returns: shareColumns,
  isPrepared: true,
  sql: `${selectShares} WHERE s.id = $id AND s.agent_id = $agent`,
})

/** The delivery of each share to each sibling. */
export const deliveriesOfShares = statement('clades.deliveries', {
  takes: { shares: 'text[]' },
  returns: {
    share_id: 'text',
    agent_id: 'text',
    state: typed<DeltaState>('delta_state'),
    delivered_at: 'timestamptz?',
    acknowledged_at: 'timestamptz?',
  },
  isPrepared: true,
  sql: `SELECT share_id, agent_id, state, delivered_at, acknowledged_at FROM clade_deltas WHERE share_id = ANY($shares) ORDER BY agent_id`,
})

/** A page of an agent's shares for an export, oldest first, after the position (`at`, `id`). */
export const exportedShares = statement('clades.exported-shares', {
  takes: { agent: 'text', until: 'timestamptz', at: 'timestamptz?', id: 'text' },
  returns: {
    id: 'text',
    entry_id: 'text',
    kind: typed<SharedKind>('entry_kind'),
    sealed: typed<Buffer | null>('bytea?'),
    manifest: 'text',
    shared_at: 'timestamptz',
    recalled_at: 'timestamptz?',
  },
  isPrepared: true,
  sql: `SELECT id, entry_id, kind, sealed, manifest, shared_at, recalled_at FROM clade_shares
    WHERE agent_id = $agent AND shared_at <= $until AND (shared_at, id) > (coalesce($at, '-infinity'), $id) ORDER BY shared_at, id LIMIT 50`,
})

/** The figures of an agent that is not restricted, suspended or retired. */
export const publicCard = statement('clades.public-card', {
  takes: { agent: 'text' },
  returns: {
    from: 'timestamptz',
    until: 'timestamptz',
    publishedAt: 'timestamptz',
    returns: 'float8',
    sharpe: 'float8',
    drawdown: 'float8',
  },
  isPrepared: true,
  sql: `SELECT c.from_at AS "from", c.until_at AS until, c.returns, c.sharpe, c.drawdown, c.published_at AS "publishedAt"
    FROM performance_cards c JOIN agent_states a ON a.id = c.agent_id
    WHERE c.agent_id = $agent AND a.restricted_at IS NULL AND a.suspended_at IS NULL AND a.status <> 'dead'`,
})

export const deltaInventory = statement('clades.delta-inventory', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: 'SELECT count(*)::int4 AS n, min(created_at) AS since FROM clade_deltas WHERE agent_id = ANY($agents)',
})

/** The deltas of agents, as `<agent>/<share>`. */
export const deltaItems = statement('clades.delta-items', {
  takes: { agents: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: "SELECT agent_id || '/' || share_id AS id FROM clade_deltas WHERE agent_id = ANY($agents)",
})

export const deleteDeltaItems = statement('clades.delete-delta-items', {
  takes: { items: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM clade_deltas d USING unnest($items) AS i
    WHERE d.agent_id = split_part(i, '/', 1) AND d.share_id = split_part(i, '/', 2)`,
})

export const countRemainingDeltas = statement('clades.count-remaining-deltas', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int4 AS n FROM clade_deltas WHERE agent_id = ANY($agents)',
})

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

export const sealedShares: SealedColumn = {
  table: 'clade_shares',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.clades,
}
