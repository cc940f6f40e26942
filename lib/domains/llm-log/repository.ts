import { sealedPurposes } from '#lib/config/secret.ts'
import { agentsUnderLegalHold } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import type { SealedColumn } from '#lib/stores/postgres/sealed-column.ts'
import { type RowOf, statement, typed } from '#lib/stores/postgres/statement.ts'

const summaryColumns = {
  id: 'text',
  agent_id: 'text',
  model: 'text?',
  redacted: 'jsonb',
  created_at: 'timestamptz',
  expires_at: 'timestamptz',
} as const
const exchangeColumns = { ...summaryColumns, sealed: typed<Buffer>('bytea') } as const
/** An exchange without its messages. */
export type ExchangeSummaryRow = RowOf<typeof summaryColumns>
export type ExchangeRow = RowOf<typeof exchangeColumns>
const summary = 'l.id, l.agent_id, l.model, l.redacted, l.created_at, l.expires_at'
const isVisible = 'l.agent_id = ANY($agents) AND l.expires_at > $now'
const visible = { agents: 'text[]', now: 'timestamptz' } as const

/** A page of exchanges, newest first, after the position (`at`, `id`). */
export const exchangesPage = statement('llm-log.page', {
  takes: { ...visible, at: 'timestamptz?', id: 'text', limit: 'int4' },
  returns: { ...summaryColumns, bytes: 'int4' },
  isPrepared: true,
  sql: `SELECT ${summary}, octet_length(l.sealed) AS bytes FROM llm_log_entries l
    WHERE ${isVisible} AND (l.created_at, l.id) < (coalesce($at, 'infinity'), $id) ORDER BY l.created_at DESC, l.id DESC LIMIT $limit`,
})

export const countExchanges = statement('llm-log.count', {
  takes: visible,
  returns: { n: 'int4' },
  isPrepared: true,
  sql: `SELECT count(*)::int4 AS n FROM llm_log_entries l WHERE ${isVisible}`,
})

export const exchange = statement('llm-log.exchange', {
  takes: { ...visible, id: 'text' },
  returns: exchangeColumns,
  isPrepared: true,
  sql: `SELECT ${summary}, l.sealed FROM llm_log_entries l WHERE l.id = $id AND ${isVisible}`,
})

/** A page of an agent's exchanges for an export, oldest first, after the position (`at`, `id`). An exchange has at most 128 KiB. */
export const exportedExchanges = statement('llm-log.exported', {
  takes: { agent: 'text', until: 'timestamptz', at: 'timestamptz?', id: 'text' },
  returns: exchangeColumns,
  isPrepared: true,
  sql: `SELECT ${summary}, l.sealed FROM llm_log_entries l WHERE l.agent_id = $agent AND l.created_at <= $until AND l.expires_at > $until
    AND (l.created_at, l.id) > (coalesce($at, '-infinity'), $id) ORDER BY l.created_at, l.id LIMIT 20`,
})

/**
 * How many exchanges without a legal hold have expired, and for how many milliseconds the oldest. After a hold, expired exchanges count
 * until the next purge.
 */
export const overdueExchanges = statement('llm-log.overdue', {
  takes: { now: 'timestamptz' },
  returns: { late: 'float8', n: 'int4' },
  isPrepared: true,
  sql: `SELECT coalesce(extract(epoch FROM $now - min(expires_at)) * 1000, 0)::float8 AS late, count(*)::int4 AS n
    FROM llm_log_entries WHERE expires_at <= $now AND agent_id NOT IN (${agentsUnderLegalHold('$now')})`,
})

/** Deletes expired exchanges. Exchanges under a legal hold remain until it ends. */
export const deleteExpiredExchanges = statement('llm-log.delete-expired', {
  takes: { now: 'timestamptz', limit: 'int4' },
  returns: 'count',
  sql: `DELETE FROM llm_log_entries WHERE id IN (
    SELECT id FROM llm_log_entries WHERE expires_at <= $now AND agent_id NOT IN (${agentsUnderLegalHold('$now')})
    ORDER BY expires_at LIMIT $limit FOR UPDATE SKIP LOCKED)`,
})

export const sealedExchanges: SealedColumn = {
  table: 'llm_log_entries',
  id: 'id',
  column: 'sealed',
  purpose: sealedPurposes.llmLog,
}
