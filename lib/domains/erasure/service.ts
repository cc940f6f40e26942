import type { z } from 'zod'
import { ReceiptPlan } from '#lib/domains/erasure/receipts/receipts.ts'
import type { Signer } from '#lib/domains/erasure/receipts/signing.ts'
import { tombstones } from '#lib/domains/erasure/suppression/tombstones.ts'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Clock } from '#lib/kernel/clock.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import { countOf, type DataSource, type ErasureScope } from '#lib/kernel/data-source.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { read } from '#lib/kernel/use-case.ts'
import type { Ledger, RecordIntent } from '#lib/stores/ledger/ledger.ts'
import type { Database } from '#lib/stores/postgres/database.ts'
import { lastAnswers } from '#lib/stores/postgres/last-answers.ts'
import { readReceipt, readSigningKeys } from './contract.ts'
import { recordDeletion } from './deletion-log.ts'
import { plusYears, type RetentionFacts, residueAfter, retainedAfter } from './rules.ts'

export interface ErasureServiceDeps {
  db: Database
  ledger: Ledger
  signer: Signer
  dataSources: readonly DataSource[]
  clock: Clock
  issuer: string
  facts: RetentionFacts
}
export interface Begin {
  scope: RecordIntent['scope']
  deletedId: string
  formerOwner: string
  requestedBy: string
  reason: string
  /** Whether others could have copied it. If so, a tombstone tells them to delete their copies. */
  wasPublic: boolean
  now: Date
}

/** Milliseconds that the request has to verify and sign before the worker takes over. */
const handOver = 30_000
/** Number of receipts that a process can still return while the database is down. */
const mostRemembered = 1_000

const finishJob = 'erasure.finish'
const scopeOf = (deletedId: string): RecordIntent['scope'] =>
  deletedId.startsWith('kp:skill:') ? { skill: deletedId } : { unit: deletedId }

/**
 * Erases one unit or skill in all data sources. `begin` runs in the caller's transaction: ledger intent, deletion,
 * audit row and receipt id.
 * `finish` runs after the commit: ledger commit row, verification and signature. The worker calls it after a crash.
 */
export function erasureService({ db, ledger, signer, dataSources, clock, issuer, facts }: ErasureServiceDeps) {
  async function begin(
    tx: Transaction,
    { scope, deletedId, formerOwner, requestedBy, reason, wasPublic, now }: Begin,
  ): Promise<string> {
    const receiptId = newId('rcpt')
    const planned = new Map<DataSource, string[]>()
    for (const dataSource of dataSources) planned.set(dataSource, (await dataSource.plan(scope, tx, now)).items)
    const [stored] = await tx.$queryRaw<
      { at: Date }[]
    >`SELECT created_at AS at FROM agent_records WHERE id = ${deletedId}`
    await ledger.append({
      kind: 'intent',
      id: receiptId,
      // After a clock was set back, a replay must not mistake the record for a later one.
      at: (stored && stored.at > now ? stored.at : now).toISOString(),
      scope: { ...scope },
      plan: Object.fromEntries(
        [...planned].filter(([, items]) => items.length > 0).map(([dataSource, items]) => [dataSource.name, items]),
      ),
      wasPublic,
    })
    const plan: z.output<typeof ReceiptPlan> = {}
    for (const [dataSource, items] of planned)
      plan[dataSource.name] = {
        items,
        deleted: items.length > 0 ? countOf(await dataSource.erase(scope, items, tx)) : 0,
      }
    const results = Object.fromEntries(Object.entries(plan).map(([holder, { deleted }]) => [holder, deleted]))
    const auditId = await recordDeletion(tx, { requestedBy, reason, scope: { ...scope }, results, now })
    await tx.erasure.create({
      data: { receiptId, auditId, deletedId, deletedAt: now, formerOwner, plan: ReceiptPlan.parse(plan) },
    })
    await tx.erasedId.create({ data: { id: deletedId, receiptId, erasedAt: now, wasPublic } })
    await enqueue(
      tx,
      finishJob,
      { receiptId },
      { runAt: new Date(Date.now() + handOver), key: `${finishJob}:${receiptId}` },
    )
    return receiptId
  }

  /** Searches all data sources with other queries than those that deleted. Erases residue once more and searches again. */
  async function verify(scope: ErasureScope, plan: z.output<typeof ReceiptPlan>): Promise<Receipt['stores']> {
    const stores: Receipt['stores'] = []
    for (const dataSource of dataSources) {
      const { items, deleted } = plan[dataSource.name] ?? { items: [], deleted: 0 }
      let residue = await dataSource.residue(scope, items, clock.now())
      if (residue > 0) {
        await db.transaction((tx) => dataSource.erase(scope, items, tx))
        residue = await dataSource.residue(scope, items, clock.now())
      }
      if (residue > 0)
        throw new Problem('unavailable', {
          detail: `The erasure is not complete yet: ${dataSource.name} still holds ${residue}. It is retried.`,
          headers: { 'Retry-After': '60' },
        })
      // All data sources are searched; the receipt lists those that had records.
      if (items.length === 0) continue
      stores.push({
        store: dataSource.store,
        holder: dataSource.name,
        what: dataSource.what,
        found: items.length,
        deleted,
        residue,
        verified_at: clock.now().toISOString(),
      })
    }
    return stores
  }

  /**
   * Verifies and signs the erasure that `begin` committed. Idempotent.
   * @throws Problem `not_found` for an unknown id
   */
  async function finish(receiptId: string): Promise<Receipt> {
    const row = await db.prisma.erasure.findUnique({ where: { receiptId } })
    if (!row) throw new Problem('not_found')
    if (row.state === 'signed') return Receipt.parse(row.receipt)
    const reason = (
      await db.prisma.deletionAuditEntry.findUniqueOrThrow({
        where: { auditId: row.auditId },
        select: { reason: true },
      })
    ).reason
    await ledger.append({ kind: 'commit', id: receiptId, at: clock.now().toISOString() })
    const stores = await verify(scopeOf(row.deletedId), ReceiptPlan.parse(row.plan))
    const signed = await signer.sign({
      receipt_id: receiptId,
      version: 1,
      issuer,
      deleted_id: row.deletedId,
      deleted_at: row.deletedAt.toISOString(),
      reason,
      stores,
      retained: retainedAfter(row.deletedAt),
      physical: residueAfter(row.deletedAt, facts),
      signed_at: clock.now().toISOString(),
    })
    await db.transaction(async (tx) => {
      // Two calls may finish concurrently; the first signature is the receipt.
      await tx.erasure.updateMany({
        where: { receiptId, state: 'committed' },
        data: { state: 'signed', receipt: signed, jws: signed.jws, signedAt: new Date(signed.signed_at) },
      })
      await tx.$queryRaw`SELECT 1 AS done FROM (SELECT graphile_worker.remove_job(${`${finishJob}:${receiptId}`})) AS removed`
    })
    const stored = await db.prisma.erasure.findUniqueOrThrow({ where: { receiptId }, select: { receipt: true } })
    return Receipt.parse(stored.receipt)
  }

  /**
   * Deletes the item ids in the ledger once no backup can bring the records back. Without a stated backup period, the
   * items stay as long as the ledger. A long erasure counts from its end.
   */
  async function forgetItems(now: Date): Promise<void> {
    if (facts.backupDays === undefined) return
    const before = new Date(now.getTime() - facts.backupDays * 86_400_000)
    const [row] = await db.query<{ since: Date | null }>(
      'erasures-that-count',
      "SELECT min(created_at) AS since FROM erasure_runs WHERE state <> 'done' OR finished_at >= $1 OR recheck_at IS NOT NULL",
      [before],
    )
    await ledger.forgetItems(row?.since && row.since < before ? row.since : before)
  }

  const signed = lastAnswers<Receipt>(mostRemembered)

  return {
    begin,
    finish,
    finishJob,
    /**
     * Writes an erasure that a restored database lost: receipt id, erased id and deletion audit entry. `finish` then
     * verifies and signs it. Returns false when the database already has it.
     */
    async reinstate(
      tx: Transaction,
      lost: {
        receiptId: string
        deletedId: string
        deletedAt: Date
        plan: Record<string, readonly string[]>
        wasPublic?: boolean | undefined
      },
    ): Promise<boolean> {
      // If unknown, a tombstone is published: an id reveals little, and unreported copies would exist forever (GDPR art. 19).
      const { receiptId, deletedId, deletedAt, wasPublic = true } = lost
      if ((await tx.erasure.count({ where: { receiptId } })) > 0) return false
      const plan = Object.fromEntries(
        Object.entries(lost.plan).map(([holder, items]) => [holder, { items: [...items], deleted: items.length }]),
      )
      const results = Object.fromEntries(Object.entries(plan).map(([holder, { deleted }]) => [holder, deleted]))
      const auditId = await recordDeletion(tx, {
        requestedBy: 'system:admin.replay',
        reason: 'replay',
        scope: { ...scopeOf(deletedId) },
        results,
        now: deletedAt,
      })
      await tx.erasure.create({ data: { receiptId, auditId, deletedId, deletedAt, plan: ReceiptPlan.parse(plan) } })
      await tx.erasedId.createMany({
        data: [{ id: deletedId, receiptId, erasedAt: deletedAt, wasPublic }],
        skipDuplicates: true,
      })
      return true
    },
    /** Returns erasures that were committed before `time` and are not signed yet, oldest first. */
    async unfinished(time: Date): Promise<string[]> {
      const rows = await db.prisma.erasure.findMany({
        where: { state: 'committed', deletedAt: { lt: time } },
        select: { receiptId: true },
        orderBy: { deletedAt: 'asc' },
        take: 100,
      })
      return rows.map(({ receiptId }) => receiptId)
    },
    /** Deletes receipts, runs, deletion audit entries and ledger rows after their seven years. */
    async expire(now: Date): Promise<void> {
      const before = plusYears(now, -7)
      await db.prisma.erasure.deleteMany({ where: { state: 'signed', deletedAt: { lt: before } } })
      await db.prisma.erasureRun.deleteMany({ where: { state: 'done', finishedAt: { lt: before } } })
      await db.query('deletion-log-purge', 'SELECT deletion_log_purge()')
      await ledger.prune(before)
      await forgetItems(now)
    },
    /**
     * Returns the receipt id of an erased id if one of `owners` owned it, otherwise undefined. A given transaction
     * avoids a second connection.
     */
    async receiptFor(
      deletedId: string,
      owners: readonly string[],
      tx: Transaction = db.prisma,
    ): Promise<string | undefined> {
      const [row] = await tx.$queryRaw<{ receipt_id: string }[]>`
        SELECT e.receipt_id FROM erased_ids i JOIN erasures e ON e.receipt_id = i.receipt_id
        WHERE i.id = ${deletedId} AND e.former_owner = ANY(${[...owners]}::text[])`
      return row?.receipt_id
    },
    receipts: {
      tombstones: tombstones(db),
      read: read(readReceipt, async (_ctx, { params }) => ({
        body: await signed.of(params.id, () => finish(params.id)),
        resourceId: params.id,
      })),
      keys: read(readSigningKeys, async () => ({
        body: { keys: await signer.keys() },
        resourceId: 'jwks',
        headers: { 'Content-Type': 'application/jwk-set+json', 'Cache-Control': 'public, max-age=300' },
      })),
    },
  }
}
export type ErasureService = ReturnType<typeof erasureService>
