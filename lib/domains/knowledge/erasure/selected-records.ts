import { type ErasableKind, recordsById, recordsWithHolds } from '#lib/domains/knowledge/erasure/records/repository.ts'
import { storeGains, withdraw } from '#lib/domains/knowledge/reputation/award.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Planned } from '#lib/kernel/data-source.ts'
import type { ErasureScope } from '#lib/kernel/erasure-scope.ts'
import { type PlannedRow, plannedOf, preferIndexes } from '#lib/stores/postgres/legal-hold-rows.ts'

/**
 * The units or skills that an erasure selects: all records of these agents, and single records by id. A legal hold on a
 * single record rejects the request before the erasure, so only records of agents are compared with holds.
 */
export interface SelectedRecords {
  agents: readonly string[]
  ids: readonly string[]
}

/** The records of one kind that a scope selects. */
export function selectedRecords(scope: ErasureScope, kind: ErasableKind): SelectedRecords {
  if ('subject' in scope) return { agents: scope.subject.agents, ids: [] }
  if (kind === 'unit' && 'unit' in scope) return { agents: [], ids: [scope.unit] }
  if (kind === 'skill' && 'skill' in scope) return { agents: [], ids: [scope.skill] }
  return { agents: [], ids: [] }
}

export const selectsNothing = ({ agents, ids }: SelectedRecords): boolean => agents.length + ids.length === 0

/** Plans the erasure of the records of one kind that a scope selects. */
export async function planRecords(
  scope: ErasureScope,
  kind: ErasableKind,
  tx: Transaction,
  now: Date,
): Promise<Planned> {
  const { agents, ids } = selectedRecords(scope, kind)
  const rows: PlannedRow[] = []
  if (agents.length > 0) {
    await preferIndexes(tx)
    rows.push(...(await recordsWithHolds(tx, { agents, now }, kind)))
  }
  if (ids.length > 0) rows.push(...(await recordsById(tx, { ids }, kind)))
  return plannedOf(rows)
}

/**
 * Removes erased records from the reputation ledger. The erasure of a single record also revokes what others gained by
 * it. The erasure of a subject keeps their gains, without naming the record. Call it last: reputations are always locked
 * last.
 */
export async function removeFromReputation(
  tx: Transaction,
  erased: readonly string[],
  { agents, ids }: SelectedRecords,
  now: Date,
): Promise<void> {
  if (ids.length > 0) await withdraw(tx, erased, now)
  else await storeGains(tx, erased, agents)
}
