import { timelineTextFor } from '#lib/domains/privacy-requests/emails/status-texts.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { pauseReasons } from '#lib/domains/privacy-requests/reading.ts'
import type { RequestRow } from '#lib/domains/privacy-requests/requests.ts'
import { notifyParties, type RequestWork } from '#lib/domains/privacy-requests/timeline.ts'
import { adminView } from '#lib/domains/privacy-requests/views.ts'
import type { MutationContext } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

export const noSuchRequest = () => new Problem('not_found', 'There is no such request.')

/**
 * Notifies the parties of the changes, and returns the reply with the changed request. The response to a POST is stored
 * for idempotent repetition, longer than an erasure may take, so it contains no names.
 */
export async function replyToAdmin(deps: PrivacyDeps, ctx: MutationContext, work: RequestWork, row: RequestRow) {
  await notifyParties(work)
  const reasons = await pauseReasons(ctx.tx, [row])
  return {
    body: {
      data: adminView(row, ctx.now, { reasons, people: new Map(), agents: new Map(), requesters: new Map() }),
      message: timelineTextFor(deps, row),
    },
    resourceId: row.id,
    ...(work.entries.length > 0 && { entries: work.entries }),
  }
}
