import { projectHoldsSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const holds = `WITH ${projectHoldsSql('$2')},
  listed AS (SELECT t.thread, c.id, c.project_id FROM conversations c CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
    WHERE c.threads && $1::text[] AND t.thread = ANY($1::text[]))
  SELECT thread, min(hold) AS hold FROM (
    SELECT l.thread, hp.hold FROM listed l JOIN held_projects hp ON hp.id = l.project_id
    UNION ALL SELECT l.thread, hw.hold FROM listed l JOIN messages x ON x.conversation_id = l.id
      JOIN held_writers hw ON hw.kind = x.author_kind AND hw.id = x.author_id
    UNION ALL SELECT v.place, hp.hold FROM provenance v JOIN held_projects hp ON hp.id = v.project_id
      WHERE v.store = 'checkpoints' AND v.place = ANY($1::text[])) AS found
  GROUP BY thread`

/** The threads under legal hold, with the hold's id: a hold on the project, or on an author of messages in its conversations. */
export async function threadHolds(
  tx: Transaction,
  threads: readonly string[],
  now: Date,
): Promise<ReadonlyMap<string, string>> {
  if (threads.length === 0) return new Map()
  const rows = await queryWithin<{ thread: string; hold: string }>(tx, 'threads-holds', holds, [threads, now])
  return new Map(rows.map(({ thread, hold }) => [thread, hold]))
}
