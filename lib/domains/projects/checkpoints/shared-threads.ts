import { conversationHold, joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * A conversation `c` of a project `p` that remains: it is under legal hold, or nothing is erasing it and it has a remaining message, or it
 * has no messages and its creator remains.
 */
const stays = `(${conversationHold} IS NOT NULL OR (c.erasing_since IS NULL AND p.erasing_since IS NULL AND p.status <> 'closed' AND (
    EXISTS (SELECT FROM messages x ${joinProjectHolds('x')} WHERE x.conversation_id = c.id AND ${staysSql('x')})
    OR NOT EXISTS (SELECT FROM messages x WHERE x.conversation_id = c.id)
      AND NOT EXISTS (SELECT FROM fenced f WHERE c.created_by = CASE f.kind WHEN 'account' THEN 'user:' || f.id ELSE f.id END))))`
const listing = `WITH ${projectHoldsSql('$3')}
  SELECT DISTINCT t.thread FROM conversations c JOIN projects p ON p.id = c.project_id CROSS JOIN LATERAL unnest(c.threads) AS t(thread)
  WHERE c.threads && $1::text[] AND t.thread = ANY($1::text[]) AND c.id <> ALL($2::text[]) AND ${stays}`
/** If a conversation lists the thread, only pointers of that conversation's project count. */
const pointing = `WITH ${projectHoldsSql('$2')},
  named AS MATERIALIZED (SELECT DISTINCT v.place AS thread, v.source_kind, v.source_id FROM provenance v
    JOIN conversations c ON c.project_id = v.project_id AND c.threads @> ARRAY[v.place] WHERE v.store = 'checkpoints' AND v.place = ANY($1::text[]))
  SELECT n.thread, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id
    JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${staysSql('x', 'c.erasing_since IS NOT NULL')}
  UNION SELECT n.thread, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id
    ${joinProjectHolds('x')} WHERE ${staysSql('x')}`

/**
 * Of these threads, those shared with remaining records: a conversation that lists the thread, or a message or document with a pointer to
 * it. In a shared thread, only erased messages are removed. `conversations` and `sources` are being erased. Of two concurrent erasures, at
 * least one sees the other's mark or fence, so a thread that both erase does not remain.
 */
export async function threadsOfOthers(
  tx: Transaction,
  threads: readonly string[],
  going: { conversations: readonly string[]; sources(): Promise<ReadonlySet<string>> },
  now: Date,
): Promise<Set<string>> {
  if (threads.length === 0) return new Set()
  const listed = await queryWithin<{ thread: string }>(tx, 'threads-listed', listing, [
    threads,
    going.conversations,
    now,
  ])
  const pointed = await queryWithin<{ thread: string; source: string }>(tx, 'threads-pointed', pointing, [threads, now])
  const goes = pointed.length === 0 ? new Set() : await going.sources()
  return new Set([
    ...listed.map(({ thread }) => thread),
    ...pointed.flatMap(({ thread, source }) => (goes.has(source) ? [] : [thread])),
  ])
}
