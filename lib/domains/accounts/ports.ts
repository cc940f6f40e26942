import type { RequireApproval } from '#lib/kernel/approval.ts'
import type { MutationContext, PipelinePorts, Transaction } from '#lib/kernel/context.ts'
import type { EmailKind } from './email-choices/rules.ts'
import type { Tries } from './passwords.ts'
import type { Challenges, RelyingParty } from './second-factors/passkeys.ts'
import type { FactorPolicy } from './second-factors/rules.ts'

/** The setting that says who must have a second factor. */
export interface FactorPolicySetting {
  read(on?: Transaction): Promise<FactorPolicy>
  /** Returns the policy from a cache that is at most one second old. */
  recent(): Promise<FactorPolicy>
  store(tx: Transaction, value: FactorPolicy, change: { now: Date; by: string }): Promise<void>
}
/** Removes an address from the suppression list after its owner showed that they want an account. */
export type Unsuppress = (tx: Transaction, kind: 'email', value: string) => Promise<unknown>

/** Keys, settings, and writes of other domains that accounts need. */
export interface AccountsDeps {
  pipeline: Pick<PipelinePorts, 'clock' | 'transaction' | 'auditWithin'>
  requireApproval: RequireApproval
  tries: Tries
  /** Returns the network that limits count an address to. */
  networkOf(address: string): string
  /** Key for the hashes of known sign-ins. */
  markKey: () => Uint8Array
  challenges: Challenges
  /** Key that seals the secrets of authenticator apps. */
  totpKey: () => Uint8Array
  party: RelyingParty
  factorPolicy: FactorPolicySetting
  /** Whether people can sign in during the grace period of their erasure. */
  graceSignIn: 'keep' | 'stop'
  unsuppress: Unsuppress
  /** Destroys telemetry keys of people who turned telemetry off, and of their agents. */
  destroyTelemetryKeys(tx: Transaction, now: Date): Promise<unknown>
  /**
   * Revokes the tokens with scope `admin` of the person's agents, and those that the person created for other agents, and returns their
   * number. The account must be locked, and its sessions ended or locked.
   */
  revokeAdminTokens(ctx: MutationContext, accountId: string, reason: 'owner_role' | 'owner_closed'): Promise<number>
  /** Called when the person changed how they sign in: existing tokens of their agents no longer prove that the person agrees. */
  requireOwner(tx: Transaction, accountId: string): Promise<void>
  unsubscribeLinks: { targetOf(token: string): { accountId: string; kinds: EmailKind[] } | undefined }
}
