import { timelineTextFor } from '#lib/domains/privacy-requests/emails/status-texts.ts'
import { cancelRequestIn } from '#lib/domains/privacy-requests/execution/cancellation.ts'
import { rectify } from '#lib/domains/privacy-requests/execution/execution.ts'
import { checkFiling, fileRequestIn, requestLink } from '#lib/domains/privacy-requests/filing/filing.ts'
import type { About } from '#lib/domains/privacy-requests/filing/joining.ts'
import { makeRequestLink } from '#lib/domains/privacy-requests/filing/links.ts'
import { type Proof, verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import { expediteRequestIn, requestForRetry, retry } from '#lib/domains/privacy-requests/queue/decisions.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { Actor, Context, MutationContext } from '#lib/kernel/context.ts'
import { pageOf, parseCursor } from '#lib/kernel/pages.ts'
import { invalid, Problem } from '#lib/kernel/problem.ts'
import { mutation, read } from '#lib/kernel/use-case.ts'
import type { Prisma } from '../../../generated/prisma/client.ts'
import {
  cancelRequest,
  expediteRequest,
  fileRequest,
  listRequests,
  readRequest,
  retryOwnRequest,
  sendRequestLink,
  verifyRequest,
} from './contract.ts'
import type { PrivacyDeps } from './ports.ts'
import { pauseReasons, requestsCountedTo, storyOf } from './reading.ts'
import { lockSubject } from './repository.ts'
import {
  filedFor,
  isOwnOf,
  kindsOf,
  lockedRequest,
  noRequest,
  ownedBy,
  type RequestRow,
  requestPartOf,
  waitsForAddress,
  withParts,
} from './requests.ts'
import { type RequestKind, scopeFor } from './rules.ts'
import { notifyParties, type RequestWork, workOf } from './timeline.ts'
import { eventView, filerView, requestView, runView, statementOf } from './views.ts'

/** Rejects a token whose scopes do not allow the kinds. */
function refuseScopes(actor: Actor, kinds: readonly RequestKind[]): void {
  const missing = missingScope(actor, kinds)
  if (missing) throw new Problem('scope_too_small', `This operation requires the scope "${missing}".`)
}
const missingScope = ({ kind, scopes }: Actor, kinds: readonly RequestKind[]): string | undefined =>
  kind !== 'agent' || scopes.includes('admin')
    ? undefined
    : kinds.map(scopeFor).find((scope) => !scopes.includes(scope))

/** Rejects a read-only token: cancelling a request and sending emails need a write scope. */
function refuseReaders({ kind, scopes }: Actor): void {
  if (kind === 'agent' && !scopes.some((scope) => scope === 'write' || scope === 'admin'))
    throw new Problem('scope_too_small', 'This operation requires the scope "write".')
}

/** Use cases for the subject's own requests. Each change commits together with its timeline entry, audit entry and email job. */
export function ownRequests(deps: PrivacyDeps) {
  const { db, people } = deps

  /**
   * Returns the subject of a new request: the actor, one of their agents, or a member. For an agent or member of
   * somebody else, the error is the same as for an unknown one.
   */
  async function aboutOf(
    ctx: MutationContext,
    body: { agent_id?: string | undefined; member?: string | undefined },
  ): Promise<About> {
    const { actor, tx } = ctx
    if (body.agent_id !== undefined && body.member !== undefined)
      throw invalid(['member'], 'cannot be combined with agent_id')
    if (body.member !== undefined) {
      const isMember = actor.accountId !== undefined && (await people.mayFileFor(tx, actor.accountId, body.member))
      if (!isMember)
        throw new Problem(
          'not_found',
          'There is no such member in an organization that you manage or a project that you own.',
        )
      return { account: body.member }
    }
    const agent = body.agent_id ?? (actor.kind === 'agent' ? actor.id : undefined)
    if (agent === undefined) {
      if (actor.accountId === undefined) throw new Problem('sign_in_needed')
      return { account: actor.accountId }
    }
    if (!actor.agents.includes(agent))
      throw new Problem('not_found', 'No agent with this id exists, or it is not yours.')
    return { agent }
  }

  const checkPassword = (ctx: MutationContext, password: string): Promise<void> => {
    const { accountId } = ctx.actor
    if (accountId === undefined) throw invalid(['password'], 'is only for people: a token already identifies its agent')
    return people.checkPassword(ctx.tx, accountId, password, ctx.now)
  }

  const own = async (ctx: MutationContext, id: string): Promise<RequestRow> => {
    const row = await lockedRequest(ctx.tx, id, ownedBy(ctx))
    if (!row) throw noRequest()
    return row
  }
  const shown = (ctx: Context, row: RequestRow, reasons: ReadonlyMap<string, string>) => {
    const view = requestView(row, ctx.now, reasons)
    return isOwnOf(ctx, row) ? view : filerView(view)
  }
  const viewed = async (ctx: Context & { tx?: MutationContext['tx'] }, row: RequestRow) =>
    shown(ctx, row, await pauseReasons(ctx.tx ?? db.prisma, [row]))
  /**
   * Verifies the requests, erasures last, because an erasure may begin immediately and make the others moot. Returns
   * the current row of the request `of`.
   */
  async function confirmed(work: RequestWork, actor: Actor, rows: readonly RequestRow[], proof: Proof, of: RequestRow) {
    let shownRow = of
    for (const { id } of rows.toSorted((one, other) => Number(!!one.grace) - Number(!!other.grace))) {
      const row = await lockedRequest(work.tx, id)
      if (row?.state !== 'received') continue
      refuseScopes(actor, kindsOf(row))
      const next = await verifyRequestIn(deps, work, row, proof)
      if (next.id === of.id) shownRow = next
    }
    return shownRow
  }
  const replied = async (ctx: MutationContext, work: RequestWork, row: RequestRow) => {
    await notifyParties(work)
    return {
      body: { data: await viewed(ctx, row), message: timelineTextFor(deps, row) },
      resourceId: row.id,
      // Without changes, the pipeline's default audit entry records the call.
      ...(work.entries.length > 0 && { entries: work.entries }),
    }
  }

  return {
    file: mutation(fileRequest, async (ctx, { body }) => {
      const { actor, tx, now } = ctx
      refuseScopes(actor, body.kinds)
      checkFiling(body, actor.kind === 'agent' || body.agent_id !== undefined)
      const isForMember = body.member !== undefined
      if (body.password !== undefined && isForMember)
        throw invalid(['password'], 'is only for your own requests: the member receives a link')
      if (body.changes && (isForMember || actor.kind === 'agent' || body.agent_id !== undefined))
        throw invalid(['changes'], 'is only for your own account')
      if (body.changes && body.password === undefined) throw invalid(['password'], 'is required to change the account')
      const about = await aboutOf(ctx, body)
      if (body.password !== undefined) await checkPassword(ctx, body.password)
      const work = workOf(ctx, isForMember ? 'manager' : 'subject')
      const filed = await fileRequestIn(deps, work, {
        about,
        kinds: body.kinds,
        channel: isForMember ? 'manager' : actor.kind === 'agent' ? 'api' : 'console',
        filedBy: actor.id,
        receivedAt: now,
        isProven: body.password !== undefined || actor.kind === 'agent',
        reaches: (kinds) => missingScope(actor, kinds) === undefined,
        grace: body.grace,
        redacts: body.redact,
        ...(body.statement !== undefined && { statement: plainTextPhrases(body.statement, 'statement', deps.strict) }),
        ...(body.changes && {
          changes: {
            ...body.changes,
            ...(body.changes.name !== undefined && {
              name: plainTextPhrases(body.changes.name, 'changes', deps.strict),
            }),
          },
        }),
      })
      let { row } = filed
      const proof = body.password !== undefined ? 'password' : actor.kind === 'agent' ? 'token' : undefined
      const toConfirm = [...filed.unconfirmed, ...(filed.isNew ? [row] : [])]
      if (proof && toConfirm.length > 0) row = await confirmed(work, actor, toConfirm, proof, row)
      else if (filed.isNew) await requestLink(work, row, 'verify')
      // A confirmation carries out what the confirmed requests ask for, but not what was added to another one.
      const isAddedTo = !filed.isNew && !toConfirm.some(({ id }) => id === row.id) && (body.statement ?? body.changes)
      if (proof && isAddedTo && requestPartOf(row, 'rectification')?.state === 'running')
        row = await rectify(deps, work, row)
      const takesBack = filed.isNew && actor.kind === 'agent' && row.state === 'waiting'
      const { body: answer, ...reply } = await replied(ctx, work, row)
      return {
        ...reply,
        body: {
          data: { ...answer.data, cancel_token: takesBack ? await makeRequestLink(tx, row, 'cancel', now) : null },
          message: `${answer.message}${filed.joined.length > 0 ? ' The kinds that were already open joined the open request.' : ''}${
            row.state === 'received' && isOwnOf(ctx, row) && kindsOf(row).some((kind) => !body.kinds.includes(kind))
              ? ` Confirming it confirms all that it asks for: ${kindsOf(row).join(', ')}.`
              : ''
          }`,
          joined: filed.joined,
        },
        status: filed.isNew ? 201 : 200,
        headers: { Location: `/api/privacy/requests/${row.id}` },
      }
    }),

    list: read(listRequests, async (ctx, { query: { open, cursor, limit } }) => {
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
      const { shown: rows, page } = pageOf(found, limit, total, ({ receivedAt, id }) => ({ at: receivedAt, id }))
      const reasons = await pauseReasons(db.prisma, rows)
      return {
        body: { data: rows.map((row) => shown(ctx, row, reasons)), ...page },
        resourceId: 'list',
        details: { count: rows.length },
      }
    }),

    read: read(readRequest, async (ctx, { params: { id } }) => {
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
            ...(await viewed(ctx, row)),
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
    }),

    verify: mutation(verifyRequest, async (ctx, { params: { id }, body: { password } }) => {
      await checkPassword(ctx, password)
      const row = await own(ctx, id)
      const work = workOf(ctx, 'subject')
      return replied(ctx, work, await verifyRequestIn(deps, work, row, 'password'))
    }),

    retryOwn: mutation(retryOwnRequest, async (ctx, { params: { id } }) => {
      if ((await ctx.tx.privacyRequest.count({ where: { AND: [{ id }, ownedBy(ctx)] } })) === 0) throw noRequest()
      refuseReaders(ctx.actor)
      const row = await requestForRetry(deps, ctx.tx, id)
      if (!row) throw noRequest()
      const work = workOf(ctx, 'subject')
      return replied(ctx, work, await retry(deps, work, row))
    }),

    sendLink: mutation(sendRequestLink, async (ctx, { params: { id } }) => {
      const { tx } = ctx
      const found = await tx.privacyRequest.findFirst({
        where: { AND: [{ id }, ownedBy(ctx, await filedFor(people, tx, ctx, id))] },
      })
      if (!found) throw noRequest()
      refuseReaders(ctx.actor)
      // The lock of the subject serializes the emails to it, across requests, so that their limit is exact.
      await lockSubject(tx, { subjectKey: found.subjectKey })
      const row = await lockedRequest(tx, id)
      if (!row) throw noRequest()
      const work = workOf(ctx, found.filedBy === ctx.actor.id && found.channel === 'manager' ? 'manager' : 'subject')
      if (row.state !== 'received' && !waitsForAddress(row))
        throw new Problem('wrong_state', 'This request does not wait for a confirmation by link. No email was sent.')
      await requestLink(work, row, row.state === 'received' ? 'verify' : 'address')
      return replied(ctx, work, row)
    }),

    cancel: mutation(cancelRequest, async (ctx, { params: { id } }) => {
      const row = await own(ctx, id)
      refuseReaders(ctx.actor)
      const work = workOf(ctx, 'subject')
      return replied(ctx, work, await cancelRequestIn(deps, work, row))
    }),

    expedite: mutation(expediteRequest, async (ctx, { params: { id }, body: { password } }) => {
      await checkPassword(ctx, password)
      const row = await own(ctx, id)
      const work = workOf(ctx, 'subject')
      return replied(ctx, work, await expediteRequestIn(deps, work, row, { dropCopies: true }))
    }),
  }
}
