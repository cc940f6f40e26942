import { measureRequests } from '#lib/domains/privacy-requests/queue/repository.ts'
import type { Measuring } from '#lib/kernel/measure.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { states } from './rules.ts'

/** Metrics: requests by state, and the numbers of overdue and nearly due requests. */
export const requestMeasures = (db: Database): Measuring => ({
  name: 'privacy_requests',
  async measure(now) {
    const [row] = await measureRequests(db, { now })
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
        help: 'Open privacy requests that missed our own or the legal deadline, without paused requests',
        type: 'gauge',
        samples: [{ value: row?.overdue ?? 0 }],
      },
      {
        name: 'kp_privacy_requests_near',
        help: 'Open privacy requests with less than a quarter of the time until a deadline left',
        type: 'gauge',
        samples: [{ value: row?.near ?? 0 }],
      },
    ]
  },
})
