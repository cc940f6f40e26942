import { nearSql, nextDueSql, owedSql } from '#lib/domains/privacy-requests/queue/due-sql.ts'
import type { Actor } from '#lib/kernel/context.ts'
import type { RequestView } from './contract.ts'
import type { PrivacyDeps } from './ports.ts'
import { pauseReasons } from './reading.ts'
import { ownedBy, withParts } from './requests.ts'
import { requestView } from './views.ts'

/** More than a person usually has open. */
const looked = 50

export interface WaitingRequests {
  open: number
  near: number
  overdue: number
}
export interface OwnRun {
  requestId: string
  runId: string
}

/** Summaries of requests for the console. They use indexes and are not audited, because the lists behind them are. */
export const requestSummary = ({ db }: Pick<PrivacyDeps, 'db'>) => ({
  /** Returns the open requests of a person and their agents, those with the least time left first. */
  async openOf(actor: Actor, now: Date, most: number): Promise<{ open: number; shown: RequestView[] }> {
    const where = { AND: [ownedBy({ actor }), { closedAt: null }] }
    const [open, rows] = await Promise.all([
      db.prisma.privacyRequest.count({ where }),
      db.prisma.privacyRequest.findMany({ where, orderBy: { legalDueAt: 'asc' }, take: looked, include: withParts }),
    ])
    const reasons = await pauseReasons(db.prisma, rows)
    const left = ({ seconds_left }: RequestView) => seconds_left ?? Number.POSITIVE_INFINITY
    const shown = rows.map((row) => requestView(row, now, reasons)).sort((one, other) => left(one) - left(other))
    return { open, shown: shown.slice(0, most) }
  },

  /** Counts like the admins' queue. */
  async waiting(now: Date): Promise<WaitingRequests> {
    const [row] = await db.query<WaitingRequests>(
      'requests-waiting',
      `SELECT count(*)::int AS open,
         (count(*) FILTER (WHERE ${owedSql} AND ${nextDueSql} >= $1 AND ${nearSql} < $1))::int AS near,
         (count(*) FILTER (WHERE ${owedSql} AND ${nextDueSql} < $1))::int AS overdue
       FROM privacy_requests WHERE closed_at IS NULL`,
      [now],
    )
    return row ?? { open: 0, near: 0, overdue: 0 }
  },

  /** Returns the erasure runs of the actor's open requests. */
  ownRuns: ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>): Promise<OwnRun[]> =>
    db.query<OwnRun>(
      'own-runs',
      `SELECT id AS "requestId", run_id AS "runId" FROM privacy_requests
       WHERE (account_id = $1 OR agent_id = ANY($2::text[])) AND closed_at IS NULL AND run_id IS NOT NULL`,
      [accountId ?? null, agents],
    ),

  /**
   * Returns the erasure runs of agents that a person requested in the console. These requests no longer name the
   * agents' owner.
   */
  runsRequestedBy: async (accountId: string): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        'runs-asked-by',
        `SELECT run_id AS id FROM privacy_requests
         WHERE filed_by = $1 AND channel = 'console' AND subject_kind = 'agent' AND run_id IS NOT NULL`,
        [`user:${accountId}`],
      )
    ).map(({ id }) => id),
})
