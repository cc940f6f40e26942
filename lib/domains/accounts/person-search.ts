import type { Actor } from '#lib/kernel/context.ts'
import { namePatterns } from '#lib/kernel/name-search.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { foundPeople } from './repository.ts'

/** Finds people by name, email address or id: for admins all accounts, for managers those of their organization, for others none. */
export const findPeople = (
  db: Database,
  actor: Pick<Actor, 'accountId' | 'can'>,
  q: string,
  limit: number,
): Promise<{ id: string; name: string; email: string }[]> =>
  foundPeople(db, {
    ...namePatterns(q),
    id: q,
    everyone: actor.can('accounts:admin'),
    manager: actor.accountId ?? null,
    limit,
  })
