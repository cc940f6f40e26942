import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { lockedRequest, noRequest, type RequestRow, StateName } from '#lib/domains/privacy-requests/requests.ts'
import { type RequestWork, settle, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { plainTextPhrases } from '#lib/domains/sanitizer/plain-words.ts'
import { batched } from '#lib/kernel/batched.ts'
import type { Context } from '#lib/kernel/context.ts'
import type { Input } from '#lib/kernel/operation.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { requireRecentPassword } from '#lib/kernel/step-up.ts'
import { bulkRequests } from './contract.ts'
import { assign, comment, expediteRequestIn, pause, requestForRetry, resume, retry } from './decisions.ts'

/** Executes the same action for many requests, each in its own transaction with its timeline entry and audit entry. */
export function bulk(deps: PrivacyDeps) {
  const words = (text: string, field: string) => plainTextPhrases(text, field, deps.strict)

  function act(work: RequestWork, row: RequestRow, body: Input<typeof bulkRequests>['body']): Promise<RequestRow> {
    switch (body.action) {
      case 'assign':
        return assign(deps, work, row, body.account_id)
      case 'expedite':
        return expediteRequestIn(deps, work, row, {
          reason: words(body.reason, 'reason'),
          dropCopies: body.drop_copies,
        })
      case 'comment':
        return comment(work, row, words(body.note, 'note'))
      case 'retry':
        return retry(deps, work, row)
      case 'pause':
        return pause(work, row, words(body.reason, 'reason'))
      case 'resume':
        return resume(deps, work, row)
    }
  }
  const one = (ctx: Context, id: string, body: Input<typeof bulkRequests>['body']): Promise<RequestRow> =>
    ctx.pipeline.transaction(async (tx) => {
      const row = body.action === 'retry' ? await requestForRetry(deps, tx, id) : await lockedRequest(tx, id)
      if (!row) throw noRequest()
      const work = workOf({ ...ctx, tx }, 'admin')
      const next = await act(work, row, body)
      await settle(deps, work, ctx.ip)
      return next
    })

  return {
    bulk: batched(bulkRequests, async (ctx, { body }) => {
      if (body.action === 'expedite') requireRecentPassword(ctx)
      const data = []
      for (const id of body.ids) {
        try {
          const row = await one(ctx, id, body)
          data.push({ id, ok: true, state: StateName.parse(row.state), code: null, detail: null })
        } catch (error) {
          if (!Problem.is(error)) throw error
          // The change is rolled back, so the request still has this state.
          const row = await deps.db.prisma.privacyRequest.findUnique({ where: { id }, select: { state: true } })
          data.push({
            id,
            ok: false,
            state: row && StateName.parse(row.state),
            code: error.code,
            detail: error.detail ?? null,
          })
        }
      }
      return { body: { data }, resourceId: 'bulk' }
    }),
  }
}
