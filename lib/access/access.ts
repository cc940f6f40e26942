import { openSession, type SessionRow } from '#lib/domains/accounts/repository.ts'
import { hasSecondFactor } from '#lib/domains/accounts/second-factors/rules.ts'
import { noteFirstUse } from '#lib/domains/agents/status.ts'
import type { StorageSubject } from '#lib/domains/quotas/admission.ts'
import { isTokenKey } from '#lib/domains/tokens/keys.ts'
import { type TierLimits, tierLimits } from '#lib/domains/tokens/rules.ts'
import {
  noteFirstTokenUse,
  noteTokenUses,
  presentToken,
  type TokenLookupRow,
  tokensByHash,
} from '#lib/domains/tokens/usage.ts'
import { sharedQuestion } from '#lib/kernel/concurrency.ts'
import type { Actor, Clock, Transaction } from '#lib/kernel/context.ts'
import { actsAsAdmin } from '#lib/kernel/effects.ts'
import { hashOf } from '#lib/kernel/ids.ts'
import { limitKeyOf, widerWindow } from '#lib/kernel/network-keys.ts'
import type { OperationShape, Permission, Verb } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Limiter, RateLimitWindow } from './limiter.ts'

/** What qualifies an actor for a verb. One table for all domains: a new domain needs no line here. */
type ActorRole =
  | 'anonymous'
  | 'agent'
  | 'scope:read'
  | 'scope:write'
  | 'scope:privacy'
  | 'scope:admin'
  | 'person'
  | 'manager'
  | 'auditor'
  | 'admin'
  | 'anonymous-reader'

const allowed: Record<Verb, readonly ActorRole[]> = {
  read: ['scope:read', 'scope:admin', 'person', 'manager', 'auditor', 'admin', 'anonymous-reader'],
  write: ['scope:write', 'scope:admin', 'person', 'manager', 'admin'],
  privacy: ['scope:privacy', 'person', 'manager', 'auditor', 'admin'],
  self: ['agent', 'person', 'manager', 'auditor', 'admin'],
  person: ['person', 'manager', 'auditor', 'admin'],
  audit: ['auditor', 'admin', 'scope:admin'],
  admin: ['admin', 'scope:admin'],
}
const verbs = new Set<string>(Object.keys(allowed))
const isVerb = (text: string): text is Verb => verbs.has(text)

/** Denies unknown permissions. */
export function permits(statuses: readonly ActorRole[], permission: Permission): boolean {
  if (permission === 'public') return true
  const verb = permission.slice(permission.lastIndexOf(':') + 1)
  return isVerb(verb) && allowed[verb].some((status) => statuses.includes(status))
}

/** How long uses are collected before they are written, in milliseconds. */
const usesEvery = 2_000

export interface TokenLookup {
  /**
   * The token's current row in the database. A suspended token is also rejected, except for operations that show or cancel the pending
   * erasure: an agent without an owner has no other way. @throws the matching 401 problem
   */
  find(key: string, operation: Pick<OperationShape, 'isOpenToSuspended'>): Promise<TokenLookupRow>
  /** Writes the uses collected so far. */
  flushUses(): Promise<void>
  close(): Promise<void>
}

/**
 * Finds tokens. Every request queries the database, so that a revoked token is rejected on the next request on every replica. Requests
 * that arrive during a query share the next one.
 */
export function tokenLookup(db: Database, clock: Clock): TokenLookup {
  const lookUp = sharedQuestion<Buffer, TokenLookupRow | undefined>(async (hashes) => {
    const rows = await tokensByHash(db, hashes)
    const byHash = new Map(rows.map((row) => [row.hash.toString('latin1'), row]))
    return hashes.map((hash) => byHash.get(hash.toString('latin1')))
  })
  let uses = new Map<string, Date>()
  const timer = setInterval(() => void flushUses().catch(() => {}), usesEvery).unref()

  async function flushUses(): Promise<void> {
    if (uses.size === 0) return
    const written = uses
    uses = new Map()
    await noteTokenUses(db, written)
  }

  /**
   * Writes the first use immediately: agents that never used a token are purged, so a crash must not lose it. The agent comes first: after
   * a crash in between, the token still has no use, and its next request repeats both.
   */
  async function firstUse(row: TokenLookupRow, now: Date): Promise<void> {
    const isStored = (await noteFirstUse(db, row.agent_id, now)) && (await noteFirstTokenUse(db, row.id, now))
    if (!isStored) throw unknown()
  }

  const unknown = () =>
    new Problem('token_invalid', {
      detail: 'This token does not exist. Check the key, or create a new token.',
      headers: challenge('invalid_token'),
    })

  return {
    flushUses,
    async find(key, { isOpenToSuspended }) {
      if (!isTokenKey(key))
        throw new Problem('token_invalid', {
          detail: 'The key is not a valid KnowledgePulse token: a character is missing or wrong. Copy it again.',
          headers: challenge('invalid_token'),
        })
      const row = await lookUp(hashOf(key))
      const now = clock.now()
      if (!row) throw unknown()
      if (row.revoked_at)
        throw new Problem('token_revoked', {
          detail: 'Use another token, or register a new agent.',
          headers: challenge('invalid_token'),
        })
      if (row.expires_at && row.expires_at <= now)
        throw new Problem('token_expired', {
          detail: 'Create a new token with another token of the agent, or ask its owner for one.',
          headers: challenge('invalid_token'),
        })
      if (row.suspended_at && !isOpenToSuspended)
        throw new Problem('token_suspended', {
          detail:
            'The erasure of this agent was requested, so its tokens are suspended. During the grace period, the erasure can be cancelled. If the agent requested it, send POST /api/privacy/requests/{id}/cancel with this token (GET /api/privacy/requests returns the id). If its owner requested it, the owner can cancel it in the console or with the link in the email.',
          headers: challenge('invalid_token'),
        })
      if (row.last_used_at === null) await firstUse(row, now)
      else uses.set(row.id, now)
      return row
    },
    async close() {
      clearInterval(timer)
      await flushUses()
    },
  }
}

/** RFC 6750 §3 challenge. */
export const challenge = (error?: string): Record<string, string> => ({
  'WWW-Authenticate': `Bearer realm="KnowledgePulse"${error ? `, error="${error}"` : ''}`,
})

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
type CalledOperation = Pick<OperationShape, 'id' | 'method' | 'permission'>

const organisation = (id: string): StorageSubject => ({ kind: 'organisation', id })

/**
 * The caller with a token. A lent token, which an admin issued for an agent of somebody else, must not reach what the admin cannot: it owns no
 * agent, and reads like somebody outside of the organization. The pipeline rejects what is not open to it. The scope `admin` gives rights
 * over others only in operations of admins: in all others, the token can read and write for its own agent.
 */
function agentCaller(row: TokenLookupRow, operation: CalledOperation): Caller {
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

/** See {@link PipelinePorts.requirePresent}. */
export async function requirePresent(
  tx: Transaction,
  actor: Pick<Actor, 'tokenId' | 'sessionId' | 'isAdmin'>,
  isWriting: boolean,
  now: Date,
): Promise<void> {
  const { tokenId, sessionId } = actor
  const rest = 'What was stored before remains.'
  if (tokenId !== undefined) {
    const token = await presentToken(tx, tokenId, now)
    if (!token)
      throw new Problem('token_revoked', {
        detail: `The token was revoked, expired or suspended during the request. ${rest}`,
        headers: challenge('invalid_token'),
      })
    if (isWriting && token.is_restricted)
      throw new Problem('restricted', `The processing of this agent was restricted during the request. ${rest}`)
    if (token.status === 'dead') throw new Problem('dead', `The agent was retired during the request. ${rest}`)
    if (isWriting && token.status === 'paused')
      throw new Problem('paused', `The agent was paused during the request. ${rest}`)
  }
  if (sessionId !== undefined) {
    const [session] = await openSession(tx, { id: sessionId, now })
    if (!session) throw new Problem('sign_in_needed', `Your session was ended during the request. ${rest}`)
    if (actor.isAdmin && session.role !== 'admin')
      throw new Problem('forbidden', `Your account lost the role admin during the request. ${rest}`)
  }
}

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

type RequestClass = 'read' | 'write'
interface RequestCredentials {
  headers: { get(name: string): string | null }
}
interface AccessDeps {
  tokens: TokenLookup
  limiter: Limiter
  /** The person behind a session cookie, from the current state of the database; undefined if there is none. */
  session(cookie: string): Promise<Caller | undefined>
  /** Whether anonymous reading of network units is enabled. */
  anonymousReading(): Promise<boolean>
  /** Stores a 429 as evidence; returns true if this one revoked the token. */
  keepRefusal(refusal: {
    tokenId: string
    requestClass: RequestClass
    limit: number
    consumed: number
    ip: string
    windowEnds: Date
  }): Promise<boolean>
  /** Counts one request of a token, synchronously in memory. */
  countUse(tokenId: string, what: 'reads' | 'writes' | 'refused'): void
}
export type Access = ReturnType<typeof createAccess>

/** The window that decides about a request of a caller. */
interface CountedWindow extends RateLimitWindow {
  /** The window that the caller's token exceeded by its own requests; undefined if it did not, or if there is no token. */
  violated: RateLimitWindow | undefined
}

/** Identifies callers and enforces their rate limits. */
export function createAccess(deps: AccessDeps) {
  /** Counts an IPv6 address in its /64 and also in its /48, which has 16 times the limit: a /48 contains 65,536 /64 networks. */
  async function consume(key: string, limit: number, isAddress: boolean): Promise<RateLimitWindow> {
    const wider = isAddress ? widerWindow({ key, limit }) : undefined
    const [own, of48] = await Promise.all([
      deps.limiter.consume(key, limit),
      wider === undefined ? undefined : deps.limiter.consume(wider.key, wider.limit),
    ])
    return of48 && !of48.allowed && own.allowed ? of48 : own
  }

  return {
    anonymous: async (address: string): Promise<Caller> => anonymousCaller(limitKeyOf(address), false),
    /** Counts a request by its address, for all callers together. */
    countAddress: (what: string, address: string, limit: number): Promise<RateLimitWindow> =>
      consume(`${what}:${limitKeyOf(address)}`, limit, true),
    /** Identifies the caller. An invalid token is rejected with 401 and never treated as anonymous. */
    async identify(
      request: RequestCredentials,
      address: string,
      operation: CalledOperation & Pick<OperationShape, 'isOpenToSuspended'>,
    ): Promise<Caller> {
      const authorization = request.headers.get('authorization')
      if (authorization !== null) {
        const key = /^Bearer +(\S+) *$/i.exec(authorization)?.[1]
        if (key === undefined)
          throw new Problem('token_invalid', {
            detail: 'Send it as "Authorization: Bearer kp_…".',
            headers: challenge('invalid_request'),
          })
        return agentCaller(await deps.tokens.find(key, operation), operation)
      }
      const cookie = request.headers.get('cookie')
      const person = cookie === null ? undefined : await deps.session(cookie)
      if (person) return person
      // Queried only for read permissions: the liveness check must not depend on the database.
      const mayRead = operation.permission.endsWith(':read') && (await deps.anonymousReading())
      return anonymousCaller(limitKeyOf(address), mayRead)
    },
    async count(caller: Caller, requestClass: RequestClass): Promise<CountedWindow> {
      const limit = requestClass === 'read' ? caller.reads : caller.writes
      const { tokenId } = caller.actor
      // In a shared window, other agents may have sent the requests. The token's own requests are counted in addition.
      const [window, own] = await Promise.all([
        consume(`${caller.limitKey}:${requestClass}`, limit, caller.actor.kind === 'anonymous'),
        caller.ownLimitKey === undefined
          ? undefined
          : deps.limiter.consume(`${caller.ownLimitKey}:${requestClass}`, limit),
      ])
      if (tokenId !== undefined)
        deps.countUse(tokenId, !window.allowed ? 'refused' : requestClass === 'read' ? 'reads' : 'writes')
      const decisive = own ?? window
      return { ...window, violated: tokenId === undefined || decisive.allowed ? undefined : decisive }
    },
    /** Records an exceeded limit as evidence. Only a token's own violations count against it. A fault here must not replace the 429. */
    async recordRefusal(
      caller: Caller,
      requestClass: RequestClass,
      { violated }: CountedWindow,
      ip: string,
    ): Promise<boolean> {
      const { tokenId } = caller.actor
      if (tokenId === undefined || violated === undefined) return false
      const { limit, consumed, resetAt } = violated
      return deps.keepRefusal({ tokenId, requestClass, limit, consumed, ip, windowEnds: resetAt })
    },
    limiter: deps.limiter,
  }
}
