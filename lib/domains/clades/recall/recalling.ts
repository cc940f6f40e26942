import type { Transaction } from '#lib/kernel/context.ts'
import { lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { lockClades } from '../repository.ts'
import { activeShares, deleteOfRetired, markRecalled, recallDeltas, withdrawDeltas } from './repository.ts'

export interface Recalled {
  shares: string[]
  withdrawn: number
  toAcknowledge: number
}

/**
 * Recalls active shares and the shares that siblings derived from them: destroys their payloads, withdraws pending deltas and orders the
 * agents that fetched them to remove them. Idempotent. A legal hold does not stop the recall, but keeps the sealed copy out of reach until
 * it ends ({@link destroyRecalledPayloads}).
 */
export async function recallShares(
  tx: Transaction,
  { of = [], ids = [], now }: { of?: readonly string[]; ids?: readonly string[]; now: Date },
): Promise<Recalled> {
  const active = await activeShares(tx, { agents: of, ids })
  if (active.length === 0) return { shares: [], withdrawn: 0, toAcknowledge: 0 }
  await lockClades(tx, { ids: [...new Set(active.map(({ clade_id }) => clade_id))] })
  await lockHolds(tx)
  const recalled = await markRecalled(tx, { ids: active.map(({ id }) => id), now })
  const shares = recalled.map(({ id }) => id).sort()
  return { shares, ...(await callBack(tx, shares)) }
}

/**
 * Deletes the deltas and cards of retired agents, which are unreachable since the retirement. Data under legal hold is deleted when the
 * hold ends. `agentId` limits the deletion to one retired agent.
 */
export async function removeOfRetired(tx: Transaction, { agentId, now }: { agentId?: string; now: Date }) {
  await lockHolds(tx)
  const values = { agent: agentId ?? null, now }
  return {
    deltasDeleted: await deleteOfRetired(tx, values, 'clade_deltas'),
    cardsDeleted: await deleteOfRetired(tx, values, 'performance_cards'),
  }
}

/**
 * Withdraws unfetched deltas, and orders agents that fetched a share to remove it by a delta with a new highest number. An unfetched delta
 * is a stopped delivery, so a legal hold does not keep it.
 */
export async function callBack(
  tx: Transaction,
  shares: readonly string[],
): Promise<{ withdrawn: number; toAcknowledge: number }> {
  const withdrawn = await withdrawDeltas(tx, { shares })
  return { withdrawn, toAcknowledge: await recallDeltas(tx, { shares }) }
}
