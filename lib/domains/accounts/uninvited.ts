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
    AND NOT EXISTS (SELECT FROM agents g WHERE g.owner_id = a.id)
    AND NOT EXISTS (SELECT FROM fenced f WHERE f.kind = 'account' AND f.id = a.id)
  ORDER BY a.id LIMIT ${batch}`

/**
 * Removes accounts that were made by an invitation and that nobody ever came to: name and address of somebody who said nothing are not kept
 * longer than the invitation is good for, and some (GDPR art. 5(1)(e)). One that anything points to stays. Each goes in a transaction of its
 * own, and only as it is under its lock: whoever comes at this moment comes first, or finds the link spent.
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
    for (const { id } of waiting) await ctx.gate.transaction((tx) => remove(tx, id))
    const last = waiting.at(-1)
    if (!last || waiting.length < batch) return
    after = last.id
  }

  async function remove(tx: Transaction, id: string): Promise<void> {
    const locked = await tx.$queryRaw<{ organisation_id: string }[]>`
      SELECT organisation_id FROM accounts WHERE id = ${id} AND password_hash IS NULL AND updated_at < ${before}
        AND NOT EXISTS (SELECT FROM account_identities i WHERE i.account_id = accounts.id)
        AND NOT EXISTS (SELECT FROM agents g WHERE g.owner_id = accounts.id)
      FOR UPDATE SKIP LOCKED`
    const [account] = locked
    if (!account || (await isOnRecord(tx, id))) return
    await tx.account.delete({ where: { id } })
    await dropOrganisationIfEmpty(tx, account.organisation_id)
    await ctx.gate.auditWithin(tx, {
      action: 'delete',
      actorId: ctx.actor.id,
      resourceType: 'account',
      resourceId: id,
      at: ctx.now,
      ip: '',
      details: { reason: 'invitation_not_accepted' },
    })
    await ctx.gate.recordDeletion(tx, {
      ...{ requestedBy: ctx.actor.id, reason: 'retention', scope: { subject: id, kind: 'account' } },
      ...{ results: { accountsDeleted: 1 }, now: ctx.now },
    })
  }
}
