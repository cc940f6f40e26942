import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import type { TimeCursor } from '#lib/kernel/pages.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import {
  type AgentRow,
  agentIdsOfOwner,
  agentProfile,
  cladeSiblings,
  countAgentStatuses,
  countAgentsInRegions,
  countListedAgents,
  foundAgents,
  type ListedAgent,
  lawfulBasesOfAgents,
  listedAgent,
  listedAgentsPage,
  lockAgent,
  lockCladeAncestor,
  oldestAgentsInRegions,
} from './repository.ts'

/** Ids of the agents that a person owns, oldest first, without agents that are being erased. */
export const ownedAgents = async (db: Database, accountId: string): Promise<string[]> =>
  (await agentIdsOfOwner(db, { owner: accountId })).map(({ id }) => id)

/** Ids of the agents that the account owns now, sorted. */
export async function agentsOfAccount(tx: Transaction, accountId: string): Promise<string[]> {
  const owned = await tx.agent.findMany({
    where: { ownerId: accountId },
    select: { id: true },
    orderBy: { id: 'asc' },
  })
  return owned.map(({ id }) => id)
}

/** Returns those of the agents that are self-hosted, sorted. */
export const selfHostedAmong = async (db: Database, agents: readonly string[]): Promise<string[]> => {
  const where = { id: { in: [...agents] }, selfHosted: true }
  return (await db.prisma.agent.findMany({ where, select: { id: true }, orderBy: { id: 'asc' } })).map(({ id }) => id)
}

/** Returns those of the ids that are registered agents of other owners than the agent's. */
export async function agentsOfOthers(tx: Transaction, agentId: string, ids: readonly string[]): Promise<string[]> {
  const found = await tx.agent.findMany({
    where: { id: { in: [...ids, agentId] } },
    select: { id: true, ownerId: true },
  })
  const owner = found.find(({ id }) => id === agentId)?.ownerId ?? null
  return found.flatMap(({ id, ownerId }) => (id === agentId || (owner !== null && ownerId === owner) ? [] : [id]))
}

/** Returns the distinct lawful bases on which the agents were registered. */
export const lawfulBases = async (db: Database, agents: readonly string[]): Promise<string[]> =>
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

/** Reads the agent. `lock` locks its row until the transaction ends: other locks wait, but rows that refer to it can still be written. */
export async function agentOf(tx: Transaction, agentId: string, { lock = false } = {}): Promise<AgentRow | null> {
  if (lock) await lockAgent(tx, { agent: agentId })
  return tx.agent.findUnique({ where: { id: agentId } })
}

/** Names by agent id; agents without a name are omitted. */
export async function agentNames(tx: Transaction, agentIds: readonly string[]): Promise<Map<string, string>> {
  const records = await tx.agent.findMany({
    where: { id: { in: [...agentIds] }, name: { not: null } },
    select: { id: true, name: true },
  })
  return new Map(records.flatMap(({ id, name }) => (name === null ? [] : [[id, name]])))
}

/** Reads the agent outside of any transaction. */
export const profileOf = async (db: Database, agentId: string): Promise<AgentRow | null> =>
  (await agentProfile(db, { agent: agentId }))[0] ?? null

interface AgentListFilter {
  /** Part of the id, of the name or of the owner's name, case-insensitive. */
  text?: string | undefined
  /** Agents that match with a text, in addition. */
  also?: readonly string[]
  tier?: TierName | undefined
}
interface AgentListing {
  page(filter: AgentListFilter, after: TimeCursor | undefined, limit: number): Promise<ListedAgent[]>
  /** Counts matching agents, up to `max`. */
  count(filter: AgentListFilter, max: number): Promise<number>
  one(id: string): Promise<ListedAgent | undefined>
  total(): Promise<number>
}

const conditions = ({ text, also = [], tier }: AgentListFilter) => ({
  pattern: text === undefined ? null : `%${text.toLowerCase().replace(/[\\%_]/g, '\\$&')}%`,
  also,
  tier: tier ?? null,
})

/** All agents of the installation, for admins. */
export const agentListing = (db: Database): AgentListing => ({
  page: (filter, after, limit) =>
    listedAgentsPage(db, { ...conditions(filter), at: after?.at ?? null, id: after?.id ?? null, limit }),
  count: async (filter, max) => (await countListedAgents(db, { ...conditions(filter), max }))[0]?.n ?? 0,
  one: async (id) => (await listedAgent(db, { agent: id }))[0],
  total: () => db.prisma.agent.count(),
})

/** Finds agents by id or name: for admins all agents, for others their own. */
export const findAgents = (
  db: Database,
  actor: Pick<Actor, 'accountId' | 'can'>,
  q: string,
  limit: number,
): Promise<{ id: string; name: string | null; ownerId: string | null }[]> =>
  foundAgents(db, {
    ...namePatterns(q),
    everyone: actor.can('tokens:admin'),
    owner: actor.accountId ?? null,
    limit,
  })

/** Counts the agents whose data must stay in a region other than the given ones. */
export const agentsInRegions = async (on: Queryable, except: readonly string[]): Promise<number> =>
  (await countAgentsInRegions(on, { except }))[0]?.n ?? 0

/** Returns the ids of agents whose data must stay in a region that `except` does not contain: the oldest, `max` at most. */
export const agentIdsInRegions = async (on: Queryable, except: readonly string[], max: number): Promise<string[]> =>
  (await oldestAgentsInRegions(on, { except, limit: max })).map(({ id }) => id)

/** Which agents belong to a clade and share with it. Both are columns of the agent. */
export const cladeMembers = {
  /** Locks an agent of the owner that is not retired, and returns its clade. Undefined if there is no such agent. */
  async lockAncestor(
    tx: Transaction,
    { ancestorId, ownerId }: { ancestorId: string; ownerId: string },
  ): Promise<{ cladeId: string | null } | undefined> {
    const [ancestor] = await lockCladeAncestor(tx, { agent: ancestorId, owner: ownerId })
    return ancestor
  },
  join: (tx: Transaction, agentIds: readonly string[], cladeId: string): Promise<unknown> =>
    tx.agent.updateMany({ where: { id: { in: [...agentIds] } }, data: { cladeId } }),
  async cladeOf(tx: Transaction, agentId: string): Promise<string | null> {
    const agent = await tx.agent.findUnique({ where: { id: agentId }, select: { cladeId: true } })
    return agent?.cladeId ?? null
  },
  leave: (tx: Transaction, agentId: string): Promise<unknown> =>
    tx.agent.updateMany({ where: { id: agentId }, data: { cladeId: null, sharingSince: null } }),
  /** Turns sharing on since that time, or off. */
  setSharing: (tx: Transaction, agentId: string, since: Date | null): Promise<unknown> =>
    tx.agent.update({ where: { id: agentId }, data: { sharingSince: since } }),
  /** The other agents of the owner in the clade that are not retired, at most 1,000. An agent under erasure receives nothing. */
  siblingsOf: (
    tx: Transaction,
    { cladeId, ownerId, agentId }: { cladeId: string | null; ownerId: string | null; agentId: string },
  ) => cladeSiblings(tx, { clade: cladeId, owner: ownerId, agent: agentId }),
}

/** Counts a person's agents by status; suspended agents have a pending erasure. */
export async function agentSummary(db: Database, agents: readonly string[]) {
  const [counts] = await countAgentStatuses(db, { ids: agents })
  return counts ?? { total: 0, restricted: 0, suspended: 0 }
}

/** The settings of an agent that a snapshot contains. */
export const snapshotSettings = (tx: Transaction, agentId: string) =>
  tx.agent.findUniqueOrThrow({
    where: { id: agentId },
    select: { name: true, region: true, selfHosted: true, grimoireDays: true, createdAt: true, suspendedAt: true },
  })

/** How many days after creation the agent's grimoire entries expire; null: never. */
export async function grimoireDaysOf(tx: Transaction, agentId: string): Promise<number | null> {
  const agent = await tx.agent.findUniqueOrThrow({ where: { id: agentId }, select: { grimoireDays: true } })
  return agent.grimoireDays
}
