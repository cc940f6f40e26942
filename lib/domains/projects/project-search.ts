import type { Context } from '#lib/kernel/context.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { projectReaderOf } from './access.ts'
import { foundProjects } from './repository.ts'

/** Finds projects by name or id: those of the reader, and those that managers and admins see in their list. */
export const findProjects = (
  db: Database,
  ctx: Pick<Context, 'actor'>,
  q: string,
  limit: number,
): Promise<{ id: string; name: string }[]> =>
  foundProjects(db, { ...projectReaderOf(ctx), ...namePatterns(q), id: q, all: true, status: null, limit })
