import type { Transaction } from '#lib/kernel/context.ts'
import { CompleteReading, type Receipt } from '#lib/kernel/receipt.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lastAnswers } from '#lib/stores/postgres/fallback-cache.ts'
import { readReceipt, readSigningKeys } from '../contract.ts'
import type { RecordErasures } from '../engine/record-erasures.ts'
import { tombstones } from '../suppression/tombstones.ts'
import { receiptIdOf } from './repository.ts'
import type { Signer } from './signing.ts'

/** Number of receipts that a process can still return while the database is down. */
const mostRemembered = 1_000

/** Adds the second signed statement, if every connected store was read completely after the erasure. */
async function withReading(db: Database, receipt: Receipt): Promise<Receipt> {
  const row = await db.prisma.receiptReading.findUnique({ where: { receiptId: receipt.receipt_id } })
  return row ? { ...receipt, complete_reading: CompleteReading.parse(row.statement) } : receipt
}

/** The public use cases of receipts: anyone who knows an id may read the receipt. */
export function receiptUseCases({
  db,
  signer,
  records,
}: {
  db: Database
  signer: Pick<Signer, 'keys'>
  records: Pick<RecordErasures, 'finish'>
}) {
  const remembered = lastAnswers<Receipt>(mostRemembered)
  return {
    tombstones: tombstones(db),
    /** The first request for the receipt completes an erasure that a crash interrupted. */
    read: read(readReceipt, async (_ctx, { params }) => ({
      body: await remembered.of(params.id, async () => withReading(db, await records.finish(params.id))),
      resourceId: params.id,
    })),
    keys: read(readSigningKeys, async () => ({
      body: { keys: await signer.keys() },
      resourceId: 'jwks',
      headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' },
    })),
  }
}

/**
 * Returns the receipt id of an erased id if one of `owners` owned it, otherwise undefined. A given transaction avoids a
 * second connection.
 */
export const receiptFinder =
  (db: Database) =>
  async (deletedId: string, owners: readonly string[], tx?: Transaction): Promise<string | undefined> =>
    (await receiptIdOf(tx ?? db, { deletedId, owners }))[0]?.receipt_id
