import { Problem } from '#lib/kernel/problem.ts'
import { mutation } from '#lib/kernel/use-case.ts'
import { cancel } from './cancelling.ts'
import { confirmAddress } from './carrying-out.ts'
import { useLink } from './contract.ts'
import { takeLink } from './links.ts'
import type { PrivacyParts } from './ports.ts'
import { StateName } from './requests.ts'
import { tell, workOf } from './timeline.ts'
import { verify } from './verifying.ts'

/**
 * Uses a link from an email. The token proves that the caller can read the email; nothing else about the caller is
 * checked or disclosed.
 */
export const linkUse = (parts: PrivacyParts) => ({
  useLink: mutation(useLink, async (ctx, { body: { token, purpose } }) => {
    await parts.countTry(ctx.ip, ctx.now)
    const row = await takeLink(ctx.tx, token, purpose, ctx.now)
    const work = workOf(ctx, 'subject')
    const settled = async () => {
      switch (purpose) {
        case 'verify':
          return verify(parts, work, row, 'link')
        case 'cancel':
          return cancel(parts, work, row)
        case 'address':
          return confirmAddress(parts, work, row)
      }
    }
    const next = await settled()
    if (work.entries.length === 0) throw new Problem('link_spent', 'There is nothing left for it to do.')
    await tell(work)
    return {
      body: { data: { purpose, state: StateName.parse(next.state) } },
      resourceId: next.id,
      entries: work.entries,
    }
  }),
})
