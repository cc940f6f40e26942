import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'

const day = 86_400_000
/** Refused requests, including their network addresses, are retained for 7 days; the purge job runs hourly. */
const refusalsKept = 7 * day
const slack = day / 12

/** Data minimisation: network addresses of refused requests are deleted when their retention ends. */
export const tokensEvidence = (): EvidenceCheck[] => [
  {
    line: 'minimisation',
    name: 'tokens.refusals',
    page: null,
    async ask(query, now) {
      const [row] = await query<{ kept: number; late: number }>(
        `SELECT count(*)::int AS kept, count(*) FILTER (WHERE at < $1)::int AS late FROM rate_limit_refusals`,
        [new Date(now.getTime() - refusalsKept - slack)],
      )
      const { kept = 0, late = 0 } = row ?? {}
      return { state: failsIf(late > 0), numbers: { kept, late } }
    },
  },
]
