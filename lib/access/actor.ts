import type { StorageSubject } from '#lib/domains/quotas/measuring.ts'
import { type TierLimits, type TierName, tierLimits } from '#lib/domains/tokens/rules.ts'
import type { Actor } from '#lib/kernel/context.ts'
import type { Permission } from '#lib/kernel/operation.ts'
import { permits, type Standing } from './permissions.ts'

/** An actor with its rate limits. */
export interface Caller {
  actor: Actor
  /** The owner of the window: a token and its successors by rotation, an account, or an address. */
  limitKey: string
  reads: number
  writes: number
  /** The owner of the storage quota that its writes count in. */
  storage?: StorageSubject | undefined
  /** Other tokens count in the same window, so an exceeded limit is not evidence against this one. */
  isWindowShared?: boolean
}

const organisation = (id: string): StorageSubject => ({ kind: 'organisation', id })

export interface TokenRow {
  id: string
  agent_id: string
  limit_key: string
  scopes: string[]
  expires_at: Date | null
  revoked_at: Date | null
  last_used_at: Date | null
  organisation_id: string
  tier: TierName
  reads_per_minute: number | null
  writes_per_minute: number | null
  restricted_at: Date | null
  /** Set while an erasure of its agent is pending: see {@link TokenLookup}. */
  suspended_at: Date | null
  /** The agent's status, set by its owner. */
  status: 'active' | 'paused' | 'dead'
  region: string | null
  /** Keyed hash of the network, for an unclaimed agent of the free tier. */
  network: string | null
  /** Whether such an agent counts in its network's window. */
  shares_window: boolean
}

export function agentCaller(row: TokenRow): Caller {
  const tier: TierLimits = tierLimits[row.tier]
  const isAdmin = row.scopes.includes('admin')
  const isWindowShared = row.shares_window && row.network !== null
  const standings: Standing[] = ['agent']
  for (const scope of ['read', 'write', 'admin'] as const)
    if (row.scopes.includes(scope)) standings.push(`scope:${scope}`)
  return {
    actor: {
      kind: 'agent',
      id: row.agent_id,
      organisationId: row.organisation_id,
      agents: [row.agent_id],
      isAdmin,
      isRestricted: row.restricted_at !== null,
      status: row.status,
      region: row.region,
      tokenId: row.id,
      scopes: row.scopes,
      quota: tier,
      can: (permission) => permits(standings, permission),
    },
    limitKey: isWindowShared ? `network:${row.network}` : `token:${row.limit_key}`,
    isWindowShared,
    storage: row.network === null ? organisation(row.organisation_id) : { kind: 'network', id: row.network },
    reads: row.reads_per_minute ?? tier.reads,
    writes: row.writes_per_minute ?? tier.writes,
  }
}

export interface SessionRow {
  session_id: string
  account_id: string
  organisation_id: string
  role: 'person' | 'manager' | 'auditor' | 'admin'
  password_at: Date | null
  agents: string[]
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
