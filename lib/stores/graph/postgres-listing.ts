import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '../postgres/statement-runner.ts'
import type { ListedElement, ListedKind } from './listing.ts'

const linked = (kind: string): string =>
  `(SELECT coalesce(jsonb_agg(l.target ORDER BY l.target), '[]') FROM graph_links l
     WHERE l.group_id = x.group_id AND l.kind = '${kind}' AND l.source = x.uuid)`
const mentioned = `(SELECT coalesce(jsonb_agg(m.entity ORDER BY m.entity), '[]') FROM graph_mentions m
  WHERE m.group_id = x.group_id AND m.episode = x.uuid)`
const shapes: Record<ListedKind, { from: string; where?: string; more?: string }> = {
  episodes: { from: 'graph_episodes', more: `jsonb_build_object('mentions', ${mentioned})` },
  entities: { from: 'graph_entities' },
  facts: { from: 'graph_facts' },
  communities: {
    from: 'graph_gatherings',
    where: "x.kind = 'community'",
    more: `jsonb_build_object('members', ${linked('member')})`,
  },
  sagas: {
    from: 'graph_gatherings',
    where: "x.kind = 'saga'",
    more: `jsonb_build_object('episodes', ${linked('episode')})`,
  },
}

/** A page of a group, ordered by uuid, after `after`. */
export async function postgresListGroup(
  tx: Transaction,
  group: string,
  kind: ListedKind,
  after: string,
  max: number,
): Promise<ListedElement[]> {
  const { from, where = 'true', more = "'{}'::jsonb" } = shapes[kind]
  return queryWithin<{ uuid: string; record: Record<string, unknown> }>(
    tx,
    `graph-listed-${kind}`,
    `SELECT x.uuid, (to_jsonb(x) - ARRAY['group_id', 'kind', 'name_embedding', 'fact_embedding']) || ${more} AS record
     FROM ${from} x WHERE x.group_id = $1 AND x.uuid > $2 AND ${where} ORDER BY x.uuid LIMIT $3`,
    [group, after, max],
  )
}
