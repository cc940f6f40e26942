import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'
import { sealOverhead } from './document-seals.ts'
import { type AgentDocumentKind, type HeartbeatState, heartbeatsCountedTo } from './rules.ts'

export const keyringsOfAgent = statement('life.keyrings', {
  takes: { agent: 'text' },
  returns: { key_id: 'text' },
  sql: 'SELECT key_id FROM agent_keyrings WHERE agent_id = $agent',
})

const documentColumns = {
  id: 'text',
  kind: typed<AgentDocumentKind>('agent_document_kind'),
  title: 'text?',
  sealed_title: typed<Buffer | null>('bytea?'),
  bytes: 'int4',
  revision: 'int4',
  created_at: 'timestamptz',
  updated_at: 'timestamptz',
} as const
export type AgentDocumentRow = RowOf<typeof documentColumns>
const selectDocument = `SELECT d.id, d.kind, d.title, d.sealed_title,
  coalesce(octet_length(d.sealed_body) - ${sealOverhead}, octet_length(d.body)) AS bytes, d.revision, d.created_at, d.updated_at`
const textColumns = { ...documentColumns, body: 'text?', sealed_body: typed<Buffer | null>('bytea?') } as const

/** Expired documents are invisible even before the job deletes them. `expiredBefore`: the latest change of an expired document. */
const isVisible = 'd.agent_id = $agent AND ($expiredBefore IS NULL OR d.updated_at > $expiredBefore)'

/** A page of an agent's documents, newest first, after the position (`at`, `id`). */
export const documentsPage = statement('life.documents-page', {
  takes: { agent: 'text', expiredBefore: 'timestamptz?', kind: 'text?', at: 'timestamptz?', id: 'text', limit: 'int4' },
  returns: documentColumns,
  isPrepared: true,
  sql: `${selectDocument} FROM agent_documents d WHERE ${isVisible} AND ($kind IS NULL OR d.kind::text = $kind)
      AND (d.created_at, d.id) < (coalesce($at, 'infinity'), $id) ORDER BY d.created_at DESC, d.id DESC LIMIT $limit`,
})

export const documentWithBody = statement('life.document', {
  takes: { agent: 'text', expiredBefore: 'timestamptz?', id: 'text' },
  returns: textColumns,
  isPrepared: true,
  sql: `${selectDocument}, d.body, d.sealed_body FROM agent_documents d WHERE d.id = $id AND ${isVisible}`,
})

/** A page of an agent's documents for an export, oldest first, after the position (`at`, `id`). */
export const exportedDocuments = statement('life.exported-documents', {
  takes: { agent: 'text', until: 'timestamptz', at: 'timestamptz?', id: 'text' },
  returns: textColumns,
  isPrepared: true,
  sql: `${selectDocument}, d.body, d.sealed_body FROM agent_documents d WHERE d.agent_id = $agent AND d.created_at <= $until
    AND (d.created_at, d.id) > (coalesce($at, '-infinity'), $id) ORDER BY d.created_at, d.id LIMIT 20`,
})

/** Deletes documents whose last change is longer ago than their owner set. Documents under a legal hold remain. */
export const deleteExpiredDocuments = statement('life.delete-expired-documents', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM agent_documents WHERE id IN (
    SELECT d.id FROM agents a JOIN agent_documents d ON d.agent_id = a.id
    WHERE a.document_days IS NOT NULL AND d.updated_at <= $now - make_interval(days => a.document_days)
      AND a.id NOT IN (${agentsUnderLegalHold('$now')}) LIMIT $limit FOR UPDATE OF d SKIP LOCKED)`,
})

/** Locks documents of earlier versions, which are not sealed. Others write the locked rows; they are sealed later. */
export const lockOpenDocuments = statement('life.lock-open-documents', {
  takes: { limit: 'int4' },
  returns: { id: 'text', title: 'text!', body: 'text!' },
  sql: 'SELECT id, title, body FROM agent_documents WHERE body IS NOT NULL ORDER BY id LIMIT $limit FOR UPDATE SKIP LOCKED',
})

/** A page of an agent's references, newest first, after the position (`at`, `id`). */
export const chainReferencesPage = statement('life.chain-references-page', {
  takes: { agent: 'text', at: 'timestamptz?', id: 'text', limit: 'int4' },
  returns: { id: 'text', chain: 'text', kind: 'text', reference: 'text', reportedAt: 'timestamptz' },
  isPrepared: true,
  sql: `SELECT id, chain, kind, reference, reported_at AS "reportedAt" FROM chain_references
    WHERE agent_id = $agent AND (reported_at, id) < (coalesce($at, 'infinity'), $id) ORDER BY reported_at DESC, id DESC LIMIT $limit`,
})

const isInRange = 'h.agent_id = $agent AND ($from IS NULL OR h.at >= $from) AND ($to IS NULL OR h.at <= $to)'
const range = { agent: 'text', from: 'timestamptz?', to: 'timestamptz?' } as const

/** A page of an agent's heartbeats, newest first, after the position (`at`, `seq`). */
export const heartbeatsPage = statement('life.heartbeats-page', {
  takes: { ...range, at: 'timestamptz?', seq: 'int8', limit: 'int4' },
  returns: {
    seq: 'text',
    at: 'timestamptz',
    state: typed<HeartbeatState>('text'),
    counts: typed<Record<string, number>>('jsonb'),
  },
  isPrepared: true,
  sql: `SELECT h.seq::text AS seq, h.at, h.state, h.counts FROM heartbeats h WHERE ${isInRange}
    AND (h.at, h.seq) < (coalesce($at, 'infinity'), $seq) ORDER BY h.at DESC, h.seq DESC LIMIT $limit`,
})

/** Counts heartbeats, up to a limit. */
export const countHeartbeats = statement('life.count-heartbeats', {
  takes: range,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM (SELECT FROM heartbeats h WHERE ${isInRange} LIMIT ${heartbeatsCountedTo}) AS counted`,
})

/** An id of one agent's heartbeats of one day. Agent ids never contain a slash. */
const dayId = "h.agent_id || '/' || to_char(h.at AT TIME ZONE 'UTC', 'YYYY-MM-DD')"
const startOfDay = "(split_part(i, '/', 2) || 'T00:00:00Z')::timestamptz"

export const heartbeatInventory = statement('life.heartbeat-inventory', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4', since: 'timestamptz?' },
  isPrepared: true,
  sql: `SELECT count(DISTINCT ${dayId})::int4 AS n, min(h.at) AS since FROM heartbeats h WHERE h.agent_id = ANY($agents)`,
})

/** The days with heartbeats, as `<agent>/<day>`. */
export const heartbeatDays = statement('life.heartbeat-days', {
  takes: { agents: 'text[]' },
  returns: { id: 'text' },
  isPrepared: true,
  sql: `SELECT DISTINCT ${dayId} AS id FROM heartbeats h WHERE h.agent_id = ANY($agents)`,
})

/** Deletes the heartbeats of these days, and returns the number of days. */
export const deleteHeartbeatDays = statement('life.delete-heartbeat-days', {
  takes: { days: 'text[]' },
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `WITH gone AS (DELETE FROM heartbeats h WHERE h.seq IN (
      SELECT h.seq FROM unnest($days) AS i JOIN heartbeats h ON h.agent_id = split_part(i, '/', 1)
        AND h.at >= ${startOfDay} AND h.at < ${startOfDay} + interval '24 hours')
      RETURNING ${dayId} AS id)
    SELECT count(DISTINCT id)::int4 AS n FROM gone`,
})

export const countRemainingHeartbeats = statement('life.count-remaining-heartbeats', {
  takes: { agents: 'text[]' },
  returns: { n: 'int4' },
  sql: 'SELECT count(*)::int4 AS n FROM heartbeats WHERE agent_id = ANY($agents)',
})

/** Deletes heartbeats of agents that were retired before. Heartbeats under a legal hold remain. */
export const deleteHeartbeatsOfRetired = statement('life.delete-heartbeats-of-retired', {
  takes: { before: 'timestamptz', now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM heartbeats WHERE seq IN (
    SELECT h.seq FROM agents a JOIN heartbeats h ON h.agent_id = a.id
    WHERE a.died_at <= $before AND a.id NOT IN (${agentsUnderLegalHold('$now')}) LIMIT $limit FOR UPDATE OF h SKIP LOCKED)`,
})
