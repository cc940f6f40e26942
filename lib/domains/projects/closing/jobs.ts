import { z } from 'zod'
import { sweepUploads } from '#lib/domains/projects/documents/uploads.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Context, Transaction } from '#lib/kernel/context.ts'
import { job } from '#lib/kernel/job.ts'
import type { MailPort } from '#lib/stores/mail/mail.ts'
import type { ProjectPorts } from '../ports.ts'
import { closingEmail, type NotifiedClosing } from './emails.ts'
import { type ClosingRow, lockNextClosing, peopleOfProject } from './repository.ts'
import { closingEmails, emailDue, isClosingOver, usualReason } from './rules.ts'

export const closingEmailJob = 'projects.letter'
const toldOf = z.enum([...closingEmails, 'reopened'])

/** Queues an email to every person who participates in the project, when the transaction commits. The payload contains only ids. */
export async function enqueueClosingEmails(
  tx: Transaction,
  projectId: string,
  closing: NotifiedClosing,
): Promise<void> {
  for (const { id } of await peopleOfProject(tx, { project: projectId }))
    await enqueue(tx, closingEmailJob, { projectId, accountId: id, letter: closing }, { maxAttempts: 12 })
}

/** The next step for one project: an email, or the run that erases it when its 30 days are over and no legal hold covers it. */
async function step(
  ctx: Context,
  tx: Transaction,
  { erasures }: Pick<ProjectPorts, 'erasures'>,
  { id, closesAt, lettersSent, reason: chosenReason, isHeld }: ClosingRow,
): Promise<void> {
  const { now, actor } = ctx
  const reason = chosenReason ?? usualReason
  if (!isClosingOver(closesAt, now)) {
    const due = emailDue(closesAt, lettersSent, now)
    if (!due) return
    await tx.project.update({ where: { id }, data: { lettersSent: due.sent } })
    await enqueueClosingEmails(tx, id, due.letter)
    return
  }
  if (isHeld) return
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
    ...{ action: 'delete', actorId: actor.id, resourceType: 'project', resourceId: id, at: now, ip: '' },
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
    payload: z.strictObject({ projectId: z.string(), accountId: z.string(), letter: toldOf }),
    async run(ctx, { projectId, accountId, letter: told }) {
      const ready = await ctx.pipeline.transaction(async (tx) => {
        const project = await tx.project.findUnique({
          where: { id: projectId },
          select: { status: true, closesAt: true, receiptId: true },
        })
        const contact = await ports.contactOf(tx, accountId)
        return project && contact ? { project, contact } : undefined
      })
      if (!ready) return
      const { project, contact } = ready
      // Skip an email that is outdated because the project was reopened or erased in the meantime.
      const isStale = (told === 'reopened') !== (project.status === 'active')
      if (isStale || (told !== 'reopened' && told !== 'gone' && project.status !== 'closing')) return
      const content = closingEmail(contact.locale, told, {
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
