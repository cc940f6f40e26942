import type { Actor } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { ownProjects } from '../access.ts'

/** The reader's projects that are closing, by closing time. For an overview, so it counts no content. */
export const closingSoon = (
  db: Database,
  { accountId, agents, organisationId }: Pick<Actor, 'accountId' | 'agents' | 'organisationId'>,
  most: number,
): Promise<{ id: string; name: string; closesAt: Date }[]> =>
  db.query(
    'projects-closing-soon',
    `SELECT p.id, p.name, p.closes_at AS "closesAt" FROM projects p
      WHERE p.status = 'closing' AND p.erasing_since IS NULL AND p.closes_at IS NOT NULL AND p.organisation_id = $3
        AND p.id IN ${ownProjects}
      ORDER BY p.closes_at, p.id LIMIT $4`,
    [accountId ?? null, agents, organisationId ?? null, most],
  )
