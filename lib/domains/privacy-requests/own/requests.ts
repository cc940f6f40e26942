import type { Prisma } from '#generated/prisma/client.ts'
import {
  cancelRequest,
  expediteRequest,
  listRequests,
  readRequest,
  retryOwnRequest,
  sendRequestLink,
  verifyRequest,
} from '#lib/domains/privacy-requests/contract.ts'
import { cancelRequestIn } from '#lib/domains/privacy-requests/execution/cancellation.ts'
import { requestLink } from '#lib/domains/privacy-requests/filing/filing.ts'
import { verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { expediteRequestIn, requestForRetry, retry } from '#lib/domains/privacy-requests/queue/decisions.ts'
import { pauseReasons, requestsCountedTo, storyOf } from '#lib/domains/privacy-requests/reading.ts'
import { lockSubject } from '#lib/domains/privacy-requests/repository.ts'
import {
  filedFor,
  isOwnOf,
  lockedRequest,
  noRequest,
  ownedBy,
  type RequestRow,
  waitsForAddress,
  withParts,
} from '#lib/domains/privacy-requests/requests.ts'
import { workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { eventView, runView, statementOf } from '#lib/domains/privacy-requests/views.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import { requirePassword, requireWriteScope } from './authorization.ts'
import { fileOwnRequest } from './filing.ts'
import { replyAfter, viewForCaller } from './replies.ts'

/** Locks a request about the caller or one of their agents. */
async function lockedOwn(ctx: MutationContext, id: string): Promise<RequestRow> {
  const row = await lockedRequest(ctx.tx, id, ownedBy(ctx))
  if (!row) throw noRequest()
  return row
}

const list = ({ db, people }: Pick<PrivacyDeps, 'db' | 'people'>) =>
  read(listRequests, async (ctx, { query: { open, cursor, limit } }) => {
    const after = parseCursor(cursor)
    const where: Prisma.PrivacyRequestWhereInput = {
      AND: [
        ownedBy(ctx, await filedFor(people, db.prisma, ctx)),
        open === undefined ? {} : { closedAt: open ? null : { not: null } },
      ],
    }
    const [found, total] = await Promise.all([
      db.prisma.privacyRequest.findMany({
        where: {
          AND: [
            where,
            after ? { OR: [{ receivedAt: { lt: after.at } }, { receivedAt: after.at, id: { lt: after.id } }] } : {},
          ],
        },
        orderBy: [{ receivedAt: 'desc' }, { id: 'desc' }],
        take: limit + 1,
        include: withParts,
      }),
      db.prisma.privacyRequest.count({ where, take: requestsCountedTo }),
    ])
    const { shown, page } = pageOf(found, limit, total, ({ receivedAt, id }) => ({ at: receivedAt, id }))
    const reasons = await pauseReasons(db.prisma, shown)
    return {
      body: { data: shown.map((row) => viewForCaller(ctx, row, reasons)), ...page },
      resourceId: 'list',
      details: { count: shown.length },
    }
  })

const readOne = (deps: Pick<PrivacyDeps, 'db' | 'people' | 'erasures'>) =>
  read(readRequest, async (ctx, { params: { id } }) => {
    const { db, people } = deps
    const row = await db.prisma.privacyRequest.findFirst({
      where: { AND: [{ id }, ownedBy(ctx, await filedFor(people, db.prisma, ctx, id))] },
      include: withParts,
    })
    if (!row) throw noRequest()
    const { events, run } = await storyOf(deps, row)
    // A manager who filed the request for a member sees its state, but no texts and no result.
    const isOwn = isOwnOf(ctx, row)
    // A token with only the scope `write` follows the request without reading texts.
    const seesTexts = isOwn && ctx.actor.can('privacy:read')
    return {
      body: {
        data: {
          ...viewForCaller(ctx, row, await pauseReasons(db.prisma, [row])),
          statement: seesTexts ? statementOf(row) : null,
          timeline: events
            .filter(({ isInternal }) => !isInternal)
            .map((event) =>
              eventView(
                isOwn ? { ...event, ...(!seesTexts && { note: null }) } : { ...event, note: null, details: {} },
              ),
            ),
          erasure: run && isOwn ? runView(run) : null,
        },
      },
      resourceId: id,
    }
  })

const verify = (deps: PrivacyDeps) =>
  mutation(verifyRequest, async (ctx, { params: { id }, body: { password } }) => {
    await requirePassword(deps.people, ctx, password)
    const row = await lockedOwn(ctx, id)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await verifyRequestIn(deps, work, row, 'password'))
  })

const retryOwn = (deps: PrivacyDeps) =>
  mutation(retryOwnRequest, async (ctx, { params: { id } }) => {
    if ((await ctx.tx.privacyRequest.count({ where: { AND: [{ id }, ownedBy(ctx)] } })) === 0) throw noRequest()
    requireWriteScope(ctx.actor)
    const row = await requestForRetry(deps, ctx.tx, id)
    if (!row) throw noRequest()
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await retry(deps, work, row))
  })

const sendLink = (deps: PrivacyDeps) =>
  mutation(sendRequestLink, async (ctx, { params: { id } }) => {
    const { tx } = ctx
    const found = await tx.privacyRequest.findFirst({
      where: { AND: [{ id }, ownedBy(ctx, await filedFor(deps.people, tx, ctx, id))] },
    })
    if (!found) throw noRequest()
    requireWriteScope(ctx.actor)
    // The lock of the subject serializes the emails to it, across requests, so that their limit is exact.
    await lockSubject(tx, { subjectKey: found.subjectKey })
    const row = await lockedRequest(tx, id)
    if (!row) throw noRequest()
    const work = workOf(ctx, found.filedBy === ctx.actor.id && found.channel === 'manager' ? 'manager' : 'subject')
    if (row.state !== 'received' && !waitsForAddress(row))
      throw new Problem('wrong_state', 'This request does not wait for a confirmation by link. No email was sent.')
    await requestLink(work, row, row.state === 'received' ? 'verify' : 'address')
    return replyAfter(deps, ctx, work, row)
  })

const cancel = (deps: PrivacyDeps) =>
  mutation(cancelRequest, async (ctx, { params: { id } }) => {
    const row = await lockedOwn(ctx, id)
    requireWriteScope(ctx.actor)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await cancelRequestIn(deps, work, row))
  })

const expedite = (deps: PrivacyDeps) =>
  mutation(expediteRequest, async (ctx, { params: { id }, body: { password } }) => {
    await requirePassword(deps.people, ctx, password)
    const row = await lockedOwn(ctx, id)
    const work = workOf(ctx, 'subject')
    return replyAfter(deps, ctx, work, await expediteRequestIn(deps, work, row, { dropCopies: true }))
  })

/** Use cases for the subject's own requests. Each change commits together with its timeline entry, audit entry and email job. */
export const ownRequests = (deps: PrivacyDeps) => ({
  file: fileOwnRequest(deps),
  list: list(deps),
  read: readOne(deps),
  verify: verify(deps),
  retryOwn: retryOwn(deps),
  sendLink: sendLink(deps),
  cancel: cancel(deps),
  expedite: expedite(deps),
})
