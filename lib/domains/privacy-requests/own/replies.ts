import { timelineTextFor } from '#lib/domains/privacy-requests/emails/status-texts.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { pauseReasons } from '#lib/domains/privacy-requests/reading.ts'
import { isOwnOf, type RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import { notifyParties, type RequestWork } from '#lib/domains/privacy-requests/timeline.ts'
import { filerView, requestView } from '#lib/domains/privacy-requests/views.ts'
import type { Context, MutationContext } from '#lib/kernel/context.ts'

/** Returns the view of a request for the caller. A manager who filed it for a member sees less than the member. */
export function viewForCaller(ctx: Context, row: RequestRow, reasons: ReadonlyMap<string, string>) {
  const view = requestView(row, ctx.now, reasons)
  return isOwnOf(ctx, row) ? view : filerView(view)
}

/** Notifies the parties of the changes, and returns the reply with the changed request. */
export async function replyAfter(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  return {
    body: {
      data: viewForCaller(ctx, row, await pauseReasons(ctx.tx, [row])),
      message: timelineTextFor(deps, row),
    },
    resourceId: row.id,
    // Without changes, the pipeline's default audit entry records the call.
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}
