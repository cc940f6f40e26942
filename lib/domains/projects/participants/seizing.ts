import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/holder.ts'

/** The value by which a participant is suppressed: the pair that names it. An id of a project has no slash. */
export const participantKey = (projectId: string, externalId: string): string => `${projectId}/${externalId}`

interface Seized {
  id: string
  key: string | null
}
/**
 * Locks the participants of a subject: a transaction that writes on their behalf is waited for. With `andOwned` the participations that the
 * account claimed come with the named ones. Returns all of them, sorted, stored or not.
 */
export async function seizeParticipants(
  tx: Transaction,
  { account, participants = [] }: Subject,
  { andOwned }: { andOwned: boolean },
): Promise<Seized[]> {
  const owner = andOwned ? account : null
  const rows = await tx.$queryRaw<{ id: string; project: string; external: string }[]>`
    SELECT id, project_id AS project, external_id AS external FROM project_participants
    WHERE account_id = ${owner} OR id = ANY(${[...participants]}::text[]) ORDER BY id FOR UPDATE`
  const keys = new Map(rows.map(({ id, project, external }) => [id, participantKey(project, external)]))
  return [...new Set([...participants, ...keys.keys()])].sort().map((id) => ({ id, key: keys.get(id) ?? null }))
}

/** The participations that the account claimed, sorted. */
export async function participationsOf(tx: Transaction, accountId: string): Promise<string[]> {
  const rows = await tx.projectParticipant.findMany({
    where: { accountId },
    select: { id: true },
    orderBy: { id: 'asc' },
  })
  return rows.map(({ id }) => id)
}

/** The suppressed values of those that are stored, by id. */
export async function participantKeys(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.projectParticipant.findMany({ where: { id: { in: [...ids] } } })
  return new Map(rows.map(({ id, projectId, externalId }) => [id, participantKey(projectId, externalId)]))
}

/** When the newest of the participants came; null where none is stored. */
export async function newestParticipant(tx: Transaction, ids: readonly string[]): Promise<Date | null> {
  if (ids.length === 0) return null
  const { _max: newest } = await tx.projectParticipant.aggregate({
    where: { id: { in: [...ids] } },
    _max: { createdAt: true },
  })
  return newest.createdAt
}

/** The participants that are stored, by whether they were at that time. */
export async function participantsSince(
  tx: Transaction,
  ids: readonly string[],
  at: Date,
): Promise<{ before: string[]; since: string[] }> {
  const rows = await tx.projectParticipant.findMany({
    where: { id: { in: [...ids] } },
    select: { id: true, createdAt: true },
    orderBy: { id: 'asc' },
  })
  const idsWhere = (isSince: boolean) => rows.filter(({ createdAt }) => createdAt > at === isSince).map(({ id }) => id)
  return { before: idsWhere(false), since: idsWhere(true) }
}
