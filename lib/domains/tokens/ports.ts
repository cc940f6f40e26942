import type { GatePorts, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Scope, TierName } from './rules.ts'

/** What tokens need to know of the agent that they belong to. */
export interface AgentStanding {
  id: string
  tier: TierName
  ownerId: string | null
  organisationId: string
}
export interface AgentProfile extends AgentStanding {
  name: string | null
  readsPerMinute: number | null
  writesPerMinute: number | null
  lawfulBasis: string
  noticeVersion: string
  consentAt: Date | null
  consentVia: string | null
  consentWithdrawnAt: Date | null
  restrictedAt: Date | null
}

/** What the domain asks others for; lib/services.ts connects it. */
export interface TokenPorts {
  gate: Pick<GatePorts, 'clock' | 'auditWithin'>
  /** `lock` holds the agent's row until the transaction ends: whatever counts an agent's tokens takes it first. */
  agentOf(tx: Transaction, agentId: string, options?: { lock?: boolean }): Promise<AgentStanding | null>
  profileOf(agentId: string): Promise<AgentProfile | null>
  /** Puts the mail into the queue, with the transaction. */
  notify(
    tx: Transaction,
    mail: { kind: 'token-revoked' | 'token-issued'; accountId: string; keyPrefix: string },
  ): Promise<void>
}

export interface TokenSpec {
  agentId: string
  scopes: readonly Scope[]
  name: string | null
  expiresAt: Date | null
  /** An admin makes it for an agent of somebody else. */
  issuedByAdmin?: boolean
}
/** A token as it was made; the key is nowhere else. */
export interface IssuedToken {
  id: string
  key: string
  prefix: string
  createdAt: Date
  expiresAt: Date | null
  scopes: Scope[]
  issuedByAdmin: boolean
}
export type IssueToken = (tx: Transaction, spec: TokenSpec & { now: Date }) => Promise<IssuedToken>
/** Without `expiresAt` the token lasts as long as its giver may make it. */
export type GrantToken = (
  ctx: MutationContext,
  spec: Omit<TokenSpec, 'expiresAt'> & { expiresAt?: Date | undefined },
) => Promise<IssuedToken>
