import type { DataRegions } from './data-regions.ts'
import type { Effect } from './effects.ts'
import type { AuditAction, Permission } from './operation.ts'
import type { Problem } from './problem.ts'

/** The application's time. Code reads it here and never from SQL's `now()`, so that tests can move it. */
export interface Clock {
  now(): Date
}

export const systemClock: Clock = { now: () => new Date() }

/** A clock that changes only when `advance` is called. */
export function movableClock(start: Date): Clock & { advance(milliseconds: number): void } {
  let at = start.getTime()
  return {
    now: () => new Date(at),
    advance: (milliseconds) => {
      at += milliseconds
    },
  }
}

/** Limits of the caller's tier: bytes per unit, units per batch, exports per day (null: no limit). */
interface Quota {
  unitBytes: number
  batch: number
  exportsPerDay: number | null
}

/** The caller, built by lib/access. A job acts as `system:<job>`. */
export interface Actor {
  kind: 'anonymous' | 'agent' | 'person' | 'system'
  /** The id in the audit log: an agent's id, `user:<id>`, `system:<job>` or `anonymous`. */
  id: string
  organisationId: string | undefined
  /** Agents whose private rows the caller may access: the agent itself, or the agents that a person owns. */
  agents: readonly string[]
  isAdmin: boolean
  /** Processing is restricted (GDPR art. 18): the caller may only read. */
  isRestricted: boolean
  /** Set for agents. A paused agent cannot write; a dead (retired) agent can do nothing. */
  status?: 'active' | 'paused' | 'dead'
  /** Set for agents: the region in which their data must stay. Null: any region. */
  region?: string | null
  accountId?: string
  sessionId?: string
  /** When the password was last entered in this session. */
  passwordAt?: Date | undefined
  /** Set for people: whether this session has a second factor, its own or that of the identity provider. */
  hasSecondFactor?: boolean
  /** A second factor is required and this session has none: only operations that are open without one can be called. */
  lacksSecondFactor?: true
  tokenId?: string
  /** The token is one that an admin issued for an agent of somebody else: it has no rights over the agent and its data. */
  isLent?: true
  /** The owner of the agent changed how they sign in after a person created the token: it does not prove that the owner agrees. */
  needsOwner?: true
  scopes: readonly string[]
  quota: Quota
  /** Returns whether the caller has the permission. It does not throw. */
  can(permission: Permission): boolean
}

/** The open transaction. lib/stores/postgres declares its members; the kernel only passes it on. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Transaction {}

/** One SQL statement of a mutation on a hot path. The pipeline adds the audit entry to it, so both take one round trip. */
export interface Statement {
  /** A constant, so that the statement is prepared only once. */
  name: string
  /** The body of a WITH list. Its last member is named `done` and returns `resource_id`. Values are $1 … $n. */
  ctes: string
  values: readonly unknown[]
}
export type SqlRow = Record<string, unknown>

export interface AuditRecord {
  action: AuditAction
  actorId: string
  resourceType: string
  resourceId: string
  at: Date
  ip: string
  /** Ids, counts and names of changed fields; never content. */
  details: Record<string, unknown>
}

/** An audit entry whose resource is not known yet. */
export type UnboundAuditRecord = Omit<AuditRecord, 'resourceId'>

export interface IdempotencyClaim {
  /** The owner of the key: a token, or an address and a body for callers without a token. */
  scope: string
  key: string
  requestHash: Uint8Array
  /** For uploads, because `requestHash` does not cover the uploaded bytes: reads the whole body and returns the hash including it. */
  wholeHash?: () => Promise<Uint8Array>
}
export interface StoredReply {
  status: number
  body: unknown
  headers: Record<string, string>
}

/** A row of the deletion log: ids and counts only. */
interface DeletionRecord {
  requestedBy: string
  reason: string
  scope: Record<string, string>
  results: Record<string, number>
  now: Date
}

/** What the pipeline needs from lower layers; lib/app.ts supplies it. */
export interface PipelinePorts {
  clock: Clock
  /** The regions that can be required here. */
  regions: DataRegions
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs the statement together with its audit entry. Returns undefined, without an audit entry, when `done` returned no row. */
  statement(statement: Statement, entry: UnboundAuditRecord | undefined, tx?: Transaction): Promise<SqlRow | undefined>
  /** Inserts all records with one statement, in this transaction. */
  auditWithin(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /**
   * Locks the account and the session of a person until the transaction ends. @throws Problem `sign_in_needed` if it was ended during the request,
   * `forbidden` if an admin lost the role
   */
  requireOpenSession(
    tx: Transaction,
    actor: Pick<Actor, 'accountId' | 'sessionId' | 'isAdmin'>,
    now: Date,
  ): Promise<void>
  /**
   * Requires that the caller of an operation that takes long could still call it: the token is active, the session open, the admin an admin.
   * `isWriting`: and that the agent is neither restricted nor paused. @throws Problem
   */
  requirePresent(
    tx: Transaction,
    actor: Pick<Actor, 'tokenId' | 'sessionId' | 'isAdmin'>,
    isWriting: boolean,
    now: Date,
  ): Promise<void>
  /** Writes the row in this transaction; it is retained for seven years. */
  recordDeletion(tx: Transaction, deletion: DeletionRecord): Promise<unknown>
  /** Resolves once the entry is stored. Entries of concurrent reads share one insert. */
  auditGrouped(record: AuditRecord): Promise<void>
  idempotency: {
    /**
     * Claims the key, or returns the reply already stored for it. Waits while another transaction with the same key is open. Throws
     * `idempotency_in_progress` while work that spans several transactions holds the key.
     */
    claim(tx: Transaction, claim: IdempotencyClaim, now: Date): Promise<StoredReply | undefined>
    complete(tx: Transaction, claim: IdempotencyClaim, reply: StoredReply & { resourceId: string }): Promise<void>
    /**
     * Keeps the key of work that is still running. `mine`: the times at which this request claimed or renewed it. @throws Problem `conflict` if
     * another request has claimed it since
     */
    renew(tx: Transaction, claim: IdempotencyClaim, mine: readonly Date[], now: Date): Promise<void>
    /** Releases a key that has no stored reply, unless another request has claimed it since. */
    release(tx: Transaction, claim: IdempotencyClaim, mine: readonly Date[]): Promise<void>
  }
}

export interface Context {
  actor: Actor
  ip: string
  requestId: string
  pipeline: PipelinePorts
  now: Date
  idempotency?: IdempotencyClaim
  /** Requests with which this one shares a slot of its pool. They share a database connection too. */
  slot?: string
  /** Why nothing may be stored. A repeated request still gets its stored reply. */
  overQuota?: Problem
  /** The effects whose guards this run consulted. Set by the pipeline. */
  consulted?: Set<Effect>
}
/** The context of a mutation, with the transaction that also stores its audit entry. */
export interface MutationContext extends Context {
  tx: Transaction
}

type Listener<T> = (tx: Transaction, event: T) => Promise<unknown>

/**
 * An event of one domain that other domains handle in the same transaction. Listeners run in the order of their registration; if one
 * throws, the publisher's transaction is rolled back.
 */
export function transactionalEvent<T>() {
  const listeners: Listener<T>[] = []
  return {
    listen(listener: Listener<T>): void {
      listeners.push(listener)
    },
    async publish(tx: Transaction, event: T): Promise<void> {
      for (const listener of listeners) await listener(tx, event)
    },
  }
}
export type TransactionalEvent<T> = ReturnType<typeof transactionalEvent<T>>
