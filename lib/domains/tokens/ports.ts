import type { ApprovalRequest, RequireApproval } from '#lib/kernel/approval.ts'
import type { MutationContext, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import type { TierName, TokenScope } from './rules.ts'

/** Properties of the owning agent that token rules depend on. */
export interface TokenAgentStatus {
  id: string
  tier: TierName
  ownerId: string | null
  organisationId: string
}
export interface AgentProfile extends TokenAgentStatus {
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
  pipeline: Pick<PipelinePorts, 'clock' | 'auditWithin'>
  /** `lock` locks the agent's row until the transaction ends. Lock it before counting the agent's tokens. */
  agentOf(tx: Transaction, agentId: string, options?: { lock?: boolean }): Promise<TokenAgentStatus | null>
  requireApproval: RequireApproval
  profileOf(agentId: string): Promise<AgentProfile | null>
  /** Queues the email within the transaction. */
  notify(
    tx: Transaction,
    mail: { kind: 'token-revoked' | 'token-issued'; accountId: string; keyPrefix: string; descendants?: number },
  ): Promise<void>
}

export interface TokenOrder {
  agentId: string
  scopes: readonly TokenScope[]
  name: string | null
  expiresAt: Date | null
  /** An admin issues the token for an agent that they do not own. */
  issuedByAdmin?: boolean
  /** The token with which it is created: the revocation of that one revokes it as well. */
  issuedByTokenId?: string | null
}
/** A newly issued token. The raw key is not stored anywhere. */
export interface NewToken {
  id: string
  key: string
  prefix: string
  createdAt: Date
  expiresAt: Date | null
  scopes: TokenScope[]
  issuedByAdmin: boolean
  issuedByTokenId: string | null
}
export type IssueToken = (tx: Transaction, spec: TokenOrder & { now: Date }) => Promise<NewToken>
/** Without `expiresAt` the token gets the longest lifetime that the actor may grant. If the actor is a token, that token is its issuer. */
export type GrantToken = (
  ctx: MutationContext,
  spec: Omit<TokenOrder, 'expiresAt' | 'issuedByTokenId'> & {
    expiresAt?: Date | undefined
    /** The request that creates it, if a second admin can approve it. */
    request?: ApprovalRequest
  },
) => Promise<NewToken>
