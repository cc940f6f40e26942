import { participationsOf } from '#lib/domains/projects/participants/fence.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { countSharedOwnedProjects } from './repository.ts'
import { identitiesOf } from './whole-containers.ts'

/** Counts the open projects that the subject owns and that others use. An erasure of the subject does not delete them. */
export const countRemainingProjects =
  (db: Database) =>
  async ({ account, agents }: Subject): Promise<number> => {
    const participants = account === null ? [] : await participationsOf(db.prisma, account)
    const [row] = await countSharedOwnedProjects(db, identitiesOf({ account, agents, participants }))
    return row?.n ?? 0
  }
