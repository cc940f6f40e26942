import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/data-source.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

const standing = `SELECT p.group_id AS group FROM projects p WHERE p.group_id = ANY($1::text[]) AND p.status <> 'closed' AND p.erasing_since IS NULL
  ORDER BY p.id FOR UPDATE`

/**
 * Of the groups planned for complete erasure, those whose projects now have other participants. Locks the projects: nobody can join one
 * until the transaction ends.
 */
export async function groupsOfOthers(
  sources: Sources,
  scope: ErasureScope,
  groups: readonly string[],
  tx: Transaction,
  now: Date,
): Promise<Set<string>> {
  if (groups.length === 0) return new Set()
  const rows = await queryWithin<{ group: string }>(tx, 'groups-standing', standing, [groups])
  if (rows.length === 0) return new Set()
  const whole = new Set((await sources.whole(scope, tx, now)).map(({ group }) => group))
  return new Set(rows.flatMap(({ group }) => (whole.has(group) ? [] : [group])))
}
