import type { Scope } from '#lib/domains/tokens/rules.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Restriction, RestrictionReason } from '#lib/kernel/restriction.ts'
import type { AgentRegion } from './life/rules.ts'
import type { LifePorts } from './life/status.ts'
import type { LawfulBasis, Notice, RegistrationMode } from './rules.ts'

export interface IssuedToken {
  id: string
  key: string
  prefix: string
  createdAt: Date
  expiresAt: Date | null
  scopes: Scope[]
}
export interface TokenSpec {
  agentId: string
  scopes: readonly Scope[]
  name: string | null
}

/** What the domain asks others for; lib/services.ts connects it. */
export interface AgentPorts {
  registration: { mode: RegistrationMode; explicitConsent: boolean; lawfulBasis: LawfulBasis; notice: Notice }
  tokens: {
    /** Asks nobody for permission; at most as many as the tier allows. */
    issue(tx: Transaction, spec: TokenSpec & { expiresAt: Date | null; now: Date }): Promise<IssuedToken>
    /** Issues within what the actor has itself. */
    grant(ctx: MutationContext, spec: TokenSpec): Promise<IssuedToken>
    /** When a new token with scope `admin` ends. Throws `forbidden` and `step_up_required` for who may not give it. */
    endOfAdminToken(ctx: MutationContext): Date
    /** Whose key it is, when it works now. */
    bearerOf(tx: Transaction, key: string, now: Date): Promise<{ agentId: string; scopes: Scope[] } | null>
    scopesInUse(tx: Transaction, agentId: string, now: Date): Promise<Scope[]>
    /** How many of each agent's tokens work now, by its id; none: not named. */
    inUse(agents: readonly string[], now: Date): Promise<ReadonlyMap<string, number>>
  }
  /** What others keep of the agent counts as its owner's from now on; within the claim's transaction. */
  ownerFound(tx: Transaction, agentId: string, ownerId: string, now: Date): Promise<unknown>
  /** What each agent contributed, by its id, counted up to a bound; none: not named. */
  contributedBy(
    agents: readonly string[],
    bound: number,
  ): Promise<ReadonlyMap<string, { units: number; skills: number; reputation: number }>>
  /** What of a person their agents share. */
  accounts: {
    /** Held as it is until the transaction ends; undefined without such an account. */
    standingOf(tx: Transaction, accountId: string): Promise<(Restriction & { suspendedAt: Date | null }) | undefined>
    restrict(tx: Transaction, accountId: string, reason: RestrictionReason, now: Date): Promise<boolean>
    free(tx: Transaction, accountId: string, reason: RestrictionReason, now: Date): Promise<boolean>
    suspend(tx: Transaction, accountId: string, now: Date): Promise<boolean>
    unsuspend(tx: Transaction, accountId: string): Promise<boolean>
  }
  /** Whether tokens stop while the grace of an erasure runs. */
  graceTokens: 'stop' | 'keep'
  /** Those of the ids that somebody erased here had: nobody takes them again. */
  isSuppressed(tx: Transaction, kind: 'agent', values: readonly string[]): Promise<string[]>
  /** Whether text is judged strictly. */
  strict: boolean
  /** What others do when an agent dies, within the transaction; its row is locked. */
  onDeath: LifePorts['onDeath']
  /** What others do when agents that were free are restricted by law, within the transaction; their rows are locked. */
  onRestriction: readonly ((
    tx: Transaction,
    restricted: { agentIds: readonly string[]; now: Date },
  ) => Promise<unknown>)[]
  /** The new agent becomes a sibling of its ancestor's. Throws `invalid` for one that is no living agent of the owner's. */
  joinClade(
    tx: Transaction,
    joining: { agentId: string; ancestorId: string; ownerId: string; now: Date },
  ): Promise<unknown>
  /** Places outside the region that would get what an agent leaves here. */
  hindering(region: AgentRegion): readonly string[]
  /** Keyed hash of the network that an address belongs to. */
  networkMark(address: string): Uint8Array<ArrayBuffer>
  createOrganisation(tx: Transaction, name: string, now: Date): Promise<string>
  dropOrganisationIfEmpty(tx: Transaction, id: string): Promise<unknown>
}
