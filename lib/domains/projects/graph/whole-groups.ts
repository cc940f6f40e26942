import type { Sources } from '#lib/domains/projects/provenance/sources.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { lockProjectsOfGroups } from './repository.ts'

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
  const rows = await lockProjectsOfGroups(tx, { groups })
  if (rows.length === 0) return new Set()
  const whole = new Set((await sources.whole(scope, tx, now)).map(({ group }) => group))
  return new Set(rows.flatMap(({ group }) => (whole.has(group) ? [] : [group])))
}
