import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AccountMaking, invite, inviteAgain, lockedUser, noAccount } from './inviting.ts'
import { accountOf } from './own-account.ts'
import { invitationsPerDay } from './rules.ts'
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

/**
 * Throws `rate_limited` where one invitation more would be too many. Counted are the accounts of the organisation that a day made, whoever
 * invited them: nobody manages two, so no manager has more than their organisation. Two at once wait for each other.
 */
async function boundInvitations({ tx, now }: MutationContext, organisationId: string): Promise<void> {
  await tx.$queryRaw`SELECT 1 FROM organisations WHERE id = ${organisationId} FOR NO KEY UPDATE`
  const day = 24 * 3_600_000
  const made = await tx.account.findMany({
    where: { organisationId, createdAt: { gt: new Date(now.getTime() - day) } },
    select: { createdAt: true },
    orderBy: { createdAt: 'desc' },
    take: invitationsPerDay,
  })
  const oldest = made[invitationsPerDay - 1]
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.createdAt.getTime() + day - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `${invitationsPerDay} people can be invited into one organisation within a day. Nobody was invited; try again in ${seconds} seconds, or ask an admin.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** What managers do for the members of their organisation. */
export const organisationMembers = (db: Database, making: AccountMaking) => ({
  members: read(listMembers, async (ctx, { query }) => {
    const organisation = await managedBy(db.prisma, ctx)
    const { shown, page } = await userPage(db, { ...query, organisation })
    return {
      resourceId: 'query',
      details: { count: shown.length, organisation },
      body: { data: shown.map(memberView), ...page },
    }
  }),

  inviteMember: mutation(inviteMember, async (ctx, { body }) => {
    if (body.role !== 'person') requireRecentPassword(ctx)
    const organisationId = await managedBy(ctx.tx, ctx)
    await boundInvitations(ctx, organisationId)
    const row = await invite(ctx, making, { ...body, organisationId })
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
