import type { Context, Deletion, Transaction } from './context.ts'

/** Writes an entry of the deletion log: ids and counts, for seven years. */
export type RecordDeletion = (tx: Transaction, deletion: Deletion) => Promise<unknown>

/** What went by the clock: in words of ours, how much of what, and the resource that the audit log calls it. */
export interface Purged {
  what: string
  results: Record<string, number>
  resourceType: string
  resourceId: string
}

/** Notes what a job removed in the deletion log and in the audit log, in the transaction that removed it; nothing where nothing went. Gives how many. */
export async function notePurge(
  recordDeletion: RecordDeletion,
  ctx: Context,
  tx: Transaction,
  { what, results, resourceType, resourceId }: Purged,
): Promise<number> {
  const count = Object.values(results).reduce((all, one) => all + one, 0)
  if (count === 0) return 0
  const requestedBy = ctx.actor.id
  await recordDeletion(tx, { requestedBy, reason: 'retention', scope: { subject: what }, results, now: ctx.now })
  await ctx.gate.auditWithin(tx, {
    ...{ action: 'delete', actorId: requestedBy, resourceType, resourceId },
    ...{ at: ctx.now, ip: '', details: { count } },
  })
  return count
}
