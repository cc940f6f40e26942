import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import { holdMembers, joinHolds, staysSql } from './held.ts'

const standing = `WITH ${holdMembers('$3')},
  named AS MATERIALIZED (SELECT v.ref, v.source_kind, v.source_id FROM provenance v WHERE v.store = $1 AND v.ref = ANY($2::text[])
    UNION SELECT r.ref, k.kind, r.ref FROM unnest($2::text[]) AS r(ref), (VALUES ('message'), ('document')) AS k(kind) WHERE $1 = 'checkpoints')
  SELECT n.ref, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id
    JOIN conversations c ON c.id = x.conversation_id ${joinHolds('x')} WHERE ${staysSql('x', 'c.erasing_since IS NOT NULL')}
  UNION SELECT n.ref, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id
    ${joinHolds('x')} WHERE ${staysSql('x')}`

/**
 * Of the keys, in checkpoints the ids, that pointers of what goes name: those that a message or document names which stays, or has for its
 * id. They stay with it, and go with the last that names them.
 */
export async function othersOf(
  tx: Transaction,
  store: 'cache' | 'checkpoints' | 'objects',
  refs: readonly string[],
  goes: ReadonlySet<string>,
  now: Date,
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await queryWithin<{ ref: string; source: string }>(tx, 'pointers-of-others', standing, [
    store,
    refs,
    now,
  ])
  return new Set(rows.filter(({ source }) => !goes.has(source)).map(({ ref }) => ref))
}
