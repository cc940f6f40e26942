import type { Transaction } from '#lib/kernel/context.ts'
import type { Mention } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const keep = `INSERT INTO remaining_mentions (run_id, store, kind, id, field, is_redacted)
  SELECT $1, m.store, m.kind, m.id, m.field, bool_or(m."isRedacted")
  FROM jsonb_to_recordset($2::jsonb) AS m(store text, kind text, id text, field text, "isRedacted" boolean)
  GROUP BY m.store, m.kind, m.id, m.field
  ON CONFLICT (run_id, store, kind, id, field) DO UPDATE SET is_redacted = excluded.is_redacted`

/**
 * Stores where names of the erased subject remain in texts of other authors: only the place, not the text. Marks
 * mentions that were redacted since.
 */
export async function noteMentions(tx: Transaction, runId: string, mentions: readonly Mention[]): Promise<void> {
  if (mentions.length > 0) await queryWithin(tx, 'keep-mentions', keep, [runId, JSON.stringify(mentions)])
}

/** Number of places of one kind where erased words or names remain. */
export interface MentionCount {
  store: string
  kind: string
  field: string
  count: number
}

/** Counts the places of a run where erased words or names remain, by store, kind and field. */
export const countMentions = (tx: Transaction, runId: string): Promise<MentionCount[]> =>
  queryWithin<MentionCount & Record<string, unknown>>(
    tx,
    'count-mentions',
    `SELECT store, kind, field, count(*)::int AS count FROM remaining_mentions WHERE run_id = $1 AND NOT is_redacted
     GROUP BY store, kind, field ORDER BY store, kind, field`,
    [runId],
  )
