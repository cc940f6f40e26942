import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { queryWithin } from './statement.ts'

const inForce = (now: string): string => `(h.expires_at IS NULL OR h.expires_at > ${now}::timestamptz)`

/**
 * Selects the ids of everything that legal holds in force cover: held agents, the agents of held accounts, and these accounts. Retention
 * jobs skip them and delete what is due after the hold has ended. `now` is a placeholder.
 */
export const agentsUnderLegalHold = (now: string): string =>
  `SELECT h.target_id FROM holds_in_force h WHERE h.kind IN ('agent', 'account') AND ${inForce(now)}
   UNION ALL SELECT o.id FROM holds_in_force h JOIN agent_owners o ON o.owner_id = h.target_id WHERE h.kind = 'account' AND ${inForce(now)}`

/**
 * Waits for a hold that is being set. Until the end of the transaction, none can be set or ended. Call it before the statement that
 * reads the holds.
 */
export const lockHolds = (tx: Transaction): Promise<unknown> =>
  tx.$executeRaw`SELECT pg_advisory_xact_lock_shared(hashtext('legal_holds'))`

/**
 * Call it before deleting a record, or replacing bytes in the object store. Changing a row does not need it: a hold does not prevent work or
 * rectification (GDPR art. 16), because a trigger preserves the former version. @throws `held` with the hold's id, without its reason, if
 * a legal hold covers the agent at that time
 */
export async function rejectAgentUnderLegalHold(
  tx: Transaction,
  agentId: string,
  now: Date,
  outcome = 'nothing was erased',
): Promise<void> {
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
      detail: `A legal hold covers this agent, so ${outcome}. Ask an admin for details, or to release the hold.`,
      extensions: { hold_id: hold.id },
    })
}
