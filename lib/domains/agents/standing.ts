import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'
import { Problem } from '#lib/kernel/problem.ts'
import {
  freedOf,
  type Restriction,
  type RestrictionReason,
  restrictedBy,
  restrictionReasons,
} from '#lib/kernel/restriction.ts'
import type { AgentPorts } from './ports.ts'
import type { ConsentState } from './rules.ts'

/** An agent, and how it stands. */
export interface Standing extends ConsentState {
  id: string
}
/** What changed, by ids, for the audit log: the account when it did, and every agent that did. */
export interface StandingChange {
  account: string | null
  agents: string[]
}

/** The subject's agents, locked: those that are named, and those that the person owns now. Sorted, as everybody locks them. */
export const standingsOf = (tx: Transaction, { account, agents }: Subject): Promise<Standing[]> =>
  tx.$queryRaw<Standing[]>`
    SELECT id, consent_withdrawn_at AS "consentWithdrawnAt", restricted_at AS "restrictedAt", restricted_for AS "restrictedFor"
    FROM agents WHERE owner_id = ${account} OR id = ANY(${[...agents]}::text[]) ORDER BY id FOR NO KEY UPDATE`

const isSame = (one: ConsentState, other: ConsentState): boolean =>
  one.consentWithdrawnAt?.getTime() === other.consentWithdrawnAt?.getTime() &&
  one.restrictedAt?.getTime() === other.restrictedAt?.getTime() &&
  one.restrictedFor.join() === other.restrictedFor.join()

/** Sets each agent's consent and restriction as `next` says, in one statement; gives the ids of those that changed. Others hear who is restricted by it. */
export async function changeStandings(
  tx: Transaction,
  standings: readonly Standing[],
  next: (standing: Standing) => Partial<ConsentState>,
  { onRestriction, now }: Pick<AgentPorts, 'onRestriction'> & { now: Date },
): Promise<string[]> {
  const restricted: string[] = []
  const changed = standings.flatMap((standing) => {
    const after: Standing = { ...standing, ...next(standing) }
    if (standing.restrictedAt === null && after.restrictedAt !== null) restricted.push(standing.id)
    return isSame(standing, after) ? [] : [after]
  })
  if (changed.length > 0)
    await tx.$executeRaw`
      UPDATE agents a SET consent_withdrawn_at = n."consentWithdrawnAt", restricted_at = n."restrictedAt", restricted_for = n."restrictedFor"
      FROM jsonb_to_recordset(${JSON.stringify(changed)}::jsonb)
        AS n(id text, "consentWithdrawnAt" timestamptz, "restrictedAt" timestamptz, "restrictedFor" text[])
      WHERE a.id = n.id`
  if (restricted.length > 0) for (const listen of onRestriction) await listen(tx, { agentIds: restricted, now })
  return changed.map(({ id }) => id).sort()
}

/**
 * How an agent stands once it is that person's: restricted for their reasons too, and suspended where they are. Their standing holds
 * until the transaction ends, so that none of their agents escapes.
 */
export async function sharedStanding(
  tx: Transaction,
  { accounts, graceTokens }: Pick<AgentPorts, 'accounts' | 'graceTokens'>,
  ownerId: string,
  own: Restriction,
  now: Date,
): Promise<Restriction & { suspendedAt?: Date }> {
  const owner = await accounts.standingOf(tx, ownerId)
  if (!owner) throw new Problem('sign_in_needed')
  const reasons = restrictionReasons.filter((reason) => owner.restrictedFor.includes(reason))
  const { restrictedAt, restrictedFor } = reasons.reduce(
    (standing: Restriction, reason) => restrictedBy(standing, reason, now),
    own,
  )
  return { restrictedAt, restrictedFor, ...(owner.suspendedAt && graceTokens === 'stop' && { suspendedAt: now }) }
}

/** Restricting, suspending and their opposites, for a person with all their agents, those that they claim later included, or for agents alone. */
export function agentStanding({
  accounts,
  graceTokens,
  onRestriction,
}: Pick<AgentPorts, 'accounts' | 'graceTokens' | 'onRestriction'>) {
  async function apply(
    tx: Transaction,
    subject: Subject,
    onAccount: (accountId: string) => Promise<boolean>,
    next: (standing: Restriction) => Restriction,
    now: Date,
  ): Promise<StandingChange> {
    // The account first: a claim that is under way is waited for, and its agent is among those found then.
    const changed = subject.account !== null && (await onAccount(subject.account))
    return {
      account: changed ? subject.account : null,
      agents: await changeStandings(tx, await standingsOf(tx, subject), next, { onRestriction, now }),
    }
  }

  return {
    /** Adds a reason. Repeating it changes nothing. */
    restrict: (tx: Transaction, subject: Subject, reason: RestrictionReason, now: Date): Promise<StandingChange> =>
      apply(
        tx,
        subject,
        (accountId) => accounts.restrict(tx, accountId, reason, now),
        (standing) => restrictedBy(standing, reason, now),
        now,
      ),

    /** Takes a reason away; what is restricted for another stays so. */
    unrestrict: (tx: Transaction, subject: Subject, reason: RestrictionReason, now: Date): Promise<StandingChange> =>
      apply(
        tx,
        subject,
        (accountId) => accounts.free(tx, accountId, reason, now),
        (standing) => freedOf(standing, reason),
        now,
      ),

    /** The grace of an erasure begins: no token works from the next request on, unless the installation keeps them (`KP_GRACE_TOKENS`). */
    async suspend(tx: Transaction, subject: Subject, now: Date): Promise<StandingChange> {
      const { account } = subject
      const changed = account !== null && (await accounts.suspend(tx, account, now))
      const ids = graceTokens === 'stop' ? (await standingsOf(tx, subject)).map(({ id }) => id) : []
      const suspended = await tx.agent.updateManyAndReturn({
        where: { id: { in: ids }, suspendedAt: null },
        data: { suspendedAt: now },
        select: { id: true },
      })
      return { account: changed ? account : null, agents: suspended.map(({ id }) => id).sort() }
    },

    /**
     * Tokens and sign-in work again, but for agents that an erasure has fenced. Of agents for which another one waits, ask
     * {@link suspend} again in the same transaction.
     */
    async unsuspend(tx: Transaction, subject: Subject, _now: Date): Promise<StandingChange> {
      const { account } = subject
      const changed = account !== null && (await accounts.unsuspend(tx, account))
      const ids = (await standingsOf(tx, subject)).map(({ id }) => id)
      // After the lock: whoever raises a fence holds the agents' rows while they do.
      const fenced = await tx.$queryRaw<{ id: string }[]>`
        SELECT id FROM fenced WHERE kind = 'agent' AND id = ANY(${ids}::text[])`
      const gone = new Set(fenced.map(({ id }) => id))
      const freed = await tx.agent.updateManyAndReturn({
        where: { id: { in: ids.filter((id) => !gone.has(id)) }, suspendedAt: { not: null } },
        data: { suspendedAt: null },
        select: { id: true },
      })
      return { account: changed ? account : null, agents: freed.map(({ id }) => id).sort() }
    },

    /** The agents that the account owns now, sorted. */
    async agentsOfAccount(tx: Transaction, accountId: string): Promise<string[]> {
      const owned = await tx.agent.findMany({
        where: { ownerId: accountId },
        select: { id: true },
        orderBy: { id: 'asc' },
      })
      return owned.map(({ id }) => id)
    },

    /** The names of those of the agents that have one. */
    async namesOf(tx: Transaction, agentIds: readonly string[]): Promise<Map<string, string>> {
      const found = await tx.agent.findMany({
        where: { id: { in: [...agentIds] }, name: { not: null } },
        select: { id: true, name: true },
      })
      return new Map(found.flatMap(({ id, name }) => (name === null ? [] : [[id, name]])))
    },

    /** The account that owns the agent; null for one that nobody claimed, undefined for none. */
    async ownerOf(tx: Transaction, agentId: string): Promise<string | null | undefined> {
      const found = await tx.agent.findUnique({ where: { id: agentId }, select: { ownerId: true } })
      return found?.ownerId
    },
  }
}
