import type { Transaction } from '#lib/kernel/context.ts'
import { agentsUnderLegalHold, lockHolds } from '#lib/stores/postgres/agents-under-legal-hold.ts'
import { queryWithin } from '#lib/stores/postgres/database.ts'

/**
 * Serializes changes to the deltas of a clade: delta numbers become visible in order, so that an acknowledgement never
 * covers an unread delta. Lock order: after the agent's own row and before everything else.
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
 * Recalls active shares and the shares that siblings derived from them: destroys their payloads, withdraws pending
 * deltas and tells the agents that fetched them to remove them. Idempotent. A legal hold does not stop the recall, but
 * keeps the sealed copy out of reach until it ends ({@link destroyRecalled}).
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
  await lockHolds(tx)
  const gone = await queryWithin<{ id: string }>(
    tx,
    'clade-recall',
    `WITH RECURSIVE gone AS (
       SELECT unnest($1::text[]) AS id UNION SELECT s.id FROM clade_shares s JOIN gone g ON s.parents @> ARRAY[g.id])
     UPDATE clade_shares s SET sealed = CASE WHEN s.agent_id IN (${agentsUnderLegalHold('$2')}) THEN s.sealed END, recalled_at = $2 FROM gone WHERE s.id = gone.id AND s.recalled_at IS NULL RETURNING s.id`,
    [first.map(({ id }) => id), asked.now],
  )
  const shares = gone.map(({ id }) => id).sort()
  return { shares, ...(await callBack(tx, shares)) }
}

/** Destroys the payloads of recalled shares whose legal hold has ended. Returns their number. */
export async function destroyRecalled(tx: Transaction, { now, batch }: { now: Date; batch: number }): Promise<number> {
  await lockHolds(tx)
  const gone = await queryWithin(
    tx,
    'clade-destroy-recalled',
    `UPDATE clade_shares SET sealed = NULL WHERE id IN (SELECT id FROM clade_shares WHERE recalled_at IS NOT NULL AND sealed IS NOT NULL
       AND agent_id NOT IN (${agentsUnderLegalHold('$1')}) LIMIT ${batch} FOR UPDATE SKIP LOCKED) RETURNING 1`,
    [now],
  )
  return gone.length
}

/**
 * Deletes the deltas and cards of retired agents, which are unreachable since the retirement. Data under legal hold is
 * deleted when the hold ends. `agentId` limits the deletion to one retired agent.
 */
export async function removeOfRetired(tx: Transaction, { agentId, now }: { agentId?: string; now: Date }) {
  await lockHolds(tx)
  const [which, name] = agentId === undefined ? ["status = 'dead'", 'the-dead'] : ['id = $2', 'one-that-died']
  const dead = `SELECT id FROM agent_states WHERE ${which} AND id NOT IN (${agentsUnderLegalHold('$1')})`
  const values = agentId === undefined ? [now] : [now, agentId]
  const removed = async (table: string) => {
    const text = `DELETE FROM ${table} WHERE agent_id IN (${dead}) RETURNING 1`
    return (await queryWithin(tx, `${table}-of-${name}`, text, values)).length
  }
  return { deltasDeleted: await removed('clade_deltas'), cardsDeleted: await removed('performance_cards') }
}

/**
 * Withdraws unfetched deltas, and tells agents that fetched a share to remove it by a delta with a new highest number.
 * An unfetched delta is a stopped delivery, so a legal hold does not keep it.
 */
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
