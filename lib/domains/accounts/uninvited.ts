import type { Context, Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { invitedFor } from './rules.ts'
import { dropOrganisationIfEmpty } from './service.ts'

const batch = 500
const selectWaiting = `SELECT a.id FROM accounts a WHERE a.id > $2 AND a.password_hash IS NULL AND a.updated_at < $1
    AND a.suspended_at IS NULL AND a.restricted_at IS NULL
    AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = a.id)
    AND NOT EXISTS (SELECT FROM account_links l WHERE l.account_id = a.id AND l.created_at > $1)
    AND NOT EXISTS (SELECT FROM sessions s WHERE s.account_id = a.id)
    AND NOT EXISTS (SELECT FROM agent_owners g WHERE g.owner_id = a.id)
    AND NOT EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = a.id)
  ORDER BY a.id LIMIT ${batch}`

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
    const waiting = await db.query<{ id: string }>('accounts-uninvited', selectWaiting, [before, after])
    for (const { id } of waiting) await ctx.pipeline.transaction((tx) => remove(tx, id))
    const last = waiting.at(-1)
    if (!last || waiting.length < batch) return
    after = last.id
  }

  async function remove(tx: Transaction, id: string): Promise<void> {
    const locked = await tx.$queryRaw<{ organisation_id: string }[]>`
      SELECT organisation_id FROM accounts WHERE id = ${id} AND password_hash IS NULL AND updated_at < ${before}
        AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = accounts.id)
        AND NOT EXISTS (SELECT FROM agent_owners g WHERE g.owner_id = accounts.id)
      FOR UPDATE SKIP LOCKED`
    const [account] = locked
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
