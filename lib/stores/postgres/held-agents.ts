import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { queryWithin } from './database.ts'

const inForce = (now: string): string => `(h.expires_at IS NULL OR h.expires_at > ${now}::timestamptz)`

/**
 * Ids of agents that legal holds in force cover: those that are held, those of held accounts, and these accounts themselves. What goes by
 * the clock passes over them, and takes what is due when the hold has ended. `now` is a placeholder.
 */
export const heldAgents = (now: string): string =>
  `SELECT h.target_id FROM holds_in_force h WHERE h.kind IN ('agent', 'account') AND ${inForce(now)}
   UNION ALL SELECT o.id FROM holds_in_force h JOIN agent_owners o ON o.owner_id = h.target_id WHERE h.kind = 'account' AND ${inForce(now)}`

/** A hold that is being set is waited for; from here to the transaction's end none is set or ended. Before the statement that asks for them. */
export const lockHolds = (tx: Transaction): Promise<unknown> =>
  tx.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))`

/**
 * Throws `held`, with the hold's id and not its reason, when a legal hold covers the agent at that time. Whoever deletes a record asks;
 * whoever changes one does not, as with units: a hold keeps records, and does not end work or rectification (GDPR art. 16).
 */
export async function refuseHeldAgent(tx: Transaction, agentId: string, now: Date): Promise<void> {
  await lockHolds(tx)
  const [hold] = await queryWithin<{ id: string }>(
    tx,
    'agent-held',
    `SELECT h.id FROM holds_in_force h WHERE ${inForce('$2')} AND ((h.kind = 'agent' AND h.target_id = $1)
       OR (h.kind = 'account' AND h.target_id IN (SELECT owner_id FROM agent_owners WHERE id = $1))) ORDER BY h.id LIMIT 1`,
    [agentId, now],
  )
  if (hold)
    throw new Problem('held', {
      detail: 'A legal hold covers this agent, so nothing was erased. An admin can say more, and release it.',
      extensions: { hold_id: hold.id },
    })
}
