import { deletionsPerWeek } from '#lib/domains/erasure/repository.ts'
import type { Database } from '#lib/stores/postgres/database.ts'

const weekMs = 7 * 86_400_000

/** The number of receipts that were signed after a time. */
export const receiptsSignedSince = ({ prisma }: Database, since: Date): Promise<number> =>
  prisma.erasure.count({ where: { signedAt: { gt: since } } })

/** The number of deletions with a receipt in each of the last weeks, oldest first. */
export async function deletionsByWeek(db: Database, now: Date, weeks: number): Promise<number[]> {
  const rows = await deletionsPerWeek(db, { now, from: new Date(now.getTime() - weeks * weekMs) })
  return Array.from({ length: weeks }, (_, index) => rows.find((row) => row.weeks_ago === weeks - 1 - index)?.n ?? 0)
}
