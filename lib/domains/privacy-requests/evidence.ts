import { nextDueSql, owedSql } from '#lib/domains/privacy-requests/queue/due-sql.ts'
import { type EvidenceCheck, failsIf } from '#lib/kernel/evidence.ts'
import type { RequestKind } from './rules.ts'

const day = 86_400_000
/** Our own deadline: erased and verified within 72 hours after verification or the end of the grace period. */
const hoursOfOurs = 72
/** The sealed address is deleted at most 7 days after closing; allows 2 hours of delay. */
const contactKept = 7 * day + day / 12
/** SQL condition: open, not paused, and past the earlier deadline. */
const isOverdue = (now: string): string =>
  `${owedSql.replaceAll(/\b(closed_at|paused_at|state)\b/g, 'q.$1')} AND ${nextDueSql} < ${now}`

/** Counts answered, open and overdue requests of one kind. */
const answered = (line: EvidenceCheck['line'], kind: RequestKind): EvidenceCheck => ({
  line,
  name: `requests.${kind}`,
  page: '/admin/requests',
  async ask(query, now) {
    const [row] = await query<{
      asked: number
      done: number
      refused: number
      open: number
      overdue: number
      last: Date | null
    }>(
      `SELECT count(*)::int AS asked, count(*) FILTER (WHERE p.state IN ('done', 'partly_done'))::int AS done,
         count(*) FILTER (WHERE p.state = 'refused')::int AS refused,
         count(*) FILTER (WHERE q.closed_at IS NULL)::int AS open,
         count(*) FILTER (WHERE ${isOverdue('$2')})::int AS overdue,
         max(p.finished_at) FILTER (WHERE p.state = 'done') AS last
       FROM privacy_request_parts p JOIN privacy_requests q ON q.id = p.request_id WHERE p.kind = $1`,
      [kind, now],
    )
    const { asked = 0, done = 0, refused = 0, open = 0, overdue = 0, last = null } = row ?? {}
    return {
      state: asked === 0 ? 'not_applicable' : failsIf(overdue > 0),
      numbers: { asked, done, refused, open, overdue },
      times: { last },
    }
  },
})

/** Checks that requests were answered in time, and that no erasure began before the end of its grace period. */
export const requestsEvidence = (): EvidenceCheck[] => [
  answered('access', 'access'),
  answered('portability', 'portability'),
  {
    line: 'erasure',
    name: 'requests.erasure',
    page: '/admin/requests',
    async ask(query, now) {
      const [row] = await query<{ done: number; in_time: number; open: number; overdue: number }>(
        `SELECT count(*) FILTER (WHERE p.state = 'done')::int AS done,
           count(*) FILTER (WHERE p.state = 'done'
             AND p.finished_at - greatest(q.verified_at, coalesce(q.waiting_until, q.verified_at)) <= interval '${hoursOfOurs} hours')::int AS in_time,
           count(*) FILTER (WHERE q.closed_at IS NULL)::int AS open,
           count(*) FILTER (WHERE ${isOverdue('$1')})::int AS overdue
         FROM privacy_request_parts p JOIN privacy_requests q ON q.id = p.request_id WHERE p.kind = 'erasure'`,
        [now],
      )
      const { done = 0, in_time: inTime = 0, open = 0, overdue = 0 } = row ?? {}
      return {
        state: done + open === 0 ? 'not_applicable' : overdue > 0 ? 'fails' : inTime < done ? 'attention' : 'holds',
        numbers: { done, inTime, open, overdue, hours: hoursOfOurs },
      }
    },
  },
  {
    line: 'grace',
    name: 'requests.grace',
    page: '/admin/requests',
    async ask(query, now) {
      const [row] = await query<{ waiting: number; begun: number; early: number; cancelled: number }>(
        `SELECT count(*) FILTER (WHERE q.state = 'waiting' AND q.waiting_until > $1)::int AS waiting,
           count(*) FILTER (WHERE p.started_at IS NOT NULL)::int AS begun,
           count(*) FILTER (WHERE q.run_id IS NOT NULL AND p.started_at < q.waiting_until)::int AS early,
           count(*) FILTER (WHERE p.state = 'cancelled')::int AS cancelled
         FROM privacy_request_parts p JOIN privacy_requests q ON q.id = p.request_id WHERE p.kind = 'erasure'`,
        [now],
      )
      const { waiting = 0, begun = 0, early = 0, cancelled = 0 } = row ?? {}
      return {
        state: waiting + begun + cancelled === 0 ? 'not_applicable' : failsIf(early > 0),
        numbers: { waiting, begun, early, cancelled },
      }
    },
  },
  {
    line: 'minimisation',
    name: 'requests.leftovers',
    page: '/admin/requests',
    async ask(query, now) {
      const [row] = await query<{ closed: number; payloads: number; contacts: number }>(
        `SELECT count(*)::int AS closed, count(*) FILTER (WHERE payload IS NOT NULL)::int AS payloads,
           count(*) FILTER (WHERE contact IS NOT NULL AND closed_at < $1)::int AS contacts
         FROM privacy_requests WHERE closed_at IS NOT NULL`,
        [new Date(now.getTime() - contactKept)],
      )
      const { closed = 0, payloads = 0, contacts = 0 } = row ?? {}
      return { state: failsIf(payloads + contacts > 0), numbers: { closed, payloads, contacts } }
    },
  },
]
