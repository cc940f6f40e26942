import type { Context, Transaction } from './context.ts'

/** What a retention job deleted: a name of our own, counts, and the resource in the audit log. */
export interface Purged {
  what: string
  results: Record<string, number>
  resourceType: string
  resourceId: string
}

/**
 * Records what a job deleted in the deletion log and the audit log, in the transaction that deleted it. Writes nothing if the count is
 * 0. Returns the count.
 */
export async function notePurge(
  ctx: Context,
  tx: Transaction,
  { what, results, resourceType, resourceId }: Purged,
): Promise<number> {
  const count = Object.values(results).reduce((all, one) => all + one, 0)
  if (count === 0) return 0
  const requestedBy = ctx.actor.id
  await ctx.pipeline.recordDeletion(tx, {
    requestedBy,
    reason: 'retention',
    scope: { subject: what },
    results,
    now: ctx.now,
  })
  await ctx.pipeline.auditWithin(tx, {
    action: 'delete',
    actorId: requestedBy,
    resourceType,
    resourceId,
    at: ctx.now,
    ip: '',
    details: { count },
  })
  return count
}
