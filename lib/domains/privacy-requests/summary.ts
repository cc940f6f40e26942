import { countWaiting, queueStatistics } from '#lib/domains/privacy-requests/queue/repository.ts'
import type { Actor } from '#lib/kernel/context.ts'
import type { RequestView } from './contract.ts'
import type { PrivacyDeps } from './ports.ts'
import { pauseReasons } from './reading.ts'
import { openRuns, runsFiledBy } from './repository.ts'
import { ownedBy, withParts } from './requests.ts'
import { subjectsOf } from './subject-names.ts'
import { requestView } from './views.ts'

const daysFrom = (at: Date, days: number): Date => new Date(at.getTime() + days * 86_400_000)
/** More than a person usually has open. */
const looked = 50

export interface WaitingRequests {
  open: number
  /** With less than a quarter of the time left. */
  near: number
  /** Due within seven days. */
  week: number
  overdue: number
}
interface QueueStatistics {
  open: number
  unassigned: number
  overdue: number
  /** Past the legal deadline, not only past our own. */
  legally_overdue: number
  /** Due within seven days. */
  week: number
  /** Closed in the last 90 days, without cancelled ones. */
  closed: number
  median_days: number | null
}
export interface OwnRun {
  requestId: string
  runId: string
}

/** Summaries of requests for the console. They use indexes and are not audited, because the lists behind them are. */
export const requestSummary = ({ db, people, agents }: Pick<PrivacyDeps, 'db' | 'people' | 'agents'>) => ({
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
    const [row] = await countWaiting(db, { now })
    return row ?? { open: 0, near: 0, week: 0, overdue: 0 }
  },

  /** Numbers for the head of the queue: due within a week, and the median time until requests were closed. */
  async statistics(now: Date): Promise<QueueStatistics> {
    const [row] = await queueStatistics(db, { now, from: daysFrom(now, -90) })
    return row ?? { open: 0, unassigned: 0, overdue: 0, legally_overdue: 0, week: 0, closed: 0, median_days: null }
  },

  /** Returns the names of the subjects by request id. Deleted subjects have none. */
  async subjectNames(requestIds: readonly string[]): Promise<Map<string, string>> {
    const subjects = await subjectsOf({ db, people, agents }, requestIds)
    return new Map([...subjects].flatMap(([id, { name }]) => (name === null ? [] : [[id, name]])))
  },

  /** Returns the erasure runs of the actor's open requests. */
  ownRuns: ({ accountId, agents }: Pick<Actor, 'accountId' | 'agents'>): Promise<OwnRun[]> =>
    openRuns(db, { account: accountId ?? null, agents }),

  /**
   * Returns the erasure runs of agents that a person requested in the console. These requests no longer name the
   * agents' owner.
   */
  runsRequestedBy: async (accountId: string): Promise<string[]> =>
    (await runsFiledBy(db, { actor: `user:${accountId}` })).map(({ id }) => id),
})
