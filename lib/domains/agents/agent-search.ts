import type { Actor } from '#lib/kernel/context.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { foundAgents } from './lists/repository.ts'

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
