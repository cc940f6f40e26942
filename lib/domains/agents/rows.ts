import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AgentRow, agentProfile, lockAgent } from './repository.ts'

/** Reads the agent. `lock` locks its row until the transaction ends: other locks wait, but rows that refer to it can still be written. */
export async function agentOf(tx: Transaction, agentId: string, { lock = false } = {}): Promise<AgentRow | null> {
  if (lock) await lockAgent(tx, { agent: agentId })
  return tx.agent.findUnique({ where: { id: agentId } })
}

/** Reads the agent outside of any transaction. */
export const profileOf =
  (db: Database) =>
  async (agentId: string): Promise<AgentRow | null> =>
    (await agentProfile(db, { agent: agentId }))[0] ?? null
