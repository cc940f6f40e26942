import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Properties of an agent that other domains may read. */
export interface AgentRow {
  id: string
  name: string | null
  tier: TierName
  ownerId: string | null
  organisationId: string
  readsPerMinute: number | null
  writesPerMinute: number | null
  lawfulBasis: string
  noticeVersion: string
  consentAt: Date | null
  consentVia: string | null
  consentWithdrawnAt: Date | null
  restrictedAt: Date | null
  restrictedFor: string[]
  suspendedAt: Date | null
  createdAt: Date
}

/** Reads the agent. `lock` locks its row until the transaction ends: other locks wait, but rows that refer to it can still be written. */
export async function agentOf(tx: Transaction, agentId: string, { lock = false } = {}): Promise<AgentRow | null> {
  if (lock) await tx.$queryRaw`SELECT 1 FROM agents WHERE id = ${agentId} FOR NO KEY UPDATE`
  return tx.agent.findUnique({ where: { id: agentId } })
}

const selectProfile = `SELECT id, name, tier, owner_id AS "ownerId", organisation_id AS "organisationId",
    reads_per_minute AS "readsPerMinute", writes_per_minute AS "writesPerMinute", lawful_basis AS "lawfulBasis",
    notice_version AS "noticeVersion", consent_at AS "consentAt", consent_via AS "consentVia",
    consent_withdrawn_at AS "consentWithdrawnAt", restricted_at AS "restrictedAt",
    restricted_for AS "restrictedFor", suspended_at AS "suspendedAt", created_at AS "createdAt"
  FROM agents WHERE id = $1`

/** Reads the agent outside of any transaction. */
export const profileOf =
  (db: Database) =>
  async (agentId: string): Promise<AgentRow | null> =>
    (await db.query<AgentRow>('agent-profile', selectProfile, [agentId]))[0] ?? null
