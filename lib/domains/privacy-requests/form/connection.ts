import { randomBytes } from 'node:crypto'
import { plainTextPhrases } from '#lib/domains/sanitizer/sanitizer.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { base62, hashOf, newId } from '#lib/kernel/ids.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { setPart } from '../execution/execution.ts'
import {
  type About,
  isOpenIn,
  openRequestsOf,
  refuseDuringErasure,
  refuseLastAdmin,
  requestLink,
  subjectNamedBy,
} from '../filing/filing.ts'
import { openContact, sealContact } from '../filing/links.ts'
import type { PrivacyDeps, RequestContact } from '../ports.ts'
import { unconfirmedForms } from '../queries.ts'
import { noSuchRequest, replyToAdmin } from '../queue/service.ts'
import { lockSubject } from '../repository.ts'
import {
  addressHashes,
  change,
  isPseudonymous,
  isUnconnected,
  KindName,
  kindsOf,
  lockedRequest,
  type RequestRow,
  type RequestWork,
  requestSubjectHash,
  workOf,
} from '../requests.ts'
import { unconfirmedLifetime, unforwardedLifetime } from '../rules.ts'
import {
  answerRequest,
  connectRequest,
  disconnectRequest,
  forwardUnconfirmed,
  listSuggestions,
  listUnconfirmed,
} from './contract.ts'
import { confirmFormEmail } from './jobs.ts'
import { maxSuggested } from './rules.ts'
import { openForm } from './service.ts'

/** @throws Problem `wrong_state` for a request that is connected, closed, or did not come from the form */
function requireUnconnected(row: RequestRow): void {
  if (isUnconnected(row) && row.state === 'received') return
  throw new Problem(
    'wrong_state',
    'This is only possible for an open request from the form that is not connected to an account or participant. Nothing was changed.',
  )
}

/**
 * The copy goes to the confirmed address, so it must be the address of the account or participant. One that only an agent reported later is none.
 * @throws Problem `conflict`
 */
function requireSameAddress(
  { subjectKey }: Pick<PrivacyDeps, 'subjectKey'>,
  row: RequestRow,
  email: string | null,
): void {
  if (email !== null && row.addressKey !== null && addressHashes(subjectKey(), email).includes(row.addressKey)) return
  throw new Problem(
    'conflict',
    email === null
      ? 'The participant has no confirmed email address. Add or confirm the right address of the participant first, which is recorded, then connect the request. Nothing was changed.'
      : 'The account or participant has another email address than the requester. File a request for it instead, and answer this one. Nothing was changed.',
  )
}

type Target = { about: { participant: string } } | { about: { account: string }; contact: RequestContact }
/** @throws Problem `conflict` when the account has another address: a form proves only its own address */
async function targetOf(
  deps: PrivacyDeps,
  ctx: MutationContext,
  row: RequestRow,
  body: Input<typeof connectRequest>['body'],
): Promise<Target> {
  let accountId = body.account_id
  if (body.project_id !== undefined && body.participant_id !== undefined) {
    const found = await deps.participants.find(ctx, { projectId: body.project_id, participantId: body.participant_id })
    if (found.accountId === null) {
      requireSameAddress(deps, row, found.emailConfirmed ? found.email : null)
      return { about: { participant: found.id } }
    }
    accountId = found.accountId
  }
  const contact = accountId === undefined ? undefined : await deps.people.contactOf(ctx.tx, accountId)
  if (accountId === undefined || !contact) throw new Problem('not_found', 'No account has this id.')
  requireSameAddress(deps, row, contact.email)
  return { about: { account: accountId }, contact }
}

/** @throws Problem `conflict` when the subject has an open request of the same kind */
async function refuseDuplicate(deps: PrivacyDeps, work: RequestWork, row: RequestRow, about: About): Promise<void> {
  const kinds = kindsOf(row)
  const open = await openRequestsOf(work.tx, requestSubjectHash(deps.subjectKey(), ...subjectNamedBy(about)))
  refuseDuringErasure(open, { kinds })
  if (open.some((other) => kinds.some((kind) => isOpenIn(other, kind))))
    throw new Problem(
      'conflict',
      'An open request of the same kind already exists for this account or participant. Answer this request with a reference to it. Nothing was changed.',
    )
  if (kinds.includes('erasure')) await refuseLastAdmin(deps, work.tx, about)
}

/** The name that the requester entered. It is stored until the request is closed, so that disconnecting restores it. */
const requesterNameOf = (deps: PrivacyDeps, { id, contact }: RequestRow): string | undefined =>
  contact === null ? undefined : openContact(deps.contactKey(), id, contact).requesterName

async function connectIn(deps: PrivacyDeps, work: RequestWork, row: RequestRow, target: Target): Promise<RequestRow> {
  const { about } = target
  const subjectKey = requestSubjectHash(deps.subjectKey(), ...subjectNamedBy(about))
  await lockSubject(work.tx, { subjectKey })
  await refuseDuplicate(deps, work, row, about)
  const isAccount = 'account' in about
  const next = await change(work, row, {
    event: 'connected',
    data: {
      ...(isAccount ? { accountId: about.account } : { participantId: about.participant }),
      subjectKind: isAccount ? 'person' : 'participant',
      subjectKey,
      ...('contact' in target && {
        contact: sealContact(deps.contactKey(), row.id, {
          ...target.contact,
          requesterName: requesterNameOf(deps, row),
        }),
      }),
      ...(kindsOf(row).includes('erasure') && { receiptId: newId('rcpt') }),
    },
    details: { subject: isAccount ? 'account' : 'participant' },
    isInternal: true,
  })
  if (isAccount) await requestLink(work, next, 'verify')
  return next
}

/**
 * Makes a connected request unconnected again, and deletes the link that confirms it.
 * @throws Problem `wrong_state` once the identity is verified, or the owner of the account acted on the request
 */
async function disconnectIn(deps: PrivacyDeps, work: RequestWork, row: RequestRow): Promise<RequestRow> {
  const acted = await work.tx.privacyRequestEvent.count({
    where: {
      requestId: row.id,
      by: { notIn: ['admin', 'system'] },
      event: { notIn: ['received', 'form_joined', 'status_link'] },
    },
  })
  const { addressKey } = row
  if (row.state !== 'received' || isUnconnected(row) || isPseudonymous(row) || addressKey === null || acted > 0)
    throw new Problem(
      'wrong_state',
      'This is only possible for a connected request from the form whose identity is not verified, and which the owner of the account did not add to. Nothing was changed.',
    )
  await work.tx.privacyLink.deleteMany({ where: { requestId: row.id, purpose: { not: 'status' } } })
  return change(work, row, {
    event: 'disconnected',
    data: {
      accountId: null,
      participantId: null,
      subjectKind: 'requester',
      receiptId: null,
      subjectKey: requestSubjectHash(deps.subjectKey(), 'requester', addressKey),
    },
    isInternal: true,
  })
}

/** Closes the request with an answer in words. */
async function answerIn(work: RequestWork, given: RequestRow, note: string): Promise<RequestRow> {
  let row = given
  for (const { kind } of given.parts) row = await setPart(work, row, KindName.parse(kind), 'done', { answered: true })
  return change(work, row, { event: 'answered', to: 'completed', note })
}

async function unconnectedRequest(ctx: MutationContext, id: string): Promise<RequestRow> {
  const row = await lockedRequest(ctx.tx, id)
  if (!row) throw noSuchRequest()
  requireUnconnected(row)
  return row
}

const suggestionsFor = (deps: PrivacyDeps) =>
  read(listSuggestions, async (_ctx, { params: { id } }) => {
    const tx = deps.db.prisma
    const row = await tx.privacyRequest.findUnique({ where: { id } })
    if (!row) throw noSuchRequest()
    const isOpen = isUnconnected(row) && row.closedAt === null && row.contact !== null
    const email = isOpen && row.contact ? openContact(deps.contactKey(), id, row.contact).email : undefined
    const found = email === undefined ? undefined : await deps.people.byEmail(tx, email)
    const names = await deps.people.namesOf(tx, found ? [found.accountId] : [])
    const participants = email === undefined ? [] : await deps.participants.byEmail(tx, email, maxSuggested)
    return {
      body: {
        data: {
          account: found ? { account_id: found.accountId, name: names.get(found.accountId) ?? '' } : null,
          participants: participants.map(({ projectId, projectName, participantId, name }) => ({
            project_id: projectId,
            project_name: projectName,
            participant_id: participantId,
            name,
          })),
        },
      },
      resourceId: id,
      details: { accounts: found ? 1 : 0, participants: participants.length },
    }
  })

/** Use cases with which admins handle requests from the form before they concern an account or participant. */
export const formConnection = (deps: PrivacyDeps) => ({
  listSuggestions: suggestionsFor(deps),
  connectRequest: mutation(connectRequest, async (ctx, { params: { id }, body }) => {
    const row = await unconnectedRequest(ctx, id)
    const work = workOf(ctx, 'admin')
    return replyToAdmin(deps, ctx, work, await connectIn(deps, work, row, await targetOf(deps, ctx, row, body)))
  }),
  disconnectRequest: mutation(disconnectRequest, async (ctx, { params: { id } }) => {
    const row = await lockedRequest(ctx.tx, id)
    if (!row) throw noSuchRequest()
    const work = workOf(ctx, 'admin')
    return replyToAdmin(deps, ctx, work, await disconnectIn(deps, work, row))
  }),
  answerRequest: mutation(answerRequest, async (ctx, { params: { id }, body }) => {
    const row = await unconnectedRequest(ctx, id)
    const work = workOf(ctx, 'admin')
    const answered = await answerIn(work, row, plainTextPhrases(body.note, 'note', deps.strict))
    return replyToAdmin(deps, ctx, work, answered)
  }),
})

/** Makes a new link, because only the hash of the last one is stored. Its 24 hours begin now. */
async function renewLink({ form, origin }: PrivacyDeps, { tx, now }: MutationContext, id: string) {
  if (!form.isForwardedByHand)
    throw new Problem('conflict', 'A mail server sends these links. Only the person with the address gets one.')
  const token = base62(randomBytes(32), 43)
  const expiresAt = new Date(now.getTime() + unconfirmedLifetime)
  const { count } = await tx.unconfirmedRequest.updateMany({
    where: { id, usedAt: null, expiresAt: { gt: now }, content: { not: null } },
    data: { hash: hashOf(token), emailedAt: now, expiresAt },
  })
  const record = await tx.unconfirmedRequest.findUnique({ where: { id } })
  if (count === 0 || !record?.content)
    throw new Problem('not_found', 'This request was confirmed, or it has expired. Reload the list.')
  const { email, locale, kind } = openForm(form.key(), id, record.content)
  const link = `${origin}/request/confirm#${token}`
  const { subject, text } = confirmFormEmail(locale, { origin, link, kind, sentAt: record.createdAt })
  return { email, link, subject, text, expires_at: expiresAt.toISOString() }
}

/** Without a mail server: the requests from the form whose link nobody has confirmed, and the links to forward. */
export const unconfirmedRequests = (deps: PrivacyDeps) => ({
  unconfirmed: read(listUnconfirmed, async ({ now }) => {
    const rows = deps.form.isForwardedByHand ? await unconfirmedForms(deps.db.prisma, now) : []
    const data = rows.map(({ id, content, createdAt, expiresAt }) => {
      const { kind, name, email } = openForm(deps.form.key(), id, content ?? new Uint8Array())
      return {
        id,
        kind,
        name: name ?? null,
        email,
        sent_at: createdAt.toISOString(),
        expires_at: expiresAt.toISOString(),
        is_forwarded: expiresAt.getTime() !== createdAt.getTime() + unforwardedLifetime,
      }
    })
    return { body: { data }, resourceId: 'list', details: { count: data.length } }
  }),
  forwardUnconfirmed: mutation(
    forwardUnconfirmed,
    async (ctx, { params: { id } }) => ({
      body: { data: await renewLink(deps, ctx, id) },
      resourceId: id,
      details: { event: 'forwarded' },
    }),
    (ctx, { params: { id } }) => renewLink(deps, ctx, id),
  ),
})
