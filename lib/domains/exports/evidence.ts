import type { EvidenceCheck } from '#lib/kernel/evidence.ts'

const day = 86_400_000
const month = 30 * day
/** Tolerance in milliseconds: the job that deletes expired files may be late. */
const slack = day / 24

/**
 * Checks the exports of one basis within the last month: their number, their median duration, and that none outlived
 * its term.
 */
const copies = (line: EvidenceCheck['line'], basis: 'all' | 'provided'): EvidenceCheck => ({
  line,
  name: `exports.${basis}`,
  page: null,
  async ask(query, now) {
    const [row] = await query<{
      runs: number
      ready: number
      failed: number
      late: number
      seconds: number | null
      last: Date | null
    }>(
      `SELECT (SELECT count(*)::int FROM export_runs WHERE basis = $1 AND at > $2) AS runs,
         (SELECT max(at) FROM export_runs WHERE basis = $1) AS last,
         count(*) FILTER (WHERE ready_at IS NOT NULL)::int AS ready,
         count(*) FILTER (WHERE state = 'failed' AND fault IS DISTINCT FROM 'erased')::int AS failed,
         count(*) FILTER (WHERE state = 'ready' AND expires_at < $3)::int AS late,
         percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM ready_at - created_at))::float8 AS seconds
       FROM prepared_exports WHERE basis = $1 AND created_at > $2`,
      [basis, new Date(now.getTime() - month), new Date(now.getTime() - slack)],
    )
    const { runs = 0, ready = 0, failed = 0, late = 0, seconds = null, last = null } = row ?? {}
    return {
      state: late > 0 ? 'fails' : failed > 0 ? 'attention' : runs + ready === 0 ? 'not_applicable' : 'holds',
      numbers: { runs, ready, failed, late, seconds: seconds === null ? 0 : Math.ceil(seconds) },
      times: { last },
    }
  },
})

export const exportsEvidence = (): EvidenceCheck[] => [copies('access', 'all'), copies('portability', 'provided')]
