import type { Ledger } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { oldestRunThatCounts, purgeDeletionLog } from './repository.ts'
import { plusYears, type RetentionFacts } from './rules.ts'

export interface ErasureExpiryDeps {
  db: Database
  ledger: Ledger
  facts: RetentionFacts
}

/**
 * Deletes the item ids in the ledger once no backup can bring the records back. Without a stated backup period, the
 * items stay as long as the ledger. A long erasure counts from its end.
 */
async function forgetItems({ db, ledger, facts }: ErasureExpiryDeps, now: Date): Promise<void> {
  if (facts.backupDays === undefined) return
  const before = new Date(now.getTime() - facts.backupDays * 86_400_000)
  const [row] = await oldestRunThatCounts(db, { before })
  await ledger.forgetItems(row?.since && row.since < before ? row.since : before)
}

/** Deletes receipts, runs, deletion audit entries and ledger rows after their seven years. */
export async function expireErasures(deps: ErasureExpiryDeps, now: Date): Promise<void> {
  const { db, ledger } = deps
  const before = plusYears(now, -7)
  await db.prisma.erasure.deleteMany({ where: { state: 'signed', deletedAt: { lt: before } } })
  await db.prisma.completeReading.deleteMany({ where: { completedAt: { lt: before } } })
  await db.prisma.erasureRun.deleteMany({ where: { state: 'done', finishedAt: { lt: before } } })
  await purgeDeletionLog(db, {})
  await ledger.prune(before)
  await forgetItems(deps, now)
}
