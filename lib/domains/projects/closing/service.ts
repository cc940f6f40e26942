import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import type { Input, Output } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, type Reply } from '#lib/kernel/use-case.ts'
import { mayCloseProject, projectReaderOf, queryInTransaction, type SeenProject, seenProject } from '../access.ts'
import { projectAsSeen } from '../project-rows.ts'
import { closeProject, deleteProject, reopenProject } from './contract.ts'
import { enqueueClosingEmails } from './jobs.ts'
import { closesAtOf, usualReason } from './rules.ts'

const change = async (
  tx: Transaction,
  reader: ReturnType<typeof projectReaderOf>,
  projectId: string,
): Promise<SeenProject> => {
  const project = await seenProject(queryInTransaction(tx), reader, projectId, 'change')
  if (!mayCloseProject(project))
    throw new Problem(
      'forbidden',
      'The owners of a project, managers of its organisation and admins close and reopen it.',
    )
  if (project.status === 'closed') throw new Problem('wrong_state', 'The project is closed: its data is erased.')
  if (project.erasingSince !== null)
    throw new Problem('fenced', 'Its 30 days are over and its data is being erased: that is not called off any more.')
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
  const project = await change(tx, reader, projectId)
  if (project.status === 'closing')
    throw new Problem('wrong_state', 'The project is being closed already. Nothing was changed.')
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
    body: { data: await projectAsSeen(queryInTransaction(tx), reader, projectId, now) },
    resourceId: projectId,
    details: { from: 'active', to: 'closing', reason },
  }
}

const named = async (ctx: MutationContext, { params: { projectId } }: { params: { projectId: string } }) => {
  const { name } = await projectAsSeen(queryInTransaction(ctx.tx), projectReaderOf(ctx), projectId, ctx.now)
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
      const project = await change(tx, reader, projectId)
      if (project.status === 'active') throw new Problem('wrong_state', 'The project is open. Nothing was changed.')
      await tx.project.update({
        where: { id: projectId },
        data: {
          ...{ status: 'active', closingAt: null, closesAt: null, closingBy: null, closingReason: null },
          ...{ lettersSent: 0, updatedAt: now },
        },
      })
      await enqueueClosingEmails(tx, projectId, 'reopened')
      return {
        body: { data: await projectAsSeen(queryInTransaction(tx), reader, projectId, now) },
        resourceId: projectId,
        details: { from: 'closing', to: 'active' },
      }
    },
    named,
  ),
})
