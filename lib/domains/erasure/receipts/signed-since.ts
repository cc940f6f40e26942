import type { Database } from '#lib/stores/postgres/database.ts'

/** The number of receipts that were signed after a time. */
export const receiptsSignedSince = ({ prisma }: Database, since: Date): Promise<number> =>
  prisma.erasure.count({ where: { signedAt: { gt: since } } })
