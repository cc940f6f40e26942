import type { MutationContext } from '#lib/kernel/context.ts'
import { guardRecord } from '#lib/kernel/guards.ts'
import type { Input, Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, type Reply } from '#lib/kernel/use-case.ts'
import { mayCloseProject, type ProjectReader, projectAsSeen, projectReaderOf, seenProject } from '../access.ts'
import type { SeenProject } from '../repository.ts'
import { closeProject, deleteProject, reopenProject } from './contract.ts'
import { enqueueClosingEmails } from './jobs.ts'
import { closesAtOf, usualReason } from './rules.ts'

/** Locks a project that the reader may close or reopen. @throws {Problem} `not_found`, `forbidden`, `wrong_state`, `fenced`, `step_up_required` */
async function lockClosable(ctx: MutationContext, reader: ProjectReader, projectId: string): Promise<SeenProject> {
  const project = await seenProject(ctx.tx, reader, projectId, 'change')
  if (!mayCloseProject(project))
    throw new Problem(
      'forbidden',
      'Only owners of the project, managers of its organization and admins can close or reopen it.',
    )
  // Managers and admins close projects of others.
  guardRecord(ctx, 'erase-words', { isOwn: project.role === 'owner' })
  if (project.status === 'closed') throw new Problem('wrong_state', 'The project is closed, and its data was erased.')
  if (project.erasingSince !== null)
    throw new Problem(
      'fenced',
      'The 30 days are over and the project is being erased, so it can no longer be reopened.',
    )
  return project
}

/** Starts the 30 days. Until they end, the project stays readable and writable. */
async function closing(
  ctx: MutationContext,
  { params: { projectId }, body }: Pick<Input<typeof closeProject>, 'params' | 'body'>,
): Promise<Reply<Output<typeof closeProject>>> {
  const { tx, actor, now } = ctx
  const reader = projectReaderOf(ctx)
  const reason = body?.reason ?? usualReason
  const project = await lockClosable(ctx, reader, projectId)
  if (project.status === 'closing')
    throw new Problem('wrong_state', 'The project is already closing. Nothing was changed.')
  await tx.project.update({
    where: { id: projectId },
    data: {
      status: 'closing',
      closingAt: now,
      closesAt: closesAtOf(now),
      closingBy: actor.id,
      closingReason: reason,
      lettersSent: 1,
      updatedAt: now,
    },
  })
  await enqueueClosingEmails(tx, projectId, 'begun')
  return {
    body: { data: await projectAsSeen(tx, reader, projectId, now) },
    resourceId: projectId,
    details: { from: 'active', to: 'closing', reason },
  }
}

const named = async (ctx: MutationContext, { params: { projectId } }: { params: { projectId: string } }) => {
  const { name } = await projectAsSeen(ctx.tx, projectReaderOf(ctx), projectId, ctx.now)
  return { name }
}

/** Use cases to close and reopen a project. */
export const projectClosing = () => ({
  close: mutation(closeProject, closing, named),
  /** The HTTP DELETE of a project also starts the 30 days. It never deletes immediately. */
  delete: mutation(deleteProject, closing),

  reopen: mutation(
    reopenProject,
    async (ctx, { params: { projectId } }) => {
      const { tx, now } = ctx
      const reader = projectReaderOf(ctx)
      const project = await lockClosable(ctx, reader, projectId)
      if (project.status === 'active')
        throw new Problem('wrong_state', 'The project is not closing, so it cannot be reopened. Nothing was changed.')
      await tx.project.update({
        where: { id: projectId },
        data: {
          status: 'active',
          closingAt: null,
          closesAt: null,
          closingBy: null,
          closingReason: null,
          lettersSent: 0,
          updatedAt: now,
        },
      })
      await enqueueClosingEmails(tx, projectId, 'reopened')
      return {
        body: { data: await projectAsSeen(tx, reader, projectId, now) },
        resourceId: projectId,
        details: { from: 'closing', to: 'active' },
      }
    },
    named,
  ),
})
