import { joinProjectHolds, projectHoldsSql, staysSql } from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * The remaining sources of episodes. $1: a group; $2: episodes; $3: the present. Sources are messages and documents of the group's own
 * project that are not being erased or that a legal hold retains. Pointers of other projects are ignored.
 */
const naming = `WITH ${projectHoldsSql('$3')},
  named AS MATERIALIZED (SELECT DISTINCT v.ref, v.source_kind, v.source_id, v.project_id FROM provenance v JOIN projects p ON p.id = v.project_id
    WHERE v.store = 'graph' AND v.ref = ANY($2::text[]) AND v.place IN ('', $1) AND p.group_id = $1)
  SELECT n.ref, x.id AS source FROM named n JOIN messages x ON n.source_kind = 'message' AND x.id = n.source_id AND x.project_id = n.project_id
    JOIN conversations c ON c.id = x.conversation_id ${joinProjectHolds('x')} WHERE ${staysSql('x', 'c.erasing_since IS NOT NULL')}
  UNION SELECT n.ref, x.id FROM named n JOIN documents x ON n.source_kind = 'document' AND x.id = n.source_id AND x.project_id = n.project_id
    ${joinProjectHolds('x')} WHERE ${staysSql('x')}`

/**
 * Episodes that pointers also assign to remaining sources: by uuid, the number of these sources. Such an episode is deleted with its last
 * source. `going`: ids of the sources that are being erased.
 */
export async function namedByOthers(
  tx: Transaction,
  group: string,
  uuids: readonly string[],
  going: ReadonlySet<string>,
  now: Date,
): Promise<ReadonlyMap<string, number>> {
  if (uuids.length === 0) return new Map()
  const rows = await queryWithin<{ ref: string; source: string }>(tx, 'graph-named-by', naming, [group, uuids, now])
  const others = new Map<string, number>()
  for (const { ref, source } of rows) if (!going.has(source)) others.set(ref, (others.get(ref) ?? 0) + 1)
  return others
}
