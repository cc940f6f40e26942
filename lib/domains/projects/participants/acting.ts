import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { projectReaderOf, queryDirectly, queryInTransaction, seenProject } from '../access.ts'
import { noParticipant, participantActUseCases } from './service.ts'

interface ActedFor {
  id: string
  accountId: string | null
  actsAs: 'owner' | 'manager' | 'admin'
}
/**
 * Returns the participant to callers who act for the project's participants: owners, managers of its organization, admins.
 * @throws {Problem} `not_found`; `forbidden` for other members
 */
export const actedFor =
  (db: Database) =>
  async (
    ctx: { actor: Actor; tx?: Transaction },
    { projectId, participantId }: { projectId: string; participantId: string },
  ): Promise<ActedFor> => {
    const project = await seenProject(
      ctx.tx ? queryInTransaction(ctx.tx) : queryDirectly(db),
      projectReaderOf(ctx),
      projectId,
    )
    if (!participantActUseCases(project))
      throw new Problem(
        'forbidden',
        'Owners of the project, managers of its organization and admins file for its participants.',
      )
    const record = await (ctx.tx ?? db.prisma).projectParticipant.findFirst({
      where: { id: participantId, projectId },
      select: { id: true, accountId: true },
    })
    if (!record) throw noParticipant()
    return { ...record, actsAs: project.role === 'owner' ? 'owner' : (project.office ?? 'owner') }
  }

/** The project of a participant. */
export const projectOfParticipant = async (tx: Transaction, participantId: string): Promise<string | undefined> =>
  (await tx.projectParticipant.findUnique({ where: { id: participantId }, select: { projectId: true } }))?.projectId

/** Corrects the reported name or email address of an unclaimed participant. Returns the names of the changed fields. */
export async function rectifyParticipant(
  tx: Transaction,
  participantId: string,
  { name, email }: { name?: string | undefined; email?: string | undefined },
  now: Date,
): Promise<string[]> {
  const data = { ...(name !== undefined && { name }), ...(email !== undefined && { email }) }
  const { count } = await tx.projectParticipant.updateMany({
    where: { id: participantId, accountId: null },
    data: { ...data, updatedAt: now },
  })
  return count > 0 ? Object.keys(data) : []
}

const owned = `SELECT 1 AS found FROM project_members o JOIN projects p ON p.id = o.project_id
  JOIN account_names n ON n.id = o.member_id AND n.organisation_id = p.organisation_id
  JOIN project_members m ON m.project_id = p.id AND m.kind = 'account' AND m.member_id = $2
  WHERE o.kind = 'account' AND o.member_id = $1 AND o.role = 'owner' AND p.status <> 'closed' LIMIT 1`

/** Whether the first account owns a project of which the second account is a member. Accepts a client without a transaction. */
export const ownsProjectOf = async (
  tx: Pick<Transaction, '$queryRawUnsafe'>,
  ownerId: string,
  memberId: string,
): Promise<boolean> =>
  ownerId !== memberId && (await tx.$queryRawUnsafe<unknown[]>(owned, ownerId, memberId)).length > 0
