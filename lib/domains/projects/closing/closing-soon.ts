import type { Actor } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { closingProjects } from './repository.ts'

/** The reader's projects that are closing, by closing time. For an overview, so it counts no content. */
export const closingSoon = (
  db: Database,
  { accountId, agents, organisationId }: Pick<Actor, 'accountId' | 'agents' | 'organisationId'>,
  limit: number,
): Promise<{ id: string; name: string; closesAt: Date }[]> =>
  closingProjects(db, { account: accountId ?? null, agents, organisation: organisationId ?? null, limit })
