import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { agentIdsOfOwner, lawfulBasesOfAgents } from './repository.ts'

/** Ids of the agents that a person owns, oldest first, without agents that are being erased. */
export const ownedAgents =
  (db: Database) =>
  async (accountId: string): Promise<string[]> =>
    (await agentIdsOfOwner(db, { owner: accountId })).map(({ id }) => id)

/** Returns those of the agents that are self-hosted, sorted. */
export const selfHostedAmong =
  (db: Database) =>
  async (agents: readonly string[]): Promise<string[]> => {
    const where = { id: { in: [...agents] }, selfHosted: true }
    return (await db.prisma.agent.findMany({ where, select: { id: true }, orderBy: { id: 'asc' } })).map(({ id }) => id)
  }

/** Returns the distinct lawful bases on which the agents were registered. */
export const lawfulBases =
  (db: Database) =>
  async (agents: readonly string[]): Promise<string[]> =>
    (await lawfulBasesOfAgents(db, { ids: agents })).map(({ lawful_basis }) => lawful_basis)

/** The person's oldest agent with this id, or with an id that begins with it and a hyphen. */
export async function oldestAgentNamed(tx: Transaction, ownerId: string, id: string): Promise<string | undefined> {
  const record = await tx.agent.findFirst({
    where: { ownerId, OR: [{ id }, { id: { startsWith: `${id}-` } }] },
    orderBy: { createdAt: 'asc' },
    select: { id: true },
  })
  return record?.id
}
