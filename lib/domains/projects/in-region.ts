import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { countProjectsInRegions, oldestProjectsInRegions } from './repository.ts'

/** Number of projects whose data must stay in a region other than the given ones. */
export const projectsInRegions = async (on: Queryable, except: readonly string[]): Promise<number> =>
  (await countProjectsInRegions(on, { except }))[0]?.n ?? 0

/** Ids of the oldest of these projects, at most `most`. */
export const idsInRegions = async (on: Queryable, except: readonly string[], most: number): Promise<string[]> =>
  (await oldestProjectsInRegions(on, { except, limit: most })).map(({ id }) => id)
