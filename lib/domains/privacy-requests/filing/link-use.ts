import { cancelRequestIn } from '#lib/domains/privacy-requests/execution/cancellation.ts'
import { confirmAddress } from '#lib/domains/privacy-requests/execution/execution.ts'
import type { PrivacyDeps } from '#lib/domains/privacy-requests/ports.ts'
import { StateName } from '#lib/domains/privacy-requests/requests.ts'
import { notifyParties, workOf } from '#lib/domains/privacy-requests/timeline.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { useLink } from './link-contract.ts'
import { takeRequestLink } from './links.ts'
import { verifyRequestIn } from './verification.ts'

/**
 * Uses a link from an email. The token proves that the caller can read the email; nothing else about the caller is
 * checked or disclosed.
 */
export const requestLinkUse = (deps: PrivacyDeps) => ({
  useLink: mutation(useLink, async (ctx, { body: { token, purpose } }) => {
    await deps.countTry(ctx.ip)
    const row = await takeRequestLink(ctx.tx, token, purpose, ctx.now)
    const work = workOf(ctx, 'subject')
    const settled = async () => {
      switch (purpose) {
        case 'verify':
          return verifyRequestIn(deps, work, row, 'link')
        case 'cancel':
          return cancelRequestIn(deps, work, row)
        case 'address':
          return confirmAddress(deps, work, row)
      }
    }
    const next = await settled()
    if (work.entries.length === 0)
      throw new Problem('link_spent', 'This link is no longer needed. The request does not wait for it.')
    await notifyParties(work)
    return {
      body: { data: { purpose, state: StateName.parse(next.state) } },
      resourceId: next.id,
      entries: work.entries,
    }
  }),
})
