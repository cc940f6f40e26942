import { type Channel, filingsPerDay, type RequestKind } from '#lib/domains/privacy-requests/rules.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { Problem } from '#lib/kernel/problem.ts'

const day = 86_400_000

interface Filings {
  subjectKey: string
  /** The kinds that do not join an open request. */
  kinds: readonly RequestKind[]
  channel: Channel
  /** Whether this call proves the caller's identity. */
  isProven: boolean
}

/**
 * Limits the number of requests per kind, subject and channel within a day, open and closed. Joining an open request
 * does not count.
 * Channels, and requests with verified identity, are counted separately, so that a flood without proof does not block
 * anybody else. The subject must be locked (`lockSubject`), which makes the limit exact.
 * @throws Problem `rate_limited` with the seconds until the next request is accepted
 */
export async function boundFilings(
  tx: Transaction,
  { subjectKey, kinds, channel, isProven }: Filings,
  now: Date,
): Promise<void> {
  const since = new Date(now.getTime() - day)
  for (const kind of kinds) {
    // Counts by the time of filing, not by the time when a mailed request was received.
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
      detail: `At most ${filingsPerDay} requests for ${kind} are accepted per day. Nothing was changed, and open requests continue. Try again in ${seconds} seconds.`,
      headers: { 'Retry-After': String(seconds) },
    })
  }
}
