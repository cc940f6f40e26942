import type { TokenScope } from '#lib/domains/tokens/rules.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { DataRegions } from '#lib/kernel/data-regions.ts'
import type { Restriction, RestrictionReason } from '#lib/kernel/restriction.ts'
import type { LifePorts } from './life/own-agents.ts'
import type { LawfulBasis, PrivacyNotice, RegistrationMode } from './rules.ts'

export interface NewAgentToken {
  id: string
  key: string
  prefix: string
  createdAt: Date
  expiresAt: Date | null
  scopes: TokenScope[]
}
export interface AgentTokenOrder {
  agentId: string
  scopes: readonly TokenScope[]
  name: string | null
}

/** Dependencies on settings and other domains. */
export interface AgentPorts {
  registration: { mode: RegistrationMode; explicitConsent: boolean; lawfulBasis: LawfulBasis; notice: PrivacyNotice }
  tokens: {
    /** Issues a token within the tier's limit without checking permissions. */
    issue(tx: Transaction, spec: AgentTokenOrder & { expiresAt: Date | null; now: Date }): Promise<NewAgentToken>
    /** Issues a token within the actor's own scopes and lifetime. */
    grant(ctx: MutationContext, spec: AgentTokenOrder): Promise<NewAgentToken>
    /**
     * Expiry of a new token with scope `admin`.
     * @throws {Problem} `forbidden` or `step_up_required` if the actor may not grant it
     */
    endOfAdminToken(ctx: MutationContext): Date
    /** Returns the agent and scopes of an active key. */
    bearerOf(tx: Transaction, key: string, now: Date): Promise<{ agentId: string; scopes: TokenScope[] } | null>
    scopesInUse(tx: Transaction, agentId: string, now: Date): Promise<TokenScope[]>
    /** Number of active tokens per agent id; agents without any are omitted. */
    inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>>
  }
  /** Assigns the agent's data in other domains to its new owner, within the claim's transaction. */
  ownerFound(tx: Transaction, agentId: string, ownerId: string, now: Date): Promise<unknown>
  /** Parts of a person's account that affect all their agents. */
  accounts: {
    /** Locks the account until the transaction ends; undefined if it does not exist. */
    statusOf(tx: Transaction, accountId: string): Promise<(Restriction & { suspendedAt: Date | null }) | undefined>
    restrict(tx: Transaction, accountId: string, reason: RestrictionReason, now: Date): Promise<boolean>
    free(tx: Transaction, accountId: string, reason: RestrictionReason, now: Date): Promise<boolean>
    suspend(tx: Transaction, accountId: string, now: Date): Promise<boolean>
    unsuspend(tx: Transaction, accountId: string): Promise<boolean>
  }
  /** Whether tokens stop working during the grace period of an erasure. */
  graceTokens: 'stop' | 'keep'
  /** Returns those ids that belonged to an erased agent; they cannot be reused. */
  isSuppressed(tx: Transaction, kind: 'agent', values: readonly string[]): Promise<string[]>
  /** The keys that seal documents at rest. */
  documentKeys: LifePorts['documentKeys']
  /** Whether the sanitizer runs in strict mode. */
  strict: boolean
  /** The regions that agents can require. */
  regions: DataRegions
  /** Keyed hash of the network that contains the address. */
  networkMark(address: string): Uint8Array<ArrayBuffer>
}
