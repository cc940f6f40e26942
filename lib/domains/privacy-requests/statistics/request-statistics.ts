import type { Database } from '#lib/stores/postgres/database.ts'
import { answersByWeek, requestsByWeek, requestsSince } from './repository.ts'

const weekMs = 7 * 86_400_000

export interface RequestWeek {
  /** The start of the week. */
  from: Date
  received: number
  closed: number
  /** Closed and not cancelled. */
  answered: number
  /** Answered within the legal deadline. */
  onTime: number
  /** Median time to answer, of the requests that staff worked on; null if there are none. */
  medianDays: number | null
}
/** Requests received and closed in each of the last weeks, oldest first. */
export async function requestTrend(db: Database, now: Date, weeks: number): Promise<RequestWeek[]> {
  const period = { now, from: new Date(now.getTime() - weeks * weekMs) }
  const [rows, answers] = await Promise.all([requestsByWeek(db, period), answersByWeek(db, period)])
  return Array.from({ length: weeks }, (_, index) => {
    const ago = weeks - 1 - index
    const row = rows.find((one) => one.weeks_ago === ago)
    const answer = answers.find((one) => one.weeks_ago === ago)
    return {
      from: new Date(now.getTime() - (ago + 1) * weekMs),
      received: row?.received ?? 0,
      closed: row?.closed ?? 0,
      answered: answer?.answered ?? 0,
      onTime: answer?.on_time ?? 0,
      medianDays: answer?.median_days ?? null,
    }
  })
}

/** The numbers of requests received and closed after a time. */
export async function requestChanges(db: Database, since: Date): Promise<{ received: number; closed: number }> {
  const [row] = await requestsSince(db, { since })
  return row ?? { received: 0, closed: 0 }
}
