import { verifyRequestIn } from '#lib/domains/privacy-requests/filing/verification.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { kindsOf, lockedRequest, type RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import { note, type RequestWork, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import {
  assignRequest,
  commentRequest,
  completePart,
  expediteByAdmin,
  extendRequest,
  pauseRequest,
  refuseRequest,
  resumeRequest,
  retryRequest,
  verifyByAdmin,
} from './contract.ts'
import {
  assign,
  comment,
  complete,
  expediteRequestIn,
  extend,
  pause,
  refuse,
  requestForRetry,
  resume,
  retry,
} from './decisions.ts'
import { fileForRequester } from './filing.ts'
import { listAssignees, listRequestsOfAll, readRequestAsAdmin } from './reading.ts'
import { noSuchRequest, replyToAdmin } from './replies.ts'

type Act = (work: RequestWork, row: RequestRow) => Promise<RequestRow>
type Lock = (tx: MutationContext['tx'], id: string) => Promise<RequestRow | undefined>

/** Executes one action of an admin on a locked request. */
async function acting(deps: PrivacyDeps, ctx: MutationContext, id: string, act: Act, lock: Lock = lockedRequest) {
  const row = await lock(ctx.tx, id)
  if (!row) throw noSuchRequest()
  const work = workOf(ctx, 'admin')
  return replyToAdmin(deps, ctx, work, await act(work, row))
}

/** Use cases with which admins decide about one request. */
function decisions(deps: PrivacyDeps) {
  const words = (text: string, field: string) => plainTextPhrases(text, field, deps.strict)
  return {
    assign: mutation(assignRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => assign(deps, work, row, body.account_id)),
    ),
    verifyByAdmin: mutation(verifyByAdmin, (ctx, { params, body }) =>
      acting(deps, ctx, params.id, async (work, row) => {
        if (kindsOf(row).includes('erasure') && row.state === 'received')
          await deps.requireApproval(ctx, { operation: verifyByAdmin, input: { params, body } })
        await note(work, row, { event: 'evidence', note: words(body.note, 'note'), isInternal: true })
        return verifyRequestIn(deps, work, row, 'admin')
      }),
    ),
    refuse: mutation(refuseRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) =>
        refuse(deps, work, row, { ground: body.ground, reason: words(body.reason, 'reason') }),
      ),
    ),
    extend: mutation(extendRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => extend(work, row, body.days, words(body.reason, 'reason'))),
    ),
    pause: mutation(pauseRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => pause(work, row, words(body.reason, 'reason'))),
    ),
    resume: mutation(resumeRequest, (ctx, { params: { id } }) =>
      acting(deps, ctx, id, (work, row) => resume(deps, work, row)),
    ),
    expediteByAdmin: mutation(expediteByAdmin, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) =>
        expediteRequestIn(deps, work, row, { reason: words(body.reason, 'reason'), dropCopies: body.drop_copies }),
      ),
    ),
    retry: mutation(retryRequest, (ctx, { params: { id }, body }) =>
      acting(
        deps,
        ctx,
        id,
        (work, row) => retry(deps, work, row, body.holder),
        (tx, id) => requestForRetry(deps, tx, id),
      ),
    ),
    complete: mutation(completePart, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => complete(work, row, body.kind, words(body.note, 'note'))),
    ),
    comment: mutation(commentRequest, (ctx, { params: { id }, body }) =>
      acting(deps, ctx, id, (work, row) => comment(work, row, words(body.note, 'note'))),
    ),
  }
}

/** Use cases of admins for privacy requests. */
export const requestQueue = (deps: PrivacyDeps) => ({
  listAll: listRequestsOfAll(deps),
  listMinders: listAssignees(deps),
  readAny: readRequestAsAdmin(deps),
  fileFor: fileForRequester(deps),
  ...decisions(deps),
})
