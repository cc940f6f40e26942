import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * Of the keys that pointers of what goes name: those that a message or document names which stays. They stay with it, and go with the last
 * that names them.
 */
export async function othersOf(
  tx: Transaction,
  store: 'cache' | 'objects',
  refs: readonly string[],
  goes: ReadonlySet<string>,
): Promise<Set<string>> {
  if (refs.length === 0) return new Set()
  const rows = await queryWithin<{ ref: string; source: string }>(
    tx,
    'pointers-of-others',
    `SELECT DISTINCT v.ref, v.source_id AS source FROM provenance v WHERE v.store = $1 AND v.ref = ANY($2::text[]) AND (
       EXISTS (SELECT FROM messages m JOIN conversations c ON c.id = m.conversation_id
         WHERE v.source_kind = 'message' AND m.id = v.source_id AND m.erasing_since IS NULL AND c.erasing_since IS NULL)
       OR EXISTS (SELECT FROM documents d WHERE v.source_kind = 'document' AND d.id = v.source_id AND d.erasing_since IS NULL))`,
    [store, refs],
  )
  return new Set(rows.filter(({ source }) => !goes.has(source)).map(({ ref }) => ref))
}
