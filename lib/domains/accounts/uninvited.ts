import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { dropOrganisationIfEmpty } from './organisations/directory.ts'
import { lockUninvited, uninvitedAccounts } from './repository.ts'
import { invitedFor } from './rules.ts'

const batch = 500
/**
 * Deletes accounts whose invitation nobody accepted within 30 days of the last email (storage limitation, GDPR art.
 * 5(1)(e)). Accounts with references stay.
 * Each account is deleted in its own transaction under a lock, so a concurrent acceptance either comes first or finds
 * the link invalid.
 */
export async function removeUninvited(
  ctx: Context,
  db: Database,
  isOnRecord: (tx: Transaction, accountId: string) => Promise<boolean>,
): Promise<void> {
  const before = new Date(ctx.now.getTime() - invitedFor)
  let after = ''
  for (;;) {
    const waiting = await uninvitedAccounts(db, { before, after, limit: batch })
    for (const { id } of waiting) await ctx.pipeline.transaction((tx) => remove(tx, id))
    const last = waiting.at(-1)
    if (!last || waiting.length < batch) return
    after = last.id
  }

  async function remove(tx: Transaction, id: string): Promise<void> {
    const [account] = await lockUninvited(tx, { id, before })
    if (!account || (await isOnRecord(tx, id))) return
    await tx.account.delete({ where: { id } })
    await dropOrganisationIfEmpty(tx, account.organisation_id)
    await ctx.pipeline.auditWithin(tx, {
      action: 'delete',
      actorId: ctx.actor.id,
      resourceType: 'account',
      resourceId: id,
      at: ctx.now,
      ip: '',
      details: { reason: 'invitation_not_accepted' },
    })
    await ctx.pipeline.recordDeletion(tx, {
      ...{ requestedBy: ctx.actor.id, reason: 'retention', scope: { subject: id, kind: 'account' } },
      ...{ results: { accountsDeleted: 1 }, now: ctx.now },
    })
  }
}
