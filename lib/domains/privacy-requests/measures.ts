import { nearSql, nextDueSql, owedSql } from '#lib/domains/privacy-requests/queue/due-sql.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { states } from './rules.ts'

interface Row {
  by_state: Partial<Record<string, number>> | null
  overdue: number
  near: number
}
/** The clocks of `dueNow` in SQL. Reads only open requests, through their partial index. */
const standing = `
SELECT (SELECT json_object_agg(state, requests) FROM (SELECT state, count(*) AS requests FROM privacy_requests GROUP BY state) AS s) AS by_state,
       count(*) FILTER (WHERE is_over)::int AS overdue,
       count(*) FILTER (WHERE NOT is_over AND is_near)::int AS near
FROM (SELECT ${nextDueSql} < $1 AS is_over, ${nearSql} < $1 AS is_near FROM privacy_requests WHERE ${owedSql}) AS clocks`

/** Metrics: requests by state, and the numbers of overdue and nearly due requests. */
export const requestMeasures = (db: Database): Measuring => ({
  name: 'privacy_requests',
  async measure(now) {
    const [row] = await db.query<Row>('measure-requests', standing, [now])
    const byState = row?.by_state ?? {}
    return [
      {
        name: 'kp_privacy_requests',
        help: 'Privacy requests by state',
        type: 'gauge',
        samples: states.map((state) => ({ labels: { state }, value: byState[state] ?? 0 })),
      },
      {
        name: 'kp_privacy_requests_overdue',
        help: 'Open privacy requests whose own or legal time is over; paused clocks do not count',
        type: 'gauge',
        samples: [{ value: row?.overdue ?? 0 }],
      },
      {
        name: 'kp_privacy_requests_near',
        help: 'Open privacy requests of whose time less than a quarter is left',
        type: 'gauge',
        samples: [{ value: row?.near ?? 0 }],
      },
    ]
  },
})
