import type { Context, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AccountMaking, invite, inviteAgain, lockedUser, noAccount } from './inviting.ts'
import { accountOf } from './own-account.ts'
import { memberView, userPage } from './user-rows.ts'
import { inviteMember, listMembers, resendMemberInvitation } from './users-contract.ts'

/** The organisation that the caller manages. Throws `forbidden` for whoever manages none. */
async function managedBy(tx: Transaction, ctx: Context): Promise<string> {
  const found = await tx.account.findUnique({
    where: { id: accountOf(ctx) },
    select: { role: true, organisationId: true },
  })
  if (found?.role !== 'manager' && found?.role !== 'admin')
    throw new Problem('forbidden', 'Managers and admins see the members of their organisation.')
  return found.organisationId
}

/** What managers do for the members of their organisation. */
export const organisationMembers = (db: Database, making: AccountMaking) => ({
  members: read(listMembers, async (ctx, { query }) => {
    const organisation = await managedBy(db.prisma, ctx)
    const { rows, total, next } = await userPage(db, { ...query, organisation })
    return {
      resourceId: 'query',
      details: { count: rows.length, organisation },
      body: { data: rows.map(memberView), total, offset: 0, limit: query.limit, next_cursor: next },
    }
  }),

  inviteMember: mutation(inviteMember, async (ctx, { body }) => {
    const row = await invite(ctx, making, { ...body, organisationId: await managedBy(ctx.tx, ctx) })
    return { resourceId: row.id, body: { data: memberView(row) }, details: { role: row.role, letter: 'invitation' } }
  }),

  resendMemberInvitation: mutation(resendMemberInvitation, async (ctx, { params: { id } }) => {
    const row = await lockedUser(ctx.tx, id, await managedBy(ctx.tx, ctx))
    // Admins and auditors are the installation's.
    if (row.role !== 'person' && row.role !== 'manager') throw noAccount()
    await inviteAgain(ctx, row)
    return { resourceId: id, body: { data: memberView(row) }, details: { letter: 'invitation' } }
  }),
})
