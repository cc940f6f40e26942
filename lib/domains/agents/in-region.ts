import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { countAgentsInRegions, oldestAgentsInRegions } from './repository.ts'

/** Counts the agents whose data must stay in a region other than the given ones. */
export const agentsInRegions = async (on: Queryable, except: readonly string[]): Promise<number> =>
  (await countAgentsInRegions(on, { except }))[0]?.n ?? 0

/** Returns ids of the oldest such agents, `most` at most. */
export const agentIdsInRegions = async (on: Queryable, except: readonly string[], most: number): Promise<string[]> =>
  (await oldestAgentsInRegions(on, { except, limit: most })).map(({ id }) => id)
