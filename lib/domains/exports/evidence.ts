import type { EvidenceCheck } from '#lib/kernel/evidence.ts'
import { summaryOfExports } from './repository.ts'

const day = 86_400_000
const month = 30 * day
/** Tolerance in milliseconds: the job that deletes expired files may be late. */
const slack = day / 24

/**
 * Checks the exports of one basis within the last month: their number, their median duration, and that none outlived
 * its term.
 */
const copies = (line: 'access' | 'portability', basis: 'all' | 'provided'): EvidenceCheck => ({
  line,
  name: `exports.${basis}`,
  page: '/admin/audit?resource_type=export',
  async ask(query, now) {
    const since = new Date(now.getTime() - month)
    const [row] = await summaryOfExports(query, { basis, since, overdue: new Date(now.getTime() - slack) })
    const { runs = 0, ready = 0, failed = 0, owed = 0, late = 0, seconds = null, last = null } = row ?? {}
    return {
      state: late > 0 ? 'fails' : failed > 0 ? 'attention' : runs + ready === 0 ? 'not_applicable' : 'holds',
      numbers: { runs, ready, failed, late, seconds: seconds === null ? 0 : Math.ceil(seconds) },
      times: { last },
      ...(owed > 0 && { page: `/admin/requests?open=all&kind=${line}` as const }),
    }
  },
})

export const exportsEvidence = (): EvidenceCheck[] => [copies('access', 'all'), copies('portability', 'provided')]
