import type { Database } from '#lib/stores/postgres/database.ts'

/** Returns the number of current legal holds that expire between these times. */
export const holdsEnding = ({ prisma }: Database, { now, until }: { now: Date; until: Date }): Promise<number> =>
  prisma.legalHold.count({ where: { releasedAt: null, expiresAt: { gt: now, lte: until } } })
