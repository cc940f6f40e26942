import type { z } from 'zod'
import { enqueue } from '#lib/jobs/queue.ts'
import type { Transaction } from '#lib/kernel/context.ts'
import type { DataSource, ErasureOptions } from '#lib/kernel/data-source.ts'
import type { RecordScope } from '#lib/kernel/erasure-scope.ts'
import { newId } from '#lib/kernel/ids.ts'
import { Problem } from '#lib/kernel/problem.ts'
import { Receipt } from '#lib/kernel/receipt.ts'
import { outcomesOf, ReceiptPlan, receiptContent, storeSignature } from '../receipts/receipt.ts'
import { dataSourcesInOrder, namedInLog, recordIdOf, recordScopeOf } from '../runs/run-rules.ts'
import { recordDeletion } from '../writes.ts'
import type { EngineDeps } from './dependencies.ts'
import { type ErasedPage, erasePage, reserveIds } from './erase.ts'
import { intentTime, recordIntent } from './intent.ts'
import { planOf } from './plan.ts'
import { recordCreated, removeJob } from './repository.ts'
import { searchResidue } from './verify.ts'
import { storeProblem } from './waits.ts'

/** The part of the engine that erases a unit or skill within the request. */
type RecordEngine = Pick<EngineDeps, 'db' | 'ledger' | 'signer' | 'dataSources' | 'holds' | 'issuer' | 'facts' | 'now'>

export interface RecordErasureOrder {
  scope: RecordScope
  formerOwner: string
  requestedBy: string
  reason: string
  /** Whether other callers could read the record. If so, a tombstone asks them to delete their copies. */
  wasPublic: boolean
  now: Date
}
type Plan = z.output<typeof ReceiptPlan>

/** Milliseconds that the request has to verify and sign before the worker takes over. */
const handOver = 30_000
export const finishJob = 'erasure.finish'

/** `ordered`: the data sources in the order of erasure. */
interface Driver extends RecordEngine {
  ordered: readonly DataSource[]
}
const optionsOf = (receiptId: string, { name }: DataSource, at: Date): ErasureOptions => ({
  key: `${receiptId}:${name}:0`,
  redacts: false,
  now: at,
})

async function planAll(
  { ordered }: Driver,
  tx: Transaction,
  scope: RecordScope,
  at: Date,
): Promise<Map<string, string[]>> {
  const planned = new Map<string, string[]>()
  for (const dataSource of ordered)
    planned.set(dataSource.name, (await planOf(dataSource, { free: scope, retained: [] }, tx, at)).items)
  return planned
}

/** The caller holds the lock of the record and has checked its legal holds. Returns the id of the receipt. */
async function begin(driver: Driver, tx: Transaction, order: RecordErasureOrder): Promise<string> {
  const { scope, formerOwner, requestedBy, reason, wasPublic, now: at } = order
  const receiptId = newId('rcpt')
  const deletedId = recordIdOf(scope)
  await driver.holds.lock(tx, at)
  const planned = await planAll(driver, tx, scope, at)
  const [stored] = await recordCreated(tx, { id: deletedId })
  await driver.ledger.append(
    recordIntent({ id: receiptId, at: intentTime(stored?.at, at), scope, plan: planned, wasPublic }),
  )
  await reserveIds(tx, receiptId, [{ id: deletedId, wasPublic }], at)
  const plan: Plan = {}
  for (const dataSource of driver.ordered) {
    const items = planned.get(dataSource.name) ?? []
    const page = { scope, items, identities: [], receiptId, options: optionsOf(receiptId, dataSource, at) }
    const { count, results } = items.length === 0 ? { count: 0, results: {} } : await erasePage(tx, dataSource, page)
    plan[dataSource.name] = { items, deleted: count, ...(Object.keys(results).length > 0 && { results }) }
  }
  const results = Object.fromEntries(Object.entries(plan).map(([source, { deleted }]) => [source, deleted]))
  const auditId = await recordDeletion(tx, { requestedBy, reason, scope: namedInLog(scope), results, now: at })
  await tx.erasure.create({ data: { receiptId, auditId, deletedId, deletedAt: at, formerOwner, plan } })
  const runAt = new Date(Date.now() + handOver)
  await enqueue(tx, finishJob, { receiptId }, { runAt, key: `${finishJob}:${receiptId}` })
  return receiptId
}

/** Plans and erases residue once more. */
const eraseAgain = (
  { db, holds, now }: Driver,
  {
    receiptId,
    scope,
    dataSource,
    known,
  }: Pick<ErasedPage, 'receiptId' | 'scope'> & { dataSource: DataSource; known: readonly string[] },
): Promise<unknown> =>
  db.transaction(async (tx) => {
    const at = now()
    await holds.lock(tx, at)
    const { items } = await planOf(dataSource, { free: scope, retained: [] }, tx, at)
    return erasePage(tx, dataSource, {
      scope,
      items: [...new Set([...known, ...items])],
      identities: [],
      receiptId,
      options: { ...optionsOf(receiptId, dataSource, at), round: 1 },
    })
  })

/** @throws Problem `unavailable` while anything of the record remains */
async function verify(driver: Driver, receiptId: string, scope: RecordScope, plan: Plan): Promise<void> {
  const { ordered, now } = driver
  const itemsOf = ({ name }: DataSource) => plan[name]?.items ?? []
  const found = await searchResidue(ordered, { scope, itemsOf, now })
  if (found.size === 0) return
  const again = ordered.filter(({ name }) => found.has(name))
  for (const dataSource of again) await eraseAgain(driver, { receiptId, scope, dataSource, known: itemsOf(dataSource) })
  const remaining = await searchResidue(again, { scope, itemsOf, now })
  for (const [name, count] of remaining)
    throw new Problem('unavailable', {
      detail: `The erasure is not complete yet: ${name} still has ${count} records. The erasure is retried automatically.`,
      headers: { 'Retry-After': '60' },
    })
}

/** Records in the ledger that the transaction of the erasure is committed. Asks the database nothing: it may be down, or another one. */
const recordCommit = ({ ledger, now }: Driver, receiptId: string): Promise<void> =>
  ledger.append({ kind: 'commit', id: receiptId, at: now().toISOString() })

/**
 * Verifies and signs the erasure that `begin` committed. Idempotent. `isRecorded`: {@link recordCommit} was called.
 * @throws Problem `not_found` for an unknown id
 */
async function finish(driver: Driver, receiptId: string, isRecorded = false): Promise<Receipt> {
  const { db, signer, ordered, now } = driver
  const row = await db.prisma.erasure.findUnique({ where: { receiptId } })
  if (!row) throw new Problem('not_found')
  if (row.state === 'signed') return Receipt.parse(row.receipt)
  const { auditId, deletedId, deletedAt } = row
  const logged = { where: { auditId }, select: { reason: true } }
  const { reason } = await db.prisma.deletionAuditEntry.findUniqueOrThrow(logged)
  if (!isRecorded) await recordCommit(driver, receiptId)
  const scope = recordScopeOf(deletedId)
  const plan = ReceiptPlan.parse(row.plan)
  await verify(driver, receiptId, scope, plan).catch((error: unknown) => {
    throw storeProblem(error)
  })
  const counts = Object.fromEntries(
    Object.entries(plan).map(([name, { items, deleted, results = {} }]) => [
      name,
      { planned: items.length, erased: deleted, results },
    ]),
  )
  const outcomes = outcomesOf(ordered, counts)
  const verified = { receiptId, scope, deletedAt, reason, outcomes, at: now() }
  const receipt = await signer.sign(receiptContent(driver, verified))
  return db.transaction(async (tx) => {
    const stored = await storeSignature(tx, receipt)
    await removeJob(tx, { key: `${finishJob}:${receiptId}` })
    return stored
  })
}

/** Returns erasures that were committed before `time` and are not signed yet, oldest first. */
async function unfinished({ db }: Driver, time: Date): Promise<string[]> {
  const rows = await db.prisma.erasure.findMany({
    where: { state: 'committed', deletedAt: { lt: time } },
    select: { receiptId: true },
    orderBy: { deletedAt: 'asc' },
    take: 100,
  })
  return rows.map(({ receiptId }) => receiptId)
}

/**
 * The engine's driver for a scope that one request erases: a unit or a skill. `begin` plans, records the intent and
 * erases in the caller's transaction. `finish` runs after the commit: ledger commit row, verification and signature.
 * The worker calls it after a crash. The row of `erasures` is its state, so it needs no run.
 */
export function recordErasures(deps: RecordEngine) {
  const driver = { ...deps, ordered: dataSourcesInOrder(deps.dataSources).map(({ dataSource }) => dataSource) }
  return {
    begin: (tx: Transaction, order: RecordErasureOrder) => begin(driver, tx, order),
    finish: (receiptId: string) => finish(driver, receiptId),
    /** Right after the commit: records it before the database is asked anything, then verifies and signs. */
    async finishCommitted(receiptId: string): Promise<Receipt> {
      await recordCommit(driver, receiptId)
      return finish(driver, receiptId, true)
    },
    unfinished: (time: Date) => unfinished(driver, time),
  }
}
export type RecordErasures = ReturnType<typeof recordErasures>
