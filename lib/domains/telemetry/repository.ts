import { sealedPurposes } from '#lib/config/secret.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { statement, typed } from '#lib/stores/postgres/statement.ts'

const sealed = typed<Buffer>('bytea')
const ofSubject = { account: 'text?', agents: 'text[]' } as const
const isOfSubject = "((kind = 'account' AND id = $account) OR (kind = 'agent' AND id = ANY($agents)))"

/** The account, if it did not turn telemetry off and is neither restricted nor suspended. Restriction includes objection (GDPR art. 21) and withdrawn consent. */
export const trackableAccount = statement('telemetry.trackable-account', {
  takes: { id: 'text' },
  returns: { id: 'text?' },
  isPrepared: true,
  sql: 'SELECT id FROM account_states WHERE id = $id AND restricted_at IS NULL AND suspended_at IS NULL AND telemetry_off_at IS NULL',
})

/** The agent, if its owner did not turn telemetry off, neither it nor its owner is restricted or suspended, and its region is one of these. */
export const trackableAgent = statement('telemetry.trackable-agent', {
  takes: { id: 'text', regions: 'text[]' },
  returns: { id: 'text?' },
  isPrepared: true,
  sql: `SELECT a.id FROM agent_states a LEFT JOIN account_states o ON o.id = a.owner_id
    WHERE a.id = $id AND (a.region IS NULL OR a.region = ANY($regions)) AND a.restricted_at IS NULL AND a.suspended_at IS NULL
      AND a.status <> 'dead' AND o.restricted_at IS NULL AND o.suspended_at IS NULL AND o.telemetry_off_at IS NULL`,
})

export const currentKey = statement('telemetry.current-key', {
  takes: { kind: 'text', id: 'text', now: 'timestamptz' },
  returns: { sealed },
  isPrepared: true,
  sql: 'SELECT sealed FROM telemetry_keys WHERE kind = $kind AND id = $id AND expires_at > $now',
})

/** Stores a key unless the subject has a current one. */
export const storeKey = statement('telemetry.store-key', {
  takes: { kind: 'text', id: 'text', sealed: 'bytea', now: 'timestamptz', expiresAt: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO telemetry_keys AS k (kind, id, sealed, created_at, expires_at) VALUES ($kind, $id, $sealed, $now, $expiresAt)
    ON CONFLICT (kind, id) DO UPDATE SET sealed = excluded.sealed, created_at = excluded.created_at, expires_at = excluded.expires_at
    WHERE k.expires_at <= $now`,
})

/** Destroys expired keys, and those of people who turned telemetry off and of their agents. */
export const destroyExpiredKeys = statement('telemetry.destroy-expired-keys', {
  takes: { now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM telemetry_keys WHERE expires_at <= $now
    OR (kind = 'account' AND id IN (SELECT s.id FROM account_states s WHERE s.telemetry_off_at IS NOT NULL))
    OR (kind = 'agent' AND id IN (
      SELECT a.id FROM account_states s JOIN agent_states a ON a.owner_id = s.id WHERE s.telemetry_off_at IS NOT NULL))`,
})

export const exportedKey = statement('telemetry.exported-key', {
  takes: { kind: 'text', id: 'text', until: 'timestamptz' },
  returns: { sealed, created_at: 'timestamptz', expires_at: 'timestamptz' },
  isPrepared: true,
  sql: 'SELECT sealed, created_at, expires_at FROM telemetry_keys WHERE kind = $kind AND id = $id AND created_at <= $until',
})

export const keyInventory = statement('telemetry.key-inventory', {
  takes: ofSubject,
  returns: { n: 'int4', since: 'timestamptz?', until: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n, min(created_at) AS since, max(expires_at) AS until FROM telemetry_keys WHERE ${isOfSubject}`,
})

/** The keys of a subject, as `<kind>:<id>`. */
export const keyItems = statement('telemetry.key-items', {
  takes: ofSubject,
  returns: { item: 'text' },
  isPrepared: true,
  sql: `SELECT kind || ':' || id AS item FROM telemetry_keys WHERE ${isOfSubject}`,
})

export const deleteKeyItems = statement('telemetry.delete-key-items', {
  takes: { items: 'text[]' },
  returns: 'count',
  isPrepared: true,
  sql: `DELETE FROM telemetry_keys WHERE (kind, id) IN (
    SELECT split_part(item, ':', 1), substr(item, strpos(item, ':') + 1) FROM unnest($items) AS item)`,
})

export const countRemainingKeys = statement('telemetry.count-remaining-keys', {
  takes: ofSubject,
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int4 AS n FROM telemetry_keys WHERE ${isOfSubject}`,
})

/** Counts keys with these ids that do not belong to the subject. */
export const countRemainingItems = statement('telemetry.count-remaining-items', {
  takes: { ...ofSubject, items: 'text[]' },
  returns: { n: 'int4' },
  sql: `SELECT count(*)::int4 AS n FROM telemetry_keys WHERE kind || ':' || id = ANY($items) AND NOT coalesce(${isOfSubject}, false)`,
})

export const sealedTelemetryKeys: SealedColumn = {
  table: 'telemetry_keys',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.telemetryKeys,
}
