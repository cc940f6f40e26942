import type { Actor } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { foundReceipts } from './repository.ts'

/** Finds receipts by their id, and by the id of the erased data: for admins and auditors all, for others their own. */
export const findReceipts = (
  db: Database,
  actor: Pick<Actor, 'agents' | 'can'>,
  id: string,
): Promise<{ id: string; deletedId: string }[]> =>
  foundReceipts(db, { id, agents: actor.agents, everyone: actor.can('erasures:audit') })

/** Finds an erasure run by its id, for admins and auditors. */
export async function findErasure(db: Database, actor: Pick<Actor, 'can'>, id: string): Promise<string | undefined> {
  if (!actor.can('erasures:audit')) return undefined
  return (await db.prisma.erasureRun.findUnique({ where: { id }, select: { id: true } }))?.id
}
