import type { Clock } from './clock.ts'
import type { AuditAction, Permission } from './operation.ts'
import type { Problem } from './problem.ts'

/** What its tier allows in one request or day: bytes of a unit, units of a batch, exports (null: no limit). */
export interface Quota {
  unitBytes: number
  batch: number
  exportsPerDay: number | null
}

/** Who acts. Built by lib/access; a job is `system:<job>`. */
export interface Actor {
  kind: 'anonymous' | 'agent' | 'person' | 'system'
  /** As the audit log names it: an agent's id, `user:<id>`, `system:<job>`, `anonymous`. */
  id: string
  organisationId: string | undefined
  /** The agents whose private rows it may touch: itself, or those that a person owns. */
  agents: readonly string[]
  isAdmin: boolean
  /** GDPR art. 18: it may read, and nothing else. */
  isRestricted: boolean
  /** Of an agent, what its owner made of it: a paused one writes nothing, a dead one does nothing. */
  status?: 'active' | 'paused' | 'dead'
  accountId?: string
  sessionId?: string
  /** When the password was last entered in this session. */
  passwordAt?: Date | undefined
  tokenId?: string
  scopes: readonly string[]
  quota: Quota
  /** Whether the permission is given; a refusal comes with the right problem. */
  can(permission: Permission): boolean
}

/** The open transaction. lib/stores/postgres says what it is; the kernel only carries it. */
// biome-ignore lint/suspicious/noEmptyInterface: filled by declaration merging
export interface Transaction {}

/** One SQL statement of a mutation on a hot path; the gate joins the audit entry to it, for one round trip. */
export interface Statement {
  /** Fixed, so that it is prepared once. */
  name: string
  /** The body of a WITH list whose last member is called `done` and returns `resource_id`. Values are $1 … $n. */
  ctes: string
  values: readonly unknown[]
}
export type Row = Record<string, unknown>

export interface AuditRecord {
  action: AuditAction
  actorId: string
  resourceType: string
  resourceId: string
  at: Date
  ip: string
  /** Never content: ids, counts, names of changed fields. */
  details: Record<string, unknown>
}

export interface IdempotencyClaim {
  /** Whose key it is: a token, or an address and a body for those who have none yet. */
  scope: string
  key: string
  requestHash: Uint8Array
  /** Of an upload, whose `requestHash` knows no bytes yet: the hash with the whole body, which it reads to its end. */
  wholeHash?: () => Promise<Uint8Array>
}
export interface StoredReply {
  status: number
  body: unknown
  headers: Record<string, string>
}

/** A row of the deletion log: ids and counts only. */
export interface Deletion {
  requestedBy: string
  reason: string
  scope: Record<string, string>
  results: Record<string, number>
  now: Date
}

/** What the gate needs from below; lib/services.ts connects it. */
export interface GatePorts {
  clock: Clock
  transaction<T>(run: (tx: Transaction) => Promise<T>): Promise<T>
  /** Runs the statement with its audit entry; undefined when `done` was empty, and then nothing was audited. */
  statement(
    statement: Statement,
    entry: Omit<AuditRecord, 'resourceId'> | undefined,
    tx?: Transaction,
  ): Promise<Row | undefined>
  /** However many there are: one insert, with the rest of the transaction. */
  auditWithin(tx: Transaction, ...records: readonly AuditRecord[]): Promise<void>
  /** Writes the row with the rest of the transaction; it is retained for seven years. */
  recordDeletion(tx: Transaction, deletion: Deletion): Promise<unknown>
  /** Resolves once the entry is stored; entries of concurrent reads share one insert. */
  auditGrouped(record: AuditRecord): Promise<void>
  idempotency: {
    /**
     * Takes the key, or gives the answer that it already has. Waits for a transaction with the same key that is under way; work in several
     * transactions is refused meanwhile (`idempotency_in_progress`).
     */
    claim(tx: Transaction, claim: IdempotencyClaim, now: Date): Promise<StoredReply | undefined>
    complete(tx: Transaction, claim: IdempotencyClaim, reply: StoredReply & { resourceId: string }): Promise<void>
    /** Gives a key back that has no answer. */
    release(tx: Transaction, claim: IdempotencyClaim): Promise<void>
  }
}

export interface Context {
  actor: Actor
  ip: string
  requestId: string
  gate: GatePorts
  now: Date
  idempotency?: IdempotencyClaim
  /** Why nothing may be stored; a repetition of an earlier request is answered all the same. */
  overQuota?: Problem
}
/** What a mutation sees: the context and the transaction that its audit entry commits with. */
export interface MutationContext extends Context {
  tx: Transaction
}
