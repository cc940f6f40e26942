import type { Actor } from '#lib/kernel/context.ts'
import type { RequestView } from './contract.ts'
import { nearSql, nextDueSql, owedSql } from './due-sql.ts'
import type { PrivacyParts } from './ports.ts'
import { pauseReasons } from './reading.ts'
import { ownedBy, withParts } from './requests.ts'
import { requestView } from './views.ts'

/** More than anybody has open at once, but for an organisation's worth of agents. */
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

/** What the console asks of requests at a glance: by index, and no entry in the audit log, for the lists behind it are audited. */
export const requestsAtAGlance = ({ db }: Pick<PrivacyParts, 'db'>) => ({
  /** Of a person and their agents, the one whose time ends first at first. */
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

  /** As the admins' queue counts them. */
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

  /** The erasures that answer requests of theirs which are not closed. */
  ownRuns: ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>): Promise<OwnRun[]> =>
    db.query<OwnRun>(
      'own-runs',
      `SELECT id AS "requestId", run_id AS "runId" FROM privacy_requests
       WHERE (account_id = $1 OR agent_id = ANY($2::text[])) AND closed_at IS NULL AND run_id IS NOT NULL`,
      [accountId ?? null, agents],
    ),

  /** The erasures of agents that a person asked for in the console; these requests say no more whose the agents were. */
  runsAskedBy: async (accountId: string): Promise<string[]> =>
    (
      await db.query<{ id: string }>(
        'runs-asked-by',
        `SELECT run_id AS id FROM privacy_requests
         WHERE filed_by = $1 AND channel = 'console' AND subject_kind = 'agent' AND run_id IS NOT NULL`,
        [`user:${accountId}`],
      )
    ).map(({ id }) => id),
})
