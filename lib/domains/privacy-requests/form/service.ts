import { z } from 'zod'
import { seal, unseal } from '#lib/config/secret.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { MutationContext, Transaction } from '#lib/kernel/context.ts'
import { hashOf, newId } from '#lib/kernel/ids.ts'
import { clientNetworkOf } from '#lib/kernel/network-keys.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read, stream } from '#lib/kernel/use-case.ts'
import { notedReply } from '../deadlines-in-ledger.ts'
import { cancelRequestIn } from '../execution/execution.ts'
import { checkFiling, fileRequestIn } from '../filing/filing.ts'
import type { PrivacyDeps } from '../ports.ts'
import { lockSubject } from '../repository.ts'
import {
  addressHashes,
  clocksOf,
  formHash,
  isUnconnected,
  kindsOf,
  lockedRequest,
  note,
  notifyParties,
  type RequestRow,
  StateName,
  withParts,
  workOf,
} from '../requests.ts'
import {
  deadlineStatus,
  isCancellable,
  maxUnconfirmed,
  requestKinds,
  statusLinkEnd,
  unconfirmedLifetime,
  unforwardedLifetime,
} from '../rules.ts'
import {
  confirmRequestForm,
  downloadFormCopy,
  readFormStatus,
  readRequestForm,
  sendRequestForm,
  sendStatusLinks,
  withdrawFormRequest,
} from './contract.ts'
import { countUnconfirmed } from './repository.ts'
import { type CopyDelivery, copyOpen, type StatusStage } from './rules.ts'

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
async function boundUnconfirmed(
  { form }: Pick<PrivacyDeps, 'form'>,
  tx: Transaction,
  network: string,
  now: Date,
): Promise<void> {
  await lockSubject(tx, { subjectKey: 'form' })
  // Those that wait for an admin for weeks do not count.
  const since = form.isForwardedByHand ? new Date(now.getTime() - unconfirmedLifetime) : new Date(0)
  const [counted] = await countUnconfirmed(tx, { network, now, since })
  const { network: own = 0, all = 0 } = counted ?? {}
  // A flood from some networks does not keep others out: beyond the limit of all, each network may still have one.
  if (own < maxUnconfirmed.network && all < maxUnconfirmed.all) return
  if (own === 0 && all < maxUnconfirmed.flooded) return
  throw new Problem('rate_limited', {
    detail:
      'Too many requests wait for the confirmation of their email address. Nothing was stored. Try again in an hour.',
    headers: { 'Retry-After': '3600' },
  })
}

const sentMessage =
  'We sent an email with a link to this address. The request is filed when you confirm it within 24 hours. At most three emails are sent to one address per hour.'

const FormContent = z.strictObject({
  email: z.string(),
  locale: z.enum(['en', 'zh']),
  name: z.string().optional(),
  kind: z.enum(requestKinds),
  statement: z.string().optional(),
})
/** What a requester entered in the form. */
type FormContent = z.output<typeof FormContent>

/** Seals the content of an unconfirmed request: only this installation can read it, and only for this request. */
export const sealForm = (key: Uint8Array, id: string, content: FormContent): Uint8Array<ArrayBuffer> =>
  new Uint8Array(seal(key, Buffer.from(JSON.stringify(content)), id))

export const openForm = (key: Uint8Array, id: string, sealed: Uint8Array): FormContent =>
  FormContent.parse(JSON.parse(unseal(key, sealed, id).toString('utf8')))

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
    const network = formHash(deps.subjectKey(), 'network', clientNetworkOf(ctx.ip))
    await boundUnconfirmed(deps, ctx.tx, network, ctx.now)
    await ctx.tx.unconfirmedRequest.create({
      data: {
        id,
        addressKey: formHash(deps.subjectKey(), 'address', email),
        networkKey: network,
        content: sealForm(deps.form.key(), id, { email, name, kind, locale, statement }),
        createdAt: ctx.now,
        expiresAt: new Date(
          ctx.now.getTime() + (deps.form.isForwardedByHand ? unforwardedLifetime : unconfirmedLifetime),
        ),
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
    const reply = {
      body: {
        data: {
          kind,
          received_at: filed.row.receivedAt,
          legal_due_at: filed.row.legalDueAt,
        },
      },
      resourceId: filed.row.id,
      entries: work.entries,
    }
    return notedReply(deps, filed, reply, now)
  })

/** Enqueues the email with the links. The job finds the requests, so that every address takes the same time. */
const resend = (deps: PrivacyDeps) =>
  mutation(sendStatusLinks, async (ctx, { body: { email } }) => {
    await requireForm(deps, ctx)
    // One for an address in ASCII, for which the response thus takes the same time as for every other one.
    for (const address of addressHashes(deps.subjectKey(), email))
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

/** A link to a status page with its request. */
interface StatusLink {
  createdAt: Date
  requestId: string
  /** When an admin saw the link; null if only the recipient could. */
  shownAt: Date | null
}
/** @throws Problem `link_spent` for an unknown or expired link, or one of another purpose */
async function statusLinkOf(tx: Transaction, token: string, now: Date): Promise<StatusLink> {
  const record = await tx.privacyLink.findFirst({
    where: { hash: hashOf(token), purpose: 'status', expiresAt: { gt: now } },
    select: { requestId: true, createdAt: true, shownAt: true },
  })
  if (!record)
    throw new Problem(
      'link_spent',
      'This link is invalid or has expired. Status pages are deleted 30 days after the request is closed, and earlier when the data of the requester is erased.',
    )
  return record
}

/**
 * How a copy reaches the requester. Only a link that was sent after the identity was verified downloads it: earlier links
 * were sent when the requester could only see the status, and may have been passed on. A link that an admin saw in the
 * outbox never does, because the same admin may have confirmed the address and verified the identity.
 */
function copyDeliveryOf(row: RequestRow, link: StatusLink, now: Date): CopyDelivery | null {
  const isReady = row.parts.some(({ kind, state }) => (kind === 'access' || kind === 'portability') && state === 'done')
  if (!isReady || isUnconnected(row)) return null
  if (row.accountId !== null) return 'sign_in'
  if (
    link.shownAt !== null ||
    row.participantId === null ||
    row.verifiedAt === null ||
    now.getTime() >= row.verifiedAt.getTime() + copyOpen
  )
    return 'organization'
  return link.createdAt >= row.verifiedAt ? 'download' : 'email'
}

/** The download of a participant's copy, with the token of a status page. */
export const formCopy = ({ db, form, participants }: Pick<PrivacyDeps, 'db' | 'form' | 'participants'>) => ({
  downloadFormCopy: stream(downloadFormCopy, async ({ ip, now }, { body: { token } }) => {
    await form.countTry(ip)

    const link = await statusLinkOf(db.prisma, token, now)
    const row = await db.prisma.privacyRequest.findUniqueOrThrow({ where: { id: link.requestId }, include: withParts })
    const { participantId } = row
    const projectId = participantId === null ? undefined : await participants.projectOf(db.prisma, participantId)
    if (link.shownAt !== null)
      throw new Problem(
        'wrong_state',
        'This link downloads no copy, because an admin of this installation saw it. Ask the organization for the copy. Links that a mail server sent (KP_SMTP_URL) download it.',
      )
    if (participantId === null || projectId === undefined || copyDeliveryOf(row, link, now) !== 'download')
      throw new Problem(
        'wrong_state',
        'This link downloads no copy. A link that was sent after your identity was verified does, for 30 days.',
      )
    const scope = row.kinds.includes('access') ? 'all' : 'provided'
    return {
      body: participants.copyOf({ participantId, projectId, scope, now }),
      resourceId: row.id,
      details: { participant_id: participantId, scope },
      headers: {
        'Content-Type': 'application/x-ndjson',
        'Content-Disposition': 'attachment; filename="my-data.ndjson"',
        'Cache-Control': 'no-store',
      },
    }
  }),
})

function stageOf(row: RequestRow): StatusStage {
  const state = StateName.parse(row.state)
  switch (state) {
    case 'received':
      if (isUnconnected(row)) return 'in_review'
      return row.accountId === null ? 'verifying_identity' : 'confirm_by_email'
    case 'waiting':
      return 'grace_period'
    case 'verified':
    case 'running':
    case 'verifying':
      return 'in_progress'
    case 'failed':
      return 'delayed'
    case 'completed':
      // An answer in words is not an execution: nothing was erased, corrected or handed over by this installation.
      return isUnconnected(row) ? 'answered' : 'completed'
    case 'partly_completed':
    case 'cancelled':
      return state
    case 'rejected':
      return 'refused'
  }
}

type Status = z.input<typeof readFormStatus.output>['data']
/** The status for the holder of the link: nothing about accounts, names, ids, other requests or admins. */
async function statusOf(tx: Transaction, row: RequestRow, link: StatusLink, now: Date): Promise<Status> {
  const events = await tx.privacyRequestEvent.findMany({
    where: { requestId: row.id, isInternal: false, note: { not: null } },
    orderBy: [{ at: 'asc' }, { id: 'asc' }],
  })
  return {
    kinds: kindsOf(row),
    stage: stageOf(row),
    received_at: row.receivedAt,
    legal_due_at: deadlineStatus(clocksOf(row), now).legalDueAt,
    extended: row.extendedAt !== null,
    paused: row.pausedAt !== null,
    erasure_at: row.state === 'waiting' ? row.waitingUntil : null,
    closed_at: row.closedAt,
    expires_at: row.closedAt ? statusLinkEnd(row.closedAt) : null,
    can_withdraw: link.shownAt === null && isCancellable(StateName.parse(row.state)),
    copy: copyDeliveryOf(row, link, now),
    messages: events.map(({ at, event, note }) => ({ at, event, note: note ?? '' })),
  }
}

/** Use cases of the status page, to which a link in the emails leads. */
export const formStatus = (deps: PrivacyDeps) => ({
  readFormStatus: read(readFormStatus, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const link = await statusLinkOf(deps.db.prisma, token, ctx.now)
    const id = link.requestId
    const row = await deps.db.prisma.privacyRequest.findUniqueOrThrow({ where: { id }, include: withParts })
    return { body: { data: await statusOf(deps.db.prisma, row, link, ctx.now) }, resourceId: id }
  }),

  withdrawForm: mutation(withdrawFormRequest, async (ctx, { body: { token } }) => {
    await deps.form.countTry(ctx.ip)
    const link = await statusLinkOf(ctx.tx, token, ctx.now)
    const id = link.requestId
    const row = await lockedRequest(ctx.tx, id)
    if (!row) throw new Problem('link_spent', 'This link is invalid or has expired.')
    if (link.shownAt !== null)
      throw new Problem(
        'wrong_state',
        'This link cannot withdraw the request, because an admin of this installation saw it. Ask the organization to close the request. Links that a mail server sent (KP_SMTP_URL) withdraw it. Nothing was changed.',
      )
    const work = workOf(ctx, 'subject')
    const next = await cancelRequestIn(deps, work, row)
    await notifyParties(work)
    return { body: { data: await statusOf(ctx.tx, next, link, ctx.now) }, resourceId: id, entries: work.entries }
  }),
})
