import { checkFiling, fileRequestIn } from '#lib/domains/privacy-requests/filing/filing.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { lockSubject } from '#lib/domains/privacy-requests/repository.ts'
import { formHash } from '#lib/domains/privacy-requests/requests.ts'
import { mostUnconfirmed, unconfirmedLifetime } from '#lib/domains/privacy-requests/rules.ts'
import { note, notifyParties, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import { hashOf } from '#lib/kernel/code-hash.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { openForm, sealForm } from './content.ts'
import { confirmRequestForm, readRequestForm, sendRequestForm, sendStatusLinks } from './contract.ts'
import { countUnconfirmed } from './repository.ts'

/** Sends the link that confirms the address. */
export const confirmFormJob = 'privacy.confirm-form'
/** Sends the links to the status pages of an address again. */
export const statusLinksJob = 'privacy.send-status-links'

/** @throws Problem `not_found` while the form is off */
async function requireForm({ form }: Pick<PrivacyDeps, 'form'>, { tx, ip }: MutationContext): Promise<void> {
  await form.countTry(ip)
  if (!(await form.isOn(tx))) throw new Problem('not_found', 'The request form is off.')
}

/**
 * Limits unconfirmed requests, so that a flood fills neither the table nor the outbox. The limits do not depend on the
 * address, so that they disclose nothing about it.
 * @throws Problem `rate_limited`
 */
async function boundUnconfirmed(tx: Transaction, network: string, now: Date): Promise<void> {
  await lockSubject(tx, { subjectKey: 'form' })
  const [counted] = await countUnconfirmed(tx, { network, now })
  const { network: own = 0, all = 0 } = counted ?? {}
  // A flood from some networks does not keep others out: beyond the limit of all, each network may still have one.
  if (own < mostUnconfirmed.network && all < mostUnconfirmed.all) return
  if (own === 0 && all < mostUnconfirmed.flooded) return
  throw new Problem('rate_limited', {
    detail:
      'Too many requests wait for the confirmation of their email address. Nothing was stored. Try again in an hour.',
    headers: { 'Retry-After': '3600' },
  })
}

const sentMessage =
  'We sent an email with a link to this address. The request is filed when you confirm it within 24 hours. At most three emails are sent to one address per hour.'

/**
 * Stores the request and enqueues the email. Every address causes the same queries and the same job, so that neither
 * response nor timing discloses anything about it. The job decides whether an email is sent.
 */
const send = (deps: PrivacyDeps) =>
  mutation(sendRequestForm, async (ctx, { body }) => {
    await requireForm(deps, ctx)
    const { email, name, kind, locale, website } = body
    checkFiling({ kinds: [kind], grace: undefined, statement: body.statement, changes: undefined }, false)
    const statement =
      body.statement === undefined
        ? undefined
        : plainTextPhrases(body.statement, 'statement', deps.strict, 'Nothing was sent.')
    const id = newId('pform')
    const reply = { body: { message: sentMessage }, resourceId: id }
    if (website !== undefined && website !== '') return { ...reply, details: { discarded: true } }
    const network = formHash(deps.subjectKey(), 'network', deps.form.networkOf(ctx.ip))
    await boundUnconfirmed(ctx.tx, network, ctx.now)
    await ctx.tx.unconfirmedRequest.create({
      data: {
        id,
        addressKey: formHash(deps.subjectKey(), 'address', email),
        networkKey: network,
        content: sealForm(deps.form.key(), id, { email, name, kind, locale, statement }),
        createdAt: ctx.now,
        expiresAt: new Date(ctx.now.getTime() + unconfirmedLifetime),
      },
    })
    await enqueue(ctx.tx, confirmFormJob, { id }, { maxAttempts: 12 })
    return reply
  })

const spent = (isUsed: boolean): Problem =>
  new Problem(
    'link_spent',
    isUsed
      ? 'This link was already used: the request is filed. The email that we sent afterwards has the link to its status page.'
      : 'This link has expired or is invalid. Links work for 24 hours. Fill in the form again.',
  )

/** Files the confirmed request. The legal month counts from the time when the form was sent. */
const confirm = (deps: PrivacyDeps) =>
  mutation(confirmRequestForm, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const { tx, now } = ctx
    const hash = hashOf(token)
    const { count } = await tx.unconfirmedRequest.updateMany({
      where: { hash, usedAt: null, expiresAt: { gt: now } },
      data: { usedAt: now },
    })
    const record = await tx.unconfirmedRequest.findUnique({ where: { hash } })
    if (count === 0 || !record?.content) throw spent(record?.usedAt != null)
    const { email, locale, name, kind, statement } = openForm(deps.form.key(), record.id, record.content)
    const work = workOf(ctx, 'subject')
    const filed = await fileRequestIn(deps, work, {
      about: { requester: record.addressKey },
      kinds: [kind],
      channel: 'form',
      filedBy: ctx.actor.id,
      receivedAt: record.createdAt,
      isProven: false,
      contact: { email, locale, requesterName: name },
      ...(statement !== undefined && { statement }),
    })
    if (!filed.isNew) await note(work, filed.row, { event: 'form_joined' })
    await tx.unconfirmedRequest.update({ where: { id: record.id }, data: { content: null } })
    await notifyParties(work)
    return {
      body: {
        data: {
          kind,
          received_at: filed.row.receivedAt.toISOString(),
          legal_due_at: filed.row.legalDueAt.toISOString(),
        },
      },
      resourceId: filed.row.id,
      entries: work.entries,
    }
  })

/** Enqueues the email with the links. The job finds the requests, so that every address takes the same time. */
const resend = (deps: PrivacyDeps) =>
  mutation(sendStatusLinks, async (ctx, { body: { email } }) => {
    await requireForm(deps, ctx)
    const address = formHash(deps.subjectKey(), 'address', email)
    await enqueue(ctx.tx, statusLinksJob, { address }, { key: `status-links:${address}`, maxAttempts: 12 })
    return {
      body: {
        message:
          'If this address has open requests from this form, we sent it an email with the links to their status pages. At most three emails per hour.',
      },
      resourceId: 'list',
    }
  })

/** Use cases of the public request form. */
export const requestForm = (deps: PrivacyDeps) => ({
  readForm: read(readRequestForm, async () => ({
    body: { data: { is_on: await deps.form.isOn(deps.db.prisma), privacy_email: deps.privacyEmail } },
    resourceId: 'form',
  })),
  sendForm: send(deps),
  confirmForm: confirm(deps),
  sendStatusLinks: resend(deps),
})
