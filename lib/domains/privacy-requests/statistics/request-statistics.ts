import type { Database } from '#lib/stores/postgres/database.ts'
import { requestsByWeek, requestsSince } from './repository.ts'

const weekMs = 7 * 86_400_000

export interface RequestWeek {
  /** The start of the week. */
  from: Date
  received: number
  closed: number
}
/** Requests received and closed in each of the last weeks, oldest first. */
export async function requestTrend(db: Database, now: Date, weeks: number): Promise<RequestWeek[]> {
  const rows = await requestsByWeek(db, { now, from: new Date(now.getTime() - weeks * weekMs) })
  return Array.from({ length: weeks }, (_, index) => {
    const ago = weeks - 1 - index
    const row = rows.find((one) => one.weeks_ago === ago)
    return {
      from: new Date(now.getTime() - (ago + 1) * weekMs),
      received: row?.received ?? 0,
      closed: row?.closed ?? 0,
    }
  })
}

/** The numbers of requests received and closed after a time. */
export async function requestChanges(db: Database, since: Date): Promise<{ received: number; closed: number }> {
  const [row] = await requestsSince(db, { since })
  return row ?? { received: 0, closed: 0 }
}
