import type { GatePorts, MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Scope, TierName } from './rules.ts'

/** Properties of the owning agent that token rules depend on. */
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

/** Dependencies on other domains; `lib/app.ts` provides them. */
export interface TokenPorts {
  gate: Pick<GatePorts, 'clock' | 'auditWithin'>
  /** `lock` locks the agent's row until the transaction ends. Lock it before counting the agent's tokens. */
  agentOf(tx: Transaction, agentId: string, options?: { lock?: boolean }): Promise<AgentStanding | null>
  profileOf(agentId: string): Promise<AgentProfile | null>
  /** Queues the email within the transaction. */
  notify(
    tx: Transaction,
    mail: { kind: 'token-revoked' | 'token-issued'; accountId: string; keyPrefix: string; descendants?: number },
  ): Promise<void>
}

export interface TokenSpec {
  agentId: string
  scopes: readonly Scope[]
  name: string | null
  expiresAt: Date | null
  /** An admin issues the token for an agent that they do not own. */
  issuedByAdmin?: boolean
  /** The token with which it is created: the revocation of that one revokes it as well. */
  issuedByTokenId?: string | null
}
/** A newly issued token. The raw key is not stored anywhere. */
export interface IssuedToken {
  id: string
  key: string
  prefix: string
  createdAt: Date
  expiresAt: Date | null
  scopes: Scope[]
  issuedByAdmin: boolean
  issuedByTokenId: string | null
}
export type IssueToken = (tx: Transaction, spec: TokenSpec & { now: Date }) => Promise<IssuedToken>
/** Without `expiresAt` the token gets the longest lifetime that the actor may grant. If the actor is a token, that token is its issuer. */
export type GrantToken = (
  ctx: MutationContext,
  spec: Omit<TokenSpec, 'expiresAt' | 'issuedByTokenId'> & { expiresAt?: Date | undefined },
) => Promise<IssuedToken>
