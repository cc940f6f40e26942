import {
  type AuthoredTable,
  covered,
  joinProjectHolds,
  projectHoldSql,
  projectHoldsSql,
  scopePart,
} from '#lib/domains/projects/legal-holds.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureOptions, ErasureScope } from '#lib/kernel/data-source.ts'
import type { GraphStore } from '#lib/stores/graph/graph.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'
import type { EntityKinds } from './entity-kinds.ts'
import type { GroupItems } from './items.ts'
import { searched } from './planned-episodes.ts'
import type { Policy } from './rules.ts'
import { namedByOthers } from './shared-episodes.ts'

/** The label mapping of a group's project; empty if the group belongs to no project. */
async function entityKindsOf(tx: Transaction, group: string): Promise<EntityKinds> {
  const project = await tx.project.findUnique({ where: { groupId: group }, select: { entityKinds: true } })
  const told = project?.entityKinds
  if (typeof told !== 'object' || told === null || Array.isArray(told)) return {}
  return Object.fromEntries(
    Object.entries(told).flatMap(([label, kind]) => (kind === 'person' || kind === 'business' ? [[label, kind]] : [])),
  )
}

/** The texts of messages and documents whose rows still exist. */
const textsOf = `SELECT id AS source, content AS text FROM messages WHERE id = ANY($1::text[])
    UNION ALL SELECT message_id, content FROM message_edits WHERE message_id = ANY($1::text[])
    UNION ALL SELECT document_id, content FROM document_chunks WHERE document_id = ANY($1::text[])`

/** Episodes of a page: `planned` ones, and those that name the page's sources and may be newer than the plan (`found`). */
export async function episodesInGroup(
  { graph }: { graph: GraphStore },
  { group, episodes, told, about, unsearched }: GroupItems,
  tx: Transaction,
): Promise<{ planned: string[]; found: string[] }> {
  const texts =
    unsearched.length === 0
      ? []
      : await queryWithin<{ source: string; text: string }>(tx, 'graph-texts', textsOf, [unsearched])
  const found = await searched(graph, tx, { group, ids: [...about, ...unsearched], texts })
  return { planned: [...new Set([...episodes, ...told])].sort(), found: [...found.keys()].sort() }
}

/** Facts that episodes ended, as reported by messages and documents of the group's own project. Reports of other projects are ignored. */
const endings = `SELECT v.ref, v.ended FROM provenance v JOIN projects p ON p.id = v.project_id
  WHERE v.store = 'graph' AND v.ref = ANY($2::text[]) AND v.place IN ('', $1) AND p.group_id = $1 AND v.ended <> '{}'
    AND (EXISTS (SELECT FROM messages m WHERE v.source_kind = 'message' AND m.id = v.source_id AND m.project_id = p.id)
      OR EXISTS (SELECT FROM documents d WHERE v.source_kind = 'document' AND d.id = v.source_id AND d.project_id = p.id))
  ORDER BY v.ref, v.id`

/** Records of a scope in a group that are not under legal hold, with their episodes; `$3` is the present, `$4` the group. */
const going = (kind: AuthoredTable, where: string): string => `WITH ${projectHoldsSql('$3')}
  SELECT x.id AS source, v.ref FROM ${kind} x JOIN projects p ON p.id = x.project_id ${joinProjectHolds('x')}
    LEFT JOIN provenance v ON v.source_id = x.id AND v.store = 'graph' AND v.place IN ('', $4)
  WHERE ${where} AND p.group_id = $4 AND ${projectHoldSql} IS NULL`

/** All episodes of a group that pointers assign to a scope, on every page. */
export async function goingOf(scope: ErasureScope, group: string, tx: Transaction, now: Date): Promise<Set<string>> {
  const [sources, episodes] = [new Set<string>(), new Set<string>()]
  for (const kind of ['messages', 'documents'] as const) {
    const which = covered(scope, kind)
    if (!which) continue
    const rows = await queryWithin<{ source: string; ref: string | null }>(
      tx,
      `graph-going-${scopePart(scope)?.kind ?? 'subject'}-${kind}`,
      going(kind, which.where),
      [...which.values, now, group],
    )
    for (const { source, ref } of rows) {
      sources.add(source)
      if (ref !== null) episodes.add(ref)
    }
  }
  for (const uuid of (await namedByOthers(tx, group, [...episodes], sources, now)).keys()) episodes.delete(uuid)
  return episodes
}

/** The policy for these episodes: the project's label mapping, and the facts that their authors report as ended. */
export async function redactionPolicyOf(
  group: string,
  episodes: readonly string[],
  scope: ErasureScope,
  tx: Transaction,
  { redacts, now }: Pick<ErasureOptions, 'redacts' | 'now'>,
): Promise<{ ended: string[]; policy: Policy }> {
  const rows = await queryWithin<{ ref: string; ended: string[] }>(tx, 'graph-told-endings', endings, [group, episodes])
  const endedBy = new Map<string, string[]>()
  for (const { ref, ended } of rows) for (const fact of ended) endedBy.set(fact, [...(endedBy.get(fact) ?? []), ref])
  const goes = endedBy.size > 0 ? await goingOf(scope, group, tx, now) : new Set<string>()
  const entityKinds = await entityKindsOf(tx, group)
  return { ended: [...endedBy.keys()].sort(), policy: { entityKinds, redacts, provenance: { endedBy, goes } } }
}
