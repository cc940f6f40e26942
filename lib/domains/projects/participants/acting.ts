import { storedForms } from '#lib/kernel/address-forms.ts'
import type { Actor, Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import type { GuardedContext } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import type { Queryable } from '#lib/stores/postgres/statement.ts'
import { projectReaderOf, seenProject } from '../access.ts'
import { hasLostClosing } from '../closing/repository.ts'
import { answeringFor, type IdentityChanges, refuseTakeover } from './authors.ts'
import { mayActForParticipants, noParticipant, participantIn } from './participant-view.ts'
import { findApplicationMembership } from './repository.ts'

interface ActedFor {
  id: string
  accountId: string | null
  /** As the application reported it. */
  email: string | null
  /** Whether somebody who speaks for the project reported the address, so that it is evidence. */
  emailConfirmed: boolean
  /** application: a token with the scope `privacy`. */
  actsAs: 'owner' | 'manager' | 'admin' | 'application'
}
/**
 * Returns the participant to callers who act for the project's participants: owners, managers of its organization, admins, and tokens with the
 * scope `privacy` of agents whose owner owns the project.
 * @throws {Problem} `not_found`; `forbidden` for other members
 */
export const actedFor =
  (db: Database) =>
  async (
    ctx: { actor: Actor; tx?: Transaction },
    { projectId, participantId }: { projectId: string; participantId: string },
  ): Promise<ActedFor> => {
    const project = await seenProject(ctx.tx ?? db, projectReaderOf(ctx), projectId)
    const { actor } = ctx
    const isApplication = actor.kind === 'agent'
    if (isApplication) await requireApplication(ctx.tx ?? db, actor, project)
    else if (!mayActForParticipants(project))
      throw new Problem(
        'forbidden',
        'Only owners of the project, managers of its organization and admins can file requests for its participants.',
      )
    const record = await (ctx.tx ?? db.prisma).projectParticipant.findFirst({
      where: { id: participantId, projectId },
      select: { id: true, accountId: true, email: true, emailConfirmed: true },
    })
    if (!record) throw noParticipant()
    return {
      ...record,
      actsAs: isApplication ? 'application' : project.role === 'owner' ? 'owner' : (project.office ?? 'owner'),
    }
  }

/** Checks that the agent of a token acts for the participants of the project. @throws {Problem} `scope_too_small`, `forbidden` */
export async function requireApplication(on: Queryable, { id, scopes }: Actor, project: { id: string }): Promise<void> {
  if (!scopes.includes('privacy')) throw new Problem('scope_too_small', 'This operation needs the scope "privacy".')
  if ((await findApplicationMembership(on, { project: project.id, agent: id })).length === 0)
    throw new Problem(
      'forbidden',
      'A token acts for participants only in projects that its agent is a member of and the owner of the agent owns. Ask an owner of the project to issue a token for their own agent. Nothing was changed.',
    )
}

/** Checks the changes that a request asks for, like an edit. See {@link refuseTakeover}. */
export async function requestedChanges(
  ctx: GuardedContext & { tx: Transaction },
  { projectId, participantId }: { projectId: string; participantId: string },
  changes: Pick<IdentityChanges, 'name' | 'email'>,
): Promise<void> {
  const project = await seenProject(ctx.tx, projectReaderOf(ctx), projectId)
  await refuseTakeover(ctx, project, await participantIn(ctx.tx, projectId, participantId, 'change'), changes)
}

/** Unclaimed participants with this email address, which an application reported, the newest first. */
export async function participantsByEmail(tx: Transaction, email: string, max: number) {
  const records = await tx.projectParticipant.findMany({
    where: { email: { in: storedForms(email) }, accountId: null },
    select: { id: true, name: true, project: { select: { id: true, name: true } } },
    orderBy: [{ createdAt: 'desc' }, { id: 'desc' }],
    take: max,
  })
  return records.map(({ id, name, project }) => ({
    participantId: id,
    name,
    projectId: project.id,
    projectName: project.name,
  }))
}

/** The project of a participant. */
export const projectOfParticipant = async (tx: Transaction, participantId: string): Promise<string | undefined> =>
  (await tx.projectParticipant.findUnique({ where: { id: participantId }, select: { projectId: true } }))?.projectId

/** Whether an actor that acted for the participant may no longer do so. See {@link hasLostClosing}, which asks the same of the project. */
export async function hasLostRight(tx: Transaction, participantId: string, actor: string): Promise<boolean> {
  const project = await projectOfParticipant(tx, participantId)
  if (project === undefined) return false
  const [row] = await hasLostClosing(tx, { project, by: actor })
  return row?.lost === true
}

/** Corrects the reported name or email address of an unclaimed participant, for an actor. Returns the names of the changed fields. */
export async function rectifyParticipant(
  tx: Transaction,
  participantId: string,
  { name, email }: { name?: string | undefined; email?: string | undefined },
  by: string,
  now: Date,
): Promise<string[]> {
  const data = {
    ...(name !== undefined && { name }),
    ...(email !== undefined && { email, emailConfirmed: true, emailBy: await answeringFor(tx, by) }),
  }
  const { count } = await tx.projectParticipant.updateMany({
    where: { id: participantId, accountId: null },
    data: { ...data, updatedAt: now },
  })
  return count > 0 ? Object.keys({ name, email }).filter((field) => field in data) : []
}
