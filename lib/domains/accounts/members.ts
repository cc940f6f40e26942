import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { type AccountMaking, invite, inviteAgain, lockedUser, noAccount, withdrawInvitation } from './inviting.ts'
import { inviteMember, listMembers, resendMemberInvitation, withdrawMemberInvitation } from './members-contract.ts'
import { invitationBefore, lockInvitations } from './organisations/repository.ts'
import { accountOf } from './own-account.ts'
import { invitationsPerDay, normaliseEmail } from './rules.ts'
import { memberView, userPage } from './user-rows.ts'

/**
 * Returns the organization that the caller manages.
 * @throws Problem `forbidden` for callers who manage none
 */
async function managedBy(tx: Transaction, ctx: Context): Promise<string> {
  const record = await tx.account.findUnique({
    where: { id: accountOf(ctx) },
    select: { role: true, organisationId: true },
  })
  if (record?.role !== 'manager' && record?.role !== 'admin')
    throw new Problem('forbidden', 'Only managers and admins can see the members of their organization.')
  return record.organisationId
}

/**
 * Limits the invitations into an organization per day, regardless of the inviter. Counts the accounts created within a
 * day and the withdrawn invitations. Concurrent calls are serialized.
 * @throws Problem `rate_limited`
 */
async function boundInvitations({ tx, now }: MutationContext, organisationId: string): Promise<void> {
  await lockInvitations(tx, { id: organisationId })
  const day = 24 * 3_600_000
  const since = new Date(now.getTime() - day)
  const [oldest] = await invitationBefore(tx, { id: organisationId, since, skipped: invitationsPerDay - 1 })
  if (!oldest) return
  const seconds = Math.max(1, Math.ceil((oldest.at.getTime() + day - now.getTime()) / 1000))
  throw new Problem('rate_limited', {
    detail: `At most ${invitationsPerDay} people can be invited to one organization per day. Nobody was invited. Try again in ${seconds} seconds, or ask an admin.`,
    headers: { 'Retry-After': String(seconds) },
  })
}

/** Use cases of managers for the members of their organization. */
export const organisationMembers = (
  db: Database,
  making: AccountMaking,
  isOnRecord: (tx: Transaction, accountId: string) => Promise<boolean>,
) => ({
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
    const address = normaliseEmail(body.email)
    const members = { organisationId, OR: [{ email: address }, { invitedEmail: address }] }
    if ((await ctx.tx.account.count({ where: members })) > 0)
      throw new Problem('conflict', 'A member of your organization has this address, or an invitation was sent to it.')
    const row = await invite(ctx, making, { ...body, organisationId, isPending: true })
    return { resourceId: row.id, body: { data: memberView(row) }, details: { role: row.role, letter: 'invitation' } }
  }),

  resendMemberInvitation: mutation(resendMemberInvitation, async (ctx, { params: { id } }) => {
    const row = await lockedUser(ctx.tx, id, await managedBy(ctx.tx, ctx))
    // Managers have no rights over admins and auditors.
    if (row.role !== 'person' && row.role !== 'manager') throw noAccount()
    await inviteAgain(ctx, row)
    return { resourceId: id, body: { data: memberView(row) }, details: { letter: 'invitation' } }
  }),

  withdrawMemberInvitation: mutation(withdrawMemberInvitation, async (ctx, { params: { id } }) => {
    const row = await lockedUser(ctx.tx, id, await managedBy(ctx.tx, ctx))
    if (row.role !== 'person' && row.role !== 'manager') throw noAccount()
    await withdrawInvitation(ctx, row, isOnRecord)
    return { resourceId: id, body: undefined }
  }),
})
