import type { SessionRow } from '#lib/domains/accounts/repository.ts'
import { hasSecondFactor } from '#lib/domains/accounts/second-factors/rules.ts'
import type { StorageSubject } from '#lib/domains/quotas/queries.ts'
import { type TierLimits, tierLimits } from '#lib/domains/tokens/rules.ts'
import type { TokenLookupRow } from '#lib/domains/tokens/usage.ts'
import type { Actor } from '#lib/kernel/context.ts'
import { actsAsAdmin } from '#lib/kernel/effects.ts'
import type { OperationShape, Permission } from '#lib/kernel/operation.ts'
import { type ActorRole, permits } from './permissions.ts'

/** An actor with its rate limits. */
export interface Caller {
  actor: Actor
  /** The owner of the window: a token and its successors by rotation, an account, or an address. */
  limitKey: string
  reads: number
  writes: number
  /** The owner of the storage quota that its writes count in. */
  storage?: StorageSubject | undefined
  /**
   * Set if other tokens count in the same window, so that exceeding it is no evidence against this one: the key under which only the
   * requests of the token and its successors are counted.
   */
  ownLimitKey?: string | undefined
}

/** The members of an operation that determine the rights of its callers. */
export type CalledOperation = Pick<OperationShape, 'id' | 'method' | 'permission'>

const organisation = (id: string): StorageSubject => ({ kind: 'organisation', id })

/**
 * The caller with a token. A lent token, which an admin issued for an agent of somebody else, must not reach what the admin cannot: it owns no
 * agent, and reads like somebody outside of the organization. The pipeline rejects what is not open to it. The scope `admin` gives rights
 * over others only in operations of admins: in all others, the token can read and write for its own agent.
 */
export function agentCaller(row: TokenLookupRow, operation: CalledOperation): Caller {
  const tier: TierLimits = tierLimits[row.tier]
  const { permission } = operation
  const isAdmin = row.scopes.includes('admin') && actsAsAdmin(operation)
  const isLent = row.issued_by_admin
  const isWindowShared = row.shares_window && row.network !== null
  const statuses: ActorRole[] = ['agent']
  for (const scope of ['read', 'write'] as const)
    if (row.scopes.includes(scope) || row.scopes.includes('admin')) statuses.push(`scope:${scope}`)
  if (row.scopes.includes('privacy')) statuses.push('scope:privacy')
  if (isAdmin) statuses.push('scope:admin')
  return {
    actor: {
      kind: 'agent',
      id: row.agent_id,
      organisationId: isLent && permission.endsWith(':read') ? undefined : row.organisation_id,
      agents: isLent ? [] : [row.agent_id],
      ...(isLent && { isLent }),
      ...(row.owner_confirms && { needsOwner: true }),
      isAdmin,
      isRestricted: row.restricted_at !== null,
      status: row.status,
      region: row.region,
      tokenId: row.id,
      scopes: row.scopes,
      quota: tier,
      can: (permission) => permits(statuses, permission),
    },
    limitKey: isWindowShared ? `network:${row.network}` : `token:${row.limit_key}`,
    ownLimitKey: isWindowShared ? `token:${row.limit_key}` : undefined,
    storage: row.network === null ? organisation(row.organisation_id) : { kind: 'network', id: row.network },
    reads: row.reads_per_minute ?? tier.reads,
    writes: row.writes_per_minute ?? tier.writes,
  }
}

/** A person, with the limits of the pro tier. */
export const personCaller = (row: SessionRow): Caller => ({
  actor: {
    kind: 'person',
    id: `user:${row.account_id}`,
    organisationId: row.organisation_id,
    agents: row.agents,
    isAdmin: row.role === 'admin',
    isRestricted: false,
    accountId: row.account_id,
    sessionId: row.session_id,
    passwordAt: row.password_at ?? undefined,
    hasSecondFactor: hasSecondFactor(row),
    scopes: [],
    quota: tierLimits.pro,
    can: (permission) => permits([row.role], permission),
  },
  limitKey: `account:${row.account_id}`,
  storage: organisation(row.organisation_id),
  reads: tierLimits.pro.reads,
  writes: tierLimits.pro.writes,
})

/** The caller with one additional permission. */
export const permittedTo = (caller: Caller, permission: Permission): Caller => ({
  ...caller,
  actor: { ...caller.actor, can: (asked) => asked === permission || caller.actor.can(asked) },
})

export const anonymousCaller = (address: string, mayRead: boolean): Caller => ({
  actor: {
    kind: 'anonymous',
    id: 'anonymous',
    organisationId: undefined,
    agents: [],
    isAdmin: false,
    isRestricted: false,
    scopes: [],
    quota: tierLimits.anonymous,
    can: (permission) => permits(mayRead ? ['anonymous', 'anonymous-reader'] : ['anonymous'], permission),
  },
  limitKey: `address:${address}`,
  reads: tierLimits.anonymous.reads,
  writes: tierLimits.anonymous.writes,
})
