import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { type Channel, filingsPerDay, type Kind } from './rules.ts'

const day = 86_400_000

interface Filings {
  subjectKey: string
  /** Those that are not joined. */
  kinds: readonly Kind[]
  channel: Channel
  /** Identity is shown with this very call. */
  isProven: boolean
}

/**
 * So many requests of a kind are filed for one subject on one channel within a day, open ones and closed ones; what joins an open one is
 * none. Counted by channel, and those that show identity by themselves, so that who floods without keeps nobody from asking. The subject is
 * locked (`lockSubject`), so that it is exact. Throws `rate_limited`, which says when the next one is taken.
 */
export async function boundFilings(
  tx: Transaction,
  { subjectKey, kinds, channel, isProven }: Filings,
  now: Date,
): Promise<void> {
  const since = new Date(now.getTime() - day)
  for (const kind of kinds) {
    // When it was filed, and not when its mail arrived.
    const filed = await tx.privacyRequestEvent.findMany({
      where: {
        event: 'received',
        at: { gt: since },
        request: { subjectKey, channel, kinds: { has: kind }, ...(isProven && { verifiedBy: { not: null } }) },
      },
      select: { at: true },
      orderBy: { at: 'desc' },
      take: filingsPerDay,
    })
    const oldest = filed[filingsPerDay - 1]
    if (!oldest) continue
    const seconds = Math.max(1, Math.ceil((oldest.at.getTime() - since.getTime()) / 1000))
    throw new Problem('rate_limited', {
      detail: `${filingsPerDay} requests for ${kind} are taken within a day. Nothing was changed, and those that are open go on; try again in ${seconds} seconds.`,
      headers: { 'Retry-After': String(seconds) },
    })
  }
}
