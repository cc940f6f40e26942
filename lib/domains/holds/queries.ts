import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { holdsOfProjects, holdsOfSubject, lockHoldsShared } from './repository.ts'

interface InForce {
  /** The id of the hold on the person, which covers all agents of the person. */
  account: string | null
  /** Hold ids by agent id, including holds on the agents' owners. */
  agents: Map<string, string>
  /**
   * Fingerprint of all current holds and of the numbers of holds that were ever set and released. It also changes when
   * a hold was set and released meanwhile.
   */
  fingerprint: string
}

/** Legal holds for other domains. */
export const holdsInForce = {
  /**
   * Prevents changes of holds until the end of the transaction, after waiting for a running change. The transaction preserves no versions
   * for holds that have ended at `now`.
   */
  async lock(tx: Transaction, now: Date): Promise<void> {
    await lockHoldsShared(tx, { now })
  },

  async inForce(tx: Transaction, { account, agents }: Subject, now: Date): Promise<InForce> {
    const [found] = await holdsOfSubject(tx, { account, agents, now })
    const { fingerprint = '', holds: rows = [] } = found ?? {}
    return {
      account: rows.find(({ kind }) => kind === 'account')?.hold ?? null,
      agents: new Map(rows.flatMap(({ kind, target, hold }) => (kind === 'agent' ? [[target, hold]] : []))),
      fingerprint,
    }
  },

  /** Hold ids by project id. */
  async projects(tx: Transaction, ids: readonly string[], now: Date): Promise<Map<string, string>> {
    const rows = await holdsOfProjects(tx, { ids, now })
    return new Map(rows.map(({ target, hold }) => [target, hold]))
  },

  /** Returns those of the ids that exist, including ended holds. */
  async known(tx: Transaction, ids: readonly string[]): Promise<string[]> {
    const records = await tx.legalHold.findMany({ where: { id: { in: [...ids] } }, select: { id: true } })
    return records.map(({ id }) => id)
  },
}

/** Counts all legal holds, also released ones. */
export const countHolds = (tx: Transaction): Promise<number> => tx.legalHold.count()

/** Returns the number of current legal holds that expire between these times. */
export const holdsEnding = ({ prisma }: Database, { now, until }: { now: Date; until: Date }): Promise<number> =>
  prisma.legalHold.count({ where: { releasedAt: null, expiresAt: { gt: now, lte: until } } })

/** Legal holds that were set and that ended in a period, and those in force at its end. */
export async function reportOfHolds({ prisma }: Database, { from, until }: { from: Date; until: Date }) {
  const within = { gte: from, lt: until }
  const [set, ended, inForce] = await Promise.all([
    prisma.legalHold.count({ where: { createdAt: within } }),
    prisma.legalHold.count({ where: { OR: [{ releasedAt: within }, { releasedAt: null, expiresAt: within }] } }),
    prisma.legalHold.count({
      where: {
        createdAt: { lt: until },
        AND: [
          { OR: [{ releasedAt: null }, { releasedAt: { gte: until } }] },
          { OR: [{ expiresAt: null }, { expiresAt: { gte: until } }] },
        ],
      },
    }),
  ])
  return { set, ended, inForce }
}
