import { consulted } from '#lib/kernel/guards.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { ProjectPorts } from '../ports.ts'
import { claimParticipation, listParticipations } from './contract.ts'
import { lockParticipation, participationsOfPerson } from './repository.ts'

/** Use cases for a person's own participations. */
export const ownParticipations = ({ db, verifiedAddressOf }: Pick<ProjectPorts, 'db' | 'verifiedAddressOf'>) => ({
  participations: read(listParticipations, async ({ actor }) => {
    const account = actor.accountId ?? ''
    const address = await verifiedAddressOf(db.prisma, account)
    const rows = await participationsOfPerson(db, { account, email: address ?? null })
    return {
      resourceId: account,
      details: { count: rows.length },
      body: {
        data: rows.map(({ account_id, ...row }) => ({
          ...row,
          claimed: account_id !== null,
          claimed_at: row.claimed_at?.toISOString() ?? null,
          created_at: row.created_at.toISOString(),
        })),
        address_verified: address !== undefined,
      },
    }
  }),

  claimParticipation: mutation(claimParticipation, async (ctx, { params: { participantId: id } }) => {
    const { tx, actor, now } = ctx
    const accountId = actor.accountId ?? ''
    consulted(ctx, 'take-over')
    const address = await verifiedAddressOf(tx, accountId)
    if (address === undefined)
      throw new Problem(
        'forbidden',
        'Your email address is not verified. Request a link to choose a password and open it, then claim again. Nothing was changed.',
      )
    const [row] = await lockParticipation(tx, { id })
    if (!row || (row.account_id !== accountId && row.email !== address))
      throw new Problem('not_found', 'No participation with this id has your verified email address.')
    if (row.account_id !== null && row.account_id !== accountId)
      throw new Problem('conflict', 'Another account has claimed this participation. Nothing was changed.')
    const claimedAt = row.claimed_at ?? now
    if (row.account_id === null) await tx.projectParticipant.update({ where: { id }, data: { accountId, claimedAt } })
    return {
      body: { data: { id, claimed_at: claimedAt.toISOString() } },
      resourceId: id,
      details: { project: row.project_id },
    }
  }),
})
