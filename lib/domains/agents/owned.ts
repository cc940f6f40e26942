import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

/** Ids of the agents that a person owns, oldest first, without agents that are being erased. */
export const ownedAgents =
  (db: Database) =>
  async (accountId: string): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        'owned-agents',
        `SELECT id FROM agents a WHERE owner_id = $1
         AND NOT EXISTS (SELECT FROM fenced f WHERE f.kind = 'agent' AND f.id = a.id) ORDER BY created_at, id`,
        [accountId],
      )
    ).map(({ id }) => id)

/** Returns those of the agents that are self-hosted, sorted. */
export const selfHostedAmong =
  (db: Database) =>
  async (agents: readonly string[]): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        'self-hosted-agents',
        'SELECT id FROM agents WHERE id = ANY($1::text[]) AND self_hosted ORDER BY id',
        [agents],
      )
    ).map(({ id }) => id)

/** Returns the distinct lawful bases on which the agents were registered. */
export const lawfulBases =
  (db: Database) =>
  async (agents: readonly string[]): Promise<string[]> =>
    (
      await db.query<{ lawful_basis: string }>(
        'lawful-bases',
        'SELECT DISTINCT lawful_basis FROM agents WHERE id = ANY($1::text[])',
        [agents],
      )
    ).map(({ lawful_basis }) => lawful_basis)

/** The person's oldest agent with this id, or with an id that begins with it and a hyphen. */
export async function oldestAgentNamed(tx: Transaction, ownerId: string, id: string): Promise<string | undefined> {
  const record = await tx.agent.findFirst({
    where: { ownerId, OR: [{ id }, { id: { startsWith: `${id}-` } }] },
    orderBy: { createdAt: 'asc' },
    select: { id: true },
  })
  return record?.id
}
