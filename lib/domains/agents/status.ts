import { recallOfRestricted } from '#lib/domains/clades/writes.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { Problem } from '#lib/kernel/problem.ts'
import {
  freedOf,
  type Restriction,
  type RestrictionReason,
  restrictedBy,
  restrictionReasons,
} from '#lib/kernel/restriction.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { AgentPorts } from './ports.ts'
import { agentNames, agentsOfAccount } from './queries.ts'
import { fencedAgents, lockAgentStatuses, recordFirstUse, updateAgentStatuses } from './repository.ts'
import type { ConsentState } from './rules.ts'

/** Consent and restriction of an agent. */
interface AgentStatusRow extends ConsentState {
  id: string
}
/** Ids of what changed, for the audit log: the account if it changed, and every agent that did. */
export interface AgentStatusChange {
  account: string | null
  agents: string[]
}

/** Locks and returns the subject's agents: those named and those that the person owns now. Sorted by id, the lock order used everywhere. */
export const agentStatusesOf = (tx: Transaction, { account, agents }: Subject): Promise<AgentStatusRow[]> =>
  lockAgentStatuses(tx, { owner: account, ids: agents })

const isSame = (one: ConsentState, other: ConsentState): boolean =>
  one.consentWithdrawnAt?.getTime() === other.consentWithdrawnAt?.getTime() &&
  one.restrictedAt?.getTime() === other.restrictedAt?.getTime() &&
  one.restrictedFor.join() === other.restrictedFor.join()

/**
 * Updates consent and restriction of each agent with `next` in one statement; returns the ids that changed. Recalls what newly restricted
 * agents shared.
 */
export async function changeAgentStatuses(
  tx: Transaction,
  statuses: readonly AgentStatusRow[],
  next: (status: AgentStatusRow) => Partial<ConsentState>,
  now: Date,
): Promise<string[]> {
  const restricted: string[] = []
  const changed = statuses.flatMap((status) => {
    const after: AgentStatusRow = { ...status, ...next(status) }
    if (status.restrictedAt === null && after.restrictedAt !== null) restricted.push(status.id)
    return isSame(status, after) ? [] : [after]
  })
  if (changed.length > 0) await updateAgentStatuses(tx, { statuses: changed })
  if (restricted.length > 0) await recallOfRestricted(tx, { agentIds: restricted, now })
  return changed.map(({ id }) => id).sort()
}

/**
 * Restriction and suspension of an agent after a person claims it: the person's are added to its own. The account stays locked until the
 * transaction ends, so that no agent escapes a concurrent change.
 */
export async function sharedAgentStatus(
  tx: Transaction,
  { accounts, graceTokens }: Pick<AgentPorts, 'accounts' | 'graceTokens'>,
  ownerId: string,
  own: Restriction,
  now: Date,
): Promise<Restriction & { suspendedAt?: Date }> {
  const owner = await accounts.statusOf(tx, ownerId)
  if (!owner) throw new Problem('sign_in_needed')
  const reasons = restrictionReasons.filter((reason) => owner.restrictedFor.includes(reason))
  const { restrictedAt, restrictedFor } = reasons.reduce(
    (restriction: Restriction, reason) => restrictedBy(restriction, reason, now),
    own,
  )
  return { restrictedAt, restrictedFor, ...(owner.suspendedAt && graceTokens === 'stop' && { suspendedAt: now }) }
}

/** Restricts, suspends and reverts both, for a person with all their agents (including agents claimed later) or for single agents. */
export function agentStatusPorts({ accounts, graceTokens }: Pick<AgentPorts, 'accounts' | 'graceTokens'>) {
  async function apply(
    tx: Transaction,
    subject: Subject,
    onAccount: (accountId: string) => Promise<boolean>,
    next: (restriction: Restriction) => Restriction,
    now: Date,
  ): Promise<AgentStatusChange> {
    // Lock the account first: this waits for a concurrent claim, whose agent is then included.
    const changed = subject.account !== null && (await onAccount(subject.account))
    return {
      account: changed ? subject.account : null,
      agents: await changeAgentStatuses(tx, await agentStatusesOf(tx, subject), next, now),
    }
  }

  return {
    /** Adds a restriction reason. Idempotent. */
    restrict: (tx: Transaction, subject: Subject, reason: RestrictionReason, now: Date): Promise<AgentStatusChange> =>
      apply(
        tx,
        subject,
        (accountId) => accounts.restrict(tx, accountId, reason, now),
        (restriction) => restrictedBy(restriction, reason, now),
        now,
      ),

    /** Removes a restriction reason; other reasons remain in force. */
    unrestrict: (tx: Transaction, subject: Subject, reason: RestrictionReason, now: Date): Promise<AgentStatusChange> =>
      apply(
        tx,
        subject,
        (accountId) => accounts.free(tx, accountId, reason, now),
        (restriction) => freedOf(restriction, reason),
        now,
      ),

    /** Starts the grace period of an erasure: tokens stop working immediately unless `KP_GRACE_TOKENS` keeps them. */
    async suspend(tx: Transaction, subject: Subject, now: Date): Promise<AgentStatusChange> {
      const { account } = subject
      const changed = account !== null && (await accounts.suspend(tx, account, now))
      const ids = graceTokens === 'stop' ? (await agentStatusesOf(tx, subject)).map(({ id }) => id) : []
      const suspended = await tx.agent.updateManyAndReturn({
        where: { id: { in: ids }, suspendedAt: null },
        data: { suspendedAt: now },
        select: { id: true },
      })
      return { account: changed ? account : null, agents: suspended.map(({ id }) => id).sort() }
    },

    /**
     * Reactivates tokens and sign-in, except for agents that an erasure has fenced. If another erasure is pending for some of the agents,
     * call {@link suspend} again in the same transaction.
     */
    async unsuspend(tx: Transaction, subject: Subject, _now: Date): Promise<AgentStatusChange> {
      const { account } = subject
      const changed = account !== null && (await accounts.unsuspend(tx, account))
      const ids = (await agentStatusesOf(tx, subject)).map(({ id }) => id)
      // Read after locking: an erasure locks the agents' rows while it raises a fence.
      const fenced = new Set((await fencedAgents(tx, { ids })).map(({ id }) => id))
      const freed = await tx.agent.updateManyAndReturn({
        where: { id: { in: ids.filter((id) => !fenced.has(id)) }, suspendedAt: { not: null } },
        data: { suspendedAt: null },
        select: { id: true },
      })
      return { account: changed ? account : null, agents: freed.map(({ id }) => id).sort() }
    },

    agentsOfAccount,

    namesOf: agentNames,

    /** The account that owns the agent; null if unclaimed, undefined if the agent does not exist. */
    async ownerOf(tx: Transaction, agentId: string): Promise<string | null | undefined> {
      const record = await tx.agent.findUnique({ where: { id: agentId }, select: { ownerId: true } })
      return record?.ownerId
    },
  }
}

/** Records the first use of any token of the agent. Agents without it are purged after a day. Returns false if there is no such agent. */
export const noteFirstUse = async (db: Database, agentId: string, now: Date): Promise<boolean> =>
  (await recordFirstUse(db, { agent: agentId, now })) > 0
