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
/** What tokens need of the pipeline and of approvals. */
export interface TokenPorts {
  pipeline: Pick<PipelinePorts, 'clock' | 'auditWithin'>
  requireApproval: RequireApproval
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
  /** The issuing token does not prove that the owner of the agent agrees, so the new one does not either. */
  ownerConfirms?: boolean
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
  spec: Omit<TokenOrder, 'expiresAt' | 'issuedByTokenId' | 'ownerConfirms'> & {
    expiresAt?: Date | undefined
    /** The request that creates it, if a second admin can approve it. */
    request?: ApprovalRequest
  },
) => Promise<NewToken>
