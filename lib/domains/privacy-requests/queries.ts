import type { Transaction } from '#lib/kernel/context.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { copyOpen } from './form/rules.ts'
import {
  agentCopyRequests,
  answersByWeek,
  copyRequests,
  countOpenRequests,
  requestsByWeek,
  requestsSince,
} from './repository.ts'

/** Returns true when a request about the person is stored, open or closed. */
export const isOnFile = async (tx: Transaction, accountId: string): Promise<boolean> =>
  (await tx.privacyRequest.count({ where: { accountId } })) > 0

/** Counts the open requests about the person or one of their agents. */
export const openRequestsOf =
  (db: Database) =>
  async (accountId: string): Promise<number> => {
    const [row] = await countOpenRequests(db, { account: accountId })
    return row?.n ?? 0
  }

/** Counts all requests, open and closed. */
export const countRequests = (tx: Transaction): Promise<number> => tx.privacyRequest.count()

/** Returns true when a verified request for access or portability exists for the participant, verified within 30 days. */
export const requestedCopy =
  (db: Database) =>
  async (participantId: string, now: Date): Promise<boolean> => {
    const records = await copyRequests(db, { participant: participantId, after: new Date(now.getTime() - copyOpen) })
    return records.length > 0
  }

/** The request for access or portability that the agent or its owner confirmed within 30 days. */
export const agentCopyRequest =
  (db: Database) =>
  async (agentId: string, now: Date): Promise<string | undefined> => {
    const [found] = await agentCopyRequests(db, { agent: agentId, after: new Date(now.getTime() - copyOpen) })
    return found?.id
  }

const weekMs = 7 * 86_400_000

interface RequestWeek {
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
