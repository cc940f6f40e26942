import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * SQL: the ids of graph groups or threads in $2 that are outside the namespace of organization $1. Its namespace contains ids with its own
 * prefix or with an assigned prefix. If `is_any` is set, it also contains every id outside the namespaces of other organizations.
 */
const outside = `SELECT i.id FROM unnest($2::text[]) AS i(id) LEFT JOIN organisation_namespaces own ON own.id = $1
  WHERE NOT coalesce(starts_with(i.id, own.id || '_')
    OR EXISTS (SELECT FROM unnest(own.namespaces) AS n WHERE n <> '*' AND starts_with(i.id, n))
    OR (own.is_any AND NOT EXISTS (SELECT FROM organisation_namespaces o WHERE o.id <> $1
      AND (o.id = substring(i.id FROM '^(org_[0-9A-Za-z]{22})_')
        OR EXISTS (SELECT FROM unnest(o.namespaces) AS n WHERE n <> '*' AND starts_with(i.id, n))))), false)`

/** The ids that the organization may not claim in connected stores. Empty for admins: their claim is its own approval. */
export async function outsideNamespace(
  tx: Transaction,
  actor: Actor,
  organisationId: string | undefined,
  ids: readonly string[],
): Promise<ReadonlySet<string>> {
  if (actor.isAdmin || ids.length === 0) return new Set()
  const rows = await queryWithin<{ id: string }>(tx, 'outside-namespace', outside, [organisationId ?? null, ids])
  return new Set(rows.map(({ id }) => id))
}

export const namespaceAdvice = (organisationId: string | undefined): string =>
  `Use an id that begins with ${organisationId ?? 'the organisation’s id'}_, or ask an admin to assign a namespace.`
