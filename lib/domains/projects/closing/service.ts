import { z } from 'zod'
import { accountDirectory } from '#lib/domains/accounts/queries.ts'
import { reportWithdrawn } from '#lib/domains/accounts/writes.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Context, MutationContext, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { Input, Returned } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { guardApplication, guardRecord, mutation, type Reply } from '#lib/kernel/use-case.ts'
import { type EmailContent, emailContent, emailTime } from '#lib/stores/mail/email-content.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import { mayCloseProject, type ProjectReader, projectAsSeen, projectReaderOf, seenProject } from '../access.ts'
import { sweepUploads } from '../documents/uploads.ts'
import type { ProjectLocale, ProjectPorts } from '../ports.ts'
import type { SeenProject } from '../repository.ts'
import { closeProject, deleteProject, reopenProject } from './contract.ts'
import { type ClosingRow, hasLostClosing, lockNextClosing, peopleOfProject } from './repository.ts'
import { type ClosingEmail, closesAtOf, closingEmails, emailDue, isClosingOver, usualReason } from './rules.ts'

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

export const closingEmailJob = 'projects.letter'
const notifiedOf = z.enum([...closingEmails, 'reopened'])

interface ClosingFacts {
  closesAt: Date
  /** The page of the project. */
  page: string
  /** Link to the receipt; null until its id is reserved. */
  receipt: string | null
}
type NotifiedClosing = ClosingEmail | 'reopened'

interface Words {
  subject: string
  text(facts: ClosingFacts): string[]
}
// An email may stay in the outbox for days, so it does not name the project, only links to it.
const words: Record<ProjectLocale, Record<NotifiedClosing, Words>> = {
  en: {
    begun: {
      subject: 'A project is closing: its data will be deleted in 30 days',
      text: ({ closesAt, page }) => [
        `A project of which you are a member is closing. On ${emailTime(closesAt)} all of its data will be deleted in every store: conversations, documents and data derived from them.`,
        'Until then you can read, export and use it as before. An owner of the project, a manager of its organization or an admin can reopen it, which cancels the deletion.',
        page,
      ],
    },
    week: {
      subject: 'The data of a project will be deleted in 7 days',
      text: ({ closesAt, page }) => [
        `On ${emailTime(closesAt)} all data of a project of which you are a member will be deleted in every store. Export the data that you want to keep before then.`,
        page,
      ],
    },
    day: {
      subject: 'The data of a project will be deleted tomorrow',
      text: ({ closesAt, page }) => [
        `On ${emailTime(closesAt)} all data of a project of which you are a member will be deleted in every store. This is the last email before the deletion. Export the data that you want to keep, or ask an owner to reopen the project.`,
        page,
      ],
    },
    gone: {
      subject: 'The data of a closed project is being deleted',
      text: ({ receipt }) => [
        'The 30 days of a project of which you were a member are over. All of its data is being deleted in every store. Afterwards, every store is searched again to verify the deletion.',
        ...(receipt === null
          ? []
          : [
              'When the deletion is verified, you can read the receipt here. Anyone with this link can read it:',
              receipt,
            ]),
      ],
    },
    reopened: {
      subject: 'A project was reopened: its data will not be deleted',
      text: ({ page }) => ['A project of which you are a member was reopened. No data was deleted.', page],
    },
  },
  zh: {
    begun: {
      subject: '一个项目正在关闭：其数据将在 30 天后删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目正在关闭。它在所有数据存储中的全部数据，包括对话、文档和衍生数据，将于 ${emailTime(closesAt)} 删除。`,
        '在此之前，您可以照常查看、导出和使用。有权关闭项目的人也可以重新打开它，删除随即取消。',
        page,
      ],
    },
    week: {
      subject: '一个项目的数据将在 7 天后删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目在所有数据存储中的全部数据将于 ${emailTime(closesAt)} 删除。需要保留的内容请提前导出。`,
        page,
      ],
    },
    day: {
      subject: '一个项目的数据将于明天删除',
      text: ({ closesAt, page }) => [
        `您参与的一个项目在所有数据存储中的全部数据将于 ${emailTime(closesAt)} 删除。这是删除前的最后一封邮件。请导出需要保留的内容，或请项目所有者重新打开项目。`,
        page,
      ],
    },
    gone: {
      subject: '已关闭项目的数据正在删除',
      text: ({ receipt }) => [
        '您曾参与的一个项目的 30 天期限已满。它在所有数据存储中的全部数据正在删除，之后还会再次搜索核验。',
        ...(receipt === null ? [] : ['全部核验后，可在此查看删除回执。持有此链接的人均可查看：', receipt]),
      ],
    },
    reopened: {
      subject: '一个项目已重新打开：其数据保留',
      text: ({ page }) => ['您参与的一个项目已取消关闭。没有任何内容被删除。', page],
    },
  },
}

/** An email to a member about the closing of a project, in their language. */
function closingEmail(locale: ProjectLocale, closing: NotifiedClosing, facts: ClosingFacts): EmailContent {
  const { subject, text } = words[locale][closing]
  return emailContent(locale, subject, text(facts))
}

/** Queues an email to every person who participates in the project, when the transaction commits. The payload contains only ids. */
async function enqueueClosingEmails(tx: Transaction, projectId: string, closing: NotifiedClosing): Promise<void> {
  for (const { id } of await peopleOfProject(tx, { project: projectId }))
    await enqueue(tx, closingEmailJob, { projectId, accountId: id, letter: closing }, { maxAttempts: 12 })
}

/** Returns the project to its members, and tells them. */
async function reopen(tx: Transaction, id: string, now: Date): Promise<void> {
  await tx.project.update({
    where: { id },
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
  await enqueueClosingEmails(tx, id, 'reopened')
}

/** Reopens a project if the account or agent that closed it has since lost the right to close it, and notifies the admins. A closing by an unknown or erased actor continues. */
async function isWithdrawn(ctx: Context, tx: Transaction, { id, closingBy }: ClosingRow): Promise<boolean> {
  if (closingBy === null) return false
  const [known] = await hasLostClosing(tx, { project: id, by: closingBy })
  if (known?.lost !== true) return false
  await reopen(tx, id, ctx.now)
  await reportWithdrawn(tx, { order: 'closing', projectId: id }, ctx.now)
  await ctx.pipeline.auditWithin(tx, {
    action: 'update',
    actorId: ctx.actor.id,
    resourceType: 'project',
    resourceId: id,
    at: ctx.now,
    ip: '',
    details: { from: 'closing', to: 'active' },
  })
  return true
}

/**
 * The next step for one project: an email, or the run that erases it when its 30 days are over, no legal hold covers it, and the actor that closed
 * it may still close it.
 */
async function step(
  ctx: Context,
  tx: Transaction,
  { erasures }: Pick<ProjectPorts, 'erasures'>,
  row: ClosingRow,
): Promise<void> {
  const { id, closesAt, lettersSent, reason: chosenReason, isHeld } = row
  const { now, actor } = ctx
  const reason = chosenReason ?? usualReason
  if (!isClosingOver(closesAt, now)) {
    const due = emailDue(closesAt, lettersSent, now)
    if (!due) return
    await tx.project.update({ where: { id }, data: { lettersSent: due.sent } })
    await enqueueClosingEmails(tx, id, due.letter)
    return
  }
  if (isHeld || (await isWithdrawn(ctx, tx, row))) return
  // Queue the emails while the members are still known. From here on the project is neither readable nor writable.
  await enqueueClosingEmails(tx, id, 'gone')
  const { receiptId, auditId } = await erasures.begin(tx, {
    requestId: null,
    subject: { account: null, agents: [] },
    part: { kind: 'project', id, project: id, conversation: null },
    requestedBy: actor.id,
    reason,
    now,
  })
  await tx.project.update({
    where: { id },
    data: { erasingSince: now, lettersSent: closingEmails.length, receiptId, updatedAt: now },
  })
  await ctx.pipeline.auditWithin(tx, {
    action: 'delete',
    actorId: actor.id,
    resourceType: 'project',
    resourceId: id,
    at: now,
    ip: '',
    details: { reason, auditId },
  })
}

/** Hourly: emails and erasures of closing projects. Daily: removal of uploads that a crash interrupted. */
export const projectJobs = (ports: ProjectPorts, mail: MailPort) => [
  job({
    name: 'projects.close',
    payload: z.unknown(),
    cron: '23 * * * *',
    async run(ctx) {
      for (let after = ''; ; ) {
        // One transaction per project, so that a failure does not affect other projects.
        const handled = await ctx.pipeline.transaction(async (tx) => {
          const [row] = await lockNextClosing(tx, { after, now: ctx.now })
          if (row) await step(ctx, tx, ports, row)
          return row?.id
        })
        if (handled === undefined) return
        after = handled
      }
    },
  }),
  job({
    name: closingEmailJob,
    payload: z.strictObject({ projectId: z.string(), accountId: z.string(), letter: notifiedOf }),
    async run(ctx, { projectId, accountId, letter: notified }) {
      const ready = await ctx.pipeline.transaction(async (tx) => {
        const project = await tx.project.findUnique({
          where: { id: projectId },
          select: { status: true, closesAt: true, receiptId: true },
        })
        const contact = await accountDirectory.contactOf(tx, accountId)
        return project && contact ? { project, contact } : undefined
      })
      if (!ready) return
      const { project, contact } = ready
      // Skip an email that is outdated because the project was reopened or erased in the meantime.
      const isStale = (notified === 'reopened') !== (project.status === 'active')
      if (isStale || (notified !== 'reopened' && notified !== 'gone' && project.status !== 'closing')) return
      const content = closingEmail(contact.locale, notified, {
        closesAt: project.closesAt ?? ctx.now,
        page: `${ports.origin}/projects/${projectId}`,
        receipt: project.receiptId === null ? null : `${ports.origin}/receipts/${project.receiptId}`,
      })
      await mail.send({ to: contact.email, about: accountId, ...content })
    },
  }),
  job({
    name: 'projects.sweep-uploads',
    payload: z.unknown(),
    cron: '41 4 * * *',
    run: async (ctx) => {
      await sweepUploads(ports, ctx.now)
    },
  }),
]

/** Starts the 30 days. Until they end, the project stays readable and writable. */
async function closing(
  ctx: MutationContext,
  { params: { projectId }, body }: Pick<Input<typeof closeProject>, 'params' | 'body'>,
): Promise<Reply<Returned<typeof closeProject>>> {
  const { tx, actor, now } = ctx
  const reader = projectReaderOf(ctx)
  const reason = body?.reason ?? usualReason
  const project = await lockClosable(ctx, reader, projectId)
  guardApplication(ctx)
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
      await reopen(tx, projectId, now)
      return {
        body: { data: await projectAsSeen(tx, reader, projectId, now) },
        resourceId: projectId,
        details: { from: 'closing', to: 'active' },
      }
    },
    named,
  ),
})
