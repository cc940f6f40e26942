import type { Transaction } from '#lib/kernel/context.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * Whoever changes what siblings are sent waits here for whoever else does: numbers of deltas become visible in their order, so that
 * acknowledging up to one acknowledges nothing that was not read. Locked after the agent's own row, and before nothing.
 */
export const lockClade = (tx: Transaction, cladeIds: readonly string[]) =>
  queryWithin(tx, 'clade-locked', 'SELECT 1 FROM clades WHERE id = ANY($1::text[]) ORDER BY id FOR NO KEY UPDATE', [
    cladeIds,
  ])

export interface Recalled {
  shares: string[]
  withdrawn: number
  toAcknowledge: number
}

/**
 * Recalls shares that stand, and what siblings made of them: what they held is destroyed, who never fetched them gets nothing, and who did
 * is told to remove them. Repeating it changes nothing.
 */
export async function recallShares(
  tx: Transaction,
  asked: ({ of: readonly string[] } | { ids: readonly string[] }) & { now: Date },
): Promise<Recalled> {
  const first = await queryWithin<{ id: string; clade_id: string }>(
    tx,
    'clade-shares-standing',
    'SELECT id, clade_id FROM clade_shares WHERE recalled_at IS NULL AND (agent_id = ANY($1::text[]) OR id = ANY($2::text[]))',
    'of' in asked ? [asked.of, []] : [[], asked.ids],
  )
  if (first.length === 0) return { shares: [], withdrawn: 0, toAcknowledge: 0 }
  await lockClade(tx, [...new Set(first.map(({ clade_id }) => clade_id))])
  const gone = await queryWithin<{ id: string }>(
    tx,
    'clade-recall',
    `WITH RECURSIVE gone AS (
       SELECT unnest($1::text[]) AS id UNION SELECT s.id FROM clade_shares s JOIN gone g ON s.parents @> ARRAY[g.id])
     UPDATE clade_shares s SET sealed = NULL, recalled_at = $2 FROM gone WHERE s.id = gone.id AND s.recalled_at IS NULL RETURNING s.id`,
    [first.map(({ id }) => id), asked.now],
  )
  const shares = gone.map(({ id }) => id).sort()
  return { shares, ...(await callBack(tx, shares)) }
}

/** Nobody fetches these shares any more; who did is told to remove them, by a number that comes after all that they have read. */
export async function callBack(
  tx: Transaction,
  shares: readonly string[],
): Promise<{ withdrawn: number; toAcknowledge: number }> {
  const withdrawn = await queryWithin(
    tx,
    'clade-withdraw',
    "DELETE FROM clade_deltas WHERE share_id = ANY($1::text[]) AND delivered_at IS NULL AND state IN ('pending', 'expired') RETURNING 1",
    [shares],
  )
  const told = await queryWithin(
    tx,
    'clade-call-back',
    `UPDATE clade_deltas SET state = 'recalling', seq = nextval(pg_get_serial_sequence('clade_deltas', 'seq'))
     WHERE share_id = ANY($1::text[]) AND state IN ('pending', 'delivered', 'expired') RETURNING 1`,
    [shares],
  )
  return { withdrawn: withdrawn.length, toAcknowledge: told.length }
}
