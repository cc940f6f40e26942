import { sealedPurposes } from '#lib/config/secret.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { type EntryKind, type EntryScope, entryPageBytes } from './rules.ts'

const entryColumns = {
  id: 'text',
  agent_id: 'text',
  kind: typed<EntryKind>('entry_kind'),
  scope: typed<EntryScope>('entry_scope'),
  envelope: 'jsonb?',
  sealed: typed<Buffer | null>('bytea?'),
  valid_until: 'timestamptz?',
  revision: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
export type GrimoireEntryRow = RowOf<typeof entryColumns>
const columns =
  'g.id, g.agent_id, g.kind, g.scope, g.envelope, g.sealed, g.valid_until, g.revision, g.created_at, g.updated_at'

/** Expired entries are invisible even before the job deletes them. `expiredBefore`: the latest creation time of an expired entry. */
const isVisible =
  'g.agent_id = $agent AND (g.valid_until IS NULL OR g.valid_until > $now) AND ($expiredBefore IS NULL OR g.created_at > $expiredBefore)'
const visible = { agent: 'text', now: 'timestamptz', expiredBefore: 'timestamptz?' } as const
const isListed = `${isVisible} AND ($kind IS NULL OR g.kind::text = $kind) AND ($scope IS NULL OR g.scope::text = $scope)`
const listed = { ...visible, kind: 'text?', scope: 'text?' } as const
const isAfter = "(g.created_at, g.id) < (coalesce($at, 'infinity'), $id)"

export const visibleEntry = statement('grimoire.visible-entry', {
  takes: { ...visible, id: 'text' },
  returns: entryColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM grimoire_entries g WHERE ${isVisible} AND g.id = $id`,
})

export const lockVisibleEntry = statement('grimoire.lock-visible-entry', {
  takes: { ...visible, id: 'text' },
  returns: entryColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM grimoire_entries g WHERE ${isVisible} AND g.id = $id FOR UPDATE`,
})

/**
 * A page of an agent's entries, newest first, after the position (`at`, `id`). Ends early when it has enough bytes. `before`: the bytes of
 * the entries before this one.
 */
export const entriesPage = statement('grimoire.entries-page', {
  takes: { ...listed, at: 'timestamptz?', id: 'text', limit: 'int4' },
  returns: { ...entryColumns, before: 'float8' },
  isPrepared: true,
  sql: `WITH candidate AS (SELECT ${columns}, coalesce(octet_length(g.sealed), octet_length(g.envelope::text)) AS weight
      FROM grimoire_entries g WHERE ${isListed} AND ${isAfter} ORDER BY g.created_at DESC, g.id DESC LIMIT $limit)
    SELECT ${columns}, g.before FROM (SELECT candidate.*, (sum(weight) OVER (
        ORDER BY created_at DESC, id DESC ROWS UNBOUNDED PRECEDING) - weight)::float8 AS before FROM candidate) AS g
    WHERE g.before <= ${entryPageBytes} ORDER BY g.created_at DESC, g.id DESC`,
})

export const countEntries = statement('grimoire.count-entries', {
  takes: listed,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM grimoire_entries g WHERE ${isListed}`,
})

/** An entry after the position (`at`, `id`), if there is one. */
export const nextEntry = statement('grimoire.next-entry', {
  takes: { ...listed, at: 'timestamptz?', id: 'text' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT g.id FROM grimoire_entries g WHERE ${isListed} AND ${isAfter} LIMIT 1`,
})

const content = { envelope: 'jsonb?', sealed: 'bytea?', validUntil: 'timestamptz?', now: 'timestamptz' } as const

/** Stores an entry, and returns the number of stored entries: 0 if the id is in use. */
export const insertEntry = statement('grimoire.insert-entry', {
  takes: { id: 'text', agent: 'text', kind: 'text', scope: 'text', ...content },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO grimoire_entries (id, agent_id, kind, scope, envelope, sealed, valid_until, created_at, updated_at)
    VALUES ($id, $agent, $kind::entry_kind, $scope::entry_scope, $envelope, $sealed, $validUntil, $now, $now) ON CONFLICT (id) DO NOTHING`,
})

export const updateEntry = statement('grimoire.update-entry', {
  takes: { id: 'text', revision: 'int4', ...content },
  returns: 'count',
  isPrepared: true,
  sql: `UPDATE grimoire_entries SET envelope = $envelope, sealed = $sealed, valid_until = $validUntil, updated_at = $now, revision = $revision
    WHERE id = $id`,
})

/** Stores a first revision, and returns the number of stored keyrings: 0 if the id of the keyring is in use. */
export const insertKeyring = statement('grimoire.insert-keyring', {
  takes: { agent: 'text', id: 'text', keyring: 'jsonb', publicKey: 'bytea', now: 'timestamptz' },
  returns: 'count',
  isPrepared: true,
  sql: `INSERT INTO keyrings (agent_id, key_id, keyring, public_key, revision, created_at, updated_at)
    VALUES ($agent, $id, $keyring, $publicKey, 1, $now, $now) ON CONFLICT (key_id) DO NOTHING`,
})

/** A page of an agent's entries for an export, oldest first, after the position (`at`, `id`). */
export const exportedEntries = statement('grimoire.exported-entries', {
  takes: { agent: 'text', until: 'timestamptz', at: 'timestamptz?', id: 'text' },
  returns: entryColumns,
  isPrepared: true,
  sql: `SELECT ${columns} FROM grimoire_entries g WHERE g.agent_id = $agent AND g.created_at <= $until
    AND (g.created_at, g.id) > (coalesce($at, '-infinity'), $id) ORDER BY g.created_at, g.id LIMIT 50`,
})

/** Deletes expired entries: at their own time, or after the number of days that the owner set. Entries under a legal hold remain. */
export const deleteExpiredEntries = statement('grimoire.delete-expired', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM grimoire_entries WHERE id IN (
    SELECT g.id FROM grimoire_entries g JOIN agent_states a ON a.id = g.agent_id
    WHERE (g.valid_until <= $now OR (a.grimoire_days IS NOT NULL AND g.created_at <= $now - make_interval(days => a.grimoire_days)))
      AND a.id NOT IN (${agentsUnderLegalHold('$now')}) LIMIT $limit FOR UPDATE OF g SKIP LOCKED)`,
})

export const sealedEntries: SealedColumn = {
  table: 'grimoire_entries',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.grimoire,
}
