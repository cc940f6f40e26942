import type { Transaction } from '#lib/kernel/context.ts'
import type { Subject } from '#lib/kernel/erasure-scope.ts'
import { lockParticipantsForErasure } from './repository.ts'

/** The value on the suppression list for a participant. Unambiguous, because a project id contains no slash. */
export const participantKey = (projectId: string, externalId: string): string => `${projectId}/${externalId}`

interface FencedParticipant {
  id: string
  key: string | null
}
/**
 * Locks the participants of a subject and waits for transactions that write on their behalf. `andOwned` includes the participations that
 * the account claimed. Returns all participants sorted by id, including those without a row.
 */
export async function raiseParticipantFences(
  tx: Transaction,
  { account, participants = [] }: Subject,
  { andOwned }: { andOwned: boolean },
): Promise<FencedParticipant[]> {
  const rows = await lockParticipantsForErasure(tx, { account: andOwned ? account : null, ids: participants })
  const keys = new Map(rows.map(({ id, project, external }) => [id, participantKey(project, external)]))
  return [...new Set([...participants, ...keys.keys()])].sort().map((id) => ({ id, key: keys.get(id) ?? null }))
}

/** The suppression-list values of the stored participants, by id. */
export async function participantKeys(tx: Transaction, ids: readonly string[]): Promise<Map<string, string>> {
  if (ids.length === 0) return new Map()
  const rows = await tx.projectParticipant.findMany({ where: { id: { in: [...ids] } } })
  return new Map(rows.map(({ id, projectId, externalId }) => [id, participantKey(projectId, externalId)]))
}

/** Creation time of the newest of the participants; null if none is stored. */
export async function newestParticipant(tx: Transaction, ids: readonly string[]): Promise<Date | null> {
  if (ids.length === 0) return null
  const { _max: newest } = await tx.projectParticipant.aggregate({
    where: { id: { in: [...ids] } },
    _max: { createdAt: true },
  })
  return newest.createdAt
}

/** The stored participants, divided into those created up to a time and those created since. */
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
