import type { TierName } from '#lib/domains/tokens/rules.ts'
import type { TimeCursor } from '#lib/kernel/pages.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countListedAgents, type ListedAgent, listedAgent, listedAgentsPage } from './lists/repository.ts'

export interface AgentListFilter {
  /** Part of the id, of the name or of the owner's name, case-insensitive. */
  text?: string | undefined
  /** Agents that match with a text, in addition. */
  also?: readonly string[]
  tier?: TierName | undefined
}
export interface AgentListing {
  page(filter: AgentListFilter, after: TimeCursor | undefined, limit: number): Promise<ListedAgent[]>
  /** Counts matching agents, up to `most`. */
  count(filter: AgentListFilter, most: number): Promise<number>
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
  count: async (filter, most) => (await countListedAgents(db, { ...conditions(filter), most }))[0]?.n ?? 0,
  one: async (id) => (await listedAgent(db, { agent: id }))[0],
  total: () => db.prisma.agent.count(),
})
